from datetime import date

import pytest

import noisycount as nc
from noisycount.model.releases import wikimedia


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
    ("tier", "scale", "threshold"),
    [("lower", 18.23, 90), ("medium", 90.05, 550), ("higher", 179.84, 1000)],
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


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("2015-06-30",), r"^day must be 2015-07-01 or later, got 2015-06-30: no file covers it$"),
        (
            ("yesterday",),
            r"^day must be a date such as 2024-06-01 or 'pre-2017', .* got 'yesterday'",
        ),
        (("2024-06-01", "none"), r"^tier must be one of 'lower', 'medium', 'higher', got 'none'$"),
        (("2023-12-01", "medium"), r"^tier must be 'lower' before 2024-02-15"),
        (("historical", "higher"), r"^tier must be 'lower' before 2024-02-15"),
        (("2023-03-01", "lower", "US"), r"^day must be 'historical' where the smallest count"),
    ],
)
def test_what_no_file_tells_is_refused(asked: tuple[str, ...], said: str) -> None:
    """In one line."""
    with pytest.raises(ValueError, match=said):
        wikimedia(*asked)


def test_the_releases_are_a_public_module() -> None:
    """Imported on first use, as every public name."""
    assert nc.releases.wikimedia is wikimedia
    assert nc.releases.census_2020("pl94", "US", "total") == nc.Exact()
    assert "releases" in dir(nc)
