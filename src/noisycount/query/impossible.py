"""Queries that no record can match: by their own text, or by the public values of a column.

`impossible_hints` explains them to the analyst, and `contradictions` finds the parts. No data is read.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import chain, islice
from math import ceil, floor
from types import MappingProxyType
from typing import Any, TypeAlias

from noisycount.display.texts import replace_unprintable
from noisycount.query import predicate as tree
from noisycount.query.close_names import did_you_mean
from noisycount.query.normal_form import EXACT_INTEGERS
from noisycount.query.person_values import is_of_person, row_conditions
from noisycount.query.readings import READERS
from noisycount.query.schema import Kind, PublicValues


def _only_values(test: tree.Predicate) -> list[Any] | None:
    """Return the only values of a column for which a test is true; None if the test does not list them."""
    column = next(tree.operands(test))
    values = [_value_of_literal(column, literal) for literal in _listed_literals(test)]
    if not values or None in values:
        return None
    return [value for value in values if not column.kind.is_discrete or value == floor(value)]


def _may_be_true_of(test: tree.Predicate, value: Any) -> bool:  # noqa: ANN401 - of the kind of the column
    """Return False only if a test of a column is certainly not true of this value."""
    match test:
        case tree.Comparison(column, operator, tree.Literal() as literal):
            other = _value_of_literal(column, literal)
            return other is None or bool(tree.TESTS[operator](value, other))
        case tree.Not(tree.Membership(column, choices)):
            return value not in [_value_of_literal(column, choice) for choice in choices]
        case tree.Membership(column, choices):
            others = [_value_of_literal(column, choice) for choice in choices]
            return None in others or value in others
        case tree.Range(column, low, high) | tree.Not(tree.Range(column, low, high)):
            first, last = _value_of_literal(column, low), _value_of_literal(column, high)
            if isinstance(test, tree.Range):
                return (first is None or first <= value) and (last is None or value <= last)
            return first is None or last is None or not first <= value <= last
        case _:
            return True


_LOW = (tree.Operator.MORE, tree.Operator.AT_LEAST)  # comparisons that set a lower bound
_HIGH = (tree.Operator.LESS, tree.Operator.AT_MOST)


def _bounds(test: tree.Predicate, operators: Collection[tree.Operator]) -> Iterator[tuple[Any, int]]:
    """Yield the bounds that a test sets by comparisons with literals by one of the operators.

    A bound is a value, and 1 or -1 if only values above or below it are possible, else 0. For integers and days it is
    the nearest possible value.
    """
    match test:
        case tree.Comparison(column, operator, tree.Literal() as literal):
            ends = [(operator, literal)]
        case tree.Range(column, low, high):
            ends = [(tree.Operator.AT_LEAST, low), (tree.Operator.AT_MOST, high)]
        case _:
            return
    for operator, literal in ends:
        value = _value_of_literal(column, literal)
        if operator not in operators or value is None:
            continue
        step = {tree.Operator.MORE: 1, tree.Operator.LESS: -1}.get(operator, 0)
        if column.kind.is_discrete:
            nearest = ceil if (operator in _LOW) is (step == 0) else floor
            value, step = nearest(value) + step, 0
        yield value, step


def _value_of_literal(column: tree.Column, literal: tree.Literal) -> Any:  # noqa: ANN401 - of the kind of the column
    """Return a literal on the scale of its column: a day as its number, any other value unchanged.

    Return None for a real of 2^53 or more beside a column of integers. Engines compare the two as reals, and different
    large integers are the same real.
    """
    value = literal.value
    if column.kind is Kind.INTEGER and isinstance(value, float):
        return value if abs(value) < EXACT_INTEGERS else None
    if column.kind is Kind.REAL and isinstance(value, int):
        return float(value)
    if column.kind is Kind.DATE and isinstance(value, date):
        return value.toordinal()
    return value


_LONG = 1000  # number of public values of a column up to which each is tested; of more, only the ends
Public: TypeAlias = Mapping[str, PublicValues]  # public values of some columns, by name


def contradictions(predicate: tree.Predicate, public: Public = MappingProxyType({})) -> Iterator[tree.Predicate]:
    """Yield the smallest parts of a predicate that are true of no record, each a proven contradiction.

    The search compares the tests of one column, or of the same two columns, that an `and` joins. It compares patterns
    only with their own negation and with listed public values. So a predicate without such a part may still match no
    record.

    Example:
        >>> from noisycount.query.normal_form import parse_predicate
        >>> from noisycount.query.schema import Kind
        >>> asked = parse_predicate("smoker and age > 5 and age < 3", {
        ...     "age": Kind.INTEGER, "smoker": Kind.BOOLEAN}).normal
        >>> [tree.canonical_text(part) for part in contradictions(asked)]
        ['age < 3 and age > 5']
    """
    match predicate:
        case tree.Constant(value):
            if not value:
                yield predicate
        case tree.Or(operands):
            for operand in operands:
                yield from contradictions(operand, public)
        case tree.And(operands):
            yield from _joined_tests(operands, public)
        case _:
            yield from _joined_tests((predicate,), public)


def _joined_tests(operands: Sequence[tree.Predicate], public: Public) -> Iterator[tree.Predicate]:
    """Yield the contradictions between predicates that an `and` joins."""
    tests: dict[tuple[tree.Column, ...], list[tree.Predicate]] = defaultdict(list)
    for operand in operands:
        if isinstance(operand, tree.And | tree.Or | tree.Constant):
            yield from contradictions(operand, public)
        else:
            tests[tuple(tree.operands(operand))].append(operand)
    for read, about_one in tests.items():
        least = _minimal_failing_tests(about_one, _is_impossible)
        if least is None and len(read) == 1 and read[0].source_name in public:
            least = _tests_that_exclude_public_values(public[read[0].source_name], read[0], about_one)
        if least is not None:
            yield least[0] if len(least) == 1 else tree.And(tuple(least))


def _minimal_failing_tests(
    tests: Sequence[tree.Predicate], fails: Callable[[Sequence[tree.Predicate]], bool]
) -> list[tree.Predicate] | None:
    """Return a smallest set of tests that no record satisfies; None if a record may satisfy all the tests."""
    if not fails(tests):
        return None
    kept = list(tests)
    for test in tests:
        others = [each for each in kept if each is not test]
        if fails(others):
            kept = others
    return kept


def _tests_that_exclude_public_values(
    values: PublicValues, column: tree.Column, tests: Sequence[tree.Predicate]
) -> list[tree.Predicate] | None:
    """Return tests that rule out every public value of a column; None if a value, or a missing one, passes all."""
    if any(isinstance(test, tree.Missing) for test in tests):
        return None
    if column.origin.is_parsed:
        parsed = dict.fromkeys(map(READERS[column.kind], values.listed))
        values = PublicValues(column.kind, tuple(value for value in parsed if value is not None))
    if not values.listed and values.low is None:  # no public text of a parsed column has a value
        return [tests[0]]
    naming = [test for test in tests if any(_listed_literals(test))]
    if naming:
        candidates = [literal.value for literal in _listed_literals(naming[0]) if literal.value in values]
        others = [test for test in tests if test not in naming]

        def fails(few: Sequence[tree.Predicate]) -> bool:
            return not any(all(_is_admitted(test, value) for test in (*naming, *few)) for value in candidates)

        beside = _minimal_failing_tests(others, fails)
        return None if beside is None else [*naming, *beside]
    if 0 < len(values.listed) <= _LONG:
        left = {test: {value for value in values.listed if _is_admitted(test, value)} for test in tests}
        every = {*values.listed}
        return _minimal_failing_tests(tests, lambda few: not every.intersection(*(left[test] for test in few)))
    low, high = (min(values.listed), max(values.listed)) if values.listed else (values.low, values.high)
    ends = tree.Range(column, tree.Literal(values.kind, low), tree.Literal(values.kind, high))
    return _minimal_failing_tests(tests, lambda few: _is_impossible([*few, ends]))


def _listed_literals(
    test: tree.Predicate, operators: Collection[tree.Operator] = (tree.Operator.EQUAL,)
) -> Iterator[tree.Literal]:
    """Yield the literals of a list, and that of a comparison by one of the operators, by default of an equality."""
    match test:
        case tree.Comparison(_, operator, tree.Literal() as literal) if operator in operators:
            yield literal
        case tree.Membership(_, choices):
            yield from choices


def _is_admitted(test: tree.Predicate, value: Any) -> bool:  # noqa: ANN401 - of the kind of the column
    """Return True if a test of a column may be true of one of its public values."""
    match test:
        case tree.Pattern(_, pattern):
            return tree.like_expression(pattern).fullmatch(value) is not None
        case tree.Not(tree.Pattern() as like):
            return not _is_admitted(like, value)
        case _:
            return _may_be_true_of(test, value.toordinal() if type(value) is date else value)


def non_public_values(predicate: tree.Predicate, public: Public) -> Iterator[tuple[tree.Column, tree.Literal]]:
    """Yield values in a predicate that are not public values of their column. Skip parsed columns."""
    for test in tree.tests(predicate):
        if literals := [*_listed_literals(test, (tree.Operator.EQUAL, tree.Operator.NOT_EQUAL))]:
            column = next(tree.operands(test))
            if column.source_name in public and not column.origin.is_parsed:
                values = public[column.source_name]
                yield from ((column, literal) for literal in literals if literal.value not in values)


def missing_literals(
    predicate: tree.Predicate, missing: Mapping[str, Collection[Any]]
) -> Iterator[tuple[tree.Column, tree.Literal]]:
    """Yield the values of equalities and lists that stand for a missing value of their column. Skip parsed columns."""
    match predicate:
        case tree.And(operands) | tree.Or(operands):
            for operand in operands:
                yield from missing_literals(operand, missing)
        case tree.Comparison(tree.Column() as column) | tree.Membership(column):
            values = () if column.origin.is_parsed else missing.get(column.source_name, ())
            yield from ((column, literal) for literal in _listed_literals(predicate) if literal.value in values)


def _is_impossible(tests: Sequence[tree.Predicate]) -> bool:
    """Return True if no values of the columns satisfy all tests; every test is about the same columns."""
    distinct = set(tests)
    if any(isinstance(test, tree.Missing) for test in tests) and len(distinct) > 1:
        return True
    if any(isinstance(test, tree.Not) and test.operand in distinct for test in tests):
        return True
    column_comparisons = [
        test for test in tests if isinstance(test, tree.Comparison) and isinstance(test.right, tree.Column)
    ]
    if column_comparisons:  # the left value is less, equal or greater; a column equals itself
        orders = (0,) if column_comparisons[0].left == column_comparisons[0].right else (-1, 0, 1)
        return not any(all(tree.TESTS[test.operator](order, 0) for test in column_comparisons) for order in orders)
    lists = [values for values in map(_only_values, tests) if values is not None]
    if lists:
        least = min(lists, key=len)
        return not any(all(_may_be_true_of(test, value) for test in tests) for value in least)
    lows, highs = ([bound for test in tests for bound in _bounds(test, operators)] for operators in (_LOW, _HIGH))
    return bool(lows and highs) and max(lows) > min(highs)


_SHOWN = 3  # number of hints in full


def impossible_hints(
    predicates: Iterable[tree.Predicate],
    public: Public = MappingProxyType({}),
    missing: Mapping[str, Collection[Any]] = MappingProxyType({}),
) -> list[str]:
    """Return a sentence for each part of the predicates that no record can satisfy. Reads no data.

    Args:
        predicates: The predicates.
        public: The public values of some columns, by name.
        missing: The values of some columns that stand for a missing value, by name.

    Example:
        >>> from noisycount.query.normal_form import parse_predicate
        >>> impossible_hints([parse_predicate("age between 64 and 1", {"age": Kind.INTEGER}).normal])
        ['no record can satisfy age between 64 and 1: write the smaller end first']
    """
    conditions = [*row_conditions(predicates)]
    absent = dict.fromkeys(found for each in conditions for found in missing_literals(each, missing))
    unknown = dict.fromkeys(
        found for each in conditions for found in non_public_values(each, public) if found not in absent
    )
    parts: dict[tree.Predicate, None] = {}
    if not absent and not unknown:
        parts = dict.fromkeys(part for each in conditions for part in contradictions(each, public))
    hints = chain(
        (
            missing_value_error(column.source_name, literal.value, f"ask with {column.text} is null")
            for column, literal in absent
        ),
        (
            non_public_error(column.source_name, public[column.source_name], literal.value)
            for column, literal in unknown
        ),
        (_contradiction_hint(part, public) for part in parts),
    )
    sentences = [*islice(hints, _SHOWN)]
    hidden_count = len(absent) + len(unknown) + len(parts) - len(sentences)
    if hidden_count:
        sentences.append(f"nor {hidden_count:,} other {'part' if hidden_count == 1 else 'parts'} of the questions")
    return sentences


def _contradiction_hint(part: tree.Predicate, public: Public) -> str:
    """Return the hint about a part that no record can satisfy, by itself or because of the public values."""
    if not any(contradictions(part)):
        name = next(tree.operands(part)).source_name
        end = f", as the public values of {replace_unprintable(name)} are {replace_unprintable(public[name].words)}"
    elif isinstance(part, tree.Range):
        end = ": write the smaller end first"
    else:
        end = ", all at once: join them by `or` if one of them is enough" if isinstance(part, tree.And) else ""
    subject = "no person" if is_of_person(next(tree.tests(part))) else "no record"
    return f"{subject} can satisfy {tree.canonical_text(part)}{end}"


def missing_value_error(name: str, value: object, remedy: str) -> str:
    """Return the error about a value that stands for a missing value, with the advice how to count missing values."""
    return f"{_value_words(value)} stands for a missing value of {replace_unprintable(name)}: {remedy}"


def non_public_error(name: str, values: PublicValues, value: object) -> str:
    """Return the error about a value or label that is not public, with the public values that may be meant."""
    error = f"{_value_words(value)} is none of the public values of {replace_unprintable(name)}"
    if not values.listed:
        return f"{error}, {values.words}"
    written = str if values.kind.is_number else _value_words
    return f"{error}: {did_you_mean(str(value), [str(label) for label in values.labels], written)}"


def _value_words(value: object) -> str:
    return replace_unprintable(tree.quoted_text(value) if isinstance(value, str) else str(value))
