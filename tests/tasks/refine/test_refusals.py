import re
from pathlib import Path

import duckdb
import pytest

from tests.helpers.commands import Refused

SURVEY = ("--size", "5912", "--rate", "1.7%")
NOISE = ("--epsilon", "0.15")
TABLE = ("--answers", "a.csv", "--column", "answer", "--out", "o.csv")
CANARY = "canary-7c1"


@pytest.mark.parametrize("answer", ["many", "nan", "inf", "1e400", "", "-x", "1,5"])
def test_an_answer_that_is_no_number_is_refused(refused: Refused, answer: str) -> None:
    """An answer is a finite number."""
    message = refused("refine", answer, *SURVEY, "--noise", "laplace", "--scale", "3")
    assert f"must be a finite number of records, got {answer!r}" in message


def test_an_unknown_option_is_no_answer(refused: Refused) -> None:
    """A word with two dashes is taken for an option, and the help lists the right ones."""
    message = refused("refine", "107", "--sise", "5912", "--rate", "1.7%", *NOISE)
    assert message == "error: No such option '--sise'; see `noisycount refine --help`\n"


@pytest.mark.parametrize("noise", [NOISE, ("--noise", "discrete-gaussian", "--scale", "3")])
def test_discrete_noise_gives_whole_numbers(refused: Refused, noise: tuple[str, ...]) -> None:
    """1.5 cannot be an answer with discrete noise, alone or beside others."""
    message = refused("refine", "1.5", *SURVEY, *noise)
    assert "must be a whole number under discrete " in message
    assert re.search("if the noise was continuous, give --noise [a-z]+ --scale [0-9]", message)
    assert "got 1.5" in refused("refine", "3", "1.5", *SURVEY, *noise)


@pytest.mark.parametrize(
    ("rate", "reason"),
    [
        ("0.3±0.6", "deviation must be above 0 and below √(rate·(1 − rate)) = 0.458258, got 0.6"),
        ("0%±1%", "a rate of 0 % is certain, got ±0.01: leave ± out"),
        ("1+-0.1", "a rate of 100 % is certain, got ±0.1: leave ± out"),
        *((rate, "must lie between 0 and 1, such as 30%±2%") for rate in ("30±2%", "30%±200%")),
        *((rate, "must lie between 0 and 1, such as 30%±2%") for rate in ("0.3±", "±0.3")),
        *((rate, "must lie between 0 and 1, such as 30%±2%") for rate in ("0.3±x", "0.3±.1±.1")),
    ],
)
def test_a_deviation_that_no_rate_has_is_refused(refused: Refused, rate: str, reason: str) -> None:
    """Too large, of a certain rate, or no share at all."""
    message = refused("refine", "95", "--size", "5912", "--rate", rate, *NOISE)
    assert f"'--rate': {reason}" in message


@pytest.mark.parametrize("size", ["0", "-3", "5.5", "1e3", "9007199254740993", "many", "nan", ""])
def test_a_size_that_is_no_number_of_records_is_refused(refused: Refused, size: str) -> None:
    """A size is whole, positive and at most 2**53."""
    message = refused("refine", "95", "--size", size, "--rate", "2%", *NOISE)
    assert f"'--size': must be a whole number of records from 1 to 2**53, got {size!r}" in message


@pytest.mark.parametrize("scale", ["0", "-1", "nan", "inf", "1e-20", "5e15", "20/0", "1/2/3", "1e999999999", ""])
def test_a_scale_that_no_noise_has_is_refused(refused: Refused, scale: str) -> None:
    """A scale is positive, finite, and drawable."""
    message = refused("refine", "95", *SURVEY, "--noise", "laplace", "--scale", scale)
    assert f"such as 10 or 20/3, got {scale!r}" in message


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (("107", *SURVEY), "give either --epsilon, or both --noise and --scale, such as"),
        (("107", *SURVEY, *NOISE, "--scale", "3"), "give either --epsilon, or both --noise and"),
        (("107", *SURVEY, *NOISE, "--noise", "laplace"), "give either --epsilon, or both"),
        (("107", *SURVEY, "--noise", "laplace"), "give either --epsilon, or both --noise and"),
        (("107", *SURVEY, "--noise", "cauchy", "--scale", "1"), "is not one of 'laplace', 'gau"),
        (("107", *NOISE), "give either --size, and --rate if it is known, such as --size 5912 --rate 1.7%"),
        (("107", "--rate", "9%", *NOISE), "give either --size, and --rate if it is known, such as"),
        (("107", *SURVEY, "--strata", "s.csv", *NOISE), "give either --size, and --rate if it is known, such as"),
        ((*SURVEY, *NOISE), "give either one or more ANSWERs, such as 107"),
        (("107", *SURVEY, *NOISE, *TABLE), "give either one or more ANSWERs, such as 107"),
        (("107", *SURVEY, *NOISE, *TABLE[:2]), "give either one or more ANSWERs, such as 107"),
        ((*SURVEY, *NOISE, *TABLE[:4]), "or all of --answers FILE, --column NAME and --out FILE"),
        ((*SURVEY, *NOISE, *TABLE[2:]), "or all of --answers FILE, --column NAME and --out FILE"),
        ((*SURVEY, *NOISE, *TABLE, "--plot", "p.svg"), "give either one or more ANSWERs, such as 107"),
        (("107", *SURVEY, *NOISE, "--plot", "p.pdf"), "must end in .svg or .png, got 'p.pdf'"),
        (("107", *SURVEY, *NOISE, "--plot", "no/p.svg"), "'no/p.svg' cannot be written (No such"),
        (("107", *SURVEY, *NOISE, "--level", "100%"), "must lie strictly between 0 and 1"),
        (("1e300", *SURVEY, "--noise", "gaussian", "--scale", "1"), "within 2**600 records of 0"),
    ],
)
def test_a_refinement_is_asked_for_in_one_way(refused: Refused, words: tuple[str, ...], remedy: str) -> None:
    """Neither or both of two ways, or half of one: the message gives the choice."""
    assert remedy in refused("refine", *words)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("group,rate\n1,0.5\n", "has no column 'size', only 'group', 'rate': rename the one that holds it"),
        ("size,share\n1,0.5\n", "has no column 'rate', only 'size', 'share': rename"),
        ("size,rate\n9,0.5\n-1,0.5\n", "row 2 .* column 'size' a whole number from 0 to 1"),
        ("size,rate\n9,0.5\n1.5,0.5\n", "row 2 .* column 'size' a whole number from 0 to 1"),
        ("size,rate\n,0.5\n", "row 1 .* column 'size' a whole number from 0 to 1"),
        ("size,rate\n1000000001,0.5\n", "row 1 .* column 'size' a whole number from 0"),
        ("size,rate\n9,0.5\n1,\n2,3\n", "row 2 .* column 'rate' a rate between 0 and 1"),
        ("size,rate\n9,1.5\n", "row 1 .* column 'rate' a rate between 0 and 1"),
        (f"size,rate\n9,{CANARY}\n", "row 1 .* column 'rate' a share such as 0.02 or 2%, or"),
        ("size,rate\n0,0.5\n", "must add up to 1 to 1,000,000,000 records, got"),
        ("size,rate\n", "must add up to 1 to 1,000,000,000 records, got"),
        ("size,rate\n1000000000,0.5\n1,0.5\n", "must add up to 1 to 1,000,000,000 records, got"),
    ],
)
def test_groups_that_are_no_population_are_refused(refused: Refused, here: Path, content: str, reason: str) -> None:
    """The message names the file and the row or the column, never a cell."""
    (here / "s.csv").write_text(content)
    message = refused("refine", "107", "--strata", "s.csv", *NOISE)
    assert re.search(f"'s.csv'.*{reason}|{reason}", message)
    assert "'s.csv'" in message
    assert CANARY not in message


def test_a_size_that_contradicts_the_groups_is_refused(refused: Refused, here: Path) -> None:
    """Both numbers are named."""
    (here / "s.csv").write_text("size,rate\n60,0.2\n40,0.5\n")
    message = refused("refine", "30", "--strata", "s.csv", "--size", "90", *NOISE)
    assert "--size 90 is not the 100 that the sizes in 's.csv' add up to" in message


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("id,other\n1,2\n", "'a.csv' has no column 'answer': use 'id', 'other'"),
        (f"id,answer\n1,2\n2,{CANARY}\n", "row 2 below the names in 'a.csv' .* a number, or"),
        ("answer\n1\n2\n1e400\n", "row 3 .* 'a.csv' .* 'answer' a finite number, whole"),
        ("answer\n1\n-inf\n", "row 2 .* 'a.csv' .* 'answer' a finite number, whole"),
        ("id,answer\n1,\n2,2.5\n", "row 2 .* 'a.csv' .* 'answer' a finite number, whole"),
        ("answer\n2.5\n", "or, if the noise was continuous, give --noise laplace --scale 20/3"),
        ("answer,mean\n1,2\n", "'a.csv' has a column 'mean' already, which would be added"),
        ("answer,HIGH\n1,2\n", "'a.csv' has a column 'high' already, which would be added"),
        (f'id,answer\n1,"{CANARY}\n', "'a.csv' cannot be read as csv|has no column"),
    ],
)
def test_a_table_that_cannot_be_refined_is_refused(refused: Refused, here: Path, content: str, reason: str) -> None:
    """The message names the file and the row or the column, never a cell; nothing is written."""
    (here / "a.csv").write_text(content)
    message = refused("refine", *TABLE, *SURVEY, *NOISE)
    assert re.search(reason, message)
    assert CANARY not in message


@pytest.mark.parametrize(
    ("out", "reason"),
    [
        ("a.csv", "'a.csv' is the file that is read: write to another one"),
        ("./a.csv", "is the file that is read: write to another one"),
        ("o.xlsx", "'o.xlsx' has the unknown extension '.xlsx': use .csv, .tsv, .parquet, .pq"),
        ("no/o.csv", "'no/o.csv' cannot be written"),
    ],
)
def test_an_output_that_cannot_be_is_refused(refused: Refused, here: Path, out: str, reason: str) -> None:
    """The input itself, another format, or a folder that is missing."""
    (here / "a.csv").write_text("answer\n1\n")
    assert reason in refused("refine", *TABLE[:4], "--out", out, *SURVEY, *NOISE)


def test_a_column_of_dates_is_refused(refused: Refused, here: Path) -> None:
    """A Parquet column of another type has no answers."""
    duckdb.sql("SELECT DATE '2020-01-01' AS answer").write_parquet(str(here / "a.parquet"))
    words = ("--answers", "a.parquet", *TABLE[2:])
    assert "row 1 below the names in 'a.parquet'" in refused("refine", *words, *SURVEY, *NOISE)
