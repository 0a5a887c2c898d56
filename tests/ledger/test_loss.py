from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

from noisycount.engines.memory import MemorySource
from noisycount.query.query import Query
from noisycount.release.query_plan import CellsPlan, HiddenKeysPlan, QueryPlan, plan_of
from tests.helpers.neighbours import DELTA, HIDDEN, PAIRS, SCHEMA, Pair, mutated

QUESTIONS = {"town": SCHEMA["town"]}


def asked(pair: Pair) -> QueryPlan:
    """The table as a desk understands it."""
    query = Query(**pair.question)
    return plan_of(query, QUESTIONS, "person", is_replacement=pair.is_replacement)


def loss(pair: Pair) -> Fraction:
    """The largest log-ratio of the laws of all answers, whose noises are independent."""
    table = asked(pair)
    assert isinstance(table, CellsPlan)
    counts = []
    for records in pair.worlds:
        with MemorySource(records, SCHEMA, unit="person") as source:
            question = table.question.cell_question(table.canonical)
            counts.append(source.count_cells(question))
    return sum(
        (
            Fraction(int(np.abs(one - other).sum())) / level.mechanism.exact_scale
            for level, one, other in zip(table.noise.levels, *counts, strict=True)
        ),
        Fraction(0),
    )


def shown(pair: Pair) -> mpf:
    """The larger probability, of the two data sets, that a key is shown that the other lacks."""
    table = asked(pair)
    assert isinstance(table, HiddenKeysPlan)
    counts: list[dict[object, int]] = []
    for records in pair.worlds:
        with MemorySource(records, SCHEMA, unit="person") as source:
            found = list(source.count_keys(table.question.key_question()))
        counts.append({key: int(n) for one in found for key, n in zip(one.keys, one.counts, strict=True)})
    return max(
        1 - mp.fprod(1 - reached(table, mine[key]) for key in mine.keys() - theirs.keys())
        for mine, theirs in (counts, counts[::-1])
    )


def reached(table: HiddenKeysPlan, count: int) -> mpf:
    """P[count + Z >= T] by the definition of discrete Laplace noise."""
    plan = table.noise
    assert plan.threshold is not None
    scale, far = plan.levels[0].mechanism.exact_scale, plan.threshold - count
    x = mp.exp(-mpf(scale.denominator) / scale.numerator)
    return x**far / (1 + x) if far > 0 else 1 - x ** (1 - far) / (1 + x)


@pytest.mark.parametrize("name", PAIRS)
def test_a_table_tells_its_price_and_no_more(name: str) -> None:
    """Exactly: the largest log-ratio is ε, or less where a person cannot move all that is paid."""
    pair = PAIRS[name]
    assert loss(pair) == 1 if pair.is_tight else loss(pair) < 1


@pytest.mark.parametrize(
    ("name", "mutant", "told"),
    [
        ("moves", "a replaced person as one that comes", 2),
        ("moves to other", "a replaced person as one that comes", 2),
        ("has 1,000 rows", "a person as in one group", 4),
        ("changes all of them", "a person as in one group", 2),
    ],
)
def test_a_plan_with_a_fault_tells_more(name: str, mutant: str, told: int) -> None:
    """Of that many times the price."""
    with mutated(mutant):
        assert loss(PAIRS[name]) == told


@pytest.mark.parametrize("name", HIDDEN)
def test_a_key_of_ones_own_is_shown_with_no_more_than_delta(name: str) -> None:
    """By the exact law, for several keys and for both neighbours."""
    assert shown(HIDDEN[name]) <= mpf(DELTA)


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        ("has a key of their own", "keys as they are in the data"),
        ("has 1,000 rows of three keys", "a threshold for one group"),
        *((name, "a threshold one too low") for name in HIDDEN if name != "comes to a known key"),
    ],
)
def test_a_threshold_with_a_fault_shows_it_more_often(name: str, mutant: str) -> None:
    """A threshold that is too low by 1 violates δ, by the exact law."""
    with mutated(mutant):
        assert shown(HIDDEN[name]) > mpf(DELTA)
