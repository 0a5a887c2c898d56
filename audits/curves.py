"""The search of privacy curves and of what is planned by them: δ by its definition, in balls."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from flint import arb, ctx
from tests.oracles import tails
from tests.oracles.balls import ball, choose, normal_tail
from tests.oracles.enclosed import delta
from tests.oracles.enclosed import directions as enclosed_directions
from tests.oracles.pairs import Outsider, binomial_pairs, hypergeometric, known_pairs
from tests.oracles.random_curves import Setting as Curve
from tests.oracles.random_curves import random_mechanism, random_outsider, random_setting
from tests.oracles.several import of_atoms, of_pair

import noisycount as nc
from audits import corners
from audits.search import Draw, Refusal, Setting, Source, close, made, proven

__all__ = ["CURVES", "text_of"]

_LOOSE = arb("1e-8")  # of δ: the width of a bracket, which an ε or a scale may miss
_UNKNOWN = arb("1e-50")  # of δ: below, only the bracket is promised


_FIELDS = {
    nc.Binomial: "size rate",
    nc.BetaBinomial: "size alpha beta",
    nc.Known: "size count",
    nc.Exact: "",
    nc.DiscreteLaplace: "scale",
    nc.DiscreteGaussian: "scale",
    nc.Laplace: "scale",
    nc.Gaussian: "scale",
    nc.Subsample: "sample_size noise",
    nc.Strata: "sizes rates",
}


def text_of(value: Any, table: Sequence[float] = ()) -> str:  # noqa: ANN401
    """A mechanism, a population or a number as Python."""
    if isinstance(value, nc.NoiseSum):
        return f"nc.NoiseSum([{', '.join(map(text_of, value.noises))}])"
    if isinstance(value, nc.Tabulated):
        return f"nc.Tabulated({list(table)})"
    if isinstance(value, Fraction):
        return repr(float(value))
    if type(value) not in _FIELDS:
        return repr(getattr(value, "tolist", lambda: value)())
    fields = (text_of(getattr(value, name)) for name in _FIELDS[type(value)].split())
    return f"nc.{type(value).__name__}({', '.join(fields)})"


def _outsider_text(outsider: Outsider) -> str:
    text = text_of(outsider.population, outsider.table)
    if outsider.known:
        return f"{text}.given({outsider.known}, {outsider.positives})"
    return text


def _curve_line(curve: Curve) -> str:
    return f"nc.privacy_curve({text_of(curve.mechanism)}, {_outsider_text(curve.outsider)})"


def _holds(value: Any, exact: arb, slack: float = 0.0) -> str:  # noqa: ANN401
    """Return the error of a bracket of δ, or an empty text."""
    lower, upper = value
    room = slack + 5e-324
    if lower <= upper and arb(lower) <= exact.upper() + room and arb(upper) >= exact.lower() - room:
        return ""
    return f"{value!r}, exactly {exact.str(17, radius=False)}"


def _fault(name: str, source: Source) -> Setting:
    """A curve where it is hard."""
    curve = random_setting(source)
    if name != "bracket":  # what a value promises, it does where the curve neither ends nor jumps
        curve = replace(curve, epsilon=min(5.0, curve.epsilon * source.random()))
    exact = partial(delta, curve.mechanism, curve.outsider, curve.epsilon)

    def directions(value: Any) -> str:  # noqa: ANN401
        with ctx.workprec(2048):
            sides = enclosed_directions(curve.mechanism, curve.outsider, curve.epsilon)
        room = 1e-8 * float(max(sides, key=lambda one: one.mid())) + 1e-50
        pairs = zip(value, sides, strict=True)
        return next(filter(None, (close(found, right, 0, room) for found, right in pairs)), "")

    def judge(value: Any) -> str:  # noqa: ANN401
        if name == "bracket":
            return _holds(value, exact())
        return close(value, exact(), 1e-8, 1e-50)

    line = f"{_curve_line(curve)}.{name}({curve.epsilon!r})"
    return Setting(line, directions if name == "directions" else judge)


def _epsilon(name: str, source: Source) -> Setting:
    """The smallest ε with a δ, at the δ of a hard ε, at random, or at an end."""
    curve = random_setting(source)

    def at(epsilon: float) -> arb:
        return delta(curve.mechanism, curve.outsider, epsilon)

    hard = float(at(curve.epsilon))
    goal = source.choice([hard, hard * source.random(), source.random() ** 4, 0.0, 1.0, 1e-300, 1 - 1e-12])
    goal = min(max(goal, 0.0), 1.0)

    def both(value: Any) -> str:  # noqa: ANN401
        low, high = value
        if not 0 <= low <= high:
            return f"{value!r} is no bracket"
        if 0 < low < math.inf and not at(low) >= ball(goal) * (1 - arb("1e-13")) - _UNKNOWN:
            return f"{value!r}: δ is {at(low).str(17, radius=False)} at the lower end already"
        if high < math.inf and not at(high) <= ball(goal) * (1 + arb("1e-13")) + _UNKNOWN:
            return f"{value!r}: δ is {at(high).str(17, radius=False)} at the upper end still"
        return ""

    line = f"{_curve_line(curve)}.{name}({goal!r})"
    if name == "epsilon_bracket":
        return Setting(line, both)
    return Setting(line, lambda value: _is_least_epsilon(at, goal, value))


def _is_least_epsilon(at: Callable[[float], arb], goal: float, value: Any) -> str:  # noqa: ANN401
    """Return the error of the smallest ε of a δ, which may be 1e-9 too large beside the bracket."""
    if math.isinf(value):
        reached = at(600.0)  # from there on the upper end stays
        return "" if reached > ball(goal) * (1 - _LOOSE) - _UNKNOWN else f"inf, but δ(600) = {reached}"
    reached = at(value)
    if not reached <= ball(goal) * (1 + arb("1e-13")) + _UNKNOWN:
        return f"{value!r} is too small: δ = {reached.str(17, radius=False)}"
    less = value - 1.01e-9 * max(1.0, value)
    if less <= 0:
        return ""
    reached = at(less)
    if not reached >= ball(goal) * (1 - _LOOSE) - _UNKNOWN:
        return f"{value!r} is too large: δ({less!r}) = {reached.str(17, radius=False)}"
    return ""


def worst_case(kind: str, scale: Fraction, epsilon: float) -> arb:
    """δ of a noise for somebody who knows all other records, in closed form."""
    factor, b, e = ball(epsilon).exp(), ball(scale), ball(epsilon)
    if kind == "nc.Laplace":
        return (-((e - 1 / b) / 2).expm1()).nonnegative_part()
    if kind == "nc.Gaussian":
        high, low = e * b + 1 / (2 * b), e * b - 1 / (2 * b)
        return (normal_tail(low) - factor * normal_tail(high)).nonnegative_part()
    noise: Any = made(f"{kind}({float(scale)!r})")
    if kind == "nc.DiscreteLaplace":  # from 1 on all answers are as telling as each other
        return (tails.exceedance(noise, Fraction(0)) - factor * tails.exceedance(noise, Fraction(1))).nonnegative_part()
    first = math.floor(Fraction(epsilon) * scale**2 + Fraction(1, 2)) + 1
    return tails.exceedance(noise, Fraction(first - 1)) - factor * tails.exceedance(noise, Fraction(first))


def _worst(source: Source) -> Setting:
    """The worst case at any scale and ε."""
    kind = corners.noise_class(source)
    scale = corners.scale(source)
    text = f"{kind}({scale!r})"
    exact_scale: Fraction = made(text).exact_scale  # type: ignore[attr-defined]
    epsilon = source.choice([corners.epsilon(source), float(1 / exact_scale), source.random() * float(1 / exact_scale)])
    epsilon = min(epsilon, 700.0)
    if kind == "nc.DiscreteGaussian" and scale > 200:
        epsilon = min(epsilon, 36 / scale)

    def judge(value: Any) -> str:  # noqa: ANN401
        exact = worst_case_proven(kind, exact_scale, epsilon)
        if epsilon > 599 or exact < _UNKNOWN:
            return "" if exact <= ball(value) * (1 + arb("1e-9")) + _UNKNOWN else f"{value!r}, {exact}"
        return close(value, exact, 1e-9)

    return Setting(f"nc.privacy_curve({text}).delta({epsilon!r})", judge)


def worst_case_proven(kind: str, scale: Fraction, epsilon: float) -> arb:
    """Return the worst case to 46 bits, or 0 below 1e-330."""
    return proven(lambda: worst_case(kind, scale, epsilon))


def _is_smallest_scale(at: Callable[[float], arb], goal: float, value: float) -> str:
    """Return the error of the smallest scale for a δ; δ need not fall in the scale."""
    reached = at(value)
    if not reached.lower() <= ball(goal) * (1 + arb("1e-13")):
        return f"{value!r} is too small: δ = {reached.str(17, radius=False)}"
    if value <= 2.0**-47:
        return ""
    for share in (1 - 2e-9, 0.99, 0.95, 0.9, 0.8, 0.7, 0.5, 0.3, 0.1):
        if not at(value * share) >= ball(goal) * (1 - _LOOSE):
            return f"{value!r} is too large: {value * share!r} is enough"
    return ""


def _smallest_scale(source: Source) -> Setting:
    kind = corners.noise_class(source)
    epsilon = source.choice([0.0, 0.1, 1.0, 2.0, corners.between(source, 1e-3, 20)])
    goal = source.choice([0.0, 1.0, 1e-12, 1e-6, 0.05, 0.11, 0.5, 1 - 1e-12, corners.between(source, 1e-30, 1)])
    population, outsider = "None", Outsider(None)
    if source.random() < 0.4:
        size, rate = source.randint(1, 12), source.choice([0.5, source.uniform(0.01, 0.99), 1e-9])
        population, outsider = f"nc.Binomial({size}, {rate!r})", Outsider(nc.Binomial(size, rate))

    def at(scale: float) -> arb:
        if outsider.population is None:
            noise: Any = made(f"{kind}({scale!r})")
            return worst_case_proven(kind, noise.exact_scale, epsilon)
        return delta(made(f"{kind}({scale!r})"), outsider, epsilon)  # type: ignore[arg-type]

    def judge(value: Any) -> str:  # noqa: ANN401
        if value == 0:
            exact = delta(nc.Exact(), outsider, epsilon)
            return "" if exact <= ball(goal) else f"0, but δ = {exact.str(17)} without noise"
        if value > 100 and outsider.population is not None:
            return ""
        return _is_smallest_scale(at, goal, value)

    reachable = epsilon > 0 and goal > 0 and epsilon * goal > 1e-9
    line = f"nc.smallest_scale({kind}, {epsilon!r}, {goal!r}, {population})"
    return Setting(line, judge, Refusal.NEVER if reachable else Refusal.MAYBE)


def _one_of_list(source: Source) -> str:
    """Noise whose lists have a reference."""
    scale = round(source.uniform(0.15, 1.2), 2)
    return source.choice(["nc.Exact()", f"nc.DiscreteLaplace({scale})", f"nc.DiscreteGaussian({scale})"])


def _list(source: Source) -> Setting:
    """Two answers about one count, or about atoms."""
    mechanisms = [_one_of_list(source) for _ in range(2)]
    told: list[Any] = list(map(made, mechanisms))
    epsilon = source.choice([0.0, 0.01, 0.5, 1.0, source.uniform(0, 4)])
    if source.random() < 0.5:
        size, atoms = source.randint(1, 4), source.randint(2, 3)
        weights = [source.choice([1e-9, 0.05, source.random(), source.random()]) for _ in range(atoms)]
        rates = [weight / sum(weights) for weight in weights]
        questions = [{0}, set(range(atoms - 1))] if source.random() < 0.5 else [{0}, {1}]
        population = f"nc.Atoms({size}, {rates!r}, {questions!r})"

        def exact() -> float:
            return max(of_atoms(made(population), told, epsilon))  # type: ignore[arg-type]

    else:
        size = source.randint(1, 6)
        rate = source.choice([0.5, 0.05, source.random(), 1e-6])
        population = f"nc.Binomial({size}, {rate!r})"

        def exact() -> float:
            (pair,) = binomial_pairs(size, rate)
            return max(of_pair(pair, told, epsilon))

    line = f"nc.privacy_curve([{', '.join(mechanisms)}], {population}).bracket({epsilon!r})"
    return Setting(line, lambda value: _holds(value, arb(exact()), 1e-14 * math.exp(epsilon)))


def _gaussians(source: Source) -> Setting:
    """Several Gaussian answers about one count are one of a smaller scale."""
    number, scale = source.randint(2, 9), corners.between(source, 0.5, 50)
    epsilon = source.choice([0.0, 0.01, corners.between(source, 1e-3, 3)])
    spread = Fraction(scale)

    def judge(value: Any) -> str:  # noqa: ANN401
        def exact() -> arb:
            b, e = ball(spread) / arb(number).sqrt(), ball(epsilon)
            high, low = e * b + 1 / (2 * b), e * b - 1 / (2 * b)
            return normal_tail(low) - e.exp() * normal_tail(high)

        return _holds(value, proven(exact), 1e-300)

    return Setting(f"nc.privacy_curve([nc.Gaussian({scale!r})] * {number}).bracket({epsilon!r})", judge)


def _amplified(source: Source) -> Setting:
    drawn = source.randint(1, 30)
    size = source.choice([drawn, drawn + 1, 1000 + drawn, 10**9, 2**53])
    rate, epsilon = corners.share(source), corners.epsilon(source)

    def judge(value: Any) -> str:  # noqa: ANN401
        exact = proven(lambda: _bound(size, drawn, rate, epsilon))
        if not arb(value) >= exact * (1 - arb("1e-15")) - arb("1e-307"):
            return f"{value!r} is below {exact.str(17, radius=False)}"
        return close(value, exact, 1e-9, 1e-50)

    return Setting(f"nc.amplified_delta({size}, {drawn}, {rate!r}, {epsilon!r})", judge)


def _bound(size: int, drawn: int, rate: float, epsilon: float) -> arb:
    """The larger of λ·(1 − (1 − β)·π)·δ₊(ε″) and the same of the negative records."""
    share, e = arb(drawn) / size, ball(epsilon)
    odds = 1 + e.expm1() / share
    beta, chance = e.exp() / odds, ball(rate)
    (pair,) = binomial_pairs(drawn, rate)
    up, down = (
        sum(((p - odds * q).nonnegative_part() for p, q in zip(one.positive, one.negative, strict=True)), arb(0))
        for one in (pair, pair.mirrored)
    )
    return (share * (1 - (1 - beta) * chance) * up).max(share * (1 - (1 - beta) * (1 - chance)) * down)


def _hockey(plus: Sequence[arb], minus: Sequence[arb], epsilon: float) -> arb:
    """The larger of Σ max(0, P₊ − e^ε·P₋) and the same the other way round."""
    factor = ball(epsilon).exp()
    both = [
        sum(((a - factor * b).nonnegative_part() for a, b in zip(one, other, strict=True)), arb(0))
        for one, other in ((plus, minus), (minus, plus))
    ]
    return both[0].max(both[1])


def _binomial(size: int, rate: arb) -> list[arb]:
    return [choose(size, k) * rate**k * (1 - rate) ** (size - k) for k in range(size + 1)]


def _samples(source: Source) -> Setting:
    """Counts of independent samples of one database."""
    size = source.randint(1, 7)
    drawn = [source.randint(1, size) for _ in range(source.randint(1, 2))]
    rate, epsilon = source.choice([0.5, 0.1, source.random()]), source.uniform(0, 2)

    def judge(value: Any) -> str:  # noqa: ANN401
        others = _binomial(size - 1, ball(rate))
        plus, minus = [], []
        for told in product(*(range(one + 1) for one in drawn)):
            at = [
                math.prod((hypergeometric(k, m, size)[s] for s, m in zip(told, drawn, strict=True)), start=arb(1))
                for k in range(size + 1)
            ]
            plus.append(sum((p * at[k + 1] for k, p in enumerate(others)), arb(0)))
            minus.append(sum((p * at[k] for k, p in enumerate(others)), arb(0)))
        return _holds(value, _hockey(plus, minus, epsilon), 1e-15)

    samples = ", ".join(f"nc.Subsample({one})" for one in drawn)
    line = f"nc.samples_curve([{samples}], nc.Binomial({size}, {rate!r})).bracket({epsilon!r})"
    return Setting(line, judge)


def _parts(source: Source) -> Setting:
    """Counts of the disjoint random parts of one database."""
    parts = [source.randint(1, 5) for _ in range(source.randint(1, 3))]
    size = sum(parts) + source.choice([0, 0, 1, 10])
    rate, epsilon = (
        source.choice([0.5, 0.1, source.random()]),
        source.choice([0.0, source.uniform(0, 2)]),
    )
    adaptive = source.random() < 0.3

    def law(of: Callable[[int, int], list[arb]], told: tuple[int, ...]) -> arb:
        """The probability of answers, the record in each of the parts at its share."""
        found = arb(size - sum(parts)) / size * _all(told, -1, of)
        for place, one in enumerate(parts):
            found += arb(one) / size * _all(told, place, of)
        return found

    def _all(told: tuple[int, ...], place: int, of: Callable[[int, int], list[arb]]) -> arb:
        chances = [of(one, int(number == place))[told[number]] for number, one in enumerate(parts)]
        return math.prod(chances, start=arb(1))

    def judge(value: Any) -> str:  # noqa: ANN401
        chance = ball(rate)

        def positive(one: int, inside: int) -> list[arb]:
            return [arb(0), *_binomial(one - 1, chance)] if inside else _binomial(one, chance)

        def negative(one: int, inside: int) -> list[arb]:
            return [*_binomial(one - 1, chance), arb(0)] if inside else _binomial(one, chance)

        if adaptive:
            exact = sum(
                (arb(one) / size * _hockey(positive(one, 1), negative(one, 1), epsilon) for one in parts), arb(0)
            )
            return "" if arb(value[1]) >= exact - 1e-300 or len(parts) > 1 else f"{value!r} {exact}"
        answers = list(product(*(range(one + 1) for one in parts)))
        plus, minus = ([law(of, told) for told in answers] for of in (positive, negative))
        return _holds(value, _hockey(plus, minus, epsilon), 1e-15)

    samples = ", ".join(f"nc.Subsample({one})" for one in parts)
    line = f"nc.parts_curve([{samples}], nc.Binomial({size}, {rate!r}), adaptive={adaptive})"
    return Setting(f"{line}.bracket({epsilon!r})", judge)


def _risk(name: str, source: Source) -> Setting:
    """Draw a list of answers under the rule of a desk; judge the upper ends of its risk."""
    mechanisms = [_one_of_list(source).replace("nc.Exact()", "nc.DiscreteLaplace(0.7)") for _ in range(2)]
    told: list[Any] = list(map(made, mechanisms))
    size = source.choice([1, 3, 1000, 10**6])
    small = source.choice([1e-9, 0.01, 0.3, source.uniform(0, 0.5)])
    rates = [small, source.uniform(0, 1 - small)]
    rates.append(max(0.0, 1 - sum(rates)))
    epsilon, least = (
        source.choice([0.0, 0.1, source.uniform(0, 3)]),
        source.choice([10.0, 1e-3, 1e9]),
    )
    population = f"nc.Atoms({size}, {rates!r}, [{{0}}, {{0, 1}}])"
    line = f"nc.list_risk([{', '.join(mechanisms)}], {population}, least={least!r})"

    def judge(value: Any) -> str:  # noqa: ANN401
        (pair,) = known_pairs(1)
        worst = max(of_pair(pair, told, epsilon)) if epsilon < 20 else 0.0
        if name == "worst":
            return "" if value >= worst - 1e-12 else f"{value!r} is below {worst!r}"
        if not 0 <= value <= worst * 1.05 + 1e-9:
            return f"{value!r} is not from 0 to the worst case {worst!r}"
        if name == "delta" and size <= 3:
            exact = max(of_atoms(made(population), told, epsilon))  # type: ignore[arg-type]
            return "" if value >= exact - 1e-12 else f"{value!r} is below {exact!r}"
        return ""

    if name == "given":

        def small_groups(value: Any) -> str:  # noqa: ANN401
            groups = [rate for rate in rates if rate > 0]
            exact = math.fsum(rate for rate in groups if rate * size < least)
            return "" if abs(value - exact) <= 1e-9 else f"{value!r}, exactly {exact!r}"

        return Setting(f"{line}.given", small_groups)
    return Setting(f"{line}.{name}({epsilon!r})", judge)


def _atoms(name: str, source: Source) -> Setting:
    """Atoms by their three makers, and the rates of questions."""
    number = source.randint(1, 4)
    rates = [corners.rate(source) for _ in range(number)]
    size = corners.size(source)
    if name == "nested":
        rates.sort()
    if name == "disjoint":
        rates = [rate / max(1.0, math.fsum(rates)) for rate in rates]
    if name in ("rate", "Atoms", "patterns", "checked"):
        total = math.fsum(rates) or 1.0
        rates = [rate / total for rate in rates] if math.fsum(rates) else [1.0] * 1
        question = sorted(source.sample(range(len(rates)), source.randint(0, len(rates))))
        chance = sum((Fraction(rates[atom]) for atom in question), Fraction(0))
        whole = sum(map(Fraction, rates), Fraction(0))
        text = f"nc.Atoms({size}, {rates!r})"
        if name == "patterns":
            asked = f"[frozenset({question!r})]"

            def patterns(value: Any) -> str:  # noqa: ANN401
                found = value.get((1,), 0.0)
                return close(found, ball(chance / whole), 1e-14, 1e-300)

            return Setting(f"{text}.patterns({asked})", patterns)
        if name == "checked":
            return Setting(
                f"{text}.checked([{question!r}])", lambda value: "" if value == (frozenset(question),) else f"{value!r}"
            )
        return Setting(f"{text}.rate({question!r})", lambda value: close(value, ball(chance / whole), 1e-14, 1e-300))

    def judge(value: Any) -> str:  # noqa: ANN401
        for asked, rate in zip(value.questions, rates, strict=True):
            if wrong := close(value.rate(asked), ball(rate), 1e-9, 1e-12):
                return wrong
        return "" if value.size == size else f"{value.size!r}"

    return Setting(f"nc.Atoms.{name}({size}, {rates!r})", judge)


def _agree(source: Source) -> Setting:
    """Arrays of ε give what single ones give, and δ falls."""
    outsider = random_outsider(source)
    mechanism = random_mechanism(source, outsider)
    epsilons = sorted({0.0, source.uniform(0, 3), source.uniform(0, 3)})
    line = f"nc.privacy_curve({text_of(mechanism)}, {_outsider_text(outsider)}).delta({epsilons!r})"

    def judge(value: Any) -> str:  # noqa: ANN401
        for found, epsilon in zip(value.tolist(), epsilons, strict=True):
            if wrong := close(found, delta(mechanism, outsider, epsilon), 1e-6, 1e-50):
                return wrong
        return ""

    return Setting(line, judge)


CURVES: dict[str, Draw] = {
    **{f"PrivacyCurve.{name}": partial(_fault, name) for name in ("bracket", "delta", "directions")},
    "PrivacyCurve.epsilon": partial(_epsilon, "epsilon"),
    "PrivacyCurve.epsilon_bracket": partial(_epsilon, "epsilon_bracket"),
    "privacy_curve": _worst,
    "privacy_curve of arrays": _agree,
    "privacy_curve of lists": _list,
    "privacy_curve of Gaussian lists": _gaussians,
    "smallest_scale": _smallest_scale,
    "amplified_delta": _amplified,
    "samples_curve": _samples,
    "parts_curve": _parts,
    "list_risk": partial(_risk, "delta"),
    **{f"ListRisk.{name}": partial(_risk, name) for name in ("delta", "worst", "rest", "adaptive", "given")},
    **{
        f"Atoms.{name}": partial(_atoms, name)
        for name in ("nested", "disjoint", "independent", "rate", "patterns", "checked")
    },
    "Atoms": partial(_atoms, "Atoms"),
}
"""How settings of each public name are drawn."""
