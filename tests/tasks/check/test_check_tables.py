"""Checks of a data set of several tables: persons, links, and each table.

Tests of `tasks/check.py` and `tasks/check_display.py`.
"""

from pathlib import Path

import pytest

from noisycount.config.config import load_config
from noisycount.engines.table_checks import TablesCheck
from noisycount.tasks.check import GroupInspection, examine_tables
from noisycount.tasks.findings import joint_findings
from noisycount.tasks.opening import existing_ledger
from tests.engines.test_several_tables import clustered_hospital, served_hospital
from tests.helpers.commands import Run
from tests.helpers.hospital import CONFIGURATION, Hospital, random_hospital, write_hospital
from tests.helpers.postgresql import Server

pytestmark = pytest.mark.thorough  # seconds, as each check reads seven tables, and Spark plans each statement anew


def examined(configuration: Path, *, renews: bool = False) -> GroupInspection:
    """Return the check of the hospital."""
    config = load_config(configuration)
    return examine_tables(config.dataset("clinic"), config, renews=renews)


def written(configuration: Path) -> str | None:
    """Return the description of the hospital in the ledger."""
    with existing_ledger(load_config(configuration)) as ledger:
        return None if ledger is None else ledger.descriptions().get("clinic")


def persons_of(hospital: Hospital) -> dict[str, set[object]]:
    """Return the persons of each table, found one by one."""
    persons: dict[str, set[object]] = {}
    for person, rows in hospital.rows_of_persons().items():
        for row in rows:
            for name in ("patients", "visits", "diagnoses", "drugs", "labs", "notes"):
                if row[name]:
                    persons.setdefault(name, set()).add(person)
    return persons


@pytest.mark.parametrize("seed", range(4))
def test_numbers_of_persons_and_links_are_true(tmp_path: Path, seed: int) -> None:
    """The numbers of a check are those of a plain walk over the rows."""
    hospital = random_hospital(seed)
    numbers = examined(write_hospital(hospital, tmp_path)).numbers
    assert numbers is not None
    persons = persons_of(hospital)
    assert numbers.persons == len(set().union(*persons.values()))
    for name, table in numbers.tables.items():
        others = set().union(*(them for other, them in persons.items() if other != name))
        rows = [row for them in hospital.rows_of_persons().values() for row in them if row[name]]
        assert table.persons == len(persons[name])
        assert table.alone == len(persons[name] - others)
        assert table.repeated == sum(
            sum(bool(row[name]) for row in them) > 1 for them in hospital.rows_of_persons().values()
        )
        assert name in {"patients", "notes"} or len(rows) == len(hospital.tables[name])
        expected = {} if name == "patients" else {"patients": len(persons[name] - persons["patients"])}
        assert table.absent == expected
    notes, wards = numbers.links
    owners: dict[object, set[object]] = {}
    for row in hospital.tables["visits"]:
        owners.setdefault(row["visit_id"], set()).add(row["patient"])
    ids = [row["visit_id"] for row in hospital.tables["notes"]]
    given = [each for each in ids if each is not None]
    lost, shared = (
        [each for each in given if each not in owners],
        [each for each in given if len(owners.get(each, ())) > 1],
    )
    assert (notes.rows, notes.missing) == (len(ids), len(ids) - len(given))
    assert (notes.unmatched, notes.unmatched_values) == (len(lost), len(set(lost)))
    assert (notes.shared, notes.shared_values) == (len(shared), len(set(shared)))
    unknown = [row for row in hospital.tables["visits"] if row["ward_id"] == "W9"]
    assert (wards.table, wards.column, wards.target, wards.unmatched) == ("visits", "ward_id", "wards", len(unknown))
    assert (wards.rows, wards.unmatched_values, wards.shared) == (len(hospital.tables["visits"]), 1, 0)


def test_findings_name_the_table_and_the_remedy(tmp_path: Path) -> None:
    """The owner sees persons, rows and values that do not join."""
    path = write_hospital(random_hospital(1), tmp_path, CONFIGURATION.replace("budget", 'persons = "visits"\nbudget'))
    inspection = examined(path)
    assert inspection.numbers is not None
    assert inspection.units == inspection.numbers.tables["visits"].persons
    titles = {(finding.title, finding.column) for finding in joint_findings(inspection)}
    assert ("persons who do not count", "labs") in titles
    assert ("persons who are not in patients", "visits") in titles
    assert ("persons with several rows", "patients") in titles
    assert ("rows without a person", "notes.visit_id") in titles
    assert ("rows of several persons", "notes.visit_id") in titles
    assert ("values without an explanation", "visits.ward_id") in titles


def test_tables_of_other_persons_and_of_one_row_are_named(tmp_path: Path) -> None:
    """A table whose ids are others joins nothing; a table with one row a person may be stated as such."""
    (tmp_path / "one.csv").write_text("id,a\n1,x\n2,y\n")
    (tmp_path / "two.csv").write_text("id,b\n7,x\n7,y\n")
    path = tmp_path / "noisycount.toml"
    path.write_text(
        '[datasets.clinic]\nunit = "id"\n[datasets.clinic.tables]\none = { source = "one.csv" }\n'
        'two = { source = "two.csv" }\n'
    )
    titles = {(finding.title, finding.column) for finding in joint_findings(examined(path))}
    assert titles == {
        ("a table of other persons", "one"),
        ("a table of other persons", "two"),
        ("one row a person", "one"),
    }


@pytest.mark.parametrize(
    ("other", "stated"),
    [
        ("P{:03}", "fold_case = true"),
        ("p{}", "drop_zeros = true"),
        ("p{:03} ", "trim = true"),
        ("p-{:03}", "drop_marks = true"),
    ],
)
def test_ids_of_one_person_in_two_tables_are_found(tmp_path: Path, other: str, stated: str) -> None:
    """Ids may be spelled alike within each table, and otherwise in another; those of one table are not told twice."""
    ids = [f"p{number:03}" for number in range(20)]
    (tmp_path / "one.csv").write_text("id,a\n" + "".join(f"{id_},1\n" for id_ in ids))
    mixed = [*ids[:16], *(other.format(number) for number in range(16, 20))]
    (tmp_path / "two.csv").write_text("id,b\n" + "".join(f"{id_},2\n" for id_ in mixed))
    path = tmp_path / "noisycount.toml"
    tables = 'one = { source = "one.csv" }\ntwo = { source = "two.csv" }\n'
    path.write_text(f'[datasets.clinic]\nunit = "id"\n[datasets.clinic.tables]\n{tables}')
    found = [each for each in joint_findings(examined(path)) if each.title == "ids that may be one person's"]
    assert [each.rows for each in found] == [4]
    assert all(stated in each.text for each in found)
    (tmp_path / "one.csv").write_text("id,a\n" + "".join(f"{id_},1\n" for id_ in [*ids, *mixed]))
    assert not [each for each in joint_findings(examined(path)) if each.title == "ids that may be one person's"]


def test_check_describes_tables_in_the_ledger(tmp_path: Path) -> None:
    """If all fits, the description is written; a table that changes its columns blocks until it is renewed."""
    path = write_hospital(random_hospital(2), tmp_path)
    assert written(path) is None
    assert examined(path).fits
    first = written(path)
    assert first is not None
    labs = tmp_path / "labs.csv"
    labs.write_text("patient,test,value,day\np1,CRP,high,2025-01-01\n")
    changed = examined(path)
    assert not changed.fits
    assert changed.numbers is None
    assert written(path) == first
    renewed = examined(path, renews=True)
    assert renewed.fits
    assert written(path) not in {None, first}
    assert examined(path).fits


def test_tables_that_cannot_be_joined_are_a_finding(tmp_path: Path) -> None:
    """A look-up with a key twice blocks all questions, and the tables are shown all the same."""
    path = write_hospital(random_hospital(3), tmp_path)
    (tmp_path / "wards.csv").write_text("ward_id,name,beds\nW1,ICU,2\nW1,ENT,3\n")
    inspection = examined(path)
    assert not inspection.fits
    assert [finding.title for finding in joint_findings(inspection)] == ["tables that cannot be joined"]
    assert "two rows with one 'ward_id'" in joint_findings(inspection)[0].text
    assert written(path) is None


def test_command_shows_tables(tmp_path: Path, run: Run) -> None:
    """The screen has a verdict for all tables and one for each; a blocked table ends with status 4."""
    write_hospital(random_hospital(1), tmp_path)
    screen = run("check", "clinic").output
    assert "Ready, but look at" in screen
    assert "public look-up" in screen
    assert "Table notes. Ready" in screen
    assert "[datasets.clinic.tables.drugs.values]" in screen
    content = run("check", "clinic", "--json").object
    assert content["tables"]["patients"]["joint"]["repeated"] > 0
    assert [link["target"] for link in content["links"]] == ["visits", "wards"]
    (tmp_path / "drugs.csv").write_text("patient,drug,day,doses\n,A10,2025-01-01,2\np1,A10,2025-01-01,2\n")
    blocked = run("check", "clinic")
    assert blocked.status == 4
    assert "Table drugs. Not readable" in blocked.output


def numbers_of(configuration: Path) -> TablesCheck:
    """Return the numbers of persons and links of all tables, which must be joined."""
    inspection = examined(configuration)
    assert inspection.numbers is not None, inspection.refusal
    return inspection.numbers


def test_a_server_has_the_numbers_of_files(tmp_path: Path, postgresql: Server) -> None:
    """PostgreSQL has the persons and links of the same tables."""
    hospital = random_hospital(5)
    on_server, in_files = tmp_path / "server", tmp_path / "files"
    on_server.mkdir()
    in_files.mkdir()
    assert numbers_of(served_hospital(postgresql, hospital, on_server)) == numbers_of(
        write_hospital(hospital, in_files)
    )


def test_a_cluster_has_the_numbers_of_files(tmp_path: Path, spark_url: str) -> None:
    """Spark has the persons and links of the same tables."""
    hospital = random_hospital(6)
    on_cluster, in_files = tmp_path / "cluster", tmp_path / "files"
    on_cluster.mkdir()
    in_files.mkdir()
    assert numbers_of(clustered_hospital(spark_url, hospital, on_cluster)) == numbers_of(
        write_hospital(hospital, in_files)
    )
