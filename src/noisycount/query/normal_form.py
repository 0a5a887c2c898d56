"""Normal forms of predicates: one tree for all wordings of a query.

`parse_predicate` reads a text and returns the tree of the text with its normal form.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import TypeAlias

from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.query import predicate as tree
from noisycount.query.language import parse
from noisycount.query.person_values import Function, PersonValue, with_conditions
from noisycount.query.schema import Kind, Schema, schema_of
from noisycount.query.syntax import tokens

# characters of a normal form that is certainly within the limits: each level of nesting takes more than five
_SURELY_WITHIN_BOUNDS = 100
# Every smaller integer is exact as a real, so that different integers stay different.
EXACT_INTEGERS = 2**53


def _normalise_comparison(
    left: tree.Column, operator: tree.Operator, right: tree.Column | tree.Literal
) -> tree.Predicate:
    """Return the normal form of a comparison.

    A whole real beside integers becomes an integer, but only below 2^53 in absolute value, where every integer is exact
    as a real.
    """
    if isinstance(right, tree.Column):
        if right.name < left.name:
            return tree.Comparison(right, operator.mirrored, left)
        return tree.Comparison(left, operator, right)
    if isinstance(right.value, bool):
        flag = tree.Flag(left)
        return flag if right.value is (operator is tree.Operator.EQUAL) else tree.Not(flag)
    literal, value = right, right.value
    if left.kind is Kind.INTEGER and isinstance(value, float) and value.is_integer() and abs(value) < EXACT_INTEGERS:
        literal = tree.Literal(Kind.INTEGER, int(value))
    elif right.kind is Kind.REAL and not value:
        literal = replace(right, value=0.0)  # without its sign
    if isinstance(left, PersonValue) and left.function is Function.COUNT and left.column is None:
        exists = _EXISTENCE.get((operator, literal.value))
        if exists is not None:
            flag = tree.Flag(PersonValue.from_function(Function.ANY, left.where, table=left.table))
            return flag if exists else tree.Not(flag)
    return tree.Comparison(left, operator, literal)


# Comparisons of a number of rows that state whether there is a row.
_EXISTENCE: Mapping[tuple[tree.Operator, object], bool] = {
    (tree.Operator.AT_LEAST, 1): True,
    (tree.Operator.MORE, 0): True,
    (tree.Operator.NOT_EQUAL, 0): True,
    (tree.Operator.LESS, 1): False,
    (tree.Operator.AT_MOST, 0): False,
    (tree.Operator.EQUAL, 0): False,
}


_Connective: TypeAlias = type[tree.And] | type[tree.Or]
_OTHER: dict[_Connective, _Connective] = {tree.And: tree.Or, tree.Or: tree.And}
_ENDS = {tree.And: (tree.Operator.AT_LEAST, tree.Operator.AT_MOST), tree.Or: (tree.Operator.LESS, tree.Operator.MORE)}
_LISTED = {tree.And: tree.Operator.NOT_EQUAL, tree.Or: tree.Operator.EQUAL}


def normal_form(predicate: tree.Predicate) -> tree.Predicate:
    """Return the normal form of a predicate, one tree for its many wordings.

    Wordings may differ in negations, order, repetitions, ranges and lists.

    The normal form is true, false and unknown for the same records. De Morgan's laws hold in three-valued logic, a
    negated comparison is unknown if its column is missing, and NaN has a place in the order. If the normal form
    exceeded the limits of the language, the predicate is returned unchanged.

    Example:
        >>> age = tree.Column("age", Kind.INTEGER)
        >>> under = tree.Comparison(age, tree.Operator.LESS, tree.Literal(Kind.INTEGER, 65))
        >>> tree.canonical_text(normal_form(tree.Not(tree.Or((under, under)))))
        'age >= 65'
    """
    form = _normalise(with_conditions(predicate, normal_form), negated=False)
    text = tree.canonical_text(form)
    if len(text) > _SURELY_WITHIN_BOUNDS:
        try:
            tokens(text)
        except PredicateError:
            return predicate
    return form


def _normalise(predicate: tree.Predicate, *, negated: bool) -> tree.Predicate:
    """Return the normal form of a predicate, or of its negation."""
    match predicate:
        case tree.Not(operand):
            return _normalise(operand, negated=not negated)
        case tree.Constant(value):
            return tree.Constant(value is not negated)
        case tree.And(operands) | tree.Or(operands):
            kind = _OTHER[type(predicate)] if negated else type(predicate)
            return _join_normal_forms([_normalise(part, negated=negated) for part in operands], kind)
        case tree.Comparison(left, operator, right):
            return _normalise_comparison(left, operator.negated if negated else operator, right)
    test = tree.Not(predicate) if negated else predicate
    if isinstance(predicate, tree.Range | tree.Membership):  # a range joins its ends by and, a list its values by or
        return _join_normal_forms([test], tree.And if isinstance(predicate, tree.Range) is not negated else tree.Or)
    return test


def _join_normal_forms(operands: Iterable[tree.Predicate], kind: _Connective) -> tree.Predicate:
    """Join normal forms by one connective: in order, without repeats, and with ranges and lists where possible."""
    decisive, neutral = tree.Constant(kind is tree.Or), tree.Constant(kind is tree.And)
    parts = set(_flat_operands(operands, kind))
    if decisive in parts:
        return decisive
    ordered = sorted(_with_ranges_and_lists(parts - {neutral}, kind), key=tree.canonical_text)
    if len(ordered) > 1:
        return kind(tuple(ordered))
    return ordered[0] if ordered else neutral


def _flat_operands(operands: Iterable[tree.Predicate], kind: _Connective) -> Iterator[tree.Predicate]:
    """Yield the operands of a connective.

    Operands with the same connective, ranges and lists are replaced by their own operands.
    """
    for operand in operands:
        inner = operand.operand if isinstance(operand, tree.Not) else operand
        is_plain = inner is operand
        match inner:
            case tree.And(parts) | tree.Or(parts) if type(inner) is kind:
                yield from _flat_operands(parts, kind)
            case tree.Range(column, low, high) if is_plain is (kind is tree.And):
                yield from map(partial(_normalise_comparison, column), _ENDS[kind], (low, high))
            case tree.Membership(column, choices) if is_plain is (kind is tree.Or):
                yield from map(partial(_normalise_comparison, column, _LISTED[kind]), choices)
            case _:
                yield operand


def _with_ranges_and_lists(parts: set[tree.Predicate], kind: _Connective) -> set[tree.Predicate]:
    """Return the parts, with ranges and lists in place of comparisons with literals.

    A column that has one bound of each side gets a range, and one that is compared with several values a list.
    """
    by_column = defaultdict(list)
    for part in parts:
        match part:
            case tree.Comparison(left, _, tree.Literal() as right) if left.kind is not Kind.BOOLEAN:
                by_column[left, right.kind].append(part)
    merged = set(parts)
    for comparisons in by_column.values():
        low, high, equal = (
            [test for test in comparisons if test.operator is operator] for operator in (*_ENDS[kind], _LISTED[kind])
        )
        if len(low) == len(high) == 1:
            merged.difference_update(low, high)
            merged.add(_range_or_outside(low[0], high[0], kind))
        if len(equal) > 1:
            ordered = sorted(equal, key=tree.canonical_text)
            choices = tuple(test.right for test in ordered if isinstance(test.right, tree.Literal))
            listed = tree.Membership(equal[0].left, choices)
            merged.difference_update(equal)
            merged.add(listed if kind is tree.Or else tree.Not(listed))
    return merged


def _range_or_outside(low: tree.Comparison, high: tree.Comparison, kind: _Connective) -> tree.Predicate:
    """Return the predicate of two bounds of one column: a range, or the values outside it."""
    if low.right == high.right:
        return replace(low, operator=tree.Operator.EQUAL if kind is tree.And else tree.Operator.NOT_EQUAL)
    inside = tree.Range(low.left, low.right, high.right)  # type: ignore[arg-type]  # literals
    return inside if kind is tree.And else tree.Not(inside)


@frozen
class ParsedPredicate:
    """A predicate that was read from a text."""

    asked: tree.Predicate  # tree of the text as the analyst wrote it
    normal: tree.Predicate  # tree that is the same for all wordings


def parse_predicate(text: str, schema: Mapping[str, Kind]) -> ParsedPredicate:
    """Return the predicate of a text about columns of a schema; see `language.parse`.

    Raises:
        PredicateError: The text is not a predicate of the language.
    """
    if not isinstance(text, str):
        raise PredicateError(
            "a question must be a text, such as \"town = 'Bern' and age >= 65\", got an object of the class"
            f" {type(text).__name__}: a desk counts its own records, by the names of their columns"
        )
    return _parse_cached(text, schema_of(schema))


@lru_cache(maxsize=256)  # a query is read at each step from its text to its answer
def _parse_cached(text: str, schema: Schema) -> ParsedPredicate:
    asked = parse(text, schema)
    return ParsedPredicate(asked, normal_form(asked))
