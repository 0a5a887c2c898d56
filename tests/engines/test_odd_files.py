"""Files as people have them: each is read rightly, or refused in one line that says what to do."""

import gzip
import random
import re
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.duckdb.texts import TextFile
from noisycount.engines.formats import FileFormat
from noisycount.errors import SourceError
from noisycount.query.language import parse
from tests.helpers.sources import writing

GERMAN = "age;Größe €\n31;1,80\n29;1,75\n"
READ: dict[str, tuple[bytes, dict[str, int]]] = {
    "bom": ("\ufeffage,health\n31,poor\n29,good\n".encode(), {"age = 31": 1, "true": 2}),
    "semicolons": (b"age;cost\n31;1.234,50\n29;2,25\n", {"cost = 1234.5": 1, "cost < 3": 1}),
    "crlf": (b"age,health\r\n31,poor\r\n29,good\r\n", {"health = 'poor'": 1, "true": 2}),
    "old mac": (b"age,health\r31,poor\r29,good\r", {"health = 'poor'": 1, "true": 2}),
    "quoted": (b'age,note\n31,"a, b\nc"\n29,"x ""y"""\n', {"note = 'a, b\nc'": 1, "note = 'x \"y\"'": 1, "true": 2}),
    "titles": (b"Report 2026\nSource: office\nage,health\n31,poor\n29,good\n30,good\n", {"age > 29": 2, "true": 3}),
    "sep": (b"sep=;\r\nage;health\r\n31;poor\r\n29;good\r\n", {"age = 31": 1, "true": 2}),
    "another end of titles": (b"sep=,\r\nage,health\n31,poor\n29,good\n", {"age = 31": 1, "true": 2}),
    "other ends of titles": (b"Report\nof May\r\nage,health\n31,poor\n29,good\n30,poor\n", {"age = 31": 1, "true": 3}),
    "keywords": (b"select,not,from\n1,2,3\n", {'"select" = 1 and "not" = 2': 1}),
    "header": (b"age,health\n", {"true": 0, "health is null": 0}),
    "utf-16": (GERMAN.encode("utf-16"), {'"Größe €" = 1.75': 1, "age = 31": 1}),
    "utf-16 be": (b"\xfe\xff" + GERMAN.encode("utf-16-be"), {'"Größe €" = 1.75': 1, "true": 2}),
    "index": (b",age\n0,31\n1,29\n", {"age = 31": 1, "column0 = 1": 1}),
    "mixed ends": (
        b'Report\r\nage;note\r\n31;"a, b\r\n"\n29;\r\n\n30;"x ""y"""\n',
        {"age >= 29": 3, "note = 'a, b\r\n'": 1, "note = 'x \"y\"'": 1, "note is null": 1},
    ),
    "line break in a name": (
        b'person;"Size\n(cm)";x\r\n1;"two\nlines";6\r\n2;a;7\r\n',
        {"true": 2, "x = 7": 1, "\"Size\n(cm)\" = 'two\nlines'": 1},
    ),
    "blanks": (b" age , cost \n31, 2.5\n 29,\t3.5 \n", {"age = 29 and cost = 3.5": 1}),
    "no last end": (b"age,health\n31,poor", {"age = 31": 1, "true": 1}),
}
REFUSED: dict[str, tuple[bytes, str]] = {
    "doubled": (b"age,health,age\n31,poor,1\n", "line 1 of * has one name for columns 1 and 3"),
    "cases": (b"Titel\nage,Age\n31,1\n", "line 2 of * has one name for columns 1 and 2, apart from"),
    "ragged": (b"age,health\n31,poor\n29\n30,good,x\n", "line 3 has 1 cell for 2 names, and 1 more line is ragged (4)"),
    "open quote": (b'age,health\n31,poor\n29,"good\n', "has a quotation mark that is not closed"),
    "empty": (b"", "is empty: check that it was exported or copied as a whole"),
    "no names": (b"31,2\n29,3\n", "has no names of columns: write them there"),
    "blank": (b" \n\n", "is empty: check that it was exported"),
    "utf-16 le": (GERMAN.encode("utf-16-le"), 'encoding = "utf-16-le"'),
    "utf-16 be": (GERMAN.encode("utf-16-be"), 'encoding = "utf-16-be"'),
    "cp1252": (GERMAN.encode("cp1252"), 'is not in utf-8: state its encoding, such as encoding = "cp1252"'),
    "nul": (b"age,health\n31,po\0or\n", "line 2 of * has a NUL character, which no text has"),
}


def counts(path: Path, *questions: str, **options: object) -> dict[str, int]:
    """The count of each question."""
    with DuckDBSource.open(path, **options) as source:
        found = source.count([parse(question, source.schema) for question in questions])
    return dict(zip(questions, found, strict=True))


def refusal(act: Callable[[], object]) -> str:
    """The one line with which an act is refused."""
    with pytest.raises(SourceError) as caught:
        act()
    message = str(caught.value)
    assert message.isprintable()
    assert caught.value.__context__ is None
    return message


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("packed", [False, True])
def test_an_odd_file_is_read_rightly(tmp_path: Path, name: str, *, packed: bool) -> None:
    """No record, no column and no character is lost, compressed or not."""
    content, expected = READ[name]
    path = tmp_path / ("x.csv.gz" if packed else "x.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    assert counts(path, *expected) == expected


@pytest.mark.parametrize("name", REFUSED)
def test_an_odd_file_is_refused_with_a_remedy(tmp_path: Path, name: str) -> None:
    """In one line, for its owner; no cell is shown."""
    content, words = REFUSED[name]
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    is_mended = name in {"doubled", "cases", "ragged", "no names"}
    for act in [DuckDBSource.open, *([] if is_mended else [DuckDBSource.check_file])]:
        message = refusal(lambda act=act: act(path))
        assert re.search(re.escape(words).replace(r"\*", ".*"), message), message
        assert "good" not in message


@pytest.mark.parametrize("name", ["utf-16 le", "utf-16 be", "cp1252"])
def test_the_encoding_that_a_refusal_names_is_the_right_one(tmp_path: Path, name: str) -> None:
    """A user who follows the remedy has the records."""
    path = tmp_path / "x.csv"
    path.write_bytes(REFUSED[name][0])
    (encoding,) = re.findall('encoding = "(.*)",', refusal(lambda: DuckDBSource.open(path)))
    expected = {'"Größe €" = 1.8': 1, "age < 30": 1, "true": 2}
    assert counts(path, *expected, form=FileFormat(encoding=encoding)) == expected


@pytest.mark.parametrize(
    ("name", "mended"),
    [
        ("doubled", b"age,health,age2\n31,poor,1\n"),
        ("ragged", b"age,health\n31,poor\n29,\n30,good\n"),
        ("open quote", b'age,health\n31,poor\n29,"good"\n'),
        ("nul", b"age,health\n31,poor\n"),
        ("empty", b"age,health\n"),
    ],
)
def test_a_file_that_is_mended_as_its_refusal_says_is_read(tmp_path: Path, name: str, mended: bytes) -> None:
    """The line that is named is the one that is wrong."""
    path = tmp_path / "x.csv"
    path.write_bytes(REFUSED[name][0])
    refusal(lambda: DuckDBSource.open(path))
    path.write_bytes(mended)
    expected = {"true": mended.count(b"\n") - 1}
    assert counts(path, *expected) == expected


@pytest.mark.thorough
def test_what_is_wrong_is_found_wherever_it_is(tmp_path: Path) -> None:
    """In the last of many lines, behind titles, and in characters of another encoding."""
    path = tmp_path / "x.csv"
    lines = b"Report\nage,health\n" + b"31,poor\n" * 20_000
    path.write_bytes(lines + b"29,good,x\n")
    assert "line 20,003 has 3 cells for 2 names" in refusal(lambda: DuckDBSource.open(path))
    path.write_bytes(lines + "29,gö\n".encode("cp1252"))
    assert "is not in utf-8" in refusal(lambda: DuckDBSource.open(path))
    form = FileFormat(encoding="cp1252")
    assert counts(path, "health = 'gö'", form=form) == {"health = 'gö'": 1}
    path.write_bytes(lines + b"29,g\x81\n")
    message = refusal(lambda: DuckDBSource.open(path, form=form))
    assert re.search("what follows line 1[0-9],[0-9]{3} is not in cp1252", message)


def test_what_is_stated_is_not_guessed(tmp_path: Path) -> None:
    """A delimiter, titles and their number, where they look like something else."""
    path = tmp_path / "x.csv"
    path.write_bytes(b"a;b,c;d\n1;2,3;4\n")
    assert counts(path, "a = 1", form=FileFormat(delimiter=";"))["a = 1"] == 1
    path.write_bytes(b"a,b\n1,2\nc,d\n3,4\n")
    assert counts(path, "c = 3", "true", form=FileFormat(skip=2)) == {"c = 3": 1, "true": 1}
    path.write_bytes(b"one title\nage\n31\n")
    assert counts(path, "age = 31", form=FileFormat(skip=1)) == {"age = 31": 1}


@pytest.mark.parametrize("name", ["x.tsv", "X.TSV", "x.tsv.gz"])
def test_tabs_stand_between_cells_of_a_tsv_file(tmp_path: Path, name: str) -> None:
    """However many commas and semicolons its cells have."""
    content = b"name\tsaid\nM\xc3\xbcller, A\t1,5; 2\nMaier, B\t2,5; 3\n"
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert counts(tmp_path / name, "name = 'Müller, A' and said = '1,5; 2'", "true") == {
        "name = 'Müller, A' and said = '1,5; 2'": 1,
        "true": 2,
    }
    (tmp_path / name).write_bytes(gzip.compress(b"x\na,b\n") if name.endswith("gz") else b"x\na,b\n")
    assert counts(tmp_path / name, "x = 'a,b'") == {"x = 'a,b'": 1}


@pytest.mark.thorough
def test_a_packed_file_that_is_cut_is_refused(tmp_path: Path) -> None:
    """Whatever is left of it."""
    path = tmp_path / "x.csv.gz"
    chance = random.Random(5)  # noqa: S311 - repeatable, not secret
    numbers = "\n".join(str(chance.random()) for _ in range(30_000))
    whole = gzip.compress(f"x\n{numbers}\n".encode())
    for content in (whole[: len(whole) // 2], whole[:20], b"x\n1\n", whole[:-1000] + b"\1" * 1000):
        path.write_bytes(content)
        assert "cannot be read" in refusal(lambda: DuckDBSource.open(path))


@pytest.mark.parametrize("columns", [600, pytest.param(2000, marks=pytest.mark.thorough)])
def test_a_wide_file_is_read_in_seconds(tmp_path: Path, columns: int) -> None:
    """Thousands of columns of several kinds."""
    path = tmp_path / "x.csv"
    names = ",".join(f"c{number}" for number in range(columns))
    first, last = (",".join(row * (columns // 4)) for row in (["7", "2.5", "x", "12"], ["8", "", "y", ""]))
    path.write_text(f"{names}\n{first}\n{first}\n{last}\n")
    start = time.process_time()
    number, text, whole = (f"c{columns - left}" for left in (3, 2, 1))
    expected = {f"c0 = 7 and {number} = 2.5 and {text} = 'x'": 2, f"{whole} is null": 1}
    assert counts(path, *expected) == expected
    assert time.process_time() - start < 25  # on a machine that does nothing else: a fifth of it


def test_a_parquet_file_with_a_broken_page_is_refused(tmp_path: Path) -> None:
    """At opening, though its footer is whole; without that column it is read."""
    path = tmp_path / "x.parquet"
    with writing().cursor() as connection:
        rows = connection.sql("SELECT i AS age, md5(i::VARCHAR) AS note FROM range(5000) t(i)")
        rows.write_parquet(str(path), compression="zstd")
    whole = bytearray(path.read_bytes())
    at = len(whole) // 2
    whole[at : at + 64] = bytes(64)
    path.write_bytes(whole)
    message = refusal(lambda: DuckDBSource.open(path))
    assert message.endswith("cannot be read as Parquet: check that the file is whole")
    assert counts(path, "age = 57", columns=["age"]) == {"age = 57": 1}


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the old and half of the new records are none; no copy of them is kept."""
    path, copy = tmp_path / "x.csv", tmp_path / "copy"
    path.write_text("age\n31\n")
    load = TextFile.load

    def changing(file: TextFile, connection: duckdb.DuckDBPyConnection, **options: bool) -> None:
        load(file, connection, **options)
        path.write_text("age\n31\n32\n")

    monkeypatch.setattr(TextFile, "load", changing)
    message = refusal(lambda: DuckDBSource.open(path, copy=copy))
    assert message.endswith("changed while it was read: open it again")
    assert not copy.exists()
    monkeypatch.undo()
    assert counts(path, "true") == {"true": 2}
