import csv
import json
import math
import re
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noisycount as nc
from noisycount.config.config import load_config
from noisycount.display.numbers import rounded_down, rounded_up
from noisycount.ledger.entries import Analyst, Request
from noisycount.ledger.ledger import Ledger
from noisycount.model.concentrated import epsilon_of_rho
from noisycount.model.half_width import error_within
from noisycount.tasks.report.forms import FORMS, as_inline, registry_json, report_text, without_formula
from noisycount.tasks.report.report import Report, report_of
from noisycount.tasks.report.words import dataset_facts, release_cells
from tests.helpers.commands import Refused, Run
from tests.helpers.ledgers import change
from tests.helpers.report_ledgers import BUDGET, HOSTILE, NAMES, asked, configured, filled

DEBITS = 31


@pytest.fixture
def requests(tmp_path: Path) -> list[Request]:
    """The requests that a ledger was charged for, oldest first."""
    return filled(configured(tmp_path), DEBITS)


def told(folder: Path) -> dict[str, Any]:
    """The report as JSON."""
    configuration = configured(folder)
    text = report_text(report_of(configuration), configuration, "json")
    return dict(json.loads(text))


def report(folder: Path, form: str) -> str:
    """The report in another form."""
    configuration = configured(folder)
    return report_text(report_of(configuration), configuration, form)


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
        assert (dataset["failed"]["number"], Fraction(dataset["failed"]["spent"]["rho"])) == (len(failed), lost)
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
    highs = [math.ceil(100 / (1 + math.exp(-times * sum(prices)))) for times in (1, 2)]
    assert survey["odds"] == (
        f"all answers so far, ε = {rounded_up(sum(prices, Fraction(0)))}: a 50:50 guess whether one row is in the"
        f" records becomes at most {highs[0]}:{100 - highs[0]}; a guess about the group of a row known to be in them,"
        f" at most {highs[1]}:{100 - highs[1]}"
    )
    assert survey["odds"] in report(tmp_path, "html")
    assert survey["odds"] in report(tmp_path, "md").replace("\\", "")


def test_every_error_is_that_of_its_noise(tmp_path: Path, requests: list[Request]) -> None:
    """With 95 % confidence, of each level of a table."""
    errors = {error_within(nc.DiscreteGaussian(Fraction(s)), 0.95) for s in ("7/3", "20")}
    for dataset in told(tmp_path)["datasets"]:
        for release in dataset["releases"]:
            if "rho" in release:
                assert {noise["error"] for noise in release["noise"]} == errors
            else:
                noise = nc.DiscreteLaplace.for_epsilon(Fraction(release["epsilon"]))
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
        assert scales == ([Fraction(7, 3), 20] if request.epsilon is None else [1 / request.epsilon])
        if isinstance(entry.answer, int):
            assert release["answer"] == entry.answer
    assert {each["dataset"] for each in found["datasets"]} == set(NAMES)


@pytest.mark.thorough
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
    cell = without_formula(text)
    assert cell in {text, f"'{text}"}
    assert not cell.lstrip().startswith(("=", "+", "-", "@", "\uff1d"))


@pytest.mark.usefixtures("requests")
def test_a_table_of_markdown_has_its_columns_alone(tmp_path: Path) -> None:
    """Pipes, tags, links and emphasis in a question or a purpose are text."""
    text = report(tmp_path, "md")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    columns = [len(re.split(r"(?<!\\)\|", row)) for row in rows]
    assert columns.count(9) == DEBITS + 4
    assert set(columns) == {5, 6, 9}  # of tables, of analysts, of releases
    assert "<script" not in text
    assert not re.search(r"(?<!\\)[`\[]", text)


@given(st.text(alphabet=st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"])))
def test_nothing_in_a_line_of_markdown_is_markup(text: str) -> None:
    """Every character that could be is escaped, and the text is still there."""
    shown = as_inline(text)
    assert not re.search(r"(?<!\\)[|`*_\[\]<>]", shown.replace("\\\\", ""))
    plain = re.sub(r"\\([\\`*_\[\]|~$])", r"\1", shown).replace(":&#47;/", "://")
    assert plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == text


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
    assert (found.is_verified, found.verification.broken, found.verification.head.number) == (False, 9, 8)
    assert sum(len(each.releases) for each in found.datasets) < len(requests)
    for form in ("html", "md"):
        text = report_text(found, configuration, form)
        assert "NOT VERIFIED: row 9 was changed: its hash does not match its columns" in text
        assert text.index("NOT VERIFIED") < text.index("survey")
        accounts = len(found.datasets) + len(found.analysts)
        assert text.count("nothing, until the ledger is restored") == accounts
        assert "for one answer" not in text
        assert "if all is spent" not in text
        assert len(re.findall("at least [ερ] = ", text)) == accounts + len(found.datasets)  # and in the summary
        assert "50:50" not in text
        assert str(found.verification.head) not in text
    shown = told(tmp_path)
    assert (shown["intact"], shown["broken"], shown["rows"]) == (False, 9, 8)
    assert {each["remaining"] for each in shown["datasets"]} == {"0"}
    assert {each["odds"] for each in shown["datasets"]} == {None}


def test_the_registry_gets_what_the_ledger_knows(tmp_path: Path, requests: list[Request]) -> None:
    """Its parameters are not below what was spent; what only the owner knows is null."""
    survey, visits = json.loads(report(tmp_path, "registry"))
    deployment = visits["deployment"]
    assert deployment["product"]["name"] == "visits"
    assert deployment["dp_flavor"]["name"] == "Zero-concentrated DP"
    assert deployment["privacy_loss"]["privacy_unit"] == "Person-level"
    assert "by replacing one person" in deployment["privacy_loss"]["privacy_unit_description"]
    assert "adding" in survey["deployment"]["privacy_loss"]["privacy_unit_description"]
    assert deployment["product"]["data_product_region"] is None
    exact = Fraction(told(tmp_path)["datasets"][1]["spent"]["rho"])
    parameters = deployment["privacy_loss"]["privacy_parameters"]
    assert 0 <= Fraction(repr(parameters["rho"])) - exact < Fraction(1, 10**9)
    assert parameters["delta"] == 1e-6
    assert parameters["epsilon"] == epsilon_of_rho(exact, Fraction(1, 10**6))
    assert deployment["dp_flavor"]["unprotected_quantities"] == [
        "The names and the kinds of the columns.",
        "The number of persons, 5912, is public.",
    ]
    assert requests


def charged(folder: Path, *requests: Request) -> None:
    """Requests that were charged, without an answer."""
    with Ledger.open(configured(folder).ledger_url) as ledger:
        for request in requests:
            ledger.reserve(request.digest, request, BUDGET)


def table_of(price: str, scale: str, groups: int | None = 1, **parts: object) -> Request:
    """A table of three towns in the data set whose size is public."""
    table = {"by": ["town"], "keys": {"grid": [["Bern", "Biel", "Genf"]]}, "margins": []}
    asked = {
        "table": table | {"other": False, "groups_per_unit": groups, "cumulative": False} | parts,
        "where": None,
        "unit": "person",
        "version": "sha256:1",
        "mechanism": "discrete Laplace",
        "scales": [scale],
    }
    return Request("visits", json.dumps(asked), Fraction(price))


def test_a_size_that_was_written_later_changes_no_price(tmp_path: Path) -> None:
    """A table at ε = 0.5 for adding or removing tells as much as ε = 1 for replacement."""
    charged(tmp_path, table_of("0.5", "2"))
    visits = told(tmp_path)["datasets"][1]
    assert (visits["size"], visits["neighbours"]) == (5912, "replacement")
    assert (visits["spent"]["epsilon"], visits["spent_replaced"]["epsilon"]) == ("0.5", "1")
    assert visits["releases"][0]["neighbours"] == "adding or removing"
    assert visits["odds"] == "all answers so far, ε = 1: a 50:50 guess about one person becomes at most 74:26"
    text = report(tmp_path, "md")
    priced = "1 release was priced for adding or removing, and revealed more than was charged"
    assert f"replacing one person; {priced}" in text
    assert "ε = 0.5 as charged, ε = 1 for replacement" in text
    assert "| ε = 0.5, for adding or removing |" in text
    assert "visits,person,adding or removing" in report(tmp_path, "csv")
    registry = json.loads(report(tmp_path, "registry"))[0]["deployment"]["privacy_loss"]
    assert registry["privacy_parameters"] == {"epsilon": 1.0}


def test_a_size_that_was_taken_away_changes_no_price(tmp_path: Path) -> None:
    """A table that was priced for replacement says so; the report states what was lost for that beside the bound."""
    charged(tmp_path, table_of("0.5", "4"))
    path = tmp_path / "noisycount.toml"
    configured(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace("size = 5912", ""), encoding="utf-8")
    configuration = load_config(path)
    text = report_text(report_of(configuration), configuration, "md")
    assert "adding or removing one person; 1 release was priced for replacement\n" in text
    assert (
        "all answers so far, ε = 0.5: a 50:50 guess whether one person is in the records becomes at most 63:37" in text
    )
    assert "- **spent**: ε = 0.5\n" in text  # not more for replacement


@pytest.mark.parametrize(
    ("request_", "relation", "epsilon"),
    [
        (table_of("0.5", "2"), "adding or removing", "1"),
        (table_of("0.5", "4"), "replacement", "0.5"),
        (table_of("0.5", "4", 2), "adding or removing", "0.75"),
        (table_of("0.5", "6", 2), "replacement", "0.5"),
        (table_of("0.5", "6", None), "either", "0.5"),
        (table_of("0.5", "2", keys=None), "adding or removing", "1"),
        (table_of("0.5", "2", None, keys=None), "not known", "0.5"),
        (table_of("0.5", "4", 1, questions=["a", "b"]), "either", "0.5"),
        (Request("visits", "by hand", Fraction(1, 2)), "not known", "0.5"),
        (asked(1, "visits", Fraction(1, 2)), "either", "0.5"),
    ],
)
def test_the_neighbours_of_a_price_are_read_from_its_noise(
    request_: Request, relation: str, epsilon: str, tmp_path: Path
) -> None:
    """By how many counts a person can move, and how wide the noise is."""
    charged(tmp_path, request_)
    visits = told(tmp_path)["datasets"][1]
    assert visits["releases"][0]["neighbours"] == relation
    assert visits["spent_replaced"]["epsilon"] == epsilon


@pytest.mark.thorough
@pytest.mark.usefixtures("requests")
def test_the_counts_of_a_table_stand_beside_their_keys(tmp_path: Path) -> None:
    """In JSON, and in an appendix for people."""
    tables = [each for of in told(tmp_path)["datasets"] for each in of["releases"] if "rows" in each]
    assert tables
    cells, total = (
        {"error": error_within(noise, 0.95), "error_of_all": error_within(noise, 0.95, 3)}
        for noise in (nc.DiscreteGaussian(Fraction(7, 3)), nc.DiscreteGaussian(20))
    )
    for table in tables:
        assert table["rows"] == [
            {"level": "town", "keys": {"town": "Bern"}, "answer": 3, **cells},
            {"level": "town", "keys": {"town": "Genf"}, "answer": -4, **cells},
            {"level": "total", "keys": {"town": None}, "answer": -1, **total, "sum_of": "all of Bern, Genf"},
        ]
    text = report(tmp_path, "md")
    assert text.count("| town | Genf | −4 ±") == len(tables)
    assert text.count("| total | all of Bern, Genf | −1 ±") == len(tables)
    assert report(tmp_path, "html").count(">Genf</td>") == len(tables)


@pytest.mark.usefixtures("requests")
def test_a_report_explains_itself(tmp_path: Path) -> None:
    """Each symbol and word that it uses, who else may have an answer, and where to sign."""
    for form in ("md", "html"):
        text = report(tmp_path, form)
        for word in ("ε (epsilon)", "δ (delta)", "ρ (rho)", "neighbours", "version", "head"):
            assert word in text
        assert "Analysts may have passed answers on" in text
        assert "Signature" in text
        assert "analyst 2" in text


@pytest.mark.usefixtures("requests")
@pytest.mark.parametrize("form", ["md", "html"])
def test_the_summary_the_guide_and_the_signature_stand_before_the_releases(tmp_path: Path, form: str) -> None:
    """And the tables of cells after them, as an annex; the summary says of each data set what its section says."""
    text = report(tmp_path, form)
    order = ["consistent in themselves", " releases", "How to read this", "Signature", "when (UTC)", "counts by"]
    assert [text.index(words) for words in order] == sorted(text.index(words) for words in order)
    for dataset in told(tmp_path)["datasets"]:
        assert text.replace("\\", "").count(dataset["odds"]) == 2


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["md", "html"])
def test_data_sets_that_nobody_asked_are_listed_once(tmp_path: Path, form: str) -> None:
    """However many there are, by name alone."""
    configuration = configured(tmp_path)
    filled(configuration, 4)
    more = "".join(f'[datasets.ward-{number}]\nsource = "{number}.csv"\n' for number in range(300))
    with (tmp_path / "noisycount.toml").open("a", encoding="utf-8") as file:
        file.write(more)
    configuration = load_config(tmp_path / "noisycount.toml")
    text = report_text(report_of(configuration), configuration, form)
    assert text.count("Nothing was asked yet") == 1
    assert "300 data sets: ward-0, ward-1, " in text
    assert text.count("ward-299") == 1
    assert text.count("neighbours") == 3  # of two data sets, and in the guide


def test_a_ledger_that_lost_its_end_is_told_by_a_head(run: Run, here: Path) -> None:
    """Without one the report says that it compared with nothing."""
    filled(configured(here), 6)
    head = run("ledger", "verify", "--json").object["head"]
    with Ledger.open(f"sqlite:///{here}/ledger.db") as ledger:
        change(ledger, "DELETE FROM ledger WHERE number > 8")
    assert "not compared with a saved head" in run("ledger", "report").output
    assert run("ledger", "report", "--json").object["compared"] is None
    shown = run("ledger", "report", "--head", head)
    assert (shown.status, "NOT VERIFIED: row 9 is missing" in shown.output) == (5, True)


def test_a_report_of_nothing_is_one(tmp_path: Path) -> None:
    """A report before the first question is valid, and makes no ledger."""
    configuration = configured(tmp_path)
    found: Report = report_of(configuration)
    assert found.is_verified
    for form in FORMS:
        assert report_text(found, configuration, form)
    assert not (tmp_path / "ledger.db").exists()


@pytest.mark.thorough
def test_the_command_writes_every_form(run: Run, here: Path, refused: Refused) -> None:
    """To standard output or to a new file; an older file stays."""
    filled(configured(here), 6)
    for form in FORMS:
        shown = run("ledger", "report", "--format", form)
        assert (shown.status, shown.errors) == (0, "")
        assert run("ledger", "report", "--format", form, "--out", f"r.{form}").status == 0
        written = (here / f"r.{form}").read_text(encoding="utf-8")
        without_time = [re.sub(r"\d\d:\d\d(:\d\d)?", "", text) for text in (written, shown.output)]
        assert without_time[0] == without_time[1]
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


WORTH = '[ledger]\nurl = "sqlite:///ledger.db"\n[datasets.survey]\nsource = "s.csv"\nunit = "person"\n'


def worth(folder: Path, budget: str, *requests: Request) -> dict[str, str]:
    """The facts of the one data set of a report, after requests."""
    (folder / "noisycount.toml").write_text(f"{WORTH}budget = {budget}\n", encoding="utf-8")
    configuration = load_config(folder / "noisycount.toml")
    dataset = configuration.datasets["survey"]
    with Ledger.open(configuration.ledger_url) as ledger:
        for number, request in enumerate(requests):
            ledger.reserve(f"key {number}", request, dataset.budget, Analyst("ana"))
    (reported,) = report_of(configuration).datasets
    return dict(dataset_facts(reported))


@pytest.mark.parametrize(
    ("budget", "spent", "left"),
    [
        ('"2"', "1.55", "ε = 0.45 for one answer, or 45 answers at ε = 0.01"),
        ('"1"', "1/3", "ε = 0.666 for one answer, or 66 answers at ε = 0.01"),
        ('"1"', "1", "nothing"),
        ('{rho = "0.1"}', "0.2", "ε = 0.4 for one answer, or 1,600 answers at ε = 0.01"),
        ('{rho = "0.1"}', "0.1", "ε = 0.435 for one answer, or 1,900 answers at ε = 0.01"),
    ],
)
def test_what_is_left_is_what_it_pays_for(tmp_path: Path, budget: str, spent: str, left: str) -> None:
    """The remaining budget states one large or many small answers, never more than fit."""
    assert worth(tmp_path, budget, asked(1, "survey", Fraction(spent)))["left"] == left


@pytest.mark.parametrize(
    ("budget", "whole"),
    [
        ('"3"', ["at most 96:4", "at most 99.76:0.24"]),
        ('"0.01"', ["at most 51:49", "at most 51:49"]),
        ('{epsilon = "3", delta = "1e-3"}', ["96:4", "99.76:0.24", "with probability 0.001"]),
        ('{rho = "0.5"}', ["at most 99.47:0.53", "99.958:0.042", "probability 1e-06"]),
    ],
)
def test_what_a_budget_may_tell_follows_from_it(tmp_path: Path, budget: str, whole: list[str]) -> None:
    """The odds of its ε, of twice that where somebody is known to be in the records, and its δ."""
    told = worth(tmp_path, budget)["if all is spent"]
    assert all(words in told for words in whole), told


def test_the_odds_of_a_rho_are_at_the_delta_of_the_budget(tmp_path: Path) -> None:
    """By the least ε over all orders, and not at the usual δ, which belongs to no budget."""
    delta = "0.001"
    request = asked(3, "survey", Fraction("0.02"))
    told = worth(tmp_path, f'{{epsilon = "3", delta = "{delta}", for_keys = "0"}}', request)["meaning"]
    orders = (1 + 10 ** (each / 1000) for each in range(-2000, 4000))
    least = min(
        0.02 * order + math.log(1 / (float(delta) * order)) / (order - 1) + math.log(1 - 1 / order) for order in orders
    )
    share = math.floor(100 / (1 + math.exp(least)))
    assert f"becomes at most {100 - share}:{share}" in told
    assert f"given away with probability {delta}" in told


@pytest.mark.parametrize("form", ["html", "md"])
def test_nothing_is_called_verified_that_was_compared_with_nothing(tmp_path: Path, form: str) -> None:
    """A box is green only where a head was written down and found again."""
    configuration = configured(tmp_path)
    empty = report_text(report_of(configuration), configuration, form)
    filled(configuration, 6)
    alone = report_of(configuration)
    compared = report_of(configuration, alone.verification.head)
    texts = [empty, *(report_text(each, configuration, form) for each in (alone, compared))]
    assert ["notice good" in text for text in texts] == [False, False, form == "html"]
    assert not any("**verified**" in text for text in texts)


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        (([5, 5], [40]), "each ±5, sums ±40"),
        (([9, 5], [40]), "each ±5 to ±9, sums ±40"),
        (([5, 5], [40, 7]), "each ±5, sums ±7 to ±40"),
    ],
)
def test_several_errors_are_reported_from_the_smallest_to_the_largest(
    tmp_path: Path, errors: tuple[list[int], list[int]], words: str
) -> None:
    """Of a table with margins; the errors of its cells stand first."""
    configuration = configured(tmp_path)
    filled(configuration, 8)
    releases = [each for one in report_of(configuration).datasets for each in one.releases]
    table = next(each for each in releases if len(each.levels) == 2 and not each.is_failed)
    assert table.release is not None
    release = replace(table.release, own_errors=tuple(map(np.array, errors)))
    vars(table)["_plan_and_release"] = table.release.plan, release
    assert release_cells(table)[4].endswith(words)


def test_a_registry_entry_was_published_first_with_its_first_release(tmp_path: Path) -> None:
    """And went on until its last."""
    configuration = configured(tmp_path)
    filled(configuration, 4)
    told = report_of(configuration)
    first, last = told.datasets[0].releases
    later = replace(last, entry=replace(last.entry, made=first.entry.made + timedelta(days=40)))
    dataset = replace(told.datasets[0], releases=(first, later))
    (entry,) = registry_json(replace(told, datasets=(dataset,)))
    product, model = entry["deployment"]["product"], entry["deployment"]["model"]
    days = [f"{each.entry.made:%Y-%m-%d}" for each in (first, later)]
    assert product["publication_date"] == days[0]
    assert f"from {days[0]} to {days[1]};" in model["release_type_description"]
