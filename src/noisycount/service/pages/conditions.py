"""The conditions of a question on the page: the rows of the form, a choice, and a typed text.

The choice states which rows of a person must satisfy the conditions.

Each error names the field of the form that caused it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.query.impossible import Public, impossible_hints
from noisycount.query.normal_form import parse_predicate
from noisycount.query.person_values import is_of_person, row_table
from noisycount.query.predicate import Column, Predicate, column_of, quoted_text, tests
from noisycount.query.schema import Kind, schema_of
from noisycount.release.text_orders import text_order_refusals


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

    def text(self, column: Column, values: tuple[str, str], field: str) -> str:
        """Return the condition in the question language."""
        texts = values[0].split(",") if self.takes_list else values[: self.needs]
        fields = [field] * len(texts) if self.takes_list else [field, field.replace("value-", "to-")]
        literals = [
            _literal_of_value(column, text, text_field) for text, text_field in zip(texts, fields, strict=False)
        ]
        operands = f"({', '.join(literals)})" if self.takes_list else " and ".join(literals)
        return f"{column.text} {self.name} {operands}".rstrip()


_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")


def _literal_of_value(column: Column, text: str, field: str) -> str:
    """Return a typed value as a literal of the question language."""
    value = text.strip()
    if not value:
        raise FormError(field, f"{column.name} needs a value: {column.kind.example}")
    if not column.kind.is_number:
        return quoted_text(value)
    number = value.replace("−", "-")
    if _NUMBER.fullmatch(number) is None:
        raise FormError(field, f"{column.name} is compared with {value!r}: give {column.kind.example}")
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

    def form_operator(self, kind: Kind) -> FormOperator:
        """Return the operator of the condition."""
        operators = operators_of(kind)
        return next((each for each in operators if each.name == self.operator), operators[0])

    def text(self, columns: Mapping[str, Kind], row: int) -> str:
        """Return the condition in the question language; `row` is the index of its row."""
        if self.column not in columns:
            raise FormError("chosen", f"there is no column {self.column!r}: choose another")
        column = column_of(columns, self.column)
        return self.form_operator(column.kind).text(column, self.values, f"value-{row}")


NO_VALUES: Public = MappingProxyType({})
_MOST_ROWS = 10**9


# Choices of the rows of a person that must satisfy the conditions: the words of each choice, and its question.
ROW_CHOICES = {
    "some": ("some row{} matches", "{}"),
    "none": ("no row{} matches", "none({})"),
    "every": ("every row{} matches", "every({})"),
    "least": ("at least so many rows{} match", "count({}) >= {}"),
}


def row_choices(columns: Mapping[str, Kind]) -> list[tuple[str, str]]:
    """Return the name and the words of each choice of the rows of a person that must satisfy the conditions.

    Example:
        >>> row_choices({})[1]
        ('none', 'no row matches')
    """
    of_tables = " of each table" if schema_of(columns).tables else ""
    return [(choice, words.format(of_tables)) for choice, (words, _) in ROW_CHOICES.items()]


@frozen
class RowChoice:
    """The rows of a person that must satisfy the conditions of the form, as typed."""

    choice: str = "some"  # key of `ROW_CHOICES`
    least: str = ""  # number of rows for the choice `least`

    def question(self, condition: str) -> str:
        """Return the condition of a person: `any`, `every` or a count of the rows that satisfy a condition."""
        number = self.least.strip()
        if self.choice == "least" and not (number.isascii() and number.isdigit() and 0 < int(number) < _MOST_ROWS):
            raise FormError("least", f"rows must be a whole number from 1, such as 3, got {self.least!r}")
        return ROW_CHOICES.get(self.choice, ROW_CHOICES["some"])[1].format(condition, number)


def where_of(
    conditions: Sequence[Condition],
    text: str,
    columns: Mapping[str, Kind],
    public: Public = NO_VALUES,
    rows: RowChoice = RowChoice(),  # noqa: B008 - frozen
) -> str | None:
    """Return all conditions and the typed text, joined by `and`, or None if there are none.

    Raises:
        FormError: If a part is outside the language, orders texts as numbers, or no record can match it.
    """
    groups: dict[str | None, list[str]] = {}  # conditions of the rows of each table
    for row, condition in enumerate(conditions):
        part = condition.text(columns, row)
        _require_possible(part, columns, public, f"value-{row}")
        groups.setdefault(column_of(columns, condition.column).table, []).append(part)
    of_persons = text.strip()  # the typed text, if it is about all rows of a person
    if of_persons:
        normal = _require_possible(of_persons, columns, public, "where")
        if not any(map(is_of_person, tests(normal))):
            table = row_table((), [normal])
            groups.setdefault(table, []).append(f"({of_persons})" if groups.get(table) else of_persons)
            of_persons = ""
    if not groups and rows.choice != "some" and not of_persons:
        words = dict(row_choices(columns))[rows.choice]
        raise FormError("chosen", f"choose a condition first, as a person counts if {words}")
    clauses = _row_questions(groups, columns, public, rows, has_others=bool(of_persons))
    if of_persons:
        clauses.append(f"({of_persons})" if clauses else of_persons)
    return " and ".join(clauses) or None


def _row_questions(
    groups: Mapping[str | None, Sequence[str]],
    columns: Mapping[str, Kind],
    public: Public,
    rows: RowChoice,
    *,
    has_others: bool,
) -> list[str]:
    """Return one condition of a person for each table, from the conditions of the rows of the table.

    The choice of rows applies to tables with many rows a person. A table with one row a person describes the person, so
    its conditions need no choice.

    Args:
        groups: The conditions of the rows of each table.
        columns: The columns of all tables.
        public: The public values of columns.
        rows: The rows of a person that must satisfy the conditions.
        has_others: True if another condition of a person follows.
    """
    traits = schema_of(columns).tables
    single = {table for table in groups if table is not None and traits[table].is_one_row_a_unit}
    single = single if len(single) < len(groups) else set()
    clauses = []
    for table, parts in groups.items():
        condition = " and ".join(parts)
        if len(parts) > 1:
            _require_possible(condition, columns, public, "chosen")
        if table in single or (rows.choice == "some" and (has_others or len(groups) > 1)):
            clauses.append(f"any({condition})")
        else:
            clauses.append(rows.question(condition))
    return clauses


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
