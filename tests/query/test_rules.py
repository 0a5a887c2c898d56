from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.errors import PredicateError, QueryError
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace, Laplace
from noisycount.query.query import Query, check_query, check_unit
from noisycount.query.schema import Kind
from noisycount.query.typed import ColumnGrouping
from noisycount.release.query_plan import QueryPlan, plan_of
from noisycount.tasks.plan import plan_for_error, plan_for_guess

COLUMNS = {"age": Kind.INTEGER, "town": Kind.TEXT}
TABLE = {"by": "town", "keys": {"town": ["a", "b"]}, "groups_per_unit": 1}


def plan(**parts: Any) -> QueryPlan:  # noqa: ANN401 - parts of a query
    """Return the plan of a query about persons."""
    return plan_of(Query(**parts), COLUMNS, "person", is_replacement=False)


def test_a_table_within_a_share_of_a_guess_has_the_price_of_a_dry_run() -> None:
    """Python once refused what the command priced at ε = 0.15."""
    assert plan(**TABLE, within="20%", guess=100).loss.epsilon == Fraction("0.15")
    assert plan(**TABLE, error=20).loss.epsilon == Fraction("0.15")


@given(guess=st.integers(1, 10**6), percent=st.integers(1, 100), confidence=st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_the_price_of_a_count_is_that_of_the_plan_command(guess: int, percent: int, confidence: float) -> None:
    """The spelling of the share makes no difference, and an error in units has the same price."""
    price = plan_for_guess(guess, percent / 100, confidence).epsilon
    for within in (f"{percent}%", f"±{percent} %", f"{percent / 100}", percent / 100, Fraction(percent, 100)):
        assert plan(within=within, guess=guess, confidence=confidence).loss.epsilon == price
    error = Fraction(percent * guess, 100)
    assert plan(error=error, confidence=confidence).loss.epsilon == price
    assert plan_for_error(error, confidence).epsilon == price


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ({}, r"^give one price: epsilon, or within with at_most or guess, such as within='20%' and .*; got none$"),
        ({"epsilon": 1, "error": 3}, r"^give one price: .*; got epsilon and error$"),
        ({"within": 0.2}, r"^within needs either at_most or a public guess"),
        ({"epsilon": 1, "guess": 5}, r"^guess belongs to within: leave it out$"),
        ({"error": 1, "guess": 5}, r"^guess belongs to within: leave it out$"),
        ({"epsilon": "a tenth"}, r"^epsilon must be a decimal"),
        ({"within": "20 percent", "guess": 5}, r"^within must be .* got '20 percent'$"),
        ({"within": "120%", "guess": 5}, r"^within must be .* got '120%'$"),
        ({"within": True, "guess": 5}, r"^within must be .* got True$"),
        ({"within": 0, "guess": 5}, r"^within must be positive and finite, got 0$"),
        ({"within": "20%", "guess": 0}, r"^guess must be positive and finite, got 0$"),
        ({"error": -1}, r"^error must be positive and finite, got -1$"),
        ({"error": 1, "confidence": 95}, r"^confidence must lie strictly between 0 and 1, got 95$"),
        ({"error": 1e-9}, r"^error='1e-09' needs ε = \S+, outside 1e-9 to 1e6: choose another goal$"),
        ({"within": 1, "guess": 1e13}, r"^within='1' of guess='1e\+13' needs ε = \S+, outside 1e-9 to 1e6"),
    ],
)
def test_an_impossible_price_is_refused_by_name(goal: dict[str, Any], message: str) -> None:
    """The message has the value and the remedy."""
    with pytest.raises(ValueError, match=message):
        plan(**goal)


HIDDEN = {"by": "town", "delta": "1e-6", "groups_per_unit": 1, "epsilon": 1}
BROKEN = [
    ({**TABLE, "epsilon": 1, "wheres": ["age > 1", "age > 2"]}, "give by with one wheres"),
    ({"epsilon": 1, "keys": ["a"]}, "keys belongs to a table: add by"),
    ({"epsilon": 1, "cumulative": True}, "cumulative belongs to a table: add by"),
    ({"epsilon": 1, "noise": DiscreteGaussian}, "noise belongs to a table: add by, or several wheres"),
    ({"epsilon": 1, "delta": "1e-6"}, "delta belongs to a table"),
    ({**TABLE, "epsilon": 1, "delta": "1e-6"}, "all keys are known"),
    ({**TABLE, "rho": 1, "noise": DiscreteLaplace}, "choose noise=nc.DiscreteGaussian, or give epsilon"),
    ({**TABLE, "rho": 1, "delta": "1e-6"}, "delta belongs to hidden keys, or to epsilon"),
    ({**TABLE, "epsilon": 1, "noise": DiscreteGaussian}, "Gaussian noise needs rho, or epsilon with delta='1e-6'"),
    ({**TABLE, "epsilon": 1, "noise": Laplace}, "noise must be DiscreteLaplace or DiscreteGaussian"),
    ({**TABLE, "epsilon": 1, "noise": DiscreteLaplace(3)}, "noise must be .*, the class"),
    ({**TABLE, "within": "20%", "guess": 9, "delta": "1e-6", "noise": DiscreteGaussian}, "leave delta out"),
    ({**HIDDEN, "other": True}, "other needs known keys"),
    ({**HIDDEN, "cumulative": True}, "cumulative needs known keys"),
    ({**HIDDEN, "by": ["town", "age"], "margins": ["town"]}, "margins='total' is the only sum"),
    ({**HIDDEN, "groups_per_unit": None}, "groups_per_unit is missing"),
    ({"by": "town", "epsilon": 1}, r"keys of town are missing: list them, keys=\{'town': \[...\]\}"),
    ({"by": ["town", "age:18"], "keys": {"town": ["a"]}, "epsilon": 1, "cumulative": True}, "needs one column"),
    ({**TABLE, "epsilon": 1, "cumulative": True, "other": True}, "leave other out"),
    ({**TABLE, "epsilon": 1, "cumulative": True, "margins": ["total"]}, "leave margins out"),
    ({**TABLE, "epsilon": 1, "groups_per_unit": 0}, "groups_per_unit must be a whole number from 1, got 0"),
    ({**TABLE, "epsilon": 1, "groups_per_unit": True}, "groups_per_unit must be a whole number from 1, got True"),
    ({**TABLE, "epsilon": 1, "groups_per_unit": 2, "cumulative": True}, "cumulative needs groups_per_unit='1'"),
]


@pytest.mark.parametrize(("parts", "message"), BROKEN)
def test_parts_that_do_not_go_together_are_refused(parts: dict[str, Any], message: str) -> None:
    """The message is one line."""
    with pytest.raises(QueryError, match=message) as refused:
        plan(**parts)
    assert "\n" not in str(refused.value)
    assert isinstance(refused.value, PredicateError)


def test_a_bound_on_groups_is_for_persons() -> None:
    """A row is in one group."""
    with pytest.raises(QueryError, match="groups_per_unit is for persons"):
        plan_of(Query(**TABLE, epsilon=1), COLUMNS, None, is_replacement=False)


def test_rules_that_rest_on_the_columns_wait_for_them() -> None:
    """A boolean column needs no keys, so that δ does not always mean hidden keys."""
    query = Query(by=[ColumnGrouping("town")], delta="1e-6", epsilon=1, other=True)
    check_query(query)
    with pytest.raises(QueryError, match="other needs known keys"):
        check_query(query, ["town"], has_hidden_keys=True)
    with pytest.raises(QueryError, match="all keys are known"):
        check_query(query, ["town"], has_hidden_keys=False)
    with pytest.raises(QueryError, match="groups_per_unit is missing"):
        check_unit(query, "person", has_hidden_keys=True)


def test_keys_may_be_listed_by_a_name_in_small_letters() -> None:
    """As long as no other column has exactly that name."""
    with_small = plan_of(
        Query(by="Town", keys={"town": ["a"]}, epsilon=1), {"Town": Kind.TEXT}, None, is_replacement=False
    )
    assert with_small.facts["keys"] == {"grid": [["a"]]}


def test_a_message_shows_a_value_with_braces_as_it_is() -> None:
    """Values of the user are no parts of the query."""
    with pytest.raises(QueryError, match=r"keys of \{epsilon\} are missing: list them, keys=\{'\{epsilon\}': "):
        plan_of(Query(by="{epsilon}", epsilon=1), {"{epsilon}": Kind.TEXT}, None, is_replacement=False)
