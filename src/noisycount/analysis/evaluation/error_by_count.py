"""Mean absolute error of the posterior mean as a sum over the counts, for smooth distributions.

E|K − e(Y)| is Σ_k P[K = k]·E|k − e(k + Z)|, where e(y) is the posterior mean for an answer y and Z is the noise. If the
distribution of the count is smooth, the terms are a smooth function of k, and some of them determine the sum. For each
fixed u, e(c + u) is also a smooth function of the integer c, whatever the noise density f is: it depends on the
probabilities P[K = c + j] alone, with the fixed weights f(u − j). So polynomial series in c give e at the nodes of
every panel of answers.

E|k − e(k + Z)| is an integral over panels of whole records, with a kink at the answer y with e(y) = k. In the panel
that contains this answer, e is the polynomial through its nodes, and each side has a rule of its own.
"""

import math
from functools import cached_property

import numpy as np
from numpy.polynomial.legendre import leggauss, legval, legvander

from noisycount.analysis.evaluation.estimates import Case
from noisycount.analysis.posterior.laplace_intervals import mean_beyond_floor
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.laws.integer_series import SmoothTable, sum_of_smooth
from noisycount.model.searches import roots

_NODES, _WEIGHTS = leggauss(10)
_TO_SERIES = np.linalg.inv(legvander(_NODES, _NODES.size - 1))
_MANY = 2000  # counts from which on a sum over counts takes less than an integral over answers
_MANY_LOOK_UPS = 20_000  # such counts under Laplace noise, where the integral takes a look-up for each answer
_WIDE = 2.0  # records of spread from which on panels of records suffice for a rough distribution of the count
_END_SIGNS = (-1.0) ** np.arange(_NODES.size), np.ones(_NODES.size)  # Legendre polynomials at both ends
_PER_SPREAD = 4.0  # panels in a spread of smooth noise
_DEPTH = 45.0  # nats below the largest probability at which counts and errors are left out
_RUNS = 4  # runs of counts, and of answers, before any is halved, if the distribution of the count is smooth
# Largest size of the last terms of e, times the probability of the counts that give such answers, relative to the
# smaller deviation of count and noise.
_EXACT = 1e-11
_RUN = 3.0  # spreads of the noise in a run if the distribution of the count is rough: the noise smooths e over them
_NEGLIGIBLE = 1e-30  # probability of counts that do not matter
# Largest size of the last two terms of the noise density in the panels, relative to its total. The rule of ten nodes
# integrates polynomials of degree 19 exactly: its error is about the square.
_RESOLVED = 1e-7
_ENTRIES = 1 << 18  # errors evaluated at once: 2 MB


@frozen(eq=False, slots=False)
class ErrorByCount:
    """Intervals (panels) of the error Z of an answer, and the posterior mean at the nodes of each interval."""

    case: Case

    @classmethod
    def of_case(cls, case: Case) -> "ErrorByCount | None":
        """Return the panels of a case, over which the integrals are computed.

        Return None if a direct sum over its few counts is faster, or if the panels would not be precise.
        """
        is_analytic = case.errors.smooth_over > 0 and not case.errors.is_discrete
        is_wide = case.is_smooth or (is_analytic and case.errors.spread >= _WIDE)
        if not is_wide or case.counts.size < (_MANY_LOOK_UPS if case.errors.is_geometric else _MANY):
            return None
        panels = cls(case)
        return panels if panels._is_resolved else None

    @property
    def _is_resolved(self) -> bool:
        """True if the polynomials in the panels have the precision of the average."""
        if self.case.errors.is_discrete:
            return True
        last_terms = np.abs(self._node_densities @ _TO_SERIES[-2:].T).sum() * self._panel_length
        return bool(last_terms <= _RESOLVED)

    @property
    def average(self) -> float:
        """Mean absolute error, in records."""
        first, last = self._count_range
        if self.case.is_smooth:
            edges = np.unique(np.round(np.linspace(first, last + 1, _RUNS + 1)))
            return sum_of_smooth(self._error_terms, edges)
        return float(self._error_terms(np.arange(first, last + 1, dtype=np.float64)).sum())

    @property
    def _count_range(self) -> tuple[int, int]:
        """First and last count whose probability is not negligible."""
        table = self.case.truth.table
        likely = np.flatnonzero(table.logs >= table.logs.max() - _DEPTH)
        return table.first + int(likely[0]), table.first + int(likely[-1])

    @cached_property
    def _panel_length(self) -> int:
        """Records in a panel: one if the noise is discrete or has a kink, so that no panel contains a kink."""
        errors = self.case.errors
        return 1 if errors.is_discrete or not errors.smooth_over else math.ceil(errors.spread / _PER_SPREAD)

    @cached_property
    def _panel_starts(self) -> Reals:
        """Starts of the panels, in records from the count, shape (panels,)."""
        errors, farthest = self.case.errors, self.case.reach
        steps = np.arange(0, math.ceil(farthest / self._panel_length) + 1, dtype=np.float64) * self._panel_length
        is_likely = errors.log_density(steps) >= errors.log_density(np.zeros(1)) - _DEPTH
        number = int(np.flatnonzero(is_likely)[-1]) + 1
        return np.arange(-number, number + 1, dtype=np.float64) * self._panel_length

    @cached_property
    def _node_offsets(self) -> Reals:
        """Nodes of a panel, in records from its start, shape (nodes,)."""
        return np.zeros(1) if self.case.errors.is_discrete else self._panel_length * (1 + _NODES) / 2

    @cached_property
    def _node_densities(self) -> Reals:
        """Density of the noise at the nodes, or its probability if it is discrete, shape (panels, nodes)."""
        return np.exp(self.case.errors.log_heights(self._panel_starts[:, None] + self._node_offsets))

    @cached_property
    def _node_weights(self) -> Reals:
        """Weights of the nodes in the expectation over the noise, shape (panels, nodes)."""
        return self._node_densities * (1.0 if self.case.errors.is_discrete else _WEIGHTS * (self._panel_length / 2))

    @cached_property
    def _posterior_means(self) -> SmoothTable:
        """Posterior means at the nodes of a panel, as functions of the integer at its start; in records from it."""
        first, last = self._count_range
        counts, chances = self.case.counts, self.case.chances
        deviation = math.sqrt(chances @ (counts - chances @ counts / chances.sum()) ** 2)
        allowed = _EXACT * min(deviation, self.case.errors.spread)
        below, farthest = np.append(0.0, np.cumsum(chances)), int(self._panel_starts[-1])
        ends = first - farthest, last + farthest

        def distances(integers: Reals) -> Reals:
            answers = (integers[:, None] + self._node_offsets).ravel()
            beyond = mean_beyond_floor(self.case.belief.sums_around(answers)).reshape(integers.size, -1)
            return beyond + np.floor(self._node_offsets)

        def tolerance(start: int, stop: int) -> float:
            near = np.array([start - farthest, stop + farthest]) - self.case.truth.table.first
            low, high = np.clip(near, 0, chances.size)
            return allowed / max(float(below[high] - below[low]), _NEGLIGIBLE)

        runs = _RUNS if self.case.is_smooth else math.ceil((ends[1] - ends[0]) / (_RUN * self.case.errors.spread))
        return SmoothTable.between(distances, ends, runs, tolerance)

    def _error_terms(self, counts: Reals) -> Reals:
        """Return P[K = k]·E|k − e(k + Z)| for rising counts k; e is the posterior mean as a function of the answer."""
        table = self.case.truth.table
        step = max(1, _ENTRIES // self._node_weights.size)
        parts = [self._errors_at_counts(counts[begin : begin + step]) for begin in range(0, counts.size, step)]
        return np.exp(table.logs[(counts - table.first).astype(np.int64)]) * np.concatenate(parts)

    def _errors_at_counts(self, counts: Reals) -> Reals:
        """Return E|k − e(k + Z)| for each count k, where e is the posterior mean as a function of the answer."""
        starts = counts[:, None] + self._panel_starts
        integers = np.arange(starts[0, 0], starts[-1, -1] + 1)
        if integers.size > starts.size:
            integers = np.unique(starts)
        places = np.searchsorted(integers, starts)
        table = self._posterior_means.at(integers)
        distances = np.abs(table[places] + self._panel_starts[:, None]).reshape(counts.size, -1)
        integrals = distances @ self._node_weights.ravel()
        if not self.case.errors.is_discrete:
            at_start, at_end = (table @ (signs @ _TO_SERIES) for signs in _END_SIGNS)
            is_split = (at_start[places] < -self._panel_starts) & (at_end[places] > -self._panel_starts)
            rows, panels = np.nonzero(is_split)
            means = table[places[rows, panels]] + self._panel_starts[panels, None]
            split_panels = self._split_panel_integrals(means @ _TO_SERIES.T, self._panel_starts[panels])
            np.add.at(integrals, rows, split_panels - np.einsum("pn,pn->p", np.abs(means), self._node_weights[panels]))
        return np.asarray(integrals)

    def _split_panel_integrals(self, series: Reals, starts: Reals) -> Reals:
        """Return the integral over each panel in which the mean passes the count.

        Args:
            series: Legendre series of the mean, in records from the count, shape (panels, nodes).
            starts: Starts of the panels, in records from the count, shape (panels,).
        """
        ends = np.full(starts.shape, -1.0), np.full(starts.shape, 1.0)

        def distance(places: Reals) -> Reals:
            return np.asarray(legval(places, series.T, tensor=False), dtype=np.float64)

        passages, total = roots(distance, *ends), np.zeros(starts.shape)
        for low, high in ((ends[0], passages), (passages, ends[1])):
            places = low[:, None] + (high - low)[:, None] * (1 + _NODES) / 2
            distances = np.abs(np.einsum("pns,ps->pn", legvander(places, _NODES.size - 1), series))
            errors = starts[:, None] + self._panel_length * (1 + places) / 2
            densities = np.exp(self.case.errors.log_heights(errors))
            total += (distances * densities) @ _WEIGHTS * ((high - low) * self._panel_length / 4)
        return np.asarray(total)
