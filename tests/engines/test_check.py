"""Values of texts, as stated, as guessed, and as a check reports them."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.engines.check import Check, ColumnCheck
from noisycount.engines.findings import with_findings
from noisycount.engines.formats import MISSING_WORDS, ColumnFormat, FileFormat, date_pattern
from noisycount.engines.guesses import guess_for_stored_types, guessed_form
from noisycount.engines.interface import require_readable
from noisycount.errors import SourceError
from noisycount.query.schema import ZONED, Kind
from tests.helpers.cases import examples

AGE, ACCEPTED = ColumnFormat(Kind.INTEGER), ColumnFormat(Kind.INTEGER, accepts_unreadable=True)


def column(name: str, form: ColumnFormat | None, unreadable: int) -> ColumnCheck:
    """A column of ten missing cells."""
    return ColumnCheck(name, Kind.INTEGER, "text", form, 10, unreadable)


def test_columns_are_refused_for_cells_that_nobody_accepted() -> None:
    """Nothing else does it."""
    assert column("a", AGE, 1).is_refused
    assert not column("a", AGE, 0).is_refused
    assert not column("a", ACCEPTED, 1).is_refused
    assert not column("a", None, 0).is_refused


def test_the_refusal_names_columns_and_no_number() -> None:
    """However many cells do not fit, the words are the same; of many columns a few are named."""
    columns = [column(f"c{n}", AGE, 7 + n) for n in range(12)]
    with pytest.raises(SourceError) as caught:
        require_readable("'x.csv'", [column("fine", AGE, 0), *columns])
    named = ", ".join(f"'c{n}'" for n in range(8))
    assert str(caught.value) == (
        f"'x.csv' answers nothing, as cells of {named} and 4 other columns do not fit their kind: "
        "their owner sees these cells by `noisycount check`, with the remedy"
    )
    require_readable("'x.csv'", [column("fine", AGE, 0), column("told", ACCEPTED, 3)])


def test_a_check_knows_the_forms_of_columns_of_texts() -> None:
    """To be written down."""
    check = Check(3, (column("a", AGE, 0), column("b", None, 0)))
    assert check.forms == {"a": AGE}


def test_a_check_shows_what_mends_it() -> None:
    """In plain data and in a notebook; what a cell says is no HTML."""
    odd = ColumnCheck("age <b>", Kind.INTEGER, "text", AGE, 10, 3, ("<b>old</b>",))
    check = with_findings(Check(20, (odd, column("b", AGE, 0))), None)
    (finding,) = check.findings
    (proposal,) = finding.proposals
    assert check.statement(proposal) == '"age <b>" = { kind = "integer", unreadable = "missing" }'
    assert check.to_dict()["findings"][0]["proposals"][0]["value"] == {"unreadable": "missing"}
    assert repr(check) == "Check(rows=20, columns=2, unreadable=['age <b>'])"
    html = check._repr_html_()
    assert html.count("<tr>") == 5
    assert "&quot;age &lt;b&gt;&quot; = { kind = &quot;integer&quot;, unreadable = &quot;missing&quot; }" in html
    assert "<b>" not in html
    assert "for their owner alone" in html


START = datetime(1999, 1, 14, 13, 59, 7, tzinfo=UTC)
TIMES = [START + timedelta(days=17 * n, minutes=61 * n) for n in range(60)]


def comma(text: str) -> str:
    """A number as it is written where a comma stands before the decimals."""
    return text.translate(str.maketrans(",.", ".,"))


WRITTEN: dict[str, tuple[ColumnFormat, list[str]]] = {
    "integers": (ColumnFormat(Kind.INTEGER), [str(7 * n - 30) for n in range(60)]),
    "reals": (ColumnFormat(Kind.REAL), [f"{n / 7:.2f}" for n in range(60)]),
    "exponents": (ColumnFormat(Kind.REAL), [f"{n / 7:.2e}" for n in range(60)]),
    "thousands": (ColumnFormat(Kind.REAL), [f"{n * 77.5:,.2f}" for n in range(60)]),
    "commas": (ColumnFormat(Kind.REAL, decimal=","), [comma(f"{n / 7:.2f}") for n in range(60)]),
    "points": (ColumnFormat(Kind.REAL, decimal=","), [comma(f"{n * 77.5:,.2f}") for n in range(60)]),
    "texts": (ColumnFormat(Kind.TEXT), [f"region {n}" for n in range(60)]),
    "codes": (ColumnFormat(Kind.TEXT), [f"{n:03}" for n in range(60)]),
    "truths": (
        ColumnFormat(Kind.BOOLEAN, true=("ja", "j", "wahr"), false=("nein", "n", "falsch")),
        ["ja", "Nein", "JA"] * 20,
    ),
    "dates": (ColumnFormat(Kind.DATE), [f"{t:%Y-%m-%d}" for t in TIMES]),
    "german": (ColumnFormat(Kind.DATE, date_format="%d.%m.%Y"), [f"{t:%d.%m.%Y}" for t in TIMES]),
    "british": (ColumnFormat(Kind.DATE, date_format="%d/%m/%Y"), [f"{t:%d/%m/%Y}" for t in TIMES]),
    "american": (ColumnFormat(Kind.DATE, date_format="%m/%d/%Y"), [f"{t:%m/%d/%Y}" for t in TIMES]),
    "slashes": (ColumnFormat(Kind.DATE, date_format="%Y/%m/%d"), [f"{t:%Y/%m/%d}" for t in TIMES]),
    "times": (ColumnFormat(Kind.TIMESTAMP), [f"{t:%Y-%m-%d %H:%M:%S}" for t in TIMES]),
    "zones": (ColumnFormat(Kind.TIMESTAMP, date_format=ZONED), [f"{t:%Y-%m-%dT%H:%M:%S}+02:00" for t in TIMES]),
    "minutes": (ColumnFormat(Kind.TIMESTAMP, date_format="%d.%m.%Y %H:%M"), [f"{t:%d.%m.%Y %H:%M}" for t in TIMES]),
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
    assert found == ColumnFormat.from_parts(form.parts | {"missing": list(found.missing)})
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
        (["yes", "no"] * 9 + ["maybe"], Kind.TEXT, "some are neither yes nor no"),
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
    """A doubtful column is guessed to be text, which loses nothing."""
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


FORMS = [
    ColumnFormat(Kind.INTEGER),
    ColumnFormat(Kind.REAL, decimal=",", missing=("NA", "k.A."), accepts_unreadable=True),
    ColumnFormat(Kind.TEXT, trim=True),
    ColumnFormat(Kind.BOOLEAN, true=("ja",), false=("nein", "nö")),
    ColumnFormat(Kind.DATE, date_format="%d.%m.%Y"),
    ColumnFormat(Kind.TIMESTAMP, date_format=ZONED),
]


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_written_and_read_back(form: ColumnFormat) -> None:
    """Its parts hold all that it says, in texts, lists and truth values."""
    assert ColumnFormat.from_parts(form.parts) == form


def test_parts_say_only_what_is_unusual() -> None:
    """A kind alone is the usual form of its texts."""
    assert ColumnFormat(Kind.DATE).parts == {"kind": "date"}
    assert FORMS[1].parts == {"kind": "real", "decimal": ",", "missing": ["NA", "k.A."], "unreadable": "missing"}


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({}, "kind must be one of integer, real, text, boolean, date, timestamp"),
        ({"kind": "number"}, "kind must be one of integer, real"),
        ({"kind": "real", "decimal": ";"}, "decimal must be"),
        ({"kind": "real", "decimal": 1}, "decimal must be a text, got 1"),
        ({"kind": "text", "decimal": ","}, "decimal belongs to a column of kind integer or real"),
        ({"kind": "real", "date_format": "%d"}, "date_format belongs to a column of kind date or"),
        ({"kind": "date", "date_format": "dd.mm"}, "date_format must be made of %d, %m, %Y"),
        ({"kind": "date", "date_format": "%d.%q"}, "such as %d.%m.%Y, got '%d.%q'"),
        ({"kind": "date", "date_format": "%d'%m"}, "date_format must be made of"),
        ({"kind": "boolean", "true": ["ja"]}, "true and false must both be lists of words"),
        ({"kind": "boolean", "true": ["a"], "false": ["A"]}, "without a common word"),
        ({"kind": "boolean", "true": "ja", "false": ["a"]}, "true must be a list of texts, got"),
        ({"kind": "text", "missing": [1]}, "missing must be a list of texts, got [1]"),
        ({"kind": "text", "trim": "yes"}, "trim must be true or false, got 'yes'"),
        ({"kind": "real", "trim": True}, "trim belongs to a column of kind text, not real: leave"),
        ({"kind": "real", "unreadable": "drop"}, 'unreadable must be "missing", or be left out'),
        ({"kind": "real", "format": "%d"}, "'format' is no part of a column's format: use"),
    ],
)
def test_what_is_not_said_rightly_is_refused(parts: dict[str, Any], words: str) -> None:
    """In one line with what is meant."""
    with pytest.raises(SourceError) as caught:
        ColumnFormat.from_parts(parts)
    assert words in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FileFormat(encoding="cp99"), "such as \"cp1252\", got 'cp99'"),
        (lambda: FileFormat(encoding="hex"), "encoding must be one that Python knows"),
        (lambda: FileFormat(delimiter=""), 'delimiter must be one character, such as ";"'),
        (lambda: FileFormat(delimiter='"'), "delimiter must be one character"),
        (lambda: FileFormat(delimiter=", "), "delimiter must be one character"),
        (lambda: FileFormat(skip=-1), "skip must be from 0 to 1000 lines, got -1"),
        (lambda: FileFormat(skip=1001), "got 1001"),
    ],
)
def test_what_is_not_said_rightly_of_a_file_is_refused(make: Callable[[], FileFormat], words: str) -> None:
    """In one line with what is meant."""
    with pytest.raises(SourceError) as caught:
        make()
    assert words in str(caught.value)


def test_a_date_format_means_its_characters() -> None:
    """A point between directives is a point."""
    assert date_pattern("%d.%m.%Y") == r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}"


@pytest.mark.parametrize("types", [None, {Kind.TEXT: 40}])
@pytest.mark.parametrize("letters", ["NS", "ON", "JN", "YN", "TF", "yn", "sn"])
def test_single_letters_are_truth_values_only_if_the_name_says_so(types: dict[Kind, int] | None, letters: str) -> None:
    """`N` and `S` are north and south; the owner is asked. Workbooks are guessed in the same way."""
    cells = [*letters] * 20
    for name in ("region", "sector", "s", "", "nation", "island"):
        guess = guessed_form(cells, name) if types is None else guess_for_stored_types(types, cells, name)
        assert guess.form == ColumnFormat(Kind.TEXT), name
        assert [form.kind for form in guess.choices] == [Kind.TEXT, Kind.BOOLEAN]
    for name in ("is_member", "hasCar", "consent?", "smoker_yn", "FLAG", "insured_flag"):
        guess = guessed_form(cells, name) if types is None else guess_for_stored_types(types, cells, name)
        assert guess.form.kind is Kind.BOOLEAN, name
        assert not guess.choices
    assert guessed_form([letters[0]] * 20, "is_member").form.kind is Kind.TEXT


@pytest.mark.parametrize("types", [None, {Kind.TEXT: 40}])
@pytest.mark.parametrize("name", ["region", "is_member"])
@pytest.mark.parametrize("cells", [[*"NSEW"], ["ZH", "NE", "N", "S"], [*"YNX"], [*"TN"], [*"JF"], [*"ONS", "NA"]])
def test_single_letters_beside_other_values_are_no_truth_values(
    cells: list[str], name: str, types: dict[Kind, int] | None
) -> None:
    """They are regions or codes, and the owner is asked nothing; so are letters of which none make a pair."""
    found = guessed_form(cells * 20, name) if types is None else guess_for_stored_types(types, cells * 20, name)
    assert (found.form.kind, found.choices) == (Kind.TEXT, ())


@pytest.mark.parametrize("letters", ["JN", "YN", "TF", "yn", "ON", "sn"])
@pytest.mark.parametrize("other", ["Don't know", "REFUSED", "N/A", "k.A.", "weiss nicht", "unknown", "-"])
def test_single_letters_beside_no_answer_are_asked_about(letters: str, other: str) -> None:
    """The boolean that may be chosen takes the other words as missing."""
    guess = guessed_form([*letters * 20, other])
    assert guess.form.kind is Kind.TEXT
    assert [(form.kind, form.missing) for form in guess.choices][1:] == [(Kind.BOOLEAN, (other,))]
    assert guessed_form([*letters * 20, other], "is_member").form.kind is Kind.BOOLEAN


@pytest.mark.parametrize("pair", [("yes", "no"), ("Ja", "Nein"), ("OUI", "non"), ("sí", "no"), ("TRUE", "FALSE")])
@pytest.mark.parametrize("other", ["Don't know", "Refused", "N/A", "n/a", "k.A.", "weiss nicht"])
@pytest.mark.parametrize(("number", "kind"), [(1, Kind.BOOLEAN), (6, Kind.TEXT)])
def test_another_answer_beside_yes_and_no_proposes_text_first(
    pair: tuple[str, str], other: str, number: int, kind: Kind
) -> None:
    """A third answer, rare or frequent, is proposed as text first and as a missing value second."""
    guess = guessed_form([*pair * 20, *[other] * number])
    assert guess.form.kind is kind
    text, boolean = guess.choices
    assert text == ColumnFormat(Kind.TEXT)
    assert (boolean.kind, boolean.missing) == (Kind.BOOLEAN, (other,))


def test_words_beside_no_value_leave_truth_values() -> None:
    """`NA`, `NULL` and a dash are no answers."""
    guess = guessed_form(["yes", "no"] * 20 + ["NA", "NULL", "-"])
    assert (guess.form.kind, guess.form.missing, guess.choices) == (Kind.BOOLEAN, ("NA", "NULL", "-"), ())


@pytest.mark.parametrize(
    ("cells", "reason", "choices"),
    [
        (["$5", "€6.25"], "another sign", [("$", "€")]),
        (["5 %", "7", "8.25 %"], "another sign", [("%",)]),
        (["$1,234", "$5,678"], "their comma stands before decimals or between thousands", [("$",), ("$",)]),
        (["12345", "067"], "leading zeros", []),
        (["call us", "$5"], "they are texts", []),
        (["R2", "R17", "R3"], "they are texts", []),
        (["(1)", "(2)", "(17)"], "all of their numbers are in brackets", [()]),
        (["2-", "3+", "1", "2", "3-"], "a minus behind negative ones, or grades", [(), ()]),
        (["65-", "18-", "30", "absent", "7-"], "a minus behind negative ones, or grades", [(), ()]),
    ],
)
def test_numbers_with_signs_that_say_different_things_are_texts(
    cells: list[str], reason: str, choices: list[tuple[str, ...]]
) -> None:
    """Two currencies do not compare, and 7 may be 700 %: the owner is asked."""
    guess = guessed_form(cells)
    assert guess.form == ColumnFormat(Kind.TEXT)
    assert reason in guess.reason
    assert [form.symbols for form in guess.choices] == choices


def test_texts_of_a_file_that_has_numbers_stay_texts() -> None:
    """A form with marks is proposed beside text; digits alone may be codes, and nothing is proposed."""
    types = {Kind.TEXT: 3}
    assert guess_for_stored_types(types, ["501", "10001", "7"]).choices == ()
    text, number = guess_for_stored_types(types, ["$1,234.50", "$2.00", "$7.25"]).choices
    assert text == ColumnFormat(Kind.TEXT)
    assert number == ColumnFormat(Kind.REAL, symbols=("$",))
