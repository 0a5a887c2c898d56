"""Every key of a data set is obeyed, or refused, for every kind of source: none is accepted and then ignored."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyreadstat
import pytest

from noisycount.catalog.catalog import Catalog
from noisycount.config.config import DATASET_KEYS, load_config
from noisycount.config.places import SERVER_KEYS
from noisycount.config.tables import GROUP_KEYS
from noisycount.config.toml_table import FILE_KEYS
from noisycount.errors import ConfigError, SourceError
from noisycount.tasks.opening import records_of
from tests.helpers.reference_pages import rows, section
from tests.helpers.sources import database
from tests.helpers.workbooks import write_workbook

COLUMNS = {
    "who": ["a", "b", "b "],
    "n": [1, 2, 3],
    "r": [0.5, 1.5, 2.5],
    "t": ["x", "y", "x "],
    "d": ["2026-01-01", "2026-01-02", "2026-01-03"],
    "b": ["true", "false", "true"],
}
OTHER = {name: values[:1] for name, values in COLUMNS.items()}  # the second table of a source that has two
TEXTS = ("csv", "tsv", "jsonl", "xlsx", "sqlite", "sav", "dta", "xpt")  # they are read as texts
TYPED = ("parquet", "folder", "duckdb")  # they state the types of their columns
DATABASES = ("sqlite", "duckdb")
# The lines of `noisycount.toml` of each key, and the sources that obey it; all others must refuse it.
OF_RECORDS = {
    "unit": ('unit = "who"', (*TEXTS, *TYPED)),
    "columns": ('columns = ["n"]', (*TEXTS, *TYPED)),
    "values": ('values = { n = "0 to 9" }', (*TEXTS, *TYPED)),
    "kinds": ('kinds = { n = "text" }', TEXTS),
    "table": ('table = "u"', ("xlsx", *DATABASES)),
    "encoding": ('encoding = "cp1252"', ("csv", "tsv", "sav", "dta", "xpt")),
    "delimiter": ('delimiter = "|"', ("csv", "tsv")),
    "skip": ("skip = 1", ("csv", "tsv", "xlsx")),
    # of a table they say nothing, and of a view what `tests/engines/views` tests
    "public_tables": ('public_tables = ["u"]', DATABASES),
    "vouched": ('vouched = "one row a person"', DATABASES),
    **dict.fromkeys(SERVER_KEYS, ("", ())),
}
OF_SERVERS = {"timeout": "timeout = 60", "indexes": "indexes = true", "edition": 'edition = "2026"'}
OF_THE_LEDGER = {"source", "size", "budget", "why", "account", "purpose"}  # they do not depend on the source
UNSEEN = {"public_tables", "vouched"}
KINDS = {  # of each part: the column of the example, with the kind that it belongs to
    "kind": 'r = { kind = "text" }',
    "decimal": 'r = { kind = "real", decimal = "," }',
    "thousands": 'r = { kind = "real", thousands = "\'" }',
    "symbols": 'r = { kind = "real", symbols = ["€"] }',
    "brackets": 'r = { kind = "real", brackets = true }',
    "minus_behind": 'r = { kind = "real", minus_behind = true }',
    "nan": 'r = { kind = "real", nan = "missing" }',
    "date_format": 'd = { kind = "date", date_format = "%d.%m.%Y" }',
    "true": 'b = { kind = "boolean", true = ["ja"], false = ["nein"] }',
    "false": 'b = { kind = "boolean", true = ["ja"], false = ["nein"] }',
    "missing": 't = { kind = "text", missing = ["x"] }',
    "trim": 't = { kind = "text", trim = true }',
    "normalise": 't = { kind = "text", normalise = "NFC" }',
    "codes": 'r = { kind = "integer", codes = true }',  # which only columns with labels have
    "unreadable": 't = { kind = "integer", unreadable = "missing" }',
}
OF_THE_UNIT = {  # of which the unit takes these
    "kind": 'who = "integer"',
    "missing": 'who = { kind = "text", missing = ["a"] }',
    "trim": 'who = { kind = "text", trim = true }',
    "normalise": 'who = { kind = "text", normalise = "NFC" }',
    "fold_case": 'who = { kind = "text", fold_case = true }',
    "drop_zeros": 'who = { kind = "text", drop_zeros = true }',
    "drop_marks": 'who = { kind = "text", drop_marks = true }',
    "drop_missing": 'who = { kind = "text", drop_missing = true }',
    "unreadable": 'who = { kind = "integer", unreadable = "missing" }',
}


def write(folder: Path, ending: str) -> str:
    """Write the records as a source of a kind; return its path as a configuration names it."""
    path, frame = folder / f"a.{ending}", pl.DataFrame(COLUMNS)
    match ending:
        case "csv" | "tsv":
            frame.write_csv(path, separator="," if ending == "csv" else "\t")
        case "jsonl":
            frame.write_ndjson(path)
        case "xlsx":
            write_workbook(
                path, {name: [tuple(each), *zip(*each.values(), strict=True)] for name, each in TABLES.items()}
            )
        case "sqlite":
            with closing(sqlite3.connect(path)) as made, made:
                for name, each in TABLES.items():
                    pd.DataFrame(each).to_sql(name, made, index=False)
        case "duckdb":
            with database(path) as made:
                for name, each in TABLES.items():
                    made.from_arrow(pl.DataFrame(each).to_arrow()).create(name)
        case "parquet":
            frame.write_parquet(path)
        case "folder":
            path.mkdir()
            frame.write_parquet(path / "a.parquet")
        case _:
            written = {"sav": "write_sav", "dta": "write_dta", "xpt": "write_xport"}[ending]
            getattr(pyreadstat, written)(pd.DataFrame(COLUMNS), str(path))
    return path.name


TABLES = {"t": COLUMNS, "u": OTHER}


def reading(folder: Path, source: str, *lines: str) -> str | None:
    """Return what is read of a data set that is stated so, without the content of its file; None if it is refused."""
    stated = {line.split(" = ")[0] for line in lines}
    usual = {"unit": 'unit = "row"', "table": 'table = "t"'}
    if Path(source).suffix not in {".xlsx", ".sqlite", ".duckdb"}:
        del usual["table"]
    lines = (*lines, *(line for key, line in usual.items() if key not in stated))
    place = folder / "noisycount.toml"
    place.write_text(f'[datasets.d]\nsource = "{source}"\n' + "\n".join(lines), encoding="utf-8")
    try:
        with records_of(load_config(place).datasets["d"], Catalog()) as records:
            record = json.loads(records._source.record.text)  # noqa: SLF001 - as the ledger keeps it
            schema, check = records.schema, records.check()
    except (ConfigError, SourceError):
        return None
    public = {name: values.words for name, values in schema.public.items()}
    missing = [(each.name, each.missing) for each in check.columns]
    return repr((record, [*schema], public, check.rows, check.units, missing))


@pytest.fixture(params=[*TEXTS, *TYPED], scope="module")
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A folder, the kind of a source in it, and how a configuration names it."""
    folder = tmp_path_factory.mktemp(request.param)
    return folder, request.param, write(folder, request.param)


def examples(table: str, known: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The keys that these tests do not know yet, with the example of the page of the configuration."""
    for example, *_ in rows(section("configuration.md", table), "line", "default", "meaning"):
        key = example.split(" = ")[0].partition(".")[0]
        if key not in known:
            yield key, example


@pytest.mark.thorough
@pytest.mark.always
def test_keys_of_a_data_set(written: tuple[Path, str, str]) -> None:
    """Each key changes what is read, or is refused."""
    folder, ending, source = written
    plain = reading(folder, source)
    assert plain is not None
    for key, (line, obeying) in OF_RECORDS.items():
        found = reading(folder, source, OF_SERVERS.get(key, line))
        assert (found is not None) is (ending in obeying), key
        assert key in UNSEEN or found != plain, key
    for key, line in examples("datasets.NAME", OF_RECORDS | dict.fromkeys(OF_THE_LEDGER)):
        assert reading(folder, source, line) != plain, key


@pytest.mark.thorough
@pytest.mark.always
def test_parts_of_kinds(written: tuple[Path, str, str]) -> None:
    """Each part changes what is read of its column and of the unit, or is refused."""
    folder, ending, source = written
    if ending in {"dta", "xpt"}:
        return  # they are read as an SPSS file is, each in a process of its own
    for kinds, unit in ((KINDS, "row"), (OF_THE_UNIT, "who")):
        plain = reading(folder, source, f'unit = "{unit}"')
        assert plain is not None
        for part, line in kinds.items():
            found = reading(folder, source, f"kinds = {{ {line} }}", f'unit = "{unit}"')
            assert found != plain, (unit, part)
            is_obeyed = ending in TEXTS or part == "nan" or (unit == "who" and part not in {"kind", "unreadable"})
            assert found is None or is_obeyed, (unit, part)
    for part, line in KINDS.items() if ending in {"csv", "parquet"} else ():
        name = line.partition(" ")[0]
        assert reading(folder, source, f"kinds = {{ {line} }}", f'unit = "{name}"') is None or part in OF_THE_UNIT


def test_every_key_is_tested() -> None:
    """The keys of the loader are those of these tests or of `test_tables.py`, or have an example on the page."""
    tested = {*OF_RECORDS, *OF_THE_LEDGER, *(key for key, _ in examples("datasets.NAME", {}))}
    assert {*DATASET_KEYS} <= tested | {*GROUP_KEYS}
    assert {*KINDS, *OF_THE_UNIT, *(key for key, _ in examples("kinds", {}))} == {*KINDS, *OF_THE_UNIT}


SERVERS = {
    "postgresql": "postgresql://host/clinic#visits",
    "mysql": "mysql://host/clinic#visits",
    "spark": "spark://local#/visits",
    "lake": "s3://bucket/visits/*.parquet",
}
NOT_OF_SERVERS = {
    "postgresql": {"table", "kinds", *FILE_KEYS},
    "mysql": {"table", "kinds", "public_tables", *FILE_KEYS},
    "spark": {"table", "kinds", "public_tables", *FILE_KEYS},
    "lake": {"table", "kinds", "public_tables", "vouched", "indexes", *FILE_KEYS},
}


@pytest.mark.parametrize("engine", SERVERS)
def test_keys_of_a_server_or_an_object_store(engine: str, tmp_path: Path) -> None:
    """A key without effect on a server is refused as the configuration is loaded."""
    place = tmp_path / "noisycount.toml"
    lines = {key: OF_SERVERS.get(key, line) for key, (line, _) in OF_RECORDS.items()}
    lines |= dict(examples("datasets.NAME", lines | dict.fromkeys([*OF_THE_LEDGER, *GROUP_KEYS])))
    for key, line in lines.items():
        place.write_text(f'[datasets.d]\nsource = "{SERVERS[engine]}"\n{line}\n', encoding="utf-8")
        if key in NOT_OF_SERVERS[engine]:
            with pytest.raises(ConfigError, match=key):
                load_config(place)
        else:
            assert load_config(place).datasets


def test_the_encoding_of_a_portable_file_is_refused(tmp_path: Path) -> None:
    """SPSS states it in the file, and its reader takes no other."""
    pyreadstat.write_por(pd.DataFrame(COLUMNS), str(tmp_path / "a.por"))
    assert reading(tmp_path, "a.por") is not None
    assert reading(tmp_path, "a.por", 'encoding = "cp1252"') is None
