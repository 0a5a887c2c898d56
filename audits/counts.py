"""The search of posteriors, refined answers, and what is computed from two counts."""

import math
import warnings
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any

import numpy as np
from flint import arb, ctx
from tests.oracles import tails
from tests.oracles.balls import ball, choose
from tests.oracles.posterior import (
    Law,
    beta_binomial_law,
    binomial_law,
    law_by_ratios,
    noisy_sample_likelihood,
    strata_law,
)

import noisycount as nc
from audits import corners
from audits.search import Draw, Refusal, Setting, Source, close, made, whole_place

__all__ = ["COUNTS", "law_of", "log_likelihood_at"]

_TIE = arb("2e-14")  # within which a quantile's level counts as reached
_QUANTUM = arb(2) ** -1074  # to which a double below 1e-308 is known
_DEEP = 760  # nats below the top where a long law is cut
_LONGEST = 12000  # counts of a law
_BITS, _MORE_BITS = 300, 1600  # where something is far out, logarithms are far from each other
_UNSEEN = 10**5  # nats below the top: a double knows of no such count

Likelihood = Callable[[int], arb]


@dataclass(frozen=True)
class Told:
    """A noisy answer about a count.

    Attributes:
        text: As an argument.
        noise: The mechanism as an argument.
    """

    text: str
    noise: str

    def likelihood(self, size: int) -> Likelihood:
        """The probability or the density of the answer at each count."""
        logs = self.log_likelihood(size)
        return lambda count: logs(count).exp()

    def log_likelihood(self, size: int) -> Likelihood:
        """Its logarithm, which is far below what an exponential holds where answers are far."""
        mechanism: Any = made(self.noise)
        is_below = self.text.startswith("nc.below")
        asked: Any = made(self.text)
        value = Fraction(asked.threshold if is_below else asked)
        if isinstance(mechanism, nc.Subsample):
            inner = partial(log_likelihood_at, mechanism.noise, value, is_below)
            sampled = noisy_sample_likelihood(lambda drawn: inner(drawn).exp(), mechanism.sample_size, size)
            return lambda count: _log(sampled(count))
        noise = None if isinstance(mechanism, nc.Exact) else mechanism
        return partial(log_likelihood_at, noise, value, is_below)


def _log(value: arb) -> arb:
    """The logarithm, −∞ of 0."""
    return value.log() if value != 0 else arb("-inf")


def log_likelihood_at(noise: Any, value: Fraction, is_below: bool, count: int) -> arb:  # noqa: ANN401, FBT001
    """The logarithm of the likelihood of an answer, or of one below it, at a count."""
    missed = value - count
    if noise is None:
        return _log(arb(int(missed > 0 if is_below else missed == 0)))
    if is_below and noise.is_discrete:
        return tails.exceedance(noise, count + 1 - Fraction(math.ceil(value))).log()
    if is_below:
        return tails.exceedance(noise, -missed).log()
    if isinstance(noise, nc.NoiseSum):
        return tails.density(noise, missed).log()
    top = tails.density(noise, Fraction(0)).log()
    spread = abs(ball(missed)) / ball(noise.exact_scale)
    return top - (spread if "Laplace" in type(noise).__name__ else spread**2 / 2)


def prior_law(population: Any) -> Law:  # noqa: ANN401  (each kind has its own)
    """The law of the count of few records, by its definition."""
    if isinstance(population, nc.Binomial):
        return binomial_law(population.size, population.rate)
    if isinstance(population, nc.BetaBinomial):
        return beta_binomial_law(population.size, population.alpha, population.beta)
    if isinstance(population, nc.Strata):
        return strata_law(population.sizes.tolist(), population.rates.tolist())
    raise TypeError(f"no law of {population!r}")


@lru_cache(maxsize=64)
def law_of(text: str) -> Law:
    """The law of a population's count, from the text of its arguments."""
    base, _, held = text.partition(".given")
    population: Any = made(base)
    if base.startswith("nc.Tabulated"):
        weights = [ball(one) for one in eval(base[len("nc.Tabulated") :])]  # noqa: S307
        law = Law(0, weights)
    else:
        law = prior_law(population)
    if not held:
        return law
    known, positives = eval(held)  # noqa: S307
    rest = population.size - known
    if isinstance(population, nc.Binomial):
        return Law(positives, binomial_law(rest, population.rate).weights)
    weights = [
        law.weights[positives + k] * choose(rest, k) / choose(population.size, positives + k) for k in range(rest + 1)
    ]
    return Law(positives, weights)


@lru_cache(maxsize=64)
def posterior_law(population: str, told: tuple[Told, ...]) -> Law:
    """The law of the count given its answers."""
    size = made(population).size  # type: ignore[attr-defined]
    factors = [one.log_likelihood(size) for one in told]

    def log_weight(count: int) -> arb:
        return sum((factor(count) for factor in factors), arb(0))

    if size > _LONGEST // 40:
        return _long_law(made(population), log_weight)
    law = law_of(population)
    pairs = zip(law.counts, law.weights, strict=True)
    logs = {k: _log(weight) + log_weight(k) for k, weight in pairs if weight > 0}
    possible = {k: log for k, log in logs.items() if log.is_finite()}
    top = max((log.mid() for log in possible.values()), default=arb(0))
    weights = [
        (possible[k] - top).exp() if k in possible and possible[k] - top > -_UNSEEN else arb(0) for k in law.counts
    ]
    return Law(law.first, weights)


def _long_law(population: Any, weight: Likelihood) -> Law:  # noqa: ANN401
    """The law of a binomial count of many records, around its mode: its logarithm is concave."""
    odds = ball(population.rate) / (1 - ball(population.rate))
    size = population.size

    def step(count: int) -> arb:
        return odds * (size - count) / (count + 1) * (weight(count + 1) - weight(count)).exp()

    low, high = 0, size  # the mode: the first count whose step falls
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if step(middle) > 1 else (low, middle)
    floor = arb(-_DEEP).exp()
    first = last = low
    left, right = arb(1), arb(1)
    while first > 0 and left > floor:
        first -= 1
        left /= step(first)
    while last < size and right > floor:
        right *= step(last)
        last += 1
    if last - first > 4 * _LONGEST:
        raise OverflowError("a law too long for its reference")
    return law_by_ratios(first, last, step)


def _kernel(source: Source, records: int, *, log_concave: bool = False) -> str:
    """A mechanism that answers about a count."""
    pick = source.random()
    if pick < 0.1 and not log_concave:
        return "nc.Exact()"
    if pick < 0.25 and records and not log_concave:
        drawn = source.randint(1, records)
        noise = source.choice(["", f", {corners.one_noise(source, 1e3)}"])
        return f"nc.Subsample({drawn}{noise})"
    return corners.noise(source)


def _is_whole(noise: str) -> bool:
    return "Discrete" in noise or ("Laplace" not in noise and "Gaussian" not in noise)


def _answer(source: Source, noise: str, records: int) -> str:
    """An answer that a mechanism can give, or that it was below a threshold."""
    if "Laplace" not in noise and "Gaussian" not in noise:
        most = made(noise).sample_size if "Sub" in noise else records  # type: ignore[attr-defined]
        return repr(float(source.randint(0, most)))
    value = corners.answer(source, records, whole=_is_whole(noise))
    mechanism: Any = made(noise)
    inner = getattr(mechanism, "noise", None) or mechanism
    most = records + (1e6 if "Sub" in noise else _reach(inner))
    if abs(value) > most:
        value = math.copysign(math.floor(most), value)
    if source.random() < 0.08:
        return f"nc.below({max(-1e6, min(1e6, value))!r})"
    return repr(value)


def _reach(noise: Any) -> float:  # noqa: ANN401
    """Within which the law of a noise has a reference."""
    if isinstance(noise, nc.DiscreteGaussian) and noise.scale > 200:
        return 37 * float(noise.scale)
    if isinstance(noise, nc.NoiseSum):
        return 60 * max(float(one.scale) for one in noise.noises)
    return math.inf


def _drawn(source: Source) -> tuple[str, tuple[Told, ...]]:
    """A population and answers about its count."""
    if source.random() < 0.15:
        return _drawn_long(source)
    population = corners.population(source)
    size = made(population).size  # type: ignore[attr-defined]
    told = []
    for _ in range(source.choice([1, 1, 1, 2, 3])):
        noise = _kernel(source, size)
        told.append(Told(_answer(source, noise, size), noise))
    return population, tuple(told)


def _drawn_long(source: Source) -> tuple[str, tuple[Told, ...]]:
    """A binomial count of many records and an answer that leaves few of them."""
    size = int(corners.between(source, 500, 1e12))
    rate = source.choice([source.uniform(0.01, 0.99), corners.between(source, 1e-9, 0.1)])
    deviation = math.sqrt(size * rate * (1 - rate))
    widest = 10.0 if deviation > 25 else 1e6
    noise = source.choice([corners.continuous, corners.discrete])(source, widest)
    away = source.choice([0, 1, 5, 30, 100]) * source.choice([-1, 1]) * max(deviation, 1)
    answer = max(-1e3, min(size + 1e3, size * rate + away))
    scale = float(made(noise).scale)  # type: ignore[attr-defined]
    if scale < 0.01 and "Gaussian" in noise:
        noise, scale = "nc.Gaussian(0.5)", 0.5
    value = float(math.floor(answer)) if "Discrete" in noise else answer
    return f"nc.Binomial({size}, {rate!r})", (Told(repr(value), noise),)


def _line(population: str, told: Sequence[Told]) -> str:
    """The call."""
    if len(told) == 1:
        return f"nc.posterior({told[0].text}, {population}, {told[0].noise})"
    answers = ", ".join(one.text for one in told)
    noises = ", ".join(one.noise for one in told)
    return f"nc.posterior([{answers}], {population}, [{noises}])"


def _bits(line: str) -> int:
    """In which a line is judged."""
    return _MORE_BITS if "e+" in line else _BITS


def _is_possible(law: Law) -> bool:
    """Return True if some count can have the answers."""
    return bool(law.total > 0)


def _judged(line: str, law: Callable[[], Law], judge: Callable[[Law, Any], str]) -> Setting:
    """A setting that must be refused where no count is possible."""
    bits = _bits(line)

    def said(value: object) -> str:
        with ctx.workprec(bits):
            return judge(law(), value)

    with ctx.workprec(bits):
        is_possible = _is_possible(law())
    return Setting(line, said, Refusal.NEVER if is_possible else Refusal.MAYBE)


def _mean(law: Law, value: Any) -> str:  # noqa: ANN401
    """Within 1e-10 standard deviations and 4 units in the last place."""
    spread = float(law.variance.upper()) ** 0.5 if law.variance.upper() > 0 else 0.0
    return close(value, law.mean, 0, 1e-10 * spread + 4 * math.ulp(float(law.mean)))


def _quantile(law: Law, level: arb, value: object) -> str:
    """The smallest count that reaches a level, within ties."""
    return whole_place(
        value,
        lambda k: bool(law.probability(-math.inf, k) >= level * (1 - _TIE)),
        lambda k: bool(law.probability(-math.inf, k) < level * (1 + _TIE)),
    )


def _upper_quantile(law: Law, level: arb, value: object) -> str:
    """The smallest count beyond which at most a level is left."""
    return whole_place(
        value,
        lambda k: bool(law.probability(k + 1, math.inf) <= level * (1 + arb("1e-9")) + _QUANTUM),
        lambda k: bool(law.probability(k, math.inf) > level * (1 - arb("1e-9")) - _QUANTUM),
    )


def _mode(law: Law, value: Any) -> str:  # noqa: ANN401
    most = max(law.weights)
    inside = law.first <= value < law.first + len(law.weights)
    if inside and law.weights[int(value) - law.first] >= most * (1 - arb("2e-12")):
        return ""
    return f"{value!r} is not the mode"


def _chances(law: Law, counts: list[float], kind: str) -> list[arb]:
    """Probabilities of counts, up to them, or beyond them."""
    if kind in ("pmf", "logpmf"):
        return [law.probability(k, k) for k in counts]
    if kind == "cdf":
        return [law.probability(-math.inf, k) for k in counts]
    return [law.probability(math.floor(k) + 1, math.inf) for k in counts]


def _probability(kind: str, counts: list[float], law: Law, value: Any) -> str:  # noqa: ANN401
    """1e-11 relative from 1e-270 on."""
    for found, exact in zip(value.tolist(), _chances(law, counts, kind), strict=True):
        if kind == "logpmf":
            if exact < arb("1e-260"):
                wrong = "" if found < -590 else f"{found!r}, exactly {exact.str(5)}"
            else:
                wrong = close(found, exact.log(), 1e-11, 1e-11)
        else:
            wrong = close(found, exact, 1e-11, 1e-270)
        if wrong:
            return wrong
    return ""


_ESTIMATES: dict[str, Callable[[Law, Any], str]] = {
    "mean": _mean,
    "variance": lambda law, value: close(value, law.variance, 1e-9, 1e-90),
    "std": lambda law, value: close(value, law.variance.nonnegative_part().sqrt(), 1e-9, 1e-45),
    "median": lambda law, value: _quantile(law, arb(1) / 2, value),
    "mode": _mode,
}


def _asked(name: str, source: Source, size: int) -> tuple[str, Callable[[Law, Any], str]]:
    """Draw a question to a law, and return it with its judge."""
    if name in _ESTIMATES:
        return name, _ESTIMATES[name]
    if name == "interval":
        level = source.choice([0.95, corners.share(source)])
        tail = (1 - level) / 2

        def both(law: Law, value: Any) -> str:  # noqa: ANN401
            ends = zip(value, (tail, 1 - tail), strict=True)
            if tail <= 0 or 1 - tail >= 1:
                return ""
            return next(filter(None, (_quantile(law, ball(at), one) for one, at in ends)), "")

        return f"interval({level!r})", both
    places = [corners.answer(source, size, whole=source.random() < 0.7) for _ in range(3)]
    if name == "probability":
        low, high = sorted(places[:2])
        low = source.choice([low, -math.inf])
        text = f"probability({low!r}, {high!r})".replace("-inf", "-math.inf")
        return text, lambda law, value: close(value, law.probability(low, high), 1e-11, 1e-270)
    if name in ("ppf", "isf"):
        levels = [corners.share(source) for _ in range(2)]
        find = _quantile if name == "ppf" else _upper_quantile

        def quantiles(law: Law, value: Any) -> str:  # noqa: ANN401
            pairs = zip(value.tolist(), levels, strict=True)
            return next(filter(None, (find(law, ball(at), one) for one, at in pairs)), "")

        return f"{name}({levels!r})", quantiles
    if name == "rvs":
        seed = source.randint(0, 99)

        def possible(law: Law, value: Any) -> str:  # noqa: ANN401
            least = law.total * arb("1e-12")
            chances = [law.probability(k, k) for k in value.tolist()]
            return "" if all(one * law.total > 0 * least for one in chances) else f"{value!r}"

        return f"rvs(3, random_state={seed})", possible
    return f"{name}({places!r})", partial(_probability, name, places)


def _posterior(name: str, source: Source) -> Setting:
    population, told = _drawn(source)
    size = made(population).size  # type: ignore[attr-defined]
    if name in ("surprise", "warning"):
        return _surprise(name, population, told)
    text, judge = _asked(source.choice([*_ESTIMATES]) if name == "posterior" else name, source, size)
    return _judged(f"{_line(population, told)}.{text}", lambda: posterior_law(population, told), judge)


def _surprise(name: str, population: str, told: tuple[Told, ...]) -> Setting:
    """The least prior predictive probability of an answer at least as far out."""
    one = told[0]

    def said(value: Any, exact: arb) -> str:  # noqa: ANN401
        if name == "surprise":
            return close(value, exact, 1e-10, 1e-300)
        is_odd = bool(exact < arb("1e-3"))
        is_even = abs(exact * 1000 - 1) < arb("1e-9")
        return "" if isinstance(value, str) == is_odd or is_even else f"{value!r} at {exact.str(5)}"

    def judge(_: Law, value: Any) -> str:  # noqa: ANN401
        law = law_of(population)
        size = made(population).size  # type: ignore[attr-defined]
        mechanism: Any = made(one.noise)
        is_below = one.text.startswith("nc.below")
        asked: Any = made(one.text)
        number = Fraction(asked.threshold if is_below else asked)
        below = Told(f"nc.below({float(number)!r})", one.noise).likelihood(size)
        noise = mechanism.noise if isinstance(mechanism, nc.Subsample) else mechanism
        is_whole = noise is None or isinstance(noise, nc.Exact) or noise.is_discrete
        least = _sum(law, below)
        if is_below:
            return said(value, least)
        at = Told(one.text, one.noise).likelihood(size) if is_whole else (lambda _: arb(0))
        low = least + _sum(law, at)
        two = 2 * low.min(_above(law, one, number, size))
        return said(value, two.min(arb(1)))

    if made(population).size > 300 or "Sub" in one.noise:  # type: ignore[attr-defined]
        return _posterior("mean", Source(repr((population, told))))
    return _judged(f"{_line(population, told[:1])}.{name}", lambda: posterior_law(population, told[:1]), judge)


def _sum(law: Law, weight: Likelihood) -> arb:
    terms = [w * weight(k) for k, w in zip(law.counts, law.weights, strict=True)]
    return sum(terms, arb(0)) / law.total


def _above(law: Law, one: Told, number: Fraction, _: int) -> arb:
    """P[Y >= y] before any answer."""
    noise: Any = made(one.noise)
    if isinstance(noise, nc.Exact):
        return _sum(law, lambda count: arb(int(count >= number)))
    return _sum(law, lambda count: tails.exceedance(noise, number - count))


def _refine(source: Source) -> Setting:
    population = corners.population(source)
    size = made(population).size  # type: ignore[attr-defined]
    noise = _kernel(source, size)
    texts = [_answer(source, noise, size) for _ in range(source.choice([1, 3, 40]))]
    texts = [text for text in texts if "below" not in text] or [repr(0.0)]
    by = source.choice(["mean", "median", "mode"])

    line = f"nc.refine([{', '.join(texts)}, math.nan], {population}, {noise}, {by!r})"
    bits = _bits(line)

    def judge(value: Any) -> str:  # noqa: ANN401
        with ctx.workprec(bits):
            for text, found in zip(texts[:4], value.tolist(), strict=False):
                law = posterior_law(population, (Told(text, noise),))
                if wrong := _ESTIMATES[by](law, found):
                    return f"{text}: {wrong}"
        return "" if math.isnan(value[-1]) else "nan is not kept"

    with ctx.workprec(bits):
        laws = [posterior_law(population, (Told(text, noise),)) for text in texts]
        is_possible = all(map(_is_possible, laws))
    return Setting(line, judge, Refusal.NEVER if is_possible else Refusal.MAYBE)


def _pair(source: Source) -> tuple[list[str], Callable[[], list[Law]]]:
    """Two posteriors of few counts, and their laws."""
    lines, told = [], []
    for _ in range(2):
        population = corners.population(source, 25)
        noise = corners.noise(source)
        size = made(population).size  # type: ignore[attr-defined]
        answer = (Told(_answer(source, noise, size), noise),)
        lines.append(_line(population, answer))
        told.append((population, answer))
    return lines, lambda: [posterior_law(*one) for one in told]


def _trimmed(law: Law) -> dict[int, arb]:
    """The probabilities of the counts that have any."""
    chances = zip(law.counts, law.probabilities, strict=True)
    return {count: chance for count, chance in chances if chance > 0}


def _two(source: Source, what: str, text: str, judge: Callable[[list[Law], Any], str]) -> Setting:
    lines, laws = _pair(source)
    line = f"nc.{what}({lines[0]}, {lines[1]}){text}"
    bits = _bits(line)

    def said(value: object) -> str:
        with ctx.workprec(bits):
            return judge(laws(), value)

    with ctx.workprec(bits):
        is_possible = all(map(_is_possible, laws()))
    return Setting(line, said, Refusal.NEVER if is_possible else Refusal.MAYBE)


def _difference_law(laws: list[Law]) -> Law:
    """A − B, term by term."""
    one, other = map(_trimmed, laws)
    first, last = min(one) - max(other), max(one) - min(other)
    table = [arb(0)] * (last - first + 1)
    for a, p in one.items():
        for b, q in other.items():
            table[a - b - first] += p * q
    return Law(first, table)


def _difference(name: str, source: Source) -> Setting:
    what = {"difference": "mean", "probability": "cdf"}.get(name, name)
    text, judge = _asked(what, source, 20)
    if what in ("pmf", "logpmf", "cdf", "sf"):
        places = [float(source.randint(-20, 20)) for _ in range(2)]
        text, judge = f"{what}({places!r})", partial(_chances_of_difference, what, places)
    elif what in ("isf", "ppf"):
        level = source.choice([0.5, 0.95, 1e-9])
        reached = level if what == "ppf" else 1 - level
        text = f"{what}({level!r})"
        judge = partial(_loose, reached)
    elif what == "interval":
        text, judge = "interval(0.95)", _loose_interval
    elif what in ("mean", "variance", "std"):
        judge = partial(_moment_of_difference, what)
    return _two(source, "difference", f".{text}", lambda laws, v: judge(_difference_law(laws), v))


def _chances_of_difference(kind: str, places: list[float], law: Law, value: Any) -> str:  # noqa: ANN401
    """Compare probabilities of a difference; those below e^−50 of the largest may be missing."""
    found = np.exp(value) if kind == "logpmf" else value
    pairs = zip(found.tolist(), _chances(law, places, kind), strict=True)
    return next(filter(None, (close(x, y, 1e-9, 1e-19) for x, y in pairs)), "")


def _moment_of_difference(what: str, law: Law, value: object) -> str:
    exact = law.variance.nonnegative_part()
    if what == "mean":
        return close(value, law.mean, 4e-16, 1e-10 * float(exact.upper()) ** 0.5 + 1e-17)
    if what == "std":
        return close(value, exact.sqrt(), 1e-9, 1e-9)
    return close(value, exact, 1e-9, 1e-18)


def _loose_interval(law: Law, value: Any) -> str:  # noqa: ANN401
    return _loose(0.025, law, value[0]) or _loose(0.975, law, value[1])


def _loose(level: float, law: Law, value: object) -> str:
    """A quantile within 1e-12 of its level."""
    tie = arb("1e-12")
    return whole_place(
        value,
        lambda k: bool(law.probability(-math.inf, k) >= ball(level) - tie),
        lambda k: bool(law.probability(-math.inf, k) < ball(level) + tie),
    )


def _ratio_cdf(laws: list[Law], value: Fraction) -> arb:
    """P[A <= value·B and B > 0]."""
    one, other = map(_trimmed, laws)
    return sum((p * q for a, p in one.items() for b, q in other.items() if b > 0 and a <= value * b), arb(0))


def _ratio(name: str, source: Source) -> Setting:
    if name == "ratio":
        return _two(
            source, "ratio", ".infinite",
            lambda laws, value: close(value, laws[1].probability(0, 0), 0, 1e-12)
        )  # fmt: skip
    a, b = source.randint(0, 20), source.randint(1, 20)
    if name in ("cdf", "probability"):
        point = Fraction(a, b)
        text = f".cdf({a}/{b})" if name == "cdf" else f".probability(-1.0, {a}/{b})"
        return _two(
            source, "ratio", text,
            lambda laws, value: close(value, _ratio_cdf(laws, point), 0, 1e-12)
        )  # fmt: skip
    level = source.choice([0.5, 0.025, 0.975, corners.share(source)])
    text = {"median": ".median", "interval": ".interval(0.95)"}.get(name, f".quantile({level!r})")

    def judge(laws: list[Law], value: Any) -> str:  # noqa: ANN401
        asked = {"median": [0.5], "interval": [0.025, 0.975]}.get(name, [level])
        found = value if name == "interval" else [value]
        return next(filter(None, map(partial(_ratio_place, laws), asked, found)), "")

    return _two(source, "ratio", text, judge)


def _ratio_place(laws: list[Law], level: float, value: float) -> str:
    """Return the error of a quantile of a ratio, or an empty text."""
    goal, tie = ball(level), arb("2e-12")
    if math.isinf(value):
        reached = 1 - laws[1].probability(0, 0)
        return "" if reached < goal + tie else f"inf, though {reached.str(17)} is reached"
    up = Fraction(value) * (1 + Fraction(2, 10**12))
    down = Fraction(value) * (1 - Fraction(2, 10**12))
    if not _ratio_cdf(laws, up) >= goal - tie:
        return f"{value!r} is too small for the level {level!r}"
    if value > 0 and not _ratio_cdf(laws, down) <= goal + tie:
        return f"{value!r} is too large for the level {level!r}"
    return ""


def _greater(source: Source) -> Setting:
    def judge(laws: list[Law], value: Any) -> str:  # noqa: ANN401
        one, other = map(_trimmed, laws)
        counts = sorted(other)
        below = [arb(0), *accumulate(other[count] for count in counts)]
        exact = sum((p * below[bisect_left(counts, a)] for a, p in one.items()), arb(0))
        return close(value, exact, 1e-11, 1e-300)

    return _two(source, "probability_greater", "", judge)


def _population(name: str, source: Source) -> Setting:
    """The law of a population's count, and its moments."""
    text = corners.population(source)
    if name == "Population.size":
        law = law_of(text)
        least = law.first + len(law.weights) - 1
        return Setting(f"{text}.size", lambda value: "" if value >= least else f"{value!r}")
    if name == "Population.support":

        def contains(value: Any) -> str:  # noqa: ANN401
            law = law_of(text)
            inside = [k for k, w in zip(law.counts, law.weights, strict=True) if w > 0]
            return "" if value[0] <= inside[0] and inside[-1] <= value[1] else f"{value!r}"

        return Setting(f"{text}.support", contains)
    if name == "Population.log_chances":
        size = made(text).size  # type: ignore[attr-defined]

        def chances(value: Any) -> str:  # noqa: ANN401
            law = law_of(text)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = np.exp(value).tolist()
            pairs = zip(found, (law.probability(k, k) for k in range(size + 1)), strict=True)
            return next(filter(None, (close(x, y, 1e-11, 1e-30) for x, y in pairs)), "")

        return Setting(f"{text}.log_chances(0, {size})", chances)
    what = source.choice(["mean", "variance", "median", "mode"])
    if name.startswith("Population.moments"):

        def discordant(value: Any) -> str:  # noqa: ANN401
            law, size = law_of(text), made(text).size  # type: ignore[attr-defined]
            exact = _sum(law, lambda k: arb(k * (size - k)))
            tolerance = 1e-12 if "Tab" in text or "Strata" in text else 4e-14
            return close(value.discordant, exact, tolerance, 1e-300)

        return Setting(f"{text}.moments", discordant)
    judge = _ESTIMATES[what]
    return Setting(f"{text}.law().{what}", lambda value: judge(law_of(text), value))


def _from_rate(source: Source) -> Setting:
    rate = source.uniform(0.01, 0.99)
    deviation = source.random() * math.sqrt(rate * (1 - rate))

    def judge(value: Any) -> str:  # noqa: ANN401
        p, d = ball(rate), ball(deviation)
        seen = p * (1 - p) / d**2 - 1
        return close(value.alpha, p * seen, 1e-13, 1e-13) or close(value.beta, (1 - p) * seen, 1e-13, 1e-13)

    return Setting(f"nc.BetaBinomial.from_rate(50, {rate!r}, {deviation!r})", judge, Refusal.MAYBE)


def _of_logs(source: Source) -> Setting:
    table = corners.table(source, source.randint(0, 12))
    shift = source.choice([0.0, -2000.0, 700.0])
    with np.errstate(divide="ignore"):
        logs = [float(np.log(one)) + shift for one in table]
    text = repr(logs).replace("-inf", "-math.inf")

    def judge(value: Any) -> str:  # noqa: ANN401
        weights = [arb(0) if math.isinf(one) else ball(one).exp() for one in logs]
        return _mean(Law(0, weights), value)

    return Setting(f"nc.Tabulated.of_logs(np.array({text})).law().mean", judge)


def _many(draw: Callable[[str, Source], Setting], prefix: str, names: str) -> dict[str, Draw]:
    return {f"{prefix}.{name}": partial(draw, name) for name in names.split()}


_LAW_NAMES = "mean variance std median mode interval probability pmf logpmf cdf sf ppf isf rvs"

COUNTS: dict[str, Draw] = {
    "posterior": partial(_posterior, "posterior"),
    **_many(_posterior, "Posterior", f"{_LAW_NAMES} surprise warning"),
    "refine": _refine,
    "difference": partial(_difference, "difference"),
    **_many(_difference, "Difference", _LAW_NAMES),
    "ratio": partial(_ratio, "ratio"),
    **_many(_ratio, "Ratio", "cdf quantile median interval probability"),
    "probability_greater": _greater,
    "Population.law": partial(_population, "Population.law"),
    "Population.given": partial(_population, "Population.given"),
    "Population.size": partial(_population, "Population.size"),
    "Population.support": partial(_population, "Population.support"),
    "Population.log_chances": partial(_population, "Population.log_chances"),
    "Population.moments": partial(_population, "Population.moments"),
    "BetaBinomial.from_rate": _from_rate,
    "Tabulated.of_logs": _of_logs,
}
"""How settings of each public name are drawn."""
