"""The averages of estimates from a sample of the records, by the whole table of the joint law."""

from dataclasses import field

import numpy as np

from noisycount.analysis.evaluation.case import believed_table, table_of
from noisycount.analysis.posterior.law import DEPTH, CountTable
from noisycount.analysis.posterior.refine import refined
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import TIE
from noisycount.model.laws.factors import LOG_TIE
from noisycount.model.laws.gamma import Reals
from noisycount.model.laws.smooth_law import smooth_law
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.population import Population
from noisycount.model.subsampling import DrawnPositives, Subsample

_ENTRIES = 20_000_000  # pairs, whose tables take some hundred megabytes
_EQUAL = 1e-11  # what rounding moves a posterior mean, in mean absolute deviations, and more
_ROUNDING = 4 * float(np.finfo(float).eps)  # of a distance between two numbers that are rounded


@frozen(eq=False)
class SampledEstimate:
    """An estimate from each answer, beside the answer scaled up to the database."""

    counts: Reals  # the counts, shape (counts,)
    joint: Reals  # P[Y = y, K = k], shape (answers, counts)
    scaled: Reals  # y·size/sample size, shape (answers,)
    estimates: Reals  # shape (answers,)
    unsure: Reals  # how far rounding may have moved each of them, shape (answers,)
    _away: Reals = field(init=False, repr=False)
    _gain: Reals = field(init=False, repr=False)

    def __post_init__(self) -> None:
        away = np.abs(self.counts - self.estimates[:, None])
        gain = np.abs(self.counts - self.scaled[:, None]) - away
        rounding = _ROUNDING * np.maximum(self.counts, np.abs(self.scaled)[:, None])
        gain[np.abs(gain) <= self.unsure[:, None] + rounding] = 0.0
        object.__setattr__(self, "_away", away)
        object.__setattr__(self, "_gain", gain)

    @property
    def error(self) -> float:
        """E|K − estimate|."""
        return float((self.joint * self._away).sum())

    @property
    def improvement(self) -> float:
        """P[|K − estimate| < |K − Y·size/sample size|]."""
        return float(self.joint[self._gain > 0].sum())

    @property
    def tie(self) -> float:
        """P[|K − estimate| = |K − Y·size/sample size|]."""
        return float(self.joint[self._gain == 0].sum())


def sampled_estimate(
    population: Population, mechanism: Subsample, by: str, assumed: Population | None
) -> SampledEstimate:
    """The table of an estimate from a sample."""
    size, drawn, noise = population.size, mechanism.sample_size, mechanism.noise
    if drawn > size:
        raise ValueError(f"sample_size must be at most the {size} records there are, got {drawn}")
    if noise is not None and not (isinstance(noise, SymmetricNoise) and noise.is_discrete):
        raise ValueError(
            "mechanism must add no noise or discrete noise to the count of a sample here, as the "
            f"answers are summed one by one: got {noise!r}"
        )
    table = table_of(population.law(), size)
    first, last = _drawn_ends(table, drawn, size)
    reach = 0 if noise is None else int(np.ceil(noise.error_with_tail(-DEPTH)))
    answers = np.arange(first - reach, last + reach + 1, dtype=np.float64)
    span = (float(answers[0]), float(answers[-1]))
    believed = table if assumed is None else believed_table(assumed, mechanism, span)
    start, stop = min(table.first, believed.first), max(table.last, believed.last)
    if noise is not None:  # what is believed may draw other samples than there are
        ends = _drawn_ends(believed, drawn, size)
        first, last = min(first, ends[0]), max(last, ends[1])
    _check_entries(max(answers.size, last - first + 1) * (stop - start + 1))
    positives = np.arange(first, last + 1, dtype=np.float64)
    logs = _log_likelihoods(positives, range(start, stop + 1), drawn, size)
    if noise is not None:
        errors = (answers[:, None] - positives).ravel()
        chances = noise.errors.between(errors, np.ones(1)).reshape(answers.size, positives.size)
        with np.errstate(divide="ignore"):
            logs = np.log(chances @ np.exp(logs))
    joint = np.exp(logs + _padded(table, start, stop))
    possible = joint.sum(axis=1) > 0
    told = (logs + _padded(believed, start, stop))[possible]
    scaled = answers[possible] * size / drawn
    counts = np.arange(start, stop + 1, dtype=np.float64)
    estimates = _estimates(by, scaled, counts, told, size)
    if by == "mode" and noise is None:  # two counts are often as likely: their order is exact there
        estimates = refined(answers[possible], assumed or population, mechanism, "mode")
    unsure = _deviations(counts, told, estimates) * _EQUAL if by == "mean" else 0 * estimates
    return SampledEstimate(counts, joint[possible], scaled, estimates, unsure)


def _drawn_ends(table: CountTable, drawn: int, size: int) -> tuple[int, int]:
    """The smallest and the largest number of positives that a sample is likely to have."""
    laws = [smooth_law([DrawnPositives(k, drawn, size)]) for k in (table.first, table.last)]
    return table_of(laws[0], drawn).first, table_of(laws[1], drawn).last


def _log_likelihoods(positives: Reals, counts: range, drawn: int, size: int) -> Reals:
    """The logarithm of P[S = s | K = k], shape (positives, counts)."""
    laws = (smooth_law([DrawnPositives(count, drawn, size)]) for count in counts)
    return np.array([law.log_pmf(positives) for law in laws]).T


def _padded(table: CountTable, start: int, stop: int) -> Reals:
    """The logarithms of the probabilities of the counts start..stop, −inf outside the table."""
    return np.pad(table.logs, (table.first - start, stop - table.last), constant_values=-np.inf)


def _estimates(by: str, scaled: Reals, counts: Reals, told: Reals, size: int) -> Reals:
    """The estimate from each answer, whose posterior log-weights are told."""
    if by == "answer":
        return scaled
    if by == "rounded":
        rounded: Reals = np.clip(np.floor(scaled + 0.5), 0, size)
        return rounded
    peaks = told.max(axis=1, keepdims=True)
    if not np.isfinite(peaks).all():
        raise ValueError(
            "assumed must make every answer possible that the population makes possible: check its size and rate"
        )
    if by == "mode":
        modes: Reals = counts[(told >= peaks - LOG_TIE).argmax(axis=1)]
        return modes
    shares = np.exp(told - peaks)
    if by == "mean":
        means: Reals = counts[0] + shares @ (counts - counts[0]) / shares.sum(axis=1)
        return means
    below = np.cumsum(shares, axis=1)
    medians: Reals = counts[(below >= below[:, -1:] * (0.5 * (1 - TIE))).argmax(axis=1)]
    return medians


def _deviations(counts: Reals, told: Reals, means: Reals) -> Reals:
    """The mean absolute deviation of the count from its mean, for each answer."""
    shares = np.exp(told - told.max(axis=1, keepdims=True))
    away: Reals = (shares * np.abs(counts - means[:, None])).sum(axis=1) / shares.sum(axis=1)
    return away


def _check_entries(entries: int) -> None:
    """Refuse a table that is too large."""
    if entries > _ENTRIES:
        raise ValueError(
            f"population and sample must leave at most {_ENTRIES:,} pairs of count and answer to "
            f"sum, got {entries:,}: take a smaller size, or simulate"
        )
