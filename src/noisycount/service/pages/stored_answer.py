"""What is said of a stored answer beside its reply: what it says with what is public, and what the ledger knows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self, TypeAlias

from markupsafe import Markup

from noisycount.charts.answer_svg import Estimated, bar_svg
from noisycount.charts.curves import RefinementCurves
from noisycount.charts.theme import MOST_ROWS
from noisycount.config.config import DatasetConfig
from noisycount.display.columns import free_name
from noisycount.display.numbers import plus_minus, signed
from noisycount.frozen import frozen
from noisycount.ledger.entries import Entry
from noisycount.ledger.price import RunningTotal, odds_of, unit_noun
from noisycount.model.populations.binomial import BetaBinomial
from noisycount.model.populations.population import Population
from noisycount.model.tables.levels import Label
from noisycount.query.grouping import NumberRanges, resolve_group_by
from noisycount.query.query import Query
from noisycount.query.schema import Kind
from noisycount.readers.assumption import Assumed
from noisycount.readers.values import noise_of
from noisycount.release.stored_question import StoredQuestion
from noisycount.service.pages.layout import on_one_line
from noisycount.service.state import ServiceState
from noisycount.tasks.answer_display import NEAR, SUM_NAMES, estimate_words, sums_so_far
from noisycount.tasks.answer_json import levels_json, loss_json
from noisycount.tasks.refine.estimate import Refinement
from noisycount.tasks.refine.published import RefineQuery
from noisycount.tasks.refine.stored import table_of_entry
from noisycount.validation import exact_text

Row: TypeAlias = tuple[object, ...]  # the level of a row and its keys


@frozen
class ReleasedRow:
    """A row of a table: its keys, its count and, where that says more, the refined one."""

    level: str  # whose row it is: of the cells, of a sum, or of all other keys
    labels: Sequence[Label]  # its keys
    keys: Sequence[str]  # what a reader sees of them
    told: Estimated
    error: float
    refined: Estimated | None
    ends: tuple[float, float]  # of all bars
    is_near: bool = False  # whether it is as near as it was wanted, as a share of the count
    sum_so_far: Sequence[float] = ()  # of a cumulative table the sum of the rows up to it, and its standard error

    @property
    def answer(self) -> Markup:
        """The count and its error, with a mark where it is as near as it was wanted."""
        error = f"{plus_minus(self.error)}{f' {NEAR}' if self.is_near else ''}"
        return Markup('{} <span class="error">{}</span>').format(signed(self.told.value), error)

    @property
    def estimate(self) -> str:
        """Refined count in words, and that it lies outside the ± of its answer if so; empty if it adds nothing."""
        if self.refined is None:
            return ""
        is_inside = self.told.low <= self.refined.value <= self.told.high
        return f"{self.refined.words}{'' if is_inside else ', outside the ±'}"

    @property
    def sum(self) -> str:
        """The sum of the rows up to this one, in words; empty if the table is not cumulative."""
        return f"sum so far {on_one_line(estimate_words(*self.sum_so_far))}" if self.sum_so_far else ""

    @property
    def picture(self) -> Markup:
        """A bar; none of a sum of all, beside which no other would be seen."""
        return Markup("" if self.level == "total" else bar_svg(self.told, self.ends, self.refined))  # noqa: S704 - digits


@frozen
class CountEstimate:
    """The estimate of one count."""

    told: Estimated  # the median, which errs least, and the shortest interval that holds the count with the confidence
    refined: Refinement  # the law of the count, given the answer
    assumed: str  # what is public, in words

    @classmethod
    def of(cls, told: Mapping[str, Any], size: int | None) -> Self | None:
        """The estimate from a stored reply; None where the number of units is not public."""
        if size is None or "scale" not in told:
            return None
        noise = noise_of(told["mechanism"], Fraction(told["scale"]))
        level = float(told.get("confidence", 0.95))
        refined = Refinement.of([told["answer"]], Assumed.of_size(size), noise, level)
        shown = Estimated(refined.told.median, *refined.shortest_interval)
        return cls(shown, refined, refined.assumed.words)

    @property
    def curve(self) -> Sequence[tuple[float, float]]:
        """The counts that hold nearly all the probability, and that of each."""
        shown = RefinementCurves.from_posterior(self.refined.told)
        return list(zip(shown.counts, shown.posterior, strict=True))


@frozen
class RefinedRows:
    """The estimates of the rows of a table."""

    # the median of a row and the shortest interval that holds its count, by its level and its keys
    rows: Mapping[Row, Estimated]
    words: str  # what was assumed

    @classmethod
    def of(cls, entry: Entry, level: float, columns: Mapping[str, Kind] | None, size: int | None) -> Self | None:
        """Return the estimates of a stored table; None if it is too long to be refined at once.

        Args:
            entry: The entry of the table.
            level: The probability that each interval holds.
            columns: The columns, by which replies name keys; None: keys are named as in the ledger.
            size: The public number of units; None: it is not public.
        """
        from noisycount.tasks.refine.refined import refined_table  # noqa: PLC0415 - loads the laws of tables

        published = table_of_entry(entry, entry.key)
        if not 0 < len(published.answers) <= MOST_ROWS:
            return None
        total, known = _total(entry, size)
        refined = refined_table(RefineQuery(key=entry.key, level=level), published, lambda _: None, total)
        levels = free_name("level", dict.fromkeys(published.names))
        shown = {} if columns is None else _shown_labels(entry, columns)
        cells = {
            name: [shown.get(name, {}).get(label, label) for label in published.columns[name]]
            for name in (levels, *published.names)
        }
        medians = refined.estimates["median"].tolist()
        rows: dict[Row, Estimated] = {
            tuple(values[row] for values in cells.values()): Estimated(medians[row], low, high)
            for row, low, high in refined.intervals()
        }
        return cls(rows, "; ".join(filter(None, [known, refined.prior_words, *published.notes])))


def _total(entry: Entry, size: int | None) -> tuple[int | Population | None, str]:
    """Return what is public of the total of a table, and that in words.

    The public size is the total of a table whose cells hold every unit once. It bounds every other total of which each
    unit is a part at most once.
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
    """For each column its labels as the ledger, which does not keep that ranges are whole, has them, and as told."""
    question = StoredQuestion(entry)
    if "by" not in question.table:
        return {}
    parts = resolve_group_by(question.table["by"], dict(columns), question.unit)
    told: dict[str, dict[object, Label]] = {}
    for part in parts:
        if isinstance(part, NumberRanges):
            any_number = NumberRanges(replace(part.column, kind=Kind.REAL), part.edges)
            places = range(len(part.edges))
            told[part.column.name] = {any_number.label(i): part.label(i) for i in places}
    return told


def told_by_ledger(told: Mapping[str, Any], entry: Entry) -> Mapping[str, Any]:
    """Return the reply for an answer that no service gave, from its entry alone."""
    question = StoredQuestion(entry)
    release = question.release
    if release is None:  # no noisycount wrote the question, or it was never answered
        return {name: value for name, value in told.items() if name not in {"rows", "answer", "error", "confidence"}}
    reply = {
        **told,
        "unit": release.unit,
        "mechanism": question.levels[0].mechanism.name,
        "odds": odds_of(
            entry.loss,
            unit_noun(release.unit),
            question.replaced if question.relation is not None else None,
        ),
        "price": loss_json(entry.loss),
    }
    if not question.is_table:
        answer, error = told["answer"], told["error"]
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
    return {**reply, "by": by, "levels": levels, "threshold": plan.threshold, "surely_shown": plan.surely_shown()}


def with_sums(told: Mapping[str, Any], entry: Entry) -> Mapping[str, Any]:
    """Return a reply with the sums of a cumulative table and their standard errors, which older replies do not have."""
    if "rows" not in told or not StoredQuestion(entry).table.get("cumulative"):
        return told
    release = StoredQuestion(entry).release
    sums = [] if release is None else sums_so_far(release)
    rows = [{**row, **dict(zip(SUM_NAMES, each, strict=True))} for row, each in zip(told["rows"], sums, strict=False)]
    return {**told, "rows": [*rows, *told["rows"][len(rows) :]]}


def in_order(query: Query, rows: Sequence[Mapping[str, Any]]) -> Query:
    """Return a query with its questions or keys in the order of the rows of an answer; a ledger sorts them."""
    if query.is_list:
        return replace(query, wheres=[row["keys"]["question"] for row in rows])
    if not isinstance(query.keys, Mapping):
        return query
    backwards = list(enumerate(rows))[::-1]
    places = {column: {row["keys"][column]: place for place, row in backwards} for column in query.keys}
    keys = {
        column: sorted(listed, key=lambda key, first=places[column]: first.get(key, len(rows)))  # type: ignore[misc]
        for column, listed in query.keys.items()
    }
    return replace(query, keys=keys)


def running_total(state: ServiceState, entry: Entry, dataset: DatasetConfig | None) -> RunningTotal:
    """Return the running total of the data set of an entry, for the worst relation if the data set is gone."""
    return RunningTotal(
        state.ledger.paid(entry.request.dataset),
        unit_noun(StoredQuestion(entry).unit),
        is_replacement=dataset is not None and dataset.size is not None,
        rho_delta=None if dataset is None else dataset.budget.rho_delta,
    )
