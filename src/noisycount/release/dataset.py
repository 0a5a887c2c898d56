"""A data set with its budget, and the remaining budget of a data set and an analyst."""

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from noisycount.display.numbers import approximately, rounded_down
from noisycount.display.texts import redacted_name
from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.ledger.budget import Budget, Loss, budget_of
from noisycount.ledger.entries import Analyst, check_text
from noisycount.validation import exact_text

if TYPE_CHECKING:
    from noisycount.ledger.ledger import Ledger  # with SQLAlchemy, which commands without records do not load

_MOST = 10**25  # more than the number of answers that any budget pays for: 1e6 / (1e-9² / 2)
_CHEAP = Fraction(1, 10**9)  # smallest price of an answer


@frozen(slots=False)
class Dataset(Shown):
    """A data set whose records are counted, and the budget that pays for the answers.

    Raises:
        ValueError: The name is not printable, or the budget or the size is out of range.
    """

    # name, at most 200 printable characters; or a function that returns the name at its first use, because that is when
    # the description of a table in memory is written to the ledger
    label: str | Callable[[], str]
    budget: Budget  # privacy budget of all answers together; a number becomes a budget in ε
    size: int | None = None  # number of units, if it is public
    needs_purpose: bool = False  # True if an analyst must state what an answer is for

    def __post_init__(self) -> None:
        if isinstance(self.label, str) or not callable(self.label):
            check_text("name", self.label)
        object.__setattr__(self, "budget", budget_of(self.budget))
        if self.size is not None and not (type(self.size) is int and self.size > 0):
            raise ValueError(f"size must be a whole number above 0, got {self.size!r}")

    @cached_property
    def name(self) -> str:
        """Name of the data set in the ledger."""
        return self.label if isinstance(self.label, str) else self.label()

    @property
    def shown_name(self) -> str:
        """Name that readers of an answer see."""
        return redacted_name(self.name)


@frozen(slots=False)
class AvailableBudget:
    """A budget, and the loss of the answers that it paid for."""

    budget: Budget
    spent: Loss = Loss()
    dataset: str | None = None  # data set that has this budget; None: the budget belongs to no data set

    @cached_property
    def left(self) -> Fraction:
        """Largest ε of one more answer."""
        return self.budget.left(self.spent)

    def affordable(self, epsilon: Fraction) -> int:
        """Return the number of further answers at an ε for which the budget pays."""
        from noisycount.model.searches import first_true  # noqa: PLC0415 - loads NumPy

        def is_refused(answers: int) -> bool:
            return not self.admits(Loss(answers * epsilon, answers * epsilon**2 / 2))

        return first_true(lambda answers: is_refused(answers + 1), 0, _MOST)

    def admits(self, price: Loss) -> bool:
        """Return True if the budget pays for one more answer at a price."""
        return self.budget.admits(self.spent + price)

    def left_after(self, price: Loss) -> Fraction:
        """Return the largest ε of one more answer after one at a price."""
        return self.budget.left(self.spent + price)

    @property
    def left_in_rho(self) -> Fraction | None:
        """Largest ε of one more answer after an answer with Gaussian noise; None if such an answer changes nothing.

        After the first answer with Gaussian noise, the sum of ε no longer counts, only the sum of ρ.
        """
        if self.budget.obstacle(Loss.concentrated(Fraction(1)), "") is not None:
            return None
        left = self.left_after(Loss.concentrated(Fraction(0)))
        return left if left < self.left else None

    @property
    def words(self) -> str:
        """The largest price of one answer, and the number of cheap answers that the budget pays for, in words.

        Example:
            >>> from noisycount.ledger.budget import ConcentratedBudget, PureBudget
            >>> AvailableBudget(PureBudget(Fraction(2)), Loss.from_epsilon(Fraction("1.55"))).words
            'ε = 0.45 for one answer, or 45 answers at ε = 0.01'
            >>> AvailableBudget(ConcentratedBudget(Fraction("0.1"))).words
            'ε = 0.447 for one answer, or 2,000 answers at ε = 0.01'
        """
        largest = self.left
        if not largest:
            return "nothing"
        one, cheap = f"ε = {rounded_down(largest)} for one answer", _cheap_price(largest)
        if cheap < _CHEAP:
            return one
        return f"{one}, or {self.affordable(cheap):,} answers at ε = {exact_text(cheap)}"


@frozen(slots=False)
class RemainingBudget:
    """The remaining budget of a data set, and of the analyst who asks; both must pay for one more answer.

    Example:
        >>> from noisycount.ledger.budget import PureBudget
        >>> analyst = Analyst("ana", PureBudget(Fraction(1, 5)))
        >>> budget, spent = PureBudget(Fraction(2)), Loss.from_epsilon(Fraction(1))
        >>> remaining = RemainingBudget.from_spending(budget, spent, analyst, Loss())
        >>> remaining.remaining, remaining.object["dataset_remaining"]
        (Fraction(1, 5), '1')
    """

    budgets: tuple[AvailableBudget, ...]  # of the data set; then of the analyst over all data sets, if there is one

    @classmethod
    def from_spending(cls, budget: Budget, spent: Loss, analyst: Analyst, analyst_spent: Loss) -> "RemainingBudget":
        """Return the remaining budgets of a data set and of an analyst, from the loss that each has spent."""
        quotas = [] if analyst.budget is None else [AvailableBudget(analyst.budget, analyst_spent)]
        return cls((AvailableBudget(budget, spent), *quotas))

    @classmethod
    def in_ledger(
        cls, ledger: "Ledger | None", name: str, budget: Budget, analyst: Analyst, refund: Fraction = Fraction(0)
    ) -> "RemainingBudget":
        """Return the remaining budgets as a ledger states them, once `refund`, in ε, is returned from a reserve.

        If `ledger` is None, nothing is spent yet.
        """
        spent = Loss() if ledger is None else ledger.paid(name)
        analyst_spent = Loss() if ledger is None or analyst.budget is None else ledger.paid_by(analyst.name)
        return cls.from_spending(budget, spent.after_refund(refund), analyst, analyst_spent.after_refund(refund))

    @property
    def dataset_budget(self) -> Budget:
        """Budget of the data set."""
        return self.budgets[0].budget

    @property
    def quota(self) -> Budget | None:
        """Budget of the analyst over all data sets; None: there is none."""
        return self.budgets[1].budget if len(self.budgets) > 1 else None

    @property
    def of_dataset(self) -> Fraction:
        """Largest ε for which the budget of the data set still pays."""
        return self.budgets[0].left

    @property
    def of_quota(self) -> Fraction | None:
        """Largest ε for which the budget of the analyst still pays; None if the analyst has no budget."""
        return self.budgets[1].left if len(self.budgets) > 1 else None

    @property
    def remaining(self) -> Fraction:
        """Largest ε of one more answer."""
        return min([budget.left for budget in self.budgets])

    @property
    def budget(self) -> Budget:
        """The budget, of the data set or of the analyst, that leaves the smaller ε."""
        if self.quota is None or self.of_quota is None or self.of_dataset <= self.of_quota:
            return self.dataset_budget
        return self.quota

    @property
    def is_a_sum(self) -> bool:
        """True if prices in ε add up in each budget."""
        return all(budget.budget.is_a_sum for budget in self.budgets)

    def admits(self, price: Loss) -> bool:
        """Return True if the budgets pay for one more answer at a price."""
        return all(budget.admits(price) for budget in self.budgets)

    @property
    def object(self) -> dict[str, Any]:
        """The remaining budgets as JSON; sums are exact texts."""
        return {
            "remaining": exact_text(self.remaining),
            "budget": self.budget.written,
            "dataset_remaining": exact_text(self.of_dataset),
            "dataset_budget": self.dataset_budget.written,
            "quota_remaining": None if self.of_quota is None else exact_text(self.of_quota),
            "quota": None if self.quota is None else self.quota.written,
        }


def next_price_words(largest: Fraction) -> str:
    """Return the largest price of the next answer in words.

    This is the only number to show for a budget whose prices in ε do not add up.
    """
    return f"the next may cost up to {approximately(largest)}"


def _cheap_price(largest: Fraction) -> Fraction:
    """Return a power of ten from a hundredth to a tenth of the largest price."""
    power = Fraction(10)
    while power * 10 <= largest:
        power *= 10
    while power > largest:
        power /= 10
    return power / 10
