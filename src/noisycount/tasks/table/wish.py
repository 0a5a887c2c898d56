"""The price of a table: given, or that at which each row is near enough.

Keys in a public file: one row a cell, or the keys of one column.

What was typed of a table, as a desk takes it.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from noisycount.engines.duckdb.public import PublicTable
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.ledger.price import TablePrice
from noisycount.model.half_width import error_within
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.sampling.scales import as_written
from noisycount.query.grouping import MOST_CELLS, Part
from noisycount.query.key_sets import Keys
from noisycount.query.parts import parts_of
from noisycount.query.schema import Kind
from noisycount.release.asked import AskedTable
from noisycount.release.plan import TablePlan
from noisycount.release.wishes import ManyWish, TableWish, Wish
from noisycount.tasks.table.asked import Asked, Value, Word, values_of_part

__all__ = ["RowGoal", "Viewed", "wish_of"]


@frozen
class RowGoal:
    """How far off each row may be.

    Attributes:
        within: The half-width as a share of the guess.
        guess: A public guess of the count of a row, in units.
        confidence: The probability with which one row lies so near.
    """

    within: float
    guess: float
    confidence: float

    @property
    def width(self) -> int:
        """The half-width in whole units."""
        return math.floor(as_written(self.within, "within") * as_written(self.guess, "guess"))

    def price(self, plan: TablePlan) -> Fraction:
        """The smallest price in two digits at which every row of a plan lies so near.

        Args:
            plan: The table at any price, whose noise is of the same class.

        Raises:
            NoisyCountError: No ledger keeps such a price.
        """
        prices = list(_readable())
        place = bisect_left(prices, True, key=lambda price: self._is_kept(plan, price))  # noqa: FBT003
        if place == len(prices):
            raise NoisyCountError(
                f"--within {self.within:g} of --guess {self.guess:g} for each row needs a price "
                "above 1e6: choose another goal"
            )
        return prices[place]

    def _is_kept(self, plan: TablePlan, price: Fraction) -> bool:
        """Whether a price keeps every row within the half-width."""
        paid = TablePayment(price).table_price(plan.price.noise)
        return all(
            error_within(paid.mechanism(level.sensitivity, level.share), self.confidence)
            <= self.width
            for level in plan.levels
        )


@frozen
class TablePayment:
    """A price in ε of Laplace noise, or in ρ of Gaussian noise."""

    amount: Fraction

    def table_price(self, noise: type[DiscreteNoise]) -> TablePrice:
        """The price of a table with listed keys."""
        is_laplace = noise is DiscreteLaplace
        epsilon, rho = (self.amount, None) if is_laplace else (None, self.amount)
        return TablePrice.of(noise, epsilon, rho, None, is_hidden=False)


def noise_of(*, is_gaussian: bool) -> type[DiscreteNoise]:
    """The class of noise that was chosen."""
    return DiscreteGaussian if is_gaussian else DiscreteLaplace


def _readable() -> Iterator[Fraction]:
    """Every price of two digits that a ledger keeps, rising."""
    for exponent in range(-10, 5):
        for digits in range(10, 100):
            price = Fraction(Decimal(digits).scaleb(exponent))
            if Fraction(1, 10**9) <= price <= 10**6:
                yield price
    yield Fraction(10**6)


def keys_of_file(
    path: Path, parts: Sequence[Part]
) -> Mapping[str, list[Value]] | list[tuple[Value, ...]]:
    """The keys of one column by its name, or those of each cell in the order of the parts.

    Args:
        path: A CSV or Parquet file with the columns of the table, or one of them; others are
            left out.
        parts: What the table is grouped by.

    Raises:
        NoisyCountError: It cannot be read, has none of the columns, or has too many rows.
    """
    with PublicTable.open(path) as table:
        named = {
            place: part
            for place, name in enumerate(table.columns)
            for part in parts
            if name in {part.column.name, part.text}
        }
        if len(set(named.values())) != len(named) or len(named) not in {1, len(parts)}:
            raise _other_columns(path, parts, table.columns)
        if table.length > MOST_CELLS:
            raise NoisyCountError(
                f"--keys-from {str(path)!r} has {table.length:,} rows, more than {MOST_CELLS:,}: "
                "list fewer keys"
            )
        rows = table.texts()
    keys = {part: _values(part, [row[place] for row in rows]) for place, part in named.items()}
    if len(keys) < len(parts):
        return {part.column.name: values for part, values in keys.items()}
    return list(zip(*(keys[part] for part in parts), strict=True))


def _values(part: Part, cells: Sequence[str | None]) -> list[Value]:
    """The keys that the cells of one column stand for."""
    different = list(dict.fromkeys(cells))
    values = values_of_part(part, [Word(cell, is_quoted=True) for cell in different])
    known = dict(zip(different, values, strict=True))
    return [known[cell] for cell in cells]


def _other_columns(path: Path, parts: Sequence[Part], columns: Sequence[str]) -> NoisyCountError:
    names = ", ".join(part.column.name for part in parts)
    one = "" if len(parts) == 1 else ", or one of them"
    return NoisyCountError(
        f"--keys-from {str(path)!r} has the columns {', '.join(columns)}: it must have those of "
        f"--by, {names}{one}"
    )


@frozen
class Viewed:
    """What is public of the records of a table.

    Attributes:
        columns: What questions may use.
        unit: The column that names the person; None: every record is one unit.
        is_replacement: Whether neighbours differ by a replaced unit.
        for_keys: The part of the budget's δ that hidden keys may use.
    """

    columns: Mapping[str, Kind]
    unit: str | None
    is_replacement: bool
    for_keys: Fraction = Fraction(0)

    def understood(self, wish: Wish) -> AskedTable:
        """What a wish means for these records, with its noise.

        Raises:
            ValueError: A price is out of range.
            NoisyCountError: It cannot be asked of them.
        """
        return wish.asked(self.columns, self.unit, is_replacement=self.is_replacement)

    @property
    def of_many(self) -> str:
        """What is typed in place of keys, where the budget pays for it: at a tenth of its δ."""
        groups = "" if self.unit is None else " --groups-per-unit 1"
        return f"--delta {float(self.for_keys / 10):.1g}{groups}"


def wish_of(asked: Asked, view: Viewed, epsilon: Fraction | None, goal: RowGoal | None) -> Wish:
    """The wish that was typed, at its price.

    Args:
        asked: What was typed.
        view: What is public of the records.
        epsilon: The price in ε; None: it is in ρ, or follows from the goal.
        goal: How far off each row may be; None: a price is given.

    Raises:
        NoisyCountError: A file cannot be read, a key is of another kind, or the goal has no price.
    """
    wish = _unpriced(asked, view)
    noise = noise_of(is_gaussian=asked.is_gaussian)
    if goal is None:
        return replace(wish, epsilon=epsilon, rho=asked.rho, delta=asked.delta, noise=noise)
    wish = _priced(replace(wish, delta=asked.delta, noise=noise), Fraction(1))
    return _priced(wish, goal.price(view.understood(wish).plan))


def _priced(wish: ManyWish | TableWish, price: Fraction) -> ManyWish | TableWish:
    """The wish at a price in the currency of its noise."""
    if wish.noise is DiscreteGaussian:
        return replace(wish, rho=price)
    return replace(wish, epsilon=price)


def _unpriced(asked: Asked, view: Viewed) -> ManyWish | TableWish:
    """What is to be counted."""
    if not asked.by:
        return ManyWish(wheres=[*asked.wheres, *_questions(asked.questions)])
    by = [item.text for item in asked.by]
    parts = parts_of(by, view.columns, view.unit)
    _check_groups(asked, view, parts)
    return TableWish(
        by=by,
        keys=_keys(asked, parts),
        where=asked.where,
        margins="all" if list(asked.margins) == ["all"] else asked.margins,
        other=asked.other,
        groups_per_unit=asked.groups_per_unit,
        cumulative=asked.cumulative,
    )


def _check_groups(asked: Asked, view: Viewed, parts: Sequence[Part]) -> None:
    """The refusal of keys that nobody lists, or of which nobody knows how many a person has.

    Raises:
        NoisyCountError: Keys may stay hidden, but nobody said so; or not how many count.
    """
    unknown = next((part for part in parts if part.implied is None), None)
    if unknown is not None and view.for_keys and asked.may_hide_keys:
        raise NoisyCountError(
            f"keys of {unknown.text} are missing: list them, --keys {unknown.column.name}=a,b,c, "
            f"or show only the keys of many, {view.of_many}"
        )
    is_hidden = asked.has_hidden_keys and unknown is not None
    if is_hidden and view.unit is not None and asked.groups_per_unit is None:
        raise NoisyCountError(
            "--groups-per-unit is missing: nobody knows in how many hidden groups a person is, so "
            "say in how many one counts, such as 1"
        )


def _questions(path: Path | None) -> list[str]:
    """The lines of a file, but for empty ones and remarks.

    Raises:
        NoisyCountError: It cannot be read.
    """
    if path is None:
        return []
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not in UTF-8"
        raise NoisyCountError(f"--questions {str(path)!r} cannot be read ({reason})") from None
    return [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]


def _keys(asked: Asked, parts: tuple[Part, ...]) -> Keys | None:
    """The keys that are listed; None where there are none."""
    known = {part.column.name.lower(): part for part in parts}
    listed = {
        known[name.lower()].column.name: values_of_part(known[name.lower()], words)
        for name, words in asked.keys.items()
    }
    if asked.keys_from is None:
        return listed or None
    found = keys_of_file(asked.keys_from, parts)
    if not listed:
        return found
    if not isinstance(found, Mapping) or set(found) & set(listed):
        raise NoisyCountError(
            f"--keys-from {str(asked.keys_from)!r} lists keys that --keys lists too: leave one out"
        )
    return {**listed, **found}
