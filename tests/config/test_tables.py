"""Blocks of several tables in `noisycount.toml`: what they mean, and how faulty ones are refused."""

from pathlib import Path

import pytest

from noisycount.catalog.table_group import TableGroup
from noisycount.config.config import load_config
from noisycount.errors import ConfigError

HEAD = '[datasets.clinic]\nunit = "patient"\n'
BLOCK = "[datasets.clinic.tables]\n"
PATIENTS = 'patients = { source = "patients.csv", one_row_a_unit = true }\n'
VISITS = 'visits = { source = "visits.csv", unit = "id" }\n'


def group(folder: Path, text: str) -> TableGroup:
    """Return the tables of a configuration."""
    path = folder / "noisycount.toml"
    path.write_text(text, encoding="utf-8")
    source = load_config(path).datasets["clinic"].source
    assert isinstance(source, TableGroup)
    return source


def test_tables_have_their_units_and_links(tmp_path: Path) -> None:
    """A table has the unit of the data set, its own, that of linked rows, or none if it is public."""
    notes = 'notes = { source = "notes.csv", through = "visits.number", key = "visit" }\n'
    wards = 'wards = { source = "wards.csv", public = true, on = "visits.ward" }\n'
    found = group(tmp_path, HEAD + 'persons = "patients"\n' + BLOCK + PATIENTS + VISITS + notes + wards)
    facts = {each.name: each for each in found.facts}
    assert [each.unit for each in facts.values()] == ["patient", "id", None, None]
    assert (facts["notes"].through.column, facts["notes"].through.key) == ("number", "visit")
    assert (facts["wards"].on.column, facts["wards"].on.key, facts["wards"].rows) == ("ward", "ward", "visits")
    assert facts["patients"].is_one_row_a_unit
    assert not facts["visits"].is_one_row_a_unit
    assert (found.persons, [table.name for table in found.private_tables]) == (
        "patients",
        ["patients", "visits", "notes"],
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD + 'source = "a.csv"\n' + BLOCK + PATIENTS, "source.*belongs to one table"),
        (HEAD + 'columns = ["a"]\n' + BLOCK + PATIENTS, "columns.*belongs to one table"),
        ("[datasets.clinic]\n" + BLOCK + PATIENTS, "unit: is what joins the tables"),
        ('[datasets.clinic]\nunit = "row"\n' + BLOCK + PATIENTS, "unit.*joins the tables"),
        (HEAD + 'persons = "patient"\n' + BLOCK + PATIENTS, "persons.*did you mean patients"),
        (HEAD + 'persons = "patients"\nsource = "a.csv"\n', "persons.*leave persons out"),
        (HEAD + BLOCK + '"lab-results" = { source = "a.csv" }\n', "letters, digits and _"),
        (HEAD + BLOCK + 'and = { source = "a.csv" }\n', "no word of the question language"),
        (HEAD + BLOCK + PATIENTS + 'Patients = { source = "a.csv" }\n', "differs.*only in case"),
        (HEAD + BLOCK + "patients = { }\n", "source: is missing"),
        (HEAD + BLOCK + 'wards = { source = "a.csv", public = true }\n', "public and on|and on go together"),
        (HEAD + BLOCK + PATIENTS + 'wards = { source = "a.csv", on = "patients.ward" }\n', "go together"),
        (HEAD + BLOCK + PATIENTS + 'n = { source = "a.csv", through = "patients" }\n', "a table and its column"),
        (HEAD + BLOCK + PATIENTS + 'n = { source = "a.csv", through = "patient.id" }\n', "did you mean patients"),
        (HEAD + BLOCK + PATIENTS + 'n = { source = "a.csv", through = "n.id" }\n', "leads back to its own table"),
        (HEAD + BLOCK + PATIENTS + 'n = { source = "a.csv", through = "patients.id", unit = "p" }\n', "leave unit out"),
        (HEAD + BLOCK + 'n = { source = "a.csv", key = "id" }\n', "key.*leave it out"),
        (
            HEAD + BLOCK + PATIENTS + 'n = { source = "a.csv", through = "patients.patient", key = "p" }\n',
            'the column of persons: leave it out, and state unit = "p"',
        ),
        (
            HEAD + BLOCK + PATIENTS + 'n = { source = "a.csv", public = true, on = "patients.patient" }\n',
            "on.*names the column of persons: link another one",
        ),
        (
            HEAD + BLOCK + 'n = { source = "a.csv", through = "m.id" }\nm = { source = "b.csv", through = "n.id" }\n',
            "no table",
        ),
        (
            HEAD + BLOCK + PATIENTS + 'labs = { source = "postgresql://host/clinic#labs" }\n',
            "not where table 'patients' is, and one engine counts all tables",
        ),
        *(
            (
                f'{HEAD}{BLOCK}a = {{ source = "postgresql://ana@host/clinic#a" }}\nb = {{ source = "{other}#b" }}\n',
                "not where table 'a' is.*write the same address before the # for all of them",
            )
            for other in (
                "postgresql://ana@host/others",
                "postgresql://ben@host/clinic",
                "postgresql://ana@elsewhere/clinic",
            )
        ),
        (HEAD + BLOCK + 'n = { source = "a.csv", budget = "2" }\n', "unknown key"),
    ],
)
def test_faulty_blocks_are_refused_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    """The line names the table, the key and the remedy."""
    with pytest.raises(ConfigError, match=words) as caught:
        group(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_two_data_sets_may_not_share_a_table_of_persons(tmp_path: Path) -> None:
    """Both budgets could be spent on it; a public look-up may be shared."""
    (tmp_path / "visits.csv").write_text("id,ward\n1,a\n")
    (tmp_path / "wards.csv").write_text("ward,name\na,ICU\n")
    wards = 'wards = { source = "wards.csv", public = true, on = "visits.ward" }\n'
    other = '[datasets.other]\nsource = "{}"\nunit = "row"\n'
    group(tmp_path, HEAD + BLOCK + VISITS + wards + other.format("wards.csv"))
    with pytest.raises(ConfigError, match="are the same records"):
        group(tmp_path, HEAD + BLOCK + VISITS + wards + other.format("visits.csv"))
