"""What is said of a stored answer beside its reply: what it says with what is public, and what the ledger knows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self, TypeAlias

from noisycount.charts.answer_svg import Estimated
from noisycount.charts.curves import RefinementCurves
from noisycount.charts.theme import MOST_ROWS
from noisycount.display.columns import free_name
from noisycount.frozen import frozen
from noisycount.ledger.entries import Entry
from noisycount.ledger.price import odds_of
from noisycount.model.tables.levels import Label
from noisycount.query.grouping import NumberRanges, resolve_group_by
from noisycount.query.query import Query
from noisycount.query.schema import Kind
from noisycount.readers.assumption import Assumed
from noisycount.readers.values import noise_of
from noisycount.release.results import TableRelease
from noisycount.tasks.answer_display import SUM_NAMES, sums_so_far
from noisycount.tasks.answer_json import levels_json
from noisycount.tasks.refine.estimate import Refinement
from noisycount.tasks.refine.published import RefineQuery
from noisycount.tasks.refine.stored import table_of_entry
from noisycount.tasks.report.report import releases_of
from noisycount.validation import exact_text, optional_text

Row: TypeAlias = tuple[object, ...]  # the level of a row and its keys


@frozen
class CountEstimate:
    """The estimate of one count."""

    told: Estimated  # the median, which errs least, and the interval of the probability of `level`
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
        shown = Estimated(int(refined.told.median), *refined.told.interval(level))
        return cls(shown, refined, refined.assumed.words)

    @property
    def curve(self) -> Sequence[tuple[float, float]]:
        """The counts that hold nearly all the probability, and that of each."""
        shown = RefinementCurves.of(self.refined.told)
        return list(zip(shown.counts, shown.posterior, strict=True))


@frozen
class RefinedRows:
    """The estimates of the rows of a table."""

    rows: Mapping[Row, Estimated]  # the mean and the interval of a row, by its level and its keys
    words: str  # what was assumed

    @classmethod
    def of(cls, entry: Entry, level: float, columns: Mapping[str, Kind] | None) -> Self | None:
        """The estimates of a stored table; None where it is too long to be refined at once.

        Its keys are named as replies name them where the columns are given, else as the ledger does.
        """
        from noisycount.tasks.refine.refined import refined_table  # noqa: PLC0415 - loads the laws of tables

        published = table_of_entry(entry, entry.key)
        if not 0 < len(published.answers) <= MOST_ROWS:
            return None
        refined = refined_table(RefineQuery(key=entry.key, level=level), published, lambda _: None)
        levels = free_name("level", dict.fromkeys(published.names))
        shown = {} if columns is None else _shown_labels(entry, columns)
        cells = {
            name: [shown.get(name, {}).get(label, label) for label in published.columns[name]]
            for name in (levels, *published.names)
        }
        told = zip(*(refined.estimates[name].tolist() for name in ("mean", "low", "high")), strict=True)
        rows: dict[Row, Estimated] = {
            tuple(of[row] for of in cells.values()): Estimated(*estimates)
            for row, estimates in enumerate(told)
            if estimates[0] is not None
        }
        return cls(rows, "; ".join([refined.prior_words, *published.notes]))


def _shown_labels(entry: Entry, columns: Mapping[str, Kind]) -> dict[str, dict[object, Label]]:
    """For each column its labels as the ledger, which does not keep that ranges are whole, has them, and as told."""
    question = entry.request.asked
    if "by" not in question["table"]:
        return {}
    parts = resolve_group_by(question["table"]["by"], dict(columns), question["unit"])
    told: dict[str, dict[object, Label]] = {}
    for part in parts:
        if isinstance(part, NumberRanges):
            any_number = NumberRanges(replace(part.column, kind=Kind.REAL), part.edges)
            places = range(len(part.edges))
            told[part.column.name] = {any_number.label(i): part.label(i) for i in places}
    return told


def told_by_ledger(told: Mapping[str, Any], entry: Entry) -> Mapping[str, Any]:
    """Return the reply for an answer that no service gave, from its entry alone."""
    (found,) = releases_of([entry])
    asked, release = entry.request.asked, found.release
    if release is None:  # no noisycount wrote the question, or it was never answered
        return {name: value for name, value in told.items() if name not in {"rows", "answer", "error", "confidence"}}
    replaced = found.priced.replaced
    reply = {
        **told,
        "unit": release.unit,
        "mechanism": found.levels[0].mechanism.name,
        "odds": odds_of(
            entry.loss,
            "row" if release.unit is None else "person",
            replaced if found.priced.relation is not None else None,
        ),
        "price": {"epsilon": optional_text(entry.loss.epsilon), "rho": exact_text(entry.loss.rho)},
    }
    if "table" not in asked:
        answer, error = told["answer"], told["error"]
        scale = exact_text(found.levels[0].mechanism.exact_scale)
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
    if "rows" not in told or not entry.request.asked["table"].get("cumulative"):
        return told
    (found,) = releases_of([entry])
    sums = sums_so_far(found.release) if isinstance(found.release, TableRelease) else []
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
