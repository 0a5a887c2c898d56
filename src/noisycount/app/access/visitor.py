"""Who asks a server, and what they may see."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Role", "Visitor"]


class Role(StrEnum):
    """What a visitor may do."""

    OWNER = "owner"
    ANALYST = "analyst"


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody whose key or token was checked.

    Attributes:
        name: Under which the ledger books what they ask.
        role: An owner sees every data set, the whole ledger and the report.
        grants: The names of the data sets that an analyst may see; None: every one.

    Example:
        >>> ana = Visitor("ana", Role.ANALYST, frozenset({"survey"}))
        >>> ana.may_see("survey"), ana.may_see("payroll"), ana.is_owner
        (True, False, False)
    """

    name: str
    role: Role
    grants: frozenset[str] | None

    @property
    def is_owner(self) -> bool:
        """Whether they may see all of the ledger and the report."""
        return self.role is Role.OWNER

    def may_see(self, dataset_name: str) -> bool:
        """Whether a data set is there for them.

        Args:
            dataset_name: As `noisycount.toml` names it.
        """
        return self.is_owner or self.grants is None or dataset_name in self.grants
