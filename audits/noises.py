"""The search of noises, of accuracies, and of what they cost: each law in balls."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from flint import arb
from mpmath import mpf
from tests.oracles import tails
from tests.oracles.balls import ball
from tests.oracles.sum_tails import equal_laplace

import noisycount as nc
from audits import corners
from audits.search import Draw, Refusal, Setting, Source, close, made, proven, whole_place

__all__ = ["NOISES"]

_DEEPEST = 37  # scales of wide discrete Gaussian noise within which its reference is known
_WIDE = 200.0
_SUM_DEPTH = 60  # scales of a sum of discrete noises within which its reference is known


def _exact(value: float) -> Fraction:
    return Fraction(value)


def _any(text: str) -> Any:  # noqa: ANN401  (whatever a line makes)
    return made(text)


def _reach(noise: nc.Mechanism) -> float:
    """The errors within which the law of a noise has a reference, in records."""
    if isinstance(noise, nc.DiscreteGaussian) and noise.scale > _WIDE:
        return _DEEPEST * float(noise.scale)
    if isinstance(noise, nc.NoiseSum):
        widest = max(float(part.scale) for part in noise.noises)
        return _SUM_DEPTH * widest if noise.is_discrete else 600 * widest
    return 1e17


def _error(source: Source, noise: nc.Mechanism) -> float:
    """An error of any size, whole under discrete noise."""
    spread = math.sqrt(noise.variance) if noise.variance else 1.0
    found = source.choice([
        0.0, 1.0, source.uniform(0, 8) * spread, source.uniform(0, 30) * spread,
        corners.between(source, 1e-3, 1e12), 2.0**53, 0.5,
    ])  # fmt: skip
    found = min(found, _reach(noise))
    return float(math.floor(found)) if noise.is_discrete else found


def _sure(found: object, exact: Callable[[], arb], relative: float, absolute: float = 0.0) -> str:
    return close(found, proven(exact), relative, absolute)


def _logpmf(source: Source) -> Setting:
    text = corners.noise(source)
    noise = _any(text)
    count = source.choice([0, 1, 7, source.randint(0, 10**6)])
    answer = count + source.choice([-1, 1]) * _error(source, noise)
    missed = Fraction(answer) - count

    def judge(value: object) -> str:
        exact = proven(lambda: tails.density(noise, missed).log())
        return close(value, exact, 1e-11, 1e-11)

    return Setting(f"{text}.logpmf({answer!r}, {count})", judge)


def _log_density(source: Source) -> Setting:
    text = corners.noise_sum(source)
    noise = _any(text)
    error = min(_error(source, noise), 300.0) * source.choice([-1, 1])

    def judge(value: object) -> str:
        exact = proven(lambda: tails.density(noise, Fraction(error)).log())
        return "" if exact < -2000 else close(value, exact, 1e-14, 1e-11)

    return Setting(f"{text}.log_density({error!r})", judge)


def _logs(name: str, source: Source) -> Setting:
    """The logarithms of tails, of what lies within, and of what lies beyond on one side."""
    text = corners.noise(source)
    noise = _any(text)
    error = _error(source, noise)
    if name == "log_exceedance":
        error *= source.choice([-1, 1])
    of: dict[str, Callable[[Fraction], arb]] = {
        "log_tail": lambda at: tails.reaching(noise, at).log(),
        "log_within": lambda at: (1 - tails.reaching(noise, at)).log(),
        "log_exceedance": lambda at: tails.exceedance(noise, at).log(),
    }

    def judge(value: object) -> str:
        if name == "log_within" and error == 0:
            return "" if value == -math.inf else f"{value!r}, exactly −inf"
        return close(value, proven(lambda: of[name](_exact(error))), 1e-10, 1e-10)

    return Setting(f"{text}.{name}({error!r})", judge)


def _moment(name: str, source: Source) -> Setting:
    text = corners.noise(source)
    if name == "mean_absolute" and "NoiseSum" in text:
        text = corners.discrete(source)
    noise = _any(text)
    exact = tails.variance if name == "variance" else tails.absolute_mean
    return Setting(f"{text}.{name}", lambda value: _sure(value, lambda: exact(noise), 1e-12))


def _error_with_tail(source: Source) -> Setting:
    text = corners.noise(source)
    beta = source.choice([1e-300, 1e-12, 0.05, 0.5, source.random() or 0.5, 1 - 1e-9])
    log_beta = math.log(max(beta, 1e-30) if "NoiseSum" in text else beta)
    noise = _any(text)

    def judge(value: object) -> str:
        return _is_smallest(noise, value, lambda: ball(log_beta).exp(), lambda b: b, 1e-11)

    return Setting(f"{text}.error_with_tail({log_beta!r})", judge)


def _accuracy(name: str, source: Source) -> Setting:
    text = corners.noise(source)
    is_sum = "NoiseSum" in text
    beta = corners.share(source)
    queries = source.choice([1, 1, 2, 20, 1000, 2**53]) if name == "accuracy" else 1
    if is_sum and (beta < 1e-25 or queries > 1000):
        beta, queries = 0.05, min(queries, 20)
    noise = _any(text)

    def judge(value: object) -> str:
        if not 1e-300 <= beta <= 1 - 1e-12:  # no promise, but an answer
            is_number = isinstance(value, int | float) and 0 <= value < math.inf
            return "" if is_number else f"{value!r} is no error"
        return _is_smallest(noise, value, lambda: ball(beta), lambda b: _of_any(b, queries), 1e-10)

    if name == "smallest_error":
        return Setting(f"{text}.smallest_error({beta!r})", judge)
    return Setting(f"nc.accuracy({text}, {beta!r}, {queries})", judge)


def _of_any(one: arb, answers: int) -> arb:
    """1 − (1 − b)^k."""
    return -(answers * (-one).log1p()).expm1() if one < 1 else arb(1)


def _is_smallest(
    noise: nc.Mechanism, found: object, beta: Callable[[], arb], whole: Callable[[arb], arb], relative: float
) -> str:
    """Return the error of the smallest alpha that is reached with probability at most beta."""

    def failing(alpha: Fraction) -> arb:
        return proven(lambda: whole(tails.reaching(noise, alpha)))

    goal = proven(beta)
    if noise.is_discrete:
        tie = 2e-12
        return whole_place(
            found,
            lambda alpha: bool(failing(Fraction(alpha)) <= goal * (1 + tie)),
            lambda alpha: bool(failing(Fraction(alpha)) > goal * (1 - tie)),
        )
    if not isinstance(found, float) or not 0 <= found < math.inf:
        return f"{found!r} is no error"
    low, high = (Fraction(found) * Fraction(1 + side * relative) for side in (-1, 1))
    if found < 2.3e-308:
        low, high = Fraction(0), Fraction(2.3e-308)
    if failing(low) >= goal >= failing(high):
        return ""
    return f"{found!r}: fails with {failing(low).str(17)} and less at 1e-10 more"


def _failure(source: Source) -> Setting:
    text = corners.noise(source)
    noise = _any(text)
    alpha = _error(source, noise) + source.choice([0, 0, 0.5])
    queries = source.choice([1, 1, 2, 20, 1000, 2**53])

    def judge(value: object) -> str:
        exact = proven(lambda: _of_any(tails.reaching(noise, _exact(alpha)), queries))
        return close(value, exact, 1e-10, 1e-300)

    return Setting(f"nc.failure_probability({text}, {alpha!r}, {queries})", judge)


def _chan(source: Source) -> Setting:
    scales = [corners.number(source) for _ in range(source.randint(1, 4))]
    beta = corners.share(source)

    def exact() -> arb:
        odds = (2 / ball(beta)).log()
        squares = sum((ball(one) ** 2 for one in scales), arb(0))
        width = squares.sqrt().max(ball(max(scales)) * odds.sqrt())
        return width * (8 * odds).sqrt()

    return Setting(f"nc.chan_bound({scales!r}, {beta!r})", lambda value: _sure(value, exact, 4e-15))


def _out_of_range(name: str, source: Source) -> Setting:
    text = corners.noise(source)
    noise = _any(text)
    size = max(1, corners.size(source))
    if _reach(noise) < 1e17:
        size = max(1, min(size, int(_reach(noise))))
    count = source.choice([0, size, size // 2, source.randint(0, size)])

    def exact(positives: int) -> Callable[[], arb]:
        beyond = int(noise.is_discrete)
        sides = (positives + beyond, size - positives + beyond)
        return lambda: sum((tails.exceedance(noise, Fraction(side)) for side in sides), arb(0))

    if name == "out_of_range_bounds":

        def judge(value: Any) -> str:  # noqa: ANN401  (two numbers)
            return _sure(value[0], exact(size // 2), 1e-10) or _sure(value[1], exact(0), 1e-10)

        return Setting(f"nc.out_of_range_bounds({size}, {text})", judge)
    return Setting(
        f"nc.out_of_range_probability({count}, {size}, {text})", lambda value: _sure(value, exact(count), 1e-10)
    )


def _goal(source: Source) -> tuple[float, float, int, bool]:
    """An accuracy, and whether it is one that any ε can be found for."""
    alpha = source.choice([corners.number(source), corners.between(source, 0.1, 1e6), 20.0])
    beta = corners.share(source)
    queries = source.choice([1, 1, 2, 20, 1000])
    return alpha, beta, queries, 1e-6 < alpha < 1e9 and 1e-300 < beta < 1 - 1e-12


def _epsilon_of(alpha: float, beta: float, queries: int) -> arb:
    """−ln(1 − (1 − beta)^(1/k))/alpha."""
    return -_of_one(beta, queries).log() / ball(alpha)


def _of_one(beta: float, queries: int) -> arb:
    """The b with 1 − (1 − b)^k = beta."""
    return -((-ball(beta)).log1p() / queries).expm1()


def _epsilon_for_accuracy(source: Source) -> Setting:
    alpha, beta, queries, is_usual = _goal(source)
    kind = source.choice(["nc.Laplace", "nc.DiscreteLaplace"])
    parts = source.choice([1, 1, 2, 5]) if kind == "nc.Laplace" and is_usual else 1

    def of_discrete(value: float) -> str:
        least, goal = math.ceil(alpha), proven(lambda: _of_one(beta, queries))

        def failing(epsilon: arb) -> arb:
            return 2 * (-least * epsilon).exp() / (1 + (-epsilon).exp())

        low, high = (
            proven(lambda side=side: failing(ball(value) * (1 + side * arb("1e-10"))))  # type: ignore[misc]
            for side in (-1, 1)
        )
        kept = proven(lambda: tails.reaching(nc.DiscreteLaplace.for_epsilon(value), Fraction(least)))
        if not kept <= goal * (1 + arb("1e-12")):
            return f"{value!r} fails with {kept.str(17)}, more than {goal.str(17)}"
        return "" if low >= goal >= high else f"{value!r} is off by more than 1e-10"

    def judge(value: Any) -> str:  # noqa: ANN401
        if parts == 1 and kind == "nc.Laplace":
            return _sure(value, lambda: _epsilon_of(alpha, beta, queries), 1e-10)
        if not is_usual:
            return "" if value >= 0 else f"{value!r} is no ε"
        if parts == 1:
            return of_discrete(value)
        tail = equal_laplace(parts, 1.0)
        goal = proven(lambda: _of_one(beta, queries))
        low, high = (arb(tail(mpf(value) * mpf(alpha) * (1 + side * mpf("1e-10")))) for side in (-1, 1))
        return "" if low >= goal >= high else f"{value!r} is off by more than 1e-10"

    return Setting(
        f"nc.epsilon_for_accuracy({alpha!r}, {beta!r}, {queries}, {kind}, {parts})",
        judge,
        Refusal.NEVER if is_usual or kind == "nc.Laplace" else Refusal.MAYBE,
    )


def _epsilon_of_group(source: Source) -> Setting:
    epsilon, answers = corners.number(source), source.choice([1, 2, 12, 10**6, 2**53])
    disjoint, replaced = source.random() < 0.5, source.random() < 0.5
    moved = (1 if disjoint else answers) * (2 if replaced and disjoint and answers > 1 else 1)

    def judge(value: object) -> str:
        exact = moved * Fraction(str(epsilon))
        return "" if value == exact else f"{value!r}, exactly {exact!r}"

    line = f"nc.epsilon_of_group({epsilon!r}, {answers}, disjoint={disjoint}, replaced={replaced})"
    return Setting(line, judge)


def _affordable(source: Source) -> Setting:
    budget = corners.between(source, 1e-3, 1e3)
    alpha, beta = corners.between(source, 0.5, 1e4), source.choice([1e-9, 0.05, 0.5, 1 - 1e-9])
    together = source.random() < 0.5

    def judge(value: Any) -> str:  # noqa: ANN401
        def cost(answers: int) -> arb:
            each = answers if together else 1
            return proven(lambda: answers * _epsilon_of(alpha, beta, each))

        fits = value == 0 or cost(value) <= ball(budget) * (1 + arb("1e-9"))
        is_most = cost(value + 1) > ball(budget) * (1 - arb("1e-9"))
        return "" if fits and is_most else f"{value!r} is not the largest number"

    return Setting(f"nc.affordable_answers({budget!r}, {alpha!r}, {beta!r}, together={together})", judge)


def _relative(name: str, source: Source) -> Setting:
    """The closed forms of relative errors."""
    count, within, epsilon = (
        source.choice([corners.number(source), corners.between(source, 1e-3, 1e4)]) for _ in range(3)
    )
    confidence = corners.share(source)

    def surprisal() -> arb:
        return -(-ball(confidence)).log1p()

    arguments = {
        "epsilon_for_relative_error": (count, within, confidence),
        "relative_error": (count, confidence, epsilon),
        "count_for_relative_error": (within, confidence, epsilon),
        "relative_confidence": (count, within, epsilon),
    }[name]
    exact: Callable[[], arb] = {
        "epsilon_for_relative_error": lambda: surprisal() / ball(within) / ball(count),
        "relative_error": lambda: surprisal() / ball(epsilon) / ball(count),
        "count_for_relative_error": lambda: surprisal() / ball(epsilon) / ball(within),
        "relative_confidence": lambda: -(-ball(epsilon) * ball(within) * ball(count)).expm1(),
    }[name]
    line = f"nc.{name}({', '.join(map(repr, arguments))})"
    return Setting(line, lambda value: _sure(value, exact, 9e-16))


def _iso(source: Source) -> Setting:
    count, epsilons = corners.number(source), [corners.number(source) for _ in range(2)]
    confidences = [corners.share(source) for _ in range(3)]

    def judge(value: Any) -> str:  # noqa: ANN401
        if value.shape != (2, 3):
            return f"shape {value.shape}"
        cells = [
            _sure(
                float(value[row, place]),
                lambda e=epsilon, c=confidence: -(-ball(c)).log1p() / ball(e) / ball(count),  # type: ignore[misc]
                9e-16,
            )
            for row, epsilon in enumerate(epsilons)
            for place, confidence in enumerate(confidences)
        ]
        return next(filter(None, cells), "")

    return Setting(f"nc.iso_epsilon_curves({count!r}, {epsilons!r}, {confidences!r})", judge)


def _is_readable(value: Fraction, width: Fraction, confidence: float, queries: int) -> str:
    """Return the error of the least ε of two digits that keeps a half-width."""
    if not isinstance(value, Fraction) or value <= 0:
        return f"{value!r} is no ε"
    exponent = math.floor(math.log10(value) + 1e-12) - 1
    step = Fraction(10) ** exponent
    if value % step:
        return f"{value!r} has more than two digits"
    least = math.floor(width) + 1

    def keeps(epsilon: Fraction, tie: float) -> bool:
        def slack() -> arb:
            one = -(ball(confidence).log() / queries).expm1()
            fails = 2 * (-least * ball(epsilon)).exp() / (1 + (-ball(epsilon)).exp())
            return fails / one

        def shorter() -> arb:
            one = -(ball(confidence).log() / queries).expm1()
            return -one.log() / (ball(width) * ball(epsilon))

        limit = 1 + arb(tie)
        return bool(proven(slack) <= limit) and bool(proven(shorter) <= limit)

    below = value - (step if value > 10 * step else step / 10)
    if not keeps(value, 1e-11):
        return f"{value!r} does not keep the promise"
    return f"{value!r} is not the least: {below!r} keeps it" if keeps(below, -1e-11) else ""


def _readable(name: str, source: Source) -> Setting:
    confidence = source.choice([0.95, 0.5, 1e-9, 1 - 1e-12, source.random() or 0.5])
    if name == "readable_epsilon":
        count, within = corners.between(source, 1, 1e6), corners.between(source, 1e-3, 2)
        width = Fraction(str(count)) * Fraction(str(within))
        line = f"nc.readable_epsilon({count!r}, {within!r}, {confidence!r})"
        return Setting(line, lambda value: _is_readable(value, width, confidence, 1))  # type: ignore[arg-type]
    error, queries = corners.between(source, 0.01, 1e6), source.choice([1, 10, 1000])
    line = f"nc.readable_epsilon_within({error!r}, {confidence!r}, {queries})"
    width = Fraction(str(error))
    return Setting(line, lambda value: _is_readable(value, width, confidence, queries))  # type: ignore[arg-type]


def _belief(source: Source) -> Setting:
    epsilon, prior = corners.number(source), corners.share(source)

    def exact(sign: int) -> Callable[[], arb]:
        def found() -> arb:
            odds = ball(prior) / (1 - ball(prior)) * (sign * ball(epsilon)).exp()
            return odds / (1 + odds)

        return found

    def judge(value: Any) -> str:  # noqa: ANN401
        if epsilon > 1e5:
            return "" if value[0] == 0 and value[1] == 1 else f"{value!r}, exactly (0, 1)"
        return _sure(value[0], exact(-1), 1e-15) or _sure(value[1], exact(1), 1e-15)

    return Setting(f"nc.belief_bounds({epsilon!r}, {prior!r})", judge)


def _scale_for_loss(source: Source) -> Setting:
    kind = corners.noise_class(source)
    size = max(1, source.choice([1, 1, 1000, corners.size(source)]))
    loss = source.choice([corners.number(source), corners.between(source, 1e-6, 1e6)])
    allowed = Fraction(loss) * size**2
    is_usual = 1e-20 < allowed < 1e20

    def judge(value: Any) -> str:  # noqa: ANN401
        lost = proven(lambda: tails.variance(_any(f"{kind}({value!r})")))
        goal = ball(allowed)
        if not lost <= goal * (1 + arb("2e-15")) + arb(5e-324) * size**2:
            return f"{value!r} loses {(lost / goal).str(17)} of what is allowed"
        if min(allowed, loss) > 1e-300 and not lost >= goal * (1 - arb("1.01e-12")):
            return f"{value!r} loses only {(lost / goal).str(17)} of what is allowed"
        return ""

    return Setting(
        f"nc.scale_for_utility_loss({kind}, {loss!r}, {size})", judge, Refusal.NEVER if is_usual else Refusal.MAYBE
    )


def _release(name: str, source: Source) -> Setting:
    text = source.choice([corners.noise(source), "nc.Exact()"]) if name == "release" else ""
    text = text or corners.discrete(source)
    noise = _any(text)
    count = corners.size(source)
    is_whole = text == "nc.Exact()" or noise.is_discrete
    far = 0.0 if text == "nc.Exact()" else 60 * (noise.variance**0.5 + 1)

    def judge(value: Any) -> str:  # noqa: ANN401
        values = [value] if name == "release" else value.tolist()
        centre = count if name == "release" else 0
        kind = int if is_whole else float
        if all(type(one) is kind and abs(one - centre) <= far for one in values):
            return ""
        return f"{value!r} is no answer"

    argument = count if name == "release" else source.choice([0, 1, 5])
    return Setting(f"{text}.{name}({argument})", judge)


def _for_epsilon(source: Source) -> Setting:
    kind = source.choice(["nc.Laplace", "nc.DiscreteLaplace"])
    epsilon = source.choice([corners.number(source), corners.between(source, 1e-3, 10)])
    sensitivity = source.choice([1, 2, 0.5, 1000])
    scale = Fraction(str(sensitivity)) / Fraction(str(epsilon))
    is_usual = Fraction(1, 2**50) < scale < 2**50

    def judge(value: Any) -> str:  # noqa: ANN401
        found = Fraction(value.scale)
        is_exact = kind == "nc.DiscreteLaplace" and found >= scale
        off = abs(found / scale - 1)
        return (
            "" if off <= Fraction(1, 2**50) and (is_exact or kind == "nc.Laplace") else f"{found!r}, exactly {scale!r}"
        )

    return Setting(
        f"{kind}.for_epsilon({epsilon!r}, {sensitivity!r})", judge, Refusal.NEVER if is_usual else Refusal.MAYBE
    )


def _stated(name: str, source: Source) -> Setting:
    """Draw a property of a noise: ε, its exact scale, or whether it is discrete."""
    text = corners.noise(source)
    if name == "exact_scale" and "NoiseSum" in text:
        text = corners.discrete(source)
    noise = _any(text)
    parts = noise.noises if isinstance(noise, nc.NoiseSum) else (noise,)
    steep = [1 / Fraction(one.scale) for one in parts if "Laplace" in type(one).__name__]
    told: dict[str, Callable[[object], bool]] = {
        "epsilon": lambda value: (
            ((value is None) == (len(steep) == 0) or len(parts) > 1)
            and (value is None or len(parts) > 1 or abs(Fraction(value) / steep[0] - 1) < 2e-16)
        ),  # type: ignore[arg-type]
        "exact_scale": lambda value: value == Fraction(noise.scale),
        "is_discrete": lambda value: (
            value is text.startswith("nc.Discrete") or ("NoiseSum" in text and value is ("Discrete" in text))
        ),
        "is_log_concave": lambda value: value is True,
    }
    return Setting(f"{text}.{name}", lambda value: "" if told[name](value) else f"{value!r} is wrong")


def _unbiased(source: Source) -> Setting:
    text = f"nc.DiscreteLaplace({corners.between(source, 0.01, 50)!r})"
    noise = _any(text)
    answer = source.randint(-1000, 1000)
    power = source.choice([1, 2, 3])

    def judge(value: Any) -> str:  # noqa: ANN401
        here = ball(answer)
        bend = (here + 1) ** power - 2 * here**power + (here - 1) ** power
        exact = here**power - tails.variance(noise) / 2 * bend
        allowed = float(noise.variance + 1) * (abs(answer) + 1.0) ** power * 1e-14
        return close(float(value), exact, 1e-14, allowed)

    return Setting(f"nc.unbiased(lambda k: np.power(k, {power}.0), {text})({answer})", judge)


def _below(source: Source) -> Setting:
    threshold = source.choice([corners.number(source), -3.0, 0, 450, 1e300, -0.0])
    return Setting(
        f"nc.below({threshold!r})",
        lambda value: "" if value.threshold == threshold else f"{value!r}",  # type: ignore[attr-defined]
    )


def _wrong(source: Source) -> Setting:
    """Draw an invalid call, which must be refused by name, value and remedy."""
    bad = source.choice(["float('nan')", "float('inf')", "-1.0", "0.0", "'x'", "None", "True"])
    noise = corners.noise(source, 1e6)
    line = source.choice([
        f"nc.accuracy({noise}, {bad})",
        f"nc.accuracy(nc.Exact(), 0.05 or {bad})",
        f"nc.failure_probability({noise}, float('nan'))",
        f"nc.chan_bound([{bad}], 0.05)",
        f"nc.chan_bound([], 0.05 or {bad})",
        f"nc.out_of_range_probability(3, 2, {noise})",
        f"nc.epsilon_for_accuracy({bad}, 0.05)",
        f"nc.epsilon_of_group({bad}, 3)",
        f"nc.readable_epsilon({bad}, 0.2, 0.95)",
        f"nc.readable_epsilon_within(15, {bad})",
        f"nc.relative_error(100, {bad}, 0.1)",
        f"nc.belief_bounds({bad})",
        f"nc.scale_for_utility_loss(nc.Laplace, {bad})",
        f"nc.unbiased(np.square, nc.Laplace(3) or {bad})",
        f"{corners.noise_class(source)}({bad})",
        f"nc.NoiseSum([nc.Laplace(1), nc.DiscreteLaplace(1)]) or {bad}",
        f"nc.Binomial(10, {source.choice(['-0.1', '1.1', 'None', 'True'])})",
        f"nc.Binomial({source.choice(['-1', '1.5', 'None', 'True', '2**53 + 2'])}, 0.5)",
        f"nc.BetaBinomial(10, {bad if bad != 'True' else '0.0'}, 1)",
        f"nc.Strata([1, 2], [{bad if bad != 'True' else '2.0'}, 0.5])".replace("0.0,", "-0.5,"),
        f"nc.Tabulated([0.5, {bad if bad != 'True' else '2.0'}])",
        f"nc.Known({bad})",
        f"nc.Known(5, 5) or {bad}",
        f"nc.Subsample({bad if bad != 'True' else '0'})",
        f"nc.below({bad})".replace("-1.0", "'y'").replace("0.0", "'z'"),
    ])  # fmt: skip
    return Setting(line, lambda _: "", Refusal.ALWAYS)


def _many(draw: Callable[[str, Source], Setting], *names: str) -> dict[str, Draw]:
    """A draw for each of several names."""
    return {name: partial(draw, name.rsplit(".", 1)[-1]) for name in names}


NOISES: dict[str, Draw] = {
    "Mechanism.logpmf": _logpmf,
    "NoiseSum.log_density": _log_density,
    **_many(
        _logs, "SymmetricNoise.log_tail", "SymmetricNoise.log_within",
        "SymmetricNoise.log_exceedance"
    ),
    **_many(_moment, "SymmetricNoise.variance", "SymmetricNoise.mean_absolute"),
    **_many(
        _stated, "SymmetricNoise.epsilon", "AdditiveNoise.exact_scale",
        "SymmetricNoise.is_discrete", "SymmetricNoise.is_log_concave"
    ),
    "SymmetricNoise.error_with_tail": _error_with_tail,
    **_many(_accuracy, "accuracy", "SymmetricNoise.smallest_error"),
    **_many(_release, "Mechanism.release", "DiscreteNoise.samples"),
    "LaplaceKernel.for_epsilon": _for_epsilon,
    "failure_probability": _failure,
    "chan_bound": _chan,
    **_many(_out_of_range, "out_of_range_probability", "out_of_range_bounds"),
    "epsilon_for_accuracy": _epsilon_for_accuracy,
    "epsilon_of_group": _epsilon_of_group,
    "affordable_answers": _affordable,
    **_many(
        _relative, "epsilon_for_relative_error", "relative_error", "count_for_relative_error",
        "relative_confidence"
    ),
    "iso_epsilon_curves": _iso,
    **_many(_readable, "readable_epsilon", "readable_epsilon_within"),
    "belief_bounds": _belief,
    "scale_for_utility_loss": _scale_for_loss,
    "unbiased": _unbiased,
    "below": _below,
    "NoisyCountError": _wrong,
}  # fmt: skip
"""How settings of each public name are drawn."""
