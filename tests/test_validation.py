import math
import re
import time
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from urllib.parse import unquote

import numpy as np
import pytest
import sqlalchemy
from hypothesis import example, given
from hypothesis import strategies as st

from noisycount.validation import (
    exact_delta,
    exact_epsilon,
    exact_rational,
    exact_text,
    exact_value,
    largest_epsilon,
    parse_probability,
    parse_url,
)

SMALLEST, LARGEST = Fraction(1, 10**9), Fraction(10**6)
decimals = st.integers(10**9, 10**24).map(lambda units: Fraction(units, 10**18))
small_fractions = st.builds(Fraction, st.integers(1, 10**6), st.integers(1, 1000))
epsilons = decimals | small_fractions


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0.1", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        ("1e-3", Fraction(1, 1000)),
        ("2", Fraction(2)),
        (" 2. ", Fraction(2)),
        (".5", Fraction(1, 2)),
        ("1E6", LARGEST),
        ("1e-9", SMALLEST),
        ("0.000000001000000001", SMALLEST + Fraction(1, 10**18)),
        (3, Fraction(3)),
        (Decimal("0.3"), Fraction(3, 10)),
        (Decimal("1E+2"), Fraction(100)),
        (Fraction(7, 3), Fraction(7, 3)),
    ],
)
def test_exact_epsilon_is_the_number_that_was_written(
    value: str | int | Decimal | Fraction, expected: Fraction
) -> None:
    """Nothing is rounded on the way in."""
    assert exact_epsilon(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        *("0", "-1", "-0.1", "nan", "inf", "-inf", "1e999", "1e-999", "1e999999999", "1e-999999999"),
        *("", " ", "abc", "1/0", "0/5", "1/3/5", "1_0", "1,5", "0x1", "1/2e3", "٣", "1\n2", "1e"),
        *("0.9e-9", "1000000.1", "1/1000000001", "0.0000000010000000001", "1/1001"),
        *("0" * 41, "1" * 5000, "0." + "1" * 39),
        *(0, -1, True, 10**7),
        pytest.param(10**5000, id="ten to the 5000"),
        pytest.param(-(10**5000), id="minus ten to the 5000"),
        *(Fraction(0), Fraction(-1, 3), Fraction(1, 10**10), Fraction(1, 1009), Fraction(0.1)),
        *(Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("1e-999999999")),
        *(Decimal("1e999999999"), Decimal(-1)),
    ],
)
def test_a_value_outside_the_range_is_refused_at_once_in_one_line(value: str | int | Decimal | Fraction) -> None:
    """Neither a hang nor a huge integer: the magnitude is bounded before a number is built."""
    began = time.process_time()
    with pytest.raises(ValueError, match=r"\Aepsilon must be .*, got [^\n]+\Z") as refusal:
        exact_epsilon(value)
    assert time.process_time() - began < 0.5
    assert len(str(refusal.value)) < 250


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.1, Fraction(1, 10)),
        (1e-7, Fraction(1, 10**7)),
        (2.0, Fraction(2)),
        (0.1 + 0.2, Fraction(30000000000000004, 10**17)),
        (1 / 3, Fraction(3333333333333333, 10**16)),
        (np.float64(0.3), Fraction(3, 10)),
    ],
)
def test_a_float_is_the_decimal_that_it_shows(value: float, expected: Fraction) -> None:
    """The text 0.1 is one tenth, not the nearest double."""
    assert exact_epsilon(value) == expected
    assert exact_epsilon(str(float(value))) == expected


@pytest.mark.parametrize("value", [math.nan, math.inf, -0.1, 0.0, 1e-10, 1e7, 0.001 / 3])
def test_a_float_out_of_range_is_refused_with_its_value(value: float) -> None:
    """Also one of more places than a ledger adds up."""
    with pytest.raises(ValueError, match=rf"^epsilon must be .* got {re.escape(str(value))}$"):
        exact_epsilon(value)


def test_a_refusal_names_the_argument_and_its_value() -> None:
    """A budget is not called epsilon."""
    with pytest.raises(ValueError, match=re.escape("budget must be ")) as refusal:
        exact_epsilon("-1", "budget")
    assert str(refusal.value).endswith("got '-1'")


OF_NUMPY = Fraction(np.int64(583), np.int64(917))  # type: ignore[arg-type]


def parts(value: Fraction) -> set[type]:
    """Give the types of the integers that a fraction is made of."""
    return {type(value.numerator), type(value.denominator)}


@pytest.mark.parametrize(
    "exact", [exact_epsilon, exact_delta, exact_rational, lambda value: exact_epsilon(value, "budget")]
)
def test_integers_of_numpy_become_pythons_own(exact: Callable[[Fraction], Fraction]) -> None:
    """NumPy's integers are converted, as sums of their fractions overflow."""
    assert parts(OF_NUMPY) == {np.int64}, "nothing is tested"
    assert exact(OF_NUMPY) == Fraction(583, 917)
    assert parts(exact(OF_NUMPY)) == {int}
    assert exact_text(Fraction(np.int64(1), np.int64(10**18))) == f"0.{'0' * 17}1"  # type: ignore[arg-type]


def test_a_number_of_numpy_is_exact() -> None:
    """An integer is one of its kind; a float of half the digits shows another decimal."""
    assert parts(exact_epsilon(np.int64(3))) == {int}  # type: ignore[arg-type]
    for inexact in (np.float32(0.5), np.bool_(True)):  # noqa: FBT003
        with pytest.raises(ValueError, match=r"\Aepsilon must be"):
            exact_epsilon(inexact)


@pytest.mark.parametrize("value", [0.5, True, None, "1", Decimal(1)])
def test_what_is_no_rational_is_refused(value: object) -> None:
    """Also where a text or a decimal would be one elsewhere."""
    with pytest.raises(ValueError, match=r"\Aprice must be an exact rational, got [^\n]+\Z"):
        exact_rational(value, "price")  # type: ignore[arg-type]


@given(st.fractions(-1, LARGEST) | epsilons.filter(lambda value: value <= LARGEST))
def test_the_largest_price_within_a_limit_can_be_asked(limit: Fraction) -> None:
    """It is the limit, or less than 1e-18 below it; 0 where no price is so small."""
    price = largest_epsilon(limit)
    if limit < SMALLEST:
        assert price == 0
        return
    assert exact_epsilon(price) == price
    assert 0 <= limit - price < Fraction(1, 10**18)
    try:
        assert price == exact_epsilon(limit)
    except ValueError:
        assert price < limit


@given(epsilons.filter(lambda value: SMALLEST <= value <= LARGEST))
def test_text_and_number_are_inverses(value: Fraction) -> None:
    """A written number is read back as the same rational."""
    assert exact_epsilon(exact_text(value)) == value


@given(st.fractions())
@example(Fraction(-3, 10))
def test_exact_text_denotes_its_value(value: Fraction) -> None:
    """Also for sums and differences, which may be zero, negative or long."""
    assert exact_value(exact_text(value)) == value


@pytest.mark.parametrize(
    "text",
    ["", "1e9", "1e999999999", "1/0", "1/2/3", "0.1/3", ".5", "1.", "+1", " 1", "1\n", "9" * 5000, None, 1, b"1"],
)
def test_a_text_of_another_form_is_no_exact_value(text: object) -> None:
    """A damaged ledger can neither hang nor mislead its reader."""
    with pytest.raises(ValueError, match=r"\Atext must be an exact|\AExceeds the limit"):
        exact_value(text)  # type: ignore[arg-type]


@given(st.decimals(0, 10, places=9))
def test_a_terminating_decimal_has_neither_exponent_nor_needless_zeros(value: Decimal) -> None:
    """The text is the shortest decimal."""
    text = exact_text(Fraction(value))
    assert re.fullmatch(r"0|[1-9][0-9]*|(0|[1-9][0-9]*)\.[0-9]*[1-9]", text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(1, 10**9), "0.000000001"),
        (Fraction(-1, 8), "-0.125"),
        (Fraction(100), "100"),
        (Fraction(-5, 15), "-1/3"),
    ],
)
def test_exact_text_is_what_a_person_would_write(value: Fraction, text: str) -> None:
    """No scientific notation, no unreduced fraction."""
    assert exact_text(value) == text


def test_any_number_of_spends_sums_to_a_number_that_can_be_written() -> None:
    """Python writes no integer beyond 4300 digits; the total of every denominator stays below."""
    units = [exact_epsilon(Fraction(1, denominator)) for denominator in range(1, 1001)]
    total = sum(units, exact_epsilon("0.000000001000000001"))
    assert len(exact_text(total)) < 1000
    assert exact_value(exact_text(total)) == total


def test_a_comma_for_a_point_is_told() -> None:
    """As many write decimals so; no other text is taken for a number with a comma."""
    with pytest.raises(ValueError, match=r"got '0,1': write a point, not a comma$"):
        exact_epsilon("0,1")
    with pytest.raises(ValueError, match=r"got '0,1,2'$"):
        exact_epsilon("0,1,2")


@pytest.mark.parametrize("text", ["٢٠%", "²0%", "20%%", "-20%", "", "%", "1e-3"])
def test_a_share_is_written_in_plain_digits(text: str) -> None:
    """As all other numbers are."""
    assert parse_probability(text) is None


@pytest.mark.parametrize("decodes", [False, True])
@pytest.mark.parametrize(
    ("address", "database"),
    [
        ("postgresql://me:p%40w@host/my%20db?sslmode=require", "my db"),
        ("postgresql://host/a%0Ab", "a\nb"),
        ("sqlite:///a%20b.db", "a b.db"),
        ("sqlite:///100%25.db", "100%.db"),
        ("sqlite:///plain.db", "plain.db"),
        ("sqlite://", None),
    ],
)
def test_an_address_names_one_database(
    monkeypatch: pytest.MonkeyPatch, address: str, database: str | None, *, decodes: bool
) -> None:
    """SQLAlchemy 2.0 leaves percent signs in the name of the database as they are, 2.1 decodes them."""
    make_url = sqlalchemy.make_url

    def url_of(text: str) -> sqlalchemy.URL:
        name = re.sub(r"^[^:]+://[^/]*/?|\?.*$", "", text) or None
        return make_url(text).set(database=unquote(name) if decodes and name else name)

    monkeypatch.setattr(sqlalchemy, "make_url", url_of)
    assert parse_url(address).database == database
    assert parse_url(address).password in {None, "p@w"}
