import pytest

import noisycount as nc

TRUE = nc.Binomial(1000, 0.3)
NOISE = nc.Laplace(10)


@pytest.mark.few(0)
@pytest.mark.parametrize("by", ["mean", "median", "mode"])
@pytest.mark.parametrize("deviation", [0.0, 0.02])
def test_error_at_a_break_even_rate_is_that_of_the_answer(by: str, deviation: float) -> None:
    """It is smaller just inside, and larger just outside."""
    low, high = nc.break_even_rates(TRUE, NOISE, by, deviation)

    def error(rate: float) -> float:
        if deviation == 0:
            return nc.mean_absolute_error(TRUE, NOISE, by, nc.Binomial(1000, rate))
        assumed = nc.BetaBinomial.from_rate(1000, rate, deviation)
        return nc.mean_absolute_error(TRUE, NOISE, by, assumed)

    assert low < 0.3 < high
    for rate, inwards in ((low, 1e-5), (high, -1e-5)):
        assert by == "mode" or error(rate) == pytest.approx(10, rel=1e-9)
        assert error(rate + inwards) < 10 < error(rate - inwards)


@pytest.mark.thorough
def test_an_uncertain_rate_may_be_more_wrong() -> None:
    """The more uncertain, the farther off it may be."""
    ranges = [nc.break_even_rates(TRUE, NOISE, "mean", spread) for spread in (0.0, 0.02, 0.05)]
    assert ranges[0][0] > ranges[1][0] > ranges[2][0]
    assert ranges[0][1] < ranges[1][1] < ranges[2][1]


def test_noise_wider_than_the_count_forgives_every_rate() -> None:
    """An error of at most 100 records is better than noise of scale 1000."""
    assert nc.break_even_rates(nc.Binomial(100, 0.3), nc.Laplace(1000)) == (0.0, 1.0)
    low, high = nc.break_even_rates(nc.Binomial(100, 0.3), nc.Laplace(1000), deviation=0.1)
    assert low * (1 - low) == pytest.approx(0.01, rel=2e-3)
    assert high == pytest.approx(1 - low)


@pytest.mark.parametrize(
    ("population", "arguments", "message"),
    [
        (TRUE, {"by": "answer"}, "by must be"),
        (TRUE, {"by": "rounded"}, "by must be"),
        (1000, {}, "population must be a Population, got 1000"),
        (TRUE, {"deviation": -1.0}, "deviation must be"),
        (TRUE, {"deviation": 0.5}, "deviation must be below"),
        (nc.BetaBinomial(1000, 3, 7), {}, "better than the answer at the true rate"),
        (nc.Binomial(0, 0.3), {}, "size"),
    ],
)
def test_refusals_name_what_is_wrong(
    population: nc.Population, arguments: dict[str, object], message: str
) -> None:
    """One line with the value and the remedy."""
    with pytest.raises(ValueError, match=message):
        nc.break_even_rates(population, NOISE, **arguments)
