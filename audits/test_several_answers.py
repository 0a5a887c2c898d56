"""Several answers about many records: drawn databases and answers show what brackets promise.

The bounds of what is drawn hold for any number of draws; each pair is wrong once in a million
runs at most.
"""

import math
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln
from tests.oracles.drawn import (
    discrete,
    gaussian,
    interval,
    laplace,
    largest,
    least,
    moved_ratios,
    two_counts,
)

import noisycount as nc

DRAWS = 200_000
CROSSED = (0.05, 0.05, 0.15, 0.75)  # both, only the first, only the second, neither
MOVES = ((1, 0), (0, 1), (1, 1), (1, -1))  # of the two answers, and back
REACH = 60  # of discrete Gaussian noise of at most 6 records

Tell = Callable[[str], None]


def tell_and_check(tell: Tell, name: str, bracket: tuple[float, float], drawn: tuple[float, float]) -> None:
    """The bracket and the interval of the draws have a number in common."""
    tell(f"{name}: bracket {bracket[0]:.6f} {bracket[1]:.6f}, drawn {drawn[0]:.6f} {drawn[1]:.6f}")
    assert bracket[0] <= drawn[1], name
    assert drawn[0] <= bracket[1], name


@pytest.mark.parametrize("noise", [nc.Laplace(20), nc.Gaussian(100)], ids=str)
def test_one_count_is_answered_sixteen_times(noise: nc.Mechanism, tell: Tell) -> None:
    """Of 100,000 records: each direction of δ lies within what 200,000 databases show."""
    size, rate, answers = 100_000, 0.1, 16
    source, runs = np.random.default_rng(18), DRAWS
    curve = nc.privacy_curve([noise] * answers, nc.Binomial(size, rate))
    is_laplace = isinstance(noise, nc.Laplace)
    draw, density = (source.laplace, laplace(20)) if is_laplace else (source.normal, gaussian(100))
    counts = source.binomial(size - 1, rate, runs)
    told = counts[:, None] + draw(0.0, noise.scale, (runs, answers))
    ratios = moved_ratios(size - 1, rate, told, density, 120 if is_laplace else 250)
    for epsilon in (0.0, 0.01):
        both = zip(("comes", "goes"), ratios[::-1], curve.directions(epsilon), strict=True)
        for name, ratio, delta in both:
            drawn = interval(np.maximum(0.0, 1 - math.exp(epsilon) * ratio))
            setting = f"{noise} × {answers}, ε = {epsilon}, a record {name}"
            low, high = curve.bracket(epsilon)
            tell_and_check(tell, setting, (delta - (high - low), delta + (high - low)), drawn)


@pytest.mark.parametrize("epsilon", [0.0, 0.02])
def test_two_crossed_questions(epsilon: float, tell: Tell) -> None:
    """Of 10,000 records: the largest D of all moves lies within what 400,000 answers show."""
    size, scale = 10_000, 5
    source, runs = np.random.default_rng(18), 2 * DRAWS
    table, starts = two_counts(size - 1, CROSSED)
    errors, chances = discrete(gaussian(scale), REACH)
    law = np.apply_along_axis(np.convolve, 0, table, chances)
    law = np.apply_along_axis(np.convolve, 1, law, chances)
    atoms = source.multinomial(size - 1, CROSSED, runs)
    rows, columns = (
        atoms[:, 0] + atoms[:, one] + source.choice(errors, runs, p=chances) + REACH - start
        for one, start in zip((1, 2), starts, strict=True)
    )
    ratios = (law[rows + back * a, columns + back * b] / law[rows, columns] for a, b in MOVES for back in (-1, 1))
    drawn = largest(ratios, epsilon, 2 * len(MOVES))
    known = nc.Atoms(size, CROSSED, [{0, 1}, {0, 2}])
    curve = nc.privacy_curve([nc.DiscreteGaussian(scale)] * 2, known)
    tell_and_check(tell, f"two crossed questions, ε = {epsilon}", curve.bracket(epsilon), drawn)


@pytest.mark.parametrize(
    ("size", "rates", "epsilon"),
    [
        (10_000, (0.1, 0.3), 0.02),
        (1000, (0.1, 0.2, 0.3), 0.05),
        (1000, (0.1, 0.2, 0.3, 0.4, 0.5), 0.05),
    ],
    ids=["two", "three", "five"],
)
def test_independent_questions(size: int, rates: tuple[float, ...], epsilon: float, tell: Tell) -> None:
    """Their law is a product; five have only bounds, between which lies what answers show."""
    scale = 5
    source, runs = np.random.default_rng(18), DRAWS
    errors, chances = discrete(gaussian(scale), REACH)
    factors = []
    for rate in rates:
        told = source.binomial(size - 1, rate, runs) + source.choice(errors, runs, p=chances)
        before, after = moved_ratios(size - 1, rate, told[:, None], gaussian(scale), REACH)
        factors.append((np.ones(runs), after, before))
    moves = [move for move in product((0, 1, -1), repeat=len(rates)) if any(move)]
    drawn = largest(_of_moves(factors, moves), epsilon, len(moves))
    known = nc.Atoms.independent(size, rates)
    curve = nc.privacy_curve([nc.DiscreteGaussian(scale)] * len(rates), known)
    name = f"{len(rates)} independent questions, n = {size:,}, ε = {epsilon}"
    tell_and_check(tell, name, curve.bracket(epsilon), drawn)


def _of_moves(factors: list[tuple[np.ndarray, ...]], moves: list[tuple[int, ...]]) -> Iterator[np.ndarray]:
    """f(y + d)/f(y) for each move d."""
    for move in moves:
        yield np.prod([one[step] for one, step in zip(factors, move, strict=True)], axis=0)


@pytest.mark.parametrize("noise", [nc.Gaussian(5), nc.Laplace(5)], ids=str)
def test_table_of_thirty_cells(noise: nc.Mechanism, tell: Tell) -> None:
    """Of 3,000 records: above what a test by all answers shows, and around what a told total does.

    The test is that of the normal approximation: whether a sum of all answers, weighed by the
    inverse of their covariance, is large.
    """
    size, cells, epsilon = 3000, 30, 0.05
    source, runs = np.random.default_rng(18), DRAWS
    is_laplace = isinstance(noise, nc.Laplace)
    draw, density = (source.laplace, laplace(5)) if is_laplace else (source.normal, gaussian(5))
    counts = source.multinomial(size - 1, [1 / cells] * cells, runs)
    told = counts + draw(0.0, 5.0, counts.shape)
    variance = 50.0 if is_laplace else 25.0
    covariance = size * (np.eye(cells) / cells - 1 / cells**2) + variance * np.eye(cells)
    weights = np.linalg.solve(covariance, np.eye(cells)[0] - np.eye(cells)[1])
    loss = (told - size / cells) @ weights
    reached = [(loss + weights[cell] > epsilon).astype(float) for cell in (0, 1)]
    totals = counts[:, 0] + counts[:, 1]
    ratio = _told_ratio(totals, told[:, :2], density)
    upper = interval(np.maximum(0.0, 1 - math.exp(epsilon) * ratio))
    curve = nc.privacy_curve(noise, nc.Atoms.disjoint(size, [1 / cells] * cells))
    drawn = least(*reached, epsilon), upper[1]
    tell_and_check(tell, f"a table with {noise}, ε = {epsilon}", curve.bracket(epsilon), drawn)
    tell(f"  if the total is told: {upper[0]:.6f} {upper[1]:.6f}")
    assert upper[0] <= curve.bracket(epsilon)[1]


def _told_ratio(totals: np.ndarray, told: np.ndarray, density: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """f(y + a_u − a_v)/f(y) of the answers about two cells with so many others in both."""
    logs = gammaln(np.arange(totals.max() + 1) + 1)
    offsets = np.arange(-60, 61)
    firsts = totals[:, None] // 2 + offsets
    held = np.clip(firsts, 0, totals[:, None])
    tops = 2 * logs[totals // 2][:, None]
    chances = np.exp(tops - logs[held] - logs[totals[:, None] - held]) * (held == firsts)
    places = [told[:, :1] - firsts, told[:, 1:] - (totals[:, None] - firsts)]
    here, moved = ((chances * density(places[0] + back) * density(places[1] - back)).sum(axis=1) for back in (0, 1))
    return moved / here


def test_rule_of_a_desk(tell: Tell) -> None:
    """It is above what an outsider sees who is told who is in the small atom, but not far."""
    size, scale, epsilon, small = 2000, 4, 0.05, 0.003
    large = (0.1, 0.3, 0.597)
    source, runs = np.random.default_rng(18), DRAWS
    errors, chances = discrete(gaussian(scale), REACH)
    given = source.binomial(size - 1, small, runs)
    pieces = []
    for others in np.unique(given):
        number = int((given == others).sum())
        rates = [rate / sum(large) for rate in large]
        table, starts = two_counts(size - 1 - int(others), (0.0, *rates))
        law = np.apply_along_axis(np.convolve, 0, table, chances)
        law = np.apply_along_axis(np.convolve, 1, law, chances)
        atoms = source.multinomial(size - 1 - others, rates, number)
        rows, columns = (
            atoms[:, one] + source.choice(errors, number, p=chances) + REACH - starts[one] for one in (0, 1)
        )
        here = law[rows, columns]
        pieces.append([law[rows + back * a, columns + back * b] / here for a, b in MOVES for back in (-1, 1)])
    ratios = [np.concatenate(one) for one in zip(*pieces, strict=True)]
    differing = [0, 1, 2, 3, 6, 7]  # without the move to both: the large atoms are disjoint
    drawn = largest((ratios[place] for place in differing), epsilon, len(differing))
    atoms = nc.Atoms(size, [*large, small], [{0, 3}, {1, 3}])
    risk = nc.list_risk([nc.DiscreteGaussian(scale)] * 2, atoms)
    tell(f"rule of a desk: {risk.rest(epsilon):.6f}, drawn {drawn[0]:.6f} {drawn[1]:.6f}")
    assert drawn[0] <= risk.rest(epsilon) <= 1.1 * drawn[1]
    assert risk.delta(epsilon) == risk.worst(epsilon) > risk.rest(epsilon)
