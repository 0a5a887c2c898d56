"""What a reader sees of the keys of a table."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Self, TypeAlias

from noisycount.model.tables.levels import Level
from noisycount.model.tables.ranges import range_bounds
from noisycount.release.question.keys import KeySet
from noisycount.shown.label import ALL_KEYS, OTHER_KEYS, label_text

__all__ = ["Label", "TableLabels"]

Label: TypeAlias = int | str | bool | None


@dataclass(frozen=True, slots=True)
class TableLabels:
    """What a reader sees of the keys of a table.

    Attributes:
        names: What the table is grouped by.
        values: The labels of the keys of each part.
    """

    names: tuple[str, ...]
    values: tuple[tuple[Label, ...], ...]

    @classmethod
    def of_keys(cls, keys: KeySet) -> Self:
        """The labels of the keys of a table."""
        return cls(
            tuple(part.column.name for part in keys.parts),
            tuple(
                tuple(part.label(key) for key in values)
                for part, values in zip(keys.parts, keys.values, strict=True)
            ),
        )

    def of(self, level: Level) -> Iterator[tuple[Label, ...]]:
        """The labels of each node; None where a part is summed over, and for missing values."""
        if level.codes is None:
            (values,) = self.values
            for first, last in range_bounds(level).tolist():
                yield (f"{values[first]} … {values[last]}",)
            return
        for codes in level.codes.tolist():
            yield tuple(
                None if code < 0 else values[code]
                for values, code in zip(self.values, codes, strict=True)
            )
        for _ in range(level.size - len(level.codes)):
            yield (None,) * len(self.names)

    def texts(self, level: Level, node: int) -> tuple[str, ...]:
        """What people read for the keys of one node: "all" where a part is summed over."""
        if level.codes is None:
            return tuple(map(str, next(islice(self.of(level), node, None))))
        if node >= len(level.codes):
            return (OTHER_KEYS,) * len(self.names)
        return tuple(
            ALL_KEYS if code < 0 else label_text(values[code])
            for values, code in zip(self.values, level.codes[node].tolist(), strict=True)
        )
