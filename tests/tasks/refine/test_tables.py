"""Tests of `tasks/refine/column.py`."""

import math
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import noisycount as nc
from noisycount.display.output import progress
from tests.helpers.commands import Refused, Run

ANSWERS = [31.5, None, -4.25, 2e6, 31.5, 28.0]
TABLE = ("--answers", "answers.csv", "--column", "answer")
LAPLACE = ("--noise", "laplace", "--scale", "10")
RATE = ("--size", "100", "--rate", "30%")


@pytest.fixture(autouse=True)
def answers(here: Path) -> list[float | None]:
    """A table of answers in the folder, one of them missing."""
    cells = ["" if answer is None else repr(answer) for answer in ANSWERS]
    lines = [f"0{row},{cell},x y" for row, cell in enumerate(cells)]
    (here / "answers.csv").write_text("\n".join(["id,answer,note", *lines, ""]))
    return ANSWERS


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a table, in order."""
    relation = duckdb.sql(f"FROM '{path}'")
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


@pytest.mark.thorough
@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
@pytest.mark.parametrize(
    ("words", "law"),
    [
        ((*RATE, *LAPLACE), (nc.Binomial(100, 0.3), nc.Laplace(10))),
        (
            ("--size", "100", "--rate", "30%±5%", "--noise", "gaussian", "--scale", "20/3"),
            (nc.BetaBinomial.from_rate(100, 0.3, 0.05), nc.Gaussian(20 / 3)),
        ),
        (("--strata", "strata.csv", *LAPLACE), (nc.Strata([60, 40], [0.2, 0.5]), nc.Laplace(10))),
    ],
)
def test_every_row_has_its_own_estimate(
    run: Run, here: Path, out: str, words: tuple[str, ...], law: tuple[nc.Population, nc.Mechanism]
) -> None:
    """Each row gets the numbers that its answer alone would give; a missing one gets none."""
    (here / "strata.csv").write_text("size,rate\n60,0.2\n40,0.5\n")
    assert run("refine", *TABLE, *words, "--out", out).status == 0
    found = rows(here / out)
    assert [row["answer"] for row in found] == ANSWERS
    for row, answer in zip(found, ANSWERS, strict=True):
        estimates = [row[name] for name in ("mean", "median", "low", "high")]
        if answer is None:
            assert estimates == [None] * 4
        else:
            told = nc.posterior(answer, *law)
            assert estimates[0] == pytest.approx(told.mean, rel=1e-12)
            assert estimates[1:] == [told.median, *told.interval()]
            assert row["surprise"] == pytest.approx(told.surprise, abs=1e-13)


def test_all_else_stays(run: Run, here: Path) -> None:
    """Other columns and the order of the rows are those of the file that was read."""
    assert run("refine", *TABLE, *RATE, *LAPLACE, "--out", "out.csv").status == 0
    before = (here / "answers.csv").read_text().splitlines()
    after = (here / "out.csv").read_text().splitlines()
    assert after[0] == before[0] + ",mean,median,low,high,surprise"
    assert all(new.startswith(f"{old},") for old, new in zip(before, after, strict=True))


def test_the_level_is_that_of_low_and_high(run: Run, here: Path) -> None:
    """Half of the probability lies between the ends at a level of 50 %."""
    words = ("--out", "out.csv", "--level", "50%")
    assert run("refine", *TABLE, *RATE, *LAPLACE, *words).status == 0
    told = nc.posterior(31.5, nc.Binomial(100, 0.3), nc.Laplace(10))
    row = rows(here / "out.csv")[0]
    assert (row["low"], row["high"]) == told.interval(0.5)


@pytest.mark.thorough
def test_many_answers_agree_with_one(run: Run, here: Path) -> None:
    """In 20,000 rows, which are worked through in blocks, every row is what it is alone."""
    noise, draws = nc.DiscreteLaplace(3), np.random.default_rng(7).integers(-10, 50, 20_000)
    (here / "many.csv").write_text("\n".join(["answer", *map(str, draws), ""]))
    words = ("--answers", "many.csv", "--column", "answer", "--out", "out.parquet")
    law = ("--noise", "discrete-laplace", "--scale", "3")
    assert run("refine", *words, *RATE, *law).status == 0
    found = rows(here / "out.parquet")
    assert [row["answer"] for row in found] == draws.tolist()
    expected = {}
    for draw in set(draws.tolist()):
        told = nc.posterior(draw, nc.Binomial(100, 0.3), noise)
        expected[draw] = (told.median, *told.interval())
    assert [(row["median"], row["low"], row["high"]) for row in found] == [expected[draw] for draw in draws.tolist()]


def test_one_line_tells_what_was_done(run: Run, here: Path) -> None:
    """The line has the number of rows, those without an answer, the seconds, and the file."""
    told = run("refine", *TABLE, *RATE, *LAPLACE, "--out", "out.csv")
    assert (told.status, told.errors) == (0, "")
    first, second = told.output.splitlines()
    assert first.startswith("6 rows (1 without an answer) in ")
    assert first.endswith(" s: out.csv")
    assert second == "1 of 5 answers contradicts the rate: their surprise is below 0.001"
    words = ("--out", "out.csv", "--overwrite", "--json")
    object_ = run("refine", *TABLE, *RATE, *LAPLACE, *words).object
    seconds = object_.pop("seconds")
    assert 0 < seconds < math.inf
    numbers = {"rows": 6, "missing": 1, "contradictions": 1, "level": 0.95}
    assert object_ == {**numbers, "out": "out.csv"}
    assert (here / "out.csv").exists()


def test_a_table_without_answers_is_only_widened(run: Run, here: Path) -> None:
    """No row, or no answer in any row: the columns are added, empty."""
    (here / "answers.csv").write_text("answer\n")
    assert run("refine", *TABLE, *RATE, *LAPLACE, "--out", "out.csv").status == 0
    assert (here / "out.csv").read_text() == "answer,mean,median,low,high,surprise\n"
    (here / "answers.csv").write_text("id,answer\n1,\n2,\n")
    assert run("refine", *TABLE, *RATE, *LAPLACE, "--out", "out.csv", "--overwrite").status == 0
    assert (here / "out.csv").read_text().splitlines()[1:] == ["1,,,,,,", "2,,,,,,"]


SIZES = "answer,people,share\n31.5,100,0.3\n,,\n31.5,50,0.3\n-4.25,100,0.3\n31.5,100,0.9\n"


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("words", "size", "rate"),
    [
        (("--size-column", "people", "--rate-column", "share"), None, None),
        (("--size", "100", "--rate-column", "share"), 100, None),
        (("--size-column", "people", "--rate", "40%±5%"), None, (0.4, 0.05)),
        (("--size-column", "people"), None, ()),
    ],
)
def test_sizes_and_rates_may_be_columns(
    run: Run, here: Path, words: tuple[str, ...], size: int | None, rate: tuple[float, ...] | None
) -> None:
    """Each row is refined with its own, or with the one of all; without a rate, with a flat law."""
    (here / "answers.csv").write_text(SIZES)
    told = run("refine", *TABLE, *LAPLACE, *words, "--out", "out.parquet", "--json").object
    found = rows(here / "out.parquet")
    contradictions = 0
    for row in found:
        if row["answer"] is None:
            assert row["mean"] is row["surprise"] is None
            continue
        people = size or int(row["people"])
        law: nc.Population = nc.BetaBinomial(people, 1, 1)
        if rate is None:
            law = nc.Binomial(people, float(row["share"]))
        elif rate:
            law = nc.BetaBinomial.from_rate(people, *rate)
        alone = nc.posterior(row["answer"], law, nc.Laplace(10))
        assert row["mean"] == pytest.approx(alone.mean, rel=1e-12)
        assert (row["low"], row["high"]) == alone.interval()
        assert row["surprise"] == pytest.approx(alone.surprise, abs=1e-13)
        contradictions += alone.surprise < 1e-3
    assert (told["missing"], told["contradictions"]) == (1, contradictions)


def test_rates_may_be_per_cent(run: Run, here: Path) -> None:
    """In a column of rates, and in a file of groups."""
    for name, rates in (("a", ("2%", "1.5 %", "0.5")), ("b", ("0.02", "0.015", "0.5"))):
        lines = (f"10,100,{rate}" for rate in rates)
        (here / f"{name}.csv").write_text("\n".join(["answer,size,rate", *lines, ""]))
    told = []
    for name in "ab":
        words = ("--column", "answer", "--size-column", "size", "--rate-column", "rate")
        out = ("--answers", f"{name}.csv", "--out", f"{name}.parquet")
        assert run("refine", *words, *out, *LAPLACE).status == 0
        alone = run("refine", "10", "--strata", f"{name}.csv", *LAPLACE, "--json").object
        told.append(([row["mean"] for row in rows(here / f"{name}.parquet")], alone["mean"]))
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (("--size", "9", "--size-column", "people"), "give either --size or --size-column"),
        (("--rate-column", "share"), "give either --size or --size-column"),
        (("--strata", "s.csv", "--size-column", "people"), "without --strata"),
        (("--size-column", "persons"), "has no column 'persons'"),
        (("--size-column", "share"), "row 1 below .* in column 'share' a whole number"),
        (("--size", "9", "--rate-column", "people"), "in column 'people' a rate between"),
    ],
)
def test_columns_that_are_no_sizes_or_rates_are_refused(
    refused: Refused, here: Path, words: tuple[str, ...], remedy: str
) -> None:
    """Nothing is written, and the first row that does not fit is named."""
    (here / "answers.csv").write_text(SIZES)
    assert re.search(remedy, refused("refine", *TABLE, *LAPLACE, *words, "--out", "o.csv"))


def test_no_table_is_replaced_in_silence(run: Run, refused: Refused, here: Path) -> None:
    """Only with --overwrite, and never the table that is read."""
    words = ("refine", *TABLE, *RATE, *LAPLACE, "--out")
    (here / "out.csv").write_text("mine\n")
    assert "--out 'out.csv' exists already: name another file, or add --overwrite" in refused(*words, "out.csv")
    assert run(*words, "out.csv", "--overwrite").status == 0
    assert "surprise" in (here / "out.csv").read_text()
    assert "is the file that is read" in refused(*words, "answers.csv", "--overwrite")


def test_without_a_rate_each_count_is_as_likely(run: Run) -> None:
    """Only the size is known, and the words say so."""
    told = run("refine", "107", "--size", "200", "--epsilon", "0.5", "--json").object
    alone = nc.posterior(107, nc.BetaBinomial(200, 1, 1), nc.DiscreteLaplace(2))
    assert told["mean"] == pytest.approx(alone.mean)
    assert (told["flat"], told["rate"], told["groups"]) == (True, None, None)
    shown = run("refine", "300", "--size", "200", "--epsilon", "0.5").words
    assert "assumed every count from 0 to 200 is equally likely, as no rate is given" in shown
    assert "if all counts are as likely: check the size and the noise" in shown


def shown(delay: float, work: float) -> str:
    """Return what a terminal shows during some seconds of work if the bar appears after the given delay (s)."""
    code = (
        "import time; from noisycount.display import output\n"
        f"assert output._BAR_DELAY; output._BAR_DELAY = {delay}\n"
        "with output.progress('refining') as done:\n"
        f"    done(0.25); time.sleep({work})"
    )
    master, slave = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    subprocess.run([sys.executable, "-c", code], check=True, stderr=slave, env=environment)  # noqa: S603  (our own code)
    os.close(slave)
    return os.read(master, 65536).decode()


@pytest.mark.thorough
def test_a_bar_appears_where_work_is_long() -> None:
    """Work that outlasts the delay of the bar shows its share; shorter work shows nothing."""
    assert "25%" in shown(0.2, 1.0)
    assert "refining" not in shown(30, 0.5)


def test_a_file_gets_no_bar(capfd: pytest.CaptureFixture[str]) -> None:
    """If standard error is no terminal, nothing is written to it."""
    with progress("refining") as done:
        done(0.5)
        time.sleep(0.01)
    assert capfd.readouterr() == ("", "")
