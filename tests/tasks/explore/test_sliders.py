from fractions import Fraction
from urllib.parse import parse_qsl

import pytest
from hypothesis import given

import noisycount as nc
from noisycount.tasks.explore.sliders import NAMES, QUANTITIES, Sliders
from tests.helpers.cases import examples
from tests.helpers.random_sliders import sliders


@examples(300)
@given(sliders())
def test_address_says_all(placed: Sliders) -> None:
    """A written address is read back, and is written the same again."""
    again = Sliders.from_query(dict(parse_qsl(placed.query)))
    assert again == placed
    assert again.query == placed.query
    assert tuple(name for name, _ in parse_qsl(placed.query)) == NAMES


@examples(300)
@given(sliders())
def test_every_place_makes_sense(placed: Sliders) -> None:
    """At least one record is drawn, and at least one is unknown to whoever knows a share."""
    assert 1 <= placed.sample_size <= placed.size
    assert 0 <= placed.known_records < placed.size
    assert placed.is_sampled == (placed.sample_size < placed.size)
    assert placed.scenario.mechanism == (
        nc.Subsample(placed.sample_size, placed.added_noise) if placed.is_sampled else placed.added_noise
    )


def test_different_spellings_are_one_address() -> None:
    """A number has one way to be written, however it was typed."""
    spelled = [
        {"scale": "20/3", "rate": "0.10"},
        {"scale": "40/6", "rate": "1e-1", "size": "1000"},
        {"epsilon": "0.15", "rate": "1/10", "deviations": " 1.0 "},
    ]
    assert len({Sliders.from_query(given).query for given in spelled}) == 1


def test_epsilon_stands_for_a_scale() -> None:
    """ε of Laplace noise is 1/scale, exactly; Gaussian noise has none."""
    assert Sliders.from_query({"epsilon": "0.15"}).added_noise == nc.DiscreteLaplace(Fraction(20, 3))
    assert Sliders.from_query({"epsilon": "0.15"}).epsilon == Fraction(3, 20)
    assert Sliders.from_query({"noise": "gaussian"}).epsilon is None


def test_answer_is_so_many_deviations_away() -> None:
    """The answer is the expected count, and standard deviations of all possible answers."""
    placed = Sliders(deviations=Fraction(2))
    spread = (nc.Binomial(1000, 0.1).law().variance + nc.DiscreteLaplace(10).variance) ** 0.5
    assert placed.answer == round(100 + 2 * spread)
    assert Sliders(deviations=Fraction(0)).answer == 100


@pytest.mark.parametrize("name", QUANTITIES)
def test_ends_are_inside(name: str) -> None:
    """Both ends of a range and all stops are taken, and what is just beyond is not."""
    quantity = QUANTITIES[name]
    assert all(quantity.require_in_range(stop) == stop for stop in quantity.stops)
    assert list(quantity.stops) == sorted(set(quantity.stops))
    assert quantity.start in quantity.stops
    for end, step in ((quantity.low, -1), (quantity.high, 1)):
        assert quantity.require_in_range(end) == end
        with pytest.raises(nc.NoisyCountError, match=f"^{name} must be a .*: choose one"):
            quantity.require_in_range(end + Fraction(step, 10**9))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"size": "1"}, "size must be a whole number from 2 to 1,000,000, got 1: choose one in"),
        ({"size": "2.5"}, "size must be a whole number from 2 to 1,000,000, got 2.5: choose one in"),
        ({"size": "10000000"}, "size must be a whole number .* got 10000000: choose one in"),
        ({"rate": "1"}, "rate must be a number from 0.0001 to 0.9999, got 1: choose one in"),
        ({"rate": "a tenth"}, "rate must be a number .* got 'a tenth': choose one in"),
        ({"rate": "1" * 50}, "rate must be a number .* got '1{20}...': choose one in"),
        ({"rate": "nan"}, "rate must be a number .* got 'nan': choose one in"),
        ({"scale": "1/0"}, "scale must be a number .* got '1/0': choose one in"),
        ({"scale": "-3"}, "scale must be a number .* got -3: choose one in"),
        ({"deviations": "-5"}, "deviations must be a number from −4 to 4, got -5: choose one in"),
        ({"noise": "cauchy"}, "noise must be laplace or .*, got 'cauchy': choose one"),
        ({"epsilon": "0"}, "epsilon must be a number .* got 0: choose one in"),
        ({"epsilon": "1", "scale": "1"}, "epsilon and scale both set the noise: give one of them"),
        ({"epsilon": "1", "noise": "gaussian"}, "gaussian noise has no epsilon .*: give its scale"),
        ({"dataset": "survey"}, "'dataset' is no parameter of Explore: give size, rate, .*"),
    ],
)
def test_refusals_are_one_line(given: dict[str, str], sentence: str) -> None:
    """A value that no slider reaches is named with the remedy."""
    with pytest.raises(nc.NoisyCountError, match=f"^{sentence}[^\n]*$"):
        Sliders.from_query(given)
