"""Our figures on the privacy of single answers: bounds for samples, error against δ, and the adversary's knowledge."""

import math

import numpy as np

from noisycount.analysis.privacy.privacy_curve import privacy_curve
from noisycount.analysis.privacy.smallest_scale import amplified_delta
from noisycount.analysis.utility import utility_loss
from noisycount.charts.plot import Line, Panel
from noisycount.charts.theme import LEVELS, STYLES
from noisycount.model.exact import Exact
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.gaussian import Gaussian
from noisycount.model.noises.laplace import Laplace
from noisycount.model.populations.binomial import BetaBinomial, Binomial
from noisycount.model.populations.known import Known
from noisycount.model.populations.population import Population
from noisycount.model.subsampling import Subsample
from noisycount.papers.figure import ClaimCheck, Drawing, extremes, percent

SIZE, DRAWN, EPSILON = 1000, 100, 0.01
RATE, DEVIATION = 0.1, 0.04
RATES = (0.5, 0.1, 0.01)
SCALE = 3.0  # scale of the noise in the figure of knowledge, in records
EPSILONS = tuple(float(epsilon) for epsilon in np.linspace(0, 0.05, 26))
SCALES = tuple(float(scale) for scale in np.geomspace(0.2, 50, 42))
ERRORS = (2e-4, 0.05)  # range of standard errors in the figure
LEAST = 0.003
ROUNDING = 1 + 1e-9  # relative rounding error of a privacy profile
SAMPLES = tuple(int(m) for m in np.unique(np.geomspace(5, 999, 40).round()))

KNOWN = tuple(int(k) for k in np.unique([*np.linspace(0, 900, 19), 930, 950, 970, 980, 990, 995, 999]))


def bounds_of_samples() -> Drawing:
    """Return the figure of two ratios: the exact δ of a sample to the conjectured bound, and to the proved bound."""
    exact, conjectured, proved = {}, {}, {}
    share, epsilons = DRAWN / SIZE, np.array(EPSILONS)
    count_epsilons = np.log1p(np.expm1(epsilons) / share)
    for rate in RATES:
        exact[rate] = privacy_curve(Subsample(DRAWN), Binomial(SIZE, rate)).delta(epsilons)
        pure = privacy_curve(Exact(), Binomial(DRAWN, rate))
        conjectured[rate] = share * np.asarray(pure.delta(count_epsilons))
        proved[rate] = amplified_delta(SIZE, DRAWN, rate, epsilons)
    panels = [
        Panel(
            title,
            tuple(
                Line(f"π = {rate:g}", style, EPSILONS, tuple(map(float, exact[rate] / bound[rate])))
                for rate, style in zip(RATES, LEVELS, strict=False)
            ),
        )
        for title, bound in (("Conjectured bound", conjectured), ("Proved bound", proved))
    ]
    conjectured_ratios, proved_ratios = ([y for line in panel.lines for y in line.ys] for panel in panels)
    check = ClaimCheck(
        {"conjectured": extremes(conjectured_ratios), "proved": extremes(proved_ratios)},
        [max(conjectured_ratios) <= ROUNDING, max(proved_ratios) <= ROUNDING],
    )
    return Drawing(tuple(panels), (check,))


def delta_against_error() -> Drawing:
    """Return the figure of δ against the standard error, a line for each mechanism."""
    population = Binomial(SIZE, RATE)
    panels = []
    for title, adversary in (("Distribution only", population), ("Worst case", Known(SIZE))):
        lines = [
            _error_delta_line("Laplace", [Laplace(scale) for scale in SCALES], adversary),
            _error_delta_line("Gaussian", [Gaussian(scale) for scale in SCALES], adversary),
            _error_delta_line("sample", [Subsample(m) for m in SAMPLES], adversary),
        ]
        panels.append(Panel(title, tuple(lines)))
    return Drawing(tuple(panels), (_check_laplace_worse(population),))


def _check_laplace_worse(population: Binomial) -> ClaimCheck:
    deviations = [SIZE * float(error) for error in np.geomspace(*ERRORS, 12)]
    free = math.sqrt(2) / EPSILON  # standard error at which Laplace noise is ε-differentially private

    def ratio(deviation: float) -> float:
        laplace, gaussian = Laplace(deviation / math.sqrt(2)), Gaussian(deviation)
        return _delta(laplace, population) / _delta(gaussian, population)

    ratios = [ratio(deviation) for deviation in deviations]
    return ClaimCheck(
        {"ratios": extremes(ratios), "free": free, "gaussian": _delta(Gaussian(free), population)},
        [*(value > 1 for value in ratios), ratio(free * ROUNDING) > 1],
    )


def _delta(mechanism: Mechanism, adversary: Population) -> float:
    return privacy_curve(mechanism, adversary).delta(EPSILON)


def _error_delta_line(name: str, mechanisms: list[Mechanism], adversary: Population) -> Line:
    """Return the line of δ against the standard error, over mechanisms of one kind."""
    points = []
    for mechanism in mechanisms:
        error = math.sqrt(utility_loss(mechanism, Binomial(SIZE, RATE)))
        delta = _delta(mechanism, adversary)
        if ERRORS[0] <= error <= ERRORS[1] and delta >= LEAST:
            points.append((error, delta))
    return Line.through(name, STYLES[name], sorted(points))


def background_knowledge() -> Drawing:
    """Return the figure of δ against the share of known records, at a known and at an uncertain rate."""
    populations = {
        f"Rate {percent(RATE)}": Binomial(SIZE, RATE),
        f"Rate {percent(RATE)} ± {percent(DEVIATION)}": BetaBinomial.from_rate(SIZE, RATE, DEVIATION),
    }
    mechanisms: dict[str, Mechanism] = {"Laplace": Laplace(SCALE), "Gaussian": Gaussian(SCALE)}
    panels = []
    for title, population in populations.items():
        lines = []
        for name, mechanism in mechanisms.items():
            deltas = [_delta(mechanism, population.given(known, round(known * RATE))) for known in KNOWN]
            shares = tuple(known / SIZE for known in KNOWN)
            lines.append(Line(name, STYLES[name], shares, tuple(deltas)))
        panels.append(Panel(title, tuple(lines)))
    return Drawing(tuple(panels), (_check_uncertain_rate(*panels),))


def _check_uncertain_rate(known: Panel, unsure: Panel) -> ClaimCheck:
    lowest = [min(line.ys) for line in unsure.lines]
    return ClaimCheck(
        {
            "known": [(line.ys[0], line.ys[-1]) for line in known.lines],
            "unsure": [(line.ys[0], low) for line, low in zip(unsure.lines, lowest, strict=True)],
            "shares": [line.xs[line.ys.index(low)] for line, low in zip(unsure.lines, lowest, strict=True)],
        },
        [_is_ascending(line) for line in (*known.lines, *unsure.lines)],
    )


def _is_ascending(line: Line) -> bool:
    return all(a <= b * ROUNDING for a, b in zip(line.ys, line.ys[1:], strict=False))
