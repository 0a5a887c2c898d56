"""A published answer, and all that may be said with it."""

from dataclasses import dataclass, field
from fractions import Fraction
from html import escape

from noisycount.model.half_width import error_within
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.release.remains import Remains
from noisycount.shown.exact_text import exact_text
from noisycount.shown.numbers import approximately, odds_sentence, percent, plus_minus, signed
from noisycount.shown.value import Shown

__all__ = ["Release"]


@dataclass(frozen=True, slots=True, repr=False)
class Release(Shown):
    """A published answer; it goes wherever an answer and its mechanism go.

    Args:
        answer: The noisy count, in units; it may be negative or exceed the number of units.
        epsilon: What the answer cost once.
        charged: What this call charged for it; 0 for an answer that was paid for before.
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

    Example:
        >>> import tempfile
        >>> import noisycount as nc
        >>> import polars as pl
        >>> survey = pl.DataFrame({"age": [71] * 102 + [29] * 498})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with nc.open_desk(survey, unit="row", ledger=f"{folder}/ledger.db") as desk:
        ...         answer = desk.release("age >= 65", within="20%", guess=100)
        >>> answer  # doctest: +ELLIPSIS
        Release(answer=..., error=20, epsilon=0.15, remaining=1.85, where='age >= 65')
        >>> told = nc.posterior(answer, nc.BetaBinomial.from_rate(600, 0.17, 0.02))
        >>> low, high = told.interval(0.95)
        >>> low <= told.median <= high
        True
    """

    answer: int
    epsilon: Fraction
    charged: Fraction
    remaining: Fraction
    dataset: str
    where: str
    mechanism: DiscreteLaplace
    key: str
    unit: str | None = None
    confidence: float = 0.95
    unreadable_as_missing: tuple[str, ...] = ()
    remains: Remains | None = field(default=None, compare=False, repr=False)

    @property
    def error(self) -> int:
        """The count lies within ±error of the answer with the confidence, in units."""
        return error_within(self.mechanism, self.confidence)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in units."""
        return self.mechanism.scale

    @property
    def odds(self) -> str:
        """What ε means for the person or the row that was counted, in words."""
        return odds_sentence(self.epsilon, "row" if self.unit is None else "person")

    @property
    def repeated(self) -> bool:
        """Whether the same was asked before, and paid for then."""
        return not self.charged

    def _repr_html_(self) -> str:
        """One line for a notebook."""
        charge = f"charged {exact_text(self.charged)}" if self.charged else "asked before: free"
        return (
            f"<p><b>{signed(self.answer)} {plus_minus(self.error)}</b> "
            f"({percent(self.confidence)}) for <code>{escape(self.where)}</code>; {charge}, "
            f"{approximately(self.remaining)} left; ε = {exact_text(self.epsilon)}: "
            f"{escape(self.odds)}</p>"
        )

    def _facts(self) -> dict[str, object]:
        """All of it, and what follows for a reader."""
        names = (
            *("answer", "error", "confidence", "epsilon", "odds", "charged", "remaining"),
            *("repeated", "dataset", "unit", "where", "mechanism", "key", "unreadable_as_missing"),
        )
        return {name: getattr(self, name) for name in names}

    def _key_facts(self) -> dict[str, object]:
        """The answer, its price, and what was asked."""
        names = ("answer", "error", "epsilon", "remaining", "where")
        return {name: getattr(self, name) for name in names}
