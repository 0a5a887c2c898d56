"""Counts of persons by all of their records, over many pairs of neighbouring data sets."""

from pathlib import Path

from tests.engines.test_neighbours_of_tables import (
    test_one_person_moves_cells_of_rows_within_their_bound as require_bounded_cells,
)
from tests.engines.test_neighbours_of_tables import (
    test_one_person_moves_every_count_by_at_most_one as require_counts_of_tables,
)
from tests.engines.test_neighbours_of_tables import (
    test_one_person_moves_one_cell_of_a_table_by_values_of_persons as require_one_cell,
)
from tests.engines.test_person_values import (
    test_one_person_moves_every_count_by_at_most_one,
    test_one_person_moves_one_cell_of_a_table_of_values_of_persons,
)


def test_one_person_moves_six_thousand_counts_by_at_most_one() -> None:
    """No count of 20 questions about each of 300 random data sets moves by more than one."""
    test_one_person_moves_every_count_by_at_most_one(300)


def test_one_person_moves_one_cell_of_three_hundred_tables() -> None:
    """No table of values of persons moves by more than one cell."""
    test_one_person_moves_one_cell_of_a_table_of_values_of_persons(300)


def test_one_person_moves_six_thousand_counts_of_several_tables_by_at_most_one(tmp_path: Path) -> None:
    """No count of 20 questions about each of 300 random hospitals moves by more than one."""
    require_counts_of_tables(tmp_path, 300)


def test_one_person_moves_one_cell_of_hospitals(tmp_path: Path) -> None:
    """No table of values of persons over several tables moves by more than one cell."""
    require_one_cell(tmp_path, 100)


def test_one_person_moves_cells_of_hospitals_within_their_bound(tmp_path: Path) -> None:
    """No table by columns of rows moves by more cells than its contribution bound."""
    require_bounded_cells(tmp_path, 100)
