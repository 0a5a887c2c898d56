"""Public values of columns, and the keys of tables that follow from them.

`public_values` reads the owner's statements, and `public_keys` derives the keys of a grouping.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta

from noisycount.display.values import shortened_repr
from noisycount.errors import ConfigError
from noisycount.query.close_names import did_you_mean
from noisycount.query.grouping import EachValue, GroupBy, Key, KeySet, Period
from noisycount.query.impossible import missing_value_error, non_public_error
from noisycount.query.schema import (
    Kind,
    PublicValues,
    Schema,
    Stated,
    schema_of,
)
from noisycount.query.typed import PeriodLength

MOST_VALUES = 10_000  # maximum number of public values of a column, and of groups without a list
_RANGE = re.compile(r"\s*(.+?)\s*(?:\bto\b|\.\.)\s*(.+?)\s*", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?[0-9]{1,19}(\.[0-9]{1,19})?")


def public_values(stated: Mapping[str, Stated], kinds: Mapping[str, Kind]) -> dict[str, PublicValues]:
    """Return the public values of columns from the owner's statements.

    Raises:
        ConfigError: A statement names no column, or does not suit the kind of its column.

    Example:
        >>> kinds = {"age": Kind.INTEGER, "visit": Kind.DATE}
        >>> {name: values.words for name, values in public_values({"age": "0 to 120", "visit": "2026"}, kinds).items()}
        {'age': '0 to 120', 'visit': '2026-01-01 to 2026-12-31'}
    """
    found = {}
    for name, statement in stated.items():
        if name not in kinds:
            raise ConfigError(f"values names {name!r}, which is no column: {did_you_mean(name, [*kinds])}")
        try:
            if isinstance(statement, str):
                found[name] = _parse_range(kinds[name], statement)
            else:
                normalise = schema_of(kinds).normalisers.get(name, str)
                normal = [normalise(value) if isinstance(value, str) else value for value in statement]
                found[name] = _parse_list(kinds[name], normal)
        except ValueError as error:
            raise ConfigError(f"values of {name!r} {error}") from None
    return found


def with_public_values(schema: Schema, stated: Mapping[str, Stated]) -> Schema:
    """Return the schema with the public values of the columns that queries may use."""
    public = public_values(stated, schema.entire)
    return replace(schema, public={name: public[name] for name in schema if name in public})


def _parse_list(kind: Kind, items: Sequence[object]) -> PublicValues:
    """Return listed values of a kind.

    Raises:
        ValueError: A value is repeated or of another kind, or there are none or too many.
    """
    if kind is Kind.BOOLEAN:
        raise ValueError("are true and false anyway: leave them out")
    values = []
    for each in items:
        value = _parse_listed_value(kind, each)
        if kind.fault(value) or (kind is Kind.TEXT and not kind.is_key(value)):
            raise ValueError(
                f"have {shortened_repr(each)}, and the column is of kind {kind.value}: write {kind.example}"
            )
        values.append(value)
    if not 1 <= len(values) <= MOST_VALUES:
        raise ValueError(
            f"must list 1 to {MOST_VALUES:,} values, got {len(values):,} values: state a range such as 0 to 120"
        )
    if len({*values}) < len(values):
        again = next(value for place, value in enumerate(values) if value in values[:place])
        raise ValueError(f"have {shortened_repr(again)} twice: list each once")
    return PublicValues(kind, tuple(values))


def _parse_listed_value(kind: Kind, value: object) -> object:
    """Return a listed value converted to the kind. A number may be given as a text, as it is in a file of values."""
    if kind.is_number and isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value) if "." in value else int(value)
    if kind is Kind.REAL and type(value) is int:
        return float(value)
    return kind.key(value)


def _parse_range(kind: Kind, text: str) -> PublicValues:
    """Return the range between two ends, or of one year, quarter or month.

    Raises:
        ValueError: The text is no range of the kind.
    """
    ends = _RANGE.fullmatch(text)
    first, last = ends.groups() if ends else (text.strip(), text.strip())
    if kind.is_moment:
        low, high = _parse_period_end(kind, first, is_last=False), _parse_period_end(kind, last, is_last=True)
    elif kind.is_number and ends and _NUMBER.fullmatch(first) and _NUMBER.fullmatch(last):
        low, high = _parse_listed_value(kind, first), _parse_listed_value(kind, last)  # type: ignore[assignment]  # numbers
    else:
        low = high = None
    if any(end is None or kind.fault(end) for end in (low, high)):
        example = "2026, or 2026-01 to 2026-12" if kind.is_moment else "0 to 120"
        remedy = f"write a range such as {example}" if kind.is_number or kind.is_moment else 'write a list, ["a", "b"]'
        raise ValueError(f"are {shortened_repr(text)}, and the column is of kind {kind.value}: {remedy}")
    if low > high:  # type: ignore[operator]  # both ends are of one kind, as `fault` checked
        raise ValueError(f"are {shortened_repr(text)}, which does not rise: write the smaller end first")
    return PublicValues(kind, low=low, high=high)


def _parse_period_end(kind: Kind, text: str, *, is_last: bool) -> date | None:
    """Return the first or the last day or time of the period that a text names; None if it names none."""
    for length in PeriodLength:
        if (number := length.number(text)) is not None:
            months = 12 // length.value
            first = number * months + (months if is_last else 0)
            try:
                day = date(first // 12, first % 12 + 1, 1)
            except ValueError:
                return None
            return _day_or_moment(kind, day - timedelta(is_last), is_last=is_last)
    try:
        day = date.fromisoformat(text)
    except ValueError:
        try:
            return datetime.fromisoformat(text) if kind is Kind.TIMESTAMP else None
        except ValueError:
            return None
    return _day_or_moment(kind, day, is_last=is_last)


def _day_or_moment(kind: Kind, day: date, *, is_last: bool) -> date:
    """Return a day; for timestamps, its first or its last moment."""
    return day if kind is Kind.DATE else datetime.combine(day, time.max if is_last else time.min)


def public_keys(part: GroupBy, values: PublicValues | None) -> tuple[Key, ...] | None:
    """Return the keys of a grouping that follow from the public values of its column; None if none follow.

    Ranges of numbers need no public values, so None is returned for them.

    Example:
        >>> from noisycount.query.predicate import Column
        >>> year = PublicValues(Kind.DATE, low=date(2026, 1, 1), high=date(2026, 12, 31))
        >>> visit = Period(Column("visit", Kind.DATE), PeriodLength.QUARTER)
        >>> [visit.label(key) for key in public_keys(visit, year)]
        ['2026-Q1', '2026-Q2', '2026-Q3', '2026-Q4']
    """
    if values is None or not isinstance(part, EachValue | Period):
        return None
    if values.listed:
        keys = map(part.key, values.listed)
        return tuple(keys) if isinstance(part, EachValue) else tuple(sorted({*keys}))  # type: ignore[type-var]
    low, high = (end.toordinal() if type(end) is date else end for end in (values.low, values.high))
    if isinstance(part, Period):
        low, high = part.key(values.low), part.key(values.high)
    if type(low) is not int or high - low >= MOST_VALUES:
        return None
    is_day = isinstance(part, EachValue) and values.kind is Kind.DATE
    return tuple(date.fromordinal(each) if is_day else each for each in range(low, high + 1))


def impossible_key_errors(keys: KeySet, schema: Mapping[str, Kind]) -> Iterator[str]:
    """Yield an error for each key of a table that no record can have by the owner's statement about its column."""
    for part, listed in zip(keys.parts, keys.values, strict=True):
        name = part.column.name
        absent = schema_of(schema).missing.get(name, frozenset()) if isinstance(part, EachValue) else frozenset()
        values = schema_of(schema).public.get(name)
        known = public_keys(part, values)
        every = None if known is None else {*known, None}
        for key in listed:
            if key in absent:
                yield missing_value_error(part.text, part.label(key), "list the key null")
            elif values is not None and every is not None and key not in every:
                yield non_public_error(part.text, values, part.label(key))
