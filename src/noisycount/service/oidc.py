"""Users of signed tokens of an OpenID Connect issuer.

Tokens are checked more strictly than libraries do. Some libraries accept a list of issuers that contains the right one,
or NaN as a time, with which no comparison is true, so that the token never expires.
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
    """Checker of signed tokens that one issuer made for one audience, as the owner configured them."""

    config: OidcConfig  # issuer, audience, and analysts
    users: Mapping[str, User]  # by subject
    keys: "IssuerKeys"
    now: Callable[[], float] = time.time  # seconds since 1970

    @classmethod
    def from_config(cls, config: OidcConfig, configuration: Config) -> Self:
        """Return the checker for the analysts and data sets of a configuration."""
        users = {}
        for subject, analyst in config.analysts.items():
            check_analyst(analyst.name, configuration)
            role = Role(analyst.role)
            datasets = granted_datasets(role, analyst.datasets, configuration)
            grants = None if datasets is None else frozenset(datasets)
            users[subject] = User(analyst.name, role, grants)
        return cls(config, users, IssuerKeys(config))

    def user(self, token: str) -> User | None:
        """Return the user of a signed JSON Web Token.

        Return None if the token has another issuer or audience, has expired, or its subject is no configured analyst.
        """
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
        signed = jws.deserialize_compact(token, self._key_of_token, registry=registry)
        claims = json_object(signed.payload or b"")
        subject = subject_of(claims, self.config, self.now())
        return None if subject is None else self.users.get(subject)

    def _key_of_token(self, signed: GuestProtocol) -> Key:
        """Return the issuer's key that the header of a token names. Raise ValueError if there is none."""
        key_id: Any = signed.headers().get("kid")
        key = self.keys.key(key_id) if key_id is None or isinstance(key_id, str) else None
        if key is None:
            raise ValueError("no key of the issuer")
        return key


_BASE64URL = re.compile(r"[A-Za-z0-9_-]*")


def decode_part(part: str) -> bytes:
    """Decode a part of a token from base64url. Raise ValueError for other texts."""
    if not _BASE64URL.fullmatch(part):
        raise ValueError("a part of the token is not base64url")
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def json_object(content: bytes) -> dict[str, Any]:
    """Parse a JSON object. Raise ValueError if a member occurs twice, at any depth.

    RFC 7515, section 4, and RFC 7519, section 4, let a reader refuse such members or use the last one, so that two
    readers could see different tokens.
    """
    value = exact_json(content)
    if not isinstance(value, dict):
        raise ValueError("no JSON object")  # noqa: TRY004  (a value from outside, not a wrong type of an argument)
    return value


_TYPES = {"jwt", "at+jwt", "application/at+jwt"}
_REFUSED = {"crit", "b64"}  # extensions of RFC 7515 and RFC 7797, which are not supported
_NESTED = "jwt"  # content type of a nested token (RFC 7519, section 5.2)


def is_of_login(header: Mapping[str, object], algorithms: Collection[str]) -> bool:
    """Return True if the header of a token, not yet verified, has a suitable type and an accepted algorithm."""
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
_LATEST = 253_402_300_800  # seconds: the year 10000; a later time is a mistake, such as milliseconds


def subject_of(claims: Mapping[str, object], config: OidcConfig, now: float) -> str | None:
    """Return the subject of a signed token, or None if it has another issuer or audience, or has expired."""
    is_own = claims.get("iss") == config.issuer and _names_audience(claims.get("aud"), config.audience)
    if not (is_own and _is_current(claims, now) and isinstance(claims.get("sub", ""), str)):
        return None
    if config.claim == "email" and claims.get("email_verified", True) is not True:
        return None  # OpenID Connect Core, section 5.1: the user may have entered any address
    subject = claims.get(config.claim)
    return subject if isinstance(subject, str) else None


def _names_audience(claim: object, audience: str) -> bool:
    """Return True if the claim names the audience, alone or in a list of texts (RFC 7519, section 4.1.3)."""
    if isinstance(claim, list):
        return all(isinstance(text, str) for text in claim) and audience in claim
    return claim == audience


def _is_current(claims: Mapping[str, object], now: float) -> bool:
    """Return True if a token has not expired, is already valid, and was not issued in the future.

    Tokens without an expiry time are refused.
    """
    end = _time_of_claim(claims.get("exp"))
    starts = [_time_of_claim(claims[name]) for name in ("nbf", "iat") if name in claims]
    if end is None or end <= now - _LEEWAY:
        return False
    return all(start is not None and start <= now + _LEEWAY for start in starts)


def _time_of_claim(claim: object) -> float | None:
    """Return a claim as seconds since 1970, or None if it is not a number. NaN counts as no number."""
    if isinstance(claim, bool) or not isinstance(claim, int | float):
        return None
    return claim if 0 <= claim < _LATEST else None


_TIMEOUT = 5.0  # s
_LARGEST = 262_144  # bytes: some hundred keys


class _NoRedirects(HTTPRedirectHandler):
    """A handler that follows no redirect: the owner stated the address."""

    def redirect_request(  # noqa: PLR0913, PLR0917  (its signature)
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        """Return no request."""


def read_address(address: str) -> bytes:
    """Fetch an address and return its content.

    Raises:
        ValueError: The address is neither https nor on this machine, or the reply is too large.
        OSError: The address cannot be fetched.
    """
    if not is_safe_url(address):
        raise ValueError("an address that is neither https nor on this machine")
    try:
        with build_opener(_NoRedirects).open(address, timeout=_TIMEOUT) as reply:
            content: bytes = reply.read(_LARGEST + 1)
    except HTTPError as error:
        error.close()  # the error is also the reply
        raise
    except HTTPException as error:
        raise OSError(str(error)) from None
    if len(content) > _LARGEST:
        raise ValueError("a reply that is too large")
    return content


_FRESH = 3600.0  # seconds for which fetched keys are used without asking again
_LONGEST_KEPT = 86_400.0  # seconds for which they are used if the issuer does not answer
_PAUSE = 60.0  # smallest number of seconds between two requests, also if tokens name invented key ids


@dataclass(slots=True)
class IssuerKeys:
    """The public keys of an issuer, read from a file or fetched when they are needed."""

    config: OidcConfig
    fetch: Callable[[str], bytes] = read_address
    clock: Callable[[], float] = time.monotonic
    _keys: tuple[Key, ...] = field(default=(), init=False)
    _content: bytes | None = field(default=None, init=False)
    _got: float | None = field(default=None, init=False)
    _tried: float | None = field(default=None, init=False)
    _turn: Lock = field(default_factory=Lock, init=False)

    def key(self, key_id: str | None) -> Key | None:
        """Return the key with an id, or without an id the only key. Fetch missing keys at most once a minute.

        Raises:
            ConfigError: If there are no keys.
        """
        with self._turn:
            if isinstance(self.config.keys, Path):
                self._store_keys(_content_of(self.config.keys))
            elif self._is_older_than(_FRESH):
                self._refresh_keys()
            if self._key_with_id(key_id) is None and not isinstance(self.config.keys, Path):
                self._refresh_keys()
            if self._content is None:
                raise ConfigError(f"the keys of {self.config.issuer} cannot be fetched: check its address")
            return self._key_with_id(key_id)

    def _key_with_id(self, key_id: str | None) -> Key | None:
        if key_id is None:
            return self._keys[0] if len(self._keys) == 1 else None
        return next((key for key in self._keys if key.kid == key_id), None)

    def _is_older_than(self, seconds: float) -> bool:
        return self._got is None or self.clock() - self._got > seconds

    def _refresh_keys(self) -> None:
        """Fetch the keys, unless this was tried a moment ago. If it fails, the present keys are used for a day."""
        now = self.clock()
        if self._tried is not None and now - self._tried < _PAUSE:
            return
        self._tried = now
        try:
            self._store_keys(self.fetch(self._keys_address()))
            self._got = now
        except (OSError, ValueError, KeyError, TypeError, ConfigError):
            if self._is_older_than(_LONGEST_KEPT):
                self._content, self._keys = None, ()

    def _keys_address(self) -> str:
        """Return the address of the keys, as the owner states or as the issuer publishes."""
        if self.config.keys is not None:
            return str(self.config.keys)
        issuer = self.config.issuer
        metadata = json.loads(self.fetch(f"{issuer.rstrip('/')}/.well-known/openid-configuration"))
        address = metadata["jwks_uri"]
        if metadata["issuer"] != issuer or not is_safe_url(address):
            raise ValueError("an issuer that gives itself another name")
        return str(address)

    def _store_keys(self, content: bytes) -> None:
        """Store the public keys for signatures."""
        if content != self._content:
            self._keys = _public_keys(content)
            self._content = content


def _content_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}): name a key set") from None


def _public_keys(content: bytes) -> tuple[Key, ...]:
    """Parse the issuer's key document (a JSON Web Key Set, JWKS) and return its keys that verify signatures.

    Shared secrets are left out, as they can also sign, and keys of unknown types (RFC 7517, section 5).
    """
    try:
        members: dict[str, Any] = json.loads(content)
        usable = [key for key in members["keys"] if key.get("use", "sig") == "sig"]
    except _MALFORMED:
        raise ConfigError("the keys of the issuer are no JSON Web Key Set") from None
    keys = tuple(key for entry in usable for key in _parse_jwk(entry) if not isinstance(key, OctKey))
    if not keys:
        raise ConfigError("the keys of the issuer contain none that checks a signature")
    return keys


def _parse_jwk(entry: dict[str, Any]) -> list[Key]:
    """Return the key that an entry of the key set describes, as a list, which is empty if its type is unknown."""
    try:
        return KeySet.import_key_set({"keys": [entry]}).keys
    except _MALFORMED:
        return []
