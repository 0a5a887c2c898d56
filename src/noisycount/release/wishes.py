"""What somebody wants of a table, as it is written; what it means depends on the records."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from noisycount.frozen import frozen
from noisycount.ledger.price import TablePrice
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.key_sets import Keys, key_set
from noisycount.query.parts import parts_of
from noisycount.query.questions import ManyQuestions
from noisycount.query.reading import read
from noisycount.query.schema import Kind
from noisycount.query.table import TableQuestion, margins_of
from noisycount.release.asked import AskedCells, AskedKeys, AskedQuestions, AskedTable
from noisycount.validation import Exactly

__all__ = ["ManyWish", "TableWish", "Wish"]


@frozen(kw_only=True)
class Wish(ABC):
    """A price, and what is to be counted at it.

    Args:
        epsilon: The price in units of privacy loss.
        rho: The price under Gaussian noise.
        delta: For hidden keys, or with ε under Gaussian noise.
        noise: The class of the noise.
    """

    epsilon: Exactly | None = None
    rho: Exactly | None = None
    delta: Exactly | None = None
    noise: type[DiscreteNoise] = DiscreteLaplace

    @property
    @abstractmethod
    def questions(self) -> Sequence[str]:
        """All that it asks in the predicate language."""

    @abstractmethod
    def asked(
        self, schema: Mapping[str, Kind], unit: str | None, *, is_replacement: bool
    ) -> AskedTable:
        """What it means for records, with its noise.

        Args:
            schema: The columns that questions may use.
            unit: The column that names the person; None: every record is one unit.
            is_replacement: Whether neighbours differ by a replaced unit, as where the size is
                public.

        Raises:
            ValueError: A price is out of range.
            PredicateError: It cannot be asked of these records.
        """

    def _price(self, *, is_hidden: bool) -> TablePrice:
        return TablePrice.of(self.noise, self.epsilon, self.rho, self.delta, is_hidden=is_hidden)


@frozen(kw_only=True)
class ManyWish(Wish):
    """Several questions; see `Desk.release_many`."""

    wheres: Sequence[str]

    @property
    def questions(self) -> Sequence[str]:
        """Each of them."""
        return self.wheres

    def asked(
        self,
        schema: Mapping[str, Kind],
        unit: str | None,  # noqa: ARG002 - as of all tables
        *,
        is_replacement: bool,
    ) -> AskedTable:
        """The questions with their noise."""
        questions = ManyQuestions.read(self.wheres, schema)
        return AskedQuestions.of(
            questions, self._price(is_hidden=False), is_replacement=is_replacement
        )


@frozen(kw_only=True)
class TableWish(Wish):
    """A table by keys; see `Desk.release_table`."""

    by: str | Sequence[str]
    keys: Keys | None = None
    where: str | None = None
    margins: str | Sequence[str | Sequence[str]] = ()
    other: bool = False
    groups_per_unit: int | None = None
    cumulative: bool = False

    @property
    def questions(self) -> Sequence[str]:
        """What all groups share, if anything."""
        return [] if self.where is None else [self.where]

    def asked(
        self, schema: Mapping[str, Kind], unit: str | None, *, is_replacement: bool
    ) -> AskedTable:
        """The table with its noise."""
        parts = parts_of(self.by, schema, unit)
        needs_keys = self.keys is None and any(part.implied is None for part in parts)
        is_hidden = needs_keys and self.delta is not None
        question = TableQuestion(
            parts=parts,
            keys=None if is_hidden else key_set(parts, self.keys),
            where=None if self.where is None else read(self.where, schema).normal,
            margins=margins_of(self.margins, parts),
            has_other=self.other,
            most=self.groups_per_unit,
            is_cumulative=self.cumulative,
        )
        kind = AskedKeys if is_hidden else AskedCells
        return kind.of(
            question, self._price(is_hidden=is_hidden), unit, is_replacement=is_replacement
        )
