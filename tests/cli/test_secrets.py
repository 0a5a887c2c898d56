import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.helpers.commands import Run, configure

CANARY = "canary-7c1"
RECORDS = f"""person,age,joined,note
{CANARY}-1,41,2020-01-31,{CANARY}
{CANARY}-2,{CANARY},{CANARY},"{CANARY}, quoted"
{CANARY}-3,40,2021-02-28,
"""


def everything(run: Run, *words: str) -> str:
    """Run a command, and return its output and its errors."""
    told = run(*words)
    return told.output + told.errors


@pytest.mark.parametrize(
    "where",
    [
        *("age > 40", "age = 'x'", "joined > '2020-01-01'", "joined = 3", "note like 'x%'"),
        *("note = 'x'", "note is null", "person = 'x'", "nothing = 1", "not true", "note"),
        *("note > joined", "age + 1 > 2", "cast(note as int) = 1", "note = 'x", "true"),
    ],
)
@pytest.mark.parametrize("options", [(), ("--unit", "row", "--json"), ("--unit", "person"), ("--unit", "note")])
def test_no_cell_is_ever_shown(run: Run, here: Path, where: str, options: tuple[str, ...]) -> None:
    """Whatever is asked of columns that fail to parse, no answer or refusal quotes a cell."""
    (here / "records.csv").write_text(RECORDS)
    words = ("count", "records.csv", "--where", where, "--epsilon", "0.5", *options)
    assert CANARY not in everything(run, *words)
    assert CANARY not in everything(run, "ledger", "show", "--json")


@pytest.mark.parametrize(
    "records",
    [
        RECORDS + f"{CANARY}\n",
        RECORDS + f'"{CANARY}\n',
        RECORDS + f"4,1,2,3,{CANARY}\n",
        RECORDS.replace("person,", f"{CANARY},{CANARY},", 1),
        f"{CANARY}\0{CANARY}",
    ],
)
@pytest.mark.parametrize("name", ["records.csv", "records.parquet", "records.duckdb"])
def test_no_broken_file_is_quoted(run: Run, here: Path, records: str, name: str) -> None:
    """A file that cannot be read is refused by its name alone."""
    (here / name).write_text(records)
    told = run("count", name, "--unit", "row", "--where", "age > 40", "--epsilon", "0.5")
    assert (told.status, told.output) == (4, "")
    assert CANARY not in told.errors
    assert told.errors.count("\n") == 1


def test_what_the_asker_typed_is_shown(run: Run, here: Path) -> None:
    """A canary in the question comes back, so the search for it can fail."""
    (here / "records.csv").write_text(RECORDS)
    words = ("--unit", "row", "--where", f"note = '{CANARY}'", "--epsilon", "0.5")
    assert CANARY in everything(run, "count", "records.csv", *words)


def test_the_true_count_is_never_shown(run: Run, here: Path, tmp_path: Path) -> None:
    """With noise of scale 1e9 nothing says 92; by chance the answer does, once in 1e9 runs."""
    configure(here, 'unit = "person"\nbudget = "0.0000000015"')
    words = ("count", "survey", "--where", "health = 'poor'", "--epsilon")
    said = [
        everything(run, *words, "1e-9", "--json"),
        everything(run, *words, "1e-9"),
        everything(run, *words, "0.000000001", "--confidence", "50%"),
        everything(run, *words, "1e-9", "--unit", "year"),
        everything(run, *words, "1"),
        everything(run, "ledger", "show"),
        everything(run, "ledger", "show", "--json"),
    ]
    plain = "\n".join(said).replace(str(tmp_path), "").replace(",", "")
    assert "ε = 0.000000001" in plain
    assert not re.search(r"(?<![\w.])92(?![\w.])", plain)


STEERING = "\x1b[2J\x1b]0;title\x07\x9b31m\r\n\u202e\u2028\x7f"


@pytest.mark.parametrize("words", [(), ("--json",)], ids=["words", "json"])
def test_no_question_steers_the_terminal_of_who_reads_it(run: Run, words: tuple[str, ...]) -> None:
    """An analyst's text could else clear an owner's screen, or hide a row of the ledger."""
    where = f"health = '{STEERING}'"
    count = ("count", "survey.parquet", "--unit", "row", "--where", where, "--epsilon", "0.5", *words)
    for told in (run(*count), run(*count), run("ledger", "show", *words)):
        assert told.status == 0
        assert "[2J" in told.output
        assert all(each.isprintable() or each == "\n" for each in told.output)
        assert not words or where in list(texts_in(json.loads(told.output)))


def texts_in(value: object) -> Iterator[str]:
    """Yield every text of a JSON value, also texts inside a text that is JSON itself."""
    if isinstance(value, str):
        yield value
        with suppress(ValueError):
            yield from texts_in({} if value.isdecimal() else json.loads(value))
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts_in(part)


def test_no_refusal_steers_the_terminal(run: Run) -> None:
    """Neither the name of a file nor a column that is no column."""
    for told in (
        run("count", f"missing{STEERING}.csv", "--where", "true", "--epsilon", "1"),
        run("count", "survey.parquet", "--unit", "row", "--where", f'"{STEERING}" = 1', "--epsilon", "1"),
        run("count", "survey.parquet", "--where", "true", "--epsilon", STEERING),
        run("count", "survey.parquet", "--where", "true", "--epsilon", "1", f"--{STEERING}"),
        run(STEERING),
    ):
        assert told.status == 2
        assert all(each.isprintable() for each in told.errors.removesuffix("\n"))
