"""Copies, certificates and backups of a data set of several tables (`copies`, `doctor`, `ledger backup`)."""

from pathlib import Path

import pytest

from tests.helpers.commands import Run
from tests.helpers.hospital import COLUMNS, random_hospital, write_hospital

pytestmark = pytest.mark.thorough  # each table is read


def test_copies_of_all_tables_are_listed_and_removed(here: Path, run: Run) -> None:
    """The copies of all tables belong to their data set, are removed together, and are made again."""
    write_hospital(random_hospital(1), here)
    assert run("check", "clinic").status == 0
    owners = ["clinic"] * len(COLUMNS)
    assert [copy["dataset"] for copy in run("copies", "clinic", "--json").object["copies"]] == owners
    assert [copy["dataset"] for copy in run("copies", "--json").object["copies"]] == owners
    assert run("copies", "clinic", "--remove", "--json").object["removed"] == len(owners)
    assert run("copies", "--json").object["copies"] == []
    question = ("any(visits.ward_id = 'W1')", "--epsilon", "1")
    assert run("count", "clinic", "--where", *question).status == 0
    assert [copy["dataset"] for copy in run("copies", "--json").object["copies"]] == owners


def test_ledger_of_several_tables_is_reported_and_backed_up(here: Path, run: Run) -> None:
    """The report and the backup have the answers of such a data set."""
    write_hospital(random_hospital(1), here)
    assert run("count", "clinic", "--where", "any(visits.ward_id = 'W1')", "--epsilon", "1").status == 0
    assert "any(visits.ward" in run("ledger", "report").output
    assert run("ledger", "backup", "copy").status == 0
    assert run("ledger", "verify").status == 0
    assert (here / "copy" / "ledger.db").is_file()
