"""The averages of an estimate by simulation, to check what is computed exactly."""

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from noisycount.analysis.evaluation.evaluation import ESTIMATES, Estimated
from noisycount.analysis.posterior.refine import refined
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.population import Population
from noisycount.validation import instance_of, whole_number

_BLOCK = 1 << 17
_EQUAL = 1e-11


@frozen
class Simulated:
    """The three averages of an estimate, each with its standard error."""

    runs: int  # how many counts and answers were drawn
    mean_absolute_error: float  # E|K − estimate|, in records
    mean_absolute_error_standard_error: float  # its standard error
    improvement_probability: float  # P[|K − estimate| < |K − Y|]
    improvement_probability_standard_error: float  # its standard error
    tie_probability: float  # P[|K − estimate| = |K − Y|]
    tie_probability_standard_error: float  # its standard error


def simulated(  # noqa: PLR0913, PLR0917  (what is simulated, and how)
    population: Population,
    mechanism: Mechanism,
    by: Estimated,
    runs: int,
    seed: int,
    assumed: Population | None = None,
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Simulated:
    """The mean absolute error of an estimate and how often it is better, by simulation.

    Runs are drawn in blocks of 2^17, each from a stream of its own that the seed and its number determine, so that the
    result does not depend on the number of workers.

    Example:
        >>> from noisycount.model.noises.laplace import Laplace
        >>> from noisycount.model.populations.binomial import Binomial
        >>> found = simulated(Binomial(100, 0.3), Laplace(1), "mean", runs=10_000, seed=1)
        >>> abs(found.mean_absolute_error - 0.9805) < 5 * found.mean_absolute_error_standard_error
        True
    """
    if by not in ESTIMATES:
        raise ValueError(f"by must be one of {', '.join(map(repr, ESTIMATES))}, got {by!r}")
    instance_of(population, Population, "population")
    if not isinstance(mechanism, SymmetricNoise):
        raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere in analysis)
            f"mechanism must be noise that is added to the count, got {mechanism!r}"
        )
    total = whole_number(runs, "runs", smallest=2)
    blocks = [min(_BLOCK, total - start) for start in range(0, total, _BLOCK)]
    streams = np.random.SeedSequence(whole_number(seed, "seed")).spawn(len(blocks))
    believed = population if assumed is None else assumed
    threads = (os.cpu_count() or 1) if workers is None else workers
    threads = whole_number(threads, "workers", smallest=1)

    def sums(block: int) -> Reals:
        generator = np.random.default_rng(streams[block])
        counts = population.draws(blocks[block], generator)
        answers = counts + mechanism.draws(blocks[block], generator)
        return _sums(counts, answers, _estimates(answers, believed, mechanism, by))

    with ThreadPoolExecutor(threads) as pool:
        found = []
        for done, part in enumerate(pool.map(sums, range(len(blocks))), start=1):
            found.append(part)
            if progress is not None:
                progress(done / len(blocks))
    return _summarised(total, np.array(found), blocks)


def _estimates(answers: Reals, believed: Population, mechanism: Mechanism, by: Estimated) -> Reals:
    """The estimates from the answers."""
    if by == "answer":
        return answers
    if by == "rounded":
        return np.clip(np.floor(answers + 0.5), 0, believed.records)
    return refined(answers, believed, mechanism, by)


def _sums(counts: Reals, answers: Reals, estimates: Reals) -> Reals:
    """The mean error of a block, its squared deviations, the improvements and the ties."""
    away, raw = np.abs(counts - estimates), np.abs(counts - answers)
    tied = np.abs(away - raw) <= _EQUAL * np.maximum(1.0, np.maximum(away, raw))
    if estimates is not answers and not _all_whole(answers):
        tied &= away == raw
    mean = away.mean()
    squares = ((away - mean) ** 2).sum()
    return np.array([mean, squares, ((away < raw) & ~tied).sum(), tied.sum()])


def _all_whole(answers: Reals) -> bool:
    """Whether all answers are integers, as under discrete noise."""
    return bool((answers == np.floor(answers)).all())


def _summarised(runs: int, found: Reals, blocks: list[int]) -> Simulated:
    """The averages over the blocks, always joined in the same order."""
    sizes = np.array(blocks, dtype=np.float64)
    means, squares, improved, tied = found.T
    mean = float(sizes @ means) / runs
    spread = float(squares.sum() + sizes @ (means - mean) ** 2) / (runs - 1)
    shares = [float(part.sum()) / runs for part in (improved, tied)]
    standard_errors = [math.sqrt(share * (1 - share) / runs) for share in shares]
    return Simulated(runs, mean, math.sqrt(spread / runs), shares[0], standard_errors[0], shares[1], standard_errors[1])
