"""`Release`, a published count. `table_release` has published tables."""

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
        """True if the analyst or another one asked the same before, so that this call charged nothing."""
        return not self._ledger_charge

    @property
    def _ledger_charge(self) -> Loss:
        """Loss that the ledger charged for this call."""
        raise NotImplementedError

    @property
    def _protected(self) -> str:
        """Whom the answer protects: "person" or "row"."""
        return unit_noun(self.unit)

    @property
    def _payment(self) -> str:
        """Charge of this call, or that it was free."""
        return "asked before: free" if self.repeated else f"charged {self.charge_text}"

    @property
    def charge_text(self) -> str:
        """Charge of this call in words, in the currency of the data set's budget."""
        raise NotImplementedError


@frozen(repr=False)
class Release(PublishedAnswer):
    """A published answer; it goes wherever an answer and its mechanism go.

    Args:
        answer: The noisy count, in units; it may be negative or exceed the number of units.
        epsilon: What the answer cost once.
        paid: The loss that the ledger charged for this call; none if the answer was paid for before. `charge` is the
            same in the currency of the data set's budget, and `charged` its amount: in ρ if the budget is in ρ, else
            in ε.
        remaining: The largest ε at which this analyst may ask one more question of the data set.
        dataset: Whose records were counted; a file without a name is told by that of its file.
        where: The canonical text of the predicate's normal form.
        mechanism: The law of the answer given the count.
        key: Under which key the ledger keeps the answer.
        unit: The column whose distinct values were counted; None: records.
        confidence: The probability with which `error` is stated.
        unreadable_as_missing: The columns of the question whose cells, where they could not be
            read, count as missing, as the owner accepted.
        remains: What is left of the data set's budget and the analyst's own; None: unknown.
        replaces: The keys of the coarser answers to the same question on which this one rests: beside it they say
            nothing more.
        within: The share of the count within which it was asked for; None: it was asked at a price.
        bounds: Between which the count lies with the confidence where it was asked for within a share of itself:
            answer·(1 ± within), or wider where the price was capped; None: answer ± error.
        is_near: Whether it was asked for within a share of the count, and is so near; else its price was capped.

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
        >>> told = nc.posterior(answer, nc.BetaBinomial.from_rate(600, 0.17, 0.02))
        >>> low, high = told.interval(0.95)
        >>> low <= told.median <= high
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
        """Odds that a guess about one person or row may become, in words."""
        return odds_sentence(self.epsilon, self._protected)

    def _repr_html_(self) -> str:
        """Return one line for a notebook."""
        return (
            f"<p><b>{signed(self.answer)} {plus_minus(self.error)}</b> "
            f"({percent(self.confidence)}) for <code>{escape(self.where)}</code>; {self._payment}, "
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
