import json
import random
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from noisycount.display.numbers import signed
from noisycount.errors import NoisyCountError
from noisycount.tasks.refine import table as refined_tables
from tests.helpers.commands import Refused, Run, configure

EXACTLY = "20000"  # at this ε, over these levels, the noise is 0 but for a chance below 1e-200
HEALTH = "health=excellent,good,fair,poor"
PERSONS = {"excellent": 3275, "good": 2088, "fair": 457, "poor": 92}
RICH = 'unit = "person"\nbudget = "1000000"'


@pytest.fixture
def counted(run: Run, here: Path) -> Run:
    """A command of a table that has no noise to speak of."""
    configure(here, RICH)
    return lambda *words: run("count", "survey", *words, "--epsilon", EXACTLY, "--json")


def answers(told: dict[str, object]) -> dict[tuple[object, ...], int]:
    """The answers of a table by level and keys."""
    rows: list[dict[str, object]] = told["rows"]  # type: ignore[assignment]  # as JSON has it
    return {(row["level"], *row["keys"].values()): row["answer"] for row in rows}  # type: ignore[attr-defined, misc]  # the same


def test_each_listed_key_has_a_row(counted: Run) -> None:
    """Absent ones and missing values too, in the order in which they are listed."""
    told = counted("--by", "health", "--keys", f"{HEALTH},null,awful").object
    expected = [*PERSONS.items(), (None, 0), ("awful", 0)]
    assert [(row["keys"]["health"], row["answer"]) for row in told["rows"]] == expected
    assert told["by"] == ["health"]
    assert told["price"] == told["charged"] == {"epsilon": EXACTLY, "rho": "200000000", "delta": "0"}


def test_columns_combine_and_have_sums(counted: Run) -> None:
    """Persons, distinct in each cell and each sum; the estimates from all levels beside them."""
    words = ("--by", "site,female", "--keys", "site=1..6", "--margins", "site,total")
    told = counted(*words, "--groups-per-unit", "1").object
    found = answers(told)
    assert len(found) == 12 + 6 + 1
    assert found["total", None, None] == 5912
    assert found["site", 1, None] == found["site,female", 1, False] + found["site,female", 1, True]
    assert {level["level"] for level in told["levels"]} == {"site,female", "site", "total"}
    assert all(abs(row["combined"] - row["answer"]) < 0.1 for row in told["rows"])


def test_other_keys_are_one_row(counted: Run) -> None:
    """Whoever has none of the listed keys in some record."""
    told = counted("--by", "health", "--keys", "health=excellent,good", "--other").object
    last = told["rows"][-1]
    assert (last["level"], last["keys"]) == ("other", {"health": None})
    assert PERSONS["fair"] <= last["answer"] <= PERSONS["fair"] + PERSONS["poor"]


def test_several_questions_are_one_table(counted: Run, here: Path) -> None:
    """Typed or from a file, in their order, for one price."""
    (here / "asked.txt").write_text("# a remark\nhealth = 'fair'\n\n health = 'good'\n", "utf-8")
    told = counted("--where", "health = 'poor'", "--questions", "asked.txt").object
    assert [row["answer"] for row in told["rows"]] == [92, 457, 2088]
    assert told["rows"][0]["keys"]["question"] == "health = 'poor'"
    assert told["charged"]["epsilon"] == EXACTLY


def test_keys_of_a_file_are_those_of_a_column_or_of_each_row(counted: Run, here: Path) -> None:
    """An empty cell is the missing value; ranges of numbers go by their words."""
    (here / "keys.csv").write_text("health,since\npoor,1974\n,\nfair,1975\n", "utf-8")
    words = ("--by", "health,female", "--keys-from", "keys.csv")
    assert len(counted(*words, "--groups-per-unit", "1").object["rows"]) == 6
    cells = "female,age,health\ntrue,18.0 to under 40.0,fair\nfalse,0.0 to under 18.0,\n"
    (here / "cells.csv").write_text(cells.replace(".0", ""), "utf-8")
    by = ("--by", "health", "--by", "age:0,18,40", "--by", "female")
    told = counted(*by, "--keys-from", "cells.csv").object
    assert [list(row["keys"].values()) for row in told["rows"]] == [
        ["fair", "18 to under 40", True],
        [None, "0 to under 18", False],
    ]


def test_sums_up_to_each_key(counted: Run) -> None:
    """A table in order has them beside its answers."""
    told = counted(*("--by", "year", "--keys", "year=1..5", "--cumulative", "--groups-per-unit", "1")).object
    cells = [row for row in told["rows"] if row["level"] == "year"]
    assert round(cells[-1]["sum_so_far"]) == sum(row["answer"] for row in cells) == 5912


def test_the_same_table_is_free(run: Run, here: Path) -> None:
    """Also when its keys are listed in another order, as the words tell."""
    configure(here, 'unit = "person"')
    first = ("--by", "health", "--keys", HEALTH, "--epsilon", "1")
    told = run("count", "survey", *first, "--json").object
    again = run("count", "survey", "--by", "health", "--keys", "health=poor,fair,good,excellent",
                "--epsilon", "1", "--json").object  # fmt: skip
    assert answers(again) == answers(told)
    assert (again["repeated"], again["charged"]["epsilon"], again["remaining"]) == (True, "0", "1")
    assert "nothing: this was asked before; 1 of 2 left" in run("count", "survey", *first).output


def test_rows_within_a_goal_cost_what_they_need(run: Run, here: Path) -> None:
    """Each row of each level, at the least price of two digits."""
    configure(here, 'unit = "person"')
    words = ("--by", "site", "--keys", "site=1..6", "--groups-per-unit", "1", "--margins", "total")
    goal = ("--within", "10%", "--guess", "500")
    told = run("count", "survey", *words, *goal, "--dry-run", "--json").object
    assert max(level["error"] for level in told["levels"]) <= 50
    price = told["price"]["epsilon"]
    assert len(price.replace("0", "").replace(".", "")) <= 2
    less = f"{float(price) - 10 ** -len(price.partition('.')[2]):.6g}"
    worse = run("count", "survey", *words, "--epsilon", less, "--dry-run", "--json").object
    assert max(level["error"] for level in worse["levels"]) > 50


def test_a_dry_run_charges_nothing(run: Run, here: Path) -> None:
    """It shows ± of every level and the price, and makes no ledger."""
    configure(here, 'unit = "person"')
    words = ("--by", "site,female", "--keys", "site=1..6", "--margins", "all")
    told = run("count", "survey", *words, "--epsilon", "3", "--dry-run")
    assert told.status == 0
    assert "it would be refused: ε = 3 exceeds the remaining budget" in told.output
    assert "│ site,female │" in told.output
    assert not (here / "ledger.db").exists()


def test_a_dry_run_tells_what_its_budget_never_pays_for(run: Run, here: Path) -> None:
    """Hidden keys need δ: more than enough ε is left, and no wider ± would help."""
    configure(here, 'unit = "person"')
    told = run("count", "survey", *HIDDEN, "--groups-per-unit", "1", "--dry-run")
    assert told.status == 0
    assert "it would be refused: a budget in ε alone pays for no hidden keys" in " ".join(told.output.split())


def test_a_report_tells_the_error_of_each_count_of_a_table_within_a_share(run: Run, here: Path) -> None:
    """Of four, the largest one is told within its share, which is wider than what noise alone gives the rare one."""
    configure(here, 'unit = "person"')
    words = ("--by", "health", "--keys", "health=poor,fair,good,excellent", "--groups-per-unit", "1")
    told = run("count", "survey", *words, "--within", "20%", "--at-most", "1", "--of", "largest", "--json").object
    errors = [row["error"] for row in told["rows"]]
    assert errors[0] == min(errors) < max(errors)
    report = run("ledger", "report").output
    for row in told["rows"]:
        assert f"| {row['keys']['health']} | {signed(row['answer'])} ±{row['error']:,} |" in report


def test_a_dry_run_of_several_questions_tells_their_number(run: Run) -> None:
    """As they are many, and stand in the answer."""
    words = ("--where", "age > 40", "--where", "age > 60", "--unit", "row", "--epsilon", "1")
    told = run("count", "survey.parquet", *words, "--dry-run").output
    assert told.startswith("question  2 questions\n")
    assert "│ questions │ 2 " in told


def test_hidden_keys_appear_from_a_threshold_on(run: Run, here: Path) -> None:
    """Which is said, with the smallest count that is shown surely."""
    configure(here, 'unit = "person"\nbudget = { epsilon = "9", delta = "1e-4", for_keys = "5e-5" }')
    words = ("--by", "health", "--delta", "1e-6", "--groups-per-unit", "1", "--epsilon", "1")
    told = run("count", "survey", *words, "--margins", "total", "--json").object
    shown = {row["keys"]["health"] for row in told["rows"] if row["level"] == "health"}
    assert shown == set(PERSONS)
    assert not any("combined" in row for row in told["rows"])  # the keys that are not shown count
    assert 14 < told["threshold"] < told["surely_shown"] < 40
    words_told = run("count", "survey", *words).output
    assert "shown from a noisy count of" in " ".join(words_told.split())
    none = run("count", "survey", "--where", "health = 'poor' and age > 64", *words)
    assert "no key is shown: none reached the threshold" in none.output


def test_gaussian_noise_is_paid_in_rho(run: Run, here: Path) -> None:
    """Or in (ε, δ), where what is charged is ρ."""
    configure(here, 'unit = "person"\nbudget = { rho = "1" }')
    words = ("--by", "health", "--keys", HEALTH, "--groups-per-unit", "1")
    told = run("count", "survey", *words, "--rho", "0.02", "--json").object
    assert told["mechanism"] == "discrete Gaussian"
    assert (told["price"]["epsilon"], told["charged"]["rho"]) == (None, "0.02")
    pair = ("--noise", "gaussian", "--epsilon", "1", "--delta", "1e-6")
    both = run("count", "survey", *words, *pair, "--json").object
    assert (both["price"]["rho"], both["charged"]["rho"]) == ("0.0243559", "0.0043559")
    assert both["replaces"] == [told["key"]]


@pytest.mark.thorough
def test_a_preview_promises_no_less_error_than_the_combination_has(run: Run, here: Path) -> None:
    """Combined draws may lie farther off than one draw at their price: ±6 here, where that has ±5."""
    configure(here, 'unit = "person"\nbudget = { rho = "1" }')
    words = ("--by", "health", "--keys", HEALTH, "--groups-per-unit", "1", "--margins", "total")
    alone = run("count", "survey", *words, "--rho", "0.1", "--dry-run", "--json").object
    run("count", "survey", *words, "--rho", "0.05")
    dry = run("count", "survey", *words, "--rho", "0.1", "--dry-run", "--json").object
    told = run("count", "survey", *words, "--rho", "0.1", "--json").object
    assert dry["levels"] == told["levels"]
    assert [of["levels"][0]["error"] for of in (alone, told)] == [5, 6]


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "rows.json"])
def test_gaussian_noise_that_was_topped_up_is_told_as_a_combination(run: Run, here: Path, name: str) -> None:
    """In words and in JSON; a file of it, and its key, are refined by the exact mean of the draws."""
    configure(here, 'unit = "person"\nbudget = { rho = "1" }')
    words = ("--by", "health", "--keys", HEALTH, "--groups-per-unit", "1")
    first = run("count", "survey", *words, "--rho", "0.001", "--json").object
    dry = run("count", "survey", *words, "--rho", "0.004", "--dry-run")
    assert "ρ = 0.003 would be charged: you have it at ρ = 0.001, each count ±" in dry.words
    told = run("count", "survey", *words, "--rho", "0.004", "--output", name)
    assert "charged ρ = 0.003: a draw of its own, which is combined with the earlier answers to ρ = 0.004" in told.words
    assert "the whole number nearest to the mean of 2 independent draws" in told.words
    again = run("count", "survey", *words, "--rho", "0.002").words
    assert "charged nothing: the best answer known is given, of ρ = 0.004" in again
    told = run("count", "survey", *words, "--rho", "0.004", "--json").object
    assert [row["parts"][1] for row in told["rows"]] == [row["answer"] for row in first["rows"]]
    weights = [1 / float(scale) ** 2 for scale in told["levels"][0]["scales"]]
    for row in told["rows"]:
        mean = sum(weight * part for weight, part in zip(weights, row["parts"], strict=True)) / sum(weights)
        assert row["mean"] == pytest.approx(mean)
        assert abs(row["answer"] - row["mean"]) <= 0.5
    of_file = run("refine", "--table", name, "--json").object
    of_key = run("refine", "--key", told["key"], "--json").object
    means = sorted(row["mean"] for row in told["rows"])
    for refined in (of_file["rows"], of_key["rows"]):
        assert sorted(row["answer"] for row in refined) == means
    ends = [{(row["answer"], row["low"], row["high"]) for row in of["rows"]} for of in (of_file, of_key)]
    assert ends[0] == ends[1]
    shown = run("ledger", "show", "--json").object["entries"][1]
    assert (shown["rho"], shown["rho_in_all"], shown["replaces"]) == ("0.003", "0.004", first["key"])


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "rows.arrow", "rows.json"])
def test_files_hold_all_rows(counted: Run, here: Path, name: str) -> None:
    """With their keys, answers and errors; the same in each format."""
    words = ("--by", "site", "--keys", "site=1..6", "--margins", "total", "--groups-per-unit", "1")
    told = counted(*words, "--output", name).object
    if name.endswith("json"):
        assert json.loads((here / name).read_text("utf-8")) == told
        return
    if name.endswith("arrow"):
        table = pl.from_arrow(pa.ipc.open_file(here / name).read_all())
    else:
        table = duckdb.sql(f"FROM '{name}'").pl()
    assert isinstance(table, pl.DataFrame)
    assert table.columns == [
        *("site", "level", "answer", "error", "error_of_all", "sum_of", "mechanism", "scale"),
        *("combined", "combined_standard_error"),
    ]
    assert all(each > 0 for each in table["combined_standard_error"])
    rows = [(*row["keys"].values(), row["answer"]) for row in told["rows"]]
    assert table.select("site", "answer").rows() == rows


def test_no_column_hides_another(run: Run, here: Path) -> None:
    """Columns that are named like results keep their names, and all names differ."""
    (here / "odd.csv").write_text("combined,level\na,1\nb,2\n", "utf-8")
    words = ("--by", "combined,level", "--keys", "combined=a,b", "--keys", "level=1,2")
    more = ("--unit", "row", "--margins", "total", "--epsilon", "1", "--output", "rows.csv")
    assert run("count", "odd.csv", *words, *more).status == 0
    names = (here / "rows.csv").read_text("utf-8").splitlines()[0].split(",")
    assert names[:2] == ["combined", "level"]
    assert len(names) == len(set(names)) == 11


def test_arrow_files_say_what_to_install(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is charged; Parquet needs nothing."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    words = ("count", "survey.parquet", "--unit", "row", *LISTED, "--epsilon", "1")
    told = refused(*words, "--output", "rows.arrow")
    assert "pip install '.[frames]' in the folder of its sources" in told
    assert "; .parquet needs none" in told


def test_each_file_is_named_once_it_is_written(run: Run, monkeypatch: pytest.MonkeyPatch, here: Path) -> None:
    """The rows and the picture; a table that was paid for is told though a file fails."""
    configure(here)
    asked = ("count", "survey", "--by", "health", "--keys", HEALTH, "--epsilon", "1")
    both = run(*asked, "--output", "rows.csv", "--plot", "table.svg").output.splitlines()
    assert [line.split() for line in both[-2:]] == [["file", "rows.csv"], ["file", "table.svg"]]

    def full(*_: object) -> None:
        raise NoisyCountError("the disk is full")

    monkeypatch.setattr("noisycount.tasks.table_files.save_rows", full)
    told = run(*asked, "--output", "other.csv")
    assert "the disk is full" in told.errors
    assert "excellent" in told.output
    assert "file  " not in told.output


def test_a_picture_of_the_cells_replaces_an_older_one(counted: Run, here: Path) -> None:
    """As its help says; rows are written to a new file alone."""
    (here / "table.svg").write_text("older", "utf-8")
    assert counted("--by", "health", "--keys", HEALTH, "--plot", "table.svg").status == 0
    assert "Persons by health" in (here / "table.svg").read_text("utf-8")


def test_long_tables_are_cut_in_the_middle(counted: Run, run: Run) -> None:
    """A line says how to get all."""
    words = ("--by", "site", "--keys", "site=1..2000", "--groups-per-unit", "1")
    assert len(counted(*words).object["rows"]) == 2000
    told = run("count", "survey", *words, "--epsilon", EXACTLY).output
    lines = [line for line in told.splitlines() if line.startswith("│")]
    assert len(lines) == 1001
    assert lines[500].split() == ["│", "…", "│", "…", "│"]
    assert "2,000, of which 1,000 are not shown: --output FILE writes all" in told


HIDDEN = ("--by", "health", "--delta", "1e-6", "--epsilon", "1")
LISTED = ("--by", "health", "--keys", HEALTH)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--by", "health", "--where", "age > 1", "--where", "age > 2"), "give --by with one"),
        (("--where", "age > 1", "--keys", "health=a"), "--keys belongs to a table"),
        (("--where", "age > 1", "--margins", "total"), "--margins belongs to a table"),
        (("--where", "age > 1", "--noise", "gaussian"), "--noise belongs to a table"),
        ((*LISTED, "--delta", "1e-6"), "--delta is for hidden keys and Gaussian noise, and all keys are known"),
        ((*LISTED, "--by", "site", "--cumulative"), "--cumulative needs one column"),
        ((*LISTED, "--cumulative", "--margins", "total"), "leave --margins out"),
        ((*LISTED, "--noise", "laplace", "--rho", "1"), "--rho is the price of Gaussian"),
        ((*LISTED, "--noise", "gaussian"), "needs --rho, or --epsilon with --delta 1e-6"),
        ((*LISTED, "--rho", "1"), "give one price"),
        ((*LISTED, "--output", "rows.txt"), "must end in .csv, .parquet, .json or .arrow"),
        ((*LISTED, "--by", "health"), "names 'health' twice"),
        ((*LISTED, "--keys", "health=a"), "lists the keys of 'health' twice"),
        ((*LISTED, "--groups-per-unit", "0"), "must be a whole number from 1"),
        ((*LISTED, "--noise", "cauchy"), "must be laplace or gaussian, got 'cauchy'"),
        ((*LISTED, "--margins", "total,total"), "names 'total' twice"),
    ],
)
def test_what_makes_no_sense_is_refused_first(refused: Refused, words: tuple[str, ...], why: str) -> None:
    """Before any file is opened: the one that is named is not there."""
    price = () if "--epsilon" in words else ("--epsilon", "1")
    assert why in refused("count", "nowhere.csv", *words, *price)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--by", "health"), "keys of health are missing: list them, --keys health=a,b,c"),
        (("--by", "helth", "--keys", "helth=a"), "did you mean 'health'?"),
        (("--by", "person", "--keys", "person=1"), "the unit"),
        (("--by", "health", "--keys", "health=a,a"), "'a' twice"),
        (("--by", "site", "--keys", "site=a"), "keys of site have 'a'"),
        (("--by", "age:18,0"), "must rise"),
        (("--by", "age", "--keys", "age=1"), "group it as 'age:0,18,65'"),
        ((*LISTED, "--margins", "totl"), "no margin: use 'total'"),
        (("--by", "site,year", "--keys", "site=1..2000", "--keys", "year=1..2000"), "4,000,000"),
        ((*LISTED, "--output", "survey.parquet"), "exists already"),
        ((*LISTED, "--output", "nowhere/rows.csv"), "check its folder"),
        (("--by", "health", "--keys-from", "survey.parquet"), "names the records themselves"),
        (("--by", "health", "--keys-from", "towns.csv"), "has the columns town, since"),
        (("--by", "health,site", "--keys", "site=1", "--keys-from", "site.csv"), "leave one out"),
        (("--by", "site", "--keys", "site=1..201", "--plot", "a.svg"), "draws up to 200 rows"),
        (("--where", "age > 1", "--where", "age > 1.0"), "twice"),
        (("--questions", "nowhere.txt"), "cannot be read"),
        (HIDDEN, "--groups-per-unit is missing"),
        ((*HIDDEN, "--other"), "--other needs known keys: list --keys, or leave it out"),
        (
            ("--by", "health,site", *HIDDEN[2:], "--margins", "health"),
            "--margins total is the only sum",
        ),
        ((*HIDDEN, "--cumulative"), "--cumulative needs known keys"),
        (("--by", "health", "--keys", "helth=a"), "--keys name 'helth', which is not in --by: did you mean 'health'?"),
        (("--where", "age > 1", "--keys-from", "site.csv"), "--keys-from belongs to a table: add --by"),
        (("--where", "age > 1", "--plot", "a.svg"), "--plot belongs to a table: add --by"),
    ],
)
def test_what_cannot_be_asked_makes_no_ledger(refused: Refused, here: Path, words: tuple[str, ...], why: str) -> None:
    """A refusal is a single line, and no file is made."""
    (here / "towns.csv").write_text("town,since\nBern,1191\n", "utf-8")
    (here / "site.csv").write_text("site\n1\n", "utf-8")
    price = () if "--epsilon" in words else ("--epsilon", "0.5")
    assert why in refused("count", "survey.parquet", "--unit", "person", *words, *price)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("budget", "unit", "hidden"),
    [
        ('"2"', "person", None),
        ('{ rho = "1" }', "person", None),
        ('{ epsilon = "2", delta = "1e-6", for_keys = "0" }', "person", None),
        ('{ epsilon = "2", delta = "1e-6" }', "person", ("--groups-per-unit", "1")),
        ('{ epsilon = "2", delta = "1e-6" }', "row", ()),
    ],
)
def test_without_keys_the_refusal_names_both_ways(
    run: Run, here: Path, budget: str, unit: str, hidden: tuple[str, ...] | None
) -> None:
    """Listed keys always work. Hidden keys, with the δ that is named, work if the budget has a δ for keys."""
    configure(here, f'unit = "{unit}"\nbudget = {budget}')
    words = ("count", "survey", "--by", "health", "--epsilon", "0.5")
    refusal = run(*words)
    assert refusal.status == 2
    assert "list them, --keys health=a,b,c, or show only the keys that many have, if the budget" in refusal.errors
    delta = refusal.errors.partition("has a δ, ")[2].split()
    assert delta == ["--delta", "1e-7"]
    assert (run(*words, *delta, *(hidden or ())).status == 0) == (hidden is not None)
    assert run(*words, "--keys", HEALTH).status == 0


def test_a_budget_that_pays_for_half_of_a_table_pays_for_none(run: Run) -> None:
    """Nothing is charged for it."""
    words = ("count", "survey.parquet", "--unit", "person", *LISTED)
    told = run(*words, "--epsilon", "3")
    assert (told.status, told.output) == (3, "")
    assert "exceeds the 2 that is left" in told.errors
    assert run(*words, "--epsilon", "2", "--json").object["remaining"] == "0"


def test_sums_stand_beside_the_answers_and_in_the_file(run: Run, here: Path) -> None:
    """The ranges that they come from are in the file alone; there are none without its limit."""
    configure(here, 'unit = "person"')
    words = ("--by", "age:0,18,65", "--cumulative", "--groups-per-unit", "1", "--epsilon", "1")
    told = run("count", "survey", *words, "--output", "rows.csv").output
    assert "sum so far" in told
    assert "ranges" not in told.split("error")[0]
    lines = (here / "rows.csv").read_text("utf-8").splitlines()
    assert lines[0].endswith("combined,combined_standard_error,sum_so_far,sum_so_far_standard_error")
    assert len(lines) == 1 + 3 + 2 + 1
    for groups in ((), ("--groups-per-unit", "2")):
        for trial in ((), ("--dry-run",)):
            told = run("count", "survey", *words[:3], *groups, "--epsilon", "0.5", *trial).errors
            assert "--groups-per-unit 1" in told


def test_hints_say_why_a_table_costs_what_it_does(run: Run, here: Path) -> None:
    """Persons in several groups, and a public number of persons."""
    configure(here, 'unit = "person"')
    words = ("count", "survey", *LISTED, "--epsilon", "0.1", "--dry-run", "--json")
    (hint,) = run(*words).object["hints"]
    assert "all 4 groups" in hint
    assert "costs 1/4 of the price" in hint
    configure(here, 'unit = "person"\nsize = 5912')
    (hint,) = run(*words, "--groups-per-unit", "1").object["hints"]
    assert "costs twice as much" in hint
    assert run(*words, "--groups-per-unit", "1").object["levels"][0]["sensitivity"] == 2


def test_a_dry_run_knows_what_was_asked_before(run: Run, here: Path) -> None:
    """And that it is free."""
    configure(here, 'unit = "person"')
    words = ("count", "survey", *LISTED, "--epsilon", "1.5")
    assert run(*words).status == 0
    told = run(*words, "--dry-run", "--json").object
    assert (told["repeated"], told["affordable"], told["cost"]["epsilon"]) == (True, True, "0")
    assert "this was asked before, and is answered free" in run(*words, "--dry-run").output


@pytest.mark.thorough
def test_a_dry_run_tells_what_the_first_gaussian_answer_leaves(run: Run, here: Path) -> None:
    """Before a budget in (ε, δ) counts ρ instead of ε; what it says is what is left then."""
    configure(here, 'unit = "person"\nbudget = { epsilon = "2", delta = "1e-6" }')
    words = ("count", "survey", *LISTED, "--groups-per-unit", "1", "--json")
    assert run(*words, "--epsilon", "0.2", "--dry-run").object["hints"] == []
    assert run(*words, "--epsilon", "0.2").object["remaining"] == "1.8"
    (first,) = run(*words, "--rho", "0.01", "--dry-run").object["hints"]
    left = run(*words, "--rho", "0.01").object["remaining"]
    assert first == (
        "this would be the first answer with Gaussian noise: after it the ρ of all answers count, "
        f"not their ε, and the next may cost up to {left}, not 1.8"
    )
    assert run(*words, "--rho", "0.01", "--dry-run").object["hints"] == []
    (second,) = run(*words, "--rho", "0.02", "--dry-run").object["hints"]
    left = run(*words, "--rho", "0.02").object["remaining"]
    assert second == f"after it the next may cost up to {left}"
    assert run(*words, "--rho", "0.5", "--dry-run").object["hints"] == []


def test_a_budget_in_rho_tells_what_is_left_without_a_warning(run: Run, here: Path) -> None:
    """It adds up ρ from the start."""
    configure(here, 'unit = "person"\nbudget = { rho = "1" }')
    words = ("count", "survey", *LISTED, "--groups-per-unit", "1", "--rho", "0.02", "--json")
    (hint,) = run(*words, "--dry-run").object["hints"]
    assert hint == f"after it the next may cost up to {run(*words).object['remaining']}"


def test_rows_within_a_goal_under_gaussian_noise(run: Run, here: Path) -> None:
    """At the least ρ of two digits."""
    configure(here, 'unit = "person"\nbudget = { rho = "1" }')
    words = ("count", "survey", *LISTED, "--groups-per-unit", "1", "--dry-run", "--json")
    goal = ("--within", "10%", "--guess", "500", "--noise", "gaussian")
    told = run(*words, *goal).object
    assert told["price"]["epsilon"] is None
    assert told["levels"][0]["error"] == 50


TOWNS = ("München", "Köln", "Berlin", None)
TOWN_KEYS = "Ort=München,Köln"
PAIRS = "Ort,Aktiv,Stufe\nMünchen,true,1\nMünchen,false,1\nKöln,true,2\n,true,1\n"
NOBODY = 100_000  # ε at which five thousand people have no noise over nine levels


@pytest.fixture
def people(here: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """Five thousand rows with towns, truth values and grades, some of each missing."""
    monkeypatch.setenv("COLUMNS", "200")
    drawn = random.Random(17)  # noqa: S311 - made-up people
    rows: list[dict[str, object]] = [
        {
            "Ort": drawn.choice(TOWNS),
            "Aktiv": drawn.choices((True, False, None), (9, 9, 2))[0],
            "Stufe": drawn.choice((1, 2, 3, None)),
        }
        for _ in range(5000)
    ]
    pl.DataFrame(rows).write_parquet(here / "people.parquet")
    (here / "noisycount.toml").write_text(
        '[ledger]\nurl = "sqlite:///ledger.db"\n'
        '[datasets.people]\nsource = "people.parquet"\nunit = "row"\n'
        'budget = {epsilon = "1000000", delta = "1e-3", for_keys = "1e-3"}\n',
        encoding="utf-8",
    )
    (here / "pairs.csv").write_text(PAIRS, encoding="utf-8")
    return rows


def named(value: object) -> str:
    """A value as people read it."""
    return "(missing)" if value is None else str(value).lower() if value in {True, False} else str(value)


def truth(
    people: Sequence[dict[str, object]], names: Sequence[str], labels: Sequence[str], cells: Sequence[Sequence[str]]
) -> int:
    """Count the people that the labels of a row stand for, read word by word."""
    listed = {tuple(cell) for cell in cells}

    def is_meant(row: dict[str, object]) -> bool:
        keys = tuple(named(row[name]) for name in names)
        if set(labels) == {"(other)"}:
            return keys not in listed
        if "all listed" in labels and keys not in listed:
            return False
        return all(map(fits, labels, keys, range(len(keys))))

    def fits(label: str, key: str, at: int) -> bool:
        if label in {"all", "all listed"}:
            return True
        if label.startswith("all of "):
            return key in label.removeprefix("all of ").split(", ")
        if re.fullmatch("all [0-9]+ listed", label):
            met = {cell[at] for cell in cells}
            assert label == f"all {len(met)} listed"
            return key in met
        return key == label

    return sum(map(is_meant, people))


def printed(output: str) -> list[list[str]]:
    """The cells of the table on a terminal, row by row."""
    return [
        [cell.strip() for cell in line.strip("│").split("│")] for line in output.splitlines() if line.startswith("│")
    ]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "asked",
    [
        ("--by", "Ort,Aktiv", "--margins", "all", "--keys", TOWN_KEYS, "--other"),
        ("--by", "Ort,Aktiv", "--margins", "all", "--keys", TOWN_KEYS),
        ("--by", "Ort,Aktiv", "--margins", "all", "--keys", TOWN_KEYS, "--keys", "Aktiv=null"),
        ("--by", "Ort", "--margins", "total", "--keys", "Ort=null,Köln", "--other"),
        ("--by", "Aktiv", "--margins", "total"),
        ("--by", "Ort,Stufe", "--margins", "all", "--keys", "Ort=null", "--keys", "Stufe=1..9"),
        ("--by", "Ort,Stufe", "--margins", "all", "--keys", "Ort=null", "--keys", "Stufe=1", "--other"),
        ("--by", "Ort,Aktiv,Stufe", "--margins", "all", "--keys-from", "pairs.csv"),
        ("--by", "Ort,Aktiv,Stufe", "--margins", "all", "--keys-from", "pairs.csv", "--other"),
        ("--by", "Ort,Stufe", "--margins", "total", "--delta", "1e-6"),
    ],
    ids=str,
)
def test_every_printed_sum_is_of_whom_its_labels_say(
    run: Run, here: Path, people: list[dict[str, object]], asked: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the noise off: on the terminal, in JSON, in a file, and refined from each of them."""
    monkeypatch.setattr(refined_tables, "_MOST_CELLS", 0)  # other priors take twice as long
    names, price = asked[1].split(","), ("--epsilon", str(NOBODY))
    told = run("count", "people", *asked, *price, "--output", "t.csv")
    rows = printed(told.output)
    keys = [row[: len(names)] for row in rows]
    counts = [int(row[len(names)].split(" ±")[0].replace(",", "")) for row in rows]
    object_ = run("count", "people", *asked, *price, "--json").object
    number = sum(row["level"] == object_["rows"][0]["level"] for row in object_["rows"])
    cells = keys[:number]
    assert counts == [truth(people, names, labels, cells) for labels in keys]
    sums = [row.get("sum_of") for row in object_["rows"]]
    is_cell = [row["level"] in {",".join(names), "other"} for row in object_["rows"]]
    said = ["all" if set(labels) == {"all"} else "; ".join(labels) for labels in keys]
    assert sums == [None if own else text for own, text in zip(is_cell, said, strict=True)]
    written = pl.read_csv(here / "t.csv", schema_overrides={"sum_of": pl.String})
    assert written["sum_of"].to_list() == sums
    (here / "t.json").write_text(json.dumps(object_), encoding="utf-8")
    for table in (("--key", object_["key"]), ("--table", "t.json"), ("--table", "t.csv")):
        refined = [
            (row["mean"] or row["answer"], list(row["keys"].values()))
            for row in run("refine", *table, "--json").object["rows"]
        ]
        own = [labels for _, labels in refined[:number]]
        expected = [truth(people, names, labels, own) for _, labels in refined]
        assert [round(mean, 6) for mean, _ in refined] == expected, table
        if "--key" not in table:  # a ledger keeps keys in an order of its own
            assert [labels for _, labels in refined] == keys, table


def test_a_column_called_as_a_row_is_a_column(run: Run, here: Path) -> None:
    """The chart, the report and a refined table tell its keys, not "(other)"."""
    (here / "odd.csv").write_text("other,x\na,1\nb,2\nb,1\n", "utf-8")
    words = ("--by", "other,x", "--keys", "other=a,b", "--keys", "x=1,2", "--margins", "other")
    price = ("--epsilon", "90", "--output", "t.csv", "--plot", "t.svg")
    configure(here, 'unit = "row"\nbudget = "1000"')
    text = (here / "noisycount.toml").read_text("utf-8").replace("survey.parquet", "odd.csv")
    (here / "noisycount.toml").write_text(text, "utf-8")
    found = run("count", "survey", *words, *price, "--json").object
    assert "(other)" not in (here / "t.svg").read_text("utf-8")
    for table in (("--key", found["key"]), ("--table", "t.csv")):
        rows = run("refine", *table, "--json").object["rows"]
        assert [(row["keys"]["other"], row["mean"]) for row in rows[4:]] == [("a", 1), ("b", 2)]
    assert run("ledger", "report", "--out", "r.md").status == 0
    assert "| other | b | all of 1, 2 | 2 ±0 |" in (here / "r.md").read_text("utf-8")


SALES = "Umsatz;Stück\n12,50;3\n1.200,00;1.500\n999,99;2.000.000\n2.500,10;7\n"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("--by", "Umsatz:0,1.000,2.000"), "by has 1.000 for 'Umsatz'"),
        (("--by", "Umsatz:-2.500,0"), "by has -2.500 for 'Umsatz'"),
        (("--by", "Stück:0,5", "--where", "Stück >= 1.000"), "where has 1.000 for 'Stück'"),
        (("--where", "Umsatz >= 1.000"), "write 1000 for the whole number, or 1.0000"),
        (("--where", "2.500 < Umsatz"), "write 2500 for the whole number, or 2.5000"),
        (("--where", "Umsatz between -1.500 and 7"), "where has 1.500 for 'Umsatz'"),
        (("--where", "not (Umsatz in (1.0, 12.345))"), "where has 12.345 for 'Umsatz'"),
    ],
    ids=str,
)
def test_a_number_that_means_two_things_is_refused_before_the_charge(
    refused: Refused, here: Path, asked: tuple[str, ...], told: str
) -> None:
    """1.000 beside a column with decimal commas: in counts, tables and their trials."""
    (here / "sales.csv").write_text(SALES, encoding="utf-8")
    words = ("count", "sales.csv", "--unit", "row", "--epsilon", "0.1")
    for trial in ((), ("--dry-run",)):
        assert told in refused(*words, *asked, *trial)


def test_a_number_that_means_one_thing_is_asked(run: Run, here: Path) -> None:
    """Four digits or none behind the point, or more than three before it."""
    (here / "sales.csv").write_text(SALES, encoding="utf-8")
    words = ("count", "sales.csv", "--unit", "row", "--epsilon", "0.1", "--dry-run")
    for edges in ("0,1000,2000", "0,1000.0,2000.0", "0,0.125,1.0000"):
        assert run(*words, "--by", f"Umsatz:{edges}").status == 0
    assert run(*words, "--where", "Umsatz >= 0.125 and Umsatz < 1234.5").status == 0
