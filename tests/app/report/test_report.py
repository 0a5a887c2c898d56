import csv
import json
import math
import re
from fractions import Fraction
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.app.report.forms import FORMS, written_report
from noisycount.app.report.markdown import as_inline
from noisycount.app.report.report import Report, report_of
from noisycount.app.report.rounding import rounded_down, rounded_up
from noisycount.app.report.sheet import as_text
from noisycount.model.half_width import error_within
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.release.ledger.ledger import Ledger, Request
from tests.app.conftest import Refused, Run
from tests.app.report.ledgers import HOSTILE, NAMES, configured, filled
from tests.release.ledger.ledgers import change

DEBITS = 31


@pytest.fixture
def requests(tmp_path: Path) -> list[Request]:
    """The requests that a ledger was charged for, oldest first."""
    return filled(configured(tmp_path), DEBITS)


def told(folder: Path) -> dict[str, Any]:
    """The report as JSON."""
    configuration = configured(folder)
    text = written_report(report_of(configuration), configuration, "json")
    return dict(json.loads(text))


def report(folder: Path, form: str) -> str:
    """The report in another form."""
    configuration = configured(folder)
    return written_report(report_of(configuration), configuration, form)


def test_totals_are_the_sums_of_all_debits(tmp_path: Path, requests: list[Request]) -> None:
    """Added up one by one as exact fractions, those without an answer too."""
    for dataset in told(tmp_path)["datasets"]:
        paid = [each for each in requests if each.dataset == dataset["dataset"]]
        rho = sum((each.rho or Fraction(each.epsilon or 0) ** 2 / 2 for each in paid), Fraction(0))
        assert Fraction(dataset["spent"]["rho"]) == rho
        assert dataset["spent"]["epsilon"] is None
        assert Fraction(dataset["remaining"]) ** 2 <= 2 * (1000 - rho)
        failed = [each for each in paid if requests.index(each) % 5 == 0]
        lost = sum((each.rho or Fraction(each.epsilon or 0) ** 2 / 2 for each in failed), 0)
        assert (dataset["failed"]["number"], Fraction(dataset["failed"]["spent"]["rho"])) == (
            len(failed),
            lost,
        )
        assert [each["question"] for each in dataset["releases"]] != []
        assert len(dataset["releases"]) == len(paid)


def test_a_total_in_epsilon_is_a_sum_of_fractions(tmp_path: Path) -> None:
    """And its odds are those of the sum, rounded to the side of more risk."""
    configuration = configured(tmp_path)
    prices = [Fraction(1, 3), Fraction(1, 7), Fraction("0.47")]
    with Ledger.open(configuration.ledger_url) as ledger:
        for number, price in enumerate(prices):
            ledger.reserve(f"{number}", Request("survey", f"q{number}", price), Fraction(2))
    survey = told(tmp_path)["datasets"][0]
    assert Fraction(survey["spent"]["epsilon"]) == sum(prices)
    likelier = math.exp(sum(prices)) / (1 + math.exp(sum(prices)))
    (high,) = re.fullmatch(
        r"all together, a 50:50 guess about one row becomes at most (\d+):\d+", survey["odds"]
    ).groups()  # type: ignore[union-attr]
    assert int(high) == math.ceil(100 * likelier)
    assert survey["odds"] in report(tmp_path, "html")
    assert survey["odds"] in report(tmp_path, "md").replace("\\", "")


def test_every_error_is_that_of_its_noise(tmp_path: Path, requests: list[Request]) -> None:
    """With 95 % confidence, of each level of a table."""
    errors = {error_within(DiscreteGaussian(Fraction(s)), 0.95) for s in ("7/3", "20")}
    for dataset in told(tmp_path)["datasets"]:
        for release in dataset["releases"]:
            if "rho" in release:
                assert {noise["error"] for noise in release["noise"]} == errors
            else:
                noise = DiscreteLaplace.for_epsilon(Fraction(release["epsilon"]))
                assert release["noise"][0]["error"] == error_within(noise, 0.95)
    assert requests


@pytest.mark.usefixtures("requests")
def test_json_has_every_number_exactly(tmp_path: Path) -> None:
    """Prices, scales, answers, sums: as the ledger has them."""
    configuration = configured(tmp_path)
    with Ledger.open(configuration.ledger_url) as ledger:
        entries, head = ledger.entries(), ledger.verify().head
    found = told(tmp_path)
    assert (found["head"], found["intact"], found["rows"]) == (str(head), True, head.number)
    releases = {each["key"]: each for of in found["datasets"] for each in of["releases"]}
    assert len(releases) == len(entries)
    for entry in entries:
        release, request = releases[entry.key], entry.request
        assert release["purpose"] == entry.purpose
        assert release["analyst"] == entry.analyst
        assert release["made"] == entry.made.isoformat()
        assert release["failed"] == (entry.answer is None)
        for name, price in request.currency.items():
            assert Fraction(release[name]) == price
        scales = [Fraction(noise["scale"]) for noise in release["noise"]]
        assert scales == (
            [Fraction(7, 3), 20] if request.epsilon is None else [1 / request.epsilon]
        )
        if isinstance(entry.answer, int):
            assert release["answer"] == entry.answer
    assert {each["dataset"] for each in found["datasets"]} == set(NAMES)


@pytest.mark.usefixtures("requests")
@pytest.mark.parametrize("form", ["html", "md", "csv"])
def test_no_form_for_people_has_a_long_number(tmp_path: Path, form: str) -> None:
    """Neither a fraction nor more than nine digits in a row, but for names and hashes."""
    text = re.sub(r"sha256:[0-9a-f]+|\d+:[0-9a-f]{64}|key \d+", "", report(tmp_path, form))
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\dZ)?", "", text)
    assert not re.search(r"\d/\d|\d{9}|\.\d{7}", text.replace("0123456789", ""))


@pytest.mark.usefixtures("requests")
def test_a_page_holds_no_markup_of_others(tmp_path: Path) -> None:
    """A question and a purpose that are HTML are text; nothing runs and nothing is loaded."""
    text = report(tmp_path, "html")
    tags, attributes, data = list[str](), list[str](), list[str]()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.append(tag)
            attributes.extend(name for name, _ in attrs)

        def handle_data(self, text: str) -> None:
            data.append(text)

    Reader().feed(text)
    assert "script" not in tags
    assert not {"img", "link", "iframe", "a", "form"} & set(tags)
    assert not {"src", "href", "style"} & set(attributes)
    assert not any(name.startswith("on") for name in attributes)
    assert not re.search(r"url\(|@import|https?://", text)
    assert "".join(data).count(HOSTILE) == 2
    assert "default-src 'none'" in text


@pytest.mark.usefixtures("requests")
def test_a_sheet_holds_no_formula(tmp_path: Path) -> None:
    """No cell that a spreadsheet would compute, of a question, a purpose or an answer."""
    rows = list(csv.DictReader(StringIO(report(tmp_path, "csv"))))
    assert len(rows) == DEBITS
    for row in rows:
        for name, cell in row.items():
            assert not cell.startswith(("=", "+", "@", "\t", "\r"))
            assert not cell.startswith("-") or name == "answer"
    assert any(row["purpose"] == f"'{HOSTILE}" for row in rows)
    assert {row["answer"] for row in rows} >= {"-8", "-7"}
    assert {row["status"] for row in rows} == {"answered", "charged, never answered"}


@given(st.text())
def test_no_text_is_a_formula(text: str) -> None:
    """After blanks either; what is none stays as it is."""
    cell = as_text(text)
    assert cell in {text, f"'{text}"}
    assert not cell.lstrip().startswith(("=", "+", "-", "@", "\uff1d"))


@pytest.mark.usefixtures("requests")
def test_a_table_of_markdown_has_its_columns_alone(tmp_path: Path) -> None:
    """Pipes, tags, links and emphasis in a question or a purpose are text."""
    text = report(tmp_path, "md")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == DEBITS + 4
    assert {len(re.split(r"(?<!\\)\|", row)) for row in rows} == {9}
    assert "<script" not in text
    assert not re.search(r"(?<!\\)[`\[]", text)


@given(st.text(alphabet=st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"])))
def test_nothing_in_a_line_of_markdown_is_markup(text: str) -> None:
    """Every character that could be is escaped, and the text is still there."""
    shown = as_inline(text)
    assert not re.search(r"(?<!\\)[|`*_\[\]<]", shown.replace("\\\\", ""))
    plain = re.sub(r"\\([\\`*_\[\]|~$])", r"\1", shown).replace(":&#47;/", "://")
    assert plain.replace("&lt;", "<").replace("&amp;", "&") == text


@given(st.fractions(min_value=0, max_value=10**9))
def test_spending_is_rounded_up_and_what_is_left_down(value: Fraction) -> None:
    """By less than a hundredth, and a short decimal not at all."""
    up = Fraction(rounded_up(value).replace(",", ""))
    down = Fraction(rounded_down(value).replace(",", ""))
    assert down <= value <= up
    assert up - down <= value / 100


def test_a_broken_chain_is_told_first(tmp_path: Path, requests: list[Request]) -> None:
    """With its row; all that is told is of the rows before it."""
    configuration = configured(tmp_path)
    with Ledger.open(configuration.ledger_url) as ledger:
        change(ledger, "UPDATE ledger SET purpose = 'another' WHERE number = 9")
    found = report_of(configuration)
    assert (found.is_verified, found.found.broken, found.found.head.number) == (False, 9, 8)
    assert sum(len(each.releases) for each in found.datasets) < len(requests)
    for form in ("html", "md"):
        text = written_report(found, configuration, form)
        assert "NOT VERIFIED: row 9 was changed: its hash is that of other columns" in text
        assert text.index("NOT VERIFIED") < text.index("survey")
        assert text.count("nothing, until the ledger is restored") == len(found.datasets)
        assert "one more question" not in text
    shown = told(tmp_path)
    assert (shown["intact"], shown["broken"], shown["rows"]) == (False, 9, 8)
    assert {each["remaining"] for each in shown["datasets"]} == {"0"}


def test_the_registry_gets_what_the_ledger_knows(tmp_path: Path, requests: list[Request]) -> None:
    """Its parameters are not below what was spent; what only the owner knows is null."""
    survey, visits = json.loads(report(tmp_path, "registry"))
    deployment = visits["deployment"]
    assert deployment["product"]["name"] == "visits"
    assert deployment["dp_flavor"]["name"] == "Zero-concentrated DP"
    assert deployment["privacy_loss"]["privacy_unit"] == "Person-level"
    assert "replacement" in deployment["privacy_loss"]["privacy_unit_description"]
    assert "adding" in survey["deployment"]["privacy_loss"]["privacy_unit_description"]
    assert deployment["product"]["data_product_region"] is None
    exact = Fraction(told(tmp_path)["datasets"][1]["spent"]["rho"])
    parameter = deployment["privacy_loss"]["privacy_parameters"]["rho"]
    assert 0 <= Fraction(parameter) - exact < Fraction(1, 10**9)
    assert requests


def test_a_report_of_nothing_is_one(tmp_path: Path) -> None:
    """Where nothing was asked yet: no ledger is made for it."""
    configuration = configured(tmp_path)
    found: Report = report_of(configuration)
    assert found.is_verified
    for form in FORMS:
        assert written_report(found, configuration, form)
    assert not (tmp_path / "ledger.db").exists()


def test_the_command_writes_every_form(run: Run, here: Path, refused: Refused) -> None:
    """To standard output or to a new file; an older file stays."""
    filled(configured(here), 6)
    for form in FORMS:
        shown = run("ledger", "report", "--format", form)
        assert (shown.status, shown.errors) == (0, "")
        assert run("ledger", "report", "--format", form, "--out", f"r.{form}").status == 0
        written = (here / f"r.{form}").read_text(encoding="utf-8")
        assert re.sub(r"\d\d:\d\d", "", written) == re.sub(r"\d\d:\d\d", "", shown.output)
    assert run("ledger", "report", "--json").object["rows"] == 10
    assert "exists already" in refused("ledger", "report", "--out", "r.md")


def test_the_command_ends_as_verify_does(run: Run, here: Path) -> None:
    """With the status of a ledger that refuses, after the report."""
    filled(configured(here), 6)
    with Ledger.open(f"sqlite:///{here}/ledger.db") as ledger:
        change(ledger, "UPDATE ledger SET epsilon = '0.01' WHERE number = 3")
    shown = run("ledger", "report")
    assert shown.status == 5
    assert "NOT VERIFIED: row 3" in shown.output
