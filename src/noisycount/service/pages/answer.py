"""Page of an answer and its files: picture, price, details, and the form for a more accurate answer.

`Released` collects the content from the stored reply, the ledger entry and public facts.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Literal, Self

from fastapi import APIRouter, Request, Response
from markupsafe import Markup

from noisycount.charts.answer_svg import NARROW, WIDE, CountPicture, Estimated, LinesPicture, Point
from noisycount.charts.picture_svg import picture_svg
from noisycount.charts.table import TableBar, TableBars, sum_bar, table_picture
from noisycount.charts.theme import MOST_ROWS
from noisycount.display.columns import free_name
from noisycount.display.numbers import approximately, percent, plus_minus, signed
from noisycount.display.output import Facts
from noisycount.display.texts import label_text
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.ledger.entries import Entry
from noisycount.ledger.price import RunningTotal
from noisycount.model.tables.levels import OTHER, Label
from noisycount.query.query import Query
from noisycount.query.typed import PERIODS, PeriodLength
from noisycount.readers.values import parse_number
from noisycount.release.dataset import next_words
from noisycount.release.stored_question import StoredQuestion
from noisycount.service.auth import LimitedUser
from noisycount.service.keys import User
from noisycount.service.pages.ask import address_and_name, calls_of, confirming, previewed, purpose_text
from noisycount.service.pages.form import FormError, Price, amount
from noisycount.service.pages.layout import download, has_png, on_one_line, page, picture_file, sheet, standalone_svg
from noisycount.service.pages.stored_answer import (
    CountEstimate,
    RefinedRows,
    ReleasedRow,
    in_order,
    running_total,
    told_by_ledger,
    with_sums,
)
from noisycount.service.questions import stored_reply
from noisycount.service.state import ServiceState, State
from noisycount.tasks.answer_display import (
    NEAR,
    SUM_NAMES,
    SUM_WORDS,
    certainty_words,
    draws_words,
    hidden_key_words,
)
from noisycount.tasks.refine.published import grouped_by_name
from noisycount.tasks.report.forms import as_text
from noisycount.validation import exact_value

_OUTSIDE = (
    "an estimate outside the ± of its answer rests on the other answers and on the prior: about 1 of 20 answers is that"
    " far from its count"
)


@frozen(slots=False)  # a cached property needs a `__dict__`
class Released:
    """Stored answer as its page shows it."""

    told: Mapping[str, Any]  # the stored reply
    total: RunningTotal | None = None  # running total of its data set; None: the ledger does not hold the answer
    purpose: str = ""  # purpose of the answer; empty: not stated
    made: str = ""  # time of the debit; empty: the ledger does not hold the answer
    query: Query | None = None  # query that asks the same question; None: the form cannot ask it
    needs_purpose: bool = False  # True if questions about the data set must state a purpose
    is_askable: bool = False  # True if the user may use the data set, and some budget remains
    periods: Sequence[PeriodLength | None] = ()  # length of the periods of each grouping column; None: no periods
    estimate: CountEstimate | None = None  # refined count of a single count
    estimates: RefinedRows | None = None  # refined rows of a table
    is_too_long: bool = False  # True if a table has too many rows to refine them for a page

    @classmethod
    def of(cls, state: ServiceState, user: User, name: str) -> Self:
        """Return the answer under a key, if the user may see it."""
        told = json.loads(stored_reply(name, user, state))
        entry = state.ledger.entry(told.get("first") or name)
        purpose, made = ("", "") if entry is None else (entry.purpose or "", f"{entry.made:%Y-%m-%d %H:%M} UTC")
        is_of_ledger = entry is not None and "odds" not in told
        if entry is not None and is_of_ledger:
            told = told_by_ledger(told, entry)
        told = told if entry is None else with_sums(told, entry)
        dataset = state.configuration.datasets.get(state.dataset_name(told["dataset"]))
        total = None if entry is None else running_total(state, entry, dataset)
        shown = cls(told, total, purpose, made, *_query(state, user, told, entry), _periods(entry))
        if shown.is_count and not shown.is_table:
            size = None if dataset is None else dataset.size
            return replace(shown, estimate=CountEstimate.of(told, size))
        if not shown.is_table or entry is None or dataset is None:
            return shown
        with suppress(NoisyCountError):  # without estimates, if the columns have changed since
            columns = None if is_of_ledger else state.session(user, dataset.name).records.schema
            estimates = RefinedRows.of(entry, told["confidence"], columns, dataset.size)
            return replace(shown, estimates=estimates, is_too_long=estimates is None and bool(told["rows"]))
        return shown

    @property
    def is_table(self) -> bool:
        """True if the answer is a table."""
        return "rows" in self.told

    @property
    def is_count(self) -> bool:
        """True if the reply has an error of its own: the answer is a single count."""
        return "error" in self.told

    @property
    def question(self) -> str:
        """Question in words."""
        where = self.told.get("meaning") or self.told.get("where")
        if not self.is_table:
            return str(where or "all records")
        if self.told["by"] == ["question"]:
            return "several questions"
        *first, last = self.header
        by = f"{self.unit} by {', '.join(first)}{' and ' * bool(first)}{last}"
        return f"{by}, where {where}" if where else by

    @property
    def sure(self) -> str:
        """Confidence of the errors, as text."""
        return on_one_line(percent(self.told.get("confidence", 0.95)))

    @property
    def certainty(self) -> str:
        """Sentence on the confidence of the errors of a table: of each count, and of all counts at once."""
        levels = {row["level"]: row["error_of_all"] for row in self.told["rows"] if "error_of_all" in row}
        words = certainty_words(self.told["confidence"], len(self.told["rows"]), levels)
        return f"{words[0].upper()}{words[1:]}."

    @property
    def hidden_keys(self) -> str:
        """Text on the threshold of hidden keys and on missing keys; empty if the question listed the keys."""
        threshold, price = self.told.get("threshold"), self.told["price"]
        if threshold is None:
            return ""
        chance = exact_value(price["delta"]) if price.get("delta") else None
        words = hidden_key_words(
            threshold, chance, self.told.get("surely_shown"), self.told.get("unit"), self.told["confidence"]
        )
        return f"Keys are {words}. A key that is missing may have a few {self.unit}: it does not mean 0."

    @property
    def nearness(self) -> str:
        """Sentence that states if the answer meets its accuracy goal; empty if it has none."""
        if "within" not in self.told:
            return ""
        share = on_one_line(percent(float(Fraction(self.told["within"]))))
        if self.is_table:
            rows = self.told["rows"]
            number = sum(row["is_near"] for row in rows)
            capped = "" if self.told["is_near"] else f"; more would cost more than ε = {self.told['price']['epsilon']}"
            told = f"{number:,} of {len(rows):,}, marked {NEAR}, {'is' if number == 1 else 'are'}"
            return f"{told} within ±{share} of the true count{capped}."
        price = f"ε = {self.told['epsilon']}"
        if self.told["is_near"]:
            return f"It is within ±{share} of the count, and {price} was enough for that."
        return f"±{share} of the count would have cost more than {price}, at which the price was capped."

    @property
    def unit(self) -> str:
        """Noun of the counted units: "rows" or "persons"."""
        return "rows" if self.told.get("unit") is None else "persons"

    @property
    def answer(self) -> Estimated:
        """Single count with its interval."""
        return Estimated(self.told["answer"], self.told["low"], self.told["high"])

    @property
    def refined(self) -> CountEstimate | None:
        """Refined count if it differs enough from the answer to be shown, else None."""
        found = self.estimate
        return found if found is not None and found.told.differs(self.answer) else None

    @cached_property
    def picture(self) -> CountPicture | LinesPicture | None:
        """Picture of a single count, or lines over time for a table; None if only bars show the rows."""
        if not self.is_table:
            found = self.refined
            refined, curve = (None, ()) if found is None else (found.told, found.curve)
            return CountPicture(self.answer, refined, curve, self.unit) if self.is_count else None
        return self._lines

    @property
    def _lines(self) -> LinesPicture | None:
        """Counts over time, along the first column of periods, as lines; None if no column has periods."""
        column, length = next(((place, length) for place, length in enumerate(self.periods) if length), (0, None))
        if length is None:
            return None
        points = [
            Point(", ".join([*row.keys[:column], *row.keys[column + 1 :]]), period, row.keys[column], row.told)
            for row in self.rows
            if row.level == self.rows[0].level and (period := length.number(str(row.labels[column]))) is not None
        ]
        return LinesPicture.from_points(
            self.question, points, (f"{self.header[column]}, by {length.name.lower()}", self.unit)
        )

    @property
    def drawn(self) -> Sequence[tuple[str, Markup]]:
        """SVG of the picture for narrow and for wide windows, each with its CSS class."""
        if self.picture is None:
            return []
        sizes = (("narrow", NARROW), ("wide", WIDE))
        return [(name, Markup(self.picture.svg(width))) for name, width in sizes]  # noqa: S704  (`svg` escapes its texts)

    @property
    def cost(self) -> Sequence[tuple[str, str]]:
        """Charge, privacy loss and purpose of the answer: pairs of a short text and a sentence."""
        told, found = self.told, []
        if "charged" in told:
            charged = "Free: it was asked before" if told["repeated"] else f"{_charge(told)} charged"
            more = "The rest was paid for the coarser answer that it replaces. " if told.get("replaces") else ""
            found.append((charged, f"{more}{self._left}"))
        elif "price" in told:
            found.append((f"{_price(told['price'])} charged", ""))
        if self.total is not None and "odds" in told:
            words = f"A{self.total.words[1:]}. This answer alone, {_price(told.get('price') or told)}: {told['odds']}."
            found.append((f"All answers so far: {self.total.bound}", words))
        asked = ", ".join(filter(None, (str(told.get("analyst") or ""), self.made)))
        found.append((f"For “{self.purpose}”" if self.purpose else "Asked", f"by {asked}" if asked else ""))
        return found

    @property
    def _left(self) -> str:
        """Sentence on the remaining budget after the answer."""
        remaining = Fraction(self.told["remaining"])
        price = Fraction((self.told.get("price") or self.told).get("epsilon") or 0)
        if not isinstance(self.told["budget"], str):  # the budget is in ρ or in (ε, δ): prices in ε do not add up
            return f"After it {next_words(remaining)}."
        budget = Fraction(self.told["budget"])
        left = f"After it {approximately(remaining)} of {approximately(budget)} was left"
        more = remaining // price if price else 0
        return f"{left}: enough for {more:,} more like it." if more else f"{left}."

    @property
    def error(self) -> int:
        """Error of each cell, or of the single count; 0 if the form cannot ask for a more accurate answer."""
        query, told = self.query, self.told
        if not self.is_askable or query is None or (query.rho is not None and query.delta is not None):
            return 0
        return int(told["levels"][0]["error"] if self.is_table else told["error"])

    def closer(self, typed: str) -> Query:
        """Return the query for an answer within a typed ±. Raise FormError unless the ± is below `error`."""
        assert self.query is not None  # noqa: S101 - the page has the form only if there is a query
        within = amount("within", typed, "20")
        if parse_number(within) >= self.error:
            raise FormError("within", f"± must be below {self.error:,}, got {typed!r}")
        price = Price(within=within, confidence=str(self.query.confidence))
        other = {"epsilon": None, "rho": None, "within": None, "at_most": None, "of": None}
        return replace(self.query, **{**other, **(price.of_rows() if self.is_table else price.of_count())})

    @property
    def facts(self) -> Facts:
        """Further facts about the answer, by name."""
        return [(name, words) for name, words in self._facts() if words]

    def _facts(self) -> Iterator[tuple[str, str]]:
        told = self.told
        yield "question", str(told.get("where") or self.question)
        yield "counted", "rows" if told.get("unit") is None else f"distinct values of {told['unit']}"
        columns = " and ".join(told.get("unreadable_as_missing", []))
        yield "", columns and f"cells of {columns} that could not be read count as missing"
        if "scale" in told:
            yield "noise", f"{told['mechanism']}, scale {approximately(Fraction(told['scale']))}"
        elif "levels" in told:
            yield "noise", f"{told['mechanism']}: {'; '.join(map(_level_words, told['levels']))}"
        yield "±", "of the noise alone. Where the records are a sample of more people, sampling error comes on top."
        parts: list[int] = next((row["parts"] for row in told.get("rows") or [] if "parts" in row), [])
        if parts:
            yield "draws", draws_words(len(parts))
        elif told.get("replaces"):
            yield "replaces", f"the coarser answer {told['replaces'][0]}, which it tops up: use this one alone"
        if self.refined is not None:
            yield "refined", f"{self.refined.assumed}. The range holds with {self.sure} probability where that is so."
        elif self.estimates is not None:
            yield "refined", f"under this prior: {self.estimates.words}"
            yield "", _OUTSIDE if self.is_refined else ""
        elif self.is_too_long:
            yield "refined", f"not on this page, as there are more than {MOST_ROWS} rows: use `noisycount refine --key`"
        if self.is_table and any(row.sum_so_far for row in self.rows):
            yield "sums", SUM_WORDS
        yield "key", self.told["key"]
        for hint in told.get("hints", []):
            yield "note", hint

    @property
    def header(self) -> Sequence[str]:
        """Names of the keys of a table."""
        return list(self.told["by"])

    @cached_property
    def rows(self) -> list[ReleasedRow]:
        """Rows of a table, whose bars share one axis; of a cumulative table only the cells, with their sums."""
        rows = [row for row in self.told["rows"] if SUM_NAMES[1] in row] or self.told["rows"]
        ends = _ends(rows)
        keys = [tuple(row["keys"].values()) for row in rows]
        told = [Estimated(row["answer"], row["answer"] - row["error"], row["answer"] + row["error"]) for row in rows]
        estimates = {} if self.estimates is None else self.estimates.rows
        refined = [estimates.get((row["level"], *own)) for row, own in zip(rows, keys, strict=True)]
        if not any(found and found.differs(plain) for found, plain in zip(refined, told, strict=True)):
            refined = [None] * len(rows)
        levels = [row["level"] for row in rows]
        is_hidden = self.told.get("threshold") is not None
        texts = grouped_by_name(keys, levels, self.header, is_hidden=is_hidden).keys
        sums = [[row[name] for name in SUM_NAMES if SUM_NAMES[1] in row] for row in rows]
        return [
            ReleasedRow(row["level"], own, text, plain, row["error"], found, ends, row.get("is_near", False), total)
            for row, own, text, plain, found, total in zip(rows, keys, texts, told, refined, sums, strict=True)
        ]

    @property
    def is_refined(self) -> bool:
        """True if rows have refined counts. They have if the refined count of any row differs enough to be shown."""
        return any(row.refined for row in self.rows)

    @property
    def files(self) -> Sequence[tuple[str, str]]:
        """File forms for the download, each with its name."""
        names = [("csv", "CSV")] if self.is_count or self.is_table else []
        is_drawn = self.picture is not None or (self.is_table and 0 < len(self.rows) <= MOST_ROWS)
        return [*names, *([("svg", "SVG")] if is_drawn else []), *([("png", "PNG")] if is_drawn and has_png() else [])]

    def sheet(self) -> str:
        """Return the numbers as comma-separated values. `noisycount refine` reads those of a table."""
        names, rows = self._table_sheet() if self.is_table else self._count_sheet()
        return sheet([names, *([as_text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)])

    def _count_sheet(self) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
        names = ["where", "answer", "error", "low", "high", "confidence", "epsilon", "mechanism", "scale", "unit"]
        cells = [self.told.get(name) for name in names]
        refined = None if self.estimate is None else self.estimate.told
        return [*names, *_REFINED], [[*cells, *_numbers(refined)]]

    def _table_sheet(self) -> tuple[Sequence[str], Iterator[Sequence[object]]]:
        told, levels = self.told, {level["level"]: level["scale"] for level in self.told["levels"]}
        first = told["levels"][0]["scale"]
        beside = {"mechanism": told["mechanism"], "threshold": told.get("threshold")}
        if told.get("threshold") is None and told.get("groups_per_unit") not in {None, 1}:
            beside["groups_per_unit"] = told["groups_per_unit"]
        beside = {name: value for name, value in beside.items() if value is not None}
        sums = [name for name in SUM_NAMES if any(name in row for row in told["rows"])]
        numbers = ("level", "answer", "error", "error_of_all", "scale", *beside, *sums, *_REFINED)
        estimates = {} if self.estimates is None else self.estimates.rows
        return [*self.header, *(free_name(name, dict.fromkeys(self.header)) for name in numbers)], (
            [
                *map(_cell, row["keys"].values()),
                *(row.get(name) for name in numbers[:4]),
                levels.get(row["level"], first),
                *beside.values(),
                *map(row.get, sums),
                *_numbers(estimates.get((row["level"], *row["keys"].values()))),
            ]
            for row in told["rows"]
        )

    def drawing(self) -> str:
        """Return the picture as an SVG document. Bars are drawn as on the command line."""
        count = f"{signed(self.answer.value)} {plus_minus(self.told['error'])} " if not self.is_table else ""
        lines = [
            self.question,
            f"{count}{self.unit} of {self.told['dataset']}, with {self.sure} confidence; noisycount",
        ]
        if (shown := self.picture) is not None:
            return standalone_svg(shown.svg(WIDE), lines)
        cells = {self.told["levels"][0]["level"], OTHER}
        rows = [(", ".join(row.keys), row) for row in self.rows if row.level in cells]
        bars = [TableBar(label, row.told.value, row.error) for label, row in rows]
        sums = [sum_bar(label, *row.sum_so_far) for label, row in rows if row.sum_so_far]
        names = {"axis": f"{self.unit}, with noise", "labels": ", ".join(self.header)}
        return picture_svg(table_picture(TableBars(bars, lines[0], lines[1:], **names, sums=sums)))


_REFINED = ("refined", "refined_low", "refined_high")


def _numbers(refined: Estimated | None) -> Sequence[float | None]:
    return (None, None, None) if refined is None else (round(refined.value, 3), refined.low, refined.high)


def _cell(label: Label) -> object:
    """Return a key as a cell of a CSV file, with truth values in words."""
    return label_text(label) if isinstance(label, bool) else label


def _query(
    state: ServiceState, user: User, told: Mapping[str, Any], entry: Entry | None
) -> tuple[Query | None, bool, bool]:
    """Return the fields `query`, `needs_purpose` and `is_askable` of `Released`.

    The query comes from the ledger entry. If the data set, or a column of the question, is gone, the query of a single
    count comes from the reply, and other answers have none.
    """
    query, needs_purpose, is_askable = None, False, False
    if "error" in told and "rows" not in told:
        wheres = [] if told["where"] is None else [told["where"]]
        query = Query(wheres=wheres, epsilon=told["epsilon"], confidence=told.get("confidence", 0.95))
    with suppress(NoisyCountError):  # the data set, or a column of the question, is gone
        session = state.session(user, told["dataset"])
        remains = session.remaining_budget(state.analyst(user))
        needs_purpose, is_askable = session.dataset.needs_purpose, remains.remaining > 0
        if entry is not None:
            query = StoredQuestion(entry).query(session.records.schema, told.get("confidence", 0.95))
            query = query and in_order(query, told.get("rows", []))
    return query, needs_purpose, is_askable


def _periods(entry: Entry | None) -> Sequence[PeriodLength | None]:
    """Return for each column that a table is grouped by the length of its periods, or None if it has none."""
    table = {} if entry is None else StoredQuestion(entry).table
    return [PERIODS.get(text.rpartition(":")[2]) for text in table.get("by", [])]


def _ends(rows: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Return the ends of an axis for all rows except the total: answers ± error, 0, and at least up to 1."""
    cells = [row for row in rows if row["level"] != "total"]
    low = min((row["answer"] - row["error"] for row in cells), default=0)
    high = max((row["answer"] + row["error"] for row in cells), default=1)
    return min(0, low), max(1, high)


def _price(told: str | Mapping[str, Any]) -> str:
    epsilon = told if isinstance(told, str) else told.get("epsilon")
    return f"ρ = {told.get('rho')}" if isinstance(told, Mapping) and epsilon is None else f"ε = {epsilon}"


def _charge(told: Mapping[str, Any]) -> str:
    """Return what a reply was charged, in the currency of the budget."""
    charged, budget = told["charged"], told.get("dataset_budget", told["budget"])
    if not isinstance(budget, Mapping) or "rho" not in budget:
        return _price(charged)
    return f"ρ = {charged if isinstance(charged, str) else charged['rho']}"


def _level_words(level: Mapping[str, Any]) -> str:
    scale = approximately(Fraction(level["scale"]))
    return f"scale {scale} for {level['level']}, each within {plus_minus(level['error'])}"


router = APIRouter(include_in_schema=False)


@router.get("/releases/{name}")
def release_page(request: Request, name: str, user: LimitedUser, state: State, within: str | None = None) -> Response:
    """Return the page of a stored answer; if `within` is given, with the preview of a more accurate answer."""
    shown = state.reply(partial(Released.of, state, user, name))
    purpose, calls, nearer = purpose_text(shown.purpose, wants=shown.needs_purpose), [], {}
    if shown.query is not None:
        calls = calls_of(shown.told["dataset"], shown.query, purpose, *address_and_name(request, state, user))
    if within is not None and shown.error:
        nearer = state.reply(partial(_nearer, state, user, shown, within))
    said = {"preview": None, "error": None, "within": within or "", **confirming(state), **nearer}
    return page(request, "release.html", user, status=422 if said["error"] else 200, it=shown, calls=calls, **said)


def _nearer(state: ServiceState, user: User, shown: Released, within: str) -> dict[str, Any]:
    """Return the preview of a more accurate answer, or its error for the field `within`, the only one of the form."""
    told = previewed(state.session(user, shown.told["dataset"]), state.analyst(user), partial(shown.closer, within))
    return {"error": FormError("within", str(told["error"]))} if "error" in told else told


@router.get("/releases/{name}/file")
def release_file(name: str, user: LimitedUser, state: State, form: Literal["csv", "svg", "png"] = "csv") -> Response:
    """Return the numbers of an answer, or its picture, as a file."""
    shown = state.reply(partial(Released.of, state, user, name))
    if form not in dict(shown.files):
        raise NoisyCountError(f"this answer has no {form.upper()}: choose a form that its page offers")
    called = "noisycount-" + re.sub(r"[^A-Za-z0-9_-]", "-", shown.told["key"])[:60]
    if form == "csv":
        return download(shown.sheet(), "text/csv", f"{called}.csv")
    return picture_file(shown.drawing(), form, called)
