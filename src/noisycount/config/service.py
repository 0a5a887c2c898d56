"""What an owner says of the service: whose tokens are as good as a key, when replies leave, and how much is asked."""

from collections.abc import Callable, Mapping
from ipaddress import ip_network
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from noisycount.config.places import PLAIN_NAME
from noisycount.config.toml_table import TomlTable, suggestion
from noisycount.frozen import frozen
from noisycount.release.reply_tick import LONGEST, SHORTEST, ReplyTick

# Signatures that are checked with a public key, so that nobody who can check one can make one.
ALGORITHMS = (*("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), *("ES256", "ES384", "ES512", "Ed25519"))

_USUAL = ("RS256", "PS256", "ES256", "Ed25519")
_ROLES = ("owner", "analyst")
_KEYS = ("issuer", "audience", "keys", "algorithms", "claim", "analysts")
_ANALYST_KEYS = ("subject", "role", "datasets")


@frozen
class OidcAnalyst:
    """Whom a token is taken for."""

    name: str  # the analyst's
    subject: str  # what the claim of a token says that is theirs
    role: str = "analyst"  # `owner` or `analyst`
    datasets: tuple[str, ...] = ()  # what an analyst may ask


@frozen
class OidcConfig:
    """Whose tokens are as good as a key."""

    issuer: str  # who signs them, as their `iss` says
    audience: str  # for whom they are, as their `aud` says
    # the issuer's public keys: a file of a JSON Web Key Set, or its address; None: where the issuer says that
    # they are
    keys: str | Path | None
    algorithms: tuple[str, ...]  # of the signatures
    claim: str  # which claim tells who somebody is
    analysts: Mapping[str, OidcAnalyst]  # who that may be, by subject


def read_oidc(table: TomlTable) -> OidcConfig:
    """What a table says of the tokens of an issuer."""
    table.require_known(_KEYS)
    issuer, audience = _needed(table, "issuer"), _needed(table, "audience")
    if not is_safe_url(issuer):
        raise table.refusal("issuer", "must be an https:// address, as its tokens name it in iss")
    return OidcConfig(
        issuer=issuer,
        audience=audience,
        keys=_keys(table),
        algorithms=_algorithms(table),
        claim=table.text("claim") or "sub",
        analysts=_analysts(table.table("analysts")),
    )


def is_safe_url(text: str) -> bool:
    """Whether nobody on the way to an address can answer in its place: https, or this machine."""
    try:
        address = urlsplit(text)
        host = address.hostname
    except ValueError:
        return False
    is_here = address.scheme == "http" and host in {"localhost", "127.0.0.1", "::1"}
    return bool(host) and "@" not in address.netloc and (address.scheme == "https" or is_here)


def _needed(table: TomlTable, key: str) -> str:
    text = table.text(key)
    if text is None:
        raise table.refusal(key, "is missing: without it no token can be checked")
    return text


def _keys(table: TomlTable) -> str | Path | None:
    """Where the public keys are; a relative file lies beside the configuration."""
    text = table.text("keys")
    if text is None or is_safe_url(text):
        return text
    if "://" in text:
        raise table.refusal("keys", "must be a file, or an https:// address that holds no password")
    return table.path.parent / text


def _algorithms(table: TomlTable) -> tuple[str, ...]:
    """The algorithms that a signature may have."""
    chosen = table.texts("algorithms") or _USUAL
    for name in chosen:
        if name not in ALGORITHMS:
            raise table.refusal(
                "algorithms", f"{name!r} is not checked with a public key; {suggestion(name, ALGORITHMS)}"
            )
    return chosen


def _analysts(table: TomlTable) -> Mapping[str, OidcAnalyst]:
    """Who may come with a token, by subject."""
    known: dict[str, OidcAnalyst] = {}
    for name, said in table.tables():
        analyst = _analyst(name, said)
        if analyst.subject in known:
            raise said.refusal("subject", f"is that of {known[analyst.subject].name} already")
        known[analyst.subject] = analyst
    if not known:
        raise table.refusal("NAME", "is missing: write [server.oidc.analysts.NAME] for each who may come")
    return MappingProxyType(known)


def _analyst(name: str, table: TomlTable) -> OidcAnalyst:
    table.require_known(_ANALYST_KEYS)
    if not PLAIN_NAME.fullmatch(name):
        raise table.refusal("subject", "a name is letters, digits, - and _: rename the table")
    role = table.text("role") or "analyst"
    if role not in _ROLES:
        raise table.refusal("role", 'must be "owner" or "analyst"')
    return OidcAnalyst(name, _needed(table, "subject"), role, table.texts("datasets") or ())


@frozen
class ServiceConfig:
    """What `[server]` says."""

    slot: float = 0.5  # what was read from records is told at ticks of so many seconds
    deadline: float = 30.0  # after so many seconds, or three slots, nobody waits for a reply
    concurrency: int = 64  # so many requests are worked on at once
    rate: int = 120  # so many requests a minute may come from one visitor
    body: int = 1_000_000  # so many bytes may a request have
    depth: int = 16  # so deep may its JSON be
    purpose: bool = False  # whether a spend must say what its answer is for, whatever data set it is about
    # addresses and networks of proxies, whose X-Forwarded-For and X-Forwarded-Proto are believed
    proxies: tuple[str, ...] = ()
    oidc: OidcConfig | None = None  # whose tokens are as good as a key; None: nobody's


def read_service(table: TomlTable) -> ServiceConfig:
    """What a table says of the service."""
    readers: dict[str, Callable[[str], Any]] = {
        "slot": lambda key: _slot(table, key),
        "deadline": table.seconds,
        **dict.fromkeys(("concurrency", "rate", "body", "depth"), table.whole_number),
        "purpose": table.boolean,
        "proxies": lambda key: _proxies(table, key),
        "oidc": lambda key: read_oidc(table.table(key)),
    }
    table.require_known(readers)
    return ServiceConfig(**{key: readers[key](key) for key in table.values})


def _proxies(table: TomlTable, key: str) -> tuple[str, ...]:
    """Read the addresses and networks of proxies; a name, or everybody, is refused."""
    proxies = () if table.values[key] == [] else table.texts(key) or ()
    try:
        return tuple(str(ip_network(text)) for text in proxies)
    except ValueError:
        problem = 'must list IP addresses or networks of proxies, such as ["127.0.0.1", "172.17.0.0/16"]'
        raise table.refusal(key, problem) from None


def _slot(table: TomlTable, key: str) -> float:
    try:
        return ReplyTick(table.seconds(key) or 0).seconds
    except ValueError:
        problem = f"must be a number of seconds from {SHORTEST} to at most {LONGEST:.0f}"
        raise table.refusal(key, problem) from None
