"""What a question of a form may cost, or how near its answer should be."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from noisycount.app.options.common import number, share, ungrouped
from noisycount.app.plan.plan import planned_error
from noisycount.app.server.pages.ask.operators import FormError
from noisycount.errors import NoisyCountError
from noisycount.release.budget.exact import exact_epsilon, exact_text

__all__ = ["Price"]

_LARGEST = 2**53


@dataclass(frozen=True, slots=True)
class Price:
    """A goal or an ε, as typed.

    Attributes:
        is_goal: Whether the goal decides; else ε does.
        within: How near: units such as `15`, or a share of the guess such as `20%`.
        guess: A public guess of the count, in units.
        confidence: With what probability; errors are stated for it.
        epsilon: The price.
    """

    is_goal: bool = True
    within: str = "20"
    guess: str = ""
    confidence: str = "95%"
    epsilon: str = "0.1"

    @property
    def sure(self) -> float:
        """The confidence.

        Raises:
            FormError: It is none.
        """
        found = share(self.confidence.strip())
        if 0 < found < 1:
            return found
        raise FormError(
            "confidence",
            f"confidence must lie between 0 and 100%, such as 95%, got {self.confidence!r}",
        )

    @property
    def guessed(self) -> float | None:
        """The guess, if there is one.

        Raises:
            FormError: It is none.
        """
        if not self.guess.strip():
            return None
        found = number(self.guess.strip())
        if 0 < found <= _LARGEST:
            return found
        raise FormError("guess", f"guess must be a number above 0, such as 100, got {self.guess!r}")

    def of_count(self) -> dict[str, Any]:
        """What one count may cost, as a program sends it.

        Raises:
            FormError: A field cannot be read, or no ledger keeps the price.
        """
        if not self.is_goal or self._is_share:
            return self.of_rows()
        try:
            plan = planned_error(self._units(), self.sure)
        except NoisyCountError as error:
            raise FormError("within", str(error)) from None
        return {"epsilon": exact_text(plan.epsilon), "confidence": self.confidence.strip()}

    def of_rows(self) -> dict[str, Any]:
        """The same of every row of a table.

        Raises:
            FormError: A field cannot be read.
        """
        sent = {"confidence": self.confidence.strip()}
        if self.sure and not self.is_goal:
            return {"epsilon": exact_text(self._exactly()), **sent}
        if self._is_share:
            return {"within": self._share(), "guess": self._of_guess(), **sent}
        return {"within": "100%", "guess": float(self._units()), **sent}

    @property
    def _is_share(self) -> bool:
        return "%" in self.within

    def _exactly(self) -> Fraction:
        try:
            return exact_epsilon(self.epsilon.strip())
        except ValueError as error:
            raise FormError("epsilon", str(error)) from None

    def _units(self) -> Fraction:
        text = ungrouped(self.within.strip().removeprefix("±").strip())
        found = number(text)
        if 0 < found <= _LARGEST:
            return Fraction(text)
        raise FormError(
            "within", f"within must be a number above 0, such as 20 or 20%, got {self.within!r}"
        )

    def _share(self) -> str:
        if 0 < share(self.within.strip()) <= 1:
            return self.within.strip()
        raise FormError(
            "within", f"within must be above 0 and at most 100%, such as 20%, got {self.within!r}"
        )

    def _of_guess(self) -> float:
        if self.guessed is None:
            raise FormError(
                "guess", f"within {self.within.strip()} of how many? Give a public guess"
            )
        return self.guessed
