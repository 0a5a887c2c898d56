"""Posteriors of tables: time, memory and error, beside a sampler and plain convolutions.

Each table is refined by a process of its own, so that its peak of memory is its own. The sampler
gets 1,000 sweeps over a table of the same cells and records; what it makes of the counts is shown
beside ours.
"""

import subprocess
import sys

import numpy as np
import pytest

import noisycount as nc
from benchmarks.comparison import Comparison, Show, medians, processor_seconds, seconds
from benchmarks.posterior_rivals import convolved_means, learned_law_means, sampled_means
from benchmarks.posterior_tables import CASES, SCALE, Case

MOST_MEMORY = 2e9


def ours(name: str) -> tuple[float, float, float]:
    """Processor time in seconds, peak in bytes, error over that of the answers."""
    ran = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-m", "benchmarks.posterior_tables", name], capture_output=True, check=True, text=True
    )
    taken, peak, error = map(float, ran.stdout.split()[-3:])
    return taken, peak, error


def rival(case: Case) -> tuple[str, float, float]:
    """Its name, its time in seconds, its error over that of the answers."""
    answers = case.answers(nc.Tree.flat(case.cells))[-1].astype(float)
    found: list[np.ndarray] = []
    if case.has_total:
        name, total = "sampler, 1,000 sweeps", case.records
        taken = seconds(lambda: found.append(sampled_means(answers, SCALE, total, 0.5)))
    else:
        name = "EM with a dense matrix"
        taken = seconds(lambda: found.append(learned_law_means(answers, SCALE)))
    raw = np.abs(answers - case.counts).mean()
    return name, taken, float(np.abs(found[0] - case.counts).mean() / raw)


@pytest.mark.parametrize("name", CASES)
def test_a_table_is_refined_within_its_limits(name: str, show: Show, capsys: pytest.CaptureFixture[str]) -> None:
    """Of time, and of 2 GB of memory."""
    case = CASES[name]
    taken, peak, error = ours(name)
    other, theirs, their_error = rival(case)
    found = Comparison(name, taken, other, theirs, case.limit)
    show(found)
    with capsys.disabled():
        print(f"\n{name}: peak {peak / 1e9:.2f} GB", end=", ")  # noqa: T201
        print(f"error over raw {error:.3f}, {other} {their_error:.3f}")  # noqa: T201
    assert found.kept
    assert peak <= MOST_MEMORY


def test_windows_beat_convolutions_of_whole_laws(show: Show) -> None:
    """A binary tree of 64 leaves and 2,000 records, with the same means."""
    generator = np.random.default_rng(1)
    counts = generator.multinomial(2000, generator.dirichlet(np.full(64, 0.5)))
    answers = counts + nc.DiscreteLaplace(SCALE).draws(64, generator)

    def windowed() -> np.ndarray:
        tree, prior = nc.Tree.binary(64), nc.Splits(0.5)
        return nc.table_posterior(answers, nc.DiscreteLaplace(SCALE), tree, 2000, prior).mean

    def whole() -> np.ndarray:
        return convolved_means(answers, SCALE, 2000, 0.5)

    assert windowed() == pytest.approx(whole(), abs=1e-6)
    us, them = medians(3, lambda: seconds(windowed), lambda: seconds(whole))
    found = Comparison("tree, 64 cells, 2,000 records", us, "numpy.convolve", them, them)
    show(found)
    assert found.kept


def test_sums_of_cells_and_known_rates_without_a_total(show: Show) -> None:
    """The sum of 15 of 33 cells; a table with known rates whose total is not public: processor time."""
    case, tree, noise = CASES["histogram, 32 cells, learned"], nc.Tree.binary(33), nc.DiscreteLaplace(SCALE)
    answers = np.append(case.counts, 0) + noise.draws(33, np.random.default_rng(1))
    found: list[nc.TablePosterior] = []
    learned = processor_seconds(lambda: found.append(nc.table_posterior(answers, noise, tree, case.records)))
    added = processor_seconds(lambda: found[0].sum(np.arange(3, 18)).mean)
    even = 300 + noise.draws(64, np.random.default_rng(2))
    rates = nc.Splits.multinomial(1)
    known = processor_seconds(lambda: nc.table_posterior(even, noise, nc.Tree.binary(64), prior=rates))
    comparisons = [
        Comparison("the sum of 15 of 33 cells", added, "their posterior", learned, 0.5),
        Comparison("64 cells, known rates, no total", known, "a learned one, 33 cells", learned, 2),
    ]
    for one in comparisons:
        show(one)
    assert all(one.kept for one in comparisons)
