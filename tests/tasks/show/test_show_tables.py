"""Descriptions of a data set of several tables (`show`): for its owner, by HTTP, and on its page."""

from dataclasses import replace
from pathlib import Path

import pytest

from noisycount.config.config import load_config
from noisycount.config.service import ServiceConfig
from noisycount.service.keys import Role, User
from tests.helpers.commands import Run
from tests.helpers.hospital import CONFIGURATION, random_hospital, write_hospital
from tests.helpers.service_callers import OFTEN, calling, serving

pytestmark = pytest.mark.thorough  # each table is read
NOTES = 'notes = { source = "notes.csv", through = "visits.visit_id"'
STATED = CONFIGURATION.replace(NOTES, f"{NOTES}, values = {{ word = ['fall', 'pain', 'home'] }}")
ANALYST = User("ana", Role.ANALYST, frozenset({"clinic"}))
TABLES = {
    "patients": {"one_row_a_unit": True, "lookup_of": None},
    **{
        name: {"one_row_a_unit": False, "lookup_of": None} for name in ("visits", "diagnoses", "drugs", "labs", "notes")
    },
    "wards": {"one_row_a_unit": False, "lookup_of": "visits"},
}


def test_show_lists_tables_and_columns_as_queries_write_them(tmp_path: Path, run: Run) -> None:
    """A column is named as in a query, with quotes where they are needed; public values stand beside it."""
    write_hospital(random_hospital(1), tmp_path, STATED)
    labs = tmp_path / "labs.csv"
    labs.write_text(labs.read_text().replace("test,value", "lab test,value", 1))
    screen = run("show", "clinic").output
    assert "one a person" in screen
    assert "public look-up of visits" in screen
    assert 'labs."lab test"' in screen
    assert "fall, pain, home" in screen
    content = run("show", "clinic", "--json").object
    assert content["tables"] == TABLES
    assert content["columns"]['labs."lab test"'] == "text"
    assert content["values"]["notes.word"]["listed"] == ["fall", "pain", "home"]


def test_service_lists_tables(tmp_path: Path) -> None:
    """Analysts see the tables on the page and by HTTP; the page's example is about a row of a table."""
    config = load_config(write_hospital(random_hospital(1), tmp_path, STATED))
    with serving(replace(config, service=ServiceConfig(rate=OFTEN))) as state:
        caller = calling(state, ANALYST)
        content = caller.get("/v1/datasets/clinic").json()
        page = caller.get("/ask/clinic").text
    assert content["tables"] == TABLES
    assert "public look-up of visits" in page
    assert "any(patients.sex = " in page
