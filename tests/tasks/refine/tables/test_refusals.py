from pathlib import Path

import duckdb
import pytest

from tests.helpers.commands import Refused, Run, configure

NOISE = ("--epsilon", "1")
WHOLE = "a published table is given by --table FILE or --key KEY [SOURCE]"
VIEW = "Canada\tCA\ten.wikipedia\t1\tSun\tQ525\t126\n"


@pytest.fixture(autouse=True)
def files(here: Path) -> None:
    """Tables with one thing wrong in each."""
    texts = {
        "t.csv": "town,answer\na,3\nb,4\n",
        "text.csv": "town,answer\na,many\n",
        "twice.csv": "town,answer\na,3\na,4\n",
        "sums.csv": "state,town,answer\nA,a,3\nA,,3\n",
        "empty.csv": "town,answer\n",
        "none.csv": "town,answer\na,\nb,\n",
        "half.csv": "town,answer\na,2.5\n",
        "named.csv": "town,answer,mean\na,2,1\n",
        "x.json": '{"rows": []}',
        "broken.json": '{"rows": ',
        "v.tsv": VIEW,
        "w.tsv": f"{VIEW}Canada\tCA\tno count\n",
        "noisy.csv": "town,level,answer,error,error_of_all,mechanism,scale\n"
        "a,town,3,1,1,discrete Laplace,2\n"
        "b,total,3,1,1,discrete Laplace,x\n",
        "own.csv": "town,level,answer,error,error_of_all\na,town,3,1,1\n,total,3,1,1\n",
    }
    for name, text in texts.items():
        (here / name).write_text(text)
    query = "SELECT '1' AS geocode, 'sex' AS query_name, [1, 2] AS value, 4.0 AS variance"
    other = "SELECT '2', 'total', [3], 4.0"
    duckdb.sql(f"{query} UNION ALL {other}").write_parquet(str(here / "m.parquet"))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("no.csv", *NOISE), "there is no file 'no.csv': check the name"),
        (("t.csv", *NOISE), "'t.csv' does not state which columns are keys: give --by"),
        (("t.csv", "--by", "city", *NOISE), "'t.csv' has no column 'city': use 'town'"),
        (("t.csv", "--by", "town,", *NOISE), "must name columns with commas between them"),
        (("t.csv", "--by", "town,town", *NOISE), "names a column twice: name it once"),
        (("t.csv", "--by", "town"), "'t.csv' needs the noise of one level (town), and the file"),
        (("t.csv", "--by", "town", "--column", "n", *NOISE), "'t.csv' has no column 'n'"),
        (("text.csv", "--by", "town", *NOISE), "row 1 below the names in 'text.csv' must have"),
        (
            ("twice.csv", "--by", "town", *NOISE),
            "rows 1 and 2 below the names have answers for one cell, a: add the column that",
        ),
        (("sums.csv", "--by", "state,town", *NOISE, *NOISE, *NOISE), "and 3 are given"),
        (("empty.csv", "--by", "town", *NOISE), "'empty.csv' has no row"),
        (("none.csv", "--by", "town", *NOISE), "answers must hold at least one number"),
        (
            ("half.csv", "--by", "town", *NOISE),
            "whole number, as its noise is discrete Laplace: correct it, or, if the noise was",
        ),
        (("named.csv", "--by", "town", *NOISE, "--out", "o.csv"), "has a column 'mean' already"),
        (("own.csv", *NOISE), "needs the noise of 2 levels (town; total), and 1 is given"),
        (("own.csv", "--by", "town", *NOISE), "needs the noise of 2 levels (town; total), and 1"),
        (("sums.csv", "--by", "state,town", *NOISE), "once for each in this order"),
        (("noisy.csv", *NOISE), "'noisy.csv' states its noise itself: leave --epsilon"),
        (("noisy.csv", "--by", "town", *NOISE), "'noisy.csv' states its noise itself"),
        (("noisy.csv", "--by", "town", "--column", "error"), "is that of its column 'answer'"),
        (("noisy.csv", "--by", "town"), "town has 2 noises in 'noisy.csv': leave --by out"),
        (("noisy.csv",), "row 2 below the names in 'noisy.csv' must have in column 'scale'"),
        (("x.json",), "'x.json' is no table of noisycount"),
        (("broken.json",), "'broken.json' is no JSON: check that it is whole"),
        (("x.json", *NOISE), "'x.json' states its noise itself: leave --epsilon"),
        (("v.tsv",), "the noise of 'v.tsv' depends on the day of its counts: give --day YYYY-MM-DD"),
        (("v.tsv", *NOISE, "--total", "9"), "only the answers that reach a threshold"),
        (("v.tsv", *NOISE, "--ranks"), "which reveal nothing about the others: leave --ranks out"),
        (("v.tsv", *NOISE, "--prior", "learned"), "leave --prior out"),
        (("w.tsv", *NOISE), "line 2 of 'w.tsv' is no row of page views"),
        (("m.parquet",), "'m.parquet' has several places: give --geocode, such as --geocode 1"),
        (("m.parquet", "--geocode", "7"), "--geocode '7' is not in the file: it has 1, 2"),
        (("m.parquet", "--geocode", "1", "--query", "age"), "--query 'age' was not measured"),
        (("m.parquet", "--geocode", "1", *NOISE), "states the variance of its noise: leave"),
        (("t.csv", "--by", "town", *NOISE, "--prior", "0"), "must be learned, or the"),
        (("t.csv", "--by", "town", *NOISE, "--below", "x"), "must be a finite number of records"),
        (("t.csv", "--by", "town", *NOISE, "--total", "1.5"), "must be a whole number of records"),
        (("t.csv", "--by", "town", *NOISE, "--out", "t.csv"), "'t.csv' is the file that is read"),
        (("t.csv", "--by", "town", *NOISE, "--out", "o.xls"), "unknown extension '.xls': use .csv"),
        (("t.csv", "--day", "May"), "must be a day such as 2024-05-01"),
        (("t.csv", "--size", "100"), WHOLE),
        (("t.csv", "--key", "abc"), WHOLE),
        (("t.csv", "107"), WHOLE),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(refused: Refused, words: tuple[str, ...], reason: str) -> None:
    """With the name of the file or the option, and a remedy; nothing is written."""
    message = refused("refine", "--table", *words)
    assert any(each in message for each in reason.split("|"))


@pytest.mark.parametrize("words", [("--ranks",), ("--by", "town"), ("--total", "5")])
def test_options_of_tables_belong_to_a_table(refused: Refused, words: tuple[str, ...]) -> None:
    """They are not passed over beside one answer."""
    assert WHOLE in refused("refine", "107", "--size", "200", *NOISE, *words)


def test_keys_that_lead_to_no_table_are_refused(run: Run, refused: Refused, here: Path) -> None:
    """No key, one count, another data set, a noise that the ledger knows."""
    configure(here, 'unit = "person"')
    count = run("count", "survey", "--where", "age > 60", "--epsilon", "0.1", "--json").object
    words = ("--by", "female", "--groups-per-unit", "1", "--epsilon", "0.1", "--json")
    table = run("count", "survey", *words).object["key"]
    assert "the ledger has no such key" in refused("refine", "--key", "abcdef")
    assert "that is one count: add --size N, and --rate P" in refused("refine", "--key", count["key"])
    assert "an abbreviated key needs at least 6 characters" in refused("refine", "--key", table[:5])
    assert "that is an answer about survey" in refused("refine", "--key", table, "t.csv")
    assert "must be the one data set of --key" in refused("refine", "--key", table, "a", "b")
    assert "the ledger knows the noise" in refused("refine", "--key", table, *NOISE)


@pytest.mark.thorough
def test_a_count_of_the_ledger_is_refined_by_its_key(run: Run, refused: Refused, here: Path) -> None:
    """The ledger knows its answer and its noise, so only what is public is typed."""
    configure(here, 'unit = "person"')
    count = run("count", "survey", "--where", "age > 60", "--epsilon", "0.1", "--json").object
    known, key = ("--size", "5912", "--rate", "10%"), ("--key", count["key"][:6])
    answer = str(count["answer"])
    typed = run("refine", answer, *known, "--epsilon", "0.1", "--json").object
    assert run("refine", *key, "survey", *known, "--json").object == typed
    assert run("refine", *key, *known, "--plot", "k.svg").status == 0
    assert "the ledger knows the noise" in refused("refine", *key, *known, *NOISE)
    assert "that is an answer about survey" in refused("refine", *key, "t.csv", *known)
    assert WHOLE in refused("refine", *key, *known, "--ranks")
    words = ("--by", "female", "--groups-per-unit", "1", "--epsilon", "0.1", "--json")
    table = run("count", "survey", *words).object["key"]
    assert "is a table" in refused("refine", "--key", table, *known)


def test_there_is_one_noise_or_one_an_answer(refused: Refused) -> None:
    """As many as answers, or one for all."""
    words = ("--size", "200", *NOISE, *NOISE)
    message = refused("refine", "107", *words)
    assert "the noise is given 2 times: give --epsilon, or --scale, once; see" in message
    message = refused("refine", "1", "2", "3", *words)
    assert "given 2 times: give --epsilon, or --scale, once, or 3 times, once an answer" in message
