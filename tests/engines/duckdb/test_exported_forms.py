"""Dates, times and numbers in the forms in which people export them: what is guessed, and the values that are read.

Tests of `engines/resemblances.py`.
"""

import re
import tomllib
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from unicodedata import combining, normalize

import pytest
from babel import Locale
from babel.dates import format_date

from noisycount.engines.date_words import MONTHS
from noisycount.engines.dates import compact_spellings, parts_by_shape
from noisycount.engines.duckdb.connection import private_connection
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.duckdb.typed_texts import TextTable
from noisycount.engines.formats import EXCEL, ColumnFormat
from noisycount.engines.guesses import guess_for_stored_types, guessed_form
from noisycount.query.schema import ZONED, Kind
from tests.engines.duckdb.test_source import counts, write_csv
from tests.helpers.reference_pages import rows, text


def read_cells(cells: Sequence[str], form: ColumnFormat) -> list[Any]:
    """Return the values of some cells, as the engine reads a whole column."""
    with private_connection() as connection:
        connection.execute("CREATE TABLE loaded AS SELECT unnest($cells::VARCHAR[]) AS x", {"cells": [*cells]})
        TextTable(connection, ("x",)).make_typed({"x": form}, None)
        return [value for (value,) in connection.execute("SELECT x FROM typed").fetchall()]


CLOCKS = """id,seen
1,01/13/2024 12:00:00 AM
2,02/14/2024 01:30:00 PM
3,02/28/2024 11:59:59 PM
4,12/31/2023 12:00:00 PM
"""


@pytest.mark.parametrize(
    ("content", "date_format", "question", "count"),
    [
        (
            CLOCKS,
            "%m/%d/%Y %I:%M:%S %p",
            "seen >= '2024-02-14 13:00:00'",
            2,
        ),
        ("id,seen\n1,Jan-24\n2,Feb-24\n3,Feb-24\n4,Mar-24\n", "%b-%y", "seen >= '2024-02-01'", 3),
        (
            "id,seen\n1,1/2/2024 9:05\n2,2/13/2024 10:05\n3,12/31/2023 1:05\n",
            "%m/%d/%Y %H:%M",
            "seen >= '2024-01-02 09:00:00'",
            2,
        ),
    ],
)
def test_exported_dates_are_read_as_dates(
    tmp_path: Path, content: str, date_format: str, question: str, count: int
) -> None:
    """A 12-hour clock, months, and hours of one digit are compared as times, not as texts."""
    path = write_csv(tmp_path, content)
    (column,) = [each for each in DuckDBSource.check_file(path).columns if each.name == "seen"]
    assert column.form is not None
    assert column.form.date_format == date_format
    assert counts(path, question) == [count]


MOMENTS = [datetime(1999, 1, 14, 13, 59, 7) + timedelta(days=17 * n, minutes=611 * n, seconds=n) for n in range(60)]  # noqa: DTZ001 - columns have no zone


def without_zeros(text: str) -> str:
    """Return a date whose numbers have no leading zero, as spreadsheets show it."""
    *numbers, year = text.split("/")
    return "/".join([*(number.lstrip("0") for number in numbers), year])


EXPORTED = (
    "%m/%d/%Y %I:%M:%S %p",
    "%d/%m/%Y %I:%M %p",
    "%m/%d/%Y, %I:%M:%S\u202f%p",  # as browsers write it
    "%d/%m/%Y %I:%M%p",
    "%b-%y",
    "%b %Y",
    "%B %Y",
    "%Y-%m",
    "%m/%Y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%d %b %Y",
    "%d %B %Y",
    "%d%b%Y",
    "%d%b%Y:%H:%M:%S",  # as SAS writes it
    "%B %d, %Y",
    "%b %d, %Y",
    "%A, %B %d, %Y",
    "%a, %d %b %Y %H:%M:%S",
    "%d.%m.%Y",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%y",
    "%m/%d/%y",
    "%d/%m/%Y %H:%M",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%Y/%m/%d %H:%M:%S",
    "%Y%m%d",
    "%Y%m%d %H%M",
    "%Y%m%dT%H%M%S",
    "%Y%m%d%H%M%S",
    "%Y-%m-%d %H:%M:%S UTC",
    "%Y-%m-%d %I:%M:%S %p",
    "%d.%m.%Y %H:%M:%S.%f",
    "%d-%b-%y %I.%M.%S.%f %p",  # as Oracle writes it
    "%Y-%m-%d-%H.%M.%S.%f",  # as DB2 writes it
    "%a %b %d %H:%M:%S %Y",  # as the C library writes it
    "%a %b %d %Y",
    "%m/%d/%Y %I %p",
    "%YM%m",
)


WORDED = [form for form in EXPORTED if re.search("%[bBaAp]", form)]


def cells_of(form: str) -> list[str]:
    """Return all moments in a form; American days without a time have no leading zeros."""
    cells = [moment.strftime(form) for moment in MOMENTS]
    return [*map(without_zeros, cells)] if form in {"%m/%d/%Y", "%m/%d/%y"} else cells


@pytest.mark.few(30)
@pytest.mark.parametrize(
    ("form", "case"),
    [*((form, str) for form in EXPORTED), *((form, case) for form in WORDED for case in (str.upper, str.lower))],
)
def test_each_exported_form_is_guessed_and_read(form: str, case: Callable[[str], str]) -> None:
    """The values are those that Python reads, in capital and in small letters."""
    cells = [*map(case, cells_of(form))]
    guess = guessed_form(cells)
    assert guess.form.date_format == form.replace("\u202f", " ")
    assert not guess.choices
    expected = [datetime.strptime(cell, form) for cell in cells]  # noqa: DTZ007 - columns have no zone
    values = read_cells(cells, guess.form)
    assert values == ([each.date() for each in expected] if guess.form.kind is Kind.DATE else expected)


ZONES = ("Z", "+00:00", "+02:00", "-0530", "+01")


@pytest.mark.thorough
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(
    ("clock", "date_format"),
    [
        ("%Y-%m-%dT%H:%M:%S", ZONED),
        ("%Y-%m-%dT%H:%M:%S.%f", ZONED),
        ("%Y-%m-%dT%H:%M:%S.0000007", "%Y-%m-%dT%H:%M:%S.%n%z"),
        ("%Y-%m-%d %H:%M ", ZONED),
        ("%d/%m/%Y %H:%M:%S ", "%d/%m/%Y %H:%M:%S %z"),
    ],
)
def test_times_with_a_zone_are_read_in_utc(zone: str, clock: str, date_format: str) -> None:
    """Whatever the zone is; digits after the microseconds are cut off."""
    cells = [f"{moment.strftime(clock)}{zone}" for moment in MOMENTS]
    guess = guessed_form(cells)
    assert guess.form == ColumnFormat(Kind.TIMESTAMP, date_format=date_format)
    offset = {"Z": 0, "+00:00": 0, "+02:00": 120, "-0530": -330, "+01": 60}[zone]
    starts = [moment if "%S" in clock else moment.replace(second=0) for moment in MOMENTS]
    assert read_cells(cells, guess.form) == [each - timedelta(minutes=offset) for each in starts]


def test_iso_times_keep_their_fractions() -> None:
    """With T or a blank; seven to nine digits are cut off after the sixth."""
    cells = [f"{moment:%Y-%m-%dT%H:%M:%S}.123456999" for moment in MOMENTS]
    guess = guessed_form(cells)
    assert guess.form.date_format == "%Y-%m-%dT%H:%M:%S.%n"
    assert read_cells(cells, guess.form) == [moment.replace(microsecond=123456) for moment in MOMENTS]
    cells = [f"{moment:%Y-%m-%dT%H:%M:%S}.5" for moment in MOMENTS]
    guess = guessed_form(cells)
    assert guess.form == ColumnFormat(Kind.TIMESTAMP)
    assert read_cells(cells, guess.form) == [moment.replace(microsecond=500000) for moment in MOMENTS]


@pytest.mark.parametrize("mark", "/-.")
@pytest.mark.parametrize("year", ["%Y", "%y"])
@pytest.mark.parametrize("clock", ["", " %H:%M", " %I:%M:%S %p"])
def test_the_owner_chooses_where_day_and_month_cannot_be_distinguished(mark: str, year: str, clock: str) -> None:
    """No order is guessed; both are proposed."""
    days = [datetime(2041, month, day, 9, 5, 7) for month in range(1, 13) for day in range(1, 13)]  # noqa: DTZ001 - as above
    guess = guessed_form([f"{each:%d{mark}%m{mark}{year}{clock}}" for each in days])
    assert guess.form == ColumnFormat(Kind.TEXT)
    forms = {each.date_format for each in guess.choices}
    assert forms == {f"%d{mark}%m{mark}{year}{clock}", f"%m{mark}%d{mark}{year}{clock}"}


def test_columns_that_mix_both_orders_are_not_guessed() -> None:
    """Some cells have the day first, others the month: no form reads all of them rightly."""
    cells = ["13/02/2024", *["05/06/2024"] * 20, "02/28/2024"]
    guess = guessed_form(cells)
    assert guess.form == ColumnFormat(Kind.TEXT)
    assert {each.date_format for each in guess.choices} == {"%d/%m/%Y", "%m/%d/%Y"}


def test_one_day_above_twelve_decides() -> None:
    """A single day above 12 decides the order of day and month."""
    assert guessed_form(["13/02/2024", *["05/06/2024"] * 20]).form.date_format == "%d/%m/%Y"
    assert guessed_form(["02/13/2024", *["05/06/2024"] * 20]).form.date_format == "%m/%d/%Y"


def test_years_of_two_digits_may_stand_first() -> None:
    """`24-02-11` is in 2011 or in 2024."""
    guess = guessed_form(["24-02-11", "13-02-10", "28-12-12"])
    assert {each.date_format for each in guess.choices} == {"%d-%m-%y", "%y-%m-%d"}


LANGUAGES = ("de", "de_AT", "fr", "es", "it", "pt", "nl", "sv", "da", "nb", "en")
OTHER_LANGUAGES = ("pl", "cs", "sk", "sl", "hu", "ro", "bg", "el", "fi", "et", "lv", "lt", "tr", "ru", "uk", "id")
IN_WORDS = {  # how programs write a date, by the pattern of Unicode's CLDR
    "d. MMMM yyyy": "%d. %B %Y",
    "d MMM yyyy": "%d %b %Y",
    "dd-MMM-yy": "%d-%b-%y",
    "EEEE d MMMM yyyy": "%A %d %B %Y",
    "EEE d MMM yyyy": "%a %d %b %Y",
    "MMMM yyyy": "%B %Y",
}


@pytest.mark.thorough
@pytest.mark.few(8)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("pattern", "form"), IN_WORDS.items())
def test_months_and_days_of_the_week_are_read_in_ten_languages(language: str, pattern: str, form: str) -> None:
    """As Unicode's CLDR writes them, with accents composed or not, and without accents."""
    written = [format_date(moment, pattern, locale=language) for moment in MOMENTS]
    days = [moment.date().replace(day=1) if "%d" not in form else moment.date() for moment in MOMENTS]
    plain = [remove_accents(cell) for cell in written]
    for cells in (written, [normalize("NFD", cell) for cell in written], [*map(str.upper, plain)]):
        guess = guessed_form(cells)
        assert guess.form.date_format == form, cells[:3]
        assert read_cells(cells, guess.form) == days


@pytest.mark.thorough
@pytest.mark.few(8)
@pytest.mark.parametrize("language", OTHER_LANGUAGES)
@pytest.mark.parametrize("pattern", ["long", "medium", "d MMMM yyyy", "dd-MMM-yyyy", "LLLL yyyy"])
def test_months_are_read_in_sixteen_more_languages(language: str, pattern: str) -> None:
    """As each language writes a date; in capital letters and without accents none is read as another."""
    written = [format_date(moment, pattern, locale=language) for moment in MOMENTS]
    days = [moment.date().replace(day=1) if pattern == "LLLL yyyy" else moment.date() for moment in MOMENTS]
    for cells in (written, [normalize("NFD", cell) for cell in written]):
        guess = guessed_form(cells)
        assert guess.form.kind is Kind.DATE, cells[:3]
        assert read_cells(cells, guess.form) == days
    plain = [remove_accents(cell) for cell in written]
    for cells in ([*map(str.upper, written)], [*map(str.upper, plain)]):
        form = guessed_form(cells).form
        if form.kind is Kind.DATE:
            assert read_cells(cells, form) == days


@pytest.mark.parametrize(
    ("cells", "is_asked"),
    [
        (["1 lis 2024", "14 lis 2024"], True),
        (["1 lip 2024", "14 srp 2024"], True),
        (["listopad 2024", "listopad 2023"], True),
        (["1 lis 2024", "14 gru 2024"], False),
        (["listopadu 2024", "ledna 2024"], False),
    ],
)
def test_the_owner_chooses_between_polish_and_croatian(cells: list[str], is_asked: bool) -> None:  # noqa: FBT001 - a case
    """`lis` is November, or October in Croatian: nothing is guessed unless another month decides."""
    guess = guessed_form(cells)
    assert guess.form.kind is (Kind.TEXT if is_asked else Kind.DATE)
    assert [form.kind for form in guess.choices] == ([Kind.TEXT, Kind.DATE] if is_asked else [])


def remove_accents(text: str) -> str:
    """Return a text without accents."""
    return "".join(letter for letter in normalize("NFD", text) if not combining(letter))


def test_no_name_of_a_month_is_that_of_another_month_in_another_language() -> None:
    """So nobody needs to state the language; and all names of CLDR are known."""
    for language in (*LANGUAGES, *OTHER_LANGUAGES):
        for names in Locale.parse(language).months.values():
            for month, name in [*names["wide"].items(), *names["abbreviated"].items()]:
                assert MONTHS[name.lower().rstrip(".")] == date(2024, month, 1).strftime("%b")


@pytest.mark.parametrize(
    ("cells", "date_format", "first"),
    [
        (["20240214133000+0100", "20240715093000+0200"], "%Y%m%d%H%M%S%z", "2024-02-14 12:30:00"),  # of HL7
        (["20240214133000.1234-0500", "20240715093000.5+0000"], "%Y%m%d%H%M%S.%f%z", "2024-02-14 18:30:00.123400"),
        (["202402141330+0100", "202407150930Z"], "%Y%m%d%H%M%z", "2024-02-14 12:30:00"),
        (
            ["20240214133000.25", "20240715093000.75", "20240715093001.75"],
            "%Y%m%d%H%M%S.%f",
            "2024-02-14 13:30:00.250000",
        ),
        # of Google Forms
        (
            ["2024/02/14 1:30:00 PM GMT+1", "2024/07/14 1:30:00 AM GMT+2"],
            "%Y/%m/%d %I:%M:%S %p %z",
            "2024-02-14 12:30:00",
        ),
        (
            ["2024/02/14 1:30:00 PM GMT", "2024/07/14 1:30:00 AM GMT+5:30"],
            "%Y/%m/%d %I:%M:%S %p %z",
            "2024-02-14 13:30:00",
        ),
        (["02/14/2024 1:30 p.m.", "2/1/2024 12:05 a.m."], "%m/%d/%Y %I:%M %p", "2024-02-14 13:30:00"),
        (
            ["14/2/2024 1:30:00 p.\u00a0m.", "1/2/2024 12:05:00 a.\u00a0m."],
            "%d/%m/%Y %I:%M:%S %p",
            "2024-02-14 13:30:00",
        ),
        (["Wed, 14.02.2024", "Thu, 15.02.2024"], "%a, %d.%m.%Y", "2024-02-14"),
        (["Mi 14.02.2024 13:30", "Do 15.02.2024 09:00"], "%a %d.%m.%Y %H:%M", "2024-02-14 13:30:00"),
        (["February 14th, 2024", "March 1st, 2024"], "%B %d, %Y", "2024-02-14"),
        (["1er f\u00e9vrier 2024", "14 mars 2024"], "%d %B %Y", "2024-02-01"),
        (["14 de febrero de 2024", "1 de marzo de 2024"], "%d de %B de %Y", "2024-02-14"),
        (["14/02/2024 13h30", "15/02/2024 9h05"], "%d/%m/%Y %Hh%M", "2024-02-14 13:30:00"),
        (["14.02.2024 13:30 Uhr", "15.02.2024 9:05 Uhr"], "%d.%m.%Y %H:%M Uhr", "2024-02-14 13:30:00"),
        (["2024\u5e742\u670814\u65e5", "2024\u5e7412\u67081\u65e5"], "%Y\u5e74%m\u6708%d\u65e5", "2024-02-14"),
        (["01/Jan/2024:13:30:00 +0100", "14/Feb/2024:13:30:00 +0100"], "%d/%b/%Y:%H:%M:%S %z", "2024-01-01 12:30:00"),
        (["Jan  1 2024  1:30PM", "Feb 14 2024 11:30AM"], "%b %d %Y %I:%M%p", "2024-01-01 13:30:00"),  # of SQL Server
        (["Mon Jan  1 13:30:00 2024", "Wed Feb 14 13:30:00 2024"], "%a %b %d %H:%M:%S %Y", "2024-01-01 13:30:00"),
        (["Mon Jan  1 13:30:00 CET 2024"] * 2, "%a %b %d %H:%M:%S CET %Y", "2024-01-01 13:30:00"),  # of Java
        (["Mon, 01 Jan 2024 13:30:00 GMT"] * 2, "%a, %d %b %Y %H:%M:%S GMT", "2024-01-01 13:30:00"),  # of HTTP
        (["02/14/2024 1:30 PM EST", "02/15/2024 9:05 AM EST"], "%m/%d/%Y %I:%M %p EST", "2024-02-14 13:30:00"),
        (["2024-02-14 13:30:00 CET", "2024-02-15 09:05:00 CET"], "%Y-%m-%d %H:%M:%S CET", "2024-02-14 13:30:00"),
        (["20240214T133000Z", "20240215T090500Z"], "%Y%m%dT%H%M%S%z", "2024-02-14 13:30:00"),  # of calendars
        (["14/02/2024 - 13:30", "15/02/2024 - 9:05"], "%d/%m/%Y - %H:%M", "2024-02-14 13:30:00"),
        (
            ["2024-02-14 13:30:00.123456789", "2024-02-15 9:05:00.5"],
            "%Y-%m-%d %H:%M:%S.%n",
            "2024-02-14 13:30:00.123456",
        ),
        (["14 sty 2024 r.", "1 lut 2024 r."], "%d %b %Y r.", "2024-01-14"),
        (["2024. janu\u00e1r 14.", "2024. febru\u00e1r 1."], "%Y. %B %d.", "2024-01-14"),
        (["14 N\u0130SAN 2024", "1 KASIM 2024"], "%d %b %Y", "2024-04-14"),
        (["14\u00a0Feb  2024", "1 Mar\u202f2024"], "%d %b %Y", "2024-02-14"),
        (["14.02.2024  13:30", "15.02.2024\u00a09:05"], "%d.%m.%Y %H:%M", "2024-02-14 13:30:00"),
        (["f\u00e9vr.-24", "mars-24", "ao\u00fbt-24"], "%b-%y", "2024-02-01"),  # of Excel
    ],
)
def test_exports_of_named_programs_are_read(cells: list[str], date_format: str, first: str) -> None:
    """HL7, Google Forms, spreadsheets in other languages, and what people write."""
    guess = guessed_form(cells)
    assert guess.form.date_format == date_format
    assert str(read_cells(cells, guess.form)[0]) == first
    assert None not in read_cells(cells, guess.form)


@pytest.mark.parametrize(
    ("cells", "is_asked"),
    [
        ([f"Feb-{day:02}" for day in range(1, 21)], True),
        ([f"Feb {day}" for day in range(10, 29)], True),
        ([f"M\u00e4rz {day}" for day in (11, 24, 30)], True),
        (["Jan-01", "Feb-01", "Mar-01"], True),
        (["Feb-24"] * 3, True),
        (["Jan-24", "Feb-24", "Mar-24"], False),
        (["Jan-31", "Feb-32", "Mar-30"], False),
    ],
)
def test_the_owner_chooses_between_years_and_days_of_a_month(cells: list[str], is_asked: bool) -> None:  # noqa: FBT001 - a case
    """`Feb-01` is a day or a month of 2001: nothing is guessed unless a number is no day, or alone beside months."""
    guess = guessed_form(cells)
    assert guess.form.kind is (Kind.TEXT if is_asked else Kind.DATE)
    assert [form.kind for form in guess.choices] == ([Kind.TEXT, Kind.DATE] if is_asked else [])


def test_seasons_are_no_months_unless_the_owner_says_so() -> None:
    """`2009-10` may be a season of two years; one other month decides."""
    guess = guessed_form(["2009-10", "2010-11", "2011-12"])
    assert guess.form == ColumnFormat(Kind.TEXT)
    assert [form.date_format for form in guess.choices] == [None, "%Y-%m"]
    assert guessed_form(["2009-10", "2010-11", "2011-01"]).form.date_format == "%Y-%m"


DAYS = ["20240214", "20240215", "20231231", "19560101"]


@pytest.mark.parametrize(
    ("name", "cells", "kind", "choices"),
    [
        ("seen", DAYS, Kind.DATE, 0),
        ("visit_id", DAYS, Kind.INTEGER, 2),
        ("PatientID", DAYS, Kind.INTEGER, 2),
        ("seen", ["20240214", "20240215"], Kind.INTEGER, 2),  # two numbers may be so by chance
        ("seen", [*DAYS * 3, "99999999"], Kind.INTEGER, 2),  # one that is no day
        ("number", ["10240214", "20248001", "31245678"], Kind.INTEGER, 0),
        ("seen", ["240214", "240215", "231231"], Kind.INTEGER, 3),  # in 2024 with the year or the day first
        ("seen", ["240214", "240215", "991231"], Kind.INTEGER, 2),
        ("amount", ["240214", "240215", "999999"], Kind.INTEGER, 0),
        ("visit_id", ["240214", "240215", "231231"], Kind.INTEGER, 0),
        ("seen", ["14022024", "28022024", "31122023"], Kind.DATE, 0),
        ("month", ["202402", "202312", "202311"], Kind.INTEGER, 2),
        ("day", ["2024123", "2024001", "2023365"], Kind.INTEGER, 2),
        ("number", ["2024123", "2024001", "2023365"], Kind.INTEGER, 0),
        ("number", ["20240001", "20240002", "20240003", "20240004"], Kind.INTEGER, 0),
        ("admission_date", ["45336", "45337"], Kind.INTEGER, 2),  # days as workbooks count them
        ("cost", ["45336", "45337"], Kind.INTEGER, 0),
        ("income_a_month", ["45336", "45337"], Kind.INTEGER, 0),
    ],
)
def test_whole_numbers_are_days_only_if_they_look_like_nothing_else(
    name: str, cells: list[str], kind: Kind, choices: int
) -> None:
    """An id of eight digits stays a number; where it could be either, the owner chooses."""
    for guess in (guessed_form(cells, name), guess_for_stored_types({Kind.INTEGER: len(cells)}, cells, name)):
        assert guess.form.kind is kind
        assert len(guess.choices) == choices


@pytest.mark.parametrize(
    ("name", "cells", "form"),
    [
        ("seen", ["01022024", "14022024", "31122023"], "%d%m%Y"),
        ("seen", ["02012024", "02142024", "12312023"], "%m%d%Y"),
        ("seen", ["010224", "140224", "311223"], None),
        ("zip", ["010224", "140224", "311223"], None),
    ],
)
def test_days_with_a_zero_in_front_are_no_codes(name: str, cells: list[str], form: str | None) -> None:
    """Eight digits have one order; of six digits the owner chooses, unless the name says that they are codes."""
    guess = guessed_form(cells, name)
    assert guess.form.date_format == form
    orders = {choice.date_format for choice in guess.choices if choice.date_format}
    assert orders == ({"%d%m%y", "%y%m%d"} if form is None and name == "seen" else set())
    for order in orders - {"%y%m%d"}:
        assert str(read_cells(cells, ColumnFormat(Kind.DATE, date_format=order))[0]) == "2024-02-01"


def test_digits_without_a_mark_are_read_only_if_all_are_there() -> None:
    """2024123 may be a day of the year, or a day of which a zero was dropped: it is no 3rd of December."""
    form = ColumnFormat(Kind.DATE, date_format="%Y%m%d", accepts_unreadable=True)
    assert read_cells(["20240214", "2024123", "202412"], form) == [date(2024, 2, 14), None, None]
    of_year = ColumnFormat(Kind.DATE, date_format="%Y%j", accepts_unreadable=True)
    assert read_cells(["2024123", "2024366", "2023366", "202412"], of_year) == [
        date(2024, 5, 2),
        date(2024, 12, 31),
        None,
        None,
    ]


def test_days_as_workbooks_count_them_can_be_stated() -> None:
    """Day 1 is 1899-12-31, as all days from March 1900 on are counted; a fraction is the time of the day."""
    form = ColumnFormat(Kind.DATE, date_format=EXCEL)
    assert read_cells(["45336", "61", "45337.0"], form) == [date(2024, 2, 14), date(1900, 3, 1), date(2024, 2, 15)]
    times = ColumnFormat(Kind.TIMESTAMP, date_format=EXCEL, accepts_unreadable=True)
    assert read_cells(["45336.5", "45336", "x", "45336.000694"], times) == [
        datetime(2024, 2, 14, 12),  # noqa: DTZ001 - as above
        datetime(2024, 2, 14),  # noqa: DTZ001 - as above
        None,
        datetime(2024, 2, 14, 0, 0, 59, 962000),  # noqa: DTZ001 - as above
    ]


FORMS = Path(__file__).with_name("exported_forms.md").read_text(encoding="utf-8")
"""Tables of all forms; the page of users shows some of their rows."""
PROPOSALS = rows(FORMS, "cells", "what `check` and `init` propose")


def test_the_page_shows_proposals_that_are_tested() -> None:
    """The example of the page is the proposal for a column of such cells."""
    page = " ".join(text("../how-to/your-own-file.md").split())
    ((cell, parts),) = re.findall("for `([^`]+)` it proposes `([^`]+)`", page)
    assert guessed_form([cell]).form.parts == tomllib.loads(f"parts = {{ {parts} }}")["parts"]


@pytest.mark.thorough
@pytest.mark.parametrize(("cells", "parts"), PROPOSALS, ids=[row[0] for row in PROPOSALS])
def test_each_column_gets_its_proposal(cells: str, parts: str) -> None:
    """Each row of the table is a column; the words for true and false follow no form."""
    column = re.findall("`([^`]+)`", cells) or [cells]
    guess = guessed_form(column)
    assert guess.form.parts == tomllib.loads(f"parts = {{ {parts} }}")["parts"]
    assert None not in read_cells(column, guess.form)
    no_break = [cell.replace(" ", "\u202f") if guess.form.kind.is_number else cell for cell in column]
    assert guessed_form(no_break).form == guess.form
    assert read_cells(no_break, guess.form) == read_cells(column, guess.form)


LISTS = dict(rows(FORMS, "forms", "date_format"))


def listed(name: str) -> list[str]:
    """Return the forms that the table lists in one row."""
    return re.findall("`([^`]+)`", LISTS[name])


def test_the_table_lists_all_forms_of_days_and_times() -> None:
    """None is missing, and none is listed that is not recognised."""
    days, whole = listed("days"), [form for form in listed("days") if "%Y" in form]
    weekdays = listed("days of the week in front of a day with four digits of the year")
    tails = listed("signs behind a day with four digits of the year")
    days += [weekday.replace("\u2026", day) for weekday in weekdays for day in whole]
    days += [tail.replace("\u2026", day) for tail in tails for day in whole]
    (behind,) = [name for name in LISTS if "and a blank" in name]
    between = [" ", *re.findall("`([^`]+)`", behind)]
    clocks = [f"{blank}{clock}" for blank in between for clock in listed(behind)] + listed("times of day behind a day")
    compact, times = listed("days without marks"), listed("times without marks")
    with_year_behind, asked = listed("times with the year behind"), listed("numbers for which the owner is asked")
    found = [{form for forms in part.values() for form in forms} for part in parts_by_shape()]
    numbers = [{str(each.date_format) for _, each in compact_spellings(is_short=short)} for short in (False, True)]
    assert found[0] | numbers[0] == {*days, *compact, *times, *with_year_behind}
    assert (found[1], found[2], numbers[1]) == ({*listed("months")}, {*clocks}, {*asked})
