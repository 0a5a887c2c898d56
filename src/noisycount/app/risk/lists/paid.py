"""What all answers about a data set cost together, and what that promises in the worst case."""

from dataclasses import dataclass
from fractions import Fraction

from noisycount.analysis.privacy.worst_case import priced_delta
from noisycount.app.risk.risk import float_above
from noisycount.model.concentrated import delta_of_rho
from noisycount.release.budget.loss import Loss
from noisycount.release.tables.odds import approximate_loss, odds_of

__all__ = ["Paid"]


@dataclass(frozen=True, slots=True)
class Paid:
    """The sum of all prices, as the ledger has it: it holds whatever was asked, and why.

    Attributes:
        loss: The sums of the ε, the ρ and the δ.
        replaced: The same for one unit in the place of another, and so of somebody who is known to
            be in the records: more where tables were priced for units that come or go.
        rho_delta: The δ at which the budget tells ρ in ε; None: it names none.
        protected: What is guessed about: "person" or "row".
    """

    loss: Loss
    replaced: Loss
    rho_delta: Fraction | None
    protected: str = "person"

    @property
    def told(self) -> tuple[float | Fraction, Fraction]:
        """The ε and the δ that all answers have together; δ = 0 where ε holds in every case."""
        return approximate_loss(self.loss, self.rho_delta)

    @property
    def is_told_as_paid(self) -> bool:
        """Whether that is the sums themselves, in ε."""
        return self.told == (self.loss.epsilon, self.loss.delta)

    @property
    def odds(self) -> str:
        """The same for one person or row, in words."""
        return odds_of(self.loss, self.protected, self.replaced, self.rho_delta)

    def delta(self, epsilon: Fraction) -> float:
        """δ of all answers at an ε, for somebody who knows all other records.

        Args:
            epsilon: Above 0.
        """
        return _delta(self.loss, epsilon)

    def delta_replaced(self, epsilon: Fraction) -> float | None:
        """The same for somebody who knows besides that the person is in them; None: as much.

        Args:
            epsilon: Above 0.
        """
        return None if self.replaced == self.loss else _delta(self.replaced, epsilon)


def _delta(loss: Loss, epsilon: Fraction) -> float:
    """The smaller of what the ε and what the ρ imply, and the δ of hidden keys beside."""
    found = delta_of_rho(loss.rho, epsilon)
    if loss.epsilon is not None:
        found = min(found, priced_delta(float_above(loss.epsilon), float_above(epsilon)))
    return min(1.0, found + float_above(loss.delta))
