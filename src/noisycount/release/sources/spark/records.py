"""The records of a question: each column of the one type of its kind, and the unit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from noisycount.release.question.schema import Kind
from noisycount.release.question.tree import Predicate
from noisycount.release.sources.expressions.predicates import predicate_expression
from noisycount.release.sources.spark.algebra import SparkAlgebra
from noisycount.release.sources.spark.api import Api, Columns, Frame
from noisycount.release.sources.spark.kinds import ColumnType, converted
from noisycount.release.sources.spark.relation import Look, column_name

__all__ = ["LOST", "UNIT", "Records", "records_of"]

UNIT = "u"
"""What frames call the unit of a record."""

LOST = "lost"
"""What frames call whether a record has no unit."""


@dataclass(frozen=True, slots=True)
class Records:
    """Records that can be counted.

    Attributes:
        api: What makes expressions.
        frame: The columns that questions may use, and the unit.
        algebra: Makes expressions of the frame.
        unit_kind: Of the unit; None: every record is one unit.
        uses_indexes: Whether records that do not match may be left out by a filter, which can be
            faster, and then takes a time that tells how many match.
    """

    api: Api
    frame: Frame
    algebra: SparkAlgebra
    unit_kind: Kind | None
    uses_indexes: bool

    @property
    def has_units(self) -> bool:
        """Whether a column names the person."""
        return self.unit_kind is not None

    def truth(self, predicate: Predicate) -> Columns:
        """Whether a record matches; unknown where that is."""
        return predicate_expression(predicate, self.algebra)

    def matches(self, predicate: Predicate | None) -> Columns:
        """1 of a record that matches, and 0 of others."""
        one, zero = (self.api.functions.lit(number) for number in (1, 0))
        if predicate is None:
            return one
        return self.api.functions.when(self.truth(predicate), one).otherwise(zero)

    def is_lost(self) -> Columns:
        """1 of a record without a unit, and 0 of others."""
        make = self.api.functions
        return make.when(make.col(UNIT).isNull(), make.lit(1)).otherwise(make.lit(0))

    def of_any(self, predicates: Sequence[Predicate]) -> Frame:
        """The records, or, where a filter may be used, those that one of some may match."""
        if not self.uses_indexes or not predicates:
            return self.frame
        wanted = self.algebra.any_of([self.truth(each) for each in predicates])
        if self.has_units:
            wanted |= self.api.functions.col(UNIT).isNull()
        return self.frame.where(wanted)


def records_of(
    api: Api, look: Look, kinds: Mapping[str, Kind], unit: str | None, *, uses_indexes: bool
) -> Records:
    """The records of a relation as it was looked at.

    Args:
        api: What makes expressions.
        look: The relation.
        kinds: Of the columns that questions may use.
        unit: The column that names the person, or None where every record is one unit.
        uses_indexes: As `Records` has it.
    """
    names = {name: column_name(place) for place, name in enumerate(look.types)}

    def value(name: str) -> Columns:
        return converted(api.functions.col(names[name]), look.types[name], api.functions)

    shown = [value(name).alias(names[name]) for name in kinds]
    if unit is not None:
        shown.append(value(unit).alias(UNIT))
    frame = look.frame.select(*(shown or [api.functions.lit(1)]))
    unit_kind = None if unit is None else _kind(look.types[unit])
    algebra = SparkAlgebra(api.functions, names)
    return Records(api, frame, algebra, unit_kind, uses_indexes)


def _kind(type_: ColumnType) -> Kind | None:
    return type_.kind
