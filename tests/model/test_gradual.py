from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import ceil, exp, expm1

import numpy as np
import pytest

from noisycount.model import gradual
from noisycount.model.gradual import finer_error, finer_errors
from noisycount.model.sampling.scalar import RandomIntegers
from noisycount.model.sampling.vectors import discrete_laplace_array
from tests.oracles.chi_square import assert_drawn

# e^−ε of coarse and fine answers: rationals, as the theorem holds for any 0 < a₂ < a₁ < 1.
RATIOS = [(Fraction(1, 2), Fraction(1, 8)), (Fraction(9, 10), Fraction(1, 10)), (Fraction(3, 4), Fraction(5, 7))]
SCALES = [
    (Fraction(10), Fraction(5)),
    (Fraction(10), Fraction(999, 100)),
    (Fraction(1), Fraction(1, 2)),
    (Fraction(1, 2), Fraction(1, 5)),
    (Fraction(2**20), Fraction(1000)),
    (Fraction(2**20), Fraction(2**20) * Fraction(999, 1000)),
    (Fraction(7, 3), Fraction(1, 2**20)),
    (Fraction(1, 2**19), Fraction(1, 2**20)),
]


def laplace(error: int, ratio: Fraction) -> Fraction:
    """The discrete Laplace law."""
    return (1 - ratio) / (1 + ratio) * ratio ** abs(error)


def atom(coarse: Fraction, fine: Fraction, wrong: Fraction = Fraction(1)) -> Fraction:
    """The p₀ of the theorem, or one that is wrong by a factor."""
    return wrong * fine / coarse * ((1 - coarse) / (1 - fine)) ** 2


def added(error: int, coarse: Fraction, fine: Fraction, wrong: Fraction = Fraction(1)) -> Fraction:
    """The law of Z, which makes a fine answer coarse."""
    chance = atom(coarse, fine, wrong)
    return (1 - chance) * laplace(error, coarse) + (chance if error == 0 else 0)


def transform(ratio: Fraction, at: Fraction) -> Fraction:
    """E[t^D] of the discrete Laplace law."""
    return (1 - ratio) ** 2 / ((1 - ratio * at) * (1 - ratio / at))


def conditional(fine_error: int, coarse_error: int, coarse: Fraction, fine: Fraction) -> Fraction:
    """P[D₂ = fine error | D₂ + Z = coarse error], by Bayes' rule."""
    joint = laplace(fine_error, fine) * added(coarse_error - fine_error, coarse, fine)
    return joint / laplace(coarse_error, coarse)


@pytest.mark.parametrize(("coarse", "fine"), RATIOS)
def test_more_noise_makes_a_fine_answer_coarse(coarse: Fraction, fine: Fraction) -> None:
    """The transforms of D₂ + Z and D₁, polynomials of degree 4 over one denominator, agree at nine points."""
    assert 0 < atom(coarse, fine) < 1
    for at in (Fraction(k, 2) for k in range(1, 10)):
        if at not in {coarse, fine, 1 / coarse, 1 / fine}:
            chance = atom(coarse, fine)
            added_noise = chance + (1 - chance) * transform(coarse, at)
            assert transform(fine, at) * added_noise == transform(coarse, at)


@pytest.mark.parametrize(("coarse", "fine"), RATIOS)
def test_a_share_that_is_wrong_by_a_hundredth_is_found(coarse: Fraction, fine: Fraction) -> None:
    """Then D₂ + Z is not discrete Laplace."""
    chance, at = atom(coarse, fine, Fraction(101, 100)), Fraction(3)
    added_noise = chance + (1 - chance) * transform(coarse, at)
    assert transform(fine, at) * added_noise != transform(coarse, at)


@pytest.mark.parametrize(("coarse", "fine"), SCALES[:4])
def test_the_share_is_that_of_the_theorem(coarse: Fraction, fine: Fraction) -> None:
    """The formula in floats, beside the one of rationals at e^−ε as floats show it."""
    ratios = (Fraction(exp(-1 / coarse)), Fraction(exp(-1 / fine)))
    assert equal_probability(coarse, fine) == pytest.approx(float(atom(*ratios)), rel=1e-12)


def equal_probability(coarse: Fraction, fine: Fraction) -> float:
    """The p₀ of two scales in floats: (a₂/a₁)·((1 − a₁)/(1 − a₂))²."""
    low, high = float(1 / coarse), float(1 / fine)
    return exp(-float(1 / fine - 1 / coarse)) * (expm1(-low) / expm1(-high)) ** 2


class Geometrics:
    """Each geometric number becomes one of a script, in the order of the calls; keeps the ratios."""

    def __init__(self, numbers: tuple[int, ...]) -> None:
        self.numbers, self.scales = list(numbers), list[Fraction]()

    def steps(self, scale: Fraction, _: object) -> int:
        """The next number, whatever its scale."""
        self.scales.append(scale)
        return self.numbers.pop(0)


def drawn_law(
    coarse_error: int, coarse: Fraction, fine: Fraction, monkeypatch: pytest.MonkeyPatch, longest: int = 24
) -> dict[int, Fraction]:
    """The law of the sampler, all of whose geometric numbers up to the longest are followed."""
    ratios = (fine / coarse, coarse * fine, coarse**2)
    masses: dict[int, Fraction] = {}
    weights = [[(1 - ratio) * ratio**number for number in range(longest)] for ratio in ratios]
    for numbers in product(range(longest), repeat=3):
        monkeypatch.setattr(gradual, "exponential_steps", Geometrics(numbers).steps)
        error = finer_error(coarse_error, Fraction(2), Fraction(1), RandomIntegers())
        chance = weights[0][numbers[0]] * weights[1][numbers[1]] * weights[2][numbers[2]]
        masses[error] = masses.get(error, Fraction(0)) + chance
    return masses


@pytest.mark.thorough
@pytest.mark.parametrize("coarse_error", [0, 1, -1, 3, -4])
def test_the_sampler_draws_from_the_conditional_law(coarse_error: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In rationals: no outcome has more than its probability, and what is not followed is missing."""
    coarse, fine = RATIOS[0]
    masses = drawn_law(coarse_error, coarse, fine, monkeypatch)
    missing = 1 - sum(masses.values())
    assert 0 < missing < Fraction(1, 10**12)
    for error in range(-9, 10):
        assert 0 <= conditional(error, coarse_error, coarse, fine) - masses[error] <= missing


@pytest.mark.parametrize(("coarse", "fine"), SCALES)
def test_the_geometric_numbers_have_the_ratios_of_the_theorem(
    coarse: Fraction, fine: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1/scale is ε₂ − ε₁ for s, ε₁ + ε₂ for r and 2·ε₁ for a₁², exactly."""
    script = Geometrics((9, 0, 0))
    monkeypatch.setattr(gradual, "exponential_steps", script.steps)
    finer_error(0, coarse, fine, RandomIntegers())
    assert [1 / scale for scale in script.scales] == [1 / fine - 1 / coarse, 1 / fine + 1 / coarse, 2 / coarse]


@pytest.mark.parametrize(("coarse", "fine"), RATIOS)
@pytest.mark.parametrize("coarse_error", [0, 2, -5])
def test_the_conditional_law_has_three_pieces_and_an_atom(coarse_error: int, coarse: Fraction, fine: Fraction) -> None:
    """The weights of the page, whose sum is 1 − r·s whatever the coarse error."""
    s, r, far = fine / coarse, fine * coarse, abs(coarse_error)
    for error in range(-12, 13):
        side = -error if coarse_error < 0 else error
        weight = (1 - s) * (1 - r) * (r**-side if side < 0 else s ** min(side, far) * r ** max(side - far, 0))
        weight += (s - r) * s**far if side == far else 0
        assert conditional(error, coarse_error, coarse, fine) == weight / (1 - r * s)


def joint(answers: tuple[int, ...], ratios: tuple[Fraction, ...], count: int) -> Fraction:
    """P[Y₁, …, Yₙ | x], coarse ones first, each made from the next finer one."""
    chance = laplace(answers[-1] - count, ratios[-1])
    for place in range(len(answers) - 1):
        chance *= added(answers[place] - answers[place + 1], ratios[place], ratios[place + 1])
    return chance


def in_order(answers: tuple[int, ...], ratios: tuple[Fraction, ...], count: int, order: list[int]) -> Fraction:
    """Return the probability of answers drawn in that order, each from its finer and coarser neighbours."""
    chance, known = Fraction(1), list[int]()
    for place in order:
        finer, coarser = (
            min((k for k in known if k > place), default=None),
            max((k for k in known if k < place), default=None),
        )
        if finer is None and coarser is None:
            chance *= laplace(answers[place] - count, ratios[place])
        elif finer is None:
            chance *= conditional(answers[place] - count, answers[coarser] - count, ratios[coarser], ratios[place])
        else:
            chance *= added(answers[place] - answers[finer], ratios[place], ratios[finer])
            if coarser is not None:
                chance *= added(answers[coarser] - answers[place], ratios[coarser], ratios[place])
                chance /= added(answers[coarser] - answers[finer], ratios[coarser], ratios[finer])
        known.append(place)
    return chance


THREE = (Fraction(4, 5), Fraction(1, 2), Fraction(1, 6))


@pytest.mark.parametrize("order", [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
def test_three_prices_have_one_joint_law_in_every_order(order: list[int]) -> None:
    """Every order has the law of the chain from the finest to the coarsest, as rationals."""
    for answers in product(range(-2, 3), repeat=3):
        assert in_order(answers, THREE, 0, order) == joint(answers, THREE, 0)


@pytest.mark.parametrize("neighbour", [-1, 1])
def test_all_answers_together_lose_the_largest_price(neighbour: int) -> None:
    """P[all | x]/P[all | neighbour] never leaves [a₃, 1/a₃], and reaches both: the finest tells all."""
    ratios = {
        joint(answers, THREE, 0) / joint(answers, THREE, neighbour) for answers in product(range(-3, 4), repeat=3)
    }
    assert (min(ratios), max(ratios)) == (THREE[-1], 1 / THREE[-1])


@pytest.mark.parametrize("neighbour", [-1, 1])
@pytest.mark.parametrize("thresholds", [(2, 1, -9), (0, 0, -9), (1, -1, -9)])
def test_a_stopped_chain_loses_the_price_at_which_it_stopped(thresholds: tuple[int, ...], neighbour: int) -> None:
    """Path by path, as rationals, and reaches it; a path is all answers up to the first at its threshold."""
    ratios: dict[int, set[Fraction]] = {1: set(), 2: set(), 3: set()}
    for answers in product(range(-3, 4), repeat=3):
        length = 1 + next(k for k in range(3) if answers[k] >= thresholds[k])
        path, prices = answers[:length], THREE[:length]
        ratios[length].add(joint(path, prices, 0) / joint(path, prices, neighbour))
    for length, found in ratios.items():
        largest = 1 / THREE[length - 1]
        assert all(1 / largest <= ratio <= largest for ratio in found)
        assert {1 / largest, largest} & found


@pytest.mark.parametrize(("coarse", "fine"), [(0.2, 0.22), (0.1, 0.4), (1.0, 1.2), (0.01, 3.0)])
def test_a_top_up_has_the_rho_of_its_own_price(coarse: float, fine: float) -> None:
    """After any answer its loss has two values, 2ε apart, and E_Q[e^loss] = 1: divergences of many orders."""
    for before in (-coarse, coarse):
        chance = (exp(before) - exp(-fine)) / (exp(fine) - exp(-fine))
        for order in np.geomspace(1.001, 1000, 60):
            divergence = np.logaddexp(np.log(chance) + order * fine, np.log1p(-chance) - order * fine) - order * before
            assert divergence / (order * (order - 1)) <= fine**2 / 2 * (1 + 1e-9)


def test_the_difference_in_rho_is_too_little_for_a_top_up() -> None:
    """The figure of the page: 0.2, then 0.22, order 16, after an answer that favours Q."""
    coarse, fine, order = 0.2, 0.22, 16
    chance = (exp(-coarse) - exp(-fine)) / (exp(fine) - exp(-fine))
    divergence = np.logaddexp(np.log(chance) + order * fine, np.log1p(-chance) - order * fine) + order * coarse
    assert divergence / (order * (order - 1) * (fine**2 - coarse**2) / 2) == pytest.approx(3.4, abs=0.05)


def test_two_chains_about_one_record_lose_the_sum_of_their_prices() -> None:
    """A list of questions that share records is not paid by its longest chain."""
    path, prices = (0, 0), THREE[:2]
    ratio = joint(path, prices, 0) / joint(path, prices, 1)
    assert ratio**2 == 1 / THREE[1] ** 2 > 1 / THREE[1]


@pytest.mark.thorough
def test_a_wrong_share_loses_more_than_the_largest_price_when_the_coarse_answer_came_first() -> None:
    """The mutant: a conditional law of a p₀ wrong by a hundredth, normed, after a true coarse answer."""

    def chance(answers: tuple[int, int], count: int) -> Fraction:
        coarse, fine = RATIOS[0]

        def weight(error: int) -> Fraction:
            wrong = Fraction(101, 100)
            return laplace(error, fine) * added(answers[0] - count - error, coarse, fine, wrong)

        norm = sum(weight(error) for error in range(-40, 41))
        return laplace(answers[0] - count, coarse) * weight(answers[1] - count) / norm

    ratios = [chance(answers, 0) / chance(answers, 1) for answers in product(range(-3, 4), repeat=2)]
    assert max(ratios) > 1 / RATIOS[0][1] * Fraction(1001, 1000)


def law(scale: Fraction, edges: np.ndarray) -> np.ndarray:
    """The probabilities of the discrete Laplace law between edges, and beyond the outer ones."""
    ratio = np.exp(-1 / float(scale))
    tail = np.exp(-(np.abs(edges) + (edges <= 0) - 1) / float(scale)) * ratio / (1 + ratio)
    below = np.where(edges > 0, 1 - tail, tail)
    return np.diff(below, prepend=0, append=1)


def pair_counts(coarse: Fraction, fine: Fraction, size: int, wrong: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Fine errors and what was added to them, drawn and expected in a table of cells."""
    coarse_errors = discrete_laplace_array(coarse, size)
    fine_errors = finer_errors(coarse_errors, coarse, fine)
    chance = equal_probability(coarse, fine) * wrong
    edges, expected = [], []
    for scale in (fine, coarse):
        wide = np.unique(np.concatenate([[0, 1], np.round(float(scale) * np.linspace(-3, 3, 9)).astype(np.int64)]))
        edges.append(wide)
        expected.append(law(scale, wide))
    more = (1 - chance) * expected[1]
    more[np.searchsorted(edges[1], 0, side="right")] += chance
    cells = np.searchsorted(edges[0], fine_errors, side="right") * more.size
    cells += np.searchsorted(edges[1], coarse_errors - fine_errors, side="right")
    observed = np.bincount(cells, minlength=more.size * expected[0].size)
    return observed.astype(float), size * np.outer(expected[0], more).ravel()


@pytest.mark.parametrize(("coarse", "fine"), SCALES)
def test_tables_are_drawn_from_the_joint_law(coarse: Fraction, fine: Fraction) -> None:
    """Fine error and added noise are independent, of their laws: χ² of draws by the operating system."""
    assert_drawn(*pair_counts(coarse, fine, 20_000))


@pytest.mark.thorough
@pytest.mark.parametrize(("coarse", "fine"), SCALES)
def test_very_many_draws_are_from_the_joint_law(coarse: Fraction, fine: Fraction) -> None:
    """A million pairs follow the joint law."""
    assert_drawn(*pair_counts(coarse, fine, 1_000_000))


def test_draws_tell_a_share_that_is_wrong() -> None:
    """The comparison can fail: a p₀ wrong by a twentieth."""
    with pytest.raises(AssertionError):
        assert_drawn(*pair_counts(Fraction(10), Fraction(999, 100), 200_000, wrong=0.95))


@pytest.mark.thorough
def test_very_many_draws_tell_a_share_that_is_wrong_by_a_hundredth() -> None:
    """A p₀ of .99 times."""
    with pytest.raises(AssertionError):
        assert_drawn(*pair_counts(Fraction(10), Fraction(999, 100), 1_000_000, wrong=0.99))


@pytest.mark.thorough
@pytest.mark.parametrize(("coarse", "fine"), [SCALES[0], SCALES[3]])
def test_single_draws_are_from_the_law_of_tables(coarse: Fraction, fine: Fraction) -> None:
    """Two χ² of one law, after a coarse error of either sign."""
    integers = RandomIntegers()
    for coarse_error in (3, -3, 0):
        draws = np.array([finer_error(coarse_error, coarse, fine, integers) for _ in range(4000)])
        ratios = (Fraction(exp(-1 / coarse)), Fraction(exp(-1 / fine)))
        farthest = 40 * ceil(fine)
        errors = range(-farthest, farthest + 1)
        chances = [float(conditional(error, coarse_error, *ratios)) for error in errors]
        observed = np.bincount(draws + farthest, minlength=len(errors)).astype(float)
        assert_drawn(observed, np.array(chances) * draws.size)


# Their sums and differences have terms beyond 2^53.
LONG_TERMS = [
    (Fraction(2**50 + 1, 3), Fraction(2**50 - 1, 7)),
    (Fraction(10**9 + 7, 10**5), Fraction(10**9 + 9, 10**6)),
]


@pytest.mark.parametrize(("coarse", "fine"), LONG_TERMS)
def test_scales_of_long_terms_are_drawn_one_by_one(coarse: Fraction, fine: Fraction) -> None:
    """Nothing overflows: errors are a few fine scales, in the shape of the coarse ones."""
    errors = np.array([[0, int(coarse)], [-int(coarse), 5]])
    drawn = finer_errors(errors, coarse, fine)
    assert drawn.shape == errors.shape
    assert (np.abs(drawn) < np.abs(errors) + 800 * float(coarse)).all()


@pytest.mark.parametrize("draw", [finer_error, finer_errors])
@pytest.mark.parametrize("fine", [Fraction(5), Fraction(6), Fraction(0)])
def test_a_scale_that_is_no_finer_is_refused(draw: Callable[..., object], fine: Fraction) -> None:
    """By both scales."""
    with pytest.raises(ValueError, match=rf"^the scale of the fine answer must be .* less than 5, got {fine}$"):
        draw(0, Fraction(5), fine, RandomIntegers())


def test_no_answers_are_no_answers() -> None:
    """A table without cells."""
    assert finer_errors(np.zeros(0, np.int64), *SCALES[0]).shape == (0,)
