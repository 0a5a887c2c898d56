"""What a column of texts is taken for, and that odd cells change nothing."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.engines.check import MISSING_WORDS, guessed_form
from noisycount.engines.forms import ColumnForm
from noisycount.query.schema import ZONED, Kind
from tests.layers import examples

START = datetime(1999, 1, 14, 13, 59, 7, tzinfo=UTC)
TIMES = [START + timedelta(days=17 * n, minutes=61 * n) for n in range(60)]


def comma(text: str) -> str:
    """A number as it is written where a comma stands before the decimals."""
    return text.translate(str.maketrans(",.", ".,"))


WRITTEN: dict[str, tuple[ColumnForm, list[str]]] = {
    "integers": (ColumnForm(Kind.INTEGER), [str(7 * n - 30) for n in range(60)]),
    "reals": (ColumnForm(Kind.REAL), [f"{n / 7:.2f}" for n in range(60)]),
    "exponents": (ColumnForm(Kind.REAL), [f"{n / 7:.2e}" for n in range(60)]),
    "thousands": (ColumnForm(Kind.REAL), [f"{n * 77.5:,.2f}" for n in range(60)]),
    "commas": (ColumnForm(Kind.REAL, decimal=","), [comma(f"{n / 7:.2f}") for n in range(60)]),
    "points": (ColumnForm(Kind.REAL, decimal=","), [comma(f"{n * 77.5:,.2f}") for n in range(60)]),
    "texts": (ColumnForm(Kind.TEXT), [f"region {n}" for n in range(60)]),
    "codes": (ColumnForm(Kind.TEXT), [f"{n:03}" for n in range(60)]),
    "truths": (
        ColumnForm(Kind.BOOLEAN, true=("ja", "j", "wahr"), false=("nein", "n", "falsch")),
        ["ja", "Nein", "JA"] * 20,
    ),
    "dates": (ColumnForm(Kind.DATE), [f"{t:%Y-%m-%d}" for t in TIMES]),
    "german": (ColumnForm(Kind.DATE, date_format="%d.%m.%Y"), [f"{t:%d.%m.%Y}" for t in TIMES]),
    "british": (ColumnForm(Kind.DATE, date_format="%d/%m/%Y"), [f"{t:%d/%m/%Y}" for t in TIMES]),
    "american": (ColumnForm(Kind.DATE, date_format="%m/%d/%Y"), [f"{t:%m/%d/%Y}" for t in TIMES]),
    "slashes": (ColumnForm(Kind.DATE, date_format="%Y/%m/%d"), [f"{t:%Y/%m/%d}" for t in TIMES]),
    "times": (ColumnForm(Kind.TIMESTAMP), [f"{t:%Y-%m-%d %H:%M:%S}" for t in TIMES]),
    "zones": (ColumnForm(Kind.TIMESTAMP, date_format=ZONED), [f"{t:%Y-%m-%dT%H:%M:%S}+02:00" for t in TIMES]),
    "minutes": (ColumnForm(Kind.TIMESTAMP, date_format="%d.%m.%Y %H:%M"), [f"{t:%d.%m.%Y %H:%M}" for t in TIMES]),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_in_a_form_is_found_to_be_so(name: str) -> None:
    """Numbers, truth values, dates and times, as they are written in several countries."""
    form, cells = WRITTEN[name]
    assert guessed_form(cells).form == form


@given(
    st.sampled_from([name for name in WRITTEN if name not in {"texts", "codes", "truths"}]),
    st.lists(st.sampled_from(["unbekannt", "x", "?!", "2020-13-45", "ca. 7", "#REF!"]), max_size=8),
    st.lists(st.sampled_from(MISSING_WORDS), max_size=9),
    st.integers(),
)
@examples(60)
def test_odd_cells_change_no_kind(name: str, odd: list[str], silent: list[str], order: int) -> None:
    """Some that do not fit are a few mistakes, and words for missing values are told as such."""
    form, cells = WRITTEN[name]
    mixed = [*cells, *odd, *silent, "", "  "]
    random.Random(order).shuffle(mixed)  # noqa: S311 - repeatable, not secret
    found = guessed_form(mixed).form
    assert found == ColumnForm.of_parts(form.parts | {"missing": list(found.missing)})
    assert {*found.missing} == {*silent}


def american(day: int) -> str:
    """A date with the month first."""
    return f"02/{day:02}/2020"


@pytest.mark.parametrize(
    ("cells", "kind", "reason"),
    [
        ([], Kind.TEXT, "no cell says anything"),
        (["NA", "-", " "], Kind.TEXT, "no cell says anything"),
        (["01067", "99998"], Kind.TEXT, "some have leading zeros, as codes have"),
        ([american(n) for n in range(1, 13)], Kind.TEXT, "the day or the month first: state"),
        ([american(n) for n in range(1, 29)], Kind.DATE, "they are dates with the month first"),
        (["ja"] * 9, Kind.TEXT, "they are texts"),
        (["yes", "no"] * 9, Kind.BOOLEAN, "they are true or false"),
        (["yes", "no"] * 9 + ["maybe"], Kind.TEXT, "they are texts"),
        (["1", "2", "x"], Kind.TEXT, "they are texts"),
        (["1,234", "5,678"], Kind.TEXT, "their comma stands before decimals or between thousands"),
        (["1.234", "5.678", "9"], Kind.TEXT, "their point stands before decimals or between"),
        (["1,234", "5,67"], Kind.REAL, "they are numbers with a decimal comma"),
        (["1.234", "0.567"], Kind.REAL, "they are numbers"),
        (["1,234", "1,005,678"], Kind.INTEGER, "whole numbers with commas between thousands"),
        (["1.234", "1.005.678"], Kind.INTEGER, "whole numbers with points between thousands"),
        (["1", "2.5"], Kind.REAL, "they are numbers"),
        (["1", "2"], Kind.INTEGER, "they are whole numbers"),
        (["1_000", "2_000"], Kind.TEXT, "they are texts"),
        (["99999999999999999999"], Kind.TEXT, "they are texts"),
    ],
)
def test_a_guess_says_why(cells: list[str], kind: Kind, reason: str) -> None:
    """What is doubtful is text, which loses nothing."""
    guess = guessed_form(cells)
    assert guess.form.kind is kind
    assert reason in guess.reason


@pytest.mark.parametrize("turn", [list, lambda cells: [*reversed(cells)], sorted])
def test_the_order_of_cells_is_nothing(turn: Callable[[list[str]], list[str]]) -> None:
    """A sorted file is guessed as any other."""
    cells = ["1,5", "2", "k.A.", "x", "3,25", "NA", "4", "5", "6"]
    assert guessed_form(turn(cells)) == guessed_form(cells)


@pytest.mark.parametrize(("misfits", "kind"), [(400, Kind.INTEGER), (401, Kind.TEXT)])
@pytest.mark.parametrize("first", [True, False])
def test_four_fifths_of_the_cells_decide(misfits: int, kind: Kind, first: bool) -> None:  # noqa: FBT001
    """Wherever the others stand: all of them first, too."""
    odd, whole = ["elsewhere"] * misfits, [str(number) for number in range(2000 - misfits)]
    assert guessed_form(odd + whole if first else whole + odd).form.kind is kind
