"""Names and numbers of cases: random examples, samples of one rule, and the seed of a run."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from types import FunctionType
from typing import TypeVar

from hypothesis import settings

Sample = TypeVar("Sample")
SEED = "NOISYCOUNT_SEED"
"""Name of the variable with the seed of random tests that vary; without it, the time of the run."""


def seed() -> str:
    """Return the seed of this run, the same in all its processes."""
    return os.environ.setdefault(SEED, str(int(datetime.now(UTC).timestamp())))


def examples(share: int) -> settings:
    """Return settings with this percentage of the usual random examples, for tests with slow examples."""
    return settings(max_examples=max(5, share * settings().max_examples // 100))


def share_of(samples: Sequence[Sample]) -> Sequence[Sample]:
    """Return all samples of one rule in a thorough run, and every fourth of them in others."""
    return samples if settings.get_current_profile_name() == "thorough" else samples[::4]


def case_name(value: object) -> str:
    """Return a name of a case that is the same in every process: no address of a function."""
    return value.__name__ if isinstance(value, FunctionType) else str(value)
