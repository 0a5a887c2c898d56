"""The noise of the redistricting file of the 2020 census of the United States."""

import math
import re
from fractions import Fraction

from noisycount.model.exact import Exact
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian

__all__ = ["census_2020"]

_GLOBAL_SCALE = Fraction(339, 542)
_LEVELS = {
    "US": 104,
    "State": 1440,
    "County": 447,
    "Tract": 687,
    "Block group": 1256,
    "Block": 165,
}
_OF_LEVELS = 4099
_QUERIES = (
    "total",
    "cenrace",
    "hispanic",
    "votingage",
    "hhinstlevels",
    "hhgq",
    "hispanic * cenrace",
    "votingage * cenrace",
    "votingage * hispanic",
    "votingage * hispanic * cenrace",
    "detailed",
)
_SHARES: dict[str, tuple[int, tuple[int, ...]]] = {  # a denominator, and a numerator a query
    "US": (4097, (0, 52, 26, 26, 26, 26, 130, 130, 26, 442, 3213)),
    "State": (4097, (3773, 6, 6, 6, 6, 6, 12, 12, 6, 34, 230)),
    "County": (4097, (3126, 10, 10, 10, 10, 10, 28, 28, 10, 101, 754)),
    "Tract": (4102, (1567, 8, 5, 5, 5, 5, 1933, 20, 5, 67, 482)),
    "Block group": (4099, (1705, 3, 3, 3, 3, 3, 1055, 9, 3, 24, 1288)),
    "Block": (4097, (5, 9, 5, 5, 5, 5, 21, 21, 5, 71, 3945)),
}


def census_2020(product: str, level: str, query: str) -> DiscreteGaussian | Exact:
    """The noise of one cell of a query in the 2020 Census Redistricting Noisy Measurement File.

    σ² = (339/542)² / (share of the level · share of the query): every cell of every query at every
    level has discrete Gaussian noise of its own, and all of them together cost ρ = (542/339)² when
    one person is replaced. Persons of the United States without Puerto Rico.

    The total of the United States has no noise. That of a state has: the answer here is the noise
    of its measurement, beside which the published tables have the count itself (`Exact()`).

    Block groups are those of the optimised geographic spine of the measurements, which are not the
    published ones. Puerto Rico, housing units and the Demographic and Housing file have other
    shares, and are not here.

    Args:
        product: "pl94", the redistricting file (P.L. 94-171).
        level: "US", "State", "County", "Tract", "Block group" or "Block".
        query: Such as "total", "votingage * hispanic" or "detailed" (2,016 cells), whatever the
            order of its parts; the ending "_dpq" of the file's names may stay.

    Returns:
        The noise. Its scale is the double nearest to σ, 2e-16 of it off at most.

    Raises:
        ValueError: If there is no such product, level or query.

    Source: the Census Bureau's production code, on GitHub as
    uscensusbureau/DAS_2020_Redistricting_Production_Code:
    `source/configs/production/pl94/person_US.ini` has the shares of the levels and names the
    strategy; its class `ProductionCandidate20210527US_mult8_add02_dsepJune3` in
    `source/programs/strategies/strategies.py` has those of the queries; `person_default.ini` has
    the global scale.

    Example:
        >>> import noisycount as nc
        >>> round(float(nc.releases.census_2020("pl94", "County", "total").scale), 2)
        2.17
        >>> noise = nc.releases.census_2020("pl94", "block", "hispanic * votingage")
        >>> round(float(noise.scale), 2)
        89.24
    """
    _named(product, {"pl94": "pl94", "pl94171": "pl94"}, "product")
    at = _named(level, {_plain(name): name for name in _LEVELS}, "level")
    asked = _named(query, {_parts(name): name for name in _QUERIES}, "query")
    whole, shares = _SHARES[at]
    share = Fraction(shares[_QUERIES.index(asked)], whole)
    if not share:
        return Exact()
    return DiscreteGaussian(
        math.sqrt(_GLOBAL_SCALE**2 / (Fraction(_LEVELS[at], _OF_LEVELS) * share))
    )


def _named(name: str, known: dict[str, str], argument: str) -> str:
    """The name that is meant.

    Raises:
        ValueError: If none is.
    """
    found = known.get(_parts(name)) or known.get(_plain(name))
    if found is None:
        names = ", ".join(repr(each) for each in dict.fromkeys(known.values()))
        raise ValueError(f"{argument} must be one of {names}, got {name!r}")
    return found


def _plain(name: str) -> str:
    """Its letters and digits."""
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


def _parts(name: str) -> str:
    """The parts of a query in the order of the alphabet."""
    return "*".join(sorted(_plain(part) for part in str(name).removesuffix("_dpq").split("*")))
