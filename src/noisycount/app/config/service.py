"""What an owner says of the service: when replies leave, and how much anybody may ask of it."""

from dataclasses import dataclass
from typing import TypeVar

from noisycount.app.config.oidc import OidcConfig, oidc_in
from noisycount.app.config.toml_table import TomlTable
from noisycount.release.slot import LONGEST, SHORTEST, Slot

__all__ = ["SERVICE_KEYS", "ServiceConfig", "service_in"]

SERVICE_KEYS = ("slot", "deadline", "concurrency", "rate", "body", "depth", "purpose", "oidc")

Said = TypeVar("Said")


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """What `[server]` says.

    Attributes:
        slot: Replies about data sets leave at ticks of so many seconds.
        deadline: After so many seconds nobody waits for a query where there are no slots.
        concurrency: So many requests are worked on at once.
        rate: So many requests a minute may come from one visitor.
        body: So many bytes may a request have.
        depth: So deep may its JSON be.
        purpose: Whether a spend must say what its answer is for, whatever data set it is about.
        oidc: Whose tokens are as good as a key; None: nobody's.
    """

    slot: float = 2.0
    deadline: float = 30.0
    concurrency: int = 64
    rate: int = 120
    body: int = 1_000_000
    depth: int = 16
    purpose: bool = False
    oidc: OidcConfig | None = None


def service_in(table: TomlTable) -> ServiceConfig:
    """What a table says of the service; what is left out is as usual.

    Raises:
        ConfigError: A key is unknown, or its value out of range.
    """
    table.require_known(SERVICE_KEYS)
    usual = ServiceConfig()
    return ServiceConfig(
        slot=_slot(table, usual.slot),
        deadline=_said(table.seconds("deadline"), usual.deadline),
        concurrency=_said(table.whole_number("concurrency"), usual.concurrency),
        rate=_said(table.whole_number("rate"), usual.rate),
        body=_said(table.whole_number("body"), usual.body),
        depth=_said(table.whole_number("depth"), usual.depth),
        purpose=_said(table.truth("purpose"), usual.purpose),
        oidc=oidc_in(table.table("oidc")) if "oidc" in table.values else None,
    )


def _slot(table: TomlTable, usual: float) -> float:
    """The length of a slot.

    Raises:
        ConfigError: No clock keeps it.
    """
    seconds = _said(table.seconds("slot"), usual)
    try:
        return Slot(seconds).seconds
    except ValueError:
        problem = f"must be a number of seconds from {SHORTEST} to at most {LONGEST:.0f}"
        raise table.refusal("slot", problem) from None


def _said(value: Said | None, usual: Said) -> Said:
    return usual if value is None else value
