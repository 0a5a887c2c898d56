"""Our figures on the privacy of several answers: repeated queries, overlapping queries, and the rule for lists.

The rule is in `analysis.privacy.list_risk`.
"""

import numpy as np

from noisycount.analysis.privacy.list_risk import list_risk
from noisycount.analysis.privacy.privacy_curve import privacy_curve
from noisycount.charts.plot import Line
from noisycount.charts.theme import DENSE, GUIDE, LEVELS, STYLES
from noisycount.model.atoms import Atoms
from noisycount.model.exact import Exact
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.gaussian import Gaussian
from noisycount.model.populations.binomial import Binomial
from noisycount.papers.figure import ClaimCheck, Drawing, extremes

EPSILON, SCALE, RATE = 0.1, 3, 0.1
REPEATED_SIZE, SIZE = 1000, 400
ANSWERS = tuple(2**power for power in range(9))
RATES = (0.5, 0.1, 0.01)
SHARED = (0.0, 0.02, 0.04, 0.06, 0.08, 0.09, 0.095, 0.0975, 0.099, 0.09975)
GROUPS = (0.25, 0.5, 1.0, 2.0, 4.0, 7.0, 9.9, 10.0, 14.0, 20.0, 40.0)
_WORST_CASE = STYLES["worst case"].dashed(DENSE)  # solid lines are exact values


def repeated_query() -> Drawing:
    """Return the figure of δ against the number of answers to one repeated query."""
    noises = {q: Gaussian(SCALE / q**0.5) for q in ANSWERS}
    worst = tuple(privacy_curve(noise).delta(EPSILON) for noise in noises.values())
    lines = [Line("worst case", _WORST_CASE, ANSWERS, worst)]
    for rate, style in zip(RATES, LEVELS, strict=False):
        population = Binomial(REPEATED_SIZE, rate)
        deltas = [privacy_curve([Gaussian(SCALE)] * q, population).delta(EPSILON) for q in ANSWERS]
        lines.append(Line(f"π = {rate:g}", style, ANSWERS, tuple(deltas)))
    rate_deltas = lines[2].ys
    count_delta = privacy_curve(Exact(), Binomial(REPEATED_SIZE, RATES[1])).delta(EPSILON)
    check = ClaimCheck(
        {"deltas": (rate_deltas[0], rate_deltas[-1]), "count": count_delta, "worst": worst[-1]},
        [rate_deltas[-1] <= count_delta],
    )
    return Drawing.from_lines(lines, check)


def overlapping_queries() -> Drawing:
    """Return the figure of δ of two queries against the share of records that satisfy both."""
    noise = DiscreteGaussian(SCALE)
    exact, alone = [], privacy_curve(noise, Binomial(SIZE, RATE)).delta(EPSILON)
    normal = tuple(_approximate_delta(shared) for shared in SHARED)
    for shared in SHARED:
        remainder = RATE - shared
        atoms = Atoms(SIZE, [shared, remainder, remainder, 1 - RATE - remainder], [{0, 1}, {0, 2}])
        exact.append(privacy_curve([noise] * 2, atoms).delta(EPSILON))
    same = privacy_curve([noise] * 2, Binomial(SIZE, RATE)).delta(EPSILON)
    worst = privacy_curve([noise] * 2).delta(EPSILON)
    ratios = [approximate / delta for approximate, delta in zip(normal, exact, strict=True)]
    ends = (SHARED[0], RATE)
    lines = (
        Line("worst case", _WORST_CASE, ends, (worst, worst)),
        Line("exact", STYLES["exact"], SHARED, tuple(exact)),
        Line("as if normal", STYLES["approximated"], SHARED, normal),
        Line("asked twice", GUIDE, ends, (same, same)),
        Line("one answer", STYLES["Gaussian"], ends, (alone, alone)),
    )
    more_with_difference = ClaimCheck(
        {"deltas": (exact[0], exact[-1]), "same": same, "alone": alone, "worst": worst},
        [max(exact) == exact[-1], same < exact[0], exact[-1] <= worst],
    )
    normal_is_no_bound = ClaimCheck({"ratios": extremes(ratios)}, [min(ratios) < 1 < max(ratios)])
    return Drawing.from_lines(lines, more_with_difference, normal_is_no_bound)


def _approximate_delta(shared: float) -> float:
    """Return δ of two queries under a normal approximation of the counts, the largest over all changes of one record.

    Let S be the covariance matrix of the answers about the other records, and d the change of the answers by one record
    (d = (1, 1) only if some records satisfy both). Then δ is that of Gaussian noise of scale (dᵀS⁻¹d)^(−1/2).
    """
    covariance = shared - RATE**2
    spread = (SIZE - 1) * np.array([[RATE * (1 - RATE), covariance], [covariance, RATE * (1 - RATE)]])
    precision = np.linalg.inv(spread + SCALE**2 * np.eye(2))
    moves = np.array([(1, 0), (1, -1), *([(1, 1)] if shared > 0 else [])])
    distance = max(move @ precision @ move for move in moves)
    return privacy_curve(Gaussian(distance**-0.5)).delta(EPSILON)


def rule_for_lists() -> Drawing:
    """Return the figure of δ for two queries that differ in one group, against the expected size of this group."""
    noise = DiscreteGaussian(SCALE)
    exact, rule_deltas, worst = [], [], 0.0
    for records in GROUPS:
        group = records / SIZE
        atoms = Atoms(SIZE, [0.3, group, 0.7 - group], [{0, 1}, {0}])
        risk = list_risk([noise] * 2, atoms)
        exact.append(privacy_curve([noise] * 2, atoms).delta(EPSILON))
        rule_deltas.append(risk.delta(EPSILON))
        worst = risk.worst(EPSILON)
    ends = (GROUPS[0], GROUPS[-1])
    lines = (
        Line("worst case", _WORST_CASE, ends, (worst, worst)),
        Line("exact", STYLES["exact"], GROUPS, tuple(exact)),
        Line("rule", STYLES["proved"], GROUPS, tuple(rule_deltas)),
    )
    check = ClaimCheck(
        {"exact": (exact[0], exact[-1]), "rule": (rule_deltas[0], rule_deltas[-1]), "worst": worst},
        [bool((np.array(rule_deltas) >= np.array(exact) * (1 - 1e-9)).all()), max(rule_deltas) <= worst],
    )
    return Drawing.from_lines(lines, check)
