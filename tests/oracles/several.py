"""Curves of several answers from their definition: over all databases, and all answers.

δ₊(ε) = Σ over answers of max(0, P₊ − e^ε·P₋). Discrete noises are summed in 80 digits; two noises with a density are
integrated, one exactly between the roots of what is integrated, the other by Gauss's rule between the integers.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise, permutations, product

import numpy as np
from flint import arb

from noisycount import Atoms, Exact, Gaussian, Mechanism
from tests.oracles.balls import ball
from tests.oracles.noises import noise_of
from tests.oracles.pairs import Pair

Counts = tuple[int, ...]
Law = Mapping[Counts, arb]

_DEEP = 42.0  # e^−42 = 6e-19: as deep as noise is summed
_SHALLOW = 25.0  # e^−25 = 1e-11: as deep as it is integrated
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_GRID = 16  # places of a record in which a root is looked for
_HALVINGS = 25  # a root to 2e-9, and an integral to its square: what is integrated is 0 there


def of_atoms(atoms: Atoms, mechanisms: Sequence[Mechanism], epsilon: float) -> tuple[float, float]:
    """δ₊ and δ₋ of answers to the questions of atoms, each the largest over all pairs of atoms."""
    rates = [Fraction(rate) for rate in atoms.rates]
    rows = [tuple(int(place in question) for question in atoms.questions) for place in range(len(rates))]
    others: dict[Counts, Fraction] = defaultdict(Fraction)
    for database in product(range(len(rates)), repeat=atoms.size - 1):
        counts = tuple(map(sum, zip(*(rows[atom] for atom in database), strict=True)))
        others[counts or (0,) * len(atoms.questions)] += math.prod(rates[atom] for atom in database)
    found: list[tuple[float, float]] = []
    for one, other in permutations(set(rows), 2):
        if one > other and all(_rate(rows, rates, row) > 0 for row in (one, other)):
            plus, minus = (_moved(others, row) for row in (one, other))
            found.append(directions(plus, minus, mechanisms, epsilon))
    return max(a for a, _ in found), max(b for _, b in found)


def of_pair(pair: Pair, mechanisms: Sequence[Mechanism], epsilon: float) -> tuple[float, float]:
    """δ₊ and δ₋ of answers about one count."""
    plus, minus = (
        {(k,) * len(mechanisms): p for k, p in zip(pair.counts, law, strict=True)}
        for law in (pair.positive, pair.negative)
    )
    return directions(plus, minus, mechanisms, epsilon)


def directions(plus: Law, minus: Law, mechanisms: Sequence[Mechanism], epsilon: float) -> tuple[float, float]:
    """δ₊ and δ₋ between two laws of counts, each of which gets its noise."""
    if all(isinstance(one, Exact) or one.is_discrete for one in mechanisms):
        box = _box([*plus, *minus], mechanisms)
        laws = [_noisy(law, mechanisms, box) for law in (plus, minus)]
        grown = ball(epsilon).exp()
        return _excess(*laws, grown), _excess(*laws[::-1], grown)
    sides = [{k: float(p) for k, p in law.items()} for law in (plus, minus)]
    return _integral(*sides, mechanisms, epsilon), _integral(*sides[::-1], mechanisms, epsilon)


def _rate(rows: Sequence[Counts], rates: Sequence[Fraction], row: Counts) -> Fraction:
    """Return the probability that a record has these answers."""
    return sum((rate for one, rate in zip(rows, rates, strict=True) if one == row), Fraction(0))


def _moved(others: Mapping[Counts, Fraction], row: Counts) -> dict[Counts, arb]:
    """The law of the counts with one more record."""
    return {
        tuple(a + b for a, b in zip(counts, row, strict=True)): arb(p.numerator) / p.denominator
        for counts, p in others.items()
    }


def _box(counts: Sequence[Counts], mechanisms: Sequence[Mechanism]) -> list[range]:
    """The answers to each question."""
    return [
        range(min(told) - _reach(one), max(told) + _reach(one) + 1)
        for told, one in zip(zip(*counts, strict=True), mechanisms, strict=True)
    ]


def _reach(mechanism: Mechanism) -> int:
    """Return a bound beyond which noise is negligible."""
    return 0 if isinstance(mechanism, Exact) else math.ceil(mechanism.errors.distance_at_depth(_DEEP))


def _noisy(law: Law, mechanisms: Sequence[Mechanism], box: Sequence[range]) -> list[arb]:
    """The law of the answers."""
    densities = [_densities(one, places) for one, places in zip(mechanisms, box, strict=True)]
    total = np.full([len(places) for places in box], arb(0))
    for counts, chance in law.items():
        rows = [density(k) for density, k in zip(densities, counts, strict=True)]
        added = rows[0] * chance
        for row in rows[1:]:
            added = np.multiply.outer(added, row)
        total = total + added
    return total.ravel().tolist()


def _densities(mechanism: Mechanism, places: range):  # noqa: ANN202  (a function of balls)
    """The probabilities of the answers, given a count."""
    if isinstance(mechanism, Exact):
        return lambda count: np.array([arb(int(y == count)) for y in places])
    density = noise_of(mechanism).density
    table = {z: density(arb(z)) for z in range(places.start - places.stop, places.stop - places.start)}
    return lambda count: np.array([table[y - count] for y in places])


def _excess(law: Sequence[arb], other: Sequence[arb], grown: arb) -> float:
    """Σ max(0, P − e^ε·P*)."""
    terms = (p - grown * q for p, q in zip(law, other, strict=True))
    return float(sum((term for term in terms if term > 0), arb(0)).mid())


def _integral(
    plus: Mapping[Counts, float], minus: Mapping[Counts, float], mechanisms: Sequence[Mechanism], epsilon: float
) -> float:
    """∫∫ max(0, P₊ − e^ε·P₋) for two noises with densities."""
    weights: dict[Counts, float] = defaultdict(float)
    for counts, p in plus.items():
        weights[counts] += p
    for counts, p in minus.items():
        weights[counts] -= math.exp(epsilon) * p
    inner, outer = mechanisms
    last = {count for _, count in weights}
    reach = math.ceil(outer.errors.distance_at_depth(_SHALLOW))
    total = 0.0
    for low, high in pairwise(range(min(last) - reach, max(last) + reach + 1)):
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            place = (low + high) / 2 + node / 2
            chances = {count: _density(outer, place - count) for count in last}
            row: dict[int, float] = defaultdict(float)
            for (one, other), p in weights.items():
                row[one] += p * chances[other]
            total += weight / 2 * _positive_part(row, inner)
    return total


def _positive_part(row: Mapping[int, float], noise: Mechanism) -> float:
    """∫ max(0, Σ_k row_k·f(y − k)) dy, from root to root."""
    counts, weights = np.array(list(row), dtype=float), np.array(list(row.values()))
    reach = math.ceil(noise.errors.distance_at_depth(_SHALLOW))
    start, stop = counts.min() - reach, counts.max() + reach
    grid = np.linspace(start, stop, int((stop - start) * _GRID) + 1)
    signs = np.sign(_sum(weights, counts, noise, grid))
    ends = [start, *_roots(grid, signs, weights, counts, noise), stop]
    parts = (weights @ (_below(noise, b - counts) - _below(noise, a - counts)) for a, b in pairwise(ends))
    return float(sum(max(0.0, part) for part in parts))


def _roots(
    grid: np.ndarray, signs: np.ndarray, weights: np.ndarray, counts: np.ndarray, noise: Mechanism
) -> Iterator[float]:
    """Yield the points at which the sum changes its sign."""
    for place in np.flatnonzero(signs[1:] != signs[:-1]):
        low, high = grid[place], grid[place + 1]
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            is_low = np.sign(_sum(weights, counts, noise, np.array([middle]))[0]) == signs[place]
            low, high = (middle, high) if is_low else (low, middle)
        yield low


def _sum(weights: np.ndarray, counts: np.ndarray, noise: Mechanism, places: np.ndarray) -> np.ndarray:
    """Σ_k w_k·f(y − k)."""
    return weights @ _density(noise, places - counts[:, None])


def _density(noise: Mechanism, errors):  # noqa: ANN001, ANN202  (a number or an array)
    """The density of noise, up to what it is at 0."""
    scaled = np.abs(errors) / noise.scale
    if isinstance(noise, Gaussian):
        return np.exp(-(scaled**2) / 2) / (noise.scale * math.sqrt(2 * math.pi))
    return np.exp(-scaled) / (2 * noise.scale)


def _below(noise: Mechanism, errors: np.ndarray) -> np.ndarray:
    """P[Z < error]."""
    if isinstance(noise, Gaussian):
        return np.array([math.erfc(-z / noise.scale / math.sqrt(2)) / 2 for z in errors])
    tails = np.exp(-np.abs(errors) / noise.scale) / 2
    return np.where(errors < 0, tails, 1 - tails)
