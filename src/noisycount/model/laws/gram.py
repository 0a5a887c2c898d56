"""Sums over many consecutive integers from a few points: Gauss's rule for the counting measure."""

from functools import lru_cache

import numpy as np

from noisycount.model.laws.gamma import Reals

# Points of a rule: it sums a polynomial of degree 47 exactly, and e^(−s·k) over k < L to the last
# digits of a double where s·L <= 8.
POINTS = 24


@lru_cache(maxsize=512)
def gram_rule(length: int) -> tuple[Reals, Reals]:
    """Nodes x and positive weights w with Σ_{k=0}^{length−1} f(k) = Σ w·f(x) for smooth f.

    The nodes are the eigenvalues of the Jacobi matrix of the Gram (discrete Chebyshev) polynomials, whose squared
    off-diagonal is j²(L² − j²)/(4(4j² − 1)). Up to `POINTS` integers are summed term by term.

    Source: Golub and Welsch (1969); Szegő, *Orthogonal Polynomials*, section 2.8.
    """
    if length <= POINTS:
        nodes = np.arange(POINTS, dtype=np.float64)
        return np.minimum(nodes, length - 1), (nodes < length).astype(np.float64)
    degrees = np.arange(1, POINTS, dtype=np.float64)
    squares = degrees**2 * (float(length) ** 2 - degrees**2) / (4 * (4 * degrees**2 - 1))
    matrix = np.diag(np.sqrt(squares), 1)
    nodes, vectors = np.linalg.eigh(matrix + matrix.T)
    return nodes + (length - 1) / 2, length * vectors[0] ** 2


def gram_points(edges: Reals) -> tuple[Reals, Reals]:
    """Points and weights that sum over the integers from edge to edge, each run by its own rule."""
    lengths = np.diff(edges).astype(np.int64)
    points, weights = [np.empty(0)], [np.empty(0)]
    for length in np.unique(lengths).tolist():
        nodes, rule = (values[: min(length, POINTS)] for values in gram_rule(length))
        held = edges[:-1][lengths == length][:, None] + nodes
        points.append(held.ravel())
        weights.append(np.broadcast_to(rule, held.shape).ravel())
    return np.concatenate(points), np.concatenate(weights)
