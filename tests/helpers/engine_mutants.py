"""Wrong engines: plain Python with one mistake each, of those that real engines make."""
# ruff: noqa: ANN401, as a value is of any kind

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import md5
from math import isnan, log
from typing import Any
from unicodedata import normalize
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from noisycount.engines.memory import MemorySource, Unit, cell_counts, key_counts, records_with_person_values
from noisycount.engines.truth import Record, truth
from noisycount.query.grouping import (
    CellQuestion,
    EachValue,
    GroupBy,
    Key,
    KeyCounts,
    KeyQuestion,
    NumberRanges,
    Period,
)
from noisycount.query.predicate import (
    And,
    Comparison,
    Literal,
    Membership,
    Not,
    Operator,
    Or,
    Pattern,
    Predicate,
    Range,
)
from noisycount.query.schema import Kind

__all__ = ["MUTANTS", "Engine"]


class Engine(MemorySource):
    """Plain Python whose every step can be changed; as it stands it makes no mistake."""

    __slots__ = ()

    def cell(self, value: Any) -> Any:
        """A cell as this engine keeps it."""
        return value

    def compared(self, value: Any) -> Any:
        """A value as this engine compares it."""
        return value

    def part(self, part: GroupBy) -> GroupBy:
        """Return the part by which this engine groups."""
        return part

    def most(self, most: int | None) -> int | None:
        """In how many groups this engine leaves a person."""
        return most

    def size(self, units: Iterable[object]) -> int:
        """Return the number of persons that this engine counts."""
        return len(set(units))

    def like(self, text: str, pattern: str) -> bool:
        """Return True if this engine matches a text with a pattern."""
        return bool(re.fullmatch(regular(pattern), text, re.DOTALL))

    def negated(self, found: bool | None) -> bool | None:  # noqa: FBT001 - a truth
        """Return this engine's negation of a truth value."""
        return None if found is None else not found

    def joined(self, truths: list[bool | None], *, decisive: bool) -> bool | None:
        """Return this engine's conjunction (false is decisive) or disjunction (true is decisive)."""
        if decisive in truths:
            return decisive
        return None if None in truths else not decisive

    def truth(self, predicate: Predicate, record: Record) -> bool | None:
        """Return this engine's truth value of a predicate for a record."""
        match predicate:
            case Not(operand):
                return self.negated(self.truth(operand, record))
            case And(operands) | Or(operands):
                truths = [self.truth(operand, record) for operand in operands]
                return self.joined(truths, decisive=isinstance(predicate, Or))
            case Pattern(column, pattern):
                text = record[column.name]
                return None if text is None else self.like(str(text), pattern)
            case _:
                return self.test(self.read(predicate), self.seen(record))

    def test(self, test: Predicate, record: Record) -> bool | None:
        """Return the truth value of a single test, on values as this engine compares them."""
        return truth(test, record)

    def seen(self, record: Record) -> Record:
        """A record as this engine compares it."""
        if type(self).compared is Engine.compared:
            return record
        return {n: None if value is None else self.compared(value) for n, value in record.items()}

    def read(self, test: Predicate) -> Predicate:
        """A test with its literals as this engine compares them."""
        if type(self).compared is Engine.compared:
            return test
        match test:
            case Comparison(_, _, Literal() as right):
                return replace(test, right=self.literal(right))
            case Range(_, low, high):
                return replace(test, low=self.literal(low), high=self.literal(high))
            case Membership(_, choices):
                return replace(test, choices=tuple(map(self.literal, choices)))
            case _:
                return test

    def literal(self, literal: Literal) -> Literal:
        """A literal as this engine compares it."""
        return replace(literal, value=self.compared(literal.value))

    def kept(self) -> list[dict[str, Any]]:
        """The records as this engine keeps them."""
        if type(self).cell is Engine.cell:
            return self._open_records()
        return [
            {n: None if cell is None else self.cell(cell) for n, cell in record.items()}
            for record in self._open_records()
        ]

    def count(self, predicates: Sequence[Predicate]) -> list[int]:
        """The persons with a record that matches."""
        return [self.size(self.matching_units(asked)) for asked in predicates]

    def matching_units(self, asked: Predicate) -> Iterator[object]:
        """The unit of each record that matches, also by values of its person."""
        records = records_with_person_values(self.kept(), self.unit, (), [asked])
        for number, record in enumerate(records):
            if self.truth(asked, record):
                yield Unit.from_record(number, record, self.unit).name

    def count_cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        """The counts of a table of listed keys."""
        keys = replace(question.keys, parts=tuple(map(self.part, question.keys.parts)))
        asked = replace(question, keys=keys, max_groups=self.most(question.max_groups))
        return cell_counts(self.kept(), self.unit, asked)

    def count_keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        """The groups of a table."""
        parts = [self.part(part) for part in question.parts]
        asked = replace(question, parts=parts, max_groups=self.most(question.max_groups))
        return key_counts(self.kept(), self.unit, asked)


def regular(pattern: str) -> str:
    """The regular expression of a pattern."""
    wild = {"%": ".*", "_": "."}
    return "".join(wild.get(each) or re.escape(each) for each in pattern)


class LikeEscapes(Engine):
    """A backslash in a pattern makes what follows no wild card."""

    def like(self, text: str, pattern: str) -> bool:
        pieces = re.findall(r"\\.|.", pattern, re.DOTALL)
        parts = [re.escape(p[1]) if len(p) > 1 else regular(p) for p in pieces]
        return bool(re.fullmatch("".join(parts), text, re.DOTALL))


class LikeIgnoresCase(Engine):
    """A pattern is like texts of another case."""

    def like(self, text: str, pattern: str) -> bool:
        return super().like(text.lower(), pattern.lower())


class LikeCountsUnits(Engine):
    """A character beyond the first plane counts as two."""

    def like(self, text: str, pattern: str) -> bool:
        texts = [re.sub("[\U00010000-\U0010ffff]", "\ue000\ue001", each) for each in (text, pattern)]
        return super().like(*texts)


class CaselessPlain(EachValue):
    """Each value a group, in whatever case."""

    def key(self, value: Any) -> Key:
        return value.lower() if isinstance(value, str) else value


class OrdersByUnits(Engine):
    """Texts are in the order of their UTF-16."""

    def test(self, test: Predicate, record: Record) -> bool | None:
        is_text = isinstance(test, Comparison) and isinstance(record[test.left.name], str)
        if is_text and isinstance(test.right, Literal):
            one, other = (str(v).encode("utf-16-be") for v in (record[test.left.name], test.right.value))
            return ORDERS[test.operator](one, other)
        return truth(test, record)


class NullIsFalse(Engine):
    """An unknown truth is false, and true if it is negated."""

    def negated(self, found: bool | None) -> bool | None:  # noqa: FBT001 - a truth
        return not found


class UnknownDecides(Engine):
    """True or unknown is unknown."""

    def joined(self, truths: list[bool | None], *, decisive: bool) -> bool | None:
        return None if None in truths else super().joined(truths, decisive=decisive)


class NaNDiffers(Engine):
    """NaN is not equal to itself, and in no order."""

    def test(self, test: Predicate, record: Record) -> bool | None:
        if isinstance(test, Comparison):
            sides = [record[test.left.name]]
            if not isinstance(test.right, Literal):
                sides.append(record[test.right.name])
            if None not in sides and any(isinstance(s, float) and isnan(s) for s in sides):
                return test.operator is Operator.NOT_EQUAL
        return truth(test, record)


class ComparesExactly(Engine):
    """An integer beside a real is no real."""

    def test(self, test: Predicate, record: Record) -> bool | None:
        if isinstance(test, Comparison) and test.left.kind.is_number:
            left, right = record[test.left.name], test.right
            right = right.value if isinstance(right, Literal) else record[right.name]
            if {type(left), type(right)} == {int, float} and not isnan(left) and not isnan(right):
                return ORDERS[test.operator](left, right)
        return truth(test, record)


class SinglePrecision(Engine):
    """Reals have 24 bits."""

    def cell(self, value: Any) -> Any:
        with np.errstate(over="ignore"):
            return float(np.float32(value)) if isinstance(value, float) else value


class IntegersAsReals(Engine):
    """Integers have 53 bits."""

    def compared(self, value: Any) -> Any:
        near = int(float(value)) if type(value) is int else value
        return min(near, 2**63 - 1) if type(near) is int else near


class Milliseconds(Engine):
    """Times have three decimals."""

    def cell(self, value: Any) -> Any:
        if not isinstance(value, datetime):
            return value
        return value.replace(microsecond=value.microsecond // 1000 * 1000)


class LocalTimes(Engine):
    """Times are moments, of which one that daylight saving skips is another."""

    def cell(self, value: Any) -> Any:
        if not isinstance(value, datetime) or not 1 < value.year < 9999:
            return value
        zone = ZoneInfo("Europe/Zurich")
        return value.replace(tzinfo=zone).astimezone(UTC).astimezone(zone).replace(tzinfo=None)


class LocalPeriod(Period):
    """The periods of another zone."""

    def key(self, value: Any) -> Key:
        if isinstance(value, datetime) and 1 < value.year < 9999:
            value = value.replace(tzinfo=UTC).astimezone(ZoneInfo("Europe/Zurich"))
        return super().key(value)


class LatePeriod(Period):
    """Periods, each one later."""

    def key(self, value: Any) -> Key:
        found = super().key(value)
        return found if found is None else found + 1  # type: ignore[operator]  # a number


class LateEdges(NumberRanges):
    """Ranges that begin behind their edges."""

    def key(self, value: Any) -> Key:
        found = super().key(value)
        if found is None or isnan(value) or found != bisect_left(self.edges, value):
            return found
        return super().key(value) if found == 0 else found - 1  # type: ignore[operator]  # a number


class CountsRoughly(Engine):
    """Persons are counted from which of 16,384 hashes they have, as sketches do where few are."""

    def size(self, units: Iterable[object]) -> int:
        hashes = {md5(repr(u).encode(), usedforsecurity=False).digest()[:2] for u in units}
        places = len({int.from_bytes(each) >> 2 for each in hashes})
        return round(-(2**14) * log(1 - places / 2**14))


class OtherSalt(Engine):
    """Which groups a person is left in follows from something else."""

    def count_cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        return super().count_cells(replace(question, salt="another"))


class OtherLost(Engine):
    """Keys that are not listed are not counted as others."""

    def count_cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        found = super().count_cells(question)
        if question.has_other:
            found[0][-1] = 0
        return found


class LevelsAddUp(Engine):
    """A person in two cells of a node is counted twice."""

    def count_cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        cells, *_ = found = super().count_cells(question)
        for level, counts in zip(question.levels[1:], found[1:], strict=True):
            counts[:] = 0
            inside = level.of_cell >= 0
            np.add.at(counts, level.of_cell[inside], cells[inside])
        return found


class MissingKeysLost(Engine):
    """A missing key forms no group."""

    def count_keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        for batch in super().count_keys(question):
            kept = [place for place, keys in enumerate(batch.keys) if None not in keys]
            yield KeyCounts([batch.keys[place] for place in kept], batch.counts[kept])


class KeysTwice(Engine):
    """A group is told in two parts."""

    def count_keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        for batch in super().count_keys(question):
            ones = np.minimum(batch.counts, 1)
            yield KeyCounts(batch.keys, ones)
            rest = batch.counts - ones
            yield KeyCounts([k for k, n in zip(batch.keys, rest, strict=True) if n], rest[rest > 0])


class CountsNobody(Engine):
    """Records of nobody are left out in silence."""

    def __init__(self, records: Sequence[Record], schema: Mapping[str, Kind], unit: str | None = None) -> None:
        kept = [each for each in records if unit is None or each.get(unit) is not None]
        super().__init__(kept, schema, unit)


class LikeStopsAtLines(Engine):
    """A wild card does not match the end of a line."""

    def like(self, text: str, pattern: str) -> bool:
        return bool(re.fullmatch(regular(pattern), text))


class IgnoresCase(Engine):
    """Texts that differ only in case are equal."""

    def compared(self, value: Any) -> Any:
        return value.casefold() if isinstance(value, str) else value


class GroupsIgnoringCase(Engine):
    """Texts that differ only in case are in one group."""

    def part(self, part: GroupBy) -> GroupBy:
        return CaselessPlain(part.column) if isinstance(part, EachValue) else part


class IgnoresTrailingBlanks(Engine):
    """Texts that differ only in blanks at their end are equal."""

    def compared(self, value: Any) -> Any:
        return value.rstrip(" ") if isinstance(value, str) else value


class Composes(Engine):
    """An accent is the same, composed or not."""

    def compared(self, value: Any) -> Any:
        return normalize("NFC", value) if isinstance(value, str) else value


class EmptyIsMissing(Engine):
    """A text without characters is a missing value."""

    def cell(self, value: Any) -> Any:
        return None if value == "" else value


class FlushesToZero(Engine):
    """Subnormal numbers are zero."""

    def cell(self, value: Any) -> Any:
        return 0.0 if isinstance(value, float) and abs(value) < np.finfo(float).tiny else value


class LocalDays(Engine):
    """A time belongs to the day that it has in another zone."""

    def part(self, part: GroupBy) -> GroupBy:
        return LocalPeriod(part.column, part.span) if isinstance(part, Period) else part


class MonthsFromZero(Engine):
    """A year begins one period later."""

    def part(self, part: GroupBy) -> GroupBy:
        return LatePeriod(part.column, part.span) if isinstance(part, Period) else part


class ExclusiveEdges(Engine):
    """A range begins behind its edge."""

    def part(self, part: GroupBy) -> GroupBy:
        return LateEdges(part.column, part.edges) if isinstance(part, NumberRanges) else part


class CountsRows(Engine):
    """Every record is a person."""

    def size(self, units: Iterable[object]) -> int:
        return len(list(units))


class MergesPersons(Engine):
    """Persons are one person if their names differ only in case or in blanks at their end."""

    def size(self, units: Iterable[object]) -> int:
        return len({u.casefold().rstrip() if isinstance(u, str) else u for u in units})


class OneMore(Engine):
    """A person stays in one group more than the bound."""

    def most(self, most: int | None) -> int | None:
        return None if most is None else most + 1


class Unlimited(Engine):
    """A person stays in all groups, whatever the bound."""

    def most(self, _most: int | None) -> int | None:
        return None


class LenientTexts(Engine):
    """A text spells a number if Python reads one, and a day if it begins with one."""

    def seen(self, record: Record) -> Record:
        return {name: self.plain(value) if isinstance(value, str) else value for name, value in record.items()}

    def plain(self, text: str) -> str:
        """A text as it would have to be written."""
        with suppress(ValueError):
            return repr(float(text))
        return text[:10] if re.match("[0-9]{4}-[0-9]{2}-[0-9]{2}", text) else text


ORDERS = {
    Operator.EQUAL: lambda a, b: a == b,
    Operator.NOT_EQUAL: lambda a, b: a != b,
    Operator.LESS: lambda a, b: a < b,
    Operator.AT_MOST: lambda a, b: a <= b,
    Operator.MORE: lambda a, b: a > b,
    Operator.AT_LEAST: lambda a, b: a >= b,
}

MUTANTS = tuple(Engine.__subclasses__())
"""Each a class with one mistake, which its docstring says."""
