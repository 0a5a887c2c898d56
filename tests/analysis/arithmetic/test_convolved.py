import numpy as np
import pytest

from noisycount.analysis.arithmetic import difference as room
from noisycount.analysis.arithmetic.difference import convolved


@pytest.mark.parametrize(("first", "second"), [(1, 1), (3, 2000), (513, 1025), (1024, 512)])
def test_blocks_give_the_sums_of_products(
    first: int, second: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is left of the last block, over 600 orders of magnitude."""
    monkeypatch.setattr(room, "_SHORT", 0)
    generator = np.random.default_rng(5)
    one, other = (10 ** generator.uniform(-150, 0, size) for size in (first, second))
    np.testing.assert_allclose(convolved(one, other), np.convolve(one, other), rtol=1e-13)
