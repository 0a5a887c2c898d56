"""Public assumptions about a count before its answer: a rate for all records, or one for each group.

`Rate` is what a user types, `Assumed` is the distribution of the count that follows from it. `read_groups` reads
the rates of groups from a file.
"""

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
from noisycount.query.close_names import close_names
from noisycount.validation import closed_probability

if TYPE_CHECKING:
    from noisycount.engines.duckdb.public import PublicTable


@frozen
class Rate:
    """Probability that a person or row is counted, with its uncertainty.

    Example:
        >>> str(Rate(0.017, 0.005)), Rate(0.017, 0.005).typed
        ('1.7 % ± 0.5 %', '1.7%±0.5%')
    """

    mean: float  # expected probability, in [0, 1]
    deviation: float = 0.0  # standard deviation of the probability; 0 if it is known exactly

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
        """The rate in the form that an option accepts."""
        return str(self).replace(" ", "")

    def population(self, size: int) -> Binomial | BetaBinomial:
        """Return the population of `size` records with this rate."""
        if not self.deviation:
            return Binomial(size, self.mean)
        return BetaBinomial.from_rate(size, self.mean, self.deviation)


@frozen
class Assumed:
    """Public knowledge about a count before its answer."""

    population: Population  # gives the distribution of the count
    rate: Rate | None  # rate of all records; None if each group has its own, or if no rate is known

    @classmethod
    def from_rate(cls, size: int, rate: Rate) -> "Assumed":
        """Return the assumption that each of `size` persons or rows is counted with the same rate."""
        return cls(rate.population(size), rate)

    @classmethod
    def from_size(cls, size: int) -> "Assumed":
        """Return the assumption that only the number of records is known, so that all counts are equally likely."""
        return cls(BetaBinomial(size, 1, 1), None)

    @property
    def is_flat(self) -> bool:
        """True if only the number of records is known."""
        return self.rate is None and self.groups is None

    @property
    def groups(self) -> int | None:
        """Number of groups with rates of their own, or None if one rate holds for all."""
        return len(self.population.sizes) if isinstance(self.population, Strata) else None

    @property
    def words(self) -> str:
        """The assumption in English, with the expected count and its standard deviation."""
        size, prior = signed(self.population.records), self.population.law()
        if self.is_flat:
            records = f"every count from 0 to {size} is equally likely, as no rate is given"
        elif self.groups is None:
            records = f"each of {size} counts with a chance of {self.rate}"
        else:
            records = f"{size} records, each with the rate of its group (of {signed(self.groups)})"
        deviation = signed(prior.variance**0.5, 1)
        return f"{records}: {signed(prior.mean, 1)} expected, standard deviation {deviation}"


RATES = "a rate between 0 and 1, such as 0.02 or 2%"  # valid contents of a cell, for error messages
_MAX_RECORDS = 10**9  # with several rates, the distribution of more records takes minutes and gigabytes


def read_groups(path: Path, size: int | None) -> Assumed:
    """Read groups of records from a CSV or Parquet file with the columns `size` and `rate`.

    Raises SourceError for an invalid file, and NoisyCountError if `size` is not the sum of the sizes in it.
    """
    from noisycount.engines.duckdb.public import PublicTable  # noqa: PLC0415 - loads DuckDB

    with PublicTable.open(path) as table:
        check_columns(table, ["size", "rate"])
        sizes, rates = table.numbers("size"), table.numbers("rate", has_shares=True)
        is_valid = (sizes >= 0) & (sizes == np.floor(sizes)) & (sizes <= _MAX_RECORDS)
        check_rows(table, "size", is_valid, f"a whole number from 0 to {_MAX_RECORDS:,}")
        check_rows(table, "rate", (rates >= 0) & (rates <= 1), RATES)
    total = int(sizes.sum())
    if not 0 < total <= _MAX_RECORDS:
        raise SourceError(f"the sizes in {str(path)!r} must add up to 1 to {_MAX_RECORDS:,} records, got {total:,}")
    if size is not None and size != total:
        raise NoisyCountError(
            f"--size {size} is not the {total} that the sizes in {str(path)!r} add up to: "
            "leave it out, or correct the file"
        )
    return Assumed(Strata(sizes, rates), None)


def check_columns(table: "PublicTable", names: Iterable[str]) -> None:
    """Raise SourceError if the table lacks one of the columns."""
    for name in names:
        if name not in table.columns:
            raise SourceError(
                f"{str(table.path)!r} has no column {name!r}, only "
                f"{close_names(name, table.columns)}: rename the one that holds it"
            )


def check_rows(table: "PublicTable", column: str, is_valid: NDArray[np.bool_], requirement: str) -> None:
    """Raise SourceError for the first row that is not valid. `requirement` states what the column must hold."""
    if not is_valid.all():
        raise table.refusal(column, int(np.argmin(is_valid)), requirement)
