"""The refined values beside the raw ones: what an answer says together with what is public."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self, TypeAlias

from noisycount.app.refine.assumption import Assumed
from noisycount.app.refine.estimate import Refinement
from noisycount.app.refine.tables.asked import AskedTable
from noisycount.app.refine.words import refinement_facts
from noisycount.app.terminal.printing import Facts
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.release.ledger.asked import asked_of
from noisycount.release.ledger.entries import Entry
from noisycount.release.question.grouping import Edges
from noisycount.release.question.schema import Kind
from noisycount.release.tables.labels import Label
from noisycount.release.tables.parts import parts_of
from noisycount.shown.columns import free_name

__all__ = ["MOST_ROWS", "CountEstimate", "RowEstimates"]

MOST_ROWS = 200
"""So many rows are refined while somebody waits."""

Row: TypeAlias = tuple[object, ...]
"""The level of a row and its keys."""

_TOLD = {"assumed", "mean", "deviation"}  # the rest is said above them


@dataclass(frozen=True, slots=True)
class CountEstimate:
    """The estimate of one count.

    Attributes:
        median: The estimate that errs least.
        interval: Where the count lies with the probability of `level`.
        facts: What else is to be known of it.
    """

    median: int
    interval: tuple[int, int]
    facts: Facts

    @classmethod
    def of(cls, told: Mapping[str, Any], size: int | None) -> Self | None:
        """The estimate from a stored reply; None where the number of units is not public.

        Args:
            told: The reply.
            size: How many units there are, where everybody knows.
        """
        if size is None or told.get("epsilon") is None:
            return None
        noise = DiscreteLaplace.for_epsilon(Fraction(told["epsilon"]))
        level = float(told.get("confidence", 0.95))
        refined = Refinement.of([told["answer"]], Assumed.of_size(size), noise, level)
        facts = [fact for fact in refinement_facts(refined) if fact[0] in _TOLD]
        return cls(int(refined.told.median), refined.interval, facts)


@dataclass(frozen=True, slots=True)
class RowEstimates:
    """The estimates of the rows of a table.

    Attributes:
        rows: The estimate of a row and the ends of its interval, by its level and its keys.
        words: What was assumed.
    """

    rows: Mapping[Row, tuple[float, int, int]]
    words: str

    @classmethod
    def of(cls, entry: Entry, level: float, columns: Mapping[str, Kind]) -> Self | None:
        """The estimates of a stored table; None where it is too long to be refined at once.

        Args:
            entry: As the ledger has it.
            level: The probability of the intervals.
            columns: What questions may use.

        Raises:
            NoisyCountError: There is no such column any more, or no such table.
        """
        from noisycount.app.refine.tables.prior_words import prior_words  # noqa: PLC0415 - laws
        from noisycount.app.refine.tables.refined import refined_table  # noqa: PLC0415 - the same
        from noisycount.app.refine.tables.stored.table import table_of_entry  # noqa: PLC0415 - the same

        published = table_of_entry(entry, entry.key)
        if not 0 < len(published.answers) <= MOST_ROWS:
            return None
        refined = refined_table(AskedTable(key=entry.key, level=level), published, lambda _: None)
        told, levels = refined.estimates, free_name("level", dict.fromkeys(published.names))
        shown = _shown_labels(entry, columns)
        cells = {
            name: [shown.get(name, {}).get(label, label) for label in published.columns[name]]
            for name in (levels, *published.names)
        }
        rows: dict[Row, tuple[float, int, int]] = {
            tuple(of[row] for of in cells.values()): (
                float(told.mean[row]),
                int(told.low[row]),
                int(told.high[row]),
            )
            for row in range(len(published.answers))
            if told.is_told[row]
        }
        return cls(rows, "; ".join([*prior_words(refined), *published.notes]))


def _shown_labels(entry: Entry, columns: Mapping[str, Kind]) -> dict[str, dict[object, Label]]:
    """How ranges of whole numbers were told; a ledger does not keep that they are whole.

    Returns:
        For the name of a column its labels as a ledger tells them, and as they were told.
    """
    question = asked_of(entry)
    if "by" not in question["table"]:
        return {}
    parts = parts_of(question["table"]["by"], dict(columns), question["unit"])
    told: dict[str, dict[object, Label]] = {}
    for part in parts:
        if isinstance(part, Edges):
            any_number = Edges(replace(part.column, kind=Kind.REAL), part.edges)
            places = range(len(part.edges))
            told[part.column.name] = {any_number.label(i): part.label(i) for i in places}
    return told
