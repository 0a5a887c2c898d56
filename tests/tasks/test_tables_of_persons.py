"""Questions about several tables at each door: Python, the command, completion in a shell, HTTP and the page.

Tests of `catalog/tables.py`, `tasks/backup.py` and `service/pages/conditions.py`.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser

import noisycount as nc
from noisycount.config.config import load_config
from noisycount.errors import NoisyCountError, PredicateError
from noisycount.query.query import Query
from noisycount.query.schema import Schema
from noisycount.service.keys import Role, User
from noisycount.service.pages.conditions import Condition, FormError, RowChoice, row_choices, where_of
from tests.cli.test_cli import completed
from tests.helpers.browser import chromium, window
from tests.helpers.commands import Refused, Run
from tests.helpers.hospital import CONFIGURATION, SCHEMA, random_hospital, write_hospital
from tests.helpers.running_service import OFTEN, OWNER, Service, served

__all__ = ["chromium"]

COHORT = "any(wards.name = 'ICU') and patients.sex = 'F'"
CANONICAL = "any(patients.sex = 'F') and any(wards.name = 'ICU')"
VALUED = CONFIGURATION.replace(
    "one_row_a_unit = true }", 'one_row_a_unit = true, values = { sex = ["F", "M"], born = "1900..2025" } }'
)
HOSPITAL = random_hospital("doors", 40)


def true_number(sex: str = "F") -> int:
    """Return the number of women, or of men, who were in the ICU."""
    icu = {row["patient"] for row in HOSPITAL.tables["visits"] if row["ward_id"] == "W1"}
    return len(icu & {row["patient"] for row in HOSPITAL.tables["patients"] if row["sex"] == sex})


@pytest.fixture
def clinic(here: Path) -> Path:
    """Write the tables and their configuration into the current folder."""
    write_hospital(HOSPITAL, here, VALUED)
    return here


@pytest.mark.thorough
def test_python_answers_and_previews(clinic: Path) -> None:
    """A desk opens the data set by its name, counts, makes tables, and previews them without a charge."""
    assert clinic.is_dir()
    with nc.open_desk("clinic") as desk:
        plan = desk.plan(Query(wheres=[COHORT], epsilon=100))
        assert plan.predicates[0] == desk.plan(Query(wheres=[CANONICAL], epsilon=100)).predicates[0]
        assert desk.release(COHORT, epsilon=100).answer == true_number()
        again = desk.release(CANONICAL, epsilon=100)
        assert (again.answer, again.remaining) == (true_number(), 1_000_000 - 100)
        by_sex = desk.release_table("patients.sex", epsilon=100)
        assert by_sex.plan.groups == 1
        counts = dict(zip(["F", "M"], by_sex.answers[0], strict=True))
        assert counts["F"] >= true_number()
        of_visits = desk.release_table("count(visits):0,1,2", epsilon=100)
        assert sum(of_visits.answers[0]) == len(HOSPITAL.rows_of_persons())
        years = desk.release_table("first(visits.day):year", keys={"first(visits.day)": [2025, 2026]}, epsilon=100)
        assert sum(years.answers[0]) > 0


@pytest.mark.thorough
def test_the_command_answers_in_words_that_name_tables(clinic: Path, run: Run) -> None:
    """The words of a question name the table of each row, without quotes around the dot."""
    assert clinic.is_dir()
    dry = run("count", "clinic", "--where", COHORT, "--epsilon", "1", "--dry-run")
    assert f"{CANONICAL} (there is a row of patients where patients.sex is 'F' and there is a row of visits where" in (
        dry.words
    )
    count = run("count", "clinic", "--where", "none(visits) or count(labs) > 2", "--epsilon", "100", "--json").object
    assert count["answer"] >= 0
    words = run("count", "clinic", "--where", "none(visits) or count(labs) > 2", "--epsilon", "100").words
    assert "the number of rows of labs is more than 2 or there is no row of visits" in words
    table = run("count", "clinic", "--by", "visits.ward_id", "--keys", "visits.ward_id=W1,W2", "--epsilon", "9")
    assert "W1" in table.words
    plan = run("plan", "--dataset", "clinic", "--error", "15")
    assert "of clinic" in plan.words


@pytest.mark.thorough
def test_copies_of_tables_belong_to_their_data_set(clinic: Path, run: Run) -> None:
    """The copies of all tables are listed and removed under the name of the data set, and made again."""
    question = ("count", "clinic", "--where", COHORT, "--epsilon", "100")
    assert f"answer {true_number()} " in run(*question).words
    assert [copy["dataset"] for copy in run("copies", "--json").object["copies"]] == ["clinic"] * 7
    assert "unknown" not in run("copies", "clinic").words
    run("copies", "clinic", "--remove")
    assert [*clinic.joinpath("ledger.db.data").glob("*.parquet")] == []
    other = ("count", "clinic", "--where", f"{COHORT} and any(notes.word is not null)", "--epsilon", "99")
    assert run(*other).status == 0


@pytest.mark.thorough
def test_impossible_questions_are_refused_before_a_charge(clinic: Path, run: Run, refused: Refused) -> None:
    """Public values of a table's column, contradictions and misspelt names are seen without records."""
    assert clinic.is_dir()
    run("count", "clinic", "--epsilon", "1")

    def refusal(where: str) -> str:
        return refused("count", "clinic", "--epsilon", "1", "--where", where)

    assert "patients.sex" in refusal("patients.sex = 'X'")
    assert "patients.sex" in refusal("any(patients.sex = 'X') and any(visits)")
    assert "patients.born" in refusal("patients.born > 2030 and any(visits)")
    assert "visits.day" in refusal("day > '2025-01-01'")
    assert "did you mean visits.day" in refusal("visits.dy > '2025-01-01'")
    assert "write any(drugs.drug = 'B01')" in refusal("patients.sex = 'F' and drugs.drug = 'B01'")
    assert "for each" in refusal("any(visits.day > '2025-01-01' and drugs.drug = 'B01')")


@pytest.mark.thorough
def test_a_shell_completes_columns_of_tables(clinic: Path, run: Run) -> None:
    """Columns are completed without quotes, and public values after a comparison."""
    assert clinic.is_dir()
    run("count", "clinic", "--epsilon", "1")

    def texts(option: str, incomplete: str) -> list[str]:
        return [text for _, text in completed(["count", "clinic", option], incomplete)]

    assert texts("--where", "visits.d") == ["visits.day"]
    assert texts("--where", "any(wards.n") == ["any(wards.name"]
    assert texts("--where", "patients.sex = ") == ["patients.sex = 'F'", "patients.sex = 'M'"]
    assert texts("--by", "patients.sex,labs.t") == ["patients.sex,labs.test"]
    assert texts("--keys", "patients.s") == ["patients.sex=", "patients.smoker="]
    assert texts("--keys", "patients.sex=F,") == ["patients.sex=F,F", "patients.sex=F,M"]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Serve the hospital."""
    path = write_hospital(HOSPITAL, tmp_path_factory.mktemp("clinic"), VALUED + OFTEN)
    with served(load_config(path), OWNER, User("ana", Role.ANALYST, frozenset({"clinic"}))) as running:
        yield running


@pytest.mark.thorough
def test_http_counts_tabulates_and_previews(service: Service) -> None:
    """Counts, tables and previews have the members of one table; a refusal is one problem without a charge."""
    headers = {"Authorization": f"Bearer {service.keys['ana']}"}
    with httpx.Client(base_url=f"{service.url}/v1/datasets/clinic", headers=headers, timeout=60) as client:

        def reply(door: str, question: dict[str, object], number: int = 0) -> httpx.Response:
            return client.post(door, json=question, headers={"Idempotency-Key": f"question-{number}"})

        assert reply("/releases", {"where": COHORT, "epsilon": "100"}).json()["answer"] == true_number()
        rows = reply("/releases", {"by": ["count(visits):0,1,2"], "epsilon": "100"}, 1).json()["rows"]
        assert sum(row["answer"] for row in rows) == len(HOSPITAL.rows_of_persons())
        assert reply("/plan", {"where": COHORT, "epsilon": "1"}).status_code == 200
        rehearsal = reply("/rehearsal", {"where": COHORT, "epsilon": "100"}).json()
        assert 0 < rehearsal["made_up"] == rehearsal["answer"]
        for where in ("none(visits)", "visits.cost is null", "count(notes) > 1", "not patients.smoker"):
            assert 0 < reply("/rehearsal", {"where": where, "epsilon": "1"}).json()["made_up"] < 900
        by_sex = reply("/rehearsal", {"by": ["patients.sex"], "where": "any(labs)", "epsilon": "1"}).json()
        assert len(by_sex["rows"]) == 2
        columns = httpx.get(f"{service.url}/v1/datasets/clinic", headers=headers, timeout=60)
        assert "visits.day" in columns.text
        wrong = reply("/releases", {"where": "visits.cost > 1 and labs.value > 1", "epsilon": "1"}, 2)
        assert wrong.status_code == 422
        assert "write any(visits.cost > 1.0)" in wrong.text


@pytest.mark.parametrize(
    ("columns", "choice", "text", "where"),
    [
        (["visits.cost"], "some", "", "visits.cost >= 1"),
        (["visits.cost", "wards.beds"], "some", "", "visits.cost >= 1 and wards.beds >= 1"),
        (["visits.cost", "labs.value"], "some", "", "any(visits.cost >= 1) and any(labs.value >= 1)"),
        (
            ["visits.cost", "labs.value", "wards.beds"],
            "some",
            "",
            "any(visits.cost >= 1 and wards.beds >= 1) and any(labs.value >= 1)",
        ),
        (["patients.born", "visits.cost"], "none", "", "any(patients.born >= 1) and none(visits.cost >= 1)"),
        (["patients.born"], "none", "", "none(patients.born >= 1)"),
        (["visits.cost", "labs.value"], "least", "", "count(visits.cost >= 1) >= 2 and count(labs.value >= 1) >= 2"),
        (["visits.cost"], "some", "any(labs)", "any(visits.cost >= 1) and (any(labs))"),
        (["visits.cost"], "some", "visits.cost < 9", "visits.cost >= 1 and (visits.cost < 9)"),
        (["visits.cost"], "some", "labs.value < 9", "any(visits.cost >= 1) and any(labs.value < 9)"),
        ([], "some", "labs.value < 9", "labs.value < 9"),
    ],
)
def test_conditions_of_the_form_belong_to_their_tables(columns: list[str], choice: str, text: str, where: str) -> None:
    """Conditions of one table are about one row; those of different tables become one question for each table."""
    conditions = [Condition(column, ">=", ("1", "")) for column in columns]
    assert where_of(conditions, text, SCHEMA, rows=RowChoice(choice, "2")) == where


def test_the_form_refuses_a_choice_without_a_condition() -> None:
    """The words of the choices name the tables."""
    with pytest.raises(FormError, match="no row of each table matches"):
        where_of([], "", SCHEMA, rows=RowChoice("none"))
    assert dict(row_choices(Schema({})))["none"] == "no row matches"


@pytest.mark.thorough
def test_a_browser_asks_about_two_tables(chromium: Browser, service: Service) -> None:
    """The page writes any() for each table, previews, asks, and shows the answer."""
    with window(chromium, service.url) as opened:
        opened.log_in(service.keys["ana"])
        opened.go("/ask/clinic")
        page = opened.page
        for column, value in (("patients.sex", "M"), ("wards.name", "ICU")):
            page.get_by_label(re.compile("^(Where|And)$")).select_option(column)
            page.get_by_role("button", name="Add a condition").click()
            page.get_by_label(f"Value of {column}").fill(value)
        page.get_by_label("Set ε directly").check()
        page.get_by_label("ε", exact=True).fill("100")
        page.get_by_role("button", name="Preview: free").click()
        page.get_by_text("there is a row of patients where").first.wait_for()
        assert opened.violations() == []
        page.get_by_role("button", name=re.compile("^Ask")).click()
        page.get_by_role("heading", name="Answer").wait_for()
        assert page.get_by_text(re.compile(rf"\b{true_number('M')}\b")).first.is_visible()


@pytest.mark.thorough
def test_refusals_hold_no_value_of_a_record(clinic: Path) -> None:
    """Errors of records and of questions are one line, with the remedy, and without a cell or a count."""
    (clinic / "visits.csv").write_text("patient,visit_id,ward_id,day,cost\np1,1,W1,2025-01-01,1.5\n,2,W2,,SECRET\n")
    with pytest.raises(NoisyCountError) as caught, nc.open_desk("clinic") as desk:
        desk.release("any(visits.ward_id = 'W1')", epsilon=1)
    assert "\n" not in str(caught.value)
    assert "SECRET" not in str(caught.value)
    assert not isinstance(caught.value, PredicateError)
