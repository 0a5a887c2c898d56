import json
import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from numpy.testing import assert_allclose

import noisycount as nc
from noisycount.display.output import draft
from noisycount.tasks.refine import table as asking
from tests.helpers.commands import Run, configure

ADDED = ("mean", "median", "low", "high")
TOWNS = """county,town,answer,note
A,a1,12,x y
A,a2,3,
A,a3,,hidden
B,b1,40,
B,b2,-3,
A,,17,
,,52,all of them
"""
BY = ("--by", "county,town")
THREE = ("--epsilon", "0.5", "--epsilon", "0.1", "--epsilon", "1")
EXACTLY = "600"  # the noise is 0 but for a chance below 1e-40


@pytest.fixture(autouse=True)
def towns(here: Path) -> Path:
    """A published table of towns in the folder, with sums, one town suppressed."""
    path = here / "towns.csv"
    path.write_text(TOWNS)
    return path


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, in order."""
    read = f"read_csv('{path}', all_varchar=false)" if path.suffix != ".parquet" else f"'{path}'"
    relation = duckdb.sql(f"FROM {read}")
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def told(found: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The estimates of each row."""
    return [tuple(row[name] for name in ADDED) for row in found["rows"]]


def expected(level: Any) -> list[tuple[Any, ...]]:  # noqa: ANN401 - estimates of a level
    """The estimates of the nodes of a level."""
    return list(zip(*(getattr(level, name).tolist() for name in ADDED), strict=True))


def test_a_file_says_what_the_tree_says(run: Run) -> None:
    """Every row has the law of its node: sums are empty cells, missing answers were below."""
    words = (*BY, "--column", "answer", "--below", "4", *THREE, "--total", "50")
    found = told(run("refine", "--table", "towns.csv", *words, "--json").object)
    keys = {"county": ["A", "A", "A", "B", "B"], "town": ["a1", "a2", "a3", "b1", "b2"]}
    law = nc.table_posterior(
        {2: [12, 3, nc.below(4), 40, -3], ("A",): 17, 0: [52]},
        {
            2: nc.DiscreteLaplace.for_epsilon("0.5"),
            ("A",): nc.DiscreteLaplace.for_epsilon("0.1"),
            0: nc.DiscreteLaplace(1),
        },
        tree=nc.Tree.of_keys(keys),
        total=50,
    )
    assert_allclose(found[:5], expected(law.level(2)))
    assert_allclose(found[5], expected(law.level(1))[0])
    assert found[6] == (50, 50, 50, 50)


def test_a_stated_prior_and_another_level(run: Run) -> None:
    """As `Splits` of so many a cell, and as the intervals of nodes."""
    words = (*BY, *THREE, "--prior", "0.5", "--level", "50%")
    found = told(run("refine", "--table", "towns.csv", *words, "--json").object)
    law = nc.table_posterior(
        {2: [12, 3, np.nan, 40, -3], 1: [17, np.nan], 0: [52]},
        {2: nc.DiscreteLaplace(2), 1: nc.DiscreteLaplace(10), 0: nc.DiscreteLaplace(1)},
        tree=nc.Tree.of_keys([["A", "A", "A", "B", "B"], ["a1", "a2", "a3", "b1", "b2"]]),
        prior=nc.Splits(0.5),
    )
    ends = [law.node((2, cell)).interval(0.5) for cell in range(5)]
    assert [row[2:] for row in found[:5]] == ends
    assert [row[0] for row in found[:5]] == pytest.approx(law.mean.tolist(), rel=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("out", ["out.csv", "out.tsv", "out.parquet", "out.json"])
def test_all_else_stays_in_the_file(run: Run, here: Path, out: str) -> None:
    """Other columns, the order of rows; shares and ranks are of the cells alone."""
    words = (*BY, *THREE, "--shares", "--ranks", "--prior", "1", "--out", out)
    assert run("refine", "--table", "towns.csv", *words).status == 0
    again = run("refine", "--table", "towns.csv", *words)
    assert again.status == 2
    assert f"--out {out!r} exists already" in again.errors
    if out == "out.json":
        found = json.loads((here / out).read_text())["rows"]
    else:
        found = rows(here / out)
        assert [row["note"] for row in found] == ["x y", None, "hidden", *[None] * 3, "all of them"]
    assert [row["answer"] for row in found] == [12, 3, None, 40, -3, 17, 52]
    assert sum(row["share"] for row in found[:5]) == pytest.approx(1)
    assert all(row["share_low"] <= row["share"] <= row["share_high"] for row in found[:5])
    assert found[3]["rank"] == 1
    assert [row["share"] for row in found[5:]] == [None, None]
    assert [row["rank"] for row in found[5:]] == [None, None]
    assert list(here.glob(".*")) == []


def test_answers_that_contradict_the_total_are_told_in_words_and_json(run: Run) -> None:
    """As `table_posterior` tells them; of answers that fit nothing is said."""
    words = ("refine", "--table", "towns.csv", *BY, *THREE, "--total")
    odd = "expected has a probability of .* whatever the counts are: check the "
    assert re.search(odd, run(*words, "10").words)
    assert re.search(odd, run(*words, "10", "--json").object["warning"])
    assert "expected has" not in run(*words, "50").output
    assert run(*words, "50", "--json").object["warning"] is None


def test_words_tell_what_was_learned_and_how_sure_it_is(run: Run) -> None:
    """The prior, the sensitivity, the noise of each level, the draws, the file."""
    words = (*BY, *THREE, "--ranks", "--out", "o.csv", "--total", "50")
    shown = run("refine", "--table", "towns.csv", *words).output
    for part in (
        "discrete Laplace, scale 2 for county,town; discrete Laplace, scale 10 for",
        "50, which is public",
        "prior",
        "under half and twice the concentration cells move by",
        "shares and ranks are from 10,000 exact draws of the whole table",
        "o.csv",
    ):
        assert part in shown
    moved = run("refine", "--table", "towns.csv", *words[:-4], "--json").object["sensitivity"]
    assert [move["factor"] for move in moved["moves"]] == [0.5, 2]
    assert moved["words"].startswith("under half and twice")


@pytest.fixture
def counted(run: Run, here: Path) -> str:
    """The key of a table of the survey with margins, with hardly any noise; it has files too."""
    configure(here, 'unit = "person"\nbudget = "1000000"')
    words = ("--by", "site,female", "--keys", "site=1..6", "--margins", "site,total")
    asked = ("count", "survey", *words, "--groups-per-unit", "1", "--epsilon", EXACTLY)
    for out in ("t.csv", "t.json", "t.parquet"):
        key = run(*asked, "--output", out, "--json").object["key"]
    return str(key)


@pytest.mark.thorough
def test_a_table_of_the_ledger_is_read_free(run: Run, counted: str) -> None:
    """By its key or the beginning of it, with or without its data set; nothing is charged."""
    before = run("ledger", "show", "--json").object["datasets"]
    found = run("refine", "--key", counted, "--json").object
    assert run("refine", "--key", counted[:8], "survey", "--json").object == found
    assert run("ledger", "show", "--json").object["datasets"] == before
    assert len(found["rows"]) == 12 + 6 + 1
    assert found["rows"][0]["keys"] == {"site": "1", "female": "false"}
    assert found["rows"][-1]["keys"] == {"site": "all 6 listed", "female": "all of false, true"}
    assert [row["median"] for row in found["rows"]] == [row["answer"] for row in found["rows"]]


@pytest.mark.thorough
def test_a_picture_says_who_was_counted(run: Run, here: Path, counted: str) -> None:
    """Persons, by its key as by its file; the chart has the cells without their sums."""
    for words in (("--key", counted), ("--table", "t.json")):
        assert run("refine", *words, "--plot", "t.svg").status == 0
        drawn = (here / "t.svg").read_text()
        assert ">persons</text>" in drawn
        assert "1, false" in drawn
        assert "1, all of false, true" in drawn
        assert "all 6 listed, all of false, true" in drawn


@pytest.mark.thorough
def test_files_of_a_table_say_what_its_key_says(run: Run, counted: str) -> None:
    """The noise of each level stands in all of them, beside the answers."""
    told_levels = run("refine", "--key", counted, "--json").object
    levels = [level["mechanism"] for level in told_levels["levels"]]
    by = ("--by", "site,female", "--column", "answer")
    for words in (("t.json",), ("t.csv",), ("t.parquet",), ("t.csv", *by)):
        found = run("refine", "--table", *words, "--json").object
        assert told(found) == told(told_levels)
        assert [level["mechanism"] for level in found["levels"]] == levels
        assert [row["keys"] for row in found["rows"]] == [row["keys"] for row in told_levels["rows"]]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "words",
    [
        ("--by", "year", "--keys", "year=1..5", "--margins", "total", "--epsilon", EXACTLY),
        ("--by", "health", "--delta", "1e-6", "--groups-per-unit", "1", "--epsilon", "1"),
        ("--by", "age:0,18,65", "--cumulative", "--groups-per-unit", "1", "--epsilon", "2"),
    ],
)
def test_a_file_says_what_its_sums_and_keys_mean(run: Run, here: Path, words: tuple[str, ...]) -> None:
    """Persons in several cells, hidden keys and ranges are refined as those of the ledger are."""
    budget = '{ epsilon = "1000", delta = "1e-5", for_keys = "1e-5" }'
    configure(here, f'unit = "person"\nbudget = {budget}')
    key = run("count", "survey", *words, "--output", "t.csv", "--json").object["key"]
    known = run("refine", "--key", key, "--json").object
    found = run("refine", "--table", "t.csv", "--json").object
    assert told(found) == told(known)
    assert (found["prior"], found["notes"]) == (known["prior"], known["notes"])
    alone = "each count as likely before its answer"  # answers from a threshold on teach no prior
    assert (alone in run("refine", "--key", key).words) is ("--delta" in words)


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (("--where", "age > 60", "--where", "age > 30"), ["age > 60.0", "age > 30.0"]),
        (("--by", "site", "--keys", "site=1,null", "--other", "--margins", "total"), None),
        (("--by", "age:0,18,65"), ["0 to under 18", "18 to under 65", "65 or more"]),
    ],
)
def test_every_kind_of_table_is_read_again(
    run: Run, here: Path, words: tuple[str, ...], keys: list[str] | None
) -> None:
    """Several questions, other and missing keys, ranges: with the keys that people read."""
    configure(here, 'budget = "1000000"\nunit = "row"')
    key = run("count", "survey", *words, "--epsilon", EXACTLY, "--json").object["key"]
    found = run("refine", "--key", key, "--json").object["rows"]
    assert [row["median"] for row in found] == [row["answer"] for row in found]
    shown = [next(iter(row["keys"].values())) for row in found]
    assert shown == (keys or ["1", "(missing)", "(other)", "all"])


def test_sums_of_persons_in_several_cells_are_not_used(run: Run, here: Path) -> None:
    """As they are no sums of cells; the words say so."""
    configure(here, 'unit = "person"\nbudget = "1000000"')
    words = ("--by", "year", "--keys", "year=1..5", "--margins", "total", "--epsilon", EXACTLY)
    key = run("count", "survey", *words, "--json").object["key"]
    found = run("refine", "--key", key, "--json").object
    assert found["rows"][-1]["mean"] is None
    assert found["rows"][0]["mean"] == pytest.approx(found["rows"][0]["answer"])
    assert "sums are not used" in found["notes"][0]
    assert "sums are not used" in run("refine", "--key", key).output


@pytest.mark.thorough
def test_a_cumulative_table_is_refined_with_its_ranges(run: Run, here: Path) -> None:
    """From the ledger and from a file, whose ranges are texts among numbers."""
    configure(here, 'unit = "person"\nbudget = "1000000"')
    words = ("--by", "year", "--keys", "year=1..5", "--cumulative", "--groups-per-unit", "1")
    asked = ("count", "survey", *words, "--epsilon", EXACTLY, "--output")
    key = run(*asked, "c.csv", "--json").object["key"]
    assert run(*asked, "c.json", "--json").status == 0
    found = run("refine", "--key", key, "--json").object
    assert [row["median"] for row in found["rows"]] == [row["answer"] for row in found["rows"]]
    assert told(run("refine", "--table", "c.json", "--json").object) == told(found)
    assert [row["year"] for row in rows(here / "c.csv")][4:6] == ["5", "1 … 2"]


@pytest.mark.thorough
def test_a_picture_shows_answers_and_estimates(run: Run, here: Path) -> None:
    """A row a cell; and a panel for each level whose sums were published, with their keys."""
    words = (*BY, *THREE, "--prior", "1", "--out", "o.csv", "--plot", "towns.svg")
    shown = run("refine", "--table", "towns.csv", *words).output.splitlines()
    assert [line.split() for line in shown[-2:]] == [["file", "o.csv"], ["file", "towns.svg"]]
    drawn = (here / "towns.svg").read_text()
    assert "A, a3" in drawn
    assert ">count</text>" in drawn
    assert "answer, with noise" in drawn
    texts = [part.partition("<")[0] for part in drawn.split(">")]
    assert [texts.count(text) for text in ("county", "A", "A, a1")] == [1, 1, 1]
    assert texts.count("total") == 2  # the name of its level, and of its row


def test_stopping_leaves_nothing_half(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it change what was there."""

    def stopped(*_: object) -> None:
        (here / "old.csv").write_text("old")
        raise KeyboardInterrupt

    monkeypatch.setattr(asking, "save_refined", stopped)
    found = run("refine", "--table", "towns.csv", *BY, *THREE, "--out", "new.csv")
    assert (found.status, found.output, found.errors) == (130, "", "\nstopped: nothing was charged\n")
    with pytest.raises(KeyboardInterrupt), draft(here / "old.csv") as part:
        half_written(part)
    assert {path.name for path in here.iterdir()} == {"survey.parquet", "towns.csv", "old.csv"}
    assert (here / "old.csv").read_text() == "old"


def half_written(file: Path) -> None:
    """A file whose writing somebody stops."""
    file.write_text("half")
    raise KeyboardInterrupt


def measured(here: Path, rows: list[tuple[str, str, list[int], float]]) -> None:
    """A file of noisy measurements, as the census lays it out."""
    columns = "geocode VARCHAR, query_name VARCHAR, value BIGINT[], variance DOUBLE"
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE measured ({columns})")
        connection.executemany("INSERT INTO measured VALUES (?, ?, ?, ?)", rows)
        connection.execute(f"COPY measured TO '{here / 'm.parquet'}' (FORMAT parquet)")


def test_the_printed_interval_of_vermont_comes_out(run: Run, here: Path) -> None:
    """Orange County: two sums of two cells, variance 32.26 a cell, of 29,277: 14,622 to 14,645."""
    measured(here, [("50017", "sex", [14619, 14629], 2 * 32.26), ("50019", "sex", [1, 2], 9.0)])
    words = ("--geocode", "50017", "--total", "29277", "--prior", "1", "--json")
    found = run("refine", "--table", "m.parquet", *words).object
    assert [(row["low"], row["high"]) for row in found["rows"]] == [(14622, 14645), (14632, 14655)]


@pytest.mark.thorough
def test_queries_of_the_census_are_levels_of_one_table(run: Run, here: Path) -> None:
    """The total and one query that is a sum of the cells; one that crosses it is left out."""
    queries = [
        ("50017", "total", [1010], 6.1),
        ("50017", "votingage", [220, 790], 190.0),
        ("50017", "hispanic", [950, 40], 190.0),
        ("50017", "votingage * hispanic", [190, 10, 760, 30], 195.0),
    ]
    measured(here, queries)
    words = ("--query", "votingage*hispanic", "--prior", "1")
    found = run("refine", "--table", "m.parquet", *words, "--json").object
    law = nc.table_posterior(
        {0: [1010], 1: [220, 790], 2: [190, 10, 760, 30]},
        {level: nc.DiscreteGaussian(v**0.5) for level, v in enumerate((6.1, 190.0, 195.0))},
        tree=nc.Tree([[0] * 4, [0, 0, 1, 1], [0, 1, 2, 3]]),
        prior=nc.Splits(1),
    )
    assert_allclose(told(found)[:4], expected(law.level(2)))
    assert found["rows"][3]["keys"] == {"votingage": "2", "hispanic": "2"}
    assert found["unused"] == ["hispanic"]
    assert "unused  hispanic" in run("refine", "--table", "m.parquet", *words).output


@pytest.mark.thorough
def test_shares_and_ranks_stand_in_a_table_of_their_own(run: Run) -> None:
    """With the cells alone, below the estimates; in 80 columns both stay tables."""
    words = (*BY, *THREE, "--shares", "--ranks")
    shown = run("refine", "--table", "towns.csv", *words).output.splitlines()
    heads = [[cell.strip() for cell in line.strip("┃").split("┃")] for line in shown if "┃" in line]
    assert heads == [["county", "town", "answer", "mean", "median", "95 %"], ["county", "town", "share, %", "rank"]]
    assert max(map(len, shown)) <= 80
    second = shown[max(place for place, line in enumerate(shown) if "┃" in line) :]
    cells = [line.strip("│").split("│")[2] for line in second if line.startswith("│")]
    assert len(cells) == 5
    found = run("refine", "--table", "towns.csv", *words, "--json").object["rows"]
    names = ("share", "share_low", "share_high")
    assert [list(map(float, re.findall(r"[0-9.]+", cell))) for cell in cells] == [
        [round(100 * row[name], 1) for name in names] for row in found[:5]
    ]
