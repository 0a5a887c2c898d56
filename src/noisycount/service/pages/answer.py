"""An answer as its page shows it: from the stored reply alone, with refined values beside it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self, TypeAlias

from markupsafe import Markup

from noisycount.display.columns import free_name
from noisycount.display.numbers import approximately, percent, plus_minus, signed
from noisycount.display.output import Facts
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.ledger.entries import Entry, asked_of
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.tables.levels import Label
from noisycount.query.grouping import NumberRanges, resolve_group_by
from noisycount.query.query import Query
from noisycount.query.schema import Kind
from noisycount.query.table import query_of_stored
from noisycount.readers.assumption import Assumed
from noisycount.release.dataset import next_words
from noisycount.service.keys import User
from noisycount.service.pages.preview import bar_picture
from noisycount.service.questions import stored_reply
from noisycount.service.state import ServiceState
from noisycount.tasks.refine.estimate import Refinement, refinement_facts
from noisycount.tasks.refine.published import RefineQuery, grouped_by_name
from noisycount.tasks.refine.stored import table_of_entry

MOST_ROWS = 200  # that are refined while somebody waits
Row: TypeAlias = tuple[object, ...]  # the level of a row and its keys
_TOLD = {"assumed", "mean", "deviation"}  # the rest is said above them


@frozen
class CountEstimate:
    """The estimate of one count."""

    median: int  # the estimate that errs least
    interval: tuple[int, int]  # where the count lies with the probability of `level`
    facts: Facts  # what else is to be known of it

    @classmethod
    def of(cls, told: Mapping[str, Any], size: int | None) -> Self | None:
        """The estimate from a stored reply; None where the number of units is not public."""
        if size is None or told.get("epsilon") is None:
            return None
        noise = DiscreteLaplace.for_epsilon(Fraction(told["epsilon"]))
        level = float(told.get("confidence", 0.95))
        refined = Refinement.of([told["answer"]], Assumed.of_size(size), noise, level)
        facts = [fact for fact in refinement_facts(refined) if fact[0] in _TOLD]
        return cls(int(refined.told.median), refined.interval, facts)


@frozen
class RefinedRows:
    """The estimates of the rows of a table."""

    # the estimate of a row and the ends of its interval, by its level and its keys
    rows: Mapping[Row, tuple[float, int, int]]
    words: str  # what was assumed

    @classmethod
    def of(cls, entry: Entry, level: float, columns: Mapping[str, Kind]) -> Self | None:
        """The estimates of a stored table; None where it is too long to be refined at once."""
        from noisycount.tasks.refine.refined import refined_table  # noqa: PLC0415 - loads the laws of tables

        published = table_of_entry(entry, entry.key)
        if not 0 < len(published.answers) <= MOST_ROWS:
            return None
        refined = refined_table(RefineQuery(key=entry.key, level=level), published, lambda _: None)
        levels = free_name("level", dict.fromkeys(published.names))
        shown = _shown_labels(entry, columns)
        cells = {
            name: [shown.get(name, {}).get(label, label) for label in published.columns[name]]
            for name in (levels, *published.names)
        }
        told = zip(*(refined.estimates[name].tolist() for name in ("mean", "low", "high")), strict=True)
        rows: dict[Row, tuple[float, int, int]] = {
            tuple(of[row] for of in cells.values()): estimates
            for row, estimates in enumerate(told)
            if estimates[0] is not None
        }
        return cls(rows, "; ".join([refined.prior_words, *published.notes]))


def _shown_labels(entry: Entry, columns: Mapping[str, Kind]) -> dict[str, dict[object, Label]]:
    """For each column its labels as the ledger, which does not keep that ranges are whole, has them, and as told."""
    question = asked_of(entry)
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


@frozen
class ReleasedRow:
    """A row of a table: its keys, the noisy count, the refined one or nothing, and both drawn."""

    keys: Sequence[str]
    answer: str
    estimate: str
    picture: Markup


@frozen
class Released:
    """An answer that was paid for."""

    told: Mapping[str, Any]  # the stored reply
    purpose: str = ""  # what it is for; empty: nobody said
    query: Query | None = None  # the same question; None for what no form asks
    needs_purpose: bool = False
    estimate: CountEstimate | None = None  # the refined count
    estimates: RefinedRows | None = None  # the refined rows

    @classmethod
    def of(cls, state: ServiceState, user: User, name: str) -> Self:
        """The answer under a key."""
        told = json.loads(stored_reply(name, user, state))
        entry = state.ledger.entry(told.get("first") or name)
        purpose = "" if entry is None else entry.purpose or ""
        shown = cls(told, purpose, *_query(state, user, told, entry))
        dataset = state.configuration.datasets.get(state.dataset_name(told["dataset"]))
        if shown.is_count and not shown.is_table:
            size = None if dataset is None else dataset.size
            return replace(shown, estimate=CountEstimate.of(told, size))
        if not shown.is_table or entry is None or dataset is None:
            return shown
        with suppress(NoisyCountError):  # what was asked of other columns is told as it was
            columns = state.session(user, dataset.name).records.schema
            return replace(shown, estimates=RefinedRows.of(entry, told["confidence"], columns))
        return shown

    @property
    def dataset(self) -> str:
        """Whose records were counted."""
        return str(self.told["dataset"])

    @property
    def key(self) -> str:
        """Under which the ledger keeps it."""
        return str(self.told["key"])

    @property
    def is_table(self) -> bool:
        """Whether there are rows."""
        return "rows" in self.told

    @property
    def is_count(self) -> bool:
        """Whether it is one count with its error."""
        return "error" in self.told

    @property
    def question(self) -> str:
        """What was asked."""
        where, meaning = self.told.get("where"), self.told.get("meaning")
        if where is None:
            return "all records" if self.told.get("by") != ["question"] else "several questions"
        return f"{where}  ({meaning})" if meaning else str(where)

    @property
    def sure(self) -> str:
        """The confidence of the errors."""
        return percent(self.told.get("confidence", 0.95)).replace(" ", "\N{NO-BREAK SPACE}")

    @property
    def nearness(self) -> str:
        """Whether a count is as near as it was wanted, where that is a share of it."""
        if "within" not in self.told:
            return ""
        share = percent(float(Fraction(self.told["within"]))).replace(" ", "\N{NO-BREAK SPACE}")
        price = f"ε = {self.told['epsilon']}"
        if self.told["is_near"]:
            return f"It is within ±{share} of the count, and {price} was enough for that."
        return f"±{share} of the count would have cost more than {price}, at which the price was capped."

    @property
    def unit(self) -> str:
        """What was counted."""
        return "rows" if self.told.get("unit") is None else "persons"

    @property
    def facts(self) -> Facts:
        """What is to be known of the answer."""
        return [(name, words) for name, words in self._facts() if words]

    def _facts(self) -> Iterator[tuple[str, str]]:
        told = self.told
        yield "question", self.question
        yield "data set", f"{self.dataset}, counting {self._counted}"
        yield "asked by", str(told.get("analyst", ""))
        yield "for", self.purpose
        columns = " and ".join(told.get("unreadable_as_missing", []))
        yield "", columns and f"cells of {columns} that could not be read count as missing"
        if "scale" in told:
            yield "noise", f"{told['mechanism']}, scale {approximately(Fraction(told['scale']))}"
        elif "levels" in told:
            yield "noise", "; ".join(map(_level_words, told["levels"]))
        if "odds" in told:
            yield "privacy", f"{_price(told.get('price') or told)}: {told['odds']}"
        if "charged" in told:
            is_free = told["repeated"]
            charged = "nothing: it was asked before" if is_free else _charge(told["charged"])
            yield "budget", f"charged {charged}; after it {next_words(Fraction(told['remaining']))}"
        if told.get("replaces"):
            yield "replaces", f"the coarser answer {told['replaces'][0]}, which it tops up: use this one alone"
        yield "key", self.key
        for hint in told.get("hints", []):
            yield "hint", hint

    @property
    def _counted(self) -> str:
        unit = self.told.get("unit")
        return "rows" if unit is None else f"distinct values of {unit}"

    @property
    def header(self) -> Sequence[str]:
        """The names of the keys."""
        return list(self.told["by"])

    @property
    def rows(self) -> list[ReleasedRow]:
        """The rows of a table, with one scale for all pictures."""
        rows = self.told["rows"]
        ends = _ends(rows)
        estimates = {} if self.estimates is None else self.estimates.rows
        keys = [tuple(row["keys"].values()) for row in rows]
        levels = [row["level"] for row in rows]
        is_hidden = self.told.get("threshold") is not None
        texts = grouped_by_name(keys, levels, self.header, is_hidden=is_hidden).keys
        return [
            _row(row, text, estimates.get((row["level"], *own)), ends)
            for row, text, own in zip(rows, texts, keys, strict=True)
        ]


def _query(state: ServiceState, user: User, told: Mapping[str, Any], entry: Entry | None) -> tuple[Query | None, bool]:
    """What asks the same, of the ledger, or of a reply alone where its columns are gone; whether it needs a purpose."""
    query, needs_purpose = None, False
    if "error" in told and "rows" not in told:
        wheres = [] if told["where"] is None else [told["where"]]
        query = Query(wheres=wheres, epsilon=told["epsilon"], confidence=told.get("confidence", 0.95))
    with suppress(NoisyCountError):  # the data set, or a column of the question, is gone
        session = state.session(user, told["dataset"])
        needs_purpose = session.dataset.needs_purpose
        if entry is not None:
            query = query_of(entry, session.records.schema, told.get("confidence"))
    return query, needs_purpose


def _row(
    row: Mapping[str, Any], keys: Sequence[str], estimate: tuple[float, int, int] | None, ends: tuple[float, float]
) -> ReleasedRow:
    refined = ""
    if estimate is not None:
        refined = f"{signed(estimate[0], 1)} ({signed(estimate[1])} to {signed(estimate[2])})"
    answer = f"{signed(row['answer'])} {plus_minus(row['error'])}"
    is_total = row["level"] == "total"
    picture = Markup("") if is_total else bar_picture(row["answer"], row["error"], ends, estimate)
    return ReleasedRow(keys, answer, refined, picture)


def _ends(rows: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """The least and the largest count that a row of the cells may be, and 0."""
    cells = [row for row in rows if row["level"] != "total"]
    low = min((row["answer"] - row["error"] for row in cells), default=0)
    high = max((row["answer"] + row["error"] for row in cells), default=1)
    return min(0, low), max(1, high)


def _price(told: Mapping[str, Any]) -> str:
    if told.get("epsilon") is not None:
        return f"ε = {told['epsilon']}"
    return f"ρ = {told.get('rho')}"


def _charge(charged: str | Mapping[str, Any]) -> str:
    return f"ε = {charged}" if isinstance(charged, str) else _price(charged)


def _level_words(level: Mapping[str, Any]) -> str:
    scale = approximately(Fraction(level["scale"]))
    return f"scale {scale} for {level['level']}, each within {plus_minus(level['error'])}"


def query_of(entry: Entry, columns: Mapping[str, Kind], confidence: float | None) -> Query | None:
    """The question of an answer that the ledger has; None for what no form asks."""
    asked, price, sure = asked_of(entry), entry.loss, 0.95 if confidence is None else confidence
    return None if price.epsilon is None else query_of_stored(asked, columns, price.epsilon, price.delta, sure)
