"""Posteriors of small tables against all tables of integers, each weighed in 80 digits."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from flint import arb

import noisycount as nc
from noisycount import below, posterior, table_posterior
from noisycount.analysis.tables.answers import read_answers
from noisycount.analysis.tables.learning import learn_cell_law
from tests.oracles.chi_square import assert_drawn
from tests.oracles.posterior import Law
from tests.oracles.tables import Division, EnumeratedTables, Told

NOISES = [
    nc.DiscreteLaplace(2),
    nc.DiscreteLaplace(Fraction(1, 2)),
    nc.DiscreteGaussian(3),
    nc.DiscreteGaussian(1),
    nc.Laplace(1.5),
    nc.Gaussian(2),
    nc.NoiseSum([nc.DiscreteLaplace(1), nc.DiscreteGaussian(2)]),
    nc.NoiseSum([nc.Laplace(1), nc.Gaussian(2)]),
]
NARROW = [nc.DiscreteLaplace(Fraction(1, 3)), nc.DiscreteGaussian(Fraction(1, 2)), nc.Gaussian(0.5), nc.Exact()]


def random_tree(random: np.random.Generator, cells: int, depth: int) -> nc.Tree:
    """Nested partitions of some cells, nodes in any order."""
    levels = [np.arange(cells)]
    for _ in range(depth - 2):
        size = int(levels[0].max()) + 1
        wanted = int(random.integers(1, size + 1))
        groups = np.append(np.arange(wanted), random.integers(0, wanted, size - wanted))
        levels.insert(0, random.permutation(groups)[levels[0]])
    return nc.Tree((np.zeros(cells, np.int64), *levels))


@dataclass(frozen=True)
class Case:
    """A table to enumerate, and how `table_posterior` is asked for it."""

    oracle: EnumeratedTables
    answers: dict[Any, Any]
    mechanism: dict[Any, Any]
    prior: nc.Splits | list[nc.Splits]
    total: int | nc.Population | None

    def posterior(self) -> Any:  # noqa: ANN401
        """Return the posterior that is compared with the oracle."""
        return table_posterior(self.answers, self.mechanism, self.oracle.tree, self.total, self.prior)


def random_prior(
    random: np.random.Generator, tree: nc.Tree
) -> tuple[nc.Splits | list[nc.Splits], tuple[Division, ...]]:
    """Concentrations of cells, or of each level, as Splits and as fractions."""
    if random.random() < 0.5:
        weights = [Fraction(int(n), 8) for n in random.integers(1, 30, tree.cells)]
        divisions = []
        for level, size in zip(tree.levels[1:], tree.sizes[1:], strict=True):
            sums = [Fraction(0)] * size
            for node, weight in zip(level.tolist(), weights, strict=True):
                sums[node] += weight
            divisions.append(sums)
        known = bool(random.random() < 0.4)
        stated = nc.Splits(list(map(float, weights)), is_multinomial=known)
        return stated, tuple(Division(tuple(one), known) for one in divisions)
    levels, found = [], []
    for size in tree.sizes[1:]:
        own = tuple(Fraction(int(n), 4) for n in random.integers(1, 9, size))
        known = bool(random.random() < 0.3)
        levels.append(nc.Splits(list(map(float, own)), is_multinomial=known))
        found.append(Division(own, known))
    return levels, tuple(found)


def random_case(seed: int) -> Case:
    """A tree of up to six cells, with answers of all kinds at some nodes."""
    random = np.random.default_rng(seed)
    free = seed % 5 == 0
    cells = int(random.integers(1, 3 if free else 6))
    tree = random_tree(random, cells, int(random.integers(2, 5)))
    whole = int(random.integers(0, 8 if cells < 5 else 7))
    table = random.multinomial(whole, np.full(cells, 1 / cells))
    answers: dict[Any, Any] = {}
    laws: dict[Any, Any] = {}
    told = []
    nodes = [(level, place) for level, size in enumerate(tree.sizes) for place in range(size)]
    spared = (0, 0) if free else nodes[-1]
    for level, place in nodes:
        if random.random() < 0.3 and (level, place) != spared:
            continue
        count = int(table[tree.levels[level] == place].sum())
        noise = _choice(random, NARROW if free else [*NOISES, nc.Exact()])
        one = _told(random, level, place, count, noise)
        told.append(one)
        answers[level, place] = below(one.answer) if one.is_below else one.answer
        laws[level, place] = noise
    prior, divisions = random_prior(random, tree)
    total: int | nc.Population | None = whole if random.random() < 0.6 else nc.Binomial(8, 0.4)
    ends = (0, 30) if free else total
    oracle = EnumeratedTables(tree, divisions, tuple(told), ends)  # type: ignore[arg-type]
    return Case(oracle, answers, laws, prior, None if free else total)


def _choice(random: np.random.Generator, noises: list[nc.Mechanism]) -> nc.Mechanism:
    return noises[int(random.integers(len(noises)))]


def _told(random: np.random.Generator, level: int, position: int, count: int, noise: nc.Mechanism) -> Told:
    """An answer that a count can have had, sometimes suppressed."""
    if isinstance(noise, nc.Exact):
        answer = float(count)
        hidden = level > 0 and random.random() < 0.2
        return Told(level, position, answer + hidden, noise, is_below=bool(hidden))
    answer = float(count + noise.draws(1, random)[0])  # type: ignore[attr-defined]
    hidden = level > 0 and random.random() < 0.2
    threshold = float(np.ceil(answer + 1))
    return Told(level, position, threshold if hidden else answer, noise, is_below=bool(hidden))


def check_law(fast: Any, law: Law) -> None:  # noqa: ANN401
    """The mean within 1e-10 standard deviations, quantiles equal, variance within 1e-8."""
    mean, variance = float(law.mean), max(0.0, float(law.variance))
    assert abs(fast.mean - mean) <= 1e-10 * variance**0.5 + 1e-13 * (1 + mean)
    assert fast.std**2 == pytest.approx(variance, rel=1e-8, abs=1e-12)
    assert fast.median == law.quantile(0.5)
    assert fast.interval(0.95) == (law.quantile(0.025), law.quantile(0.975))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(60))
def test_every_node_has_its_exact_law(seed: int) -> None:
    """Whatever the tree, the noises, the answers and the prior."""
    case = random_case(seed)
    found, oracle = case.posterior(), case.oracle
    assert found.evidence == pytest.approx(float(oracle.evidence), rel=1e-10, abs=1e-10)
    tree = oracle.tree
    for level, size in enumerate(tree.sizes):
        whole = found.level(level)
        for position in range(size):
            law = oracle.law([position], level)
            check_law(found.node((level, position)), law)
            assert abs(whole.mean[position] - float(law.mean)) <= 1e-10 * (1 + float(law.variance) ** 0.5)
            assert whole.median[position] == law.quantile(0.5)
            assert whole.low[position] == law.quantile(0.025)
            assert whole.high[position] == law.quantile(0.975)
        if level:
            sums = np.bincount(tree.parents(level), whole.mean)
            assert np.allclose(sums, found.level(level - 1).mean, rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore:sums of some cells")  # of a flat table, which is meant
@pytest.mark.parametrize("seed", range(40))
def test_sums_of_cells_have_their_exact_law(seed: int) -> None:
    """Of any cells, also of several branches."""
    case = random_case(seed)
    random = np.random.default_rng(seed)
    chosen = random.random(case.oracle.tree.cells) < 0.5
    if not chosen.any():
        chosen[0] = True
    check_law(case.posterior().sum(chosen), case.oracle.law(np.flatnonzero(chosen)))


@pytest.mark.parametrize("rate", [0.3, 0.75])
@pytest.mark.parametrize("noise", [nc.DiscreteLaplace(5), nc.Gaussian(3), nc.DiscreteGaussian(8)], ids=repr)
def test_two_cells_of_known_rates_are_a_binomial_count(noise: nc.Mechanism, rate: float) -> None:
    """A tree of two levels with `Multinomial` rates equals `posterior` with `Binomial`."""
    one = posterior(41, nc.Binomial(120, rate), noise)
    table = table_posterior([41, np.nan], noise, total=120, prior=nc.Splits.multinomial([rate, 1 - rate]))
    cell, other = table.node((1, 0)), table.node((1, 1))
    assert abs(cell.mean - one.mean) <= 1e-10 * one.std
    assert abs(other.mean - (120 - one.mean)) <= 1e-10 * one.std
    assert (cell.median, cell.mode) == (one.median, one.mode)
    assert cell.interval(0.95) == one.interval(0.95)
    assert cell.std == pytest.approx(one.std, rel=1e-9)


@pytest.mark.parametrize("total", [9, nc.Binomial(14, 0.5)], ids=repr)
@pytest.mark.parametrize(
    ("told", "noise"),
    [
        ([1, 5, 3], nc.DiscreteLaplace(2)),
        ([1, 5, 3], nc.Gaussian(1)),
        ([1, 5, -3], nc.DiscreteLaplace(2)),
        ([1, 5, -3], nc.Gaussian(3)),
    ],
    ids=repr,
)
def test_learned_cells_are_given_their_total(told: list[int], noise: nc.Mechanism, total: int | nc.Population) -> None:
    """Without a stated prior: the law of the total times that of the cells given their sum."""
    largest = total if isinstance(total, int) else 14
    tables = np.array([one for one in product(range(largest + 1), repeat=3) if sum(one) <= largest])
    logs = learn_cell_law(read_answers(told, noise, nc.Tree.flat(3), total)).log_pmf(tables).sum(axis=1)
    sums = tables.sum(axis=1)
    logs -= np.log(np.bincount(sums, np.exp(logs)))[sums]
    if isinstance(total, int):
        logs = np.where(sums == total, logs, -np.inf)
    else:
        logs += total.law().log_pmf(sums)
    for answer, counts in zip(told, tables.T, strict=True):
        logs += noise.logpmf(answer, counts)  # type: ignore[arg-type]
    evidence = np.logaddexp.reduce(logs)
    chances = np.exp(logs - evidence)
    found = table_posterior(told, noise, total=total)
    assert found.evidence == pytest.approx(evidence, abs=1e-11)
    assert np.allclose(found.mean, chances @ tables, rtol=0, atol=1e-11)
    for place, counts in enumerate(tables.T):
        cumulative = np.bincount(counts, chances).cumsum()
        for level, quantile in ((0.5, found.median), (0.025, found.low), (0.975, found.high)):
            assert quantile[place] == np.searchsorted(cumulative, level)


@pytest.mark.parametrize("seed", range(1, 20))
def test_draws_are_of_the_joint_law(seed: int) -> None:
    """Whole tables, by χ² over all tables that are not rare."""
    case = random_case(seed)
    weights = case.oracle.weights
    total = sum(weights.values(), arb(0))
    chances = {cells: float(weight / total) for cells, weight in weights.items()}
    number = 20_000
    drawn = case.posterior().draws(number, random_state=seed)
    assert drawn.shape == (number, case.oracle.tree.cells)
    tables, counts = np.unique(drawn, axis=0, return_counts=True)
    seen = {tuple(cells): count for cells, count in zip(tables.tolist(), counts, strict=True)}
    assert set(seen) <= set(chances)
    observed = np.array([seen.get(cells, 0) for cells in chances])
    assert_drawn(observed, np.array(list(chances.values())) * number)


ONES = (Fraction(1),)
APART = [
    EnumeratedTables(
        nc.Tree.flat(4),
        (Division(ONES * 4),),
        tuple(Told(1, cell, answer, nc.DiscreteLaplace(scale)) for cell, answer in enumerate([5.0, -2.0, 2.0, 5.0])),
        5,
    )
    for scale in (0.01, 0.02)
] + [
    EnumeratedTables(
        nc.Tree.of_keys({"site": ["a"], "cell": [0]}),
        (Division(ONES, is_multinomial=True),) * 2,
        (Told(1, 0, -0.66, nc.Gaussian(0.055)), Told(2, 0, 1.7046249414823933, nc.Gaussian(0.01))),
        (0, 30),
    ),
    EnumeratedTables(
        nc.Tree.flat(4),
        (Division(ONES * 4),),
        (
            Told(0, 0, 3.0, nc.DiscreteLaplace(0.01)),
            *(Told(1, cell, answer, nc.DiscreteGaussian(0.01)) for cell, answer in enumerate([0.0, 3.0, 2.0, 3.0])),
        ),
        (0, 14),
    ),
]


@pytest.mark.parametrize("oracle", APART)
def test_answers_that_contradict_each_other_have_their_laws(oracle: EnumeratedTables) -> None:
    """Answers hundreds of nats apart have exact laws, although windows begin far from the counts."""
    answers = {(told.level, told.position): told.answer for told in oracle.answers}
    laws = {(told.level, told.position): told.mechanism for told in oracle.answers}
    known = oracle.divisions[0].is_multinomial
    prior = nc.Splits([1.0] * oracle.tree.cells, is_multinomial=known)
    total = oracle.total if isinstance(oracle.total, int) else None
    found = table_posterior(answers, laws, oracle.tree, total, prior)
    assert found.evidence == pytest.approx(float(oracle.evidence), rel=1e-10)
    for level, size in enumerate(oracle.tree.sizes):
        for position in range(size):
            check_law(found.node((level, position)), oracle.law([position], level))
