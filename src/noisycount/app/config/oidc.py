"""What an owner says of OpenID Connect: whose tokens are as good as a key, and for whom."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from noisycount.app.config.naming import NAME
from noisycount.app.config.toml_table import TomlTable, suggestion

__all__ = ["ALGORITHMS", "OidcAnalyst", "OidcConfig", "is_safe_address", "oidc_in"]

ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "Ed25519"),
)
"""Signatures that are checked with a public key, so that nobody who can check one can make one."""

_USUAL = ("RS256", "PS256", "ES256", "Ed25519")
_ROLES = ("owner", "analyst")
_KEYS = ("issuer", "audience", "keys", "algorithms", "claim", "analysts")
_ANALYST_KEYS = ("subject", "role", "datasets")


@dataclass(frozen=True, slots=True)
class OidcAnalyst:
    """Whom a token is taken for.

    Attributes:
        name: The analyst's.
        subject: What the claim of a token says that is theirs.
        role: `owner` or `analyst`.
        datasets: What an analyst may ask.
    """

    name: str
    subject: str
    role: str = "analyst"
    datasets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OidcConfig:
    """Whose tokens are as good as a key.

    Attributes:
        issuer: Who signs them, as their `iss` says.
        audience: For whom they are, as their `aud` says.
        keys: The issuer's public keys: a file of a JSON Web Key Set, or its address; None: where
            the issuer says that they are.
        algorithms: Of the signatures.
        claim: Which claim tells who somebody is.
        analysts: Who that may be, by subject.
    """

    issuer: str
    audience: str
    keys: str | Path | None
    algorithms: tuple[str, ...]
    claim: str
    analysts: Mapping[str, OidcAnalyst]


def oidc_in(table: TomlTable) -> OidcConfig:
    """What a table says of the tokens of an issuer.

    Raises:
        ConfigError: Something is missing, unknown, or would let anybody make a token.
    """
    table.require_known(_KEYS)
    issuer, audience = _needed(table, "issuer"), _needed(table, "audience")
    if not is_safe_address(issuer):
        raise table.refusal("issuer", "must be an https:// address, as its tokens name it in iss")
    return OidcConfig(
        issuer=issuer,
        audience=audience,
        keys=_keys(table),
        algorithms=_algorithms(table),
        claim=table.text("claim") or "sub",
        analysts=_analysts(table.table("analysts")),
    )


def is_safe_address(text: str) -> bool:
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
    if text is None or is_safe_address(text):
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
                "algorithms",
                f"{name!r} is not checked with a public key; {suggestion(name, ALGORITHMS)}",
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
        raise table.refusal(
            "NAME", "is missing: write [server.oidc.analysts.NAME] for each who may come"
        )
    return MappingProxyType(known)


def _analyst(name: str, table: TomlTable) -> OidcAnalyst:
    table.require_known(_ANALYST_KEYS)
    if not NAME.fullmatch(name):
        raise table.refusal("subject", "a name is letters, digits, - and _: rename the table")
    role = table.text("role") or "analyst"
    if role not in _ROLES:
        raise table.refusal("role", 'must be "owner" or "analyst"')
    return OidcAnalyst(name, _needed(table, "subject"), role, table.texts("datasets") or ())
