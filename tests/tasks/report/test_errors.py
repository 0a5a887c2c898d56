"""The report states of each row what its answer stated."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import noisycount as nc
from noisycount.analysis.within import price_grid
from noisycount.config.config import Config, load_config
from noisycount.config.places import sqlite_url
from noisycount.display.numbers import plus_minus, signed
from noisycount.model.half_width import error_within
from noisycount.query.query import Query
from noisycount.release.results import Release
from noisycount.release.table_release import TableRelease
from noisycount.tasks.report.forms import report_text
from noisycount.tasks.report.report import report_of

TOWNS = {"town": ["Köln", "Bern", "Aarau"]}
SURVEY = pl.DataFrame({"town": ["Köln"] * 900 + ["Bern"] * 90 + ["Aarau"] * 9, "age": [30] * 999})


def reported(folder: Path, form: str = "json") -> str:
    """Give the report of the ledger of a folder."""
    configuration = _configuration(folder)
    return report_text(report_of(configuration), configuration, form)


def _configuration(folder: Path) -> Config:
    text = f'[ledger]\nurl = "{sqlite_url(folder / "ledger.db")}"\n'
    (folder / "noisycount.toml").write_text(text, encoding="utf-8")
    return load_config(folder / "noisycount.toml")


def releases(folder: Path) -> list[dict[str, Any]]:
    """Give the releases of the report, oldest first."""
    (dataset,) = json.loads(reported(folder))["datasets"]
    return list(dataset["releases"])


def stated(answer: Release | TableRelease) -> list[tuple[object, int, int]]:
    """Give the keys, the answer and the error of each row of an answer."""
    if isinstance(answer, Release):
        return [(None, answer.answer, answer.error)]
    return [(row.labels, row.answer, row.error) for row in answer.rows]


def rows(release: dict[str, Any]) -> list[tuple[object, int, int]]:
    """Give the same of a release of the report."""
    if "rows" not in release:
        return [(None, release["answer"], release["error"])]
    return [(tuple(row["keys"].values()), row["answer"], row["error"]) for row in release["rows"]]


ASKED: list[list[dict[str, Any]]] = [
    [{"wheres": ["age = 30"], "epsilon": "1/3"}],
    [{"wheres": ["age = 30"], "within": share, "at_most": "3"} for share in ("20%", "10%", "5%")],
    [{"wheres": ["town = 'Bern'"], "within": "20%", "at_most": "1", "confidence": sure} for sure in (0.8, 0.9)],
    [{"wheres": ["town = 'Aarau'"], "within": "10%", "at_most": "0.1"}],
    [{"wheres": ["town = 'Köln'", "age = 30", "town = 'Bern'"], "is_list": True, "epsilon": "1"}],
    [
        {"wheres": ["town = 'Köln'", "town = 'Bern'"], "is_list": True, "within": share, "at_most": "9"}
        for share in ("40%", "30%")
    ],
    [
        {"by": ["town"], "keys": TOWNS, "margins": ["total"], "within": share, "at_most": "1", "of": "largest"}
        for share in ("30%", "10%")
    ],
    [
        {"by": ["town"], "keys": TOWNS, "margins": ["total"], "within": share, "at_most": "2", "of": "total"}
        for share in ("30%", "3%")
    ],
    [{"by": ["town"], "keys": TOWNS, "other": True, "within": "20%", "at_most": "2", "of": "90%-of-cells"}],
    [{"by": ["town"], "keys": TOWNS, "rho": rho, "noise": nc.DiscreteGaussian} for rho in ("0.01", "0.02")],
]


@pytest.mark.thorough
@pytest.mark.always
@pytest.mark.parametrize("questions", ASKED, ids=range(len(ASKED)))
def test_the_report_states_the_errors_of_the_answers_in_their_order(
    tmp_path: Path, questions: list[dict[str, Any]]
) -> None:
    """Of counts, lists and tables, at a price, within a share of the count, and topped up."""
    budget = {"rho": "1000"} if "rho" in questions[0] else "1000"
    with nc.open_desk(SURVEY, unit="row", budget=budget, ledger=tmp_path / "ledger.db", name="survey") as desk:
        answers = [desk.answer(Query(**question)) for question in questions]
    found = releases(tmp_path)
    kept = {answer.key: answer for answer in reversed(answers)}  # a later question may have an earlier answer
    assert [rows(each) for each in found] == [stated(kept[each["key"]]) for each in found]
    assert [each["confidence"] for each in found] == [kept[each["key"]].confidence for each in found]


@pytest.mark.thorough
def test_an_error_of_another_confidence_says_so(tmp_path: Path) -> None:
    """Beside it, and in the header of a table."""
    goal = {"within": "20%", "at_most": "1", "confidence": 0.8}
    with nc.open_desk(SURVEY, unit="row", budget="9", ledger=tmp_path / "ledger.db", name="survey") as desk:
        count = desk.release("town = 'Bern'", **goal)
        desk.release_table("town", TOWNS, of="largest", **goal)
        desk.release("age = 30", epsilon="1/10")
    text = reported(tmp_path, "md")
    assert f"| {signed(count.answer)} {plus_minus(count.error)} (80 %) |" in text
    assert "(80 %) | discrete Laplace" in text
    assert "| counts by | town | answer (80 %) |" in text
    assert text.count("(80 %)") == 3


def test_a_top_up_adds_its_share_to_what_is_lost_for_replacement(tmp_path: Path) -> None:
    """A table whose units come and go loses twice its price for replacement, also where the price was paid in parts."""
    with nc.open_desk(SURVEY, unit="row", budget="9", ledger=tmp_path / "ledger.db", name="survey") as desk:
        for price in ("1/2", "7/10"):
            desk.release_table("town", TOWNS, epsilon=price)
    (dataset,) = json.loads(reported(tmp_path))["datasets"]
    assert dataset["spent"]["epsilon"] == "0.7"
    assert dataset["spent_replaced"]["epsilon"] == "1.4"


@pytest.mark.thorough
def test_a_level_that_does_not_decide_has_a_wider_error_after_a_top_up(tmp_path: Path) -> None:
    """Its answer may be stated because of itself at each price, and the chances to be wrong add up to 5 % together."""
    with nc.open_desk(SURVEY, unit="row", budget="9", ledger=tmp_path / "ledger.db", name="survey") as desk:
        first = desk.release_table("town", TOWNS, epsilon="1/10", margins="total")
        goal = {"within": "3%", "at_most": "1", "of": "largest", "margins": "total"}
        table = desk.release_table("town", TOWNS, **goal)
    total = table.plan.levels[1].mechanism
    prices = [price for price in price_grid("1") if price >= Fraction(103, 1000)]
    assert table.replaces == (first.key,)
    assert table.error_at(1, 0) >= error_within(total, 1 - 0.05 / (1 + len(prices))) > error_within(total, 0.95)
