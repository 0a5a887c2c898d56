"""The populations that have public names."""

from noisycount.model.populations.binomial import BetaBinomial, Binomial
from noisycount.model.populations.known import Known
from noisycount.model.populations.population import Population
from noisycount.model.populations.strata import Strata
from noisycount.model.populations.tabulated import Tabulated

__all__ = ["POPULATIONS"]

POPULATIONS: tuple[type[Population], ...] = (BetaBinomial, Binomial, Known, Strata, Tabulated)
"""What public names and the tests of every population are made from."""
