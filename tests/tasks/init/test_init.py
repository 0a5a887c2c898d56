"""Tests of `tasks/findings.py`."""

import csv
import io
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.config.config import Config, DatasetConfig, load_config
from noisycount.display import output
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.query.schema import Kind
from noisycount.tasks.check import examine_place
from noisycount.tasks.init import Draft, new_text
from tests.helpers.cases import examples
from tests.helpers.commands import Refused, Run
from tests.tasks.check.test_check import ROWS


@pytest.fixture
def umfrage(here: Path) -> Path:
    """A table as a German spreadsheet saves it, with cells that do not fit their columns."""
    path = here / "Umfrage 2025.csv"
    path.write_bytes("\r\n".join([*ROWS, ""]).encode("cp1252"))
    return path


def test_a_file_is_described(run: Run, umfrage: Path) -> None:
    """The configuration has the form of the file, the columns with reasons, and the open decisions."""
    told = run("init", umfrage.name)
    assert (told.status, told.errors) == (0, "")
    assert told.output.splitlines() == [
        "wrote noisycount.toml, with 6 columns of Umfrage 2025.csv",
        'State the privacy unit there: unit = "COLUMN" of persons, or unit = "row".',
        "Look at cells that do not fit (Alter, Kosten €, Beitritt); an encoding that must",
        "be stated.",
        "Then see what is read, and how to mend it: noisycount check Umfrage-2025",
    ]
    text = (umfrage.parent / "noisycount.toml").read_text(encoding="utf-8")
    for part in (
        '[datasets.Umfrage-2025]\nsource = "Umfrage 2025.csv"\n',
        'encoding = "cp1252"                 # the file is not in UTF-8\n',
        '\nunit = "COLUMN"\n',
        '# columns = ["Person", "Alter", "Kosten €", "Raucher", "Beitritt", "Ort"]\n',
        'Person = "text"                     # they are texts\n',
        'missing = ["k.A."] }  # they are numbers with a decimal comma\n# Cells that do not fit;',
        '\n# Beitritt = { kind = "date", date_format = "%d.%m.%Y", unreadable = "missing" }\n',
    ):
        assert part in text
    assert "unbekannt" not in text  # no cell of the data but the words that mean nothing
    dataset = load_config(umfrage.parent / "noisycount.toml").datasets["Umfrage-2025"]
    assert (dataset.source, dataset.unit, dataset.size) == (umfrage, "COLUMN", None)
    assert dataset.form == FileFormat("cp1252", ";", 2)
    assert dataset.kinds is not None
    assert dataset.kinds["Alter"] == ColumnFormat(Kind.INTEGER)
    told = run("check", "Umfrage-2025")  # no row is taken for a person before its owner says so
    assert "unit names 'COLUMN', which is no column: use 'Person'" in told.errors


def test_what_may_read_for_long_says_so(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, so that nobody thinks that it hangs."""
    (here / "a.csv").write_text("person,age\n1,2\n2,4\n")
    said: list[str] = []

    def status(doing: str) -> AbstractContextManager[None]:
        said.append(doing)
        return nullcontext()

    monkeypatch.setattr(output, "status", status)
    for words in (("init", "a.csv", "--unit", "person"), ("check", "a"), ("show", "a")):
        assert run(*words).status == 0
    assert said == ["reading"] * 3


@pytest.mark.usefixtures("umfrage")
def test_the_owner_says_name_and_unit(run: Run, here: Path) -> None:
    """A stated name and unit are written, and a unit is a text whatever its cells."""
    (here / "a.csv").write_text("person,age\n1,2\n2,4\n")
    told = run("init", "a.csv", "--unit", "person", "--name", "visits")
    assert told.output.splitlines() == [
        "wrote noisycount.toml, with 2 columns of a.csv",
        "Read it, then ask: noisycount count visits --epsilon 0.1",
    ]
    dataset = load_config(here / "noisycount.toml").datasets["visits"]
    assert (dataset.unit, dataset.form) == ("person", FileFormat())
    assert dataset.kinds == {"person": ColumnFormat(Kind.TEXT), "age": ColumnFormat(Kind.INTEGER)}
    (here / "noisycount.toml").unlink()
    run("init", "a.csv", "--unit", "row")
    assert 'unit = "row"\n' in (here / "noisycount.toml").read_text()


def test_rows_without_a_unit_are_told_at_once(run: Run, here: Path) -> None:
    """Before the first question is refused for them."""
    (here / "a.csv").write_text("person,age\n1,2\n,4\n,5\n")
    told = run("init", "a.csv", "--unit", "person").words
    assert "Look at rows without a person (person)." in told


def test_a_file_that_states_its_kinds_has_none_written(run: Run, here: Path) -> None:
    """Its columns are listed, and its table named."""
    run("init", "survey.parquet", "--unit", "person")
    dataset = load_config(here / "noisycount.toml").datasets["survey"]
    assert (dataset.kinds, dataset.form, dataset.columns) == (None, FileFormat(), None)
    text = (here / "noisycount.toml").read_text()
    assert '# columns = ["year", "site", "plan",' in text
    assert max(map(len, text.splitlines())) <= 100
    (here / "noisycount.toml").unlink()
    with duckdb.connect(here / "clinic.db") as connection:
        connection.execute("CREATE TABLE a AS SELECT 1 AS x; CREATE TABLE b AS SELECT 2 AS y")
    run("init", "clinic.db", "--table", "b")
    assert load_config(here / "noisycount.toml").datasets["clinic"].table == "b"


def test_lines_of_json_are_described(run: Run, here: Path) -> None:
    """By their kinds, as they have no encoding to state."""
    (here / "a.jsonl").write_text('{"age": 1}\n{"age": null}\n')
    run("init", "a.jsonl", "--unit", "row")
    dataset = load_config(here / "noisycount.toml").datasets["a"]
    assert (dataset.form, dataset.kinds) == (FileFormat(), {"age": ColumnFormat(Kind.INTEGER)})
    assert run("check", "a", "--json").object["fits"]


def test_what_cannot_be_described_is_refused(refused: Refused, run: Run, here: Path) -> None:
    """Nothing is written, and nothing overwritten."""
    (here / "a.csv").write_text("person,age\n1,2\n")
    assert "unit names 'persn', which is no column: use 'person'" in refused("init", "a.csv", "--unit", "persn")
    assert "none.csv' does not exist: check the path" in refused("init", "none.csv")
    assert "must be letters, digits, - and _, got 'a b'" in refused("init", "a.csv", "--name", "a b")
    assert "--unit 'row' describes a file: name the file as well" in refused("init", "--unit", "row")
    run("init", "a.csv")
    assert "noisycount.toml exists already: edit it" in refused("init", "a.csv")


@pytest.mark.thorough
def test_all_proposals_are_taken_at_once(run: Run, umfrage: Path) -> None:
    """Then questions are answered; nothing is proposed any more, and nothing that nobody proposed is written."""
    told = run("init", umfrage.name, "--unit", "Person", "--name", "umfrage", "--accept")
    assert "took 4 proposals of `noisycount check`:" in told.output
    assert '  Alter = { kind = "integer", unreadable = "missing" }\n' in told.output
    assert '  encoding = "cp1252"\n' in told.output
    assert "Read it, then ask: noisycount count umfrage" in told.words
    text = (umfrage.parent / "noisycount.toml").read_text(encoding="utf-8")
    assert "Cells that do not fit" not in text
    assert "unbekannt" not in text
    told = run("check", "umfrage")
    assert (told.status, "Ready" in told.output, "Proposals" in told.output) == (0, True, False)
    (umfrage.parent / "noisycount.toml").unlink()
    (umfrage.parent / "good.csv").write_text("person,age\n1,2\n2,4\n")
    texts = []
    for words in ((), ("--accept",)):
        run("init", "good.csv", "--unit", "person", *words)
        texts.append((umfrage.parent / "noisycount.toml").read_text(encoding="utf-8"))
        (umfrage.parent / "noisycount.toml").unlink()
    assert texts[0] == texts[1]


def test_another_configuration_above_is_told(run: Run, here: Path) -> None:
    """Its ledger is not asked any more, and so its budget is begun again."""
    other = here.parent / "noisycount.toml"
    other.write_text("")
    (here / "a.csv").write_text("person,age\n1,2\n")
    told = run("init", "a.csv").words
    assert told.startswith(f"{other} is not read in this folder any more wrote noisycount.toml")


CELLS = st.sampled_from(
    [
        ["1", "-20", "3.000", "+4"],
        ["1.5", "2e3", ".25", "7"],
        ["1,5", "1.234,50", "-0,25", "7"],
        ["2024-01-31", "1999-12-01"],
        ["31.01.2024", "1.12.1999"],
        ["31/01/2024", "1/12/1999"],
        ["2024-01-31 12:30", "1999-12-01T00:00:01.5"],
        ["2024-01-31T12:30:00Z", "1999-12-01 00:00:01+02:00"],
        ["ja", "Nein", "nein", "JA"],
        ["true", "false"],
        ["01067", "80331"],
        ["Köln", " blanks ", 'a "quoted" one', "", "a;b,c"],
    ]
)
ODD = st.sampled_from(["", "k.A.", "NA", "unbekannt", "1.1.1.1", "?", "12 EUR"])
ACCEPTED = re.compile(r"^.*\n# Cells that do not fit; .*\n# (.*)$", re.MULTILINE)
NAMES = st.text(st.characters(codec="cp1252", exclude_categories=["Cc", "Cf", "Zs"]), min_size=1, max_size=9).map(
    "{}x".format
)  # a title before a name of digits alone is taken for the names


@st.composite
def columns(draw: st.DrawFn) -> list[str]:
    """The cells of one column: most of one kind, and some that may not fit."""
    usual = draw(CELLS)
    cells = draw(st.lists(st.sampled_from(usual), min_size=12, max_size=12))
    return [*cells, *draw(st.lists(ODD, min_size=3, max_size=3))]


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[Sequence[str]]]:
    """Names of columns, and rows."""
    width = draw(st.integers(2, 5))
    names = draw(st.lists(NAMES, min_size=width, max_size=width, unique_by=str.casefold))
    return names, list(zip(*(draw(columns()) for _ in names), strict=True))


@pytest.mark.thorough
@examples(30)
@given(
    table=tables(),
    delimiter=st.sampled_from(",;\t|"),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    titles=st.integers(0, 2),
)
def test_what_is_written_is_what_was_guessed(
    table: tuple[list[str], list[Sequence[str]]], delimiter: str, encoding: str, titles: int
) -> None:
    """A draft loads, and opens the file with the very kinds and the very form."""
    names, rows = table
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([[f"Title {n}", *[""] * (len(names) - 1)] for n in range(titles)])
    writer.writerows([names, *rows])
    with TemporaryDirectory() as folder:
        source = Path(folder).resolve() / "Umfrage 2025 (1).csv"
        source.write_bytes(text.getvalue().encode(encoding))
        found = examine_place(DatasetConfig(str(source), source))
        draft = new_text(Draft(found, "umfrage", "row").dataset_section)
        written, mended = (loaded(source, text) for text in (draft, ACCEPTED.sub(r"\1", draft)))
        again = examine_place(mended.datasets["umfrage"])
    stated = written.datasets["umfrage"].kinds
    assert stated == found.check.forms
    assert [*stated] == names
    assert again.check.form == found.check.form
    assert again.fits
    for before, after in zip(found.check.columns, again.check.columns, strict=True):
        assert (after.kind, after.missing, after.unreadable) == (before.kind, before.missing, before.unreadable)


def loaded(source: Path, text: str) -> Config:
    """The configuration that a text beside a file is."""
    path = source.with_name("noisycount.toml")
    path.write_text(text, encoding="utf-8")
    return load_config(path)
