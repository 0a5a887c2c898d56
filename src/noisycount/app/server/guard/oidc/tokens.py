"""Who comes with a token of an issuer."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import GuestProtocol, Key
from joserfc.jws import JWSRegistry

from noisycount.app.access.admission import check_analyst, granted
from noisycount.app.access.visitor import Role, Visitor
from noisycount.app.config.config import Config
from noisycount.app.config.oidc import OidcConfig
from noisycount.app.server.guard.oidc.claims import subject_of
from noisycount.app.server.guard.oidc.header import is_of_login
from noisycount.app.server.guard.oidc.issuer_keys import IssuerKeys
from noisycount.app.server.guard.oidc.parts import decoded, json_object

__all__ = ["Tokens"]

_LONGEST = 16_384  # characters
_MALFORMED = (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one issuer for one audience.

    Attributes:
        config: Whose, for whom, and who that may be.
        visitors: Who comes, by subject.
        keys: The issuer's.
        now: Seconds since 1970.
    """

    config: OidcConfig
    visitors: Mapping[str, Visitor]
    keys: IssuerKeys
    now: Callable[[], float] = time.time

    @classmethod
    def of(cls, configuration: Config) -> Self | None:
        """The tokens that an owner takes; None: none.

        Raises:
            ConfigError: One of those who may come is no analyst, or may ask what is not there.
        """
        config = configuration.service.oidc
        if config is None:
            return None
        visitors = {}
        for subject, analyst in config.analysts.items():
            check_analyst(analyst.name, configuration)
            role = Role(analyst.role)
            datasets = granted(role, analyst.datasets, configuration)
            grants = None if datasets is None else frozenset(datasets)
            visitors[subject] = Visitor(analyst.name, role, grants)
        return cls(config, visitors, IssuerKeys(config))

    def visitor(self, token: str) -> Visitor | None:
        """Who comes with a token; None: it is not the issuer's, not for us, over, or nobody's.

        Args:
            token: A JSON Web Token, signed.

        Raises:
            ConfigError: The keys of the issuer cannot be had.
        """
        if len(token) > _LONGEST:
            return None
        try:
            return self._visitor(token)
        except _MALFORMED:
            return None

    def _visitor(self, token: str) -> Visitor | None:
        header = json_object(decoded(token.partition(".")[0]))
        if not is_of_login(header, self.config.algorithms):
            return None
        registry = JWSRegistry(algorithms=self.config.algorithms, strict_check_header=False)
        signed = jws.deserialize_compact(token, self._key, registry=registry)
        claims = json_object(signed.payload or b"")
        subject = subject_of(claims, self.config, self.now())
        return None if subject is None else self.visitors.get(subject)

    def _key(self, signed: GuestProtocol) -> Key:
        """The key that the header of a token names, of those of the issuer and of no other."""
        key_id: Any = signed.headers().get("kid")
        key = self.keys.key(key_id) if key_id is None or isinstance(key_id, str) else None
        if key is None:
            raise ValueError("no key of the issuer")
        return key
