from fractions import Fraction

import pytest

import noisycount as nc
from noisycount.model.releases import census_2020

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
        1 / scale(level, query) ** 2
        for level in LEVELS
        for query in QUERIES
        if (level, query) != ("US", "total")
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
    ("asked", "said"),
    [
        (("dhc", "State", "total"), r"^product must be one of 'pl94', got 'dhc'$"),
        (("pl94", "Village", "total"), r"^level must be one of 'US', .*'Block', got 'Village'$"),
        (("pl94", "State", "sex"), r"^query must be one of 'total', .*'detailed', got 'sex'$"),
    ],
)
def test_other_names_are_refused(asked: tuple[str, str, str], said: str) -> None:
    """In one line with those that there are."""
    with pytest.raises(ValueError, match=said):
        census_2020(*asked)
