"""Counts of persons by all of their records, over many pairs of neighbouring data sets."""

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
