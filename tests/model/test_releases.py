from datetime import date
from fractions import Fraction

import pytest

import noisycount as nc
from noisycount.model.releases import census_2020, wikimedia

LEVELS = ["US", "State", "County", "Tract", "Block group", "Block"]
QUERIES = [
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
]


def scale(level: str, query: str) -> float:
    """The scale of a query."""
    noise = census_2020("pl94", level, query)
    assert isinstance(noise, nc.DiscreteGaussian)
    return float(noise.scale)


@pytest.mark.parametrize(
    ("query", "scales"),
    [
        ("total", [1.10, 2.17, 2.47, 1.75, 89.24]),
        ("detailed", [4.45, 4.42, 4.46, 2.02, 3.18]),
        ("votingage", [27.57, 38.34, 43.76, 41.77, 89.24]),
    ],
)
def test_the_scales_are_those_that_are_known(query: str, scales: list[float]) -> None:
    """From the states to the blocks, to the printed digits."""
    assert [round(scale(level, query), 2) for level in LEVELS[1:]] == scales


def test_all_queries_of_all_levels_cost_what_the_whole_file_costs() -> None:
    """Σ 1/σ² = (542/339)²: the shares of the levels add up to 1, and those of the queries too."""
    prices = [
        1 / scale(level, query) ** 2 for level in LEVELS for query in QUERIES if (level, query) != ("US", "total")
    ]
    assert sum(prices) == pytest.approx(float(Fraction(542, 339) ** 2), rel=1e-12)


def test_the_total_of_the_country_has_no_noise() -> None:
    """It is a public count."""
    assert census_2020("pl94", "US", "total") == nc.Exact()


@pytest.mark.parametrize(
    "written",
    [
        ("PL 94-171", "block_group", "cenrace*votingage * hispanic"),
        ("pl94", "Block Group", "votingage * hispanic * cenrace_dpq"),
    ],
)
def test_names_may_be_written_otherwise(written: tuple[str, str, str]) -> None:
    """Spaces, order, case and the ending of the file's names."""
    expected = scale("Block group", "votingage * hispanic * cenrace")
    noise = census_2020(*written)
    assert isinstance(noise, nc.DiscreteGaussian)
    assert float(noise.scale) == expected


@pytest.mark.parametrize(
    ("day", "scale", "threshold"),
    [
        ("2015-07-01", 300, 3500),
        (date(2017, 2, 8), 300, 3500),
        ("pre-2017", 300, 3500),
        (date(2017, 2, 9), 30, 450),
        ("2023-02-05", 30, 450),
        ("historical", 30, 450),
        ("2023-11-17", 30, 450),
    ],
)
def test_the_older_counts_have_geometric_noise(day: date | str, scale: int, threshold: int) -> None:
    """Up to 5 February 2023, and on the days that were made again."""
    published = wikimedia(day)
    assert (published.mechanism, published.threshold) == (nc.DiscreteLaplace(scale), threshold)
    assert published.suppressed == nc.below(threshold)


@pytest.mark.parametrize(
    ("tier", "scale", "threshold"), [("lower", 18.23, 90), ("medium", 90.05, 550), ("higher", 179.84, 1000)]
)
@pytest.mark.parametrize("day", ["current", "2024-02-15", date(2026, 5, 1)])
def test_the_current_counts_have_gaussian_noise_by_tier(
    day: date | str, tier: str, scale: float, threshold: int
) -> None:
    """σ² = 10/(2ρ)."""
    published = wikimedia(day, tier)
    assert isinstance(published.mechanism, nc.DiscreteGaussian)
    assert round(float(published.mechanism.scale), 2) == scale
    assert published.threshold == threshold


def test_a_page_that_is_not_in_the_file_was_viewed_less() -> None:
    """The count of a page below the threshold, among at most 10,000 views."""
    published = wikimedia("2024-06-01")
    told = nc.posterior(published.suppressed, nc.BetaBinomial(10_000, 1, 1), published.mechanism)
    assert told.interval(0.95) == (2, 104)


def test_the_releases_are_a_public_module() -> None:
    """Imported on first use, as every public name."""
    assert nc.releases.wikimedia is wikimedia
    assert nc.releases.census_2020("pl94", "US", "total") == nc.Exact()
    assert "releases" in dir(nc)
