"""Additions to the stored reply of an answer: refined estimates from public facts, and facts from the ledger entry.

The page of an answer shows both beside the reply.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self, TypeAlias

from markupsafe import Markup

from noisycount.charts.answer_picture import CountInterval, bar_svg
from noisycount.charts.refinement import RefinementCurves
from noisycount.charts.theme import MOST_ROWS
from noisycount.config.config import DatasetConfig
from noisycount.display.columns import free_name
from noisycount.frozen import frozen
from noisycount.ledger.entries import Entry
from noisycount.ledger.price import RunningTotal, odds_of, unit_noun
from noisycount.model.populations.binomial import BetaBinomial
from noisycount.model.populations.population import Population
from noisycount.model.tables.levels import Label
from noisycount.query.grouping import NumberRanges, resolve_group_by
from noisycount.query.query import Query
from noisycount.query.schema import Kind, Schema
from noisycount.readers.assumption import Assumed
from noisycount.readers.values import noise_of
from noisycount.release.stored_question import StoredQuestion
from noisycount.service.pages.layout import on_one_line
from noisycount.service.state import ServiceState
from noisycount.tasks.answer_display import SUM_NAMES, estimate_words, sums_so_far
from noisycount.tasks.answer_json import levels_json, loss_json
from noisycount.tasks.refine.estimate import Refinement
from noisycount.tasks.refine.published import RefineQuery
from noisycount.tasks.refine.readers import table_of_entry
from noisycount.validation import exact_text

Row: TypeAlias = tuple[object, ...]  # level and keys of a row


@frozen
class ReleasedRow:
    """Row of a table: its keys, its noisy count, and its refined count if any row of the table has one."""

    level: str  # level of the row: cells, a sum, or all other keys
    labels: Sequence[Label]  # keys of the row
    keys: Sequence[str]  # keys of the row as shown text
    noisy_count: CountInterval  # the noisy count with its interval
    error: float  # half-width of that interval
    refined: CountInterval | None  # the refined count; None: not refined
    ends: tuple[float, float]  # ends of the axis that all bars share
    is_near: bool = False  # True if the count meets the accuracy goal
    sum_so_far: Sequence[float] = ()  # in a cumulative table the sum of the rows up to this one, and its standard error

    @property
    def estimate(self) -> str:
        """Refined count in words, with a note if it lies outside the ± of the noisy count; empty if not refined."""
        if self.refined is None:
            return ""
        is_inside = self.noisy_count.low <= self.refined.value <= self.noisy_count.high
        return f"{self.refined.words}{'' if is_inside else ', outside the ±'}"

    @property
    def sum(self) -> str:
        """Sum of the rows up to this one, in words; empty if the table is not cumulative."""
        return f"sum so far {on_one_line(estimate_words(*self.sum_so_far))}" if self.sum_so_far else ""

    @property
    def picture(self) -> Markup:
        """Bar of the row; empty for the total, as its bar would make all others too small to see."""
        return Markup("" if self.level == "total" else bar_svg(self.noisy_count, self.ends, self.refined))  # noqa: S704 - digits


@frozen
class CountEstimate:
    """Refined estimate of one count."""

    count: CountInterval  # posterior median, and the shortest interval that contains the count with the confidence
    refined: Refinement  # posterior distribution of the count given the answer
    assumed: str  # the public facts that the estimate assumes, in words

    @classmethod
    def from_reply(cls, reply: Mapping[str, Any], size: int | None) -> Self | None:
        """Return the estimate from a stored reply; None if the number of units is not public or the reply has no scale.

        Args:
            reply: The stored reply.
            size: The public number of units; None: it is not public.
        """
        if size is None or "scale" not in reply:
            return None
        noise = noise_of(reply["mechanism"], Fraction(reply["scale"]))
        level = float(reply.get("confidence", 0.95))
        refined = Refinement.from_answers([reply["answer"]], Assumed.from_size(size), noise, level)
        interval = CountInterval(refined.posterior.median, *refined.shortest_interval)
        return cls(interval, refined, refined.assumed.words)

    @property
    def curve(self) -> Sequence[tuple[float, float]]:
        """Counts that hold nearly all the posterior probability, each with its probability."""
        curves = RefinementCurves.from_posterior(self.refined.posterior)
        return list(zip(curves.counts, curves.posterior, strict=True))


@frozen
class RefinedRows:
    """Refined estimates of the rows of a table."""

    # posterior median and interval of each row, by level and keys
    rows: Mapping[Row, CountInterval]
    words: str  # the assumptions, in words

    @classmethod
    def from_entry(
        cls, entry: Entry, level: float, columns: Mapping[str, Kind] | None, size: int | None
    ) -> Self | None:
        """Return the estimates of a stored table; None if it has no rows, or too many to be refined at once.

        Args:
            entry: The entry of the table.
            level: The probability that each interval contains its count.
            columns: The kinds of the columns, to name keys as replies do; None: keys are named as in the ledger.
            size: The public number of units; None: it is not public.
        """
        from noisycount.tasks.refine.refined import refined_table  # noqa: PLC0415 - loads the distributions of tables

        published = table_of_entry(entry, entry.key)
        if not 0 < len(published.answers) <= MOST_ROWS:
            return None
        total, total_words = _public_total(entry, size)
        refined = refined_table(RefineQuery(key=entry.key, level=level), published, lambda _: None, total)
        levels = free_name("level", dict.fromkeys(published.names))
        shown_labels = {} if columns is None else _shown_labels(entry, columns)
        cells = {
            name: [shown_labels.get(name, {}).get(label, label) for label in published.columns[name]]
            for name in (levels, *published.names)
        }
        medians = refined.estimates["median"].tolist()
        rows: dict[Row, CountInterval] = {
            tuple(values[row] for values in cells.values()): CountInterval(medians[row], low, high)
            for row, low, high in refined.intervals()
        }
        return cls(rows, "; ".join(filter(None, [total_words, refined.prior_words, *published.notes])))


def _public_total(entry: Entry, size: int | None) -> tuple[int | Population | None, str]:
    """Return the public knowledge of the total of a table, as a number or a distribution, and in words.

    If the cells contain every unit exactly once, the total is the public number of units. If they contain each unit at
    most once, that number bounds the total. Else, or if it is not public, nothing is known: None.
    """
    question = StoredQuestion(entry)
    table, unit = question.table, f"{unit_noun(question.unit)}s"
    if size is None:
        return None, f"the number of all {unit} is not public, so that nothing bounds the total"
    if table.get("keys") is None or (question.unit is not None and table.get("groups_per_unit") != 1):
        return None, ""
    if table.get("other") and question.asked.get("where") is None:
        return size, f"the total is {size:,}, the public number of {unit}"
    return BetaBinomial(size, 1, 1), f"the total is at most {size:,}, the public number of {unit}"


def _shown_labels(entry: Entry, columns: Mapping[str, Kind]) -> dict[str, dict[object, Label]]:
    """Return, for each column of ranges, the label in replies by the label in the ledger.

    They differ for whole numbers, as the ledger does not store that the ends of a range are whole.
    """
    question = StoredQuestion(entry)
    if "by" not in question.table:
        return {}
    parts = resolve_group_by(question.table["by"], Schema(columns, unit=question.unit), question.unit)
    shown_labels: dict[str, dict[object, Label]] = {}
    for part in parts:
        if isinstance(part, NumberRanges):
            any_number = NumberRanges(replace(part.column, kind=Kind.REAL), part.edges)
            places = range(len(part.edges))
            shown_labels[part.column.name] = {any_number.label(i): part.label(i) for i in places}
    return shown_labels


def complete_from_ledger(reply: Mapping[str, Any], entry: Entry) -> Mapping[str, Any]:
    """Return the reply for an answer that was given without the service, completed from its ledger entry."""
    question = StoredQuestion(entry)
    release = question.release
    if release is None:  # the question has no known form, or has no answer
        return {name: value for name, value in reply.items() if name not in {"rows", "answer", "error", "confidence"}}
    reply = {
        **reply,
        "unit": release.unit,
        "mechanism": question.levels[0].mechanism.name,
        "odds": odds_of(
            entry.loss,
            unit_noun(release.unit),
            question.replacement_loss if question.relation is not None else None,
        ),
        "price": loss_json(entry.loss),
    }
    if not question.is_table:
        answer, error = reply["answer"], reply["error"]
        scale = exact_text(question.levels[0].mechanism.exact_scale)
        return {
            **reply,
            "low": answer - error,
            "high": answer + error,
            "epsilon": reply["price"]["epsilon"],
            "scale": scale,
        }
    plan, by = release.plan, list(release.labels.names)
    levels = levels_json(plan, release.confidence, len(release))
    return {
        **reply,
        "by": by,
        "levels": levels,
        "threshold": plan.threshold,
        "surely_shown": plan.surely_shown(),
    }


def add_sums(reply: Mapping[str, Any], entry: Entry) -> Mapping[str, Any]:
    """Return a reply with the sums of a cumulative table and their standard errors, which older replies lack."""
    if "rows" not in reply or not StoredQuestion(entry).table.get("cumulative"):
        return reply
    release = StoredQuestion(entry).release
    sums = [] if release is None else sums_so_far(release)
    rows = [
        {**row, **dict(zip(SUM_NAMES, row_sums, strict=True))}
        for row, row_sums in zip(reply["rows"], sums, strict=False)
    ]
    return {**reply, "rows": [*rows, *reply["rows"][len(rows) :]]}


def order_like_rows(query: Query, rows: Sequence[Mapping[str, Any]]) -> Query:
    """Return a query with its questions or keys in the order of the rows of an answer. The ledger sorts them."""
    if query.is_list:
        return replace(query, wheres=[row["keys"]["question"] for row in rows])
    if not isinstance(query.keys, Mapping):
        return query
    reversed_rows = list(enumerate(rows))[::-1]
    first_rows = {column: {row["keys"][column]: number for number, row in reversed_rows} for column in query.keys}
    keys = {
        column: sorted(column_keys, key=lambda key, first=first_rows[column]: first.get(key, len(rows)))  # type: ignore[misc]
        for column, column_keys in query.keys.items()
    }
    return replace(query, keys=keys)


def running_total(state: ServiceState, entry: Entry, dataset: DatasetConfig | None) -> RunningTotal:
    """Return the running total of the data set of an entry; if the data set is gone, for the worst case."""
    return RunningTotal(
        state.ledger.paid(entry.request.dataset),
        unit_noun(StoredQuestion(entry).unit),
        is_replacement=dataset is not None and dataset.size is not None,
        rho_delta=None if dataset is None else dataset.budget.rho_delta,
    )
