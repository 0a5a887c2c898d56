"""A question that is read: one tree for its many wordings."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeAlias

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
    Not,
    Operator,
    Or,
    Predicate,
    Range,
    canonical_text,
)
from noisycount.query.schema import Kind, Schema

# Reals hold every integer below it, so that no two of them become one number.
EXACT_INTEGERS = 2**53


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
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < EXACT_INTEGERS
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
    if not isinstance(text, str):
        raise PredicateError(
            "a question must be a text, such as \"town = 'Bern' and age >= 65\", got an object of the class"
            f" {type(text).__name__}: a desk counts its own records, by the names of their columns"
        )
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
