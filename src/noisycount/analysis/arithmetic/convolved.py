"""All products of two rows of positive numbers, added up."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from noisycount.model.laws.expansion import Reals

__all__ = ["convolved"]

_BLOCK = 512  # numbers: a matrix of 4 MB for each block of the second row
_SHORT = 1 << 27  # products that take less than many products of small matrices


def convolved(first: Reals, second: Reals) -> Reals:
    """Σ_i first[i]·second[n − i] for n = 0 and so on: nothing cancels, as by a Fourier transform.

    Long rows are cut into blocks, and each pair of blocks is a product of matrices.

    Args:
        first: Not negative, shape (m,).
        second: Not negative, shape (n,).

    Returns:
        Shape (m + n − 1,).
    """
    if first.size * second.size <= _SHORT:
        return np.convolve(first, second)
    rows = -(-first.size // _BLOCK)
    blocks = np.pad(first, (0, rows * _BLOCK - first.size)).reshape(rows, _BLOCK)
    columns = -(-second.size // _BLOCK)
    padded = np.pad(second, (_BLOCK - 1, (columns + 2) * _BLOCK - second.size))
    total = np.zeros((rows + columns, _BLOCK))
    for column in range(columns + 1):
        start = column * _BLOCK
        runs = sliding_window_view(padded[start : start + 2 * _BLOCK - 1], _BLOCK)
        shifted = np.ascontiguousarray(runs[::-1])  # [i, j] is second[start + j − i]
        total[column : column + rows] += blocks @ shifted
    return total.ravel()[: first.size + second.size - 1]
