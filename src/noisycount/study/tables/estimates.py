"""What several people make of one release."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from noisycount.analysis.posterior.refine import refined
from noisycount.analysis.tables.table_estimates import TablePosterior
from noisycount.analysis.tables.table_posterior import table_posterior
from noisycount.model.populations.beta_binomial import BetaBinomial
from noisycount.model.tables.combined import combined
from noisycount.model.tables.tree import Tree
from noisycount.study.tables.projection import nearest_counts, nearest_tree
from noisycount.study.tables.release import Estimate, SimulatedRelease

__all__ = ["estimates"]


def estimates(release: SimulatedRelease) -> Iterator[tuple[str, Estimate]]:
    """What everybody makes of it, each with a name.

    `raw`, `clamped` at 0, `projected` on the total, `flat posterior` (each cell by itself, all
    counts up to the total equally likely before), and `tree`, whose prior is learned. Where the
    cells alone are answered also `independent` (a learned law of one cell) and `flat` (a learned
    prior of one level); else `least squares` over all levels. `tree median` has medians for means.
    """
    yield "raw", release.raw()
    yield from _simple(release)
    posterior = _tree(release)
    yield "tree", _of_means(release, posterior)
    yield "tree median", _of_medians(release, posterior)


def _simple(release: SimulatedRelease) -> Iterator[tuple[str, Estimate]]:
    table, cells, noise = release.table, release.answers[-1], release.noise
    yield "clamped", Estimate.added(table, np.maximum(cells, 0.0))
    flat = refined(cells, BetaBinomial(table.total, 1, 1), noise)
    yield "flat posterior", Estimate.added(table, flat)
    if len(release.levels) > 1:
        fitted = combined(release.levels[::-1], release.answers[::-1], release.variances[::-1])[0]
        yield "least squares", Estimate.added(table, fitted)
        nearest = nearest_tree(release.levels, release.answers, release.variances, table.total)
        yield "projected", Estimate.added(table, nearest)
        return
    yield "projected", Estimate.added(table, nearest_counts(cells, table.total))
    independent = table_posterior(cells, noise)
    yield "independent", _flat(release, independent)
    yield "flat", _flat(release, table_posterior(cells, noise, total=table.total))


def _tree(release: SimulatedRelease) -> TablePosterior:
    """All answers, with a prior learned from them alone."""
    answers = dict(zip(release.places, release.answers, strict=True))
    tree = Tree(tuple(level.of_cell.astype(np.int64) for level in release.table.levels))
    return table_posterior(answers, release.noise, tree, release.table.total)


def _flat(release: SimulatedRelease, posterior: TablePosterior) -> Estimate:
    """Means of a flat table, added up, and the intervals of its cells."""
    added = Estimate.added(release.table, posterior.mean)
    return replace(added, cell_range=(posterior.low, posterior.high))


def _of_means(release: SimulatedRelease, posterior: TablePosterior) -> Estimate:
    levels = [posterior.level(place) for place in range(1, len(release.table.levels) - 1)]
    ranges = tuple((level.low, level.high) for level in levels)
    return replace(_flat(release, posterior), margin_ranges=ranges)


def _of_medians(release: SimulatedRelease, posterior: TablePosterior) -> Estimate:
    """Medians of cells and margins, which do not add up; sums of means."""
    *margins, cells = (
        posterior.level(place).median.astype(np.float64)
        for place in range(1, len(release.table.levels))
    )
    return Estimate(cells, tuple(margins), np.cumsum(posterior.mean))
