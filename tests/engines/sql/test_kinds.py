"""Types of PostgreSQL at their limits: no cell fails, and none changes its value.

Tests of `engines/sql/postgresql.py`.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from noisycount.engines.sql.source import SqlSource
from noisycount.errors import PredicateError, SourceError
from noisycount.query.grouping import KeyQuestion, resolve_group_by
from noisycount.query.language import parse
from noisycount.query.schema import Kind
from tests.helpers.postgresql import REQUIRED, Server
from tests.helpers.server_tables import made_by, place_of


@contextmanager
def opened(server: Server, type_: str, *cells: str) -> Iterator[SqlSource]:
    """A table with one column `x` of a type, which has these cells, written as SQL, and nothing."""
    table = made_by(server, f"x {type_}", *cells, "NULL")
    with SqlSource.open(place_of(server, table), unit=None, columns=None) as source:
        yield source


def counted(source: SqlSource, *questions: str) -> list[int]:
    """Count the records that match each question."""
    return source.count([parse(question, source.schema) for question in questions])


def keys(source: SqlSource, by: str) -> dict[tuple[object, ...], int]:
    """The groups of a column, and how many records each has."""
    question = KeyQuestion(resolve_group_by(by, source.schema, None), None)
    return {
        key: int(count)
        for batch in source.count_keys(question)
        for key, count in zip(batch.keys, batch.counts, strict=True)
    }


KINDS = {
    Kind.INTEGER: ("smallint", "integer", "bigint", "serial"),
    Kind.REAL: ("real", "float8", "numeric", "numeric(10,2)", "numeric(3,-5)"),
    Kind.TEXT: ("text", "varchar(9)", "char(9)", "name", "time(2)"),
    Kind.BOOLEAN: ("boolean",),
    Kind.DATE: ("date",),
    Kind.TIMESTAMP: ("timestamp(3)", "timestamptz"),
}
OTHERS = (
    *("int[]", "json", "jsonb", "bytea", "interval", "inet", "timetz", "int4range", "point"),
    *("uuid", "money", "xml", "tsvector", "oid", "bit(3)", "record_of_two"),
)


def test_types_have_their_kind(postgresql: Server) -> None:
    """Of each type a table that holds nothing can be counted and grouped."""
    names = {f"{type_} it": kind for kind, types in KINDS.items() for type_ in types}
    columns = ", ".join(f'"{name}" {name.removesuffix(" it")}' for name in names)
    place = place_of(postgresql, made_by(postgresql, columns))
    with SqlSource.open(place, unit=None, columns=None) as source:
        assert dict(source.schema) == names
        assert counted(source, *(f'"{name}" is null' for name in names)) == [0] * len(names)
        assert [each.kind for each in source.check().columns] == [*names.values()]


def test_types_without_meaning_here_are_no_columns_of_questions(postgresql: Server) -> None:
    """They are named with their type, and whoever asks is told."""
    columns = ", ".join(f"x{number} {type_}" for number, type_ in enumerate(OTHERS))
    before = "CREATE TYPE record_of_two AS (a int, b int)"
    place = place_of(postgresql, made_by(postgresql, f"{columns}, age int", before=before))
    with SqlSource.open(place, unit=None, columns=None) as source:
        assert dict(source.schema) == {"age": Kind.INTEGER}
        assert len(source.schema.others) == len(OTHERS)
        assert source.schema.others["x0"] == "integer[]"
        for name in source.schema.others:
            with pytest.raises(PredicateError, match=name):
                parse(f"{name} is null", source.schema)
        assert source.check().columns[-1].kind is None


@pytest.mark.parametrize("type_", ["numeric", "numeric(1000,0)", "numeric(1000,900)"])
def test_decimals_of_any_size_are_the_nearest_doubles(postgresql: Server, type_: str) -> None:
    """Too large is infinite and too small is 0: a cast of the server's own would be an error."""
    large = {"numeric(1000,900)": "9e99"}.get(type_, "9e999")
    tiny = "0" if type_ == "numeric(1000,0)" else "1e-900"
    cells = [f"'{large}'", f"'-{large}'", f"'{tiny}'", f"'-{tiny}'", "'NaN'", "2", "-2"]
    with opened(postgresql, type_, *cells) as source:
        assert counted(source, "x is not null", "x = 0", "x > -1 and x < 1") == [7, 2, 2]
        assert counted(source, "x > 1e98", "x < -1e98", "x = 2", "x <> 2") == [2, 1, 1, 6]
        assert counted(source, "x > 1.7e308", "x in (0, 2)", "not x < 0") == [2 - (large == "9e99"), 3, 5]
        assert keys(source, "x:-1,0,1") == {(1,): 2, (2,): 3, (None,): 1}


def test_decimals_have_infinities_from_version_14_on(postgresql: Server) -> None:
    """They follow and precede every number, and NaN follows them."""
    with opened(postgresql, "numeric", "'Infinity'", "'-Infinity'", "'NaN'", "1e308") as source:
        assert counted(source, "x > 1e307", "x > 1.7e308", "x < 0", "x = x") == [3, 2, 1, 4]


def test_nan_of_a_decimal_is_that_of_a_double(postgresql: Server) -> None:
    """It equals NaN and follows infinity, although every comparison of the server puts it behind each number."""
    cells = ("'NaN', 'NaN'", "'NaN', 'Infinity'", "'Infinity', 'NaN'", "'Infinity', 'Infinity'", "1, 'NaN'")
    place = place_of(postgresql, made_by(postgresql, "x numeric, y float8", *cells))
    with SqlSource.open(place, unit=None, columns=None) as source:
        assert counted(source, "x = y", "x > y", "x < y", "x <> y") == [2, 1, 2, 3]


NEAREST = {
    "0.1": "0.1",
    "12345678901234567890.12": "1.2345678901234567e+19",
    "9007199254740993": "9007199254740992.0",
    "1.7976931348623158e308": "1.7976931348623157e308",
    "4.9406564584124654e-324": "5e-324",
    "2.4703282292062328e-324": "5e-324",
    "2.4703282292062327e-324": "0.0",
}


def test_decimals_round_to_nearest(postgresql: Server) -> None:
    """Also where a double has few bits, and on both sides of half the smallest one."""
    doubles = [*NEAREST.values()]
    with opened(postgresql, "numeric", *NEAREST, *(f"-{cell}" for cell in NEAREST)) as source:
        for sign in ("", "-"):
            assert counted(source, *(f"x = {sign}{double}" for double in doubles)) == [
                2 if double == "0.0" else doubles.count(double) for double in doubles
            ]


def test_text_of_fixed_width_ends_before_its_blanks(postgresql: Server) -> None:
    """The server fills cells up with blanks, which are nobody's; other texts keep theirs."""
    with opened(postgresql, "char(5)", "'ab'", "'a b'", "''") as source:
        assert counted(source, "x = 'ab'", "x = 'ab   '", "x like 'ab'", "x = ''") == [1, 0, 1, 1]
    with opened(postgresql, "varchar(5)", "'ab'", "'ab '", "'ab  '") as source:
        assert counted(source, "x = 'ab'", "x = 'ab '", "x like 'ab_'") == [1, 1, 1]
        assert keys(source, "x") == {("ab",): 1, ("ab ",): 1, ("ab  ",): 1, (None,): 1}


ICU = "SELECT 1 FROM pg_collation WHERE collname = 'und-x-icu'"
CITEXT = "SELECT 1 FROM pg_available_extensions WHERE name = 'citext'"
NO_CASE = (
    "CREATE COLLATION no_case (provider = icu, locale = 'und-u-ks-level1', deterministic = false);CREATE DOMAIN short "
    "AS varchar(9) COLLATE no_case"
)


def require_part(server: Server, part: str) -> None:
    """Skip the test on a server that lacks a part, unless all tests must run."""
    with server.shell("postgres") as shell:
        if shell.execute(part.encode()).fetchone() is None:
            absent = f"this PostgreSQL is built without what is found by {part!r}"
            if os.environ.get(REQUIRED):
                pytest.fail(f"{absent}, though {REQUIRED} is set")
            pytest.skip(f"{absent}; on Debian: apt-get install postgresql")


@pytest.mark.parametrize(
    ("type_", "part"), [("text COLLATE no_case", ICU), ("short", ICU), ("citext", CITEXT), ("text", "SELECT 1")]
)
def test_no_collation_of_the_server_decides(postgresql: Server, type_: str, part: str) -> None:
    """Neither one without case and accents, nor one of a domain, nor a type of its own."""
    require_part(postgresql, part)
    with postgresql.shell("postgres") as shell:
        if part == CITEXT:
            shell.execute("CREATE EXTENSION IF NOT EXISTS citext")
        elif shell.execute("SELECT 1 FROM pg_type WHERE typname = 'short'").fetchone() is None:
            shell.execute(NO_CASE.encode() if part == ICU else b"SELECT 1")
    with opened(postgresql, type_, "'bern'", "'Bern'", "'BÉRN'", "'Zug'") as source:
        assert counted(source, "x = 'bern'", "x < 'a'", "x like '%r%'", "x in ('BERN', 'zug')") == [1, 3, 2, 0]
        assert keys(source, "x") == dict.fromkeys([("bern",), ("Bern",), ("BÉRN",), ("Zug",), (None,)], 1)


def test_persons_differ_where_their_texts_do(postgresql: Server) -> None:
    """A collation that takes two names for one would count two persons as one."""
    require_part(postgresql, CITEXT)
    table = made_by(
        postgresql,
        "who citext NOT NULL, age int",
        *("'ann', 1", "'Ann', 1", "'ann', 2"),
        before="CREATE EXTENSION IF NOT EXISTS citext",
    )
    with SqlSource.open(place_of(postgresql, table), unit="who", columns=None) as source:
        assert counted(source, "true", "age = 1", "age = 2") == [2, 2, 1]


def test_days_of_any_year_are_counted(postgresql: Server) -> None:
    """Years before 1 and after 9999 are before and after all others, and of no period."""
    cells = ["'infinity'", "'-infinity'", "'4713-01-01 BC'", "'12345-01-01'", "'2020-02-29'"]
    for type_ in ("date", "timestamp", "timestamptz"):
        with opened(postgresql, type_, *cells) as source:
            assert counted(source, "x < '0001-01-01'", "x > '9999-12-31'", "x = x") == [2, 2, 5]
            assert counted(source, "x = '2020-02-29'") == [1]
            assert keys(source, "x:month") == {(2020 * 12 + 1,): 1, (None,): 1}


def test_moments_are_read_in_utc(postgresql: Server) -> None:
    """Whatever the zone of the account is, also in the hour that is there twice a year."""
    with postgresql.shell("postgres") as shell:
        shell.execute("ALTER ROLE owner SET TimeZone = 'America/New_York'")
        shell.execute("ALTER ROLE owner SET DateStyle = 'SQL, DMY'")
    try:
        cells = ["'2020-11-01 01:30:00-04'", "'2020-11-01 01:30:00-05'", "'2020-12-31 23:30:00-05'"]
        with opened(postgresql, "timestamptz", *cells) as source:
            assert counted(source, "x = '2020-11-01 05:30:00'", "x = '2020-11-01 06:30:00'", "x >= '2021-01-01'") == [
                1,
                1,
                1,
            ]
            assert keys(source, "x:year") == {(2020,): 2, (2021,): 1, (None,): 1}
    finally:
        with postgresql.shell("postgres") as shell:
            shell.execute("ALTER ROLE owner RESET ALL")


def test_times_of_day_are_texts(postgresql: Server) -> None:
    """As DuckDB writes them, whose texts sort as they do."""
    cells = ["'08:30'", "'08:30:00.5'", "'23:59:59.999999'", "'00:00'"]
    with opened(postgresql, "time", *cells) as source:
        assert keys(source, "x") == dict.fromkeys(
            [("08:30:00",), ("08:30:00.5",), ("23:59:59.999999",), ("00:00:00",), (None,)], 1
        )
        assert counted(source, "x < '09'", "x like '08:30%'") == [3, 2]


def test_enumerations_and_domains_are_what_they_are_made_of(postgresql: Server) -> None:
    """An enumeration is text in the order of its letters; a domain of a domain is followed."""
    table = made_by(
        postgresql,
        "mood {}_mood, years {}_years, moods {}_mood[]",
        *("'sad', 7, '{sad}'", "'happy', 8", "NULL, NULL"),
        before="CREATE TYPE {}_mood AS ENUM ('sad', 'ok', 'happy'); CREATE DOMAIN {}_age AS int; "
        "CREATE DOMAIN {}_years AS {}_age CHECK (VALUE >= 0)",
    )
    with SqlSource.open(place_of(postgresql, table), unit=None, columns=None) as source:
        assert dict(source.schema) == {"mood": Kind.TEXT, "years": Kind.INTEGER}
        assert counted(source, "mood < 'i'", "mood = 'sad'", "mood = 'glad'") == [1, 1, 0]
        assert counted(source, "years > 7", "years = 7.0") == [1, 1]


@pytest.mark.parametrize(
    ("type_", "cells", "persons"),
    [
        ("bigint", ("7", "7", "-8"), 2),
        ("text", ("'a'", "'a'", "'A'"), 2),
        ("boolean", ("true", "true", "false"), 2),
        ("uuid", (f"'{'a' * 32}'", f"'{'A' * 32}'", f"'{'b' * 32}'"), 2),
    ],
)
def test_units_may_be_of_these_types(postgresql: Server, type_: str, cells: tuple[str, ...], persons: int) -> None:
    """A UUID is one, however it was written."""
    table = made_by(postgresql, f"who {type_}, age int", *(f"{cell}, 1" for cell in cells))
    with SqlSource.open(place_of(postgresql, table), unit="who", columns=None) as source:
        assert counted(source, "age = 1", "age = 2") == [persons, 0]


@pytest.mark.parametrize("type_", ["float8", "numeric", "date", "timestamptz", "time[]", "jsonb"])
def test_units_of_other_types_are_refused(postgresql: Server, type_: str) -> None:
    """A type whose text differs between engines cannot be a unit."""
    table = made_by(postgresql, f"who {type_}, age int")
    with pytest.raises(SourceError, match="name persons by whole numbers, texts or UUIDs"):
        SqlSource.open(place_of(postgresql, table), unit="who", columns=None)


def test_a_day_is_one_of_utc_beside_times_with_a_zone(postgresql: Server) -> None:
    """A day is compared as all of its moments in UTC; infinite times belong to no day."""
    times = (
        "2024-01-30 23:59:59.999999",
        "2024-01-31 00:00:00",
        "2024-01-31 23:59:59.999999",
        "2024-02-01 00:00:00",
        "infinity",
        "-infinity",
    )
    asked = {
        "x = '2024-01-31'": 2,
        "x <> '2024-01-31'": 4,
        "x <= '2024-01-31'": 4,
        "x > '2024-01-31'": 2,
        "x between '2024-01-30' and '2024-01-31'": 3,
        "x not between '2024-01-30' and '2024-01-31'": 3,
        "x in ('2024-01-30', '2024-02-01')": 2,
        "x <= '9999-12-31'": 5,
        "x > '9999-12-31'": 1,
    }
    for type_, zone in (("timestamp", ""), ("timestamptz", "+00")):
        with opened(postgresql, type_, *(f"'{time}{zone if time[0].isdigit() else ''}'" for time in times)) as source:
            assert counted(source, *asked) == [*asked.values()]
    late = ("'2024-01-31 23:30:00-05'", "'2024-02-01 00:30:00+01'")
    with opened(postgresql, "timestamptz", *late) as source:
        assert counted(source, "x = '2024-01-31'", "x = '2024-02-01'") == [1, 1]


@pytest.mark.parametrize("type_", ["text", "varchar(30)", "char(30)", "mood"])
def test_texts_of_each_type_are_read_as_numbers_and_days(postgresql: Server, type_: str) -> None:
    """Also of an enumeration, and padded with blanks; no cast of the server sees what is no number."""
    cells = ("12", " 12.5 ", "NaN", "1e400", "2024-02-29", "2023-02-29", "infinity")
    before = f"CREATE TYPE mood AS ENUM ({', '.join(map(repr, cells))})" if type_ == "mood" else ""
    table = made_by(postgresql, f"x {type_}", *map(repr, cells), "NULL", before=before)
    with SqlSource.open(place_of(postgresql, table), unit=None, columns=None) as source:
        asked = {"number(x) >= 12": 2, "number(x) is null": 6, "date(x) = '2024-02-29'": 1, "date(x) is null": 7}
        assert counted(source, *asked) == [*asked.values()]
