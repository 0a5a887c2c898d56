import json
import math
from datetime import UTC, date, datetime
from enum import Enum, StrEnum
from fractions import Fraction
from pathlib import PurePosixPath

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noisycount as nc
from noisycount.display.values import MOST_ROWS, Shown, line, row_table, table, to_json_types


class Colour(Enum):
    """A member that stands for an exact number."""

    RED = Fraction(1, 4)


class Word(StrEnum):
    """A member that is a text."""

    YES = "yes"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (np.True_, True),
        (np.int64(3), 3),
        (10**30, 10**30),
        (np.float32(0.5), 0.5),
        (math.nan, None),
        (-math.inf, None),
        (Fraction(3, 20), "0.15"),
        (Fraction(20, 3), "20/3"),
        (Colour.RED, "0.25"),
        (Word.YES, "yes"),
        (date(2026, 1, 2), "2026-01-02"),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
        (PurePosixPath("a/b"), "a/b"),
        ({1: (2, None)}, {"1": [2, None]}),
        (np.array([[1.0, np.nan]]), [[1.0, None]]),
        (nc.Laplace(2), {"type": "Laplace", "scale": 2.0}),
    ],
)
def test_a_value_becomes_what_json_has(value: object, expected: object) -> None:
    """Nothing is rounded; the types are Python's own."""
    found = to_json_types(value)
    assert found == expected
    assert type(found) is type(expected)
    json.dumps(found, allow_nan=False)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_what_json_has_comes_back_from_it(value: object) -> None:
    """A value that is JSON already is kept, save what is not finite."""
    found = to_json_types(value)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert to_json_types(found) == found


def test_what_has_no_plain_form_is_refused() -> None:
    """An object in a JSON file would be an address in memory."""
    with pytest.raises(ValueError, match=r"^value must be plain data .* got a object$"):
        to_json_types([object()])


LONGEST = 100
POPULATION = nc.BetaBinomial.from_rate(5912, 0.017, 0.006)
HELD: dict[str, Shown] = {
    "laplace": nc.Laplace(10),
    "gaussian": nc.Gaussian(2.5),
    "discrete laplace": nc.DiscreteLaplace.for_epsilon(0.15),
    "discrete gaussian": nc.DiscreteGaussian(Fraction(20, 3)),
    "exact": nc.Exact(),
    "sum": nc.NoiseSum([nc.Laplace(1.0 + one) for one in range(40)]),
    "sample": nc.Subsample(100, nc.Laplace(3)),
    "binomial": nc.Binomial(1000, 0.3),
    "beta-binomial": POPULATION,
    "strata": nc.Strata(np.full(2000, 10), np.linspace(0.01, 0.99, 2000)),
    "table": nc.Tabulated(np.full(1000, 1e-3)),
    "known": nc.Known(10),
    "informed": POPULATION.given(3000, 50),
    "posterior": nc.posterior(107, POPULATION, nc.DiscreteLaplace(7)),
    "several answers": nc.posterior([3.5] * 9, nc.Binomial(9, 0.3), [nc.Laplace(7)] * 9),
    "curve": nc.privacy_curve(nc.Gaussian(3), nc.Binomial(100, 0.3)),
    "worst case": nc.privacy_curve(nc.Laplace(3)),
    "curve of a list": nc.privacy_curve(nc.DiscreteLaplace(3), nc.Atoms.nested(50, [0.2, 0.3])),
    "curve of equal answers": nc.privacy_curve([nc.Gaussian(3)] * 2, nc.Binomial(100, 0.3)),
    "atoms": nc.Atoms.disjoint(100, [0.25, 0.5]),
}


@pytest.mark.parametrize("held", HELD.values(), ids=HELD)
def test_a_value_has_a_line_plain_data_and_a_table(held: Shown) -> None:
    """Each with the name of its class; the line tells neither an address nor its insides, the table has all facts."""
    name, line, told, page = type(held).__name__, repr(held), held.to_dict(), held._repr_html_()
    assert line.startswith(f"{name}(")
    assert line.isprintable()
    assert len(line) <= LONGEST
    for insides in (" at 0x", "lambda", "lock", "array(", " object"):
        assert insides not in line
    assert told["type"] == name
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert page.startswith(f"<table><caption>{name}</caption>")
    assert page.count("<tr>") == len(told) - 1
    assert len(page) < 2000


def test_a_posterior_shows_its_estimates() -> None:
    """The text and the dict of a posterior have its estimates and its interval."""
    told = nc.posterior(107, nc.Binomial(5912, 0.017), nc.DiscreteLaplace(7))
    assert repr(told) == ("Posterior(mean=104.528, median=105, std=6.25062, interval=(91, 116), answers=[107])")
    to_json_types = told.to_dict()
    assert (to_json_types["mean"], to_json_types["median"], to_json_types["std"]) == (told.mean, told.median, told.std)
    assert (to_json_types["interval"], to_json_types["level"]) == (list(told.interval(0.95)), 0.95)
    assert to_json_types["answers"] == [107]
    assert to_json_types["mechanisms"] == [{"type": "DiscreteLaplace", "scale": "7"}]
    assert to_json_types["population"] == {"type": "Binomial", "size": 5912, "rate": 0.017}


def test_a_curve_shows_what_it_is_about_and_some_of_it() -> None:
    """The line computes nothing; the table has δ at some ε."""
    curve = nc.privacy_curve(nc.Gaussian(3))
    assert repr(curve) == "PrivacyCurve(mechanism=Gaussian(scale=3.0), population=None)"
    deltas = curve.to_dict()["deltas"]
    at_once = curve.delta([one["epsilon"] for one in deltas]).tolist()
    assert [one["delta"] for one in deltas] == at_once
    assert "epsilon 0.1, delta 0.0929022<br>" in curve._repr_html_()


def test_long_rows_show_their_ends_and_long_lines_are_cut() -> None:
    """A terminal has about a hundred columns."""
    assert repr(HELD["strata"]) == ("Strata(sizes=[10, 10, ..., 10, 10], rates=[0.01, 0.0104902, ..., 0.98951, 0.99])")
    cut = line("Name", {"text": "x" * 200})
    assert len(cut) == LONGEST
    assert cut.endswith("xxx...)")
    assert line("Name", {"text": "two\nlines", "flag": True}) == (r"Name(text='two\nlines', flag=True)")


def test_no_fact_is_markup() -> None:
    """Texts come from data: names of columns, questions, folders."""
    facts = {"<b>": "<script>", "list": ["<i>"], "map": {"<u>": "&"}, "number": -1234.5}
    page = table("<h1>", {**facts, "none": None, "exact": Fraction(1, 3), "yes": True})
    assert page == (
        "<table><caption>&lt;h1&gt;</caption>"
        "<tr><th>&lt;b&gt;</th><td>&lt;script&gt;</td></tr>"
        "<tr><th>list</th><td>[&#x27;&lt;i&gt;&#x27;]</td></tr>"
        "<tr><th>map</th><td>&lt;u&gt; &amp;</td></tr>"
        "<tr><th>number</th><td>−1,234.5</td></tr>"
        "<tr><th>none</th><td>none</td></tr>"
        "<tr><th>exact</th><td>1/3 ≈ 0.333</td></tr>"
        "<tr><th>yes</th><td>yes</td></tr></table>"
    )


def test_parts_of_a_fact_have_few_digits() -> None:
    """A table is for people, also where it tells what was assumed."""
    facts = {"noise": [nc.DiscreteLaplace(20), nc.DiscreteLaplace(Fraction(20, 3))]}
    facts["prior"] = nc.BetaBinomial(9, 1 / 3, 2 / 3)
    assert table("Told", facts) == (
        "<table><caption>Told</caption>"
        "<tr><th>noise</th><td>DiscreteLaplace(scale=20), DiscreteLaplace(scale=20/3)</td></tr>"
        "<tr><th>prior</th><td>BetaBinomial(size=9, alpha=0.333333, beta=0.666667)</td></tr>"
        "</table>"
    )


def test_a_table_names_the_column_of_each_key() -> None:
    """A level may be called after all of its columns: a key has the name of its own."""
    keys = nc.Tree.of_keys({"site": ["1", "1", "2"], "health": ["good", "poor", "good"]})
    tree = nc.Tree(keys.levels, ("total", "site", "site,health"), keys.labels)
    told = nc.table_posterior([12, 31, 9], nc.DiscreteLaplace(4), tree=tree, total=50)
    head = "<th>site</th><th>health</th><th>mean</th>"
    assert head in told._repr_html_()


def test_every_text_is_escaped() -> None:
    """A key may hold anything."""
    told = row_table("<a>", ["<b>"], [["<c>"]], ["<d>"])
    assert not any(f"<{letter}>" in told for letter in "abcd")
    assert "&lt;c&gt;" in told


def test_rows_that_are_left_out_are_told() -> None:
    """By their number, and only where there are some."""
    told = row_table("", ["n"], [[str(number)] for number in range(MOST_ROWS)], [], 1200)
    assert told.count("<td>") == MOST_ROWS
    assert "… 1,200 more rows" in told
    assert "more" not in row_table("", ["n"], [["1"]], [])
