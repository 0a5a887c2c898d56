"""Predicates of the conformance suite: every trap that an engine once failed, and random ones."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise, product
from math import isfinite, nextafter
from typing import Any

from noisycount.engines.conformance.records import CELLS, PATTERNS, QUESTIONS, Draws
from noisycount.frozen import frozen
from noisycount.query import predicate as tree
from noisycount.query.language import parse
from noisycount.query.person_values import EVERY_ROW, Function, PersonValue, Shifted, is_of_person
from noisycount.query.readings import READERS
from noisycount.query.schema import INTEGERS, Kind

_DEEPEST = 17
"""Largest depth of a predicate. The language allows 20 levels, of which a leaf takes two."""

_MOST_LEAVES = 24  # far fewer than fit into the 4,096 bytes of a question
_PATTERN_PIECES = ("%", "_", "a", "b", "\\", "é", "👍", "\n", ".", "A", " ", "'", "[", "]", "^")
_LONGEST_PATTERN = 6
LITERALS: Mapping[Kind, tuple[Any, ...]] = {
    kind: tuple(
        cell
        for cell in cells
        if not (isinstance(cell, float) and not isfinite(cell)) and not (isinstance(cell, str) and "\0" in cell)
    )
    for kind, cells in CELLS.items()
}
"""Cells of each kind that can be written as literals."""


def random_predicates(
    schema: Mapping[str, Kind], number: int, seed: str, parsed: Sequence[tree.Column] = ()
) -> Iterator[tree.Predicate]:
    """Yield random predicates about the columns of a schema, and about parsed columns."""
    columns = [*(tree.Column(name, kind) for name, kind in schema.items()), *parsed]
    maker = PredicateMaker(Draws(seed), columns)
    for _ in range(number):
        yield maker.predicate(maker.depth(), _MOST_LEAVES)


def random_person_predicates(schema: Mapping[str, Kind], number: int, seed: str) -> Iterator[tree.Predicate]:
    """Yield random predicates about values of persons, and about rows that are compared with values of their person."""
    draws = Draws(seed)
    rows = [tree.Column(name, kind) for name, kind in schema.items()]
    for _ in range(number):
        if not draws.is_one_in(4):
            yield PredicateMaker(draws, random_person_values(rows, draws)).predicate(draws.below(3), _MOST_LEAVES)
            continue
        of_rows = PredicateMaker(draws, [*rows, *random_person_values(rows, draws, depth=1)])
        predicate = of_rows.predicate(1 + draws.below(3), _MOST_LEAVES)
        levels = {is_of_person(test) for test in tree.tests(predicate)}
        yield tree.Flag(PersonValue.from_function(Function.ANY, predicate)) if levels >= {True, False} else predicate


def random_person_values(rows: Sequence[tree.Column], draws: Draws, depth: int = 2) -> list[tree.Column]:
    """Draw values of a person. Some are shifted by a duration, and conditions contain other values up to a depth."""
    inner = random_person_values(rows, draws, depth - 1) if depth and draws.is_one_in(2) else []
    maker = PredicateMaker(draws, [*rows, *inner])
    values: list[tree.Column] = []
    for _ in range(3):
        value: tree.Column = person_value(rows, maker)
        if value.kind.is_moment and draws.is_one_in(2):
            amount = draws.one_of((1, 30, 366, 11, 9_999)) * draws.one_of((1, -1))
            value = Shifted.from_duration(value, amount, draws.one_of(("day", "month", "year")))
        values.append(value)
    return values


def person_value(rows: Sequence[tree.Column], maker: "PredicateMaker", table: str | None = None) -> PersonValue:
    """Draw a value of a person from the columns of rows. If `table` is given, the rows are those of this table."""
    draws = maker.draws
    where = EVERY_ROW if draws.is_one_in(4) else maker.predicate(draws.below(2), 3)
    function = draws.one_of([*Function, Function.COUNT])
    if function in {Function.ANY, Function.EVERY} or (function is Function.COUNT and draws.is_one_in(2)):
        return PersonValue.from_function(function, where, table=table)
    orders: Sequence[tree.Column | None] = [None]
    columns = list(rows)
    if function is Function.TOTAL:
        columns = [column for column in rows if column.kind.is_number]
    elif function in {Function.SMALLEST, Function.LARGEST}:
        columns = [column for column in rows if column.kind is not Kind.BOOLEAN]
    elif function in {Function.FIRST, Function.LAST}:
        orders = [column for column in rows if column.kind.is_moment or column.kind is Kind.INTEGER]
    if not (columns and orders):  # no column suits the function
        return PersonValue.from_function(Function.COUNT, where, draws.one_of(rows), table=table)
    return PersonValue.from_function(function, where, draws.one_of(columns), draws.one_of(orders), table)


def value_or_neighbour(value: Any, draws: Draws) -> Any:  # noqa: ANN401 - of the kind of the value
    """Return a value, or the next greater or smaller one."""
    step = draws.below(6) - 1
    if step not in {-1, 1}:
        return value
    match value:
        case bool():
            return not value
        case int():
            return value + step if value + step in INTEGERS else value
        case float():
            stepped = nextafter(value, step * 2.0**1023)
            return stepped if isfinite(stepped) else value
        case str():
            return value[:-1] if step < 0 else value + draws.one_of(_PATTERN_PIECES)
        case date():
            value = _neighbouring_value(value, step)
    return value


def _neighbouring_value(value: date, step: int) -> date:
    """Return the next or previous day, or microsecond."""
    try:
        unit = timedelta(microseconds=1) if isinstance(value, datetime) else timedelta(days=1)
        return value + step * unit
    except OverflowError:
        return value


@frozen
class PredicateMaker:
    """A generator of random predicates about some columns."""

    draws: Draws
    columns: Sequence[tree.Column]

    def depth(self) -> int:
        """Draw the depth of a predicate, which is mostly small."""
        draws = self.draws
        return draws.below(_DEEPEST + 1) if draws.is_one_in(12) else draws.below(4)

    def predicate(self, depth: int, leaves: int, without: type | None = None) -> tree.Predicate:
        """Draw a predicate of a given depth, with at most `leaves` leaves, that is not of the class `without`."""
        draws = self.draws
        form = draws.one_of([form for form in (tree.Not, tree.And, tree.Or) if form is not without])
        is_whole = depth <= 0 or (form is not tree.Not and leaves < 2)  # noqa: PLR2004 - the arity
        if is_whole:
            return self.test()
        if form is tree.Not:
            return tree.Not(self.predicate(depth - 1, leaves))
        operands = self.operands(form, depth - 1, leaves)
        return tree.And(operands) if form is tree.And else tree.Or(operands)

    def operands(self, form: type, depth: int, leaves: int) -> tuple[tree.Predicate, ...]:
        """Draw the operands of a connective: one deep predicate, and others of one leaf each."""
        draws = self.draws
        number = min(2 + draws.below(2), leaves)
        deep = self.predicate(depth, leaves - number + 1, form)
        others = [self.predicate(draws.below(depth + 1), 1, form) for _ in range(number - 1)]
        return (deep, *others) if draws.is_one_in(2) else (*others, deep)

    def test(self) -> tree.Predicate:
        """Draw a predicate without connectives."""
        draws = self.draws
        column = draws.one_of(self.columns)
        if draws.is_one_in(40):
            return tree.Constant(draws.is_one_in(2))
        if draws.is_one_in(10):
            return tree.Missing(column)
        return self.flag(column) if column.kind is Kind.BOOLEAN else self.comparison(column)

    def comparison(self, column: tree.Column) -> tree.Predicate:
        """Draw a test of the value of a column."""
        draws = self.draws
        if column.kind is Kind.TEXT and draws.is_one_in(3):
            return tree.Pattern(column, self.pattern())
        match draws.below(5):
            case 0:
                return tree.Membership(column, self.literals(column, 1 + draws.below(6)))
            case 1:
                return tree.Range(column, *self.literals(column, 2))
            case _:
                operator = draws.one_of(list(tree.Operator))
                return tree.Comparison(column, operator, self.other_side(column))

    def flag(self, column: tree.Column) -> tree.Predicate:
        """Draw a test of a boolean column."""
        draws = self.draws
        if draws.is_one_in(2):
            return tree.Flag(column)
        operator = draws.one_of([tree.Operator.EQUAL, tree.Operator.NOT_EQUAL])
        return tree.Comparison(column, operator, self.other_side(column))

    def other_side(self, column: tree.Column) -> tree.Column | tree.Literal:
        """Draw the other operand of a comparison with a column."""
        if self.draws.is_one_in(3):
            return self.draws.one_of([other for other in self.columns if _are_comparable(column, other)])
        return self.literals(column, 1)[0]

    def literals(self, column: tree.Column, number: int) -> tuple[tree.Literal, ...]:
        """Draw literals of one kind that a column can be compared with."""
        draws = self.draws
        kind = column.kind
        if kind is Kind.INTEGER and draws.is_one_in(4):
            kind = Kind.REAL
        values = [value_or_neighbour(draws.one_of(LITERALS[kind]), draws) for _ in range(number)]
        return tuple(tree.Literal(kind, value) for value in values)

    def pattern(self) -> str:
        """Draw a pattern: a text of the records with some wildcards, or a sequence of odd pieces."""
        draws = self.draws
        if draws.is_one_in(2):
            pieces = range(draws.below(_LONGEST_PATTERN))
            return "".join(draws.one_of(_PATTERN_PIECES) for _ in pieces)
        text = draws.one_of(LITERALS[Kind.TEXT])
        return "".join(draws.one_of("%_") if draws.is_one_in(4) else character for character in text)


def _are_comparable(column: tree.Column, other: tree.Column) -> bool:
    """Return True if two columns can be compared."""
    return column.kind is other.kind or (column.kind.is_number and other.kind.is_number)


def predicates_on_parsed_columns(columns: Sequence[tree.Column], texts: Sequence[str]) -> Iterator[tree.Predicate]:
    """Yield predicates that distinguish all numbers or days that texts state.

    Args:
        columns: Columns of these texts, under the functions of the language.
        texts: The texts.
    """
    for column in columns:
        spelled = {value for text in texts if (value := READERS[column.kind](text)) is not None}
        literals = [tree.Literal(column.kind, value) for value in sorted(spelled)]
        yield from (tree.Missing(column), tree.Not(tree.Missing(column)), tree.Membership(column, tuple(literals)))
        yield from (tree.Range(column, low, high) for low, high in pairwise(literals))
        for literal, operator in product(literals, tree.Operator):
            yield tree.Comparison(column, operator, literal)


def fixed_predicates(schema: Mapping[str, Kind]) -> Iterator[tree.Predicate]:
    """Yield the predicates about the columns of mixed records that are not random."""
    yield from (parse(text, schema) for text in QUESTIONS)
    for name, kind in schema.items():
        column = tree.Column(name, kind)
        yield from (tree.Missing(column), tree.Not(tree.Missing(column)))
        yield from _value_comparisons(column)
        yield from _column_comparisons(column, schema)
    yield from _pattern_predicates(schema)
    yield from _connective_predicates(schema)


def _operators(column: tree.Column) -> tuple[tree.Operator, ...]:
    is_boolean = column.kind is Kind.BOOLEAN
    return (tree.Operator.EQUAL, tree.Operator.NOT_EQUAL) if is_boolean else tuple(tree.Operator)


def _value_comparisons(column: tree.Column) -> Iterator[tree.Predicate]:
    """Yield comparisons of a column with every value of its kind, in every way."""
    literals = [tree.Literal(column.kind, value) for value in LITERALS[column.kind]]
    for literal, operator in product(literals, _operators(column)):
        yield tree.Comparison(column, operator, literal)
    if column.kind is Kind.BOOLEAN:
        yield from (tree.Flag(column), tree.Not(tree.Flag(column)))
        return
    yield tree.Membership(column, tuple(literals))
    yield tree.Not(tree.Membership(column, tuple(literals)))
    for low, high in pairwise(literals):
        yield tree.Range(column, low, high)
        yield tree.Not(tree.Range(column, low, high))
        yield tree.Membership(column, (low, high))
        yield tree.Not(tree.Membership(column, (low, high)))


def _column_comparisons(column: tree.Column, schema: Mapping[str, Kind]) -> Iterator[tree.Predicate]:
    """Yield comparisons of a column with every other column, and with itself."""
    for name, kind in schema.items():
        if kind is column.kind or (kind.is_number and column.kind.is_number):
            for operator in _operators(column):
                yield tree.Comparison(column, operator, tree.Column(name, kind))


def _pattern_predicates(schema: Mapping[str, Kind]) -> Iterator[tree.Predicate]:
    """Yield tests of texts with every pattern, and their negations."""
    texts = [tree.Column(name, kind) for name, kind in schema.items() if kind is Kind.TEXT]
    for column, pattern in product(texts, PATTERNS):
        yield from (tree.Pattern(column, pattern), tree.Not(tree.Pattern(column, pattern)))


def _connective_predicates(schema: Mapping[str, Kind]) -> Iterator[tree.Predicate]:
    """Yield every connective applied to conditions that may be unknown, and the negations of these predicates."""
    flags = [tree.Column(name, kind) for name, kind in schema.items() if kind is Kind.BOOLEAN]
    numbers = [tree.Column(name, kind) for name, kind in schema.items() if kind is Kind.INTEGER]
    truths: list[tree.Predicate] = [
        *map(tree.Flag, flags),
        *(tree.Not(tree.Flag(flag)) for flag in flags),
        *(tree.Comparison(column, tree.Operator.MORE, tree.Literal(Kind.INTEGER, 0)) for column in numbers),
        *(tree.Membership(column, (tree.Literal(Kind.INTEGER, 0),)) for column in numbers),
        *(tree.Missing(column) for column in (*flags, *numbers)),
        tree.Constant(value=True),
        tree.Constant(value=False),
    ]
    for one, other in product(truths, truths):
        for connective in (tree.And, tree.Or):
            joined = connective((one, other))
            yield from (joined, tree.Not(joined), tree.Not(tree.Not(joined)))
