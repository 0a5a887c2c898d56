"""Messy CSV files of each kind of a public benchmark: with every proposal taken each is read rightly, or refused."""

from pathlib import Path

import pytest

from tests.helpers.messy_files import KINDS, MessyFile, messy_files, read_messy_file, written

FILES = list(messy_files())
FIRST = {each.kind: each for each in reversed(FILES)}
_MOST = 40  # rows that a file of our own has


def read(folder: Path, each: MessyFile) -> None:
    """Write a file of a kind and of a width, and compare how it is read with what is right."""
    rows = 9 if each.rows is None else min(each.rows, _MOST)
    columns = each.columns or 5
    path = folder / "messy.csv"
    path.write_text(written(each.kind, rows, columns, each.delimiter), encoding="utf-8")
    reading = read_messy_file(path)
    expected = (None, None) if each.rows is None else (rows, columns)
    assert (reading.rows, reading.columns) == expected


@pytest.mark.thorough
@pytest.mark.always
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_each_kind_is_read_rightly(tmp_path: Path, kind: str) -> None:
    """Its records and columns are those that were written, and no other row is counted."""
    read(tmp_path, FIRST[kind])


@pytest.mark.thorough
@pytest.mark.parametrize("each", FILES, ids=lambda each: each.file.replace(" ", "-"))
def test_a_file_like_each_of_the_benchmark_is_read_rightly(tmp_path: Path, each: MessyFile) -> None:
    """As wide as it, between the same delimiters."""
    read(tmp_path, each)


def test_few_files_are_refused() -> None:
    """Of 97 at most ten; today three."""
    assert len(FILES) == 97
    assert sum(each.rows is None for each in FILES) == 3
