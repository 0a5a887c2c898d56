"""Curves compared with sums of another make, in ball arithmetic."""

import random
from fractions import Fraction

import pytest

import noisycount as nc
from tests.oracles.enclosed import delta
from tests.oracles.pairs import Outsider
from tests.oracles.random_curves import Setting, random_setting

SETTINGS = 200


HARD = [
    Setting(nc.Laplace(1.9868), Outsider(nc.BetaBinomial(5, 2, 5)), 0.7777647371557362),
    Setting(nc.Subsample(20, nc.Laplace(1)), Outsider(nc.BetaBinomial(20, 1, 1)), 3.5074668645433147),
    Setting(nc.Subsample(1, nc.Laplace(1.4732)), Outsider(nc.Strata([7], [0.204])), 0.11210691923601002),
    Setting(nc.Subsample(3, nc.Laplace(2.545)), Outsider(nc.Binomial(5, 0.3)), 0.2413879619028705),
    Setting(nc.Subsample(1, nc.Laplace(3)), Outsider.of_table([0, 0, 1e-12, 0, 1 - 1e-12]), 0.1),
    Setting(nc.Subsample(1, nc.Laplace(0.14)), Outsider.of_table([0, 0, 1e-17, 0, 1.0]), 0.1),
    Setting(nc.Subsample(1), Outsider.of_table([0, 0, 1e-17, 0, 1.0]), 0.0),
    Setting(nc.DiscreteLaplace(1), Outsider(nc.BetaBinomial(4, 1e13, 1)), 1.0),
    Setting(nc.Exact(), Outsider(nc.BetaBinomial(1, 25.5, 819.8)), 0.5),
    Setting(nc.Laplace(0.2125), Outsider(nc.BetaBinomial(5, 0.013145, 0.243404)), 10.414301537538387),
]


@pytest.mark.parametrize("setting", HARD)
def test_brackets_hold_delta_where_curves_are_hard(setting: Setting) -> None:
    """Just below the largest loss, and for records that are nearly certain."""
    assert not setting.fault


def test_delta_just_below_the_largest_loss_has_its_digits() -> None:
    """The likelihood ratio stays from the last count on, and the threshold is just before."""
    for setting in HARD[:7]:
        curve = setting.outsider.curve(setting.mechanism)
        exact = float(delta(setting.mechanism, setting.outsider, setting.epsilon))
        assert curve.delta(setting.epsilon) == pytest.approx(exact, rel=1e-9)


BELOW_THE_LARGEST_LOSS = [
    Setting(nc.Laplace(3.69), Outsider(nc.BetaBinomial(3, 5.5, 1.6)), 0.34254925133108866),
    Setting(nc.Laplace(3.35), Outsider(nc.BetaBinomial(8, 0.9, 7.1)), 0.5705900892264172),
    Setting(nc.Laplace(2.28), Outsider(nc.BetaBinomial(8, 7.6, 5.4)), 0.6599725603264879),
    Setting(nc.Laplace(2.82), Outsider(nc.BetaBinomial(5, 5.5, 8.2)), 0.4532719618669471),
]


ALMOST_CERTAIN = Outsider.of_table([0.0, 1.0, 1e-85])
TENTH = 0.10294453926958513
WITH_GAPS = [
    *[TENTH, 0.0, 2.2306581428092494e-250, 0.0717368239216618, 0.01471183126896986],
    *[9.615320522549282e-200, TENTH, 0.07543820976704871, TENTH, TENTH, TENTH, 0.0],
    *[2.5002443781604806e-265, 0.0, 0.026777885968644118, 0.0, 0.09072347418657951],
    *[2.18292e-318, 3.374836305160385e-120, 0.0, TENTH, 2.2849561186128225e-236, TENTH],
]
ONE_LARGER = [  # the next to last count has the loss ε up to its 16th digit, and 4e10 times the mass of the last one
    *[0.04548091521679147, 2.9406231358763575e-17, 0.0, 0.0, 0.00026157088063073297, 7.537046947258585e-05],
    *[2.1315534714772074e-14, 1.7710641705573893e-08, 4.923371952098913e-07, 0.0, 0.0, 0.5716478234078463],
    *[0.3825218757530383, 1.1934224362408663e-05],
]
LOST = {
    "a root next to an integer": Setting(nc.Laplace(2.0), ALMOST_CERTAIN, 0.0),
    "the same under Gaussian noise": Setting(nc.Gaussian(2.0), ALMOST_CERTAIN, 0.0),
    "the same under narrow noise": Setting(nc.Gaussian(0.2), Outsider.of_table([1e-85, 1.0, 1e-125]), 0.0),
    "a root at a tiny ε": Setting(nc.Laplace(0.0278), Outsider.of_table([0.0, 1.0, 0.0, 1.5e-92]), 1.2e-61),
    "a tail that underflows, times e^ε": Setting(
        nc.Gaussian(0.0728), Outsider(nc.Strata([2], [1.7273e-205])), 471.48338233442416
    ),
    "a far count that e^ε brings near": Setting(
        nc.DiscreteLaplace(Fraction(35184372088832, 7152398380902953)), Outsider.of_table(WITH_GAPS), 409.08305667960553
    ),
    "a price that is reached": Setting(
        nc.DiscreteLaplace(0.0693), Outsider(nc.Binomial(1, 0.9999999999999667)), 0.0118593080429687
    ),
    "sums whose quotient underflows": Setting(
        nc.Subsample(5, nc.DiscreteGaussian(0.0344)), Outsider(nc.Known(15)), 421.4269769793534
    ),
    "a rate next to 1": Setting(
        nc.Laplace(0.001), Outsider(nc.Strata([1, 1, 1], [2.3e-203, 0.267, 1 - 2**-53])), 438.0
    ),
}


def test_a_count_whose_loss_is_epsilon_up_to_rounding_belongs_to_the_bracket() -> None:
    """Its sign is unknown, and its mass may exceed all of δ."""
    assert not Setting(nc.Subsample(9), Outsider.of_table(ONE_LARGER, 8, 1), 0.9186682114528709).fault


@pytest.mark.parametrize("name", LOST)
def test_brackets_hold_delta_where_digits_were_lost(name: str) -> None:
    """And are narrow there."""
    assert not LOST[name].fault
    setting = LOST[name]
    lower, upper = setting.outsider.curve(setting.mechanism).bracket(setting.epsilon)
    assert upper - lower <= 1e-8 * upper


@pytest.mark.parametrize("noise", [nc.Exact(), nc.Laplace(2.0), nc.Gaussian(0.3)], ids=str)
@pytest.mark.parametrize("rarest", [1e-12, 1e-60, 1e-85, 1e-200])
def test_both_directions_agree_at_an_epsilon_of_0(noise: nc.Mechanism, rarest: float) -> None:
    """There δ is the total variation, which is symmetric."""
    for table in ([0.0, 1.0, rarest], [rarest, 1.0, 0.0], [rarest, 1.0, rarest**1.2, 0.0]):
        plus, minus = nc.privacy_curve(noise, nc.Tabulated(table)).directions(0.0)
        assert plus == pytest.approx(minus, rel=1e-11, abs=0)


@pytest.mark.parametrize("setting", BELOW_THE_LARGEST_LOSS)
def test_brackets_hold_delta_at_the_last_float_below_the_largest_loss(setting: Setting) -> None:
    """The largest loss as it is computed may lie below ε: its error belongs to the bracket."""
    assert not setting.fault


FROM_TABLES = {
    6947: "a count nearly at the threshold, whose place is only as exact as the mean of the table",
    7515: "the same, and next to nothing but that count",
    7999: "a sample of more than the negative records, in which all may be positive",
    14136: "an ε so large that noise far out counts, where an oracle must not end its table",
    18314: "a count nearly at the threshold of a table that spans eleven orders of magnitude",
}


@pytest.mark.parametrize("seed", FROM_TABLES, ids=FROM_TABLES.get)
def test_brackets_hold_delta_of_tables_at_a_jump(seed: int) -> None:
    """At random settings whose brackets once lacked δ."""
    assert not random_setting(random.Random(seed)).fault  # noqa: S311  (settings of a test)


@pytest.mark.few(0)
@pytest.mark.parametrize("part", range(4))
def test_brackets_hold_delta_at_random_settings(part: int) -> None:
    """Of all populations and mechanisms, mostly near losses where curves end or have corners."""
    source = random.Random(part)  # noqa: S311  (settings of a test)
    faults = [random_setting(source).fault for _ in range(SETTINGS // 4)]
    assert not any(faults), "\n".join(filter(None, faults))
