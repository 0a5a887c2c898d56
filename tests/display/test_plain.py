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
from noisycount.display.values import plain


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
    found = plain(value)
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
    found = plain(value)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert plain(found) == found


def test_what_has_no_plain_form_is_refused() -> None:
    """An object in a JSON file would be an address in memory."""
    with pytest.raises(ValueError, match=r"^value must be plain data .* got a object$"):
        plain([object()])
