"""A question that is read: one tree for its many wordings, and what of it no record can satisfy."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import lru_cache
from math import ceil, floor
from operator import eq, ge, gt, le, lt, ne
from typing import Any, TypeAlias

from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.query.language import parse, tokens
from noisycount.query.predicate import (
    And,
    Column,
    Comparison,
    Constant,
    Flag,
    Literal,
    Membership,
    Missing,
    Not,
    Operator,
    Or,
    Predicate,
    Range,
    canonical_text,
    columns,
)
from noisycount.query.schema import Kind, Schema

# Reals hold every integer below it, so that no two of them become one number.
_EXACT_INTEGERS = 2**53


def _comparison(left: Column, operator: Operator, right: Column | Literal) -> Predicate:
    """The one tree of a comparison."""
    if isinstance(right, Column):
        return (
            Comparison(right, operator.mirrored, left) if right.name < left.name else Comparison(left, operator, right)
        )
    if isinstance(right.value, bool):
        flag = Flag(left)
        return flag if right.value is (operator is Operator.EQUAL) else Not(flag)
    return Comparison(left, operator, _literal(left, right))


def _literal(column: Column, literal: Literal) -> Literal:
    """Zero without its sign, which no comparison sees; a whole real beside integers as the integer.

    That only where both tell the same integers apart.
    """
    value = literal.value
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _EXACT_INTEGERS
    if column.kind is Kind.INTEGER and is_whole:
        return Literal(Kind.INTEGER, int(value))  # type: ignore[arg-type]  # a float
    return replace(literal, value=0.0) if literal.kind is Kind.REAL and not value else literal


_Connective: TypeAlias = type[And] | type[Or]
_OTHER: dict[_Connective, _Connective] = {And: Or, Or: And}
_ENDS = {And: (Operator.AT_LEAST, Operator.AT_MOST), Or: (Operator.LESS, Operator.MORE)}
_LISTED = {And: Operator.NOT_EQUAL, Or: Operator.EQUAL}


def normal_form(predicate: Predicate) -> Predicate:
    """The one tree of all wordings that differ in negations, order, repetitions, ranges and lists.

    It is true, false and unknown of the same records: De Morgan's laws hold in three-valued logic,
    a negated comparison is unknown where its column is missing, and NaN has a place in the order.
    A predicate whose normal form would exceed the bounds of the language stays as it is.

    Example:
        >>> age = Column("age", Kind.INTEGER)
        >>> under = Comparison(age, Operator.LESS, Literal(Kind.INTEGER, 65))
        >>> canonical_text(normal_form(Not(Or((under, under)))))
        'age >= 65'
    """
    form = _formed(predicate, negated=False)
    try:
        tokens(canonical_text(form))
    except PredicateError:
        return predicate
    return form


def _formed(predicate: Predicate, *, negated: bool) -> Predicate:
    """The normal form of a predicate or of its negation."""
    match predicate:
        case Not(operand):
            return _formed(operand, negated=not negated)
        case Constant(value):
            return Constant(value is not negated)
        case And(operands) | Or(operands):
            kind = _OTHER[type(predicate)] if negated else type(predicate)
            return _joined([_formed(part, negated=negated) for part in operands], kind)
        case Range(column, low, high):
            kind = Or if negated else And
            return _joined(_comparisons(column, zip(_ENDS[kind], (low, high), strict=True)), kind)
        case Membership(column, choices):
            kind = And if negated else Or
            return _joined(_comparisons(column, ((_LISTED[kind], each) for each in choices)), kind)
        case _:
            return _leaf(predicate, negated=negated)


def _leaf(predicate: Predicate, *, negated: bool) -> Predicate:
    """The one tree of a test, or of its negation; the test joins and negates nothing itself."""
    if isinstance(predicate, Comparison):
        operator = predicate.operator.negated if negated else predicate.operator
        return _comparison(predicate.left, operator, predicate.right)
    return Not(predicate) if negated else predicate


def _joined(operands: Iterable[Predicate], kind: _Connective) -> Predicate:
    """Normal operands in one connective: each once, in order, ranges and lists as such."""
    decisive = Constant(kind is Or)
    parts = set(_parts(operands, kind))
    if decisive in parts:
        return decisive
    joined = _with_lists(_with_ranges(parts - {Constant(kind is And)}, kind), kind)
    ordered = sorted(joined, key=canonical_text)
    if not ordered:
        return Constant(kind is And)
    return ordered[0] if len(ordered) == 1 else kind(tuple(ordered))


def _parts(operands: Iterable[Predicate], kind: _Connective) -> Iterator[Predicate]:
    """The operands, with those of the same connective, range or list in the place of it."""
    for operand in operands:
        inner = operand.operand if isinstance(operand, Not) else operand
        is_plain = inner is operand
        match inner:
            case And(parts) | Or(parts) if type(inner) is kind:
                yield from _parts(parts, kind)
            case Range(column, low, high) if is_plain is (kind is And):
                yield from _comparisons(column, zip(_ENDS[kind], (low, high), strict=True))
            case Membership(column, choices) if is_plain is (kind is Or):
                yield from _comparisons(column, ((_LISTED[kind], each) for each in choices))
            case _:
                yield operand


def _comparisons(column: Column, tests: Iterable[tuple[Operator, Literal]]) -> Iterator[Predicate]:
    """A column compared with several literals."""
    for operator, literal in tests:
        yield _comparison(column, operator, literal)


def _with_ranges(parts: set[Predicate], kind: _Connective) -> set[Predicate]:
    """The parts with a range for the two ends of a column, where it has one of each."""
    found = set(parts)
    for ends in _by_column(parts, _ENDS[kind]).values():
        low, high = ([end for end in ends if end.operator is operator] for operator in _ENDS[kind])
        if len(low) == len(high) == 1:
            found -= {*low, *high}
            found.add(_range(low[0], high[0], kind))
    return found


def _range(low: Comparison, high: Comparison, kind: _Connective) -> Predicate:
    """What two ends of one column say: the range, or that the column lies outside it."""
    if low.right == high.right:
        return replace(low, operator=Operator.EQUAL if kind is And else Operator.NOT_EQUAL)
    ends = [end.right for end in (low, high) if isinstance(end.right, Literal)]
    inside = Range(low.left, *ends)
    return inside if kind is And else Not(inside)


def _with_lists(parts: set[Predicate], kind: _Connective) -> set[Predicate]:
    """The parts with one list for all values that a column is compared with."""
    found = set(parts)
    for equal in _by_column(parts, (_LISTED[kind],)).values():
        if len(equal) > 1:
            ordered = sorted(equal, key=canonical_text)
            choices = tuple(each.right for each in ordered if isinstance(each.right, Literal))
            listed = Membership(equal[0].left, choices)
            found.difference_update(equal)
            found.add(listed if kind is Or else Not(listed))
    return found


def _by_column(
    parts: Iterable[Predicate], operators: Sequence[Operator]
) -> dict[tuple[Column, Kind], list[Comparison]]:
    """Comparisons with literals by these operators, of one column and one kind each."""
    found = defaultdict(list)
    for part in parts:
        if not isinstance(part, Comparison) or not isinstance(part.right, Literal):
            continue
        if part.operator in operators and part.left.kind is not Kind.BOOLEAN:
            found[part.left, part.right.kind].append(part)
    return found


@frozen
class ParsedPredicate:
    """A question of the predicate language."""

    asked: Predicate  # in the words of the asker
    normal: Predicate  # the one tree of all its wordings


def parse_predicate(text: str, schema: Mapping[str, Kind]) -> ParsedPredicate:
    """The question that a text asks about columns of a schema; see ``parse``."""
    return _read(text, _Same(schema if isinstance(schema, Schema) else Schema(schema)))


@frozen(eq=False)
class _Same:
    """A schema that equals itself alone: to compare all columns takes longer than to read."""

    schema: Schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.schema is other.schema

    def __hash__(self) -> int:
        return id(self.schema)


@lru_cache(maxsize=256)  # a question is read at every step from its text to its answer
def _read(text: str, same: _Same) -> ParsedPredicate:
    asked = parse(text, same.schema)
    return ParsedPredicate(asked, normal_form(asked))


_TESTS = {
    Operator.EQUAL: eq,
    Operator.NOT_EQUAL: ne,
    Operator.LESS: lt,
    Operator.AT_MOST: le,
    Operator.MORE: gt,
    Operator.AT_LEAST: ge,
}


@frozen
class _End:
    """An end of what a column may hold: every value on its side, with or without the end itself."""

    value: Any
    is_open: bool


def _only_values(test: Predicate) -> list[Any] | None:
    """The only values for which a test of a column is true; None: nobody knows a list."""
    match test:
        case Comparison(column, Operator.EQUAL, Literal() as literal):
            literals: Sequence[Literal] = (literal,)
        case Membership(column, choices):
            literals = choices
        case _:
            return None
    values = [_value(column, literal) for literal in literals]
    if None in values:
        return None
    is_discrete = column.kind.is_discrete
    return [value for value in values if not is_discrete or value == floor(value)]


def _may_hold(test: Predicate, value: Any) -> bool:  # noqa: ANN401 - of the kind of the column
    """Whether a test of a column may be true where the column has the value."""
    match test:
        case Comparison(column, operator, Literal() as literal):
            other = _value(column, literal)
            return other is None or bool(_TESTS[operator](value, other))
        case Not(Membership(column, choices)):
            return value not in [_value(column, choice) for choice in choices]
        case Membership(column, choices):
            others = [_value(column, choice) for choice in choices]
            return None in others or value in others
        case Range():
            return all(_may_hold(end, value) for end in _ends(test))
        case Not(Range() as inside):
            low, high = (_value(inside.column, end) for end in (inside.low, inside.high))
            return low is None or high is None or not low <= value <= high
        case _:
            return True


def _have_disjoint_bounds(tests: Sequence[Predicate]) -> bool:
    """Whether the tests of a column leave no value between its ends."""
    ends = [end for test in tests for end in _ends(test)]
    lows = [_end(end) for end in ends if end.operator in (Operator.MORE, Operator.AT_LEAST)]
    highs = [_end(end) for end in ends if end.operator in (Operator.LESS, Operator.AT_MOST)]
    return any(_is_past(low, high) for low in lows for high in highs if low and high)


def _is_past(low: _End, high: _End) -> bool:
    is_open = low.is_open or high.is_open
    return bool(low.value > high.value) or (is_open and bool(low.value == high.value))


def _ends(test: Predicate) -> Iterator[Comparison]:
    """The comparisons with literals that a test is made of."""
    match test:
        case Comparison(_, _, Literal()):
            yield test
        case Range(column, low, high):
            yield Comparison(column, Operator.AT_LEAST, low)
            yield Comparison(column, Operator.AT_MOST, high)


def _end(test: Comparison) -> _End | None:
    """The end that a comparison sets; of integers and days the nearest that is within."""
    column, operator = test.left, test.operator
    value = _value(column, test.right)  # type: ignore[arg-type]  # a literal, by `_ends`
    if value is None:
        return None
    is_open = operator in (Operator.MORE, Operator.LESS)
    if not column.kind.is_discrete:
        return _End(value, is_open)
    if operator in (Operator.MORE, Operator.AT_LEAST):
        return _End(floor(value) + 1 if is_open else ceil(value), is_open=False)
    return _End(ceil(value) - 1 if is_open else floor(value), is_open=False)


def _value(column: Column, literal: Literal) -> Any:  # noqa: ANN401 - of the kind of the column
    """A literal on the scale of its column: days by their number, numbers as they are.

    None for reals beside integers that engines compare as reals, so large that integers merge.
    """
    value = literal.value
    if column.kind is Kind.INTEGER and isinstance(value, float):
        return value if abs(value) < _EXACT_INTEGERS else None
    if column.kind is Kind.REAL and isinstance(value, int):
        return float(value)
    if column.kind is Kind.DATE and isinstance(value, date):
        return value.toordinal()
    return value


_LESS, _SAME, _MORE = "less", "same", "more"

_ORDERS = {
    Operator.EQUAL: {_SAME},
    Operator.NOT_EQUAL: {_LESS, _MORE},
    Operator.LESS: {_LESS},
    Operator.AT_MOST: {_LESS, _SAME},
    Operator.MORE: {_MORE},
    Operator.AT_LEAST: {_MORE, _SAME},
}


def contradictions(predicate: Predicate) -> Iterator[Predicate]:
    """The smallest parts of a predicate that are true of no record; none of them is a guess.

    What is compared is the tests of one column, or of the same two columns, that an ``and`` joins.
    Patterns are compared with their own negation only. So a predicate without such a part may still
    be true of no record.

    Example:
        >>> from noisycount.query.normal_form import parse_predicate
        >>> from noisycount.query.schema import Kind
        >>> from noisycount.query.predicate import canonical_text
        >>> asked = parse_predicate("smoker and age > 5 and age < 3", {
        ...     "age": Kind.INTEGER, "smoker": Kind.BOOLEAN}).normal
        >>> [canonical_text(part) for part in contradictions(asked)]
        ['age < 3 and age > 5']
    """
    match predicate:
        case Constant(value):
            if not value:
                yield predicate
        case Or(operands):
            for operand in operands:
                yield from contradictions(operand)
        case And(operands):
            yield from _joined_tests(operands)
        case _:
            yield from _joined_tests((predicate,))


def _joined_tests(operands: Sequence[Predicate]) -> Iterator[Predicate]:
    """The contradictions in what an ``and`` joins."""
    tests: dict[Hashable, list[Predicate]] = defaultdict(list)
    for operand in operands:
        if isinstance(operand, And | Or | Constant):
            yield from contradictions(operand)
        else:
            tests[tuple(columns(operand))].append(operand)
    for about_one in tests.values():
        if _is_impossible(about_one):
            least = _least(about_one)
            yield least[0] if len(least) == 1 else And(tuple(least))


def _least(tests: Sequence[Predicate]) -> list[Predicate]:
    """Tests that contradict each other, without those that the contradiction can do without."""
    kept = list(tests)
    for test in tests:
        others = [each for each in kept if each is not test]
        if _is_impossible(others):
            kept = others
    return kept


def _is_impossible(tests: Sequence[Predicate]) -> bool:
    """Whether no values of the columns, which are the same in all tests, satisfy all of them."""
    distinct = set(tests)
    if any(isinstance(test, Missing) for test in tests) and len(distinct) > 1:
        return True
    if any(isinstance(test, Not) and test.operand in distinct for test in tests):
        return True
    orders = [set(_possible(test)) for test in tests if _is_of_columns(test)]
    if orders:
        return not set.intersection(*orders)
    lists = [values for values in map(_only_values, tests) if values is not None]
    if lists:
        least = min(lists, key=len)
        return not any(all(_may_hold(test, value) for test in tests) for value in least)
    return _have_disjoint_bounds(tests)


def _is_of_columns(test: Predicate) -> bool:
    """Whether a test compares a column with a column."""
    return isinstance(test, Comparison) and isinstance(test.right, Column)


def _possible(test: Predicate) -> Iterator[str]:
    """How two columns may stand to each other where a comparison of them is true."""
    if isinstance(test, Comparison):
        is_itself = test.left == test.right
        yield from _ORDERS[test.operator] & ({_SAME} if is_itself else {_LESS, _SAME, _MORE})
