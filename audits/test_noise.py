"""The black-box audit of whole desks and of bulk noise, with as many draws as two percent need."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from tests.helpers.black_box import ROWS, Verdict, audited_bulk, audited_desk
from tests.model.sampling.test_draws import SCALES, gaussian_p_value, laplace_p_value
from tests.model.sampling.test_sampler import naive, told_apart

from noisycount.model.noises.laplace import Laplace
from noisycount.model.sampling.vectors import discrete_gaussian_array, discrete_laplace_array

EPSILONS = [Fraction(1), Fraction(1, 10)]
ANSWERS = 60_000
AT_ONCE = 500  # of them; a short test asks one by one
DRAWS = 20_000_000
CHI_SQUARE_DRAWS = 4_000_000
FALSE_ALARM = 1e-6

Tell = Callable[[str], None]


def described(verdict: Verdict) -> str:
    """Return the result of an audit on a single line."""
    shown = verdict.shown / verdict.claimed
    return (
        f"shows {shown:.4f} of the loss, p-value of the law {min(1, verdict.p_value):.2g}: "
        f"{'passed' if verdict.passed else 'failed'}"
    )


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_whole_desk_passes(epsilon: Fraction, tell: Tell) -> None:
    """Answers about neighbouring files differ by no more than ε, and have the stated law."""
    verdict = audited_desk(epsilon, ANSWERS, at_once=AT_ONCE)
    tell(f"desk, ε = {epsilon}, 2 × {ANSWERS:,} answers: {described(verdict)}")
    assert verdict.passed


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("mutant", ["ε·1.02", ROWS, "one more", "two zeros"])
def test_a_whole_desk_with_a_fault_fails(mutant: str, epsilon: Fraction, tell: Tell) -> None:
    """Two percent less noise, a sensitivity of 2 where 1 is claimed, noise that is off by one."""
    answers = ANSWERS if mutant == "ε·1.02" else ANSWERS // 10
    verdict = audited_desk(epsilon, answers, mutant, at_once=AT_ONCE)
    tell(f"desk with {mutant}, ε = {epsilon}, 2 × {answers:,} answers: {described(verdict)}")
    assert not verdict.passed


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_bulk_draws_reach_the_stated_price_and_do_not_pass_it(epsilon: Fraction, tell: Tell) -> None:
    """The events alone, without the law, show a price that is two percent higher."""
    honest = audited_bulk(epsilon, DRAWS)
    dearer = audited_bulk(epsilon, DRAWS, drawn=epsilon * Fraction(102, 100))
    tell(f"bulk noise, ε = {epsilon}, 2 × {DRAWS:,} draws: {described(honest)}")
    tell(f"bulk noise for ε·1.02, ε = {epsilon}: {described(dearer)}")
    assert honest.passed
    assert honest.shown > 0.99 * honest.claimed
    assert not dearer.private


@pytest.mark.parametrize("scale", SCALES)
def test_discrete_laplace_has_its_law(scale: Fraction) -> None:
    """χ² of many bulk draws; false-alarm rate of all scales together 1e-6."""
    draws = discrete_laplace_array(scale, CHI_SQUARE_DRAWS)
    assert laplace_p_value(draws, scale) > FALSE_ALARM / len(SCALES)


@pytest.mark.parametrize("scale", SCALES)
def test_discrete_gaussian_has_its_law(scale: Fraction) -> None:
    """χ² of many bulk draws; false-alarm rate of all scales together 1e-6."""
    draws = discrete_gaussian_array(scale, CHI_SQUARE_DRAWS)
    assert gaussian_p_value(draws, scale) > FALSE_ALARM / len(SCALES)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_low_bits_tell_nothing(epsilon: float, tell: Tell) -> None:
    """Of many answers about 0 none is impossible under 1."""
    generator = np.random.default_rng()
    law = Laplace.for_epsilon(epsilon)
    plain = told_apart([naive(0, 1 / epsilon, generator) for _ in range(50_000)], 1)
    ours = told_apart([law.release(0) for _ in range(50_000)], 1)
    tell(f"answers about 0 impossible under 1, ε = {epsilon}: naive {plain:.1%}, ours {ours:.1%}")
    assert ours == 0
    assert plain > 0.01
