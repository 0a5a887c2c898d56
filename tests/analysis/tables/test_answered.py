from fractions import Fraction

import numpy as np
import pytest

import noisycount as nc
from noisycount import below, table_posterior
from noisycount.analysis.tables.answers import read_answers

NOISE = nc.DiscreteLaplace(3)
TREE = nc.Tree.of_keys({"year": [1, 1, 2, 2], "site": ["A", "B", "A", "B"]})


def test_array_is_of_the_cells() -> None:
    """Nan and None are no answers; a suppressed one tells its threshold."""
    (found,) = read_answers([3, float("nan"), below(2.5), None], NOISE, TREE, None)
    assert (found.level, found.mechanism) == (2, NOISE)
    assert found.nodes.tolist() == [0, 2]
    assert found.answers.tolist() == [3, 3]
    assert found.suppressed.tolist() == [False, True]


def test_levels_and_nodes_have_answers_of_their_own() -> None:
    """Levels by number, nodes by place or keys, one or several answers about each."""
    answers = {-1: [1, 2, 3, 4], 1: [3, 8], ("1",): [2, 5], (1, 1): below(9), (): 10, ("2", "A"): 4}
    laws = {2: NOISE, 1: nc.DiscreteGaussian(2), ("1",): [NOISE, nc.Laplace(1)], 0: nc.Exact()}
    found = read_answers(answers, laws, TREE, 10)
    told = {(one.level, repr(one.mechanism), tuple(one.nodes.tolist()), tuple(one.answers.tolist())) for one in found}
    assert told == {
        (2, repr(NOISE), (0, 1, 2, 3), (1, 2, 3, 4)),
        (2, repr(NOISE), (2,), (4,)),
        (1, repr(nc.DiscreteGaussian(2)), (0, 1), (3, 8)),
        (1, repr(nc.DiscreteGaussian(2)), (1,), (9,)),
        (1, repr(NOISE), (0,), (2,)),
        (1, repr(nc.Laplace(1)), (0,), (5,)),
        (0, repr(nc.Exact()), (0,), (10,)),
    }


def test_mechanisms_may_be_one_a_level() -> None:
    """From the root; levels without answers need none."""
    found = read_answers({2: [1, 2, 3, 4], 1: [3, 7]}, [None, nc.Exact(), NOISE], TREE, None)
    assert {one.level: one.mechanism for one in found} == {2: NOISE, 1: nc.Exact()}


def test_numbers_of_every_kind_are_read() -> None:
    """Fractions, NumPy's integers and floats."""
    (found,) = read_answers([Fraction(1, 2), np.int8(3), 4.25, -7], nc.Laplace(2), TREE, None)
    assert found.answers.tolist() == [0.5, 3, 4.25, -7]


@pytest.mark.parametrize(
    ("answers", "mechanism", "total", "message"),
    [
        ([1, 2, 3], NOISE, None, r"4 of 'site', one for each node, got shape \(3,\)"),
        ({1: [1, 2, 3]}, NOISE, None, r"2 of 'year', one for each node, got shape \(3,\)"),
        ({3: [1]}, NOISE, None, "level must be a number from 0 to 2, got 3"),
        ({("3",): 1}, NOISE, None, "node must be one of the tree"),
        ({"total": 1}, NOISE, None, "node must be one of the tree, got 'total': its level is 0"),
        ([np.nan] * 4, NOISE, None, "got nan everywhere"),
        ({}, NOISE, None, "got nan everywhere"),
        ([below(3)] * 4, NOISE, None, "got suppressed ones everywhere"),
        ([1, 2, 3, 4], NOISE, 10.5, "total must be a whole number .* got 10.5: give a population"),
        ([1, 2, 3, 4], NOISE, -1, "total must be a whole number .* got -1"),
        ([1, 2, 3, 4], NOISE, True, "total must be a whole number"),
        ([1, 2.5, 3, 4], NOISE, None, r"an integer .* got 2.5 for 1, B"),
        ([1, 2, np.inf, 4], nc.Laplace(1), None, "a finite number .* got inf for 2, A"),
        ([1, 2, 3, 2**60], NOISE, None, r"up to 2\*\*53"),
        ([1, -2, 3, 4], nc.Exact(), None, r"a whole number from 0 .* got -2.0 for 1, B"),
        ([1, below(0), 3, 4], nc.Exact(), None, "got below 0 for 1, B"),
        (["a", 2, 3, 4], NOISE, None, "answers must be numbers"),
        ([None, "a", 3, 4], NOISE, None, "answers must be numbers, noisycount.below"),
        ([None, [1], 3, 4], NOISE, None, "answers must be numbers"),
        ([1, 2, 3, 4], nc.Subsample(10), None, "one sample are not independent"),
        ([1, 2, 3, 4], None, None, r"got none for 'site' \(level 2\)"),
        ([1, 2, 3, 4], {1: NOISE}, None, r"got none for 'site' \(level 2\)"),
        ({(1, 0): [1, 2]}, {(1, 0): [NOISE]}, None, "got none for 'year'"),
        ([1, 2, 3, 4], [NOISE], None, "or 3 mechanisms, one for each level from the root, got 1"),
        ([1, 2, 3, 4], nc.Splits(1), None, "mechanism must be additive noise"),
        ({(1, 0): 3, 1: [4, 5]}, nc.Exact(), None, r"1 \(level 1\) is at least 4 and at most 3"),
        ({-1: [1, 2, 3, 4], 1: [4, 7]}, nc.Exact(), None, r"1 \(level 1\) is 4, .* at most 3"),
        ({-1: [3, 2, 3, np.nan], 1: [4, 7]}, nc.Exact(), None, "is 4, but its parts are at least 5"),
        ([1, 2, 3, 9], nc.Exact(), 9, "the total is 9, but its parts are at least 15"),
        ([np.nan, np.nan, np.nan, 9], nc.Exact(), nc.Binomial(8, 0.5), "the total is 8"),
        ({0: [7]}, nc.Exact(), 8, "the total is at least 8 and at most 7"),
    ],
)
def test_bad_input_is_refused_in_one_line(answers: object, mechanism: nc.Mechanism, total: int, message: str) -> None:
    """Shapes, numbers, mechanisms and tables that cannot be are named with their values."""
    with pytest.raises(ValueError, match=message) as refused:
        table_posterior(answers, mechanism, TREE, total)
    assert "\n" not in str(refused.value)


def test_suppressed_everywhere_tells_something_of_a_public_total() -> None:
    """The cells share it, each below its threshold."""
    (found,) = read_answers([below(3)] * 4, NOISE, TREE, 5)
    assert found.suppressed.all()
