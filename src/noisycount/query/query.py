"""A question as it is asked, whoever asks it: what is counted, and at what price."""

from collections.abc import Sequence
from fractions import Fraction

from noisycount.frozen import frozen
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.key_sets import Keys
from noisycount.validation import Exactly

__all__ = ["Item", "Query"]


@frozen
class Item:
    """One of the things that a table is grouped by."""

    column: str  # the name of the column
    grouping: str = ""  # edges such as `0,18,65`, or `month`, `quarter`, `year`; empty: each value

    @property
    def text(self) -> str:
        """The item as one types it."""
        return f"{self.column}:{self.grouping}" if self.grouping else self.column


@frozen(kw_only=True)
class Query:
    """One count, several counts or a table by keys, and its price or how near it should be.

    Attributes:
        wheres: Questions in the predicate language; of a table by keys one at most, for all cells.
        by: What a table is grouped by, as for `Desk.release_table`, like the five that follow;
            None: it is no table by keys.
        noise: The class of the noise; None: that of the currency of the price.
        within: In place of a price: how near an answer should be, as a share of the guess,
        guess: A public guess of the count, for `within`; never the true count.
        confidence: With which one lies so near, and with which errors are stated, in (0, 1).
    """

    wheres: Sequence[str] = ()
    is_list: bool = False  # whether there is a row for each question, even for one alone
    by: str | Sequence[str | Item] | None = None
    keys: Keys | None = None
    margins: str | Sequence[str | Sequence[str]] = ()
    other: bool = False
    groups_per_unit: int | None = None
    cumulative: bool = False
    noise: type[DiscreteNoise] | None = None
    epsilon: Exactly | None = None  # the price in units of privacy loss
    rho: Exactly | None = None  # the price under Gaussian noise
    delta: Exactly | None = None  # for hidden keys, or with ε under Gaussian noise
    within: str | float | Fraction | None = None
    error: float | Fraction | None = None  # or in units
    guess: float | Fraction | None = None
    confidence: float = 0.95

    @property
    def is_table(self) -> bool:
        """Whether it is more than one count."""
        return self.is_list or self.by is not None

    @property
    def noise_class(self) -> type[DiscreteNoise]:
        """The noise that was chosen, or that of a price in ρ or in ε."""
        return self.noise or (DiscreteLaplace if self.rho is None else DiscreteGaussian)

    @property
    def has_one_price(self) -> bool:
        """Whether either a price is given, or a half-width with its guess."""
        is_priced = self.epsilon is not None or self.rho is not None
        is_near = self.within is not None and self.guess is not None
        is_neither = self.within is None and self.guess is None
        return is_neither if is_priced else is_near
