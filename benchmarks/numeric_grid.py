"""Calls of the analysis for all populations and mechanisms: `python -m benchmarks.numeric_grid [WORD …]`.

It prints each call that takes over 2 s of processor time, that is stopped, or whose name contains all words.
"""

import math
import multiprocessing
import multiprocessing.connection
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

import noisycount as nc
from benchmarks.comparison import sized
from benchmarks.slow_numerics import tabulated

__all__ = ["CALLS", "LIMIT", "POPULATIONS", "SIZE", "processor_times"]

LIMIT = 2.0
"""Processor time of a call, in seconds."""

SIZE = sized(10**6, 50)
"""Records of each population."""

_PATIENCE = 20  # seconds of processor time, after which a call is stopped
_RATE = 0.3
_SAMPLE = SIZE // 2

POPULATIONS: Mapping[str, Callable[[], nc.Population]] = {
    "binomial": lambda: nc.Binomial(SIZE, _RATE),
    "beta-binomial": lambda: nc.BetaBinomial(SIZE, 3, 7),
    "arcsine": lambda: nc.BetaBinomial(SIZE, 0.5, 0.5),
    "two strata": lambda: nc.Strata([SIZE // 2] * 2, [0.1, 0.3]),
    "strata": lambda: nc.Strata([SIZE // 20] * 20, [(place + 0.5) / 20 for place in range(20)]),
    "table": lambda: tabulated(SIZE),
    "known": lambda: nc.Known(SIZE),
}
"""By name."""

_MECHANISMS: Mapping[str, Callable[[], nc.Mechanism]] = {
    "Laplace": lambda: nc.Laplace(10),
    "Gaussian": lambda: nc.Gaussian(10),
    "wide Gaussian": lambda: nc.Gaussian(sized(1000, 30)),
    "discrete Laplace": lambda: nc.DiscreteLaplace(10),
    "discrete Gaussian": lambda: nc.DiscreteGaussian(10),
    "two Laplace": lambda: nc.NoiseSum([nc.Laplace(3), nc.Laplace(4)]),
    "Laplace and Gaussian": lambda: nc.NoiseSum([nc.Laplace(3), nc.Gaussian(4)]),
    "two discrete": lambda: nc.NoiseSum([nc.DiscreteLaplace(3), nc.DiscreteGaussian(4)]),
    "sample": lambda: nc.Subsample(_SAMPLE),
    "sample, Laplace": lambda: nc.Subsample(_SAMPLE, nc.Laplace(10)),
}


def _posterior(population: nc.Population, mechanism: nc.Mechanism) -> nc.Posterior:
    """Return the posterior of an answer at the expected count."""
    share = _SAMPLE / SIZE if isinstance(mechanism, nc.Subsample) else 1
    return nc.posterior(round(share * population.law().mean), population, mechanism)


_TASKS: Mapping[str, Callable[[nc.Population, nc.Mechanism], object]] = {
    "posterior mean": lambda population, mechanism: _posterior(population, mechanism).mean,
    "interval": lambda population, mechanism: _posterior(population, mechanism).interval(0.95),
    "δ": lambda population, mechanism: nc.privacy_curve(mechanism, population).delta(0.01),
    "mean absolute error": lambda population, mechanism: nc.mean_absolute_error(population, mechanism, "mean"),
}
CALLS: Mapping[str, Callable[[], object]] = {
    f"{task}, {population}, {mechanism}": lambda task=task, population=population, mechanism=mechanism: _TASKS[task](  # type: ignore[misc]
        POPULATIONS[population](), _MECHANISMS[mechanism]()
    )
    for task, population, mechanism in product(_TASKS, POPULATIONS, _MECHANISMS)
    if task == "δ" or population != "known"  # whose count is known
}
"""By name."""


def processor_times(words: Sequence[str]) -> Iterator[tuple[str, float | None]]:
    """Yield the processor time of each call whose name contains all words; None if it raises a `ValueError`.

    Each call has a process of its own, as the next one would find its tables ready. A call that is stopped has
    infinite time.
    """
    fork = multiprocessing.get_context("fork")
    for name in CALLS:
        if not all(word in name for word in words):
            continue
        reader, writer = fork.Pipe(duplex=False)
        process = fork.Process(target=_run, args=(name, writer))
        process.start()
        writer.close()
        try:
            used = reader.recv()
        except EOFError:  # stopped by the limit of processor time
            used = math.inf
        process.join()
        yield name, used


def _run(name: str, writer: "multiprocessing.connection.Connection[float | None, float | None]") -> None:
    """Run a call and send its processor time."""
    warnings.simplefilter("ignore")  # an answer may be surprising at small sizes
    resource.setrlimit(resource.RLIMIT_CPU, (_PATIENCE, _PATIENCE))
    start = time.process_time()
    try:
        CALLS[name]()
    except ValueError:
        writer.send(None)
    else:
        writer.send(time.process_time() - start)


if __name__ == "__main__":
    for name, used in processor_times(sys.argv[1:]):
        if len(sys.argv) > 1 or (used is not None and used > LIMIT):
            print(name, "refused" if used is None else f"{used:.2f} s", flush=True)  # noqa: T201
