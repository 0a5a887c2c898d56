"""Mean absolute error of the posterior mean as a sum over the integers that the mean passes, for rough distributions.

Let j be an integer, and y a real answer whose posterior mean lies between j and j + 1. With the weights
w_k = P[K = k]·f(y − k), the sums L0 = Σ_{k <= j} w_k and U0 = Σ_{k > j} w_k, and the first moments about j,
L1 = Σ_{k <= j} w_k·(j − k) and U1 = Σ_{k > j} w_k·(k − j), the density of the error is
Σ_k w_k·|k − mean| = 2·(U1·L0 + L1·U0)/(U0 + L0). No term is negative.

With y = j + v, each sum is Σ_i P[K = j ± i]·f(v ∓ i): a product of the probabilities around j and of numbers that
depend on v alone. So all sums are one product of matrices, whatever the probabilities are. If the noise is discrete,
the numbers are f at the integers v. Otherwise they are the coefficients of Chebyshev series in v. Noise with a kink at
0 has a series in each cell between two integers for the counts near j, and one series for the farther ones.
"""

import math
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.polynomial.chebyshev import chebpts1, chebvander
from numpy.polynomial.legendre import leggauss, legvander
from numpy.typing import NDArray

from noisycount.analysis.evaluation.estimates import Case
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals

Places = NDArray[np.int64]
_FEWEST = 2000  # counts of a table: fewer take less time one by one
_NARROWEST = 2.0  # records of spread, below which series need too many terms
_FARTHEST = 1024  # records of reach: products for wider noise take too long
_DEPTH = 40.0  # nats by which the density falls within the windows
_PER_SPREAD = 0.35  # distance of an answer from its mean that the series cover, in spreads
_CLOSEST = 3  # smallest such distance, in records
_NODES = 32  # of a series before its last terms are left out
_LOST = 1e-13  # size of terms that are left out, relative to the largest density
_BLOCK = 64  # integers of a block of the product of matrices
_CHUNK = 1 << 15  # integers whose series are in memory at once
_POINTS, _WEIGHTS = leggauss(5)
_TO_SERIES = np.linalg.inv(legvander(_POINTS, _POINTS.size - 1))
# Largest last term of a series over a piece, relative to the mean integral of a piece. The rule of five nodes
# integrates polynomials of degree 9 exactly: its error is about the power 5/2 of that term.
_SMOOTH = 1e-5
_NEGLIGIBLE = 1e-11  # relative size of pieces that need no precision
_HALVINGS = 12  # largest number of halvings of a piece
_SECANTS = 3  # steps of the search for the answer whose mean is an integer
_MOST_GAPS = 64  # largest number of runs of answers that the series do not cover


class Gap(NamedTuple):
    """Answers from `low` to `high` that are farther from their posterior mean than the series reach."""

    low: float
    high: float


class PieceSum(NamedTuple):
    """Integral or sum of the density of the error over the answers that the series cover, and the gaps between them."""

    error: float  # in records
    gaps: tuple[Gap, ...]  # in rising order; integers are answers of a gap if the noise is discrete


class _Sums(NamedTuple):
    """The sums L0, L1, U0 and U1 of the module docstring at some answers, in arrays of one shape."""

    lower: Reals  # L0
    lower_moment: Reals  # L1
    upper: Reals  # U0
    upper_moment: Reals  # U1

    @property
    def densities(self) -> Reals:
        """Densities of the error at the answers, relative to the largest density of the noise."""
        lower, lower_moment, upper, upper_moment = (np.maximum(values, 0.0) for values in self)
        total = np.maximum(upper + lower, np.finfo(float).tiny)
        return 2 * (upper_moment * (lower / total) + lower_moment * (upper / total))


@frozen(eq=False, slots=False)
class _Kernel:
    """Factors of the four sums that depend on v = y − j alone, for the counts on one side of an integer j.

    The counts are at the distances i = first, first + 1, … from j.
    """

    first: int  # smallest distance i
    numbers: Reals  # for each i: the terms of f, then the terms times i; shape (distances, 2·terms)

    @classmethod
    def of_terms(cls, first: int, terms: Reals) -> "_Kernel":
        """Return the kernel of a noise density f with these series coefficients ("terms"), shape (distances, terms)."""
        distances = first + np.arange(len(terms), dtype=np.float64)
        return cls(first, np.concatenate([terms, distances[:, None] * terms], axis=1))

    @cached_property
    def matrix(self) -> Reals:
        """Matrix that turns consecutive probabilities into the sums at the integers of a block."""
        length, columns = self.numbers.shape
        matrix = np.zeros((length + _BLOCK - 1, _BLOCK, columns))
        for place in range(_BLOCK):
            matrix[place : place + length, place] = self.numbers
        return matrix.reshape(len(matrix), -1)

    def products(self, weights: Reals, begin: int, number: int) -> Reals:
        """Return the matrix times the probabilities around consecutive integers, shape (number, 2, terms).

        Args:
            weights: Probabilities of the counts, with zeros added at both ends.
            begin: Index of the first weight in the sums of the first integer.
            number: Number of integers.
        """
        stop = begin + math.ceil(number / _BLOCK) * _BLOCK
        slabs = sliding_window_view(weights, len(self.matrix))[begin:stop:_BLOCK]
        return (np.ascontiguousarray(slabs) @ self.matrix).reshape(stop - begin, 2, -1)[:number]


@frozen(eq=False, slots=False)
class ErrorByPiece:
    """The four sums of the module docstring for each integer j of the table, at answers up to `width` from j."""

    case: Case
    width: int  # R: v lies in −R … R + 1
    reach: int  # largest distance in records of a count in a sum

    @classmethod
    def of_case(cls, case: Case) -> "ErrorByPiece | None":
        """Return the sums, or None if there are few counts, or the noise is too narrow, too wide or too rough."""
        errors = case.errors
        reach, is_alike = errors.distance_at_depth(_DEPTH), case.truth is case.belief
        is_fit = errors.spread >= _NARROWEST and reach <= _FARTHEST and not errors.is_geometric
        if not is_alike or not is_fit or case.truth.table.logs.size < _FEWEST:
            return None
        found = cls(case, max(_CLOSEST, round(_PER_SPREAD * errors.spread)), math.ceil(reach))
        return found if found._is_resolved else None

    @property
    def _is_resolved(self) -> bool:
        """True if each series needs fewer terms than it has nodes."""
        if self.case.errors.is_discrete:
            return True
        return max(self._far_terms[0].shape[1], self.interval_terms.shape[1] if self.is_kinked else 0) < _NODES

    @property
    def is_kinked(self) -> bool:
        """True if the density may have a kink at 0."""
        return not self.case.errors.is_discrete and self.case.errors.smooth_over == 0

    @property
    def _smallest_far_distance(self) -> int:
        """Smallest distance of a count from an integer such that no answer lies between them; 0 without a kink."""
        return self.width + 2 if self.is_kinked else 0

    @cached_property
    def _far_terms(self) -> tuple[Reals, Reals]:
        """Series coefficients of the noise density f(v ± i) by distance i of far counts, shape (distances, terms)."""
        distances = np.arange(self._smallest_far_distance, self.reach + 1, dtype=np.float64)[:, None]
        if self.case.errors.is_discrete:
            answers = np.arange(-self.width, self.width + 2, dtype=np.float64)
            return self._relative_densities(answers + distances), self._relative_densities(answers - distances)
        nodes = chebpts1(_NODES)
        answers = 0.5 + (self.width + 0.5) * nodes
        to_series = np.linalg.inv(chebvander(nodes, _NODES - 1)).T
        lower, upper = (self._relative_densities(answers + sign * distances) @ to_series for sign in (1, -1))
        needed = _last_needed_term(np.maximum(np.abs(lower), np.abs(upper)))
        return lower[:, :needed], upper[:, :needed]

    @cached_property
    def interval_terms(self) -> Reals:
        """Chebyshev coefficients of the noise density f between neighbouring integers, shape (intervals, terms).

        The intervals lie between the integers from −2R − 1 to 2R + 2, where R is `width`.
        """
        nodes = chebpts1(_NODES)
        starts = np.arange(-2 * self.width - 1, 2 * self.width + 2, dtype=np.float64)[:, None]
        series = self._relative_densities(starts + (1 + nodes) / 2) @ np.linalg.inv(chebvander(nodes, _NODES - 1)).T
        return np.ascontiguousarray(series[:, : _last_needed_term(np.abs(series))])

    def _relative_densities(self, errors: Reals) -> Reals:
        """Return the density relative to the largest one."""
        law = self.case.errors
        return np.exp(law.log_density(errors) - law.log_density(np.zeros(1))[0])

    @cached_property
    def kernels(self) -> tuple[_Kernel, _Kernel]:
        """Two kernels for an integer j: for the counts below j, from the farthest on, and for the counts above j."""
        lower, upper = self._far_terms
        first = self._smallest_far_distance
        below, above = _Kernel.of_terms(first, lower), _Kernel.of_terms(first, upper)
        if not first:  # the count j is not above j
            above = _Kernel(1, above.numbers[1:])
        return _Kernel(first, np.ascontiguousarray(below.numbers[::-1])), above

    @cached_property
    def near_kernels(self) -> dict[int, tuple[Reals, Reals]]:
        """Factors of the near counts below and above an integer, by the lower end v of the answer's unit interval."""
        terms, kernels = self.interval_terms, {}
        for cell in range(-self.width, self.width + 1):
            place = cell + 2 * self.width + 1
            below = _Kernel.of_terms(0, terms[place : place + self.width + 2]).numbers[::-1]
            above = _Kernel.of_terms(1, terms[place - self.width - 1 : place][::-1]).numbers
            kernels[cell] = np.ascontiguousarray(below), np.ascontiguousarray(above)
        return kernels

    @cached_property
    def near_moments(self) -> Reals:
        """Parts of U1 − L1, as the module defines them, from the counts near integers v, shape (counts, integers)."""
        steps = np.arange(-self.width - 1, self.width + 2, dtype=np.float64)[:, None]
        return steps * self._relative_densities(np.arange(-self.width, self.width + 2) - steps)

    @cached_property
    def weights(self) -> Reals:
        """Probabilities of the counts, with `padding` zeros added at both ends."""
        return np.pad(self.case.chances, self.padding)

    @property
    def padding(self) -> int:
        """Number of zeros that are added at each end of the probabilities."""
        return self.reach + 4 * self.width + 2 * _BLOCK

    @property
    def sum(self) -> PieceSum | None:
        """Integral or sum of the density of the error over most answers.

        None if too many answers are left out, or if the result would be imprecise.
        """
        return self._sum_over_answers if self.case.errors.is_discrete else self._sum_by_integrals

    @property
    def _sum_over_answers(self) -> PieceSum | None:
        """Sum over the integer answers whose posterior mean is at most `width` records away from the answer."""
        table, width = self.case.truth.table, self.width
        total, others = (
            0.0,
            [np.arange(self.case.span[0], table.first), np.arange(table.last + 1, self.case.span[1] + 1)],
        )
        for start in range(0, table.logs.size, _CHUNK):
            number = min(_CHUNK, table.logs.size - start)
            sums = _SumsAroundIntegers(self, start - width - 1, number + 2 * width + 2).at_integers
            block = np.arange(width + 1, width + 1 + number)
            masses = sums.lower[block, width] + sums.upper[block, width]
            moments = sums.upper_moment[block, width] - sums.lower_moment[block, width]
            with np.errstate(divide="ignore", invalid="ignore"):
                distances = np.floor(moments / masses)
            is_near = (distances >= -width - 1) & (distances <= width)
            places = (block + np.where(is_near, distances, 0)).astype(np.int64)
            steps = (width - np.where(is_near, distances, 0)).astype(np.int64)
            picked = _Sums(*(values[places, steps] for values in sums))
            total += float(picked.densities[is_near].sum())
            others.append(table.first + start + np.flatnonzero(~is_near))
        rest = np.sort(np.concatenate(others))
        ends = np.flatnonzero(np.diff(rest) > 1)
        lows, highs = rest[np.append(0, ends + 1)], rest[np.append(ends, -1)]
        return self._with_gaps(total, lows, highs)

    @property
    def _sum_by_integrals(self) -> PieceSum | None:
        """Integral over the answers whose posterior mean lies between two integers at most `width` from them."""
        table, first = self.case.truth.table, self.case.truth.table.first
        floor = _NEGLIGIBLE * self.case.errors.spread / self.case.errors.peak / table.logs.size
        total, covered = 0.0, []
        for start in range(0, table.logs.size, _CHUNK):
            around = _SumsAroundIntegers(self, start, min(_CHUNK, table.logs.size - start) + 1)
            integer_answers = around.integer_answers
            begins, ends = integer_answers[:-1], integer_answers[1:] + 1
            rows = np.flatnonzero((ends >= begins) & (ends <= self.width + 1))
            part = around.integral(rows, begins[rows], ends[rows], floor)
            if part is None:
                return None
            total += part
            covered.append(np.stack([begins[rows], ends[rows]]) + (first + start + rows))
        lows, highs = np.concatenate(covered, axis=1)
        edges = np.concatenate([[self.case.span[0]], highs]), np.append(lows, self.case.span[1])
        is_gap = edges[1] - edges[0] > 1e-9 * np.maximum(1.0, np.abs(edges[0]))
        return self._with_gaps(total, edges[0][is_gap], edges[1][is_gap])

    def _with_gaps(self, total: float, lows: Reals, highs: Reals) -> PieceSum | None:
        """Return the sum with the gaps from `lows` to `highs`, or None if there are many gaps."""
        if lows.size > _MOST_GAPS:
            return None
        gaps = map(Gap, lows.tolist(), highs.tolist())
        return PieceSum(total * self.case.errors.peak, tuple(gaps))


@frozen(eq=False, slots=False)
class _SumsAroundIntegers:
    """The four sums of the module docstring for some consecutive integers j."""

    sums: ErrorByPiece
    start: int  # the first integer, in records from the first count of the table
    number: int

    @cached_property
    def lower(self) -> Reals:
        """Series coefficients of the sums over the far counts below each integer, shape (integers, 2, terms)."""
        begin = self.sums.padding + self.start - self.sums.reach
        return self.sums.kernels[0].products(self.sums.weights, begin, self.number)

    @cached_property
    def upper(self) -> Reals:
        """Series coefficients of the sums over the far counts above each integer, shape (integers, 2, terms)."""
        kernel = self.sums.kernels[1]
        return kernel.products(self.sums.weights, self.sums.padding + self.start + kernel.first, self.number)

    @property
    def at_integers(self) -> _Sums:
        """The four sums of each integer at the whole answers up to `width` from it, if the noise is discrete."""
        return _Sums(self.lower[:, 0], self.lower[:, 1], self.upper[:, 0], self.upper[:, 1])

    @cached_property
    def _nearby_probabilities(self) -> Reals:
        """Probabilities of the counts up to `width` + 1 below and above each integer."""
        width = self.sums.width
        begin = self.sums.padding + self.start - width - 1
        return np.ascontiguousarray(sliding_window_view(self.sums.weights, 2 * width + 3)[begin : begin + self.number])

    @cached_property
    def _far_moment_differences(self) -> Reals:
        """Contributions of the far counts to U1 − L1, shape (integers, terms)."""
        return self.upper[:, 1] - self.lower[:, 1]

    def _far_terms(self, answers: Reals) -> Reals:
        """Return the values of the terms of the far series at some answers v."""
        return np.asarray(chebvander((answers - 0.5) / (self.sums.width + 0.5), self.lower.shape[2] - 1), np.float64)

    @cached_property
    def integer_answers(self) -> Reals:
        """Distance v of the answer whose posterior mean is the integer j from j, for each j; nan if v is too large."""
        width = self.sums.width
        grid = np.arange(-width, width + 2, dtype=np.float64)
        values = _small_matrix_product(self._far_moment_differences, self._far_terms(grid).T)
        if self.sums.is_kinked:
            values += _small_matrix_product(self._nearby_probabilities, self.sums.near_moments)
        is_above = values >= 0
        rows = np.flatnonzero(~is_above[:, 0] & is_above[:, -1])
        places = is_above[rows].argmax(axis=1)
        cells = places - 1 - width
        low, high = values[rows, places - 1], values[rows, places]
        far, near = self._far_moment_differences[rows], self._near_moment_differences(rows, cells)
        before, before_value = cells.astype(np.float64), low
        answers = cells + low / (low - high)
        for _ in range(_SECANTS):
            value = np.einsum("nt,nt->n", self._far_terms(answers), far)
            if near is not None:
                value += np.einsum("nt,nt->n", self._near_terms(answers - cells), near)
            with np.errstate(divide="ignore", invalid="ignore"):
                step = value * (answers - before) / (value - before_value)
            before, before_value = answers, value
            answers = np.clip(answers - np.nan_to_num(step, nan=0.0, posinf=0.0, neginf=0.0), cells, cells + 1)
        integer_answers = np.full(self.number, np.nan)
        integer_answers[rows] = answers
        return integer_answers

    def _near_terms(self, places: Reals) -> Reals:
        """Return the values of the terms of a cell's series at places 0 … 1 in the cell."""
        return np.asarray(chebvander(2 * places - 1, self.sums.interval_terms.shape[1] - 1), np.float64)

    def _near_coefficients(self, rows: Places, cells: Places) -> tuple[Reals, Reals]:
        """Return the series coefficients of the sums over the near counts on both sides, shape (rows, 2, terms)."""
        width, terms = self.sums.width, self.sums.interval_terms.shape[1]
        lower, upper = np.empty((2, rows.size, 2 * terms))
        for cell, some in self._rows_by_cell(cells):
            windows = self._nearby_probabilities.take(rows[some], axis=0)
            below, above = self.sums.near_kernels[cell]
            lower[some] = _small_matrix_product(windows[:, : width + 2], below)
            upper[some] = _small_matrix_product(windows[:, width + 2 :], above)
        return lower.reshape(-1, 2, terms), upper.reshape(-1, 2, terms)

    def _near_moment_differences(self, rows: Places, cells: Places) -> Reals | None:
        """Return the contributions of near counts to U1 − L1 in a cell of each integer; None if all counts are far."""
        if not self.sums.is_kinked:
            return None
        lower, upper = self._near_coefficients(rows, cells)
        return upper[:, 1] - lower[:, 1]

    def integral(self, rows: Places, begins: Reals, ends: Reals, floor: float) -> float | None:
        """Return the integral of the density of the error over some pieces, if the largest density of the noise is 1.

        Args:
            rows: Index of the integer j of each piece.
            begins: Smallest answer v of each piece.
            ends: Largest answer v of each piece.
            floor: Error that the integral over a piece may always have.

        Returns:
            The integral, or None if halved pieces are still rough.
        """
        cells = np.floor(begins).astype(np.int64)
        if self.sums.is_kinked:
            numbers = np.maximum(np.ceil(ends).astype(np.int64) - cells, 1)
            firsts = np.repeat(np.cumsum(numbers) - numbers, numbers)
            cells = np.repeat(cells, numbers) + np.arange(numbers.sum()) - firsts
            rows = np.repeat(rows, numbers)
            begins = np.maximum(np.repeat(begins, numbers), cells)
            ends = np.minimum(np.repeat(ends, numbers), cells + 1)
        total, pieces = 0.0, max(1, rows.size)
        for _ in range(_HALVINGS):
            lengths = ends - begins
            values = self._sums_at(rows, cells, begins[:, None] + lengths[:, None] * (1 + _POINTS) / 2).densities
            integrals = values @ _WEIGHTS * (lengths / 2)
            last_terms = np.abs(values @ _TO_SERIES[-1]) * lengths
            allowed = _SMOOTH * (total + float(integrals.sum())) / pieces
            is_rough = last_terms > max(allowed, floor)
            total += float(integrals[~is_rough].sum())
            if not is_rough.any():
                return total
            middles = (begins + ends)[is_rough] / 2
            rows, cells = np.tile(rows[is_rough], 2), np.tile(cells[is_rough], 2)
            begins, ends = np.append(begins[is_rough], middles), np.append(middles, ends[is_rough])
        return None

    def _sums_at(self, rows: Places, cells: Places, answers: Reals) -> _Sums:
        """Return the four sums of each row at answers v records from its integer, shape (rows, answers) each."""
        far = self._far_terms(answers)
        lower, upper = (far @ numbers[rows].transpose(0, 2, 1) for numbers in (self.lower, self.upper))
        if self.sums.is_kinked:
            near = self._near_terms(answers - cells[:, None])
            below, above = self._near_coefficients(rows, cells)
            lower += near @ below.transpose(0, 2, 1)
            upper += near @ above.transpose(0, 2, 1)
        return _Sums(lower[..., 0], lower[..., 1], upper[..., 0], upper[..., 1])

    @staticmethod
    def _rows_by_cell(cells: Places) -> Iterator[tuple[int, Places]]:
        """Yield each cell with the indices of its rows."""
        order = np.argsort(cells, kind="stable")
        used, firsts = np.unique(cells[order], return_index=True)
        yield from zip(used.tolist(), np.split(order, firsts[1:]), strict=True)


def _small_matrix_product(tall: Reals, small: Reals) -> Reals:
    """Return the product of a tall matrix and a small one. Threads of BLAS would wait longer than they compute."""
    return np.asarray(np.einsum("nt,tg->ng", tall, small), np.float64)


def _last_needed_term(sizes: Reals) -> int:
    """Return the number of terms of series up to the last one that is not negligible in some series."""
    return int(np.flatnonzero(sizes.max(axis=0) > _LOST)[-1]) + 1
