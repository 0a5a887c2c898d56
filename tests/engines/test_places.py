"""Places of records, and the engine that opens each of them."""

import gzip
import os
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.display.texts import without_passwords
from noisycount.engines.opening import file_engine
from noisycount.engines.places import ServerPlace, is_server, state_of
from noisycount.errors import SourceError
from noisycount.query.language import parse


def test_a_file_is_opened_with_what_its_owner_says(tmp_path: Path) -> None:
    """The unit and the columns reach the engine."""
    path = tmp_path / "records.csv"
    path.write_text("person,age,note\n1,31,x\n1,32,y\n2,29,z\n")
    with file_engine().open_unprepared(path, unit="person", columns=["age"]) as source:
        assert [*source.schema] == ["age"]
        assert source.count([parse("age > 30", source.schema)]) == [1]


def test_a_file_of_no_engine_is_refused(tmp_path: Path) -> None:
    """The message lists the endings that can be read."""
    with pytest.raises(SourceError, match=r"unknown extension '.xls': use .csv, .tsv, .csv.gz, "):
        file_engine().open_unprepared(tmp_path / "records.xls")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("a.gpkg", "if it is a SQLite database, rename it so that it ends in .sqlite"),
        ("a.arrow", "export its table as Parquet"),
    ],
)
def test_a_file_of_another_ending_is_refused_with_a_remedy(tmp_path: Path, name: str, remedy: str) -> None:
    """Also one whose content could be read."""
    with pytest.raises(SourceError, match=f"unknown extension .*; {remedy}$"):
        file_engine().open_unprepared(tmp_path / name)


def test_a_packed_file_is_known_by_both_its_endings(tmp_path: Path) -> None:
    """In whatever case; a packed file of another kind is refused by name."""
    path = tmp_path / "records.of.2020.CSV.GZ"
    path.write_bytes(gzip.compress(b"age\n31\n"))
    with file_engine().open_unprepared(path) as source:
        assert source.count([parse("age = 31", source.schema)]) == [1]
    with pytest.raises(SourceError, match=r"unknown extension '.parquet.gz': use .csv, .tsv"):
        file_engine().open_unprepared(tmp_path / "records.parquet.gz")


@pytest.mark.thorough
def test_an_engine_is_imported_when_it_opens_something() -> None:
    """Importing the records' module loads no engine."""
    code = "import sys, noisycount.release.records; print('duckdb' in sys.modules)"
    loaded = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert loaded.stdout.split() == ["False"]


CANARY = "canary-7c1"
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql+psycopg://ward@db/clinic#visits", "postgresql://db/clinic#visits"),
        ("POSTGRESQL://db:5433/clinic/#a.visits", "postgresql://db:5433/clinic#a.visits"),
        ("postgresql://[::1]:5432/clinic#visits", "postgresql://[::1]:5432/clinic#visits"),
        ("postgresql:///c?sslmode=require&host=/run/pg#t", "postgresql:///c?host=/run/pg#t"),
        ("oracle://u:p@h:1521/?service_name=x#S.T", "oracle://h:1521?service_name=x#S.T"),
        ("mysql+pymysql://u:a/b#c:d@h/db#t", "mysql://h/db#t"),
        ("postgresql://u:100%25%40@h/db#a%23b", "postgresql://h/db#a#b"),
        ("spark://local#/lake/visits", "spark://local#/lake/visits"),
        ("spark://host:7077#s3a://bucket/visits", "spark://host:7077#s3a://bucket/visits"),
        ("sc://host:443/;token=secret;x=1#lake.visits", "sc://host:443#lake.visits"),
    ],
)
def test_an_address_is_shown_without_who_asks(text: str, shown: str) -> None:
    """Engine, host, database and table are told; user, password, driver and options are not."""
    place = ServerPlace.read(text)
    assert is_server(text)
    assert place.shown == shown
    assert ServerPlace.read(place.without_password).canonical == place.canonical


@pytest.mark.thorough
@given(user=TEXTS, secret=TEXTS, scheme=st.sampled_from(["postgresql+psycopg", "mysql", "oracle"]))
def test_no_password_is_shown(user: str, secret: str, scheme: str) -> None:
    """Whatever characters it has, quoted as addresses need it."""
    password = quote(f"{CANARY}{secret}", safe="")
    place = ServerPlace.read(f"{scheme}://{quote(user, safe='')}:{password}@h/db?token={CANARY}#t")
    told = [repr(place), place.shown, place.without_password, *place.canonical, str(place)]
    assert CANARY not in " ".join(told)
    assert CANARY in place.url


@given(secret=TEXTS, scheme=st.sampled_from(["postgresql", "snowflake", "9postgresql", "x y"]))
def test_no_password_is_shown_that_nobody_quoted(secret: str, scheme: str) -> None:
    """An address that can be read in two ways is refused, and its refusal tells nothing of it."""
    text = f"{scheme}://ward:{CANARY}{secret}{CANARY}@h/db#t"
    try:
        told = repr(ServerPlace.read(text)) + ServerPlace.read(text).without_password
    except SourceError as error:
        told = str(error)
    assert CANARY not in told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("postgresql://ward:secret@db/clinic", "'postgresql://db/clinic' names no table: write it"),
        ("postgresql://db/clinic#", "'postgresql://db/clinic' names no table: write it after a #"),
        ("postgresql://w:a@b@db/clinic#t", "the address of the server cannot be read: write it as"),
        ("postgresql://db:port/clinic#t", "the address of the server cannot be read: write it as"),
    ],
)
def test_no_address_of_a_table(text: str, message: str) -> None:
    """A refusal is a single line that names the missing part, with an example."""
    with pytest.raises(SourceError) as caught:
        ServerPlace.read(text)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("postgresql+psycopg://a:x@DB/clinic#visits", "postgresql://b@db:5432/clinic#public.visits"),
        ("postgresql://localhost/c#t", "postgresql://127.0.0.1/c?sslmode=require#t"),
        ("postgresql:///c?host=/run/pg#t", "postgresql://w@/c?host=/run/pg&port=5432#t"),
        ("postgresql://ward@db#t", "postgresql://db/ward#t"),
        ('postgresql://h/db#"public"."visits"', "postgresql://h/db#visits"),
        ("mysql://h/db#t", "mariadb+pymysql://h:3306/db#t"),
        ("sc://host#db.t", "sc://host:15002/;token=x#db.t"),
    ],
)
def test_two_addresses_of_one_table(one: str, other: str) -> None:
    """User, driver and spelled-out defaults do not make another table of an address."""
    assert ServerPlace.read(one).canonical == ServerPlace.read(other).canonical


@pytest.mark.parametrize(
    "other",
    [
        *("postgresql://db/clinic#staff.visits", "postgresql://db/clinic#Visits"),
        *("postgresql://db/ward#visits", "postgresql://db2/clinic#visits"),
        *("postgresql://db:5433/clinic#visits", "mysql://db:5432/clinic#public.visits"),
        *("postgresql://db/clinic?host=/run/pg#visits", 'postgresql://db/clinic#"public.visits"'),
    ],
)
def test_addresses_of_different_tables(other: str) -> None:
    """Another schema, table, database, host, port or engine is another table."""
    assert ServerPlace.read("postgresql://db/clinic#visits").canonical != ServerPlace.read(other).canonical


@pytest.mark.parametrize("text", ["visits.csv", "s3://bucket/visits", "file:///a", "C:/a", "://a"])
def test_no_server(text: str) -> None:
    """Files, object stores and what begins with no word are no servers."""
    assert not is_server(text)


def test_passwords_are_cut_out_of_any_text() -> None:
    """A quoted address loses its password, and the example in a message stays whole."""
    told = f"no such option: x://u:{CANARY} a@b'; and 'y://v:{CANARY}@{CANARY}@h', as z://user@h"
    assert without_passwords(told) == "no such option: x://u:…@b'; and 'y://v:…@h', as z://user@h"


def test_a_file_that_is_rewritten_in_place_has_another_state(tmp_path: Path) -> None:
    """Also if it has the same length, and if its time of modification is put back."""
    path = tmp_path / "records.csv"
    path.write_text("age\n31\n")
    before, time_before = state_of((path,)), path.stat()
    time.sleep(0.02)  # a tick of the disk's clock
    with path.open("r+") as file:
        file.write("age\n32\n")
    os.utime(path, ns=(time_before.st_atime_ns, time_before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (
        time_before.st_size,
        time_before.st_mtime_ns,
        time_before.st_ino,
    )
    assert state_of((path,)) != before


@pytest.mark.parametrize("parameter", ["token", "password", "pwd", "my_secret"])
def test_a_secret_parameter_of_a_cluster_is_left_out(parameter: str) -> None:
    """A configuration holds none of them; other parameters stay."""
    place = ServerPlace.read(f"sc://host:15002/;{parameter}=hush;user_id=ann#visits")
    assert place.without_password == "sc://host:15002/;user_id=ann#visits"  # noqa: S105 - there is none
