"""Tests of `cli/demo.py`."""

import re
from fractions import Fraction
from pathlib import Path

import pytest

from noisycount.analysis.within import stop_probabilities, stopping_rule
from noisycount.data import survey_path
from noisycount.data.hospital import PATIENTS
from noisycount.engines.duckdb.source import DuckDBSource
from tests.helpers.commands import Refused, Run

TRUTH = 92
FILES = ["ledger.db", "ledger.db.data", "poor-health.png", "poor-health.svg"]


@pytest.mark.thorough
def test_the_answer_is_near_the_truth_and_costs_no_more_than_the_plan_says(run: Run) -> None:
    """The answer is above 600 where it stops at a price below 0.026, once in 50,000 runs."""
    told = run("demo", "--json").object
    rule = stopping_rule("0.2", "0.95", "0.5")
    cheap = [price < Fraction(26, 1000) for price in rule.prices]
    assert stop_probabilities(rule, TRUTH)[: sum(cheap)].sum() < 1 / 50_000
    count = told["count"]
    assert abs(count["answer"] - TRUTH) <= 600
    assert told["refinement"]["answer"] == count["answer"]
    assert told["plan"]["at_most"] == "0.5"
    assert count["epsilon"] == count["charged"]
    assert Fraction(count["remaining"]) == 2 - Fraction(count["charged"]) >= Fraction(3, 2)
    assert count["error"] == max(count["high"] - count["answer"], count["answer"] - count["low"])


def test_the_plan_is_made_without_the_data(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan of the demonstration is the same if no data can be opened."""
    planned = run("demo", "--json").object["plan"]

    def closed(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(DuckDBSource, "open", closed)
    words = ("plan", "--within", "20%", "--confidence", "95%", "--at-most", "0.5", "--budget", "2", "--json")
    assert run(*words).object == planned


@pytest.mark.thorough
def test_every_step_is_told(run: Run) -> None:
    """Five numbered steps in 80 columns: plan, ask, answer, estimate, picture."""
    told = run("demo")
    assert (told.status, told.errors) == (0, "")
    steps = re.findall(r"^(\d)  ([A-Z][a-z ]+)", told.output, re.MULTILINE)
    assert steps == [
        *(("1", "Plan"), ("2", "Ask"), ("3", "The answer"), ("4", "A better estimate")),
        ("5", "The picture"),
    ]
    assert max(map(len, told.output.splitlines())) <= 80
    assert "a 50:50 guess about one person becomes at most" in told.words


@pytest.mark.thorough
def test_a_second_demonstration_is_free(run: Run) -> None:
    """The ledger in its folder keeps the answer: the same again, for nothing."""
    first, second = (run("demo", "--json").object["count"] for _ in range(2))
    assert (second["answer"], second["charged"]) == (first["answer"], "0")
    assert "it cost nothing now and is the same answer" in run("demo").words


@pytest.mark.few(0)
@pytest.mark.parametrize("out", ["noisycount-demo", "a/new folder", "50% of all?"])
def test_the_pictures_are_where_it_says(run: Run, here: Path, out: str) -> None:
    """The folder holds the picture twice and the ledger; the pictures are what they claim."""
    told = run("demo", "--out", out, "--json").object
    assert sorted(path.name for path in (here / out).iterdir()) == FILES
    assert told["count"]["ledger"] == "ledger.db"
    png, svg = sorted(here / path for path in told["pictures"])
    assert png.read_bytes().startswith(b"\x89PNG")
    assert svg.read_text(encoding="utf-8").startswith("<svg")


def test_a_file_in_the_way_is_refused(refused: Refused, here: Path) -> None:
    """A message names an output folder that is a file or lies in one."""
    (here / "taken").write_text("")
    assert "'--out': Directory 'taken' is a file" in refused("demo", "--out", "taken")
    message = refused("demo", "--out", "taken/below")
    assert "--out 'taken/below' cannot be created (Not a directory): name another" in message


def test_a_ledger_that_leads_to_itself_is_refused(refused: Refused, here: Path) -> None:
    """A circle of links at its place is one line."""
    (here / "out").mkdir()
    (here / "out" / "ledger.db").symlink_to("ledger.db")
    assert "out/ledger.db' cannot be opened" in refused("demo", "--out", "out")


@pytest.mark.thorough
def test_a_picture_that_cannot_be_written_is_refused(run: Run, here: Path) -> None:
    """If a folder has a picture's name, the message names it and the answer is kept."""
    (here / "out" / "poor-health.svg").mkdir(parents=True)
    told = run("demo", "--out", "out")
    assert (told.status, told.output) == (2, "")
    assert "folder 'out' cannot be written (Is a directory): name another" in told.errors
    (here / "out" / "poor-health.svg").rmdir()
    assert run("demo", "--out", "out", "--json").object["count"]["repeated"] is True


def test_the_survey_is_the_answers_only_source(run: Run, here: Path) -> None:
    """A configuration in the folder changes neither the demonstration nor its ledger."""
    (here / "noisycount.toml").write_text("this is broken")
    assert run("demo", "--json").object["count"]["dataset"] == "rand_hie"


def test_the_survey_is_copied_and_nothing_is_asked(run: Run, refused: Refused, here: Path) -> None:
    """It is a new file, byte for byte; one that is there stays as it is."""
    before = set(here.iterdir())
    told = run("demo", "--survey", "rand.parquet")
    assert "wrote rand.parquet: one row a person and year, 5,912 persons" in told.output
    assert set(here.iterdir()) - before == {here / "rand.parquet"}
    assert (here / "rand.parquet").read_bytes() == survey_path().read_bytes()
    assert run("demo", "--survey", "again.parquet", "--json").object == {"survey": "again.parquet"}
    (here / "mine").write_text("mine")
    assert "--survey 'mine' exists already: name another" in refused("demo", "--survey", "mine")
    assert (here / "mine").read_text() == "mine"
    assert "cannot be written" in refused("demo", "--survey", "mine/below")


@pytest.mark.thorough
def test_the_hospital_is_written_and_described_by_init(run: Run, refused: Refused, here: Path) -> None:
    """`init` finds the unit of each table, the link of notes, and leaves the look-up of wards to its owner."""
    shown = run("demo", "--hospital", "hospital")
    assert "wrote hospital: 7 tables of 4,000 made-up patients" in shown.output
    patients = (here / "hospital" / "patients.csv").read_text(encoding="utf-8").splitlines()
    assert patients[0] == "patient,sex,born,smoker"
    assert len(patients) == PATIENTS + 1
    assert "Decide in it how wards can be used" in run("init", "hospital", "--unit", "patient").output
    configuration = (here / "noisycount.toml").read_text(encoding="utf-8")
    assert 'through = "visits.visit_id"' in configuration
    assert "# wards has one row for each ward_id, so it may be a look-up of visits." in configuration
    assert "--hospital 'hospital' exists already: name another folder" in refused("demo", "--hospital", "hospital")
    assert "cannot be written" in refused("demo", "--hospital", "no/folder")
    files = run("demo", "--hospital", "again", "--json").object["hospital"]
    assert files[0] == "again/patients.csv"
    assert (here / files[0]).read_text(encoding="utf-8").splitlines() == patients
