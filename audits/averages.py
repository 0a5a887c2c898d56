"""The search of how good estimates are on average, and of what noise costs who uses an answer."""

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from flint import arb
from tests.oracles import tails
from tests.oracles.balls import ball
from tests.oracles.noise_definition import Averages, Definition
from tests.oracles.pairs import hypergeometric

import noisycount as nc
from audits import corners
from audits.counts import law_of
from audits.search import Draw, Refusal, Setting, Source, close, made, proven

__all__ = ["AVERAGES"]

_BY = ["answer", "rounded", "mean", "median", "mode"]
_EVEN = arb("1e-10")  # distances that differ by less may count as equal, or not


class _Enumerated:
    """The three averages of an estimate from answers that are whole, answer by answer.

    Args:
        prior: The probabilities of 0..n.
        believed: Those that the estimate believes in.
        answers: Of each answer its place in records, and its chance at each count.
        by: Which estimate.
    """

    def __init__(
        self, prior: list[arb], believed: list[arb], answers: list[tuple[Fraction, list[arb]]], by: str
    ) -> None:
        self.error = self.better = self.even = self.unsure = arb(0)
        size = len(prior) - 1
        for place, chances in answers:
            if not any(p * f > 0 for p, f in zip(prior, chances, strict=True)):
                continue
            weights = [p * f for p, f in zip(believed, chances, strict=True)]
            estimate = _estimate(by, place, weights, size)
            for count, (p, f) in enumerate(zip(prior, chances, strict=True)):
                mass, away = p * f, abs(estimate - count)
                self.error += mass * away
                gain = abs(ball(place) - count) - away
                if by == "answer" or (by != "mean" and gain == 0):
                    self.even += mass
                elif gain > _EVEN:
                    self.better += mass
                elif not gain < -_EVEN:
                    self.unsure += mass


def _estimate(by: str, place: Fraction, weights: list[arb], size: int) -> arb:
    """The estimate from an answer."""
    if by == "answer":
        return ball(place)
    if by == "rounded":
        return arb(min(max(math.floor(place + Fraction(1, 2)), 0), size))
    whole = sum(weights, arb(0))
    if by == "mean":
        return sum((k * weight for k, weight in enumerate(weights)), arb(0)) / whole
    if by == "mode":
        most = max(weights) * (1 - arb("1e-12"))
        return arb(next(k for k, weight in enumerate(weights) if weight >= most))
    reached = arb(0)
    for k, weight in enumerate(weights):
        reached += weight
        if reached >= whole / 2 * (1 - arb("2e-14")):
            return arb(k)
    raise ArithmeticError("no median")


def _table(text: str) -> list[arb]:
    """The probabilities of 0..n."""
    law = law_of(text)
    chances = dict(zip(law.counts, law.probabilities, strict=True))
    size = made(text).size  # type: ignore[attr-defined]
    return [chances.get(count, arb(0)) for count in range(size + 1)]


def _whole_answers(noise: Any, size: int) -> list[tuple[Fraction, list[arb]]]:  # noqa: ANN401
    """The answers about up to so many records, under discrete noise, or of a sample."""
    if isinstance(noise, nc.Subsample):
        drawn = noise.sample_size
        rows = [hypergeometric(k, drawn, size) for k in range(size + 1)]
        if noise.noise is None:
            return [(Fraction(s * size, drawn), [row[s] for row in rows]) for s in range(drawn + 1)]
        inner = _whole_answers(noise.noise, drawn)
        return [
            (
                place * size / drawn,
                [sum((a * b for a, b in zip(row, at, strict=True)), arb(0)) for row in rows],
            )
            for place, at in inner
        ]
    reach = math.ceil(45 * float(noise.scale)) + 2
    chances = {z: tails.density(noise, Fraction(z)) for z in range(reach + size + 1)}
    return [(Fraction(y), [chances[abs(y - k)] for k in range(size + 1)]) for y in range(-reach, size + reach + 1)]


def _case(source: Source) -> tuple[str, str, str | None]:
    """A population, a mechanism whose answers are whole, and what is believed."""
    population = corners.population(source, 10)
    size = made(population).size  # type: ignore[attr-defined]
    noise = corners.discrete(source, source.choice([1.0, 8.0]))
    if source.random() < 0.25 and size:
        noise = f"nc.Subsample({source.randint(1, size)}{source.choice(['', ', ' + noise])})"
    believed = None
    if source.random() < 0.3:
        believed = f"nc.Binomial({size}, {source.uniform(0.05, 0.95)!r})"
    return population, noise, believed


def _average(name: str, source: Source) -> Setting:
    """An average where answers are whole."""
    if source.random() < 0.08:
        return _continuous(name, source)
    population, noise, believed = _case(source)
    by = source.choice(_BY)
    size = made(population).size  # type: ignore[attr-defined]

    def judge(value: Any) -> str:  # noqa: ANN401
        prior = _table(population)
        mechanism = made(noise)
        found = _Enumerated(prior, _table(believed or population), _whole_answers(mechanism, size), by)
        if name == "mean_absolute_error":
            return close(value, found.error, 1.01e-9, 1.01e-15)
        least = found.better if name == "improvement_probability" else found.even
        low, high = least - 1e-9, least + found.unsure + 1e-9
        return "" if low <= value <= high else f"{value!r}, exactly {least.str(17, radius=False)}"

    rest = f", {believed}" if believed else ""
    return Setting(
        f"nc.{name}({population}, {noise}, {by!r}{rest})", judge, Refusal.MAYBE if believed else Refusal.NEVER
    )


def _continuous(name: str, source: Source) -> Setting:
    """An average under continuous noise, by quadrature."""
    size, rate = source.randint(1, 6), source.uniform(0.05, 0.95)
    scale, by = round(source.uniform(0.8, 2), 2), source.choice(_BY)
    kind = source.choice(["Laplace", "Gaussian"])

    def shape(z: Any) -> Any:  # noqa: ANN401
        return np.exp(-np.abs(z) / scale) if kind == "Laplace" else np.exp(-((z / scale) ** 2) / 2)

    def judge(value: Any) -> str:  # noqa: ANN401
        if name == "tie_probability":
            right = 1.0 if by == "answer" else 0.0
            return "" if abs(value - right) <= 1e-9 else f"{value!r}, exactly {right}"
        prior = np.array([float(p) for p in _table(f"nc.Binomial({size}, {rate!r})")])
        definition = Definition(shape, scale, reach=50.0 if kind == "Laplace" else 12.0)
        error, better = Averages(definition, prior, by).found
        exact = error if name == "mean_absolute_error" else (0.0 if by == "answer" else better)
        return close(value, ball(exact), 2e-9, 2e-9)

    line = f"nc.{name}(nc.Binomial({size}, {rate!r}), nc.{kind}({scale}), {by!r})"
    return Setting(line, judge)


def _break_even(source: Source) -> Setting:
    size, rate = source.randint(2, 5), source.uniform(0.1, 0.9)
    noise, by = f"nc.DiscreteLaplace({round(source.uniform(0.5, 1.5), 2)})", source.choice(_BY[2:])
    population = f"nc.Binomial({size}, {rate!r})"
    answers: list[Any] = []

    def error(assumed: float) -> arb:
        believed = f"nc.Binomial({size}, {min(max(assumed, 0.0), 1.0)!r})"
        if not answers:
            answers.extend(_whole_answers(made(noise), size))
        return _Enumerated(_table(population), _table(believed), answers, by).error

    def judge(value: Any) -> str:  # noqa: ANN401
        goal = tails.absolute_mean(made(noise))  # type: ignore[arg-type]
        for side, found in zip((1, -1), value, strict=True):
            inside, outside = found + side * 1.1e-9, found - side * 1.1e-9
            if 0 < inside < 1 and not error(inside) <= goal * (1 + arb("1e-9")):
                return f"{value!r}: the error is larger just inside"
            if 0 < outside < 1 and 0 < found < 1 and not error(outside) >= goal * (1 - arb("1e-9")):
                return f"{value!r}: the error is smaller just outside"
        return ""

    line = f"nc.break_even_rates({population}, {noise}, {by!r})"
    return Setting(line, judge, Refusal.MAYBE)


def _loss(source: Source) -> Setting:
    """E[(Y/m − K/n)²]."""
    population = corners.population(source)
    size = made(population).size  # type: ignore[attr-defined]
    noise = source.choice(["nc.Exact()", corners.noise(source)])
    drawn = source.randint(1, size) if size and source.random() < 0.4 else None
    text = noise if drawn is None else f"nc.Subsample({drawn}, {noise})"

    def exact() -> arb:
        law, asked = law_of(population), drawn or size
        added = arb(0) if noise == "nc.Exact()" else tails.variance(made(noise))  # type: ignore[arg-type]
        loss = added / asked**2
        if drawn is not None and drawn < size:
            pairs = zip(law.counts, law.probabilities, strict=True)
            unlike = sum((p * (k * (size - k)) for k, p in pairs), arb(0))
            loss += (arb(1) / drawn - arb(1) / size) * unlike / (size * (size - 1))
        return loss

    relative = 1e-12 if "Tabulated" in text + population else 1e-14
    return Setting(
        f"nc.utility_loss({text}, {population})",
        lambda value: close(value, proven(exact), relative, 1e-300),
        Refusal.NEVER if size else Refusal.ALWAYS,
    )


AVERAGES: dict[str, Draw] = {
    **{name: partial(_average, name) for name in ("mean_absolute_error", "improvement_probability", "tie_probability")},
    "break_even_rates": _break_even,
    "utility_loss": _loss,
}
"""How settings of each public name are drawn."""
