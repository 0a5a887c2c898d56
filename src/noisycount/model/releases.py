"""Noise of published data sets: the 2020 census of the United States, and page views of Wikimedia.

Pass the mechanism and the published number to the posteriors of `noisycount.analysis`.
"""

import math
import re
from datetime import date
from fractions import Fraction

from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.model.exact import Below, Exact, below
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace

__all__ = ["PageViews", "census_2020", "wikimedia"]

_GLOBAL_SCALE = Fraction(339, 542)

_LEVELS = {"US": 104, "State": 1440, "County": 447, "Tract": 687, "Block group": 1256, "Block": 165}

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
    """Return the noise of one cell of a query in the 2020 Census Redistricting Noisy Measurement File.

    σ² = (339/542)² / (share of the level · share of the query): every cell of every query at every level has discrete
    Gaussian noise of its own, and all of them together cost ρ = (542/339)² when one person is replaced. Persons of the
    United States without Puerto Rico.

    The total of the United States has no noise. For the total of a state this function returns the noise of its
    measurement, but the published tables contain the count itself (`Exact()`).

    Block groups are those of the optimised geographic spine of the measurements, which are not the published ones.
    Puerto Rico, housing units and the Demographic and Housing file have other shares, and are not here.

    Args:
        product: "pl94", the redistricting file (P.L. 94-171).
        level: "US", "State", "County", "Tract", "Block group" or "Block".
        query: Such as "total", "votingage * hispanic" or "detailed" (2,016 cells), whatever the order of its parts; the
            ending "_dpq" of the file's names may stay.

    Returns:
        The noise. Its scale is the double nearest to σ, 2e-16 of it off at most.

    Raises:
        ValueError: If there is no such product, level or query.

    Source: the Census Bureau's production code, on GitHub as uscensusbureau/DAS_2020_Redistricting_Production_Code:
    `source/configs/production/pl94/person_US.ini` has the shares of the levels and names the strategy; its class
    `ProductionCandidate20210527US_mult8_add02_dsepJune3` in `source/programs/strategies/strategies.py` has those of the
    queries; `person_default.ini` has the global scale.

    Example:
        >>> import noisycount as nc
        >>> round(float(nc.releases.census_2020("pl94", "County", "total").scale), 2)
        2.17
        >>> noise = nc.releases.census_2020("pl94", "block", "hispanic * votingage")
        >>> round(float(noise.scale), 2)
        89.24
    """
    _canonical_name(product, {"pl94": "pl94", "pl94171": "pl94"}, "product")
    at = _canonical_name(level, {_letters_and_digits(name): name for name in _LEVELS}, "level")
    asked = _canonical_name(query, {_sorted_parts(name): name for name in _QUERIES}, "query")
    whole, shares = _SHARES[at]
    share = Fraction(shares[_QUERIES.index(asked)], whole)
    if not share:
        return Exact()
    return DiscreteGaussian(math.sqrt(_GLOBAL_SCALE**2 / (Fraction(_LEVELS[at], _OF_LEVELS) * share)))


def _canonical_name(name: str, known: dict[str, str], argument: str) -> str:
    """Return the canonical name for an argument; raise ValueError if it is unknown."""
    found = known.get(_sorted_parts(name)) or known.get(_letters_and_digits(name))
    if found is None:
        names = ", ".join(repr(each) for each in dict.fromkeys(known.values()))
        raise ValueError(f"{argument} must be one of {names}, got {name!r}")
    return found


def _letters_and_digits(name: str) -> str:
    """Return the letters and digits of a name in lower case."""
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


def _sorted_parts(name: str) -> str:
    """Return the parts of a query in alphabetical order."""
    return "*".join(sorted(_letters_and_digits(part) for part in str(name).removesuffix("_dpq").split("*")))


_FIRST = date(2015, 7, 1)
_HISTORICAL = date(2017, 2, 9)
_CURRENT = date(2023, 2, 6)
_TIERS = date(2024, 2, 15)  # from which on countries of medium and higher risk are published
_LAST_GAP = date(2023, 9, 19)  # of the days on which rows of the United States were lost

_REPAIRED = frozenset({date(2023, 6, 19), date(2023, 10, 25)} | {date(2023, 11, day) for day in (13, 17, 19, 23, 27)})

_VIEWS = 10  # that a device adds to a day: one to each of ten pages

_PRICES = {  # ρ and the threshold of each tier of countries
    "lower": (Fraction("0.01505"), 90),
    "medium": (Fraction("0.0006166"), 550),
    "higher": (Fraction("0.0001546"), 1000),
}


@frozen
class PageViews(Shown):
    """Noise and publication threshold of counts of page views."""

    mechanism: Mechanism  # the noise of each count
    threshold: int  # in views: rows with a noisy count of at least this are published

    @property
    def suppressed(self) -> Below:
        """The answer for a page that is not in the file: its noisy count was below the threshold."""
        return below(self.threshold)


_ERAS = {"pre-2017": PageViews(DiscreteLaplace(300), 3500), "historical": PageViews(DiscreteLaplace(30), 450)}


def wikimedia(day: date | str, tier: str = "lower", country: str | None = None) -> PageViews:
    """Return the noise and the threshold of Wikimedia's differentially private page views.

    | era | days | noise | threshold |
    | --- | --- | --- | --- |
    | pre-2017 | 1 July 2015 to 8 February 2017 | geometric (discrete Laplace), scale 300 | 3,500 |
    | historical | 9 February 2017 to 5 February 2023 | geometric, scale 30 | 450 |
    | current | from 6 February 2023 | discrete Gaussian, σ² = 10/(2ρ), by tier | by tier |

    The tiers of the Country and Territory Protection List: lower risk ρ = 0.01505 (σ 18.23), threshold 90; medium
    0.0006166 (90.05), 550; higher 0.0001546 (179.84), 1,000; the latter two are published from 15 February 2024 on.

    The files depart from their description in places. It says that rows above the threshold are published; those at the
    threshold are too. Seven days of 2023 were made again with the historical noise. So were most, not all, days of the
    United States from 6 February to 19 September 2023: for those ask with an era, "historical" if the smallest count of
    the United States in the file is 450 or more, else "current". The threshold of a page says nothing of pages that
    were not counted: only those with more than 150 views in the world that day were.

    Args:
        day: A date, its ISO text, or the name of an era.
        tier: "lower", "medium" or "higher": that of the country on that day.
        country: The code of the country; only "US" matters, see above.

    Raises:
        ValueError: If no file covers the day, there is no such era or tier, no country of that tier was published, or
            the day alone does not determine the noise.

    Source: Adeleye et al., *Publishing Wikipedia usage data with strong privacy guarantees*, arXiv:2308.16298, and the
    READMEs of the three data sets on analytics.wikimedia.org for eras, Laplace scales, thresholds, ρ = 0.015 of lower
    risk and the repaired days. Second hand, from a reader of the files (github.com/sbaldasty/noisyvalue), are the other
    digits of ρ, the tiers, the inclusive threshold and the days of the United States; they were not verified on the
    files here.

    Example:
        >>> import noisycount as nc
        >>> nc.releases.wikimedia("2016-05-01")
        PageViews(mechanism=DiscreteLaplace(scale=Fraction(300, 1)), threshold=3500)
        >>> published = nc.releases.wikimedia("2024-06-01", tier="medium")
        >>> round(float(published.mechanism.scale), 2), published.suppressed
        (90.05, Below(threshold=550.0))
    """
    era = str(day) if day in {*_ERAS, "current"} else _noise_era(_as_date(day), country)
    if tier not in _PRICES:
        names = ", ".join(map(repr, _PRICES))
        raise ValueError(f"tier must be one of {names}, got {tier!r}")
    if tier != "lower" and (era != "current" or (day != "current" and _as_date(day) < _TIERS)):
        raise ValueError(f"tier must be 'lower' before {_TIERS}, as no others were published, got {tier!r}")
    if era in _ERAS:
        return _ERAS[era]
    price, threshold = _PRICES[tier]
    return PageViews(DiscreteGaussian(math.sqrt(_VIEWS / (2 * price))), threshold)


def _as_date(day: date | str) -> date:
    """Return the day as a date."""
    try:
        return date.fromisoformat(str(day)[:10])
    except ValueError:
        names = ", ".join(map(repr, (*_ERAS, "current")))
        raise ValueError(f"day must be a date such as 2024-06-01 or {names}, got {day!r}") from None


def _noise_era(day: date, country: str | None) -> str:
    """Return the era whose noise the rows of a day have; raise ValueError if no era is certain."""
    if day < _FIRST:
        raise ValueError(f"day must be {_FIRST} or later, got {day}: no file covers it")
    if day < _HISTORICAL:
        return "pre-2017"
    if day < _CURRENT or day in _REPAIRED:
        return "historical"
    if country == "US" and day <= _LAST_GAP:
        raise ValueError(
            f"day must be 'historical' if the smallest count of the US is 450 or more, and "
            f"'current' otherwise, got {day}: most rows of the US were made again until {_LAST_GAP}"
        )
    return "current"
