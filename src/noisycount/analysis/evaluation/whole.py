"""The answers at which the posterior median and mode rise."""

from collections.abc import Callable

import numpy as np

from noisycount.analysis.evaluation.case import Case
from noisycount.analysis.evaluation.steps import Steps
from noisycount.analysis.evaluation.weights import Window, mean_of
from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.error_law import ErrorLaw
from noisycount.model.search import first_wholes, roots

__all__ = ["median_steps", "mode_steps"]

_TIE = 1e-13
_MODE_TIE = 1e-12
_ENTRIES = 1 << 19


def median_steps(case: Case) -> Steps:
    """The posterior median: it exceeds m where P[K > m | Y = y] > 1/2."""

    def excess(answers: Reals, counts: Reals) -> Reals:
        total, _ = mean_of(answers, case.belief.around(answers))
        outside = counts + 1 >= answers
        shares = np.empty(answers.shape)
        above = case.belief.upper(answers[outside], counts[outside] + 1)
        below = case.belief.lower(answers[~outside], counts[~outside])
        shares[outside] = np.exp(above.logs - total[outside])
        shares[~outside] = 1 - np.exp(below.logs - total[~outside])
        return shares - 0.5 - _TIE

    return _steps(case, excess)


def mode_steps(case: Case) -> Steps:
    """The posterior mode: it exceeds m where a larger count has the largest weight."""
    window, errors = case.belief.window, case.errors
    if not _is_log_concave(window.logs):
        return _steps(case, lambda answers, counts: _sign_above(window, errors, answers, counts))
    rises = np.diff(window.logs)

    def excess(answers: Reals, counts: Reals) -> Reals:
        gain = errors.log_density(answers - counts - 1) - errors.log_density(answers - counts)
        found: Reals = gain + rises[(counts - window.first).astype(np.int64)] - _MODE_TIE
        return found

    return _steps(case, excess)


def _steps(case: Case, excess: Callable[[Reals, Reals], Reals]) -> Steps:
    """The steps of an estimate that exceeds a count m where excess(answer, m) is positive."""
    window = case.belief.window
    low, high = case.span
    candidates = window.counts[:-1]
    passed = [
        int((excess(np.full(candidates.shape, end), candidates) > 0).sum()) for end in case.span
    ]
    counts = candidates[passed[0] : passed[1]]
    values = window.first + np.arange(passed[0], passed[1] + 1, dtype=np.float64)
    lows, highs = np.full(counts.shape, low), np.full(counts.shape, high)
    if case.errors.is_discrete:
        starts = first_wholes(lambda answers: excess(answers, counts) > 0, lows, highs)
    else:
        starts = roots(lambda answers: excess(answers, counts), lows, highs)
    return Steps(values, np.maximum.accumulate(starts) if starts.size else starts)


def _is_log_concave(logs: Reals) -> bool:
    """Whether the steps of the logarithms never grow, but for rounding."""
    if not np.isfinite(logs).all():
        return False
    return bool((np.diff(logs, 2) <= _MODE_TIE * (1 + np.abs(logs[1:-1]))).all())


def _sign_above(window: Window, errors: ErrorLaw, answers: Reals, counts: Reals) -> Reals:
    """1 where the smallest mode exceeds the count, else −1."""
    modes = np.empty(answers.shape)
    step = max(1, _ENTRIES // window.logs.size)
    for begin in range(0, answers.size, step):
        some = answers[begin : begin + step, None]
        logs = window.logs + errors.log_density(some - window.counts)
        tied = logs >= logs.max(axis=1, keepdims=True) - _MODE_TIE
        modes[begin : begin + step] = window.first + tied.argmax(axis=1)
    return np.where(modes > counts, 1.0, -1.0)
