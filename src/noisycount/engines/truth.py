"""The reference semantics of engines: whether a record matches, and to which groups a unit is bounded.

A contribution bound keeps the groups of a unit with the smallest hashes of salt, group and unit. So it depends neither
on other units nor on the order of records. Each engine computes the same hashes, of texts that are unique to a group
and a unit.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import md5
from math import floor, isnan
from typing import Any, TypeVar

from noisycount.query import predicate as tree
from noisycount.query.grouping import Key
from noisycount.query.person_values import (
    LARGEST_REAL,
    MILLIONTHS,
    Function,
    PersonValue,
    Shifted,
    row_flag,
    value_of,
    values_in,
)
from noisycount.query.readings import READERS
from noisycount.query.schema import INTEGERS, Kind

OTHER = "other"
"""Text of the group of all records whose keys are not listed."""

Group = TypeVar("Group", tuple[Key, ...], tuple[Key, ...] | None)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - columns have no zone


def kept_groups(groups: Iterable[Group], unit: str, max_groups: int | None, salt: str) -> set[Group]:
    """Return the groups that a unit keeps under a contribution bound.

    Args:
        groups: The groups of the unit by their keys; None is the group of unlisted keys.
        unit: The text of the unit.
        max_groups: The largest number of groups of a unit; None: no bound.
        salt: A text that changes the choice.

    Example:
        >>> sorted(kept_groups({("Bern",), ("Genf",), ("Zug",)}, "ann", 2, salt=""))
        [('Genf',), ('Zug',)]
    """
    all_groups = set(groups)
    if max_groups is None:
        return all_groups
    return set(sorted(all_groups, key=lambda group: _unit_hash_number(group, unit, salt))[:max_groups])


def salt_text(salt: str) -> str:
    """Return the first part of the text that is hashed for a group."""
    return _hash(salt).hex()


def unit_text(value: object) -> str:
    """Return the text of a unit; equal units have equal texts.

    Example:
        >>> unit_text(7), unit_text(-0.0), unit_text(True)
        ('7', '0', 'true')
    """
    match value:
        case datetime():
            return str((value - _EPOCH) // timedelta(microseconds=1))
        case float():
            return "nan" if isnan(value) else f"{value + 0.0:.17g}"
        case _:
            return _value_text(value)


def group_text(group: tuple[Key, ...] | None, salt: str) -> str:
    """Return the first part of the text that is hashed for a unit in a group."""
    parts = OTHER if group is None else "".join(map(_key_text, group))
    return _hash(salt_text(salt) + parts).hex()


def _unit_hash_number(group: tuple[Key, ...] | None, unit: str, salt: str) -> int:
    """Return the hash of a unit in a group, as a number."""
    return int.from_bytes(_hash(group_text(group, salt) + unit), "little")


def _key_text(key: Key) -> str:
    """Return the text of one of several keys, with its length."""
    return "-" if key is None else f"{len(_value_text(key))}:{_value_text(key)}"


def _value_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _hash(text: str) -> bytes:
    return md5(text.encode(errors="surrogatepass"), usedforsecurity=False).digest()


Record = Mapping[str, object]


def truth(predicate: tree.Predicate, record: Record) -> bool | None:
    """Return True or False if the record matches or not, and None if this is unknown (three-valued logic)."""
    match predicate:
        case tree.Constant(value):
            return value
        case tree.Not(operand):
            operand_truth = truth(operand, record)
            return None if operand_truth is None else not operand_truth
        case tree.And(operands):
            return _decisive_truth([truth(part, record) for part in operands], decisive=False)
        case tree.Or(operands):
            return _decisive_truth([truth(part, record) for part in operands], decisive=True)
        case tree.Missing(column):
            return _column_value(column, record) is None
        case _:
            return _test_truth(predicate, record)


def _decisive_truth(truths: Sequence[bool | None], *, decisive: bool) -> bool | None:
    if decisive in truths:
        return decisive
    return None if None in truths else not decisive


def _test_truth(
    test: tree.Flag | tree.Comparison | tree.Range | tree.Membership | tree.Pattern, record: Record
) -> bool | None:
    column = test.left if isinstance(test, tree.Comparison) else test.column
    value = _column_value(column, record)
    if value is None:
        return None
    match test:
        case tree.Flag():
            return bool(value)
        case tree.Comparison(_, operator, right):
            return _comparison_truth(value, operator, _operand_value(right, record))
        case tree.Range(_, low, high):
            at_least = _comparison_truth(value, tree.Operator.AT_LEAST, low.value)
            return at_least and _comparison_truth(value, tree.Operator.AT_MOST, high.value)
        case tree.Membership(_, choices):
            return any(_comparison_truth(value, tree.Operator.EQUAL, choice.value) for choice in choices)
        case tree.Pattern(_, pattern):
            return tree.like_expression(pattern).fullmatch(value) is not None


def _operand_value(operand: tree.Column | tree.Literal, record: Record) -> object:
    return operand.value if isinstance(operand, tree.Literal) else _column_value(operand, record)


def _column_value(column: tree.Column, record: Record) -> Any:  # noqa: ANN401 - of the kind of the column
    """Return the value of a column in a record, for a parsed column the value that its text spells."""
    if isinstance(column, Shifted):
        moment = _column_value(column.base, record)
        return None if moment is None else column.shift(moment)
    value: Any = record[column.name]
    return READERS[column.kind](value) if column.is_parsed and value is not None else value


def _comparison_truth(left: object, operator: tree.Operator, right: object) -> bool | None:
    if right is None:
        return None
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)  # type: ignore[arg-type]  # numbers, by their kinds
    return bool(tree.TESTS[operator](sort_key(left), sort_key(right)))


def sort_key(value: object) -> object:
    """Return a value that sorts as in DuckDB, where NaN equals itself and is greater than every number."""
    if not isinstance(value, float):
        return value
    return (True, 0.0) if isnan(value) else (False, value)


def with_person_values(
    rows: Sequence[Record], columns: Iterable[tree.Column], predicates: Iterable[tree.Predicate | None]
) -> list[dict[str, object]]:
    """Return the rows of one person, extended by the values of the person that columns and predicates read, by name."""
    values = dict.fromkeys(value for column in columns if (value := value_of(column)) is not None)
    values |= dict.fromkeys(values_in(predicates))
    found = {value.name: _person_value(value, rows) for value in values}
    return [{**row, **found} for row in rows]


def _person_value(value: PersonValue, rows: Sequence[Record]) -> object:
    """Return a value of a person from the rows of the person."""
    extended = with_person_values(rows, (), [value.where])
    if value.table is not None:
        extended = [row for row in extended if row[row_flag(value.table).name]]
    chosen = [row for row in extended if truth(value.where, row)]
    if value.column is None:
        numbers = {
            Function.ANY: bool(chosen),
            Function.EVERY: len(chosen) == len(extended),
            Function.COUNT: len(chosen),
        }
        return numbers[value.function]
    if value.function in {Function.FIRST, Function.LAST}:
        order = value.by or value.column
        end = _extreme_value(
            [moment for row in chosen if (moment := _column_value(order, row)) is not None], value.function
        )
        chosen = [row for row in chosen if end is not None and _column_value(order, row) == end]
    cells = [cell for row in chosen if (cell := _column_value(value.column, row)) is not None]
    match value.function:
        case Function.COUNT:
            return len(set(map(sort_key, cells)))
        case Function.TOTAL if value.kind is Kind.REAL:
            return float(_clip_to_64_bits(sum(_millionths(cell) for cell in cells if not isnan(cell)))) / float(
                MILLIONTHS
            )
        case Function.TOTAL:
            return _clip_to_64_bits(sum(cells))
        case Function.LARGEST:
            return _extreme_value(cells, value.function)
        case _:
            return _extreme_value(cells, Function.SMALLEST)


def _clip_to_64_bits(total: int) -> int:
    """Return the number of 64 bits that is nearest to a sum."""
    return min(max(total, INTEGERS[0]), INTEGERS[-1])


def _millionths(number: float) -> int:
    """Return a real as a whole number of millionths."""
    return floor(min(max(number, -LARGEST_REAL), LARGEST_REAL) * float(MILLIONTHS) + 0.5)


def _extreme_value(cells: Sequence[Any], function: Function) -> object:
    """Return the smallest or largest of some values; None if there are none."""
    choose: Any = min if function in {Function.SMALLEST, Function.FIRST} else max
    return choose(cells, key=sort_key, default=None)
