"""A made-up hospital of five tables: patients, visits, diagnoses, drugs and labs, with look-ups and linked notes.

`write_hospital` writes files and a `noisycount.toml`. Rows are drawn from a seed: ties, missing values, repeated rows,
persons without visits, and persons who are in no table of patients.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from noisycount.catalog.catalog import Catalog
from noisycount.catalog.sources import LazySource
from noisycount.config.config import load_config
from noisycount.engines.conformance.predicates import PredicateMaker, person_value
from noisycount.engines.conformance.records import Draws, TableQuestion
from noisycount.engines.conformance.tables import TableMaker
from noisycount.engines.memory import cell_counts, key_counts
from noisycount.engines.truth import truth, with_person_values
from noisycount.frozen import frozen
from noisycount.query import predicate as tree
from noisycount.query.grouping import CellQuestion, KeyCounts
from noisycount.query.person_values import row_flag, row_table
from noisycount.query.predicate import column_of
from noisycount.query.schema import Kind, Schema, TableTraits
from noisycount.release.records import Records
from noisycount.tasks.opening import stated_settings

Row = dict[str, object]
COLUMNS: Mapping[str, Mapping[str, Kind]] = {
    "patients": {"sex": Kind.TEXT, "born": Kind.INTEGER, "smoker": Kind.BOOLEAN},
    "visits": {"visit_id": Kind.INTEGER, "ward_id": Kind.TEXT, "day": Kind.DATE, "cost": Kind.REAL},
    "diagnoses": {"code": Kind.TEXT, "day": Kind.DATE},
    "drugs": {"drug": Kind.TEXT, "day": Kind.DATE, "doses": Kind.INTEGER},
    "labs": {"test": Kind.TEXT, "value": Kind.REAL, "day": Kind.DATE},
    "notes": {"visit_id": Kind.INTEGER, "word": Kind.TEXT},
    "wards": {"ward_id": Kind.TEXT, "name": Kind.TEXT, "beds": Kind.INTEGER},
}
"""Columns of each table, without the unit."""
TRAITS = {
    "patients": TableTraits("patients", is_one_row_a_unit=True),
    **{name: TableTraits(name) for name in ("visits", "diagnoses", "drugs", "labs", "notes")},
    "wards": TableTraits("visits"),
}
SCHEMA = Schema(
    {f"{table}.{name}": kind for table, columns in COLUMNS.items() for name, kind in columns.items()},
    unit="patient",
    tables=TRAITS,
)
CONFIGURATION = """\
[datasets.clinic]
unit = "patient"
budget = "1000000"

[datasets.clinic.tables]
patients = { source = "patients.csv", one_row_a_unit = true }
visits = { source = "visits.csv" }
diagnoses = { source = "diagnoses.csv" }
drugs = { source = "drugs.csv" }
labs = { source = "labs.csv" }
notes = { source = "notes.csv", through = "visits.visit_id" }
wards = { source = "wards.csv", public = true, on = "visits.ward_id" }
"""
START = date(2025, 1, 1)


@frozen
class Hospital:
    """The rows of each table. Rows of persons have the column `patient`."""

    tables: Mapping[str, Sequence[Row]]

    def rows_of_persons(self, counted: str | None = None) -> dict[object, list[Row]]:
        """Return the rows of each person in all tables, with qualified names and a flag for each table.

        Args:
            counted: The table that has a row of every person who counts; None: all persons count.
        """
        persons: dict[object, list[Row]] = {}
        wards = {row["ward_id"]: row for row in self.tables["wards"]}
        owners: dict[object, dict[object, None]] = {}
        for name in ("patients", "visits", "diagnoses", "drugs", "labs"):
            for row in self.tables[name]:
                own = {f"{name}.{column}": row[column] for column in COLUMNS[name]}
                if name == "visits":
                    explained = wards.get(row["ward_id"], {})
                    own |= {f"wards.{column}": explained.get(column) for column in COLUMNS["wards"]}
                    if row["visit_id"] is not None:
                        owners.setdefault(row["visit_id"], {})[row["patient"]] = None
                persons.setdefault(row["patient"], []).append(full_row(name, own))
        for row in self.tables["notes"]:
            for patient in owners.get(row["visit_id"], {}):
                own = {f"notes.{column}": row[column] for column in COLUMNS["notes"]}
                persons[patient].append(full_row("notes", own))
        return {
            patient: rows for patient, rows in persons.items() if counted is None or any(row[counted] for row in rows)
        }

    def without(self, patient: object) -> "Hospital":
        """Return the hospital without the rows of a person."""
        return Hospital(
            {
                name: [row for row in rows if "patient" not in row or row["patient"] != patient]
                for name, rows in self.tables.items()
            }
        )


def full_row(table: str, own: Mapping[str, object]) -> Row:
    """Return a row of a table among the rows of all tables."""
    flags: Row = {name: name == table for name in TRAITS if name != "wards"}
    return {**dict.fromkeys(SCHEMA), **flags, **own}


def random_hospital(seed: object, persons: int = 30) -> Hospital:
    """Return a hospital of made-up persons."""
    draws = Random(str(seed))  # noqa: S311 - made-up records

    def day() -> date | None:
        return None if draws.random() < 0.1 else START + timedelta(draws.randrange(0, 400))

    def some(values: Sequence[object]) -> object:
        return None if draws.random() < 0.1 else draws.choice(values)

    names = [f"p{number}" for number in range(persons)]
    tables: dict[str, list[Row]] = {name: [] for name in COLUMNS}
    tables["wards"] = [
        {"ward_id": "W1", "name": "ICU", "beds": 12},
        {"ward_id": "W2", "name": "surgery", "beds": 40},
        {"ward_id": "W3", "name": None, "beds": None},
    ]
    for patient in names:
        for _ in range(draws.choice([0, 1, 1, 1, 1, 2])):
            row = {"sex": some(["F", "M"]), "born": some(range(1930, 2010)), "smoker": some([True, False])}
            tables["patients"].append({"patient": patient, **row})
        for _ in range(draws.randrange(0, 5)):
            visit = {"visit_id": some(range(4 * persons)), "ward_id": some(["W1", "W2", "W3", "W9"])}
            tables["visits"].append({"patient": patient, **visit, "day": day(), "cost": some([0.5, 100.0, 1e6, -3.25])})
        for _ in range(draws.randrange(0, 3)):
            tables["diagnoses"].append({"patient": patient, "code": some(["I21", "E11", "J45"]), "day": day()})
        for _ in range(draws.randrange(0, 3)):
            row = {"drug": some(["B01", "A10"]), "day": day(), "doses": some(range(1, 9))}
            tables["drugs"] += [{"patient": patient, **row}] * draws.choice([1, 1, 2])
        for _ in range(draws.randrange(0, 4)):
            row = {"test": some(["HbA1c", "CRP"]), "value": some([4.5, 6.5, 9.25]), "day": day()}
            tables["labs"].append({"patient": patient, **row})
    for _ in range(2 * persons):
        tables["notes"].append({"visit_id": some(range(4 * persons)), "word": some(["fall", "pain", "home"])})
    return Hospital(tables)


def write_hospital(hospital: Hospital, folder: Path, configuration: str = CONFIGURATION) -> Path:
    """Write the tables as CSV files, and a configuration beside them; return its path."""
    for name, rows in hospital.tables.items():
        unit = [] if name in {"notes", "wards"} else ["patient"]
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, [*unit, *COLUMNS[name]])
            writer.writeheader()
            writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
    path = folder / "noisycount.toml"
    path.write_text(configuration, encoding="utf-8")
    return path


def write_parquet(hospital: Hospital, folder: Path) -> None:
    """Write the tables as Parquet files, with the kinds of `COLUMNS` also where all values are missing."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {Kind.INTEGER: pa.int64(), Kind.REAL: pa.float64(), Kind.TEXT: pa.string()}
    types |= {Kind.BOOLEAN: pa.bool_(), Kind.DATE: pa.date32()}
    for name, rows in hospital.tables.items():
        unit = {} if name in {"notes", "wards"} else {"patient": Kind.TEXT}
        fields = pa.schema([(column, types[kind]) for column, kind in {**unit, **COLUMNS[name]}.items()])
        pq.write_table(pa.Table.from_pylist(rows, schema=fields), folder / f"{name}.parquet")


def _cell(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def open_source(configuration: Path, dataset: str = "clinic") -> LazySource:
    """Open the records of a data set of a configuration, as a desk counts them."""
    described = load_config(configuration).dataset(dataset)
    folder = configuration.with_name("ledger.db.data")
    return Records.open(described.source, stated_settings(described), Catalog(folder=folder))._source  # noqa: SLF001


def random_questions(seed: object, number: int) -> Iterator[tree.Predicate]:
    """Yield random questions about persons over the tables, with values of other tables inside conditions."""
    draws = Draws(str(seed))
    columns = row_columns()
    tables = [*columns]
    for _ in range(number):
        values = [value for _ in range(2) for value in random_values(draws, columns, draws.one_of(tables))]
        yield PredicateMaker(draws, values).predicate(draws.below(3), 6)


def row_columns() -> dict[str, list[tree.Column]]:
    """Return the columns of the rows of each table, with those of its look-ups."""
    columns = [column_of(SCHEMA, name) for name in SCHEMA]
    return {name: [column for column in columns if column.table == name] for name in TRAITS if name != "wards"}


def random_tables(seed: object, number: int, *, of_rows: bool) -> Iterator[TableQuestion]:
    """Yield random tables, every second one with a condition of persons.

    Args:
        seed: Another seed gives other tables.
        number: The number of tables.
        of_rows: True for tables by columns of the rows of one table, and by values of persons beside them; False for
            tables by values of persons alone.
    """
    draws = Draws(str(seed))
    columns = row_columns()
    for where in random_questions(f"where of {seed}", number):
        table = draws.one_of([*columns])
        values = random_values(draws, columns, draws.one_of([*columns]))
        maker = TableMaker(draws, [*columns[table], *values] if of_rows else values)
        condition = where if draws.is_one_in(2) else None
        yield maker.keys(condition) if draws.is_one_in(3) else maker.cells(condition)


def random_values(
    draws: Draws, columns: Mapping[str, Sequence[tree.Column]], table: str, depth: int = 1
) -> list[tree.Column]:
    """Draw values of a person from the rows of a table; their conditions may use values from another table."""
    inner = random_values(draws, columns, draws.one_of([*columns]), depth - 1) if depth and draws.is_one_in(2) else []
    maker = PredicateMaker(draws, [*columns[table], *inner])
    return [person_value(columns[table], maker, table) for _ in range(2)]


def true_counts(hospital: Hospital, predicates: Sequence[tree.Predicate], persons: str | None = None) -> list[int]:
    """Return the number of persons with a row for which each predicate is true, found one by one.

    Args:
        hospital: The tables.
        predicates: The predicates.
        persons: The table that has a row of every person who counts; None: all persons count.
    """
    counts = [0] * len(predicates)
    for rows in hospital.rows_of_persons(persons).values():
        for place, predicate in enumerate(predicates):
            table = row_table((), [predicate])
            extended = with_person_values(rows, (), [predicate])
            counts[place] += any(truth(predicate, row) for row in extended if table is None or row[table])
    return counts


def true_cells(hospital: Hospital, question: TableQuestion, persons: str | None = None) -> list[dict[object, int]]:
    """Return the true counts of each level of a table, or of each hidden key, found one by one."""
    parts = question.keys.parts if isinstance(question, CellQuestion) else question.parts
    table = row_table([part.column for part in parts], [question.where])
    conditions = [*([] if table is None else [tree.Flag(row_flag(table))]), *filter(None, [question.where])]
    restricted = replace(question, where=tree.joined(tree.And, conditions) if conditions else None)
    rows = [
        {"patient": patient, **row}
        for patient, of_person in hospital.rows_of_persons(persons).items()
        for row in of_person
    ]
    if isinstance(restricted, CellQuestion):
        return [cells_of_level(level) for level in cell_counts(rows, "patient", restricted)]
    return [keys_of_batches(key_counts(rows, "patient", restricted))]


def counted_cells(source: LazySource, question: TableQuestion) -> list[dict[object, int]]:
    """Return the counts of each level of a table, or of each hidden key, as a source gives them."""
    if isinstance(question, CellQuestion):
        return [cells_of_level(level) for level in source.count_cells(question)]
    return [keys_of_batches(source.count_keys(question))]


def cells_of_level(counts: NDArray[np.int64]) -> dict[object, int]:
    """Return the counts of a level that are above 0, by their places."""
    return {place: int(count) for place, count in enumerate(counts) if count}


def keys_of_batches(batches: Iterable[KeyCounts]) -> dict[object, int]:
    """Return the counts of hidden keys, by their keys."""
    return {
        keys: int(count) for batch in batches for keys, count in zip(batch.keys, batch.counts, strict=True) if count
    }
