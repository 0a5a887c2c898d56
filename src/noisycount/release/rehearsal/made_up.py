"""Records that nobody has: made from the names and kinds of columns, and from the question."""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from random import Random

from noisycount.release.question.schema import Kind
from noisycount.release.rehearsal.examples import Examples
from noisycount.release.sources.memory import MemorySource, Record

__all__ = ["MOST_UNITS", "made_up"]

MOST_UNITS = 2000
"""A rehearsal is to be quick, and shows its shape with so many."""

_MISSING = 0.04  # the share of cells that are empty, since real ones are too
_ROWS = (1, 1, 1, 2, 3)  # how many a person has, each as likely
_START = date(2020, 1, 1)
_DAYS, _AROUND = 2000, 60


def made_up(
    columns: Mapping[str, Kind], unit: str | None, examples: Examples, units: int
) -> MemorySource:
    """So many persons or rows; the same question always gets the same ones.

    Args:
        columns: The columns that the question reads.
        unit: The column that names the person; None: every row is one unit.
        examples: Values that the question names.
        units: How many there are.

    Example:
        >>> made_up({"age": Kind.INTEGER}, None, {"age": [65]}, 10).check().rows
        10
    """
    chance = Random(repr(sorted(columns.items(), key=str)) + repr(examples))  # noqa: S311 - no secret
    draws = {name: _draw(kind, examples.get(name, []), chance) for name, kind in columns.items()}
    records: list[Record] = []
    for person in range(units):
        for _ in range(1 if unit is None else chance.choice(_ROWS)):
            row = {
                name: draw() if chance.random() > _MISSING else None for name, draw in draws.items()
            }
            records.append(row if unit is None else {unit: person, **row})
    schema = dict(columns) if unit is None else {unit: Kind.INTEGER, **columns}
    return MemorySource(records, schema, unit)


def _or_missing(draw: Callable[[], object], chance: Random) -> object:
    return draw() if chance.random() > _MISSING else None


def _draw(kind: Kind, examples: list[object], chance: Random) -> Callable[[], object]:
    """What makes values of a kind, near those that a question names."""
    known = [value for value in dict.fromkeys(examples) if value is not None]
    if kind is Kind.BOOLEAN:
        return lambda: chance.random() < 0.5  # noqa: PLR2004 - one of two
    if kind.is_number:
        return _number(kind, [value for value in known if isinstance(value, int | float)], chance)
    if kind in {Kind.DATE, Kind.TIMESTAMP}:
        return _moment(kind, [value for value in known if isinstance(value, date)], chance)
    texts = [str(value) for value in known]
    choices = [*texts, *texts, "something else"] if texts else ["a", "b", "c"]
    return lambda: chance.choice(choices)


def _number(kind: Kind, known: list[int | float], chance: Random) -> Callable[[], object]:
    """Numbers on both sides of those that are known; where none are negative, none is made up."""
    least, most = min(known, default=0), max(known, default=100)
    around = max(1.0, (most - least) / 2, max(abs(least), abs(most)) / 2)
    low, high = least - around, most + around
    low = max(low, 0.0) if least > 0 else low
    if kind is Kind.INTEGER:
        bottom, top = max(int(low), -(2**62)), min(int(high), 2**62)
        return lambda: chance.randint(min(bottom, top), max(bottom, top))
    return lambda: chance.uniform(low, high)


def _moment(kind: Kind, known: list[date], chance: Random) -> Callable[[], object]:
    """Days, or times of days, from before the first that is known to after the last."""
    days = [value.date() if isinstance(value, datetime) else value for value in known]
    first, last = min(days, default=_START), max(days, default=_START + timedelta(_DAYS))
    low = max(date.min.toordinal(), first.toordinal() - _AROUND)
    high = min(date.max.toordinal(), last.toordinal() + _AROUND)

    def draw() -> object:
        day = date.fromordinal(chance.randint(low, high))
        return day if kind is Kind.DATE else datetime.combine(day, time(chance.randrange(24)))

    return draw
