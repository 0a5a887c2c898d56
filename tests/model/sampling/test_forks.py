"""Workers that were forked from one parent never draw the same noise."""

import os
import subprocess
import sys
from collections import Counter
from textwrap import dedent

import pytest

WORKERS = 8
DRAWS = 20
# In a process of its own: a fork of the one that runs the tests would copy their threads.
FORKING = """
    import os
    from fractions import Fraction
    from noisycount.model.noises import additive as noise
    from noisycount.model.noises import noise_sum
    from noisycount.model.sampling import scalar as sampler
    from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
    from noisycount.model.noises.laplace import DiscreteLaplace
    from noisycount.model.noises.laplace import Laplace

    {before}
    laws = [law(2**45) for law in (DiscreteLaplace, DiscreteGaussian, Laplace)]
    for law in laws:
        law.release(0)  # whatever the parent keeps after a release, its children have too
        law.samples(3) if hasattr(law, "samples") else None
    {after}
    for worker in range({workers}):
        reading, writing = os.pipe()
        if os.fork() == 0:
            draws = [law.release(0) for law in laws for _ in range({draws})]
            draws += [int(x) for law in laws[:2] for x in law.samples({draws})]
            os.write(writing, " ".join(map(repr, draws)).encode())
            os._exit(0)
        os.wait()
        print(os.read(reading, 1 << 16).decode())
        os.close(reading), os.close(writing)
"""


def draws_of_workers(before: str = "", after: str = "") -> Counter[str]:
    """How often each draw came out, over all workers."""
    code = dedent(FORKING).format(before=dedent(before), after=after, workers=WORKERS, draws=DRAWS)
    told = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    return Counter(told.stdout.split())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_workers_never_share_a_stream() -> None:
    """Among 800 draws at a scale of 2^45 two are equal by chance once in 10^8 runs."""
    counts = draws_of_workers()
    assert counts.total() == WORKERS * 5 * DRAWS
    assert len(counts) == counts.total()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_stream_that_is_kept_across_a_fork_is_found() -> None:
    """The comparison above can fail: with one pool of random bits for all, workers repeat it."""
    counts = draws_of_workers(
        """
        kept = sampler.RandomIntegers()
        noise.RandomIntegers = lambda: kept
        """,
        after="kept._available, kept._pool = 10**5, kept.bits(10**5) | 1 << 10**5",
    )
    assert max(counts.values()) == WORKERS
