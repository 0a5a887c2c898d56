"""The form of a question: its conditions, groups and price as typed, and the query that it states.

Errors carry the field that they are about.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Self

from noisycount.errors import NoisyCountError, PredicateError, QueryError
from noisycount.frozen import frozen
from noisycount.model.tables.levels import Label
from noisycount.query.impossible import Public, impossible_hints
from noisycount.query.normal_form import parse_predicate
from noisycount.query.person_values import is_of_person
from noisycount.query.predicate import Predicate, quoted_name, quoted_text, tests
from noisycount.query.query import Query
from noisycount.query.schema import Kind
from noisycount.query.typed import LARGEST, expand_keys, parse_by, parse_by_text, parse_column_keys, parse_of
from noisycount.readers.values import drop_thousands, parse_number, parse_share
from noisycount.release.text_orders import text_order_refusals
from noisycount.tasks.plan import plan_for_error
from noisycount.validation import exact_epsilon


class FormError(ValueError):
    """A field of a form cannot be read. `field` is its identifier on the page."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


@frozen
class FormOperator:
    """An operator that the form offers for a column."""

    name: str  # in the form and in the question language
    words: str  # on the page
    needs: int  # number of fields for values; a list is typed into one field
    takes_list: bool = False

    def text(self, column: str, kind: Kind, values: tuple[str, str], field: str) -> str:
        """Return the condition in the question language."""
        texts = values[0].split(",") if self.takes_list else values[: self.needs]
        fields = [field] * len(texts) if self.takes_list else [field, field.replace("value-", "to-")]
        literals = [_literal(column, kind, text, text_field) for text, text_field in zip(texts, fields, strict=False)]
        operands = f"({', '.join(literals)})" if self.takes_list else " and ".join(literals)
        return f"{quoted_name(column)} {self.name} {operands}".rstrip()


_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")


def _literal(column: str, kind: Kind, text: str, field: str) -> str:
    """Return a typed value as a literal of the question language."""
    value = text.strip()
    if not value:
        raise FormError(field, f"{column} needs a value: {kind.example}")
    if not kind.is_number:
        return quoted_text(value)
    number = value.replace("−", "-")
    if _NUMBER.fullmatch(number) is None:
        raise FormError(field, f"{column} is compared with {value!r}: give {kind.example}")
    return number


def _operators(needs: int, *pairs: str) -> list[FormOperator]:
    """Return operators with the same number of values, from pairs 'name: words'."""
    return [FormOperator(name, words, needs) for name, _, words in (pair.partition(": ") for pair in pairs)]


_EQUAL = _operators(1, "=: is", "<>: is not")
_BETWEEN = _operators(2, "between: is from … to …")
_LISTED = [replace(each, takes_list=True) for each in _operators(1, "in: is one of", "not in: is none of")]
_MISSING = _operators(0, "is null: is missing", "is not null: is not missing")
_NUMBERS = _operators(1, ">=: is at least", "<=: is at most", ">: is more than", "<: is less than")
_TIMES = _operators(1, ">=: is not before", "<=: is not after", ">: is after", "<: is before")
_LIKE = _operators(1, "like: is like (% stands for anything)", "not like: is not like (% stands for anything)")

_OF_NUMBERS = (*_NUMBERS, *_BETWEEN, *_EQUAL, *_LISTED, *_MISSING)
_OF_TIMES = (*_TIMES, *_BETWEEN, *_EQUAL, *_MISSING)
_OF_TEXTS = (*_EQUAL, *_LISTED, *_LIKE, *_MISSING)
_OF_BOOLEANS = (*_operators(0, "= true: is true", "= false: is false"), *_MISSING)


def operators_of(kind: Kind) -> tuple[FormOperator, ...]:
    """Return the operators for a column of a kind.

    Example:
        >>> [operator.words for operator in operators_of(Kind.BOOLEAN)]
        ['is true', 'is false', 'is missing', 'is not missing']
    """
    if kind.is_number:
        return _OF_NUMBERS
    if kind.is_moment:
        return _OF_TIMES
    return _OF_BOOLEANS if kind is Kind.BOOLEAN else _OF_TEXTS


@frozen
class Condition:
    """A row of the form: one condition."""

    column: str
    operator: str = ""  # name of an operator; an unknown name means the first operator of the column
    values: tuple[str, str] = ("", "")  # as typed

    def chosen(self, kind: Kind) -> FormOperator:
        """Return the operator of the condition."""
        operators = operators_of(kind)
        return next((each for each in operators if each.name == self.operator), operators[0])

    def text(self, columns: Mapping[str, Kind], row: int) -> str:
        """Return the condition in the question language; `row` is the index of its row."""
        kind = columns.get(self.column)
        if kind is None:
            raise FormError("chosen", f"there is no column {self.column!r}: choose another")
        return self.chosen(kind).text(self.column, kind, self.values, f"value-{row}")


_NO_VALUES: Public = MappingProxyType({})
_MOST_GROUPS = 10**9


# For each choice of the form which rows of a person must satisfy the conditions: its words, and the question.
ROW_CHOICES = {
    "some": ("some row matches", "{}"),
    "none": ("no row matches", "none({})"),
    "every": ("every row matches", "every({})"),
    "least": ("so many rows match", "count({}) >= {}"),
}


@frozen
class RowChoice:
    """The rows of a person that must satisfy the conditions of the form, as typed."""

    choice: str = "some"  # key of `ROW_CHOICES`
    least: str = ""  # number of rows for the choice `least`

    def question(self, condition: str) -> str:
        """Return the question about persons whose rows satisfy a condition as chosen."""
        number = self.least.strip()
        if self.choice == "least" and not (number.isascii() and number.isdigit() and 0 < int(number) < _MOST_GROUPS):
            raise FormError("least", f"rows must be a whole number from 1, such as 3, got {self.least!r}")
        return ROW_CHOICES.get(self.choice, ROW_CHOICES["some"])[1].format(condition, number)


def where_of(
    conditions: Sequence[Condition],
    text: str,
    columns: Mapping[str, Kind],
    public: Public = _NO_VALUES,
    rows: RowChoice = RowChoice(),  # noqa: B008 - frozen
) -> str | None:
    """Return all conditions and the typed text, joined by `and`, or None if there are none.

    Raises:
        FormError: If a part is outside the language, orders texts as numbers, or no record can match it.
    """
    parts = [condition.text(columns, row) for row, condition in enumerate(conditions)]
    for row, part in enumerate(parts):
        _require_possible(part, columns, public, f"value-{row}")
    typed_text, is_of_persons = text.strip(), False
    if typed_text:
        normal = _require_possible(typed_text, columns, public, "where")
        is_of_persons = any(map(is_of_person, tests(normal)))
        if not is_of_persons:
            parts.append(f"({typed_text})" if parts else typed_text)
    if len(parts) > 1:
        _require_possible(" and ".join(parts), columns, public, "chosen")
    if not parts and rows.choice != "some" and not is_of_persons:
        raise FormError("chosen", f"choose a condition first, as a person counts if {ROW_CHOICES[rows.choice][0]}")
    where = rows.question(" and ".join(parts)) if parts else ""
    if not is_of_persons:
        return where or None
    return f"{where if rows.choice != 'some' else f'any({where})'} and ({typed_text})" if where else typed_text


def _require_possible(text: str, columns: Mapping[str, Kind], public: Public, field: str) -> Predicate:
    """Return the predicate of a text. Raise FormError if it is outside the language, or no record can match it."""
    try:
        normal = parse_predicate(text, columns).normal
        hints = [*text_order_refusals([normal]), *impossible_hints([normal], public)]
    except PredicateError as error:
        raise FormError(field, str(error)) from None
    if hints:
        raise FormError(field, "; ".join(hints))
    return normal


@frozen
class Grouping:
    """A column by which a table is grouped."""

    column: str
    split: str = ""  # edges such as `0, 18, 65`, or `month`, `quarter`, `year`; empty: each value
    keys: str = ""  # keys as typed; empty: they follow from the edges, or are hidden

    def item(self, row: int) -> str:
        """Return the grouping as a command line writes it; `row` is the index of its row."""
        split = self.split.replace(" ", "")
        try:
            parse_by_text(text := quoted_name(self.column) + (f":{split}" if split else ""))
        except ValueError:
            words = f"edges of {self.column} must be numbers with commas between them, such as 0, 18, 65, got"
            raise FormError(f"split-{row}", f"{words} {self.split.strip()!r}") from None
        return text

    def listed(self, row: int, columns: Mapping[str, Kind]) -> list[Label] | None:
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

    def of_count(self) -> dict[str, Any]:
        """Return the arguments of a query for the price of one count."""
        if self.is_open:
            share = self._share()
            _require(share < 1, "within", "be less than 100% of the count, such as 20%", self.within)
            return {"within": share, "at_most": self._max_epsilon(), "confidence": self.confidence_share}
        if not self.is_goal or self._is_share:
            return self.of_rows()
        try:
            plan = plan_for_error(self._units(), self.confidence_share)
        except NoisyCountError as error:
            raise FormError("within", str(error)) from None
        return {"epsilon": plan.epsilon, "confidence": self.confidence_share}

    def of_rows(self) -> dict[str, Any]:
        """Return the arguments of a query for the price of every row of a table."""
        confidence = {"confidence": self.confidence_share}
        if not self.is_goal:
            return {"epsilon": _price("epsilon", self.epsilon), **confidence}
        if self.is_open:
            return {**self.of_count(), "of": self._scope()}
        if self._is_share:
            return {"within": self._share(), "guess": float(amount("guess", self.guess, "100")), **confidence}
        return {"within": 1.0, "guess": float(self._units()), **confidence}

    @property
    def confidence_share(self) -> float:
        """Confidence, in (0, 1)."""
        confidence = parse_share(self.confidence.strip())
        _require(0 < confidence < 1, "confidence", "lie between 0 and 100%, such as 95%", self.confidence)
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
        return _price("at_most", self.at_most)

    def _scope(self) -> str:
        try:
            return parse_of(self.of)
        except ValueError as error:
            raise FormError("of", f"of {error}") from None

    def _units(self) -> Fraction:
        return Fraction(amount("within", self.within, "20 or 20%"))

    def _share(self) -> float:
        share = parse_share(self.within.strip())
        _require(0 < share <= 1, "within", "be above 0 and at most 100%, such as 20%", self.within)
        return share


def amount(field: str, typed_text: str, examples: str) -> str:
    """Return the text of a number above 0. Raise FormError if it is none."""
    text = drop_thousands(typed_text.strip().removeprefix("±").strip())
    _require(0 < parse_number(text) <= _LARGEST, field, f"be a number above 0, such as {examples}", typed_text)
    return text


def _price(field: str, typed_text: str) -> Fraction:
    """Return the ε of a field."""
    try:
        return exact_epsilon(typed_text.strip(), field)
    except ValueError as error:
        raise FormError(field, str(error)) from None


def _require(is_valid: bool, field: str, words: str, typed_text: str) -> None:  # noqa: FBT001 - the condition
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
    def of(cls, fields: Any) -> Self:  # noqa: ANN401 - a multi-dict, whose class is Starlette's
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
                within=text("within"),
                at_most=text("at_most"),
                of=text("of") or LARGEST,
                guess=text("guess"),
                confidence=text("confidence"),
                epsilon=text("epsilon"),
            ),
            total="total" in fields,
            other="other" in fields,
            delta=text("delta"),
            groups_per_unit=text("groups_per_unit"),
            purpose=text("purpose"),
        )

    def changed(self, fields: Any) -> Self | None:  # noqa: ANN401 - as in `of`
        """Return the form with a row added or removed, if the user pressed such a button, else None."""
        if "add" in fields:
            row = Condition(str(fields.get("chosen", "")))
            return replace(self, conditions=(*self.conditions, row))
        if "add_group" in fields:
            return replace(self, groups=(*self.groups, Grouping(str(fields.get("chosen_group", "")))))
        if "remove" in fields:
            return replace(self, conditions=_without(self.conditions, str(fields["remove"])))
        if "remove_group" in fields:
            return replace(self, groups=_without(self.groups, str(fields["remove_group"])))
        return None

    def query(self, columns: Mapping[str, Kind], public: Public = _NO_VALUES) -> Query:
        """Return the query that the form states about some columns, of which some have public values."""
        where = where_of(self.conditions, self.text, columns, public, self.rows)
        wheres = [] if where is None else [where]
        if not self.groups:
            return Query(wheres=wheres, **self.price.of_count())
        keys = {group.column: group.listed(row, columns) for row, group in enumerate(self.groups)}
        return Query(
            wheres=wheres,
            by=parse_by([group.item(row) for row, group in enumerate(self.groups)]),
            keys={column: column_keys for column, column_keys in keys.items() if column_keys is not None} or None,
            other=self.other,
            margins=["total"] if self.total or (self.price.is_open and self.price.of == "total") else [],
            groups_per_unit=self._groups_per_unit(),
            delta=self.delta.strip() or None,
            **self.price.of_rows(),
        )

    def error_of(self, refusal: QueryError) -> FormError:
        """Return a refusal with the labels of the form, and the field of the part that it is about."""
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


def _without(rows: tuple[Any, ...], row_text: str) -> tuple[Any, ...]:
    """Return the rows without the one at an index."""
    return tuple(row for number, row in enumerate(rows) if str(number) != row_text)
