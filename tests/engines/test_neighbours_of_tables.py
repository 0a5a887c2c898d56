"""Neighbours of several tables: what all rows of one person in all tables move, counted by the real source.

Tests of `engines/tables.py`, compared with `engines/memory.py`.
"""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from noisycount.query.grouping import CellQuestion, KeyQuestion
from tests.helpers.hospital import (
    CONFIGURATION,
    Hospital,
    counted_cells,
    open_source,
    random_hospital,
    random_questions,
    random_tables,
    true_cells,
    true_counts,
    write_parquet,
)

PERSONS = 6
OF_PATIENTS = CONFIGURATION.replace('unit = "patient"\n', 'unit = "patient"\npersons = "patients"\n')


def folder_of(folder: Path, name: str, hospital: Hospital, configuration: str) -> Path:
    """Write a hospital as Parquet files into a new folder, and return the path of its configuration."""
    (folder / name).mkdir()
    write_parquet(hospital, folder / name)
    path = folder / name / "noisycount.toml"
    path.write_text(configuration.replace(".csv", ".parquet"), encoding="utf-8")
    return path


def neighbours(seed: str) -> tuple[Hospital, Hospital]:
    """Return a hospital without one of its persons, and with this person."""
    hospital = random_hospital(seed, PERSONS)
    return hospital.without(f"p{Random(seed).randrange(PERSONS)}"), hospital  # noqa: S311 - repeatable


def configuration_of(index: int) -> tuple[str, str | None]:
    """Return a configuration and the table of persons who count: none in every second configuration."""
    return (OF_PATIENTS, "patients") if index % 2 else (CONFIGURATION, None)


@pytest.mark.thorough
@pytest.mark.parametrize("number", [4])
def test_one_person_moves_every_count_by_at_most_one(tmp_path: Path, number: int) -> None:
    """A person who joins all tables, with notes shared with another person, raises a count by one at most."""
    moved = set()
    for index in range(number):
        pair = neighbours(f"counts {index}")
        questions = list(random_questions(f"neighbours {index}", 20))
        configuration, persons = configuration_of(index)
        counts = []
        for name, hospital in zip(("without", "with"), pair, strict=True):
            with open_source(folder_of(tmp_path, f"{index} {name}", hospital, configuration)) as source:
                counts.append(source.count(questions))
            assert counts[-1] == true_counts(hospital, questions, persons)
        moves = {after - before for before, after in zip(*counts, strict=True)}
        assert moves <= {0, 1}
        moved |= moves
    assert moved == {0, 1}


@pytest.mark.thorough
@pytest.mark.parametrize("number", [4])
def test_one_person_moves_one_cell_of_a_table_by_values_of_persons(tmp_path: Path, number: int) -> None:
    """Each person stands in one cell at most, whatever the records are, and no contribution bound is needed."""
    moved = set()
    for index in range(number):
        tables = list(random_tables(f"persons {index}", 6, of_rows=False))
        for before, after in cells_of_neighbours(tmp_path, index, tables):
            moves = changes(before[0], after[0])
            assert sum(moves) <= 1
            moved |= {*moves}
    assert moved == {1}


@pytest.mark.thorough
@pytest.mark.parametrize("number", [4])
def test_one_person_moves_cells_of_rows_within_their_bound(tmp_path: Path, number: int) -> None:
    """A table by columns of rows moves by one in as many cells as its contribution bound allows."""
    most = 0
    for index in range(number):
        tables = list(random_tables(f"rows {index}", 6, of_rows=True))
        for table, (before, after) in zip(tables, cells_of_neighbours(tmp_path, index, tables), strict=True):
            moves = changes(before[0], after[0])
            assert {*moves} <= {1}
            if table.max_groups is not None:
                assert len(moves) <= table.max_groups
            most = max(most, len(moves))
    assert most > 1


def cells_of_neighbours(
    folder: Path, index: int, tables: Sequence[CellQuestion | KeyQuestion]
) -> list[tuple[list[dict[object, int]], list[dict[object, int]]]]:
    """Return the counts of each table without and with a person, which equal those of plain Python."""
    configuration, persons = configuration_of(index)
    results = []
    for name, hospital in zip(("without", "with"), neighbours(f"tables {index}"), strict=True):
        with open_source(folder_of(folder, f"{index} {name}", hospital, configuration)) as source:
            results.append([counted_cells(source, table) for table in tables])
        assert results[-1] == [true_cells(hospital, table, persons) for table in tables]
    return list(zip(*results, strict=True))


def changes(before: dict[object, int], after: dict[object, int]) -> list[int]:
    """Return the changes of the cells that change."""
    moves = (after.get(cell, 0) - before.get(cell, 0) for cell in {*before, *after})
    return [move for move in moves if move]
