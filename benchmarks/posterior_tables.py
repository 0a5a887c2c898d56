"""The tables whose posteriors are timed: `python -m benchmarks.posterior_tables NAME`.

It prints the processor time in seconds, the most memory that the process took in bytes, and the mean absolute
error of the cells over that of the answers.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import noisycount as nc
from benchmarks.comparison import is_small

__all__ = ["CASES", "SCALE", "Case"]

Counts = NDArray[np.int64]
Trees = Callable[[], nc.Tree]

SCALE = 10
_STATED = 0.5  # records that a cell of a stated prior counts as


@dataclass(frozen=True, slots=True)
class Case:
    """A table with noise of scale 10 on its answers.

    Args:
        cells: How many.
        records: How many, on all cells together.
        limit: What it may take, in seconds of processor time.
        tree: None: a flat one.
        levels: Those that are answered.
        is_stated: Whether the prior is stated, not learned.
        has_total: Whether the number of records is public.
        is_sparse: True if half of the cells are empty.
    """

    cells: int
    records: int
    limit: float
    tree: Trees | None = None
    levels: tuple[int, ...] = (-1,)
    is_stated: bool = False
    has_total: bool = True
    is_sparse: bool = False

    @property
    def counts(self) -> Counts:
        """The true ones: log-normal shares, always the same."""
        generator = np.random.default_rng(self.cells)
        shares = generator.lognormal(0, 1.5, self.cells)
        if self.is_sparse:
            shares *= generator.random(self.cells) < 0.5
        return generator.multinomial(self.records, shares / shares.sum()).astype(np.int64)

    def answers(self, tree: nc.Tree) -> dict[int, Counts]:
        """Noisy answers of all nodes of the answered levels."""
        generator, noise = np.random.default_rng(1), nc.DiscreteLaplace(SCALE)
        found = {}
        for level in self.levels:
            sums = self.counts
            for finer in range(tree.depth - 1, level % tree.depth, -1):
                sums = np.bincount(tree.parents(finer), sums).astype(np.int64)
            found[level] = sums + noise.draws(sums.size, generator).astype(np.int64)
        return found

    def run(self) -> tuple[float, float]:
        """The processor time in seconds, and the error of the cells over that of their answers."""
        tree = nc.Tree.flat(self.cells) if self.tree is None else self.tree()
        answers, found = self.answers(tree), []

        def posterior() -> None:
            found.append(
                nc.table_posterior(
                    answers,
                    nc.DiscreteLaplace(SCALE),
                    tree,
                    total=self.records if self.has_total else None,
                    prior=nc.Splits(_STATED) if self.is_stated else None,
                ).mean
            )

        nc.table_posterior([9, 4], nc.DiscreteLaplace(SCALE), nc.Tree.binary(2), 20)  # what is imported on first use
        start = time.process_time()
        posterior()
        taken = time.process_time() - start
        raw = np.abs(answers[self.levels[-1]] - self.counts).mean()
        return taken, float(np.abs(found[0] - self.counts).mean() / raw)


def _keys() -> nc.Tree:
    """50 regions of 60 towns with 40 ages."""
    cells = np.arange(50 * 60 * 40)
    regions, towns, ages = cells // 2400, cells // 40 % 60, cells % 40
    return nc.Tree.of_keys({"region": regions, "town": towns, "age": ages})


def _sparse(cells: int, limit: float) -> Case:
    """A histogram with many empty cells on a binary tree."""
    return Case(cells, 20_000, limit, lambda: nc.Tree.binary(cells), is_sparse=True)


CASES: dict[str, Case] = {
    "histogram, 32 cells, learned": _sparse(32, 0.5),
    "histogram, 64 cells, learned": _sparse(64, 1),
    "histogram, 128 cells, learned": _sparse(128, 2),
    "histogram, 256 cells, learned": _sparse(256, 3),
    "histogram, 512 cells, learned": _sparse(512, 6),
    "histogram, 4,096 cells, learned": _sparse(4096, 20),
    "flat, 10,000 cells, stated": Case(10_000, 10**6, 10, is_stated=True),
    "flat, 10,000 cells, learned": Case(10_000, 10**6, 60),
    "tree, 4,096 cells, stated": Case(4096, 10**5, 10, lambda: nc.Tree.binary(4096), is_stated=True),
    "tree, 4,096 cells, learned": Case(4096, 10**5, 60, lambda: nc.Tree.binary(4096)),
    "50 × 60 × 40 cells, learned": Case(120_000, 10**7, 60, _keys, (1, 2, 3)),
    "64 cells, 1e9 records, learned": Case(64, 10**9, 60, lambda: nc.Tree.binary(64)),
    "1e6 cells, no total, learned": Case(10**6, 10**7, 10, has_total=False),
}
"""By name, with the limits that we set ourselves."""

if is_small():
    CASES = {
        name: replace(case, cells=32, records=1000, tree=case.tree and (lambda: nc.Tree.binary(32)), levels=(-1,))
        for name, case in CASES.items()
    }

if __name__ == "__main__":
    taken, ratio = CASES[sys.argv[1]].run()
    (line,) = [each for each in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in each]
    print(taken, int(line.split()[1]) * 1024, ratio)  # noqa: T201 - for who started it
