"""Errors of the posterior under a learned prior, beside raw and clipped answers, over histograms with known counts.

`python -m audits.learned_priors` prints the table that `docs/mathematics/posteriors.md` summarizes;
`test_table_posteriors.py` holds its limits. The histograms are three columns of the bundled survey and seven generated
shapes, of 512 cells each.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import duckdb
import numpy as np
from numpy.typing import NDArray

import noisycount as nc
from noisycount.data import survey_path

__all__ = ["RUNS", "Errors", "errors", "histograms", "table_text"]

Counts = NDArray[np.int64]
Shares = Callable[[np.random.Generator], NDArray[np.float64]]

CELLS, RECORDS, RUNS = 512, 20_000, 2
NOISE = nc.DiscreteLaplace(10)  # ε = 0.1
COLUMNS = {"age": 64.3, "income": 29_240, "medical_spending": 39_190}  # with the end of the last cell
RANKS = np.arange(1.0, CELLS + 1)
SHAPES: dict[str, Shares] = {
    "even": lambda _: np.ones(CELLS),
    "Zipf, sorted": lambda _: 1 / RANKS,
    "Zipf, in no order": lambda generator: 1 / generator.permutation(RANKS),
    "log-normal": lambda generator: generator.lognormal(0, 1.5, CELLS),
    "half empty": lambda generator: generator.lognormal(0, 1.5, CELLS) * (generator.random(CELLS) < 0.5),
    "one spike": lambda generator: np.where(generator.integers(CELLS) == RANKS, CELLS, 1.0),
    "two hills": lambda _: 2 * np.exp(-(((RANKS - 150) / 25) ** 2)) + np.exp(-(((RANKS - 360) / 50) ** 2)) + 0.01,
}


@dataclass(frozen=True)
class Errors:
    """Mean absolute errors of a cell in records, and the share of the 95 % intervals that hold the count."""

    raw: float  # of the noisy answers
    clipped: float  # of the answers, negative ones taken as 0
    learned: float  # of the posterior mean under a prior learned from the answers
    covered: float


def histograms() -> Iterator[tuple[str, Counts]]:
    """Yield the name and the true counts of each histogram."""
    with duckdb.connect() as connection:
        for column, end in COLUMNS.items():
            query = f"SELECT {column} FROM read_parquet(?) WHERE {column} IS NOT NULL"  # noqa: S608 - our own names
            values = connection.execute(query, [str(survey_path())]).fetchnumpy()[column]
            yield f"survey: {column}", np.histogram(values, CELLS, (0, end))[0].astype(np.int64)
    for name, shares in SHAPES.items():
        generator = np.random.default_rng([39, *name.encode()])
        weights = shares(generator)
        yield name, generator.multinomial(RECORDS, weights / weights.sum()).astype(np.int64)


def errors(name: str, counts: Counts, runs: int = RUNS) -> Errors:
    """Return the errors over releases of a histogram on a binary tree with a public total.

    The seed of the noise is the name and the number of the release.
    """
    scores = []
    for run in range(runs):
        noise = NOISE.draws(counts.size, np.random.default_rng([run, *name.encode()]))
        answers = (counts + noise).astype(np.int64)
        posterior = nc.table_posterior(answers, NOISE, nc.Tree.binary(counts.size), int(counts.sum()))
        estimates = answers, np.maximum(answers, 0), posterior.mean
        covered = (posterior.low <= counts) & (counts <= posterior.high)
        scores.append([*(np.abs(one - counts).mean() for one in estimates), covered.mean()])
    return Errors(*map(float, np.mean(scores, axis=0)))


def table_text(rows: dict[str, Errors]) -> str:
    """Return errors as a text table, and their geometric means over the raw error."""
    lines = [f"{'histogram':<26}  raw  clipped  learned  learned/raw  95 % intervals"]
    for name, one in rows.items():
        lines.append(
            f"{name:<26}{one.raw:5.2f}{one.clipped:9.2f}{one.learned:9.2f}{one.learned / one.raw:13.3f}"
            f"{one.covered:16.3f}"
        )
    ratios = np.array([[one.clipped / one.raw, one.learned / one.raw] for one in rows.values()])
    clipped, learned = np.exp(np.log(ratios).mean(axis=0))
    covered = np.mean([one.covered for one in rows.values()])
    lines.append(f"{'geometric mean over raw':<26}{1:5.2f}{clipped:9.2f}{learned:9.2f}{learned:13.3f}{covered:16.3f}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table_text({name: errors(name, counts) for name, counts in histograms()}))  # noqa: T201 - what it is for
