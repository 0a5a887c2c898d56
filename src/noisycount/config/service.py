"""Settings of the service: reply ticks, limits, proxies, and tokens of an identity provider (OpenID Connect).

`read_service` reads the section `[server]` into a `ServiceConfig`, and `read_oidc` the section `[server.oidc]`.
"""

from collections.abc import Callable, Mapping
from ipaddress import ip_network
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from noisycount.config.places import PLAIN_NAME
from noisycount.config.toml_table import TomlTable, name_suggestion
from noisycount.errors import ConfigError
from noisycount.frozen import frozen
from noisycount.release.reply_tick import LONGEST, SHORTEST, ReplyTick

# Algorithms with a public key: with a shared key, everybody who can check a token could forge one.
ALGORITHMS = (*("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), *("ES256", "ES384", "ES512", "Ed25519"))

_DEFAULT_ALGORITHMS = ("RS256", "PS256", "ES256", "Ed25519")
_ROLES = ("owner", "analyst", "officer")
_KEYS = ("issuer", "audience", "keys", "algorithms", "claim", "analysts")
_ANALYST_KEYS = ("subject", "role", "datasets")


@frozen
class OidcAnalyst:
    """The analyst, owner or officer that tokens with a certain subject stand for."""

    name: str  # name of the analyst
    subject: str  # value of the configured claim in their tokens
    role: str = "analyst"  # `owner`, `analyst` or `officer`
    datasets: tuple[str, ...] = ()  # data sets that an analyst may query; an owner may query all, an officer none


@frozen
class OidcConfig:
    """The identity provider whose tokens are accepted in place of a key."""

    issuer: str  # value of `iss` in its tokens
    audience: str  # value of `aud` in tokens for this service
    # public keys of the issuer: the file or the address of a JSON Web Key Set; None: the issuer's metadata name it
    keys: str | Path | None
    algorithms: tuple[str, ...]  # signature algorithms that are accepted
    claim: str  # claim that identifies the analyst
    analysts: Mapping[str, OidcAnalyst]  # analysts by subject


def read_oidc(table: TomlTable) -> OidcConfig:
    """Read the section `[server.oidc]`."""
    table.require_known(_KEYS)
    issuer, audience = _require_text(table, "issuer"), _require_text(table, "audience")
    if not is_safe_url(issuer):
        raise table.refusal("issuer", "must be an https:// address, as its tokens name it in iss")
    return OidcConfig(
        issuer=issuer,
        audience=audience,
        keys=_read_keys(table),
        algorithms=_read_algorithms(table),
        claim=table.text("claim") or "sub",
        analysts=_read_analysts(table.table("analysts")),
    )


def is_safe_url(text: str) -> bool:
    """Return True if the address uses https, or http on this machine, so that its replies cannot be forged.

    An address with a user name or password is refused.
    """
    try:
        address = urlsplit(text)
        host = address.hostname
    except ValueError:
        return False
    is_here = address.scheme == "http" and host in {"localhost", "127.0.0.1", "::1"}
    return bool(host) and "@" not in address.netloc and (address.scheme == "https" or is_here)


def _require_text(table: TomlTable, key: str) -> str:
    text = table.text(key)
    if text is None:
        raise table.refusal(key, "is missing: add it, as tokens cannot be checked without it")
    return text


def _read_keys(table: TomlTable) -> str | Path | None:
    """Return the place of the public keys. A relative file starts at the folder of the configuration."""
    text = table.text("keys")
    if text is None or is_safe_url(text):
        return text
    if "://" in text:
        raise table.refusal("keys", "must be a file, or an https:// address that holds no password")
    return table.path.parent / text


def _read_algorithms(table: TomlTable) -> tuple[str, ...]:
    """Return the accepted signature algorithms."""
    algorithms = table.texts("algorithms") or _DEFAULT_ALGORITHMS
    for name in algorithms:
        if name not in ALGORITHMS:
            raise table.refusal(
                "algorithms", f"{name!r} is no algorithm with a public key; {name_suggestion(name, ALGORITHMS)}"
            )
    return algorithms


def _read_analysts(table: TomlTable) -> Mapping[str, OidcAnalyst]:
    """Return the analysts by subject. Raises ConfigError if there are none, or two have one subject."""
    analysts: dict[str, OidcAnalyst] = {}
    for name, section in table.tables():
        analyst = _read_analyst(name, section)
        if analyst.subject in analysts:
            raise section.refusal(
                "subject", f"is also that of {analysts[analyst.subject].name}: give each analyst a subject of their own"
            )
        analysts[analyst.subject] = analyst
    if not analysts:
        raise table.refusal("NAME", "is missing: write [server.oidc.analysts.NAME] for each analyst who may log in")
    return MappingProxyType(analysts)


def _read_analyst(name: str, table: TomlTable) -> OidcAnalyst:
    table.require_known(_ANALYST_KEYS)
    if not PLAIN_NAME.fullmatch(name):
        raise ConfigError(f"{table.path}: [{table.name}]: a name consists of letters, digits, - and _: rename it")
    role = table.text("role") or "analyst"
    if role not in _ROLES:
        raise table.refusal("role", 'must be "owner", "analyst" or "officer"')
    return OidcAnalyst(name, _require_text(table, "subject"), role, table.texts("datasets") or ())


@frozen
class ServiceConfig:
    """Settings in the section `[server]`."""

    slot: float = 0.5  # seconds between the ticks at which answers from records leave
    # seconds (at least three slots) after which a request without a reply is given up
    deadline: float = 30.0
    concurrency: int = 64  # requests that run at the same time
    rate: int = 120  # requests per minute from one client
    body: int = 1_000_000  # bytes of a request at most
    depth: int = 16  # nesting depth of a request's JSON at most
    purpose: bool = False  # True if queries of all data sets must state a purpose
    # addresses and networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted
    proxies: tuple[str, ...] = ()
    oidc: OidcConfig | None = None  # identity provider whose tokens are accepted, if any


def read_service(table: TomlTable) -> ServiceConfig:
    """Read the section `[server]`."""
    readers: dict[str, Callable[[str], Any]] = {
        "slot": lambda key: _read_slot(table, key),
        "deadline": table.seconds,
        **dict.fromkeys(("concurrency", "rate", "body", "depth"), table.whole_number),
        "purpose": table.boolean,
        "proxies": lambda key: _read_proxies(table, key),
        "oidc": lambda key: read_oidc(table.table(key)),
    }
    table.require_known(readers)
    return ServiceConfig(**{key: readers[key](key) for key in table.values})


def _read_proxies(table: TomlTable, key: str) -> tuple[str, ...]:
    """Return the addresses and networks of proxies. Raises ConfigError for a host name."""
    proxies = () if table.values[key] == [] else table.texts(key) or ()
    try:
        return tuple(str(ip_network(text)) for text in proxies)
    except ValueError:
        problem = 'must list IP addresses or networks of proxies, such as ["127.0.0.1", "172.17.0.0/16"]'
        raise table.refusal(key, problem) from None


def _read_slot(table: TomlTable, key: str) -> float:
    try:
        return ReplyTick(table.seconds(key) or 0).seconds
    except ValueError:
        problem = f"must be a number of seconds from {SHORTEST} to at most {LONGEST:.0f}"
        raise table.refusal(key, problem) from None
