"""Page of an answer and its files: picture, price, details, and the form for a more accurate answer.

`ReleasedAnswer` collects the content from the stored reply, the ledger entry and public facts.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Self

from fastapi import APIRouter, Request, Response
from markupsafe import Markup

from noisycount.charts.answer_picture import NARROW, WIDE, CountInterval, CountPicture, LinesPicture, Point
from noisycount.charts.picture_svg import page_svg
from noisycount.charts.theme import MOST_ROWS
from noisycount.display.numbers import approximately, percent
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.ledger.entries import Entry
from noisycount.ledger.price import RunningTotal
from noisycount.query.query import Query
from noisycount.query.typed import PERIODS, PeriodLength
from noisycount.readers.values import parse_number
from noisycount.release.dataset import next_price_words
from noisycount.release.stored_question import StoredQuestion
from noisycount.service.auth import LimitedUser
from noisycount.service.keys import User
from noisycount.service.pages.ask import address_and_name, calls_of, confirmation_values, preview_values, purpose_text
from noisycount.service.pages.conditions import FormError
from noisycount.service.pages.form import Price, amount
from noisycount.service.pages.layout import has_png, on_one_line, page
from noisycount.service.pages.stored_answer import (
    CountEstimate,
    RefinedRows,
    ReleasedRow,
    add_sums,
    complete_from_ledger,
    order_like_rows,
    running_total,
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
from noisycount.validation import exact_value


@frozen(slots=False)  # a cached property needs a `__dict__`
class ReleasedAnswer:
    """Stored answer as its page shows it."""

    reply: Mapping[str, Any]  # the stored reply
    total: RunningTotal | None = None  # running total of its data set; None: the ledger does not hold the answer
    purpose: str = ""  # purpose of the answer; empty: not stated
    charge_time: str = ""  # time of the debit; empty: the ledger does not hold the answer
    query: Query | None = None  # query that asks the same question; None: the form cannot ask it
    needs_purpose: bool = False  # True if questions about the data set must state a purpose
    is_askable: bool = False  # True if the user may use the data set, and some budget remains
    periods: Sequence[PeriodLength | None] = ()  # length of the periods of each grouping column; None: no periods
    estimate: CountEstimate | None = None  # refined count of a single count
    estimates: RefinedRows | None = None  # refined rows of a table
    is_too_long: bool = False  # True if a table has too many rows to refine them for a page

    @classmethod
    def from_key(cls, state: ServiceState, user: User, name: str) -> Self:
        """Return the answer under a key, if the user may see it."""
        reply = json.loads(stored_reply(name, user, state))
        entry = state.ledger.entry(reply.get("first") or name)
        purpose, charge_time = ("", "") if entry is None else (entry.purpose or "", f"{entry.made:%Y-%m-%d %H:%M} UTC")
        is_of_ledger = entry is not None and "odds" not in reply
        if entry is not None and is_of_ledger:
            reply = complete_from_ledger(reply, entry)
        reply = reply if entry is None else add_sums(reply, entry)
        dataset = state.configuration.datasets.get(state.dataset_name(reply["dataset"]))
        total = None if entry is None else running_total(state, entry, dataset)
        released = cls(
            reply, total, purpose, charge_time, *_query_fields(state, user, reply, entry), _period_lengths(entry)
        )
        if released.is_count and not released.is_table:
            size = None if dataset is None else dataset.size
            return replace(released, estimate=CountEstimate.from_reply(reply, size))
        if not released.is_table or entry is None or dataset is None:
            return released
        with suppress(NoisyCountError):  # without estimates, if the columns have changed since
            columns = None if is_of_ledger else state.session(user, dataset.name).records.schema
            estimates = RefinedRows.from_entry(entry, reply["confidence"], columns, dataset.size)
            return replace(released, estimates=estimates, is_too_long=estimates is None and bool(reply["rows"]))
        return released

    @property
    def is_table(self) -> bool:
        """True if the answer is a table."""
        return "rows" in self.reply

    @property
    def is_count(self) -> bool:
        """True if the answer is a single count: its reply then has one error."""
        return "error" in self.reply

    @property
    def question(self) -> str:
        """Question in words."""
        where = self.reply.get("meaning") or self.reply.get("where")
        if not self.is_table:
            return str(where or "all records")
        if self.reply["by"] == ["question"]:
            return "several questions"
        *first, last = self.header
        by = f"{self.unit} by {', '.join(first)}{' and ' * bool(first)}{last}"
        return f"{by}, where {where}" if where else by

    @property
    def confidence_text(self) -> str:
        """Confidence of the errors, as text."""
        return on_one_line(percent(self.reply.get("confidence", 0.95)))

    @property
    def confidence_sentence(self) -> str:
        """Sentence on the confidence of the errors of a table: of each count, and of all counts at once."""
        levels = {row["level"]: row["error_of_all"] for row in self.reply["rows"] if "error_of_all" in row}
        words = certainty_words(self.reply["confidence"], len(self.reply["rows"]), levels)
        return f"{words[0].upper()}{words[1:]}."

    @property
    def hidden_keys(self) -> str:
        """Text on the threshold of hidden keys and on missing keys; empty if the question listed the keys."""
        threshold, price = self.reply.get("threshold"), self.reply["price"]
        if threshold is None:
            return ""
        chance = exact_value(price["delta"]) if price.get("delta") else None
        words = hidden_key_words(
            threshold, chance, self.reply.get("surely_shown"), self.reply.get("unit"), self.reply["confidence"]
        )
        return f"Keys are {words}. A key that is missing may have a few {self.unit}: it does not mean 0."

    @property
    def goal_sentence(self) -> str:
        """Sentence that states if the answer meets its accuracy goal; empty if the answer has no goal."""
        if "within" not in self.reply:
            return ""
        share = on_one_line(percent(float(Fraction(self.reply["within"]))))
        if self.is_table:
            rows = self.reply["rows"]
            number = sum(row["is_near"] for row in rows)
            capped = (
                "" if self.reply["is_near"] else f"; more would cost more than ε = {self.reply['price']['epsilon']}"
            )
            near_rows = f"{number:,} of {len(rows):,}, marked {NEAR}, {'is' if number == 1 else 'are'}"
            return f"{near_rows} within ±{share} of the true count{capped}."
        price = f"ε = {self.reply['epsilon']}"
        if self.reply["is_near"]:
            return f"It is within ±{share} of the count, and {price} was enough for that."
        return f"±{share} of the count would have cost more than {price}, at which the price was capped."

    @property
    def unit(self) -> str:
        """Noun of the counted units: "rows" or "persons"."""
        return "rows" if self.reply.get("unit") is None else "persons"

    @property
    def answer(self) -> CountInterval:
        """Single count with its interval."""
        return CountInterval(self.reply["answer"], self.reply["low"], self.reply["high"])

    @property
    def refined(self) -> CountEstimate | None:
        """Refined count if it differs enough from the answer to be shown, else None."""
        estimate = self.estimate
        return estimate if estimate is not None and estimate.count.differs(self.answer) else None

    @cached_property
    def picture(self) -> CountPicture | LinesPicture | None:
        """Picture of a single count, or lines over time for a table; None if only bars show the rows."""
        if not self.is_table:
            refined_count = self.refined
            refined, curve = (None, ()) if refined_count is None else (refined_count.count, refined_count.curve)
            return CountPicture(self.answer, refined, curve, self.unit) if self.is_count else None
        return self._lines_over_time

    @property
    def _lines_over_time(self) -> LinesPicture | None:
        """Counts over time, along the first column of periods, as lines; None if no column has periods."""
        column, length = next(((index, length) for index, length in enumerate(self.periods) if length), (0, None))
        if length is None:
            return None
        points = [
            Point(", ".join([*row.keys[:column], *row.keys[column + 1 :]]), period, row.keys[column], row.noisy_count)
            for row in self.rows
            if row.level == self.rows[0].level and (period := length.number(str(row.labels[column]))) is not None
        ]
        return LinesPicture.from_points(
            self.question, points, (f"{self.header[column]}, by {length.name.lower()}", self.unit)
        )

    @property
    def drawings(self) -> Sequence[tuple[str, Markup]]:
        """SVG of the picture for narrow and for wide windows, each with its CSS class."""
        if self.picture is None:
            return []
        sizes = (("narrow", NARROW), ("wide", WIDE))
        return [
            (name, Markup(page_svg(self.picture.picture(width), name, self.picture.description)))  # noqa: S704 - escaped
            for name, width in sizes
        ]

    @property
    def remaining_budget_words(self) -> str:
        """Sentence on the remaining budget after the answer."""
        remaining = Fraction(self.reply["remaining"])
        price = Fraction((self.reply.get("price") or self.reply).get("epsilon") or 0)
        if not isinstance(self.reply["budget"], str):  # the budget is in ρ or in (ε, δ): prices in ε do not add up
            return f"After it {next_price_words(remaining)}."
        budget = Fraction(self.reply["budget"])
        left = f"After it {approximately(remaining)} of {approximately(budget)} was left"
        affordable_answers = remaining // price if price else 0
        return f"{left}: enough for {affordable_answers:,} more like it." if affordable_answers else f"{left}."

    @property
    def error(self) -> int:
        """Error of each cell, or of the single count. It is 0 if the page must not offer a more accurate answer."""
        query, reply = self.query, self.reply
        if not self.is_askable or query is None or (query.rho is not None and query.delta is not None):
            return 0
        return int(reply["levels"][0]["error"] if self.is_table else reply["error"])

    def more_accurate_query(self, half_width_text: str) -> Query:
        """Return the query for an answer within a typed ±. Raise FormError unless the ± is below `error`."""
        assert self.query is not None  # noqa: S101 - the page has the form only if there is a query
        within = amount("within", half_width_text, "20")
        if parse_number(within) >= self.error:
            raise FormError("within", f"± must be below {self.error:,}, got {half_width_text!r}")
        price = Price(within=within, confidence=str(self.query.confidence))
        other_prices = {"epsilon": None, "rho": None, "within": None, "at_most": None, "of": None}
        return replace(
            self.query,
            **{**other_prices, **(price.rows_price_arguments() if self.is_table else price.count_price_arguments())},
        )

    @property
    def header(self) -> Sequence[str]:
        """Names of the keys of a table."""
        return list(self.reply["by"])

    @cached_property
    def rows(self) -> list[ReleasedRow]:
        """Rows of a table, whose bars share one axis; of a cumulative table only the cells, with their sums."""
        rows = [row for row in self.reply["rows"] if SUM_NAMES[1] in row] or self.reply["rows"]
        ends = _axis_ends(rows)
        keys = [tuple(row["keys"].values()) for row in rows]
        noisy_counts = [
            CountInterval(row["answer"], row["answer"] - row["error"], row["answer"] + row["error"]) for row in rows
        ]
        estimates = {} if self.estimates is None else self.estimates.rows
        refined = [estimates.get((row["level"], *labels)) for row, labels in zip(rows, keys, strict=True)]
        if not any(count and count.differs(plain) for count, plain in zip(refined, noisy_counts, strict=True)):
            refined = [None] * len(rows)
        levels = [row["level"] for row in rows]
        is_hidden = self.reply.get("threshold") is not None
        texts = grouped_by_name(keys, levels, self.header, is_hidden=is_hidden).keys
        sums = [[row[name] for name in SUM_NAMES if SUM_NAMES[1] in row] for row in rows]
        return [
            ReleasedRow(row["level"], labels, text, plain, row["error"], count, ends, row.get("is_near", False), total)
            for row, labels, text, plain, count, total in zip(
                rows, keys, texts, noisy_counts, refined, sums, strict=True
            )
        ]

    @property
    def is_refined(self) -> bool:
        """True if the table shows refined counts, as that of at least one row differs enough from the answer."""
        return any(row.refined for row in self.rows)

    @property
    def files(self) -> Sequence[tuple[str, str]]:
        """File forms for the download, each with its name."""
        names = [("csv", "CSV")] if self.is_count or self.is_table else []
        is_drawn = self.picture is not None or (self.is_table and 0 < len(self.rows) <= MOST_ROWS)
        return [*names, *([("svg", "SVG")] if is_drawn else []), *([("png", "PNG")] if is_drawn and has_png() else [])]


def _query_fields(
    state: ServiceState, user: User, reply: Mapping[str, Any], entry: Entry | None
) -> tuple[Query | None, bool, bool]:
    """Return the fields `query`, `needs_purpose` and `is_askable` of `ReleasedAnswer`.

    The query comes from the ledger entry. If the data set, or a column of the question, is gone, the query of a single
    count comes from the reply, and other answers have none.
    """
    query, needs_purpose, is_askable = None, False, False
    if "error" in reply and "rows" not in reply:
        wheres = [] if reply["where"] is None else [reply["where"]]
        query = Query(wheres=wheres, epsilon=reply["epsilon"], confidence=reply.get("confidence", 0.95))
    with suppress(NoisyCountError):  # the data set, or a column of the question, is gone
        session = state.session(user, reply["dataset"])
        remains = session.remaining_budget(state.analyst(user))
        needs_purpose, is_askable = session.dataset.needs_purpose, remains.remaining > 0
        if entry is not None:
            query = StoredQuestion(entry).query(session.records.schema, reply.get("confidence", 0.95))
            query = query and order_like_rows(query, reply.get("rows", []))
    return query, needs_purpose, is_askable


def _period_lengths(entry: Entry | None) -> Sequence[PeriodLength | None]:
    """Return the length of the periods of each column of a table's grouping; None for a column without periods."""
    table = {} if entry is None else StoredQuestion(entry).table
    return [PERIODS.get(text.rpartition(":")[2]) for text in table.get("by", [])]


def _axis_ends(rows: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Return the ends of an axis for all rows except the total: answers ± error, 0, and at least up to 1."""
    cells = [row for row in rows if row["level"] != "total"]
    low = min((row["answer"] - row["error"] for row in cells), default=0)
    high = max((row["answer"] + row["error"] for row in cells), default=1)
    return min(0, low), max(1, high)


router = APIRouter(include_in_schema=False)


@router.get("/releases/{name}")
def release_page(request: Request, name: str, user: LimitedUser, state: State, within: str | None = None) -> Response:
    """Return the page of a stored answer; if `within` is given, with the preview of a more accurate answer."""
    released = state.reply(partial(ReleasedAnswer.from_key, state, user, name))
    purpose, calls, within_values = purpose_text(released.purpose, is_required=released.needs_purpose), [], {}
    if released.query is not None:
        calls = calls_of(released.reply["dataset"], released.query, purpose, *address_and_name(request, state, user))
    if within is not None and released.error:
        within_values = state.reply(partial(_preview_within, state, user, released, within))
    values = {"preview": None, "error": None, "within": within or "", **confirmation_values(state), **within_values}
    phrases = {"draws_words": draws_words, "sum_words": SUM_WORDS, "most_rows": MOST_ROWS, "near": NEAR}
    return page(
        request,
        "release.html",
        user,
        status=422 if values["error"] else 200,
        it=released,
        calls=calls,
        **phrases,
        **values,
    )


def _preview_within(state: ServiceState, user: User, released: ReleasedAnswer, within: str) -> dict[str, Any]:
    """Return the preview of a more accurate answer, or the error of the field `within`, the only field of the form."""
    values = preview_values(
        state.session(user, released.reply["dataset"]),
        state.analyst(user),
        partial(released.more_accurate_query, within),
    )
    return {"error": FormError("within", str(values["error"]))} if "error" in values else values
