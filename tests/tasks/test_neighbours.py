"""Which records count depends on no record: one more leaves the counts of all others as they are.

With ε = 40 an answer has noise once in 1e17, so that a table tells in which groups persons stay.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import noisycount as nc
from noisycount.config.config import Config, DatasetConfig
from noisycount.config.places import sqlite_url
from noisycount.ledger.budget import budget_from
from tests.helpers.commands import Run
from tests.helpers.postgresql import Server
from tests.helpers.service_callers import OWNER, calling, serving
from tests.helpers.sources import database

EXACTLY = "40"
BUDGET = 'budget = { epsilon = "1000", delta = "1e-3" }'
SPENDABLE = {"epsilon": "1000", "delta": "1e-3"}
TOWNS = ("Bern", "Biel", "Chur", "Genf", "Zug")
EVERYBODY = pl.DataFrame({"person": [n for n in range(400) for _ in TOWNS], "town": list(TOWNS) * 400})
ONE_MORE = pl.concat([EVERYBODY, pl.DataFrame({"person": [400], "town": ["Bern"]})])
LISTED = {"keys": {"town": list(TOWNS)}}
HIDDEN: dict[str, Any] = {"delta": "1e-6"}

Tables = list[dict[str, int]]
Door = Callable[[pl.DataFrame, Path, Path], Tables]


def asked(source: object, ledger: Path, name: str | None = None, unit: str = "person") -> Tables:
    """The tables of a source that is opened from Python, of listed and of hidden keys."""
    with nc.open_desk(source, unit=unit, budget=SPENDABLE, ledger=ledger, name=name) as desk:
        told = [desk.release_table("town", epsilon=EXACTLY, groups_per_unit=1, **keys) for keys in (LISTED, HIDDEN)]
    return [{str(row.labels[0]): row.answer for row in table.rows} for table in told]


def of_file(ending: str, name: str | None = None) -> Door:
    """A file by its path, or with a name."""
    write = {"csv": pl.DataFrame.write_csv, "jsonl": pl.DataFrame.write_ndjson, "parquet": pl.DataFrame.write_parquet}

    def tables(frame: pl.DataFrame, folder: Path, ledger: Path) -> Tables:
        write[ending](frame, folder / f"records.{ending}")
        return asked(folder / f"records.{ending}", ledger, name)

    return tables


def of_database(frame: pl.DataFrame, folder: Path, ledger: Path) -> Tables:
    """A table of a DuckDB file."""
    frame.write_parquet(folder / "records.parquet")
    with database(folder / "records.duckdb") as connection:
        connection.execute(f"CREATE TABLE stays AS FROM '{folder / 'records.parquet'}'")
    return asked(folder / "records.duckdb", ledger)


def of_service(frame: pl.DataFrame, folder: Path, ledger: Path) -> Tables:
    """A data set of the service."""
    frame.write_csv(folder / "records.csv")
    paid = budget_from(SPENDABLE)
    dataset = DatasetConfig("stay", folder / "records.csv", unit="person", budget=paid)
    body = {"by": "town", "epsilon": EXACTLY, "groups_per_unit": 1}
    with serving(Config(None, sqlite_url(ledger), {"stay": dataset})) as state:
        caller = calling(state, OWNER)
        told = [
            caller.ask({**body, **keys}, f"{folder.name}-{number}").json()
            for number, keys in enumerate((LISTED, HIDDEN))
        ]
    return [of_rows(each["rows"]) for each in told]


def parts(frame: pl.DataFrame, folder: Path) -> Path:
    """A folder that holds the records in two files."""
    (folder / "parts").mkdir()
    for number, part in enumerate((frame[:700], frame[700:])):
        part.write_parquet(folder / "parts" / f"{number}.parquet")
    return folder / "parts"


def of_rows(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """The counts of the rows of a table in JSON."""
    return {row["keys"]["town"]: row["answer"] for row in rows}


def require_one_more(before: Tables, after: Tables) -> None:
    """Check that only the count of the additional person's group changed, by 1."""
    for one, other in zip(before, after, strict=True):
        assert sum(one.values()) == 400, "each person is left in one group"
        assert Counter(other) - Counter(one) == {"Bern": 1}
        assert sum(other.values()) == 401


DOORS: dict[str, Door] = {
    "unnamed frame": lambda frame, _, ledger: asked(frame, ledger),
    "frame of pandas": lambda frame, _, ledger: asked(frame.to_pandas(), ledger),
    "named frame": lambda frame, _, ledger: asked(frame, ledger, "survey"),
    "texts": of_file("csv"),
    "named file": of_file("csv", "survey"),
    "lines of JSON": of_file("jsonl"),
    "file that states its types": of_file("parquet"),
    "folder": lambda frame, folder, ledger: asked(parts(frame, folder), ledger),
    "pattern": lambda frame, folder, ledger: asked(parts(frame, folder) / "*.parquet", ledger),
    "table of DuckDB": of_database,
    "service": of_service,
}


@pytest.mark.thorough
@pytest.mark.always
@pytest.mark.parametrize("is_shared", [True, False], ids=["one ledger", "two ledgers"])
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_one_record_more_moves_no_other_count(
    tmp_path: Path,
    door: Door,
    is_shared: bool,  # noqa: FBT001 - a case
) -> None:
    """Whatever the source, its name and its ledger are; a file of other content is elsewhere."""
    told = []
    for frame, name in ((EVERYBODY, "before"), (ONE_MORE, "after")):
        folder = tmp_path / name
        folder.mkdir()
        told.append(door(frame, folder, (tmp_path if is_shared else folder) / "ledger.db"))
    require_one_more(*told)


def told_by(run: Run, source: str, price: str, *words: str) -> dict[str, int]:
    """The counts that `count --by` tells."""
    asked = ("--unit", "person", "--by", "town", "--keys", "town=" + ",".join(TOWNS))
    limit = ("--groups-per-unit", "1", "--epsilon", price)
    return of_rows(run("count", source, *asked, *limit, *words, "--json").object["rows"])


def test_one_record_more_moves_no_other_count_of_the_command(run: Run, here: Path) -> None:
    """`count --by` of a configured file, which is another file afterwards."""
    text = f'[datasets.stay]\nsource = "records.csv"\nunit = "person"\n{BUDGET}\n'
    (here / "noisycount.toml").write_text(text, encoding="utf-8")
    told = []
    for frame in (EVERYBODY, ONE_MORE):
        frame.write_csv(here / "records.csv")
        told.append(told_by(run, "stay", EXACTLY))
    require_one_more(*([each] for each in told))


def test_one_record_more_moves_no_other_count_of_a_path(run: Run, here: Path) -> None:
    """A file without a configuration keeps each person in the same group if a person is added.

    If everybody's group were drawn anew, each count would move by about 80; two noises of scale 1/2
    are 11 apart once in 1e8.
    """
    many = pl.concat([EVERYBODY.with_columns(pl.col("person") + 400 * n) for n in range(50)])
    one_more = pl.concat([many, pl.DataFrame({"person": [20_000], "town": ["Bern"]})])
    told = []
    for number, frame in enumerate((many, one_more)):
        frame.write_csv(here / f"records-{number}.csv")
        told.append(told_by(run, f"records-{number}.csv", "2"))
    assert max(abs(told[1][town] - told[0][town]) for town in TOWNS) <= 11 + 1


def test_one_record_more_moves_no_other_count_of_a_copy(tmp_path: Path) -> None:
    """A copy of a named file is known by its content, and one more record makes it another."""
    folders = [tmp_path / name for name in ("named", "copy", "another")]
    for folder in folders:
        folder.mkdir()
    ledger = tmp_path / "ledger.db"
    before = DOORS["named file"](EVERYBODY, folders[0], ledger)
    with nc.open_desk(folders[0] / "records.csv", unit=None, ledger=ledger) as desk:
        assert desk.dataset.name == "survey"
    assert DOORS["texts"](EVERYBODY, folders[1], ledger) == before
    require_one_more(before, DOORS["texts"](ONE_MORE, folders[2], ledger))


def test_one_record_more_moves_no_other_count_of_a_server(tmp_path: Path, postgresql: Server) -> None:
    """A table by its address, before and after, and another table of the same records."""
    told = []
    with postgresql.shell("postgres") as shell:
        for number, frame in enumerate((EVERYBODY, ONE_MORE)):
            table = f"neighbours_{number}"
            shell.execute(f"CREATE TABLE {table} (person bigint, town text)".encode())
            with shell.cursor() as cursor:
                cursor.executemany(f"INSERT INTO {table} VALUES (%s, %s)".encode(), frame.rows())  # noqa: S608 - constants
            address = f"{postgresql.url('postgres')}#{table}"
            told.append(asked(address, tmp_path / f"{number}.db"))
    require_one_more(*told)
