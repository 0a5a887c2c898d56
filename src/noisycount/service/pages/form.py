"""The form of a question: its conditions, groups and price as typed, and the query that it states.

Each error names the field of the form that caused it.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self

from noisycount.errors import PredicateError, QueryError
from noisycount.frozen import frozen
from noisycount.model.tables.levels import Label
from noisycount.query.impossible import Public
from noisycount.query.predicate import quoted_name
from noisycount.query.query import Query
from noisycount.query.schema import Kind
from noisycount.query.typed import LARGEST, expand_keys, parse_by, parse_by_text, parse_column_keys, parse_scope
from noisycount.readers.values import drop_thousands, parse_number, parse_share
from noisycount.service.pages.conditions import NO_VALUES, ROW_CHOICES, Condition, FormError, RowChoice, where_of
from noisycount.tasks.plan import plan_for_error
from noisycount.validation import exact_epsilon


@frozen
class Grouping:
    """A column by which a table is grouped."""

    column: str
    split: str = ""  # edges such as `0, 18, 65`, or `month`, `quarter`, `year`; empty: each value
    keys: str = ""  # keys as typed; empty: they follow from the edges, or are hidden

    def grouping_text(self, row: int) -> str:
        """Return the grouping as a command line writes it; `row` is the index of its row."""
        split = self.split.replace(" ", "")
        try:
            parse_by_text(text := quoted_name(self.column) + (f":{split}" if split else ""))
        except ValueError:
            words = f"edges of {self.column} must be numbers with commas between them, such as 0, 18, 65, got"
            raise FormError(f"split-{row}", f"{words} {self.split.strip()!r}") from None
        return text

    def typed_keys(self, row: int, columns: Mapping[str, Kind]) -> list[Label] | None:
        """Return the typed keys, with ranges expanded, or None if they follow from the edges or are hidden."""
        if not self.keys.strip():
            return None
        kind = columns.get(self.column, Kind.TEXT)
        kind = Kind.TEXT if kind.is_number and self.split.strip() else kind
        try:
            words = parse_column_keys(f"{quoted_name(self.column)}={self.keys}")[1]
            return expand_keys(self.column, kind, words)
        except (ValueError, PredicateError) as error:
            raise FormError(f"keys-{row}", f"keys of {self.column}: {error}") from None


_LARGEST = 2**53
_MOST_GROUPS = 10**9


@frozen
class Price:
    """The accuracy goal or the price of an answer, as typed."""

    is_goal: bool = True  # True if the accuracy goal decides, not ε
    within: str = "20%"  # accuracy goal: a share of the count, or a number of units such as `15`
    at_most: str = "0.5"  # largest price of a goal relative to the count
    of: str = LARGEST  # counts of a table that must meet the goal, as in `noisycount count --of`
    guess: str = ""  # public guess of the count, in units: the share is relative to it, and the price is fixed
    confidence: str = "95%"  # probability of the stated accuracy
    epsilon: str = "0.1"  # price

    def count_price_arguments(self) -> dict[str, Any]:
        """Return the arguments of a query for the price of one count."""
        if self.is_open:
            share = self._share()
            _require_valid(share < 1, "within", "be less than 100% of the count, such as 20%", self.within)
            return {"within": share, "at_most": self._max_epsilon(), "confidence": self.confidence_share}
        if not self.is_goal or self._is_share:
            return self.rows_price_arguments()
        try:
            plan = plan_for_error(self._units(), self.confidence_share)
        except QueryError as error:
            raise FormError("within", error.spelled(label_spelling)) from None
        return {"epsilon": plan.epsilon, "confidence": self.confidence_share}

    def rows_price_arguments(self) -> dict[str, Any]:
        """Return the arguments of a query for the price of every row of a table."""
        confidence = {"confidence": self.confidence_share}
        if not self.is_goal:
            return {"epsilon": _epsilon_of_field("epsilon", self.epsilon), **confidence}
        if self.is_open:
            return {**self.count_price_arguments(), "of": self._scope()}
        if self._is_share:
            return {"within": self._share(), "guess": float(amount("guess", self.guess, "100")), **confidence}
        return {"within": 1.0, "guess": float(self._units()), **confidence}

    @property
    def confidence_share(self) -> float:
        """Confidence, in (0, 1)."""
        confidence = parse_share(self.confidence.strip())
        _require_valid(0 < confidence < 1, "confidence", "lie between 0 and 100%, such as 95%", self.confidence)
        return confidence

    @property
    def is_open(self) -> bool:
        """True if the price follows from the unknown count, up to `at_most`."""
        return self.is_goal and self._is_share and not self.guess.strip()

    @property
    def _is_share(self) -> bool:
        return "%" in self.within

    def _max_epsilon(self) -> Fraction:
        if not self.at_most.strip():
            raise FormError("at_most", f"within {self.within.strip()} for at most what price? Give an ε such as 0.5")
        return _epsilon_of_field("at_most", self.at_most)

    def _scope(self) -> str:
        try:
            return parse_scope(self.of)
        except ValueError as error:
            raise FormError("of", f"of {error}") from None

    def _units(self) -> Fraction:
        return Fraction(amount("within", self.within, "20 or 20%"))

    def _share(self) -> float:
        share = parse_share(self.within.strip())
        _require_valid(0 < share <= 1, "within", "be above 0 and at most 100%, such as 20%", self.within)
        return share


def amount(field: str, typed_text: str, examples: str) -> str:
    """Return the typed text of a number above 0. Raise FormError for any other text."""
    text = drop_thousands(typed_text.strip().removeprefix("±").strip())
    _require_valid(0 < parse_number(text) <= _LARGEST, field, f"be a number above 0, such as {examples}", typed_text)
    return text


def _epsilon_of_field(field: str, typed_text: str) -> Fraction:
    """Return the ε of a field."""
    try:
        return exact_epsilon(typed_text.strip(), field)
    except ValueError as error:
        raise FormError(field, str(error)) from None


def _require_valid(is_valid: bool, field: str, words: str, typed_text: str) -> None:  # noqa: FBT001 - the condition
    """Raise FormError with the text typed into a field if it is not valid."""
    if not is_valid:
        raise FormError(field, f"{field} must {words}, got {typed_text!r}")


# Parts of a query that have a field of the same name.
_FIELDS = {"delta", "groups_per_unit", "within", "at_most", "guess", "confidence", "epsilon"}
_LABELS = {
    "by": "By",
    "keys": "Keys",
    "margins": "Measure the total too",
    "other": "Add a row for all other keys",
    "groups_per_unit": "Largest number of groups of a person",
    "delta": "δ for hidden keys",
    "within": "Within ±",
    "error": "Within ±",
    "at_most": "For at most ε",
    "of": "In a table, for",
    "guess": "Public guess of the count",
    "epsilon": "ε",
}


def label_spelling(name: str, value: str) -> str:
    """Return a part of a query as the label of its field."""
    label = f"“{_LABELS.get(name, name)}”"
    return f"{label} {value.partition('=')[2] or value}" if value else label


_MOST_ROWS = 50


@frozen
class AskForm:
    """A question about a data set, as typed into the form."""

    conditions: tuple[Condition, ...] = ()
    text: str = ""  # condition in the question language
    rows: RowChoice = RowChoice()  # rows of a person that must satisfy the conditions
    groups: tuple[Grouping, ...] = ()  # groupings of a table; empty: one count
    price: Price = Price()
    total: bool = False  # True if the total of a table is measured too
    other: bool = False  # True if a table has a row for all other keys
    delta: str = ""  # bound of the probability to show a hidden key of one person; empty: keys are listed
    groups_per_unit: str = ""  # contribution bound: largest number of groups of a person; empty: no bound
    purpose: str = ""  # purpose of the answer

    @classmethod
    def from_fields(cls, fields: Any) -> Self:  # noqa: ANN401 - a multi-dict, whose class is Starlette's
        """Read the form that a browser sent. Missing fields are empty; fields of rows occur several times."""

        def text(name: str) -> str:
            return str(fields.get(name, ""))

        def texts(name: str) -> list[str]:
            return list(map(str, fields.getlist(name)))[:_MOST_ROWS]

        low_high = zip(texts("low"), texts("high"), strict=False)
        rows = zip(texts("column"), texts("operator"), low_high, strict=False)
        groups = zip(texts("group"), texts("split"), texts("keys"), strict=False)
        return cls(
            conditions=tuple(Condition(*row) for row in rows),
            text=text("where"),
            rows=RowChoice(text("person_rows") if text("person_rows") in ROW_CHOICES else "some", text("least")),
            groups=tuple(Grouping(*group) for group in groups),
            price=Price(
                is_goal=text("goal") != "epsilon",
                of=text("of") or LARGEST,
                **{name: text(name) for name in ("within", "at_most", "guess", "confidence", "epsilon")},
            ),
            total="total" in fields,
            other="other" in fields,
            **{name: text(name) for name in ("delta", "groups_per_unit", "purpose")},
        )

    def changed(self, fields: Any) -> Self | None:  # noqa: ANN401 - as in `of`
        """Return the form with a row added or removed, if the user pressed such a button, else None."""
        if "add" in fields:
            row = Condition(str(fields.get("chosen", "")))
            return replace(self, conditions=(*self.conditions, row))
        if "add_group" in fields:
            return replace(self, groups=(*self.groups, Grouping(str(fields.get("chosen_group", "")))))
        if "remove" in fields:
            return replace(self, conditions=_without_row(self.conditions, str(fields["remove"])))
        if "remove_group" in fields:
            return replace(self, groups=_without_row(self.groups, str(fields["remove_group"])))
        return None

    def query(self, columns: Mapping[str, Kind], public: Public = NO_VALUES) -> Query:
        """Return the query that the form states, for the given columns and their public values."""
        where = where_of(self.conditions, self.text, columns, public, self.rows)
        wheres = [] if where is None else [where]
        if not self.groups:
            return Query(wheres=wheres, **self.price.count_price_arguments())
        keys = {group.column: group.typed_keys(row, columns) for row, group in enumerate(self.groups)}
        return Query(
            wheres=wheres,
            by=parse_by([group.grouping_text(row) for row, group in enumerate(self.groups)]),
            keys={column: column_keys for column, column_keys in keys.items() if column_keys is not None} or None,
            other=self.other,
            margins=["total"] if self.total or (self.price.is_open and self.price.of == "total") else [],
            groups_per_unit=self._groups_per_unit(),
            delta=self.delta.strip() or None,
            **self.price.rows_price_arguments(),
        )

    def error_of(self, refusal: QueryError) -> FormError:
        """Return a refusal as a form error, with the labels of the form and the field that caused it."""
        part, columns = refusal.part, [group.column for group in self.groups]
        field = "where" if part == "wheres" else part if part in _FIELDS else ""
        if part == "keys" and refusal.values.get("column") in columns:
            field = f"keys-{columns.index(refusal.values['column'])}"
        return FormError(field, refusal.spelled(label_spelling))

    def _groups_per_unit(self) -> int | None:
        typed_text = self.groups_per_unit.strip()
        if not typed_text:
            return None
        if not (typed_text.isascii() and typed_text.isdigit() and 0 < int(typed_text) < _MOST_GROUPS):
            raise FormError("groups_per_unit", f"groups per person must be a whole number from 1, got {typed_text!r}")
        return int(typed_text)


def _without_row(rows: tuple[Any, ...], row_text: str) -> tuple[Any, ...]:
    """Return the rows without the row at an index, which a text states."""
    return tuple(row for number, row in enumerate(rows) if str(number) != row_text)
