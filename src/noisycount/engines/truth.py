"""Whether a record matches, and in which groups a unit is left: what every engine is compared with.

Of its groups a unit is left in those with the smallest hashes of the key of the rule (the salt), the group and the
unit: the rule looks at no other unit, and at no order. Each engine computes the same hashes, of texts that only one
group and one unit have.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import md5
from math import isnan
from typing import Any, TypeVar

from noisycount.query import predicate as tree
from noisycount.query.grouping import Key
from noisycount.query.readings import READERS

OTHER = "other"
"""What stands for the keys of the group of all that is not listed."""

Group = TypeVar("Group", tuple[Key, ...], tuple[Key, ...] | None)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - columns have no zone


def kept_groups(groups: Iterable[Group], unit: str, most: int | None, salt: str) -> set[Group]:
    """The groups that a unit is left in.

    `groups`: those that it is in, by their keys; None: that of all that is not listed.

    Example:
        >>> sorted(kept_groups({("Bern",), ("Genf",), ("Zug",)}, "ann", 2, salt=""))
        [('Genf',), ('Zug',)]
    """
    found = set(groups)
    if most is None:
        return found
    return set(sorted(found, key=lambda group: _place(group, unit, salt))[:most])


def salt_text(salt: str) -> str:
    """The text that begins what is hashed of a group."""
    return _hash(salt).hex()


def unit_text(value: object) -> str:
    """The text of a unit: the same for equal ones.

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
            return _text(value)


def group_text(group: tuple[Key, ...] | None, salt: str) -> str:
    """The text that begins what is hashed of a unit in a group."""
    parts = OTHER if group is None else "".join(map(_part, group))
    return _hash(salt_text(salt) + parts).hex()


def _place(group: tuple[Key, ...] | None, unit: str, salt: str) -> int:
    """The hash of a unit in a group, as a number."""
    return int.from_bytes(_hash(group_text(group, salt) + unit), "little")


def _part(key: Key) -> str:
    """The text of one of several keys, which tells where it ends."""
    return "-" if key is None else f"{len(_text(key))}:{_text(key)}"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _hash(text: str) -> bytes:
    return md5(text.encode(errors="surrogatepass"), usedforsecurity=False).digest()


Record = Mapping[str, object]


def truth(predicate: tree.Predicate, record: Record) -> bool | None:
    """Whether the record matches, in three-valued logic: None is unknown."""
    match predicate:
        case tree.Constant(value):
            return value
        case tree.Not(operand):
            found = truth(operand, record)
            return None if found is None else not found
        case tree.And(operands):
            return _strongest([truth(part, record) for part in operands], decisive=False)
        case tree.Or(operands):
            return _strongest([truth(part, record) for part in operands], decisive=True)
        case tree.Missing(column):
            return _value(column, record) is None
        case _:
            return _tested(predicate, record)


def _strongest(truths: Sequence[bool | None], *, decisive: bool) -> bool | None:
    if decisive in truths:
        return decisive
    return None if None in truths else not decisive


def _tested(
    test: tree.Flag | tree.Comparison | tree.Range | tree.Membership | tree.Pattern, record: Record
) -> bool | None:
    column = test.left if isinstance(test, tree.Comparison) else test.column
    value = _value(column, record)
    if value is None:
        return None
    match test:
        case tree.Flag():
            return bool(value)
        case tree.Comparison(_, operator, right):
            return _compared(value, operator, _seen(right, record))
        case tree.Range(_, low, high):
            at_least = _compared(value, tree.Operator.AT_LEAST, low.value)
            return at_least and _compared(value, tree.Operator.AT_MOST, high.value)
        case tree.Membership(_, choices):
            return any(_compared(value, tree.Operator.EQUAL, choice.value) for choice in choices)
        case tree.Pattern(_, pattern):
            return tree.like_expression(pattern).fullmatch(value) is not None


def _seen(operand: tree.Column | tree.Literal, record: Record) -> object:
    return operand.value if isinstance(operand, tree.Literal) else _value(operand, record)


def _value(column: tree.Column, record: Record) -> Any:  # noqa: ANN401 - of the kind of the column
    """Return the value of a column in a record; of a parsed one, what its text spells."""
    value: Any = record[column.name]
    return READERS[column.kind](value) if column.is_parsed and value is not None else value


def _compared(left: object, operator: tree.Operator, right: object) -> bool | None:
    if right is None:
        return None
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)  # type: ignore[arg-type]  # numbers, by their kinds
    return bool(tree.TESTS[operator](ordered(left), ordered(right)))


def ordered(value: object) -> object:
    """The value in the order of DuckDB, where NaN equals itself and follows every number."""
    if not isinstance(value, float):
        return value
    return (True, 0.0) if isnan(value) else (False, value)
