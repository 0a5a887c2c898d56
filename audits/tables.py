"""The search of tables: their laws by enumeration of every table of integers, in balls."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from flint import arb
from tests.oracles.balls import ball
from tests.oracles.posterior import Law
from tests.oracles.tables import Division, EnumeratedTables

import noisycount as nc
from audits import corners
from audits.counts import law_of, log_likelihood_at
from audits.search import Draw, Refusal, Setting, Source, close, made, whole_place

__all__ = ["TABLES"]

_VARIATION = 5e-11  # total variation in which a law may be off
_CONTRADICTORY = -600  # nats: answers that are less likely under every table may be refused
_ODD = 1e-3  # a surprise below this is told
_FREE = 14  # records that a total of which nothing is known is taken to have at most


@dataclass(frozen=True)
class Told:
    """A noisy answer about a node, as the enumeration takes it."""

    level: int
    position: int
    answer: float
    mechanism: nc.Mechanism
    is_below: bool = False

    def likelihood(self, count: int) -> arb:
        """The density of the answer, or the probability of one below it."""
        return log_likelihood_at(self.mechanism, Fraction(self.answer), self.is_below, count).exp()


class _Tables(EnumeratedTables):
    """Tables whose total has the law of a population, from its definition."""

    population = ""

    def _roots(self) -> Iterator[tuple[int, arb]]:
        if not self.population:
            yield from super()._roots()
            return
        law = law_of(self.population)
        yield from zip(law.counts, law.probabilities, strict=True)


@dataclass(frozen=True)
class Drawn:
    """A table that was drawn.

    Attributes:
        line: The call.
        tables: All tables with their weights.
        refusal: Whether it may be refused.
    """

    line: str
    tables: _Tables
    refusal: Refusal


def _tree(source: Source) -> tuple[str, Any]:
    """A tree of few cells."""
    cells = source.randint(1, 4)
    keys = [source.choice("ab") for _ in range(cells)]
    text = source.choice([
        f"nc.Tree.flat({cells})",
        f"nc.Tree.flat({cells})",
        f"nc.Tree.binary({cells})",
        f"nc.Tree.of_keys({{'site': {keys!r}, 'cell': {list(range(cells))!r}}})",
    ])  # fmt: skip
    return text, made(text)


def _mechanism(source: Source, *, is_narrow: bool) -> str:
    if is_narrow:
        kind = source.choice(["Laplace", "DiscreteLaplace", "DiscreteGaussian", "Gaussian"])
        return f"nc.{kind}({source.choice([0.01, 0.1, source.uniform(0.05, 0.12)])!r})"
    wide = max(1e-6, corners.scale(source, 1e6))
    return source.choice([
        f"nc.{source.choice(['Laplace', 'DiscreteLaplace'])}({wide!r})",
        f"nc.{source.choice(['Gaussian', 'DiscreteGaussian'])}({min(50.0, wide)!r})",
        corners.noise_sum(source, 50),
    ])  # fmt: skip


def _answer(source: Source, mechanism: str, most: int, *, is_near: bool = False) -> tuple[str, float, bool]:
    """An answer as text and as a number, and whether it is suppressed."""
    far = source.choice([0, 0, 0, 5, 1e3]) * source.choice([-1, 1])
    value = source.uniform(-1, most + 1) + far * (not is_near)
    if "Discrete" in mechanism:
        value = float(math.floor(value))
    if "NoiseSum" in mechanism:
        value = max(-20.0, min(20.0, value))
    if source.random() < 0.08:
        threshold = float(math.floor(value) + 2)
        return f"nc.below({threshold!r})", threshold, True
    return repr(value), value, False


def _drawn(source: Source) -> Drawn:
    """A table with a stated prior."""
    text, tree = _tree(source)
    kind = source.choice(["known", "known", "population", "free"])
    most = {"known": source.randint(0, 7), "population": source.randint(0, 6), "free": 1}[kind]
    is_free = kind == "free"
    levels = sorted({tree.depth - 1, *source.sample(range(tree.depth), 1)})
    answers, mechanisms, told = [], [], []
    for level in levels:
        mechanism = _mechanism(source, is_narrow=is_free)
        row = []
        for place in range(tree.sizes[level]):
            if source.random() < 0.12 and not is_free:
                row.append("math.nan")
                continue
            shown, value, is_below = _answer(source, mechanism, most, is_near=is_free)
            if is_below and is_free:
                shown, is_below = repr(value), False
            row.append(shown)
            told.append(Told(level, place, value, made(mechanism), is_below))  # type: ignore[arg-type]
        if not told:
            row[0] = "1.0"
            told.append(Told(level, 0, 1.0, made(mechanism)))  # type: ignore[arg-type]
        answers.append(f"{level}: [{', '.join(row)}]")
        mechanisms.append(f"{level}: {mechanism}")
    weights = [corners.between(source, 1e-2, 1e2) for _ in range(tree.cells)]
    weights = source.choice([weights, [1.0] * tree.cells, [0.5] * tree.cells])
    is_multinomial = source.random() < 0.4
    splits = f"nc.Splits{'.multinomial' if is_multinomial else ''}({weights!r})"
    exact = [Fraction(weight) for weight in weights]
    divisions = tuple(
        Division(
            tuple(
                sum((exact[cell] for cell in np.flatnonzero(tree.levels[level] == node)), Fraction(0))
                for node in range(tree.sizes[level])
            ),
            is_multinomial,
        )
        for level in range(1, tree.depth)
    )
    population = f"nc.Binomial({most}, {source.choice([0.5, source.random(), 1e-9])!r})"
    total = {"known": repr(most), "population": population, "free": "None"}[kind]
    tables = _Tables(tree, divisions, tuple(told), (0, _FREE) if is_free else most)
    if kind == "population":
        object.__setattr__(tables, "population", population)
    line = (
        f"nc.table_posterior({{{', '.join(answers)}}}, {{{', '.join(mechanisms)}}}, {text}, "
        f"total={total}, prior={splits})"
    )
    likeliest = max((weight.log() for weight in tables.weights.values()), default=arb(-math.inf))
    return Drawn(line, tables, Refusal.NEVER if likeliest > _CONTRADICTORY else Refusal.MAYBE)


def _spread(law: Law) -> float:
    """Return the reach of a law, by which a small variation moves a mean."""
    return float(len(law.weights)) + 1


def _mean(law: Law, value: object) -> str:
    return close(value, law.mean, 1e-13, _VARIATION * _spread(law))


def _std(law: Law, value: Any) -> str:  # noqa: ANN401
    return close(value**2, law.variance.nonnegative_part(), 1e-9, _VARIATION * _spread(law) ** 2)


def _quantile(level: float, law: Law, value: object) -> str:
    goal, tie = ball(level), arb(2 * _VARIATION)
    return whole_place(
        value,
        lambda k: bool(law.probability(-math.inf, k) >= goal - tie),
        lambda k: bool(law.probability(-math.inf, k) < goal + tie),
    )


_JUDGES: dict[str, Callable[[Law, Any], str]] = {
    "mean": _mean,
    "std": _std,
    "median": partial(_quantile, 0.5),
    "low": partial(_quantile, 0.025),
    "high": partial(_quantile, 0.975),
}


def _rows(drawn: Drawn, name: str, level: int, values: Any) -> str:  # noqa: ANN401
    """Return the error of the estimates of a level, or an empty text."""
    tree = drawn.tables.tree
    if len(values) != tree.sizes[level]:
        return f"{len(values)} values"
    for node, value in enumerate(values.tolist()):
        if wrong := _JUDGES[name](drawn.tables.law([node], level), value):
            return f"node {node} of level {level}: {wrong}"
    return ""


def _estimates(name: str, source: Source) -> Setting:
    drawn = _drawn(source)
    line, level = f"{drawn.line}.{name}", -1
    if name in ("level", "table_posterior"):
        level = source.randrange(drawn.tables.tree.depth)
        name = source.choice([*_JUDGES])
        line = f"{drawn.line}.level({level}).{name}"
    return Setting(line, partial(_rows, drawn, name, level), drawn.refusal)


def _of_law(name: str, source: Source) -> Setting:
    """The law of a node, or of a sum of cells."""
    drawn = _drawn(source)
    tree = drawn.tables.tree
    if name == "node":
        level = source.randrange(tree.depth)
        place = source.randrange(tree.sizes[level])
        text, law = f"node(({level}, {place}))", partial(drawn.tables.law, [place], level)
    else:
        cells = sorted(source.sample(range(tree.cells), source.randint(1, tree.cells)))
        text, law = f"sum({cells!r})", partial(drawn.tables.law, cells, -1)
    what = source.choice(["mean", "std", "median", "cdf", "pmf", "interval"])
    count = source.randint(-1, 8)

    def judge(value: Any) -> str:  # noqa: ANN401
        found = law()
        if what in _JUDGES:
            return _JUDGES[what](found, value)
        if what == "interval":
            return _quantile(0.025, found, value[0]) or _quantile(0.975, found, value[1])
        low = count if what == "pmf" else -math.inf
        return close(float(value), found.probability(low, count), 1e-11, 2 * _VARIATION)

    asked = {"cdf": f"cdf({count})", "pmf": f"pmf({count})", "interval": "interval(0.95)"}
    return Setting(f"{drawn.line}.{text}.{asked.get(what, what)}", judge, drawn.refusal)


def _evidence(source: Source) -> Setting:
    drawn = _drawn(source)

    def judge(value: object) -> str:
        exact = drawn.tables.evidence
        return close(value, exact, 1e-14, 2 * _VARIATION)

    if "Exact" in drawn.line or "total=None" in drawn.line:
        return Setting(f"{drawn.line}.evidence", lambda value: "nan" if math.isnan(value) else "")  # type: ignore[arg-type]
    return Setting(f"{drawn.line}.evidence", judge, drawn.refusal)


def _draws(source: Source) -> Setting:
    drawn = _drawn(source)

    def judge(value: Any) -> str:  # noqa: ANN401
        weights = drawn.tables.weights
        whole = sum(weights.values(), arb(0))
        for row in value.tolist():
            if not weights.get(tuple(row), arb(0)) > whole * arb("1e-30"):
                return f"{row} is no table that is possible"
        return "" if value.shape == (5, drawn.tables.tree.cells) else f"shape {value.shape}"

    return Setting(f"{drawn.line}.draws(5, random_state={source.randint(0, 9)})", judge, drawn.refusal)


def _stated(name: str, source: Source) -> Setting:
    """Draw a property of a table: columns, rounding, sensitivity, surprise."""
    drawn = _drawn(source)

    def judge(value: Any) -> str:  # noqa: ANN401
        if name in ("surprise", "warning"):
            chance, words = value
            is_told = isinstance(words, str) if chance < _ODD else words is None
            return "" if 0 <= chance <= 1 and is_told else f"{value!r}"
        if name == "rounding":
            return "" if 0 <= value <= 1e-9 else f"{value!r}"
        if name == "columns":
            lengths = set(map(len, value.values()))
            return "" if lengths == {drawn.tables.tree.cells} else f"{lengths}"
        return "" if all(move.largest >= 0 for move in value.moves) else f"{value!r}"

    if name in ("surprise", "warning"):
        line = f"(lambda told: (told.surprise, told.warning))({drawn.line})"
        return Setting(line, judge, drawn.refusal)
    return Setting(f"{drawn.line}.{name}", judge, drawn.refusal)


def _learned(source: Source) -> Setting:
    """A table whose prior is learned: its means add up, and its ends are in order."""
    text, tree = _tree(source)
    mechanism = _mechanism(source, is_narrow=False)
    row = [_answer(source, mechanism, 30)[0] for _ in range(tree.cells)]
    total = source.choice(["None", "None", "40", "nc.Binomial(60, 0.5)"])
    if all("below" in one for one in row):
        row[0] = "2.0"

    def judge(value: Any) -> str:  # noqa: ANN401
        bottom, root = value.level(-1), value.level(0)
        if not abs(bottom.mean.sum() - root.mean[0]) <= 1e-3 * (1 + root.mean[0]):
            return f"means add up to {bottom.mean.sum()!r}, the total is {root.mean[0]!r}"
        if total == "40" and root.mean[0] != 40:
            return f"the total is {root.mean[0]!r}"
        is_ordered = (bottom.low <= bottom.median) & (bottom.median <= bottom.high)
        return "" if is_ordered.all() and (bottom.low >= 0).all() else "ends out of order"

    line = f"nc.table_posterior([{', '.join(row)}], {mechanism}, {text}, total={total})"
    return Setting(line, judge, Refusal.MAYBE if total != "None" else Refusal.NEVER)


def _nodes(name: str, source: Source) -> Setting:
    """A tree by what it tells of its nodes."""
    text, tree = _tree(source)
    level = source.randrange(tree.depth)
    place = source.randrange(tree.sizes[level])
    if name == "level":
        asked = source.choice([level, level - tree.depth])
        return Setting(f"{text}.level({asked})", lambda value: "" if value == level else f"{value}")
    if name == "place":
        number = sum(tree.sizes[:level]) + place
        key = source.choice([f"({level}, {place})", f"{number}"])
        return Setting(f"{text}.place({key})", lambda value: "" if value == (level, place) else f"{value}")
    if name == "label":
        return Setting(
            f"(lambda tree: tree.place(tree.label({level}, {place})))({text})",
            lambda value: "" if value == (level, place) or _is_same(tree, value, level, place) else f"{value}",
        )
    if name == "parents":
        level = max(1, level)
        above, own = tree.levels[level - 1], tree.levels[level]
        exact = [int(above[np.argmax(own == node)]) for node in range(tree.sizes[level])]
        return Setting(f"{text}.parents({level}).tolist()", lambda value: "" if value == exact else f"{value}")
    sizes = [len(set(nodes.tolist())) for nodes in tree.levels]
    told = {"cells": sizes[-1], "depth": len(sizes)}
    return Setting(f"{text}.{name}", lambda value: "" if value == told[name] else f"{value}")


def _is_same(tree: Any, found: Any, level: int, place: int) -> bool:  # noqa: ANN401
    """Return True if two nodes hold the same cells."""
    one, other = tree.levels[found[0]] == found[1], tree.levels[level] == place
    return bool((one == other).all())


def _shape(name: str, source: Source) -> Setting:
    """The makers of trees: cells in as many parts as they have to be."""
    cells = source.choice([1, 2, 3, 5, 8, source.randint(1, 300)])
    keys = [source.choice("abc") for _ in range(cells)]
    line = {
        "flat": f"nc.Tree.flat({cells})",
        "binary": f"nc.Tree.binary({cells})",
        "of_keys": f"nc.Tree.of_keys([{keys!r}, {list(range(cells))!r}])",
        "Tree": f"nc.Tree([[0] * {cells}, list(range({cells}))])",
    }[name]

    def judge(value: Any) -> str:  # noqa: ANN401
        levels = [nodes.tolist() for nodes in value.levels]
        ends = levels[0] == [0] * cells and levels[-1] == list(range(cells))
        most = max(np.bincount(value.parents(level)).max() for level in range(1, value.depth))
        if name == "binary" and (most > 2 or value.depth > 2 + math.ceil(math.log2(cells))):
            return f"{value.sizes} is no binary tree"
        if name == "of_keys" and value.sizes[1] != len(set(keys)):
            return f"{value.sizes}"
        return "" if ends else f"{value.sizes}"

    return Setting(line, judge)


def _splits(name: str, source: Source) -> Setting:
    text, tree = _tree(source)
    weights = [corners.between(source, 1e-100, 1e100) for _ in range(tree.cells)]
    is_multinomial = name == "multinomial"
    splits = f"nc.Splits{'.multinomial' if is_multinomial else ''}({weights!r})"
    if name in ("of_level", "level"):
        level = tree.depth - 1
        line = f"{splits}.of_level({text}, {level}).weights.tolist()"
        return Setting(line, lambda value: "" if value == weights else f"{value}")
    exact = list(map(Fraction, weights))

    def judge(value: Any) -> str:  # noqa: ANN401
        for level in range(1, tree.depth):
            sums = [
                sum((exact[c] for c in np.flatnonzero(tree.levels[level] == node)), Fraction(0))
                for node in range(tree.sizes[level])
            ]
            parents = tree.parents(level).tolist()
            for node, found in enumerate(value[level - 1].tolist()):
                siblings = sum(s for s, p in zip(sums, parents, strict=True) if p == parents[node])
                right = sums[node] / siblings if is_multinomial else sums[node]
                if wrong := close(found, ball(right), 1e-14):
                    return wrong
        return ""

    return Setting(f"{splits}.concentrations_of({text})", judge)


TABLES: dict[str, Draw] = {
    "table_posterior": partial(_estimates, "table_posterior"),
    "table_posterior with a learned prior": _learned,
    **{f"TablePosterior.{name}": partial(_estimates, name) for name in (*_JUDGES, "level")},
    "TablePosterior.node": partial(_of_law, "node"),
    "TablePosterior.sum": partial(_of_law, "sum"),
    "TablePosterior.evidence": _evidence,
    "TablePosterior.draws": _draws,
    **{
        f"TablePosterior.{name}": partial(_stated, name)
        for name in ("rounding", "columns", "sensitivity", "surprise", "warning")
    },
    **{f"Tree.{name}": partial(_nodes, name) for name in ("level", "place", "label", "parents", "cells", "depth")},
    **{
        name if name == "Tree" else f"Tree.{name}": partial(_shape, name)
        for name in ("flat", "binary", "of_keys", "Tree")
    },
    "Splits": partial(_splits, "Splits"),
    "Splits.multinomial": partial(_splits, "multinomial"),
    "Splits.concentrations_of": partial(_splits, "concentrations_of"),
    "Splits.of_level": partial(_splits, "of_level"),
}
"""How settings of each public name are drawn."""
