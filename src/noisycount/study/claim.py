"""What a text claims, and what was found."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Claim", "Verdict"]


class Verdict(StrEnum):
    """What a computation says about a claim: "holds", "holds in part" or "does not hold".

    `HOLDS`, `PARTLY` and `FAILS`; `verdict.value` is the text.
    """

    HOLDS = "holds"
    PARTLY = "holds in part"
    FAILS = "does not hold"

    @classmethod
    def of(cls, *checks: bool) -> "Verdict":
        """All checks hold, some do, or none does.

        Example:
            >>> Verdict.of(True, False).value
            'holds in part'
        """
        if all(checks):
            return cls.HOLDS
        return cls.PARTLY if any(checks) else cls.FAILS


@dataclass(frozen=True, slots=True)
class Claim:
    """What a text says, and what was found.

    Args:
        source: Where it says so.
        says: What it says.
        found: Our numbers.
        verdict: Whether they agree.
    """

    source: str
    says: str
    found: str
    verdict: Verdict

    @property
    def words(self) -> str:
        """The claim, what was found, and the verdict."""
        return f"{self.says} ({self.source}) {self.found} {self.verdict.value.capitalize()}."

    def to_dict(self) -> dict[str, str]:
        """The claim as text by name."""
        return {
            "source": self.source,
            "says": self.says,
            "found": self.found,
            "verdict": self.verdict.value,
        }
