"""What charts show of a count before and after its noisy answer, and of published counts."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Protocol, Self, TypeGuard

from noisycount.analysis.posterior.posterior import Posterior, likelihood_curve, shown_counts
from noisycount.display.numbers import percent, plus_minus
from noisycount.display.texts import OTHER_KEYS, label_text
from noisycount.frozen import frozen
from noisycount.model.exact import Below

MOST_COUNTS = 5000  # what Altair takes inside a chart


@frozen
class RefinementCurves:
    """What is known about a count before and after its noisy answer."""

    counts: Sequence[int]  # the run of counts to show, increasing, at most 5,000; in records
    prior: Sequence[float]  # the probability of each count before the answer
    noisy: Sequence[float]  # the likelihood of the answer at each count, normalised over the counts
    posterior: Sequence[float]  # the probability of each count given the answer
    answer: float  # the noisy answer, in records; it may lie outside the counts
    estimate: float  # the estimate made from both, in records
    low: int  # the smallest count of the interval
    high: int  # the largest count of the interval
    level: float = 0.95  # the probability of the interval

    def __post_init__(self) -> None:
        """The refusal of curves that cannot be drawn on one axis."""
        lengths = [len(self.counts), len(self.prior), len(self.noisy), len(self.posterior)]
        if len(set(lengths)) > 1:
            raise ValueError(f"curves must be equally long, got {lengths}: give one value a count")
        if not 1 <= lengths[0] <= MOST_COUNTS:
            raise ValueError(
                f"counts must be 1 to {MOST_COUNTS} numbers, got {lengths[0]}: "
                "show the run that holds nearly all the probability"
            )
        if self.low > self.high:
            raise ValueError(f"low must not exceed high, got {self.low} and {self.high}: swap them")

    @classmethod
    def of(cls, told: Posterior, level: float = 0.95, answer: float | None = None) -> Self:
        """The curves of a posterior over the counts that hold nearly all the probability."""
        counts = shown_counts(told)
        answers = [answer for answer, _ in told.observed if not isinstance(answer, Below)]
        if answer is None:
            answer = answers[0] if len(answers) == 1 else sum(answers) / len(answers)
        low, high = told.interval(level)
        return cls(
            counts=counts.astype(int).tolist(),
            prior=told.population.law().pmf(counts).tolist(),
            noisy=likelihood_curve(told, counts).tolist(),
            posterior=told.pmf(counts).tolist(),
            answer=answer,
            estimate=told.mean,
            low=low,
            high=high,
            level=level,
        )


MOST_ROWS = 200  # nobody reads a longer chart
MOST_KINDS = 4  # so many colours are told apart by every kind of colour vision


class Tabled(Protocol):
    """A published table, whose first level are its cells."""

    @property
    def where(self) -> str | None:
        """What was counted; None: all records, or several questions."""
        ...

    @property
    def unit(self) -> str | None:
        """The column that names the person; None: rows were counted."""
        ...

    @property
    def confidence(self) -> float:
        """With which errors are stated."""
        ...

    @property
    def answers(self) -> Sequence[Any]:
        """The noisy counts of each level, in units."""
        ...

    @property
    def labels(self) -> Any:  # noqa: ANN401 - with the names of what it is grouped by
        """What a reader sees of the keys."""
        ...

    @property
    def rows(self) -> Sequence[Any]:
        """Every count with its level, labels, answer and errors, the cells first."""
        ...


def is_tabled(result: object) -> TypeGuard[Tabled]:
    """Whether a result is a published table."""
    return all(hasattr(result, name) for name in ("answers", "labels", "rows", "confidence"))


@frozen
class TableBar:
    """One count."""

    label: str  # what was counted
    answer: int  # the published count, in units
    error: int  # the true one lies within ±error of it
    kind: str = ""  # which of several bars of one label; empty where each label has one


@frozen
class TableBars:
    """What a chart of a table shows."""

    bars: Sequence[TableBar]  # rows in their order, those of one label behind each other
    title: str  # the heading
    notes: Sequence[str]  # lines below it
    axis: str  # what the numbers are
    kinds: str = ""  # what tells the bars of one label apart, such as the name of a column

    def __post_init__(self) -> None:
        """The refusal of what cannot be drawn."""
        if not 1 <= len(self.bars) <= MOST_ROWS:
            raise ValueError(
                f"result has {len(self.bars):,} rows, and a chart shows 1 to {MOST_ROWS}: draw "
                "a part of them, or write them to a file"
            )
        if len(self.names) > MOST_KINDS:
            raise ValueError(
                f"result has {len(self.names)} kinds of bars, and a chart tells {MOST_KINDS} "
                "apart: put the kind into the label"
            )

    @property
    def names(self) -> list[str]:
        """The kinds in their order."""
        return list(dict.fromkeys(bar.kind for bar in self.bars))

    @classmethod
    def of(cls, told: Tabled) -> Self:
        """The cells of a published table, those of its last column beside each other if few."""
        cells, names = told.rows[: len(told.answers[0])], list(told.labels.names)
        labels = [_labels(row, names) for row in cells]
        is_beside = _is_beside(labels)
        bars = [
            TableBar(", ".join(each[:-1]), row.answer, row.error, each[-1])
            if is_beside
            else TableBar(", ".join(each), row.answer, row.error)
            for row, each in zip(cells, labels, strict=True)
        ]
        unit = "rows" if told.unit is None else "persons"
        return cls(
            bars=bars,
            title=f"{unit.capitalize()} by {_listed(names)}",
            notes=_notes(told, cells),
            axis=f"{unit}, with noise",
            kinds=names[-1] if is_beside else "",
        )


def _labels(row: Any, names: Sequence[str]) -> list[str]:  # noqa: ANN401 - a row of a table
    """What stands for each key of a row."""
    if row.level == "other" and "other" not in names:
        return [OTHER_KEYS] if len(names) == 1 else [OTHER_KEYS, ""]
    return [label_text(label) for label in row.labels]


def _is_beside(labels: Sequence[Sequence[str]]) -> bool:
    """Whether the cells of each label follow each other, and differ in few last keys."""
    if not labels or min(map(len, labels)) < 2 or labels[-1][0] == OTHER_KEYS:  # noqa: PLR2004
        return False
    kinds = {each[-1] for each in labels}
    firsts = [tuple(each[:-1]) for each in labels]
    runs = 1 + sum(one != other for one, other in pairwise(firsts))
    return 1 < len(kinds) <= MOST_KINDS and runs == len(set(firsts))


def _notes(told: Tabled, cells: Sequence[Any]) -> list[str]:
    """What was counted, and how far off it may be."""
    error, all_within = plus_minus(cells[0].error), plus_minus(cells[0].error_of_all)
    sure = f"line: {error} around each answer, {percent(told.confidence)} sure"
    together = f"all at once within {all_within}" if len(told.rows) > 1 else ""
    return [*([told.where] if told.where else []), "; ".join(filter(None, (sure, together)))]


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
