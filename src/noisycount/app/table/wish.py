"""What was typed of a table, as a desk takes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from noisycount.app.table.asked import Asked
from noisycount.app.table.keys import values_of_part
from noisycount.app.table.keys_file import keys_of_file
from noisycount.app.table.pricing import RowGoal, noise_of
from noisycount.errors import NoisyCountError
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.release.question.grouping import Part
from noisycount.release.question.schema import Kind
from noisycount.release.tables.asked.table import AskedTable
from noisycount.release.tables.key_sets import Keys
from noisycount.release.tables.parts import parts_of
from noisycount.release.tables.wishes import ManyWish, TableWish, Wish

__all__ = ["Viewed", "wish_of"]


@dataclass(frozen=True, slots=True)
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
