"""What is assumed about a count before its answer: a public rate, or one for each group."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from noisycount.display.numbers import percent, signed
from noisycount.errors import NoisyCountError, SourceError
from noisycount.frozen import frozen
from noisycount.model.populations.binomial import BetaBinomial, Binomial
from noisycount.model.populations.population import Population
from noisycount.model.populations.strata import Strata
from noisycount.query.schema import close_names
from noisycount.validation import closed_probability

if TYPE_CHECKING:
    from noisycount.engines.duckdb.public import PublicTable


@frozen
class Rate:
    """The chance that a record counts, and how uncertain it is.

    Example:
        >>> str(Rate(0.017, 0.005)), Rate(0.017, 0.005).typed
        ('1.7 % ± 0.5 %', '1.7%±0.5%')
    """

    mean: float  # the chance, in [0, 1]
    deviation: float = 0.0  # its standard deviation; 0 where the chance is known

    def __post_init__(self) -> None:
        closed_probability(self.mean, "rate")
        if self.deviation and self.mean in {0, 1}:
            raise ValueError(f"a rate of {percent(self.mean)} is certain, got ±{self.deviation!r}: leave ± out")
        self.population(1)

    def __str__(self) -> str:
        if not self.deviation:
            return percent(self.mean)
        return f"{percent(self.mean)} ± {percent(self.deviation)}"

    @property
    def typed(self) -> str:
        """The rate as one types it for an option."""
        return str(self).replace(" ", "")

    def population(self, size: int) -> Binomial | BetaBinomial:
        """That many records of this rate."""
        if not self.deviation:
            return Binomial(size, self.mean)
        return BetaBinomial.from_rate(size, self.mean, self.deviation)


@frozen
class Assumed:
    """What is public before the answer."""

    population: Population  # the law of the count
    rate: Rate | None  # the one rate of all records; None where each group has its own, or none is known

    @classmethod
    def of_rate(cls, size: int, rate: Rate) -> "Assumed":
        """That many records of one rate."""
        return cls(rate.population(size), rate)

    @classmethod
    def of_size(cls, size: int) -> "Assumed":
        """That many records of which nothing else is known: every count is as likely."""
        return cls(BetaBinomial(size, 1, 1), None)

    @property
    def is_flat(self) -> bool:
        """Whether only the size is known."""
        return self.rate is None and self.groups is None

    @property
    def groups(self) -> int | None:
        """The number of groups with rates of their own; None for one rate."""
        return len(self.population.sizes) if isinstance(self.population, Strata) else None

    @property
    def words(self) -> str:
        """The assumption, with the count that it leads to expect."""
        size, prior = signed(self.population.records), self.population.law()
        if self.is_flat:
            records = f"of {size} records each count is as likely, as no rate is known"
        elif self.groups is None:
            records = f"each of {size} counts with a chance of {self.rate}"
        else:
            records = f"{size} records, each with the rate of its group (of {signed(self.groups)})"
        deviation = signed(prior.variance**0.5, 1)
        return f"{records}: {signed(prior.mean, 1)} expected, standard deviation {deviation}"


RATES = "a rate between 0 and 1, such as 0.02 or 2%"  # what a cell of rates must be
_MOST = 10**9  # the law of more records of several rates takes minutes and gigabytes


def assumed_of_file(path: Path, size: int | None) -> Assumed:
    """The groups of a CSV or Parquet file with the columns `size` and `rate`."""
    from noisycount.engines.duckdb.public import PublicTable  # noqa: PLC0415  (loads DuckDB)

    with PublicTable.open(path) as table:
        check_columns(table, ["size", "rate"])
        sizes, rates = table.numbers("size"), table.numbers("rate", has_shares=True)
        whole = (sizes >= 0) & (sizes == np.floor(sizes)) & (sizes <= _MOST)
        check_rows(table, "size", whole, f"a whole number from 0 to {_MOST:,}")
        check_rows(table, "rate", (rates >= 0) & (rates <= 1), RATES)
    total = int(sizes.sum())
    if not 0 < total <= _MOST:
        raise SourceError(f"the sizes in {str(path)!r} must add up to 1 to {_MOST:,} records, got {total:,}")
    if size is not None and size != total:
        raise NoisyCountError(
            f"--size {size} is not the {total} that the sizes in {str(path)!r} add up to: "
            "leave it out, or mend the file"
        )
    return Assumed(Strata(sizes, rates), None)


def check_columns(table: "PublicTable", names: Iterable[str]) -> None:
    """The refusal of a file without a column that nobody typed, as every such file has it."""
    for name in names:
        if name not in table.columns:
            raise SourceError(
                f"{str(table.path)!r} has no column {name!r}, only "
                f"{close_names(name, table.columns)}: rename the one that holds it"
            )


def check_rows(table: "PublicTable", column: str, fine: NDArray[np.bool_], meant: str) -> None:
    """The refusal of the first row that is not fine."""
    if not fine.all():
        raise table.refusal(column, int(np.argmin(fine)), meant)
