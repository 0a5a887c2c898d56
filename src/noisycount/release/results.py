"""Published counts: `Release`, with its noise, its error and its charge.

`table_release` has published tables. `PublishedAnswer` holds what both share.
"""

from dataclasses import field
from fractions import Fraction
from functools import lru_cache
from html import escape

from noisycount.display.numbers import approximately, odds_sentence, percent, plus_minus, signed
from noisycount.display.values import Charted
from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss, amount_of, amount_text
from noisycount.ledger.price import unit_noun
from noisycount.model.half_width import error_within
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.release.dataset import RemainingBudget
from noisycount.validation import exact_text

_error_within = lru_cache(maxsize=64)(error_within)  # a reply states the same error several times


class PublishedAnswer(Charted):
    """Members that a published count and a published table share."""

    __slots__ = ()
    unit: str | None
    remains: RemainingBudget | None

    @property
    def repeated(self) -> bool:
        """True if this call charged nothing, because this or another analyst paid for the answer before."""
        return not self._ledger_charge

    @property
    def _ledger_charge(self) -> Loss:
        """Loss that the ledger charged for this call."""
        raise NotImplementedError

    @property
    def _protected_unit(self) -> str:
        """The privacy unit that the answer protects: "person" or "row"."""
        return unit_noun(self.unit)

    @property
    def _payment_words(self) -> str:
        """Charge of this call in words, or a note that it was free."""
        return "asked before: free" if self.repeated else f"charged {self.charge_text}"

    @property
    def charge_text(self) -> str:
        """Charge of this call in words, in the currency of the data set's budget."""
        raise NotImplementedError


@frozen(repr=False)
class Release(PublishedAnswer):
    """A published count. Functions that take an answer and its mechanism also take a `Release`.

    Args:
        answer: The noisy count, in units; it may be negative or exceed the number of units.
        epsilon: The price of the answer, in ε, with all that it tops up.
        paid: The loss that the ledger charged for this call; 0 if the answer was paid for before. `charge` is this loss
            in the currency of the data set's budget, and `charged` its amount: in ρ if the budget is in ρ, else in ε.
        remaining: The largest ε of one more answer about the data set for this analyst.
        dataset: The name of the data set as readers see it; for a file without a name, the name of the file.
        where: The canonical text of the predicate's normal form.
        mechanism: The noise: the distribution of the answer given the count.
        key: The key of the answer in the ledger.
        unit: The column whose distinct values were counted; None: rows were counted.
        confidence: The probability that the count lies within `error`.
        unreadable_as_missing: The columns of the question whose unreadable values count as missing, as the owner
            accepted.
        remains: The remaining budgets of the data set and of the analyst; None: unknown.
        replaces: The keys of the less accurate answers that this one tops up. Together with this answer they reveal
            nothing more.
        within: The accuracy goal, as a share of the count; None: the price was fixed.
        bounds: With an accuracy goal, the interval that contains the count with the confidence: answer·(1 ± within), or
            a wider one if the largest price was reached. None: answer ± error.
        is_near: True if there is an accuracy goal and the answer meets it.

    Example:
        >>> import tempfile
        >>> import noisycount as nc
        >>> import polars as pl
        >>> survey = pl.DataFrame({"age": [71] * 102 + [29] * 498})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with nc.open_desk(survey, unit="row", ledger=f"{folder}/ledger.db") as desk:
        ...         answer = desk.release("age >= 50", within="20%", guess=100)
        >>> answer  # doctest: +ELLIPSIS
        Release(answer=..., error=20, epsilon=0.15, remaining=1.85, where='age >= 50')
        >>> estimate = nc.posterior(answer, nc.BetaBinomial.from_rate(600, 0.17, 0.02))
        >>> low, high = estimate.interval(0.95)
        >>> low <= estimate.median <= high
        True
    """

    answer: int
    epsilon: Fraction
    paid: Loss
    remaining: Fraction
    dataset: str
    where: str
    mechanism: DiscreteLaplace
    key: str
    unit: str | None = None
    confidence: float = 0.95
    unreadable_as_missing: tuple[str, ...] = ()
    remains: RemainingBudget | None = field(default=None, compare=False, repr=False)
    replaces: tuple[str, ...] = ()
    within: Fraction | None = None
    bounds: tuple[int, int] | None = None
    is_near: bool = False

    @property
    def _ledger_charge(self) -> Loss:
        return self.paid

    @property
    def charge(self) -> Loss:
        """Loss that this call charged, in the currency of the data set's budget."""
        return self.paid if self.remains is None else self.remains.dataset_budget.charge(self.paid)

    @property
    def charged(self) -> Fraction:
        """Amount of `charge`, in ρ if the budget is in ρ, else in ε."""
        return amount_of(self.charge)

    @property
    def charge_text(self) -> str:
        """Charge of this call in words; see `charged`."""
        return amount_text(self.charge)

    @property
    def error(self) -> int:
        """Half-width of the interval around the answer that contains the count with the confidence, in units."""
        if self.bounds is not None:
            return max(self.bounds[1] - self.answer, self.answer - self.bounds[0])
        return _error_within(self.mechanism, self.confidence)

    @property
    def scale(self) -> Fraction:
        """Scale of the noise, in units."""
        return self.mechanism.scale

    @property
    def odds(self) -> str:
        """Odds to which the answer can move an even guess about one person or row, in words."""
        return odds_sentence(self.epsilon, self._protected_unit)

    def _repr_html_(self) -> str:
        """Return one line for a notebook."""
        return (
            f"<p><b>{signed(self.answer)} {plus_minus(self.error)}</b> "
            f"({percent(self.confidence)}) for <code>{escape(self.where)}</code>; {self._payment_words}, "
            f"{approximately(self.remaining)} left; ε = {exact_text(self.epsilon)}: "
            f"{escape(self.odds)}</p>"
        )

    def _facts(self) -> dict[str, object]:
        names = (
            *("answer", "error", "confidence", "epsilon", "odds", "charged", "remaining"),
            *("repeated", "dataset", "unit", "where", "mechanism", "key", "unreadable_as_missing", "replaces"),
            *(("within", "is_near", "bounds") if self.bounds is not None else ()),
        )
        return {name: getattr(self, name) for name in names}

    def _key_facts(self) -> dict[str, object]:
        names = ("answer", "error", "epsilon", "remaining", "where")
        return {name: getattr(self, name) for name in names}
