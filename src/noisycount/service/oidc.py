"""Who comes with a token of an issuer (OpenID Connect), read strictly whatever a library allows.

Libraries differ: some take a list of issuers that holds the right one, or a time that is not a
number, with which every comparison is false, so that a token never ends.
"""

import base64
import json
import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from email.message import Message
from http.client import HTTPException
from pathlib import Path
from threading import Lock
from typing import IO, Any, Self
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import GuestProtocol, Key, KeySet, OctKey
from joserfc.jws import JWSRegistry

from noisycount.config.config import Config
from noisycount.config.service import OidcConfig, is_safe_url
from noisycount.errors import ConfigError
from noisycount.frozen import frozen
from noisycount.service.keys import Role, User, check_analyst, granted_datasets
from noisycount.service.middleware import exact_json

_LONGEST_TOKEN = 16_384  # characters
_MALFORMED = (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError)


@frozen
class Tokens:
    """The tokens of one issuer for one audience."""

    config: OidcConfig  # whose, for whom, and who that may be
    users: Mapping[str, User]  # who comes, by subject
    keys: "IssuerKeys"  # the issuer's
    now: Callable[[], float] = time.time  # seconds since 1970

    @classmethod
    def of(cls, config: OidcConfig, configuration: Config) -> Self:
        """The tokens that an owner takes, for the analysts and data sets of a configuration."""
        users = {}
        for subject, analyst in config.analysts.items():
            check_analyst(analyst.name, configuration)
            role = Role(analyst.role)
            datasets = granted_datasets(role, analyst.datasets, configuration)
            grants = None if datasets is None else frozenset(datasets)
            users[subject] = User(analyst.name, role, grants)
        return cls(config, users, IssuerKeys(config))

    def user(self, token: str) -> User | None:
        """Who comes with a signed JSON Web Token; None: it is not the issuer's, not for us, over, or nobody's."""
        if len(token) > _LONGEST_TOKEN:
            return None
        try:
            return self._user(token)
        except _MALFORMED:
            return None

    def _user(self, token: str) -> User | None:
        header = json_object(decode_part(token.partition(".")[0]))
        if not is_of_login(header, self.config.algorithms):
            return None
        registry = JWSRegistry(algorithms=self.config.algorithms, strict_check_header=False)
        signed = jws.deserialize_compact(token, self._key, registry=registry)
        claims = json_object(signed.payload or b"")
        subject = subject_of(claims, self.config, self.now())
        return None if subject is None else self.users.get(subject)

    def _key(self, signed: GuestProtocol) -> Key:
        """The key that the header of a token names, of those of the issuer and of no other."""
        key_id: Any = signed.headers().get("kid")
        key = self.keys.key(key_id) if key_id is None or isinstance(key_id, str) else None
        if key is None:
            raise ValueError("no key of the issuer")
        return key


_BASE64URL = re.compile(r"[A-Za-z0-9_-]*")


def decode_part(part: str) -> bytes:
    """The bytes of a part of a token."""
    if not _BASE64URL.fullmatch(part):
        raise ValueError("no base64url")
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def json_object(content: bytes) -> dict[str, Any]:
    """A JSON object in which no member is said twice, at any depth.

    RFC 7515, section 4, and RFC 7519, section 4, let a reader refuse such members or take the last:
    two readers may then see two tokens.
    """
    found = exact_json(content)
    if not isinstance(found, dict):
        raise ValueError("no JSON object")  # noqa: TRY004  (what came from outside has no type)
    return found


_TYPES = {"jwt", "at+jwt", "application/at+jwt"}
_REFUSED = {"crit", "b64"}  # extensions of RFC 7515 and RFC 7797: none is understood here
_NESTED = "jwt"  # RFC 7519, section 5.2: a token in a token


def is_of_login(header: Mapping[str, object], algorithms: Collection[str]) -> bool:
    """Whether an unchecked header is that of a token that tells who comes, signed as chosen."""
    algorithm, kind = header.get("alg"), header.get("typ", "JWT")
    return (
        isinstance(algorithm, str)
        and algorithm in algorithms
        and isinstance(kind, str)
        and kind.lower() in _TYPES
        and str(header.get("cty", "")).lower() != _NESTED
        and _REFUSED.isdisjoint(header)
    )


_LEEWAY = 30  # seconds by which two clocks may differ
_LATEST = 253_402_300_800  # seconds: the year 10000; later is a slip (milliseconds), or no end


def subject_of(claims: Mapping[str, object], config: OidcConfig, now: float) -> str | None:
    """Who comes, of the claims of a signed token; None: it is for others, or is over."""
    holds = claims.get("iss") == config.issuer and _is_for(claims.get("aud"), config.audience)
    if not (holds and _is_current(claims, now) and isinstance(claims.get("sub", ""), str)):
        return None
    if config.claim == "email" and claims.get("email_verified", True) is not True:
        return None  # OpenID Connect Core, section 5.1: anybody may have written it down
    subject = claims.get(config.claim)
    return subject if isinstance(subject, str) else None


def _is_for(said: object, audience: str) -> bool:
    """Whether the audience is this text, or a list of texts with it (RFC 7519, section 4.1.3)."""
    if isinstance(said, list):
        return all(isinstance(one, str) for one in said) and audience in said
    return said == audience


def _is_current(claims: Mapping[str, object], now: float) -> bool:
    """Whether a token ends, has not ended, has begun and was not made in the future."""
    ends = _time(claims.get("exp"))
    begins = [_time(claims[name]) for name in ("nbf", "iat") if name in claims]
    if ends is None or ends <= now - _LEEWAY:
        return False
    return all(begin is not None and begin <= now + _LEEWAY for begin in begins)


def _time(said: object) -> float | None:
    """Seconds since 1970; None: it is no such number, as NaN is in no interval."""
    if isinstance(said, bool) or not isinstance(said, int | float):
        return None
    return said if 0 <= said < _LATEST else None


_SECONDS = 5.0
_LARGEST = 262_144  # bytes: some hundred keys


class _NoRedirects(HTTPRedirectHandler):
    """Nobody is followed elsewhere: an owner named an address."""

    def redirect_request(  # noqa: PLR0913, PLR0917  (its signature)
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        """No request."""


def read_address(address: str) -> bytes:
    """What an address holds, by https or on this machine."""
    if not is_safe_url(address):
        raise ValueError("an address that is neither https nor on this machine")
    try:
        with build_opener(_NoRedirects).open(address, timeout=_SECONDS) as reply:
            content: bytes = reply.read(_LARGEST + 1)
    except HTTPError as error:
        error.close()  # it is a reply as well
        raise
    except HTTPException as error:
        raise OSError(str(error)) from None
    if len(content) > _LARGEST:
        raise ValueError("an address that holds too much")
    return content


_FRESH = 3600.0  # seconds for which keys are taken as they are
_LONGEST_KEPT = 86_400.0  # and at most, where the issuer does not answer
_PAUSE = 60.0  # between two requests: who makes up key ids makes no storm


@dataclass(slots=True)
class IssuerKeys:
    """The public keys with which an issuer signs, from a file, or fetched when they are needed."""

    config: OidcConfig
    fetch: Callable[[str], bytes] = read_address
    clock: Callable[[], float] = time.monotonic
    _keys: tuple[Key, ...] = field(default=(), init=False)
    _content: bytes | None = field(default=None, init=False)
    _got: float | None = field(default=None, init=False)
    _tried: float | None = field(default=None, init=False)
    _turn: Lock = field(default_factory=Lock, init=False)

    def key(self, key_id: str | None) -> Key | None:
        """The key of an id, fetched again once a minute at most where it is missing; without an id the only one."""
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
            if self._is_older_than(_LONGEST_KEPT):
                self._content, self._keys = None, ()

    def _address(self) -> str:
        """Where the keys are, as the owner or the issuer says."""
        if self.config.keys is not None:
            return str(self.config.keys)
        issuer = self.config.issuer
        said = json.loads(self.fetch(f"{issuer.rstrip('/')}/.well-known/openid-configuration"))
        address = said["jwks_uri"]
        if said["issuer"] != issuer or not is_safe_url(address):
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

    A shared secret in it is left out: who may check with it could sign. So is a key of a kind
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
