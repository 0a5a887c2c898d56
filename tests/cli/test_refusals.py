import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from noisycount.catalog.catalog import DatasetSettings
from noisycount.errors import SourceError
from noisycount.release.records import Records
from tests.helpers.commands import Refused, Run, configure, contents

NOBODY = 65534
ASK = ("--where", "age > 40", "--epsilon", "0.5")
GOAL = ("--within", "20%", "--guess", "100")


def count(where: str = "age > 40", source: str = "survey.parquet") -> tuple[str, ...]:
    """The words of a count by persons, without its price."""
    return ("count", source, "--unit", "person", "--where", where)


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf", "1e999", "1/0", "", "ε", "0.1.2"])
@pytest.mark.parametrize("words", [count(), ("refine", "95", "--size", "5912", "--rate", "2%")])
def test_an_epsilon_that_is_no_price_is_refused(refused: Refused, words: tuple[str, ...], epsilon: str) -> None:
    """The message names the option, what it got, and what it may be."""
    message = refused(*words, "--epsilon", epsilon)
    assert re.search(rf"'--epsilon': epsilon must be .* got {re.escape(repr(epsilon))}", message)
    assert "between 1e-9 and 1e6" in message


@pytest.mark.parametrize(
    ("option", "value", "remedy"),
    [
        *(("--guess", guess, "such as 100") for guess in ("0", "-5", "nan", "inf", "many", "")),
        *(("--within", share, "such as 20%") for share in ("0", "-20%", "20", "nan", "a lot", "")),
        *(("--confidence", share, "such as 95%") for share in ("0", "1", "95", "100%", "nan", "")),
    ],
)
@pytest.mark.parametrize("words", [count(), ("plan",)])
def test_a_goal_that_cannot_be_met_is_refused(
    refused: Refused, words: tuple[str, ...], option: str, value: str, remedy: str
) -> None:
    """A guess of 0, a width or a confidence that is no share: option, value and an example."""
    goal = dict(zip(GOAL[::2], GOAL[1::2], strict=True)) | {option: value}
    message = refused(*words, *(word for pair in goal.items() for word in pair))
    assert f"'{option}'" in message
    assert f"got {value!r}" in message
    assert remedy in message


@pytest.mark.parametrize("slot", ["0", "-1", "0.0009", "3601", "nan", "soon", ""])
def test_a_slot_without_a_length_is_refused(refused: Refused, slot: str) -> None:
    """The message says how long a slot may be."""
    message = refused(*count(), "--epsilon", "0.1", "--slot", slot)
    assert f"'--slot': must be from 0.001 to 3600 s, such as 1, got {slot!r}" in message


def test_a_question_outside_the_language_is_refused_before_its_slot(refused: Refused) -> None:
    """A refusal that depends on no record does not wait for the slot, and makes no ledger."""
    began = time.monotonic()
    assert "leave arithmetic out" in refused(*count("age + 1 > 40"), "--epsilon", "0.1", "--slot", "3600")
    assert time.monotonic() - began < 600


@pytest.mark.parametrize("words", [count(), ("plan",)])
@pytest.mark.parametrize(("within", "guess"), [("0.0000001%", "1"), ("20%", "1e-300"), ("100%", "9007199254740992")])
def test_a_goal_beyond_every_price_is_refused(
    refused: Refused, words: tuple[str, ...], within: str, guess: str
) -> None:
    """The message names both numbers and the range of prices."""
    message = refused(*words, "--within", within, "--guess", guess)
    assert re.search(r"--within \S+ of --guess \S+ needs ε = \S+, outside 1e-9 to 1e6", message)


@pytest.mark.parametrize(
    ("where", "value", "remedy"),
    [
        ("aeg > 40", "'aeg'", "did you mean age,"),
        ("person = 125024", "'person'", "use year,"),
        ("health = 3", "the integer 3", "write '3' for the text"),
        ("age > 40; drop table survey", "';'", "without ';'"),
        ("", "empty", "write a predicate"),
    ],
)
def test_a_question_outside_the_language_is_refused(refused: Refused, where: str, value: str, remedy: str) -> None:
    """In one line, as the parser says it (`tests/query/test_parser.py` has all that it refuses)."""
    message = refused(*count(where), "--epsilon", "0.5")
    assert message.startswith("error: where ")
    assert value in message
    assert remedy in message


@pytest.mark.parametrize(
    ("name", "content", "remedy"),
    [
        ("missing.csv", None, "neither a file nor a data set: check its path"),
        ("empty.csv", b"", "is empty: check that it was exported or copied as a whole"),
        ("ragged.csv", b"person,age\n1,2\n3\n", "as CSV: line 3 has 1 cell for 2 names: mend it"),
        ("latin.csv", b"person,age\n1,\xff\n", "is not in utf-8: state its encoding, .* `noisycount init"),
        ("text.parquet", b"person,age\n1,2\n", "cannot be read as Parquet: check that"),
        ("text.duckdb", b"person,age\n1,2\n", "is no database of DuckDB or SQLite, but of another kind, or encrypted"),
        ("zip.db", b"PK\x03\x04", "is no database of DuckDB or SQLite, but a workbook or another packed file: name"),
        ("access.db", b"\0\1\0\0Standard ACE DB\0", "but a database of Microsoft Access: export its table as CSV"),
        ("cut.db", b"SQLite format 3\0", "cannot be read as SQLite: check that the file is whole"),
        ("cut.duckdb", bytes(8) + b"DUCK" + bytes(60), "cannot be read as DuckDB: check that the file is whole"),
        ("empty.parquet", b"", "cannot be read as Parquet: check that"),
        ("table.ods", b"PK", "unknown extension '.ods': use .csv, .tsv"),
        ("unit.csv", b"person,age\n1,2\n,3\n", "'person' has missing values, .*: fill them in"),
        ("other.csv", b"people,age\n1,2\n", "unit names 'person', which is no column: use 'people"),
    ],
)
def test_a_file_that_cannot_be_counted_is_refused(
    refused: Refused, here: Path, name: str, content: bytes | None, remedy: str
) -> None:
    """Missing, empty, of another format, without a record or a person: one line, a remedy."""
    if content is not None:
        (here / name).write_bytes(content)
    assert re.search(remedy, refused(*count(source=name), "--epsilon", "0.5"))


@contextmanager
def without_privileges() -> Iterator[None]:
    """Be an account whom permissions stop, as they do not stop the superuser."""
    if os.geteuid():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_an_unreadable_file_is_refused(run: Run) -> None:
    """A file that the account may not read is named; the first count has loaded every module."""
    assert run("count", "survey.parquet", "--unit", "row", *ASK).status == 0
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        file = Path(name, "secret.csv")
        file.write_text("person,age\n1,41\n")
        file.chmod(0)
        refusal = f"{str(file)!r} cannot be read: check its path and permissions"
        with without_privileges(), pytest.raises(SourceError, match=re.escape(refusal)):
            Records.open(file, DatasetSettings("secret", unit="row"))


@pytest.mark.parametrize(
    "words",
    [
        ("--where", "age > 40"),
        ("--where", "age > 40", "--within", "20%"),
        ("--where", "age > 40", "--guess", "100"),
        (*ASK, *GOAL),
        (*ASK, "--within", "20%"),
    ],
)
def test_a_price_is_given_in_one_way(refused: Refused, words: tuple[str, ...]) -> None:
    """Neither or both of a price and a goal, or half a goal: the message gives the choice."""
    message = refused("count", "survey.parquet", *words)
    assert "--within" in message
    assert "give one price" in message or "needs either" in message or "belongs to" in message


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("count",), "SOURCE"),
        (("plan", "--guess", "100"), "--within"),
        (("refine", "95", "--rate", "2%", "--epsilon", "1"), "--size"),
        (("count", "survey.parquet", *ASK, "--colour"), "--colour"),
        (("count", "survey.parquet", "another.csv", *ASK), "another.csv"),
    ],
)
def test_missing_and_unknown_words_lead_to_the_help(refused: Refused, words: tuple[str, ...], named: str) -> None:
    """The message names the word, and the help of that very command."""
    message = refused(*words)
    assert named in message
    assert message.endswith(f"; see `noisycount {words[0]} --help`\n")


@pytest.mark.parametrize("rate", ["2", "-1%", "nan", "101%", ""])
def test_a_rate_that_is_no_share_is_refused(refused: Refused, rate: str) -> None:
    """A rate lies between 0 and 1."""
    message = refused("refine", "95", "--size", "5912", "--rate", rate, "--epsilon", "1")
    assert f"must lie between 0 and 1, such as 30%, got {rate!r}" in message


def test_a_spend_over_the_budget_is_refused(run: Run, refused: Refused, here: Path) -> None:
    """The message says what is left; what is left can still be spent, to the last digit."""
    configure(here, 'budget = "1/3"')
    assert run("count", "survey", "--where", "age > 40", "--epsilon", "0.3").status == 0
    message = refused("count", "survey", "--where", "age > 50", "--epsilon", "0.1")
    assert "epsilon 0.1 exceeds the 1/30 that is left of the budget 1/3 of 'survey'" in message
    last = run("count", "survey", "--where", "age > 50", "--epsilon", "1/30", "--json").object
    assert last["remaining"] == "0"


def test_a_unit_against_the_owners_is_refused(refused: Refused, here: Path) -> None:
    """An analyst cannot choose a finer privacy unit than the owner's."""
    configure(here, 'unit = "person"')
    message = refused("count", "survey", "--unit", "year", *ASK)
    assert "--unit 'year': data set 'survey' counts distinct 'person'" in message
    assert "leave --unit out" in message


@pytest.mark.parametrize("url", ["sqlite:///ledger.db", "sqlite:///file:ledger.db"])
def test_a_read_only_ledger_is_refused(run: Run, refused: Refused, here: Path, url: str) -> None:
    """Nothing is counted that cannot be charged; an old answer is still given."""
    configure(here)
    first = run("count", "survey", *ASK, "--json").object
    configure(here, ledger=f"{url}?mode=ro&uri=true")
    message = refused("count", "survey", "--where", "age > 50", "--epsilon", "0.5")
    assert re.search(r"ledger '.*ledger\.db' is read-only; make the file .* writable", message)
    again = run("count", "survey", *ASK, "--json").object
    assert (again["answer"], again["charged"]) == (first["answer"], "0")


def test_a_read_only_ledger_that_is_missing_is_not_made(refused: Refused, here: Path) -> None:
    """No second ledger with a fresh budget appears beside the one that was meant."""
    configure(here, ledger="sqlite:///ledger.db?mode=ro&uri=true")
    assert "cannot be opened; check that the file" in refused("count", "survey", *ASK)


def test_a_ledger_in_no_folder_is_refused(refused: Refused, here: Path) -> None:
    """A folder that is missing may be a disk that is not mounted: it is not made."""
    configure(here, ledger="sqlite:///disk/ledger.db")
    message = refused("count", "survey", *ASK)
    assert message == f"error: ledger folder '{here}/disk' does not exist; make it first\n"


@pytest.mark.thorough
@pytest.mark.parametrize("paid", [False, True])
def test_a_full_disk_refuses_before_it_counts(run: Run, here: Path, *, paid: bool) -> None:
    """If the ledger cannot grow, no answer is shown and nothing is charged."""
    configure(here)
    if paid:
        assert run("count", "survey", *ASK).status == 0
    before, entries = contents(here), run("ledger", "show", "--json").object
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "from noisycount.cli.main import main; main()"
    )
    words = [sys.executable, "-c", code, "count", "survey", "--where", "age > 50", "--epsilon", "1"]
    # Coverage could not write its own file and would say so.
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    told = subprocess.run(  # noqa: S603  (our own code)
        words, cwd=here, check=False, capture_output=True, text=True, env=quiet
    )
    assert (told.returncode, told.stdout) == (5, "")
    assert re.fullmatch(r"error: ledger '.*' (met a disk error|has no room).* ask again\n", told.stderr)
    assert contents(here) == before
    assert run("ledger", "show", "--json").object == entries


@pytest.mark.parametrize("text", ["[ledger", "colour = 1", '[datasets.survey]\nunit = "person"'])
def test_a_broken_configuration_is_refused(refused: Refused, here: Path, text: str) -> None:
    """The message names the file before anything else is looked at."""
    (here / "noisycount.toml").write_text(text)
    assert refused("count", "survey", *ASK).startswith(f"error: {here}/noisycount.toml")


def test_a_removed_folder_is_refused(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command in a removed folder is refused, as no configuration can be found."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    told = run("count", "survey", *ASK)
    assert (told.status, told.output) == (2, "")
    assert told.errors.startswith("error: the current folder was removed: change to another")
