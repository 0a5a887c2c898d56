"""Which cells are meant."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["chosen_cells"]


def chosen_cells(cells: ArrayLike, size: int) -> NDArray[np.bool_]:
    """Cells as a mask.

    Args:
        cells: Their positions, each once, negative ones from the end; or a mask, shape (size,).
        size: How many cells there are.

    Raises:
        ValueError: If there is no such cell, none, or one twice.
    """
    given = np.asarray(cells)
    if given.dtype == np.bool_ and given.shape == (size,):
        is_in = given.copy()
    elif given.ndim == 1 and given.dtype.kind in "iu" and given.size:
        if given.min() < -size or given.max() >= size:
            wrong = int(given.max() if given.max() >= size else given.min())
            raise ValueError(f"cells must be positions from 0 to {size - 1}, got {wrong}")
        is_in = np.zeros(size, dtype=np.bool_)
        is_in[given] = True
        if int(is_in.sum()) != given.size:
            raise ValueError(f"cells must be different, got {given.size - int(is_in.sum())} twice")
    else:
        raise ValueError(f"cells must be positions or a mask of {size} cells, got {cells!r}")
    if not is_in.any():
        raise ValueError("cells must name at least one cell, got none")
    return is_in
