import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import noisycount as nc

LAW = nc.Binomial(100, 0.3)


@dataclass(frozen=True)
class Told:
    """An answer with its mechanism, as another package may have it."""

    answer: float
    mechanism: nc.Mechanism


def test_an_answer_may_bring_its_mechanism() -> None:
    """One, several, and beside plain numbers whose mechanisms are named."""
    wide, narrow = Told(35.2, nc.Laplace(10)), Told(31.0, nc.Gaussian(3))
    assert nc.posterior(wide, LAW).mean == nc.posterior(35.2, LAW, nc.Laplace(10)).mean
    both = nc.posterior([35.2, 31.0], LAW, [nc.Laplace(10), nc.Gaussian(3)])
    assert nc.posterior([wide, narrow], LAW).mean == both.mean
    assert nc.posterior([wide, 31.0], LAW, [nc.Laplace(10), nc.Gaussian(3)]).mean == both.mean


def test_a_column_of_answers_may_bring_one_mechanism() -> None:
    """Of several nobody could tell which a number has."""
    told = [Told(answer, nc.Laplace(10)) for answer in (35.2, 20.0)]
    expected = nc.refine([35.2, 20.0], LAW, nc.Laplace(10)).tolist()
    assert nc.refine(told, LAW).tolist() == expected
    assert nc.refine([told[0], 20.0], LAW, nc.Laplace(10)).tolist() == expected
    assert nc.refine(told[0], LAW) == expected[0]
    for mixed, several in (([*told, Told(3.0, nc.Laplace(5))], 2), ([told[0], 20.0], 1), (3, 0)):
        with pytest.raises(ValueError, match=rf"^mechanism must be given .*, got {several} diff"):
            nc.refine(mixed, LAW)


@pytest.mark.parametrize("answer", [35.2, [Told(35.2, nc.Laplace(10)), 3.5]])
def test_a_number_alone_is_refused(answer: float | list[float | Told]) -> None:
    """Without its mechanism it says nothing."""
    with pytest.raises(ValueError, match=r"^mechanism must be given with an answer that carries n"):
        nc.posterior(answer, LAW)


class Homemade(nc.Mechanism):
    """A mechanism by somebody who took `Mechanism` for a base of noises."""

    def likelihood(self, answer: float, size: int) -> Any:  # noqa: ANN401
        """A function in place of a factor."""
        return lambda count: math.exp(-abs(answer - count)) / size

    tail = likelihood

    def logpmf(self, answer: float, counts: Any, size: int | None = None) -> Any:  # noqa: ANN401
        """The density."""
        return -np.abs(answer - np.asarray(counts)) + (size or 0)

    def release(self, count: int) -> int:
        """No noise."""
        return count


def test_a_mechanism_from_elsewhere_is_refused_with_the_way() -> None:
    """Not with an error from deep inside."""
    message = r"^mechanism must be one of noisycount's mechanisms, got Homemade.*: derive a noise"
    for call in (nc.posterior, nc.refine):
        with pytest.raises(ValueError, match=message):
            call(3.0, LAW, Homemade())
