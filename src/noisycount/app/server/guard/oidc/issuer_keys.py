"""The public keys of an issuer: a file, or what the issuer itself gives out."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from joserfc.errors import JoseError
from joserfc.jwk import Key, KeySet, OctKey

from noisycount.app.config.oidc import OidcConfig, is_safe_address
from noisycount.app.server.guard.oidc.fetching import fetched
from noisycount.errors import ConfigError

__all__ = ["IssuerKeys"]

_FRESH = 3600.0  # seconds for which keys are taken as they are
_LONGEST = 86_400.0  # and at most, where the issuer does not answer
_PAUSE = 60.0  # between two requests: who makes up key ids makes no storm
_MALFORMED = (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError)


@dataclass(slots=True)
class IssuerKeys:
    """The keys with which an issuer signs, fetched when they are needed.

    Args:
        config: Whose they are, and where.
        fetch: Gives what an address holds.
        clock: Seconds, from any beginning.
    """

    config: OidcConfig
    fetch: Callable[[str], bytes] = fetched
    clock: Callable[[], float] = time.monotonic
    _keys: tuple[Key, ...] = field(default=(), init=False)
    _content: bytes | None = field(default=None, init=False)
    _got: float | None = field(default=None, init=False)
    _tried: float | None = field(default=None, init=False)
    _turn: Lock = field(default_factory=Lock, init=False)

    def key(self, key_id: str | None) -> Key | None:
        """The public key of an id; without one the only key there is. None: it is unknown.

        An id that is not there has the keys fetched again, at most once a minute.

        Args:
            key_id: What the header of a token says; None: nothing.

        Raises:
            ConfigError: The keys cannot be had.
        """
        with self._turn:
            if isinstance(self.config.keys, Path):
                self._take(_content_of(self.config.keys))
            elif self._is_older_than(_FRESH):
                self._refresh()
            if self._chosen(key_id) is None and not isinstance(self.config.keys, Path):
                self._refresh()
            if self._content is None:
                raise ConfigError(f"the keys of {self.config.issuer} cannot be had")
            return self._chosen(key_id)

    def _chosen(self, key_id: str | None) -> Key | None:
        if key_id is None:
            return self._keys[0] if len(self._keys) == 1 else None
        return next((key for key in self._keys if key.kid == key_id), None)

    def _is_older_than(self, seconds: float) -> bool:
        return self._got is None or self.clock() - self._got > seconds

    def _refresh(self) -> None:
        """Fetch the keys, unless that was just tried; what is there stays for a day if it fails."""
        now = self.clock()
        if self._tried is not None and now - self._tried < _PAUSE:
            return
        self._tried = now
        try:
            self._take(self.fetch(self._address()))
            self._got = now
        except (OSError, ValueError, KeyError, TypeError, ConfigError):
            if self._is_older_than(_LONGEST):
                self._content, self._keys = None, ()

    def _address(self) -> str:
        """Where the keys are, as the owner or the issuer says."""
        if self.config.keys is not None:
            return str(self.config.keys)
        issuer = self.config.issuer
        said = json.loads(self.fetch(f"{issuer.rstrip('/')}/.well-known/openid-configuration"))
        address = said["jwks_uri"]
        if said["issuer"] != issuer or not is_safe_address(address):
            raise ValueError("an issuer that gives itself another name")
        return str(address)

    def _take(self, content: bytes) -> None:
        """Keep the keys that are public, and for signatures."""
        if content != self._content:
            self._keys = _public_keys(content)
            self._content = content


def _content_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}): name a key set") from None


def _public_keys(content: bytes) -> tuple[Key, ...]:
    """The keys of a JSON Web Key Set with which a signature may be checked.

    A shared secret in it is left out: whoever may check with it could sign. So is a key of a kind
    that is not known yet (RFC 7517, section 5), whatever the library would make of it.
    """
    try:
        said: dict[str, Any] = json.loads(content)
        usable = [key for key in said["keys"] if key.get("use", "sig") == "sig"]
    except _MALFORMED:
        raise ConfigError("the keys of the issuer are no JSON Web Key Set") from None
    keys = tuple(key for one in usable for key in _known(one) if not isinstance(key, OctKey))
    if not keys:
        raise ConfigError("the keys of the issuer hold none that checks a signature")
    return keys


def _known(said: dict[str, Any]) -> list[Key]:
    """The key that a member of a set describes; nothing where it is of an unknown kind."""
    try:
        return KeySet.import_key_set({"keys": [said]}).keys
    except _MALFORMED:
        return []
