"""Tests of `tasks/refine/publishers.py`."""

import gzip
from pathlib import Path
from typing import Any

import duckdb
import pytest

from noisycount.model.releases import wikimedia
from tests.helpers.commands import Refused, Run

CANADA, TURKEY = ("Canada", "CA"), ("Türkiye", "TR")


def views(country: tuple[str, str], counts: list[int]) -> str:
    """Rows of one country, with quotes in titles and no wikidata item for some."""
    return "".join(
        "\t".join([*country, "en.wikipedia", str(page), f'Page "{page}', "Q5" * (page % 2), str(count)]) + "\n"
        for page, count in enumerate(counts)
    )


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, in order."""
    relation = duckdb.sql(f"FROM '{path}'")
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


@pytest.mark.parametrize("name", ["v.tsv", "v.tsv.gz"])
@pytest.mark.parametrize("header", ["", "country\tcode\tproject\tid\tpage\tqid\tviews\n"])
def test_rows_are_refined_one_by_one(run: Run, here: Path, name: str, header: str) -> None:
    """Under the noise that is typed; quotes are letters, empty cells missing, columns kept."""
    text = (header + views(CANADA, [500, 569])).encode()
    (here / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    words = ("--noise", "discrete-gaussian", "--scale", "90.05", "--out", "o.parquet")
    assert run("refine", "--table", name, *words).status == 0
    found = rows(here / "o.parquet")
    assert [row["page"] for row in found] == ['Page "0', 'Page "1']
    assert [row["qid"] for row in found] == [None, "Q5"]
    assert found[1]["answer"] == 569
    assert found[1]["mean"] == pytest.approx(569)
    assert (found[1]["low"], found[1]["high"]) == (569 - 176, 569 + 176)


def test_the_day_and_the_country_tell_the_noise(run: Run, here: Path) -> None:
    """The day is in the name of the file; countries of more than lower risk are typed."""
    (here / "2024-05-01.tsv").write_text(views(CANADA, [90, 700]) + views(TURKEY, [700]))
    words = ("--table", "2024-05-01.tsv", "--json")
    found = run("refine", *words, "--tier", "medium=TR").object
    low, medium = (wikimedia("2024-05-01", tier).mechanism for tier in ("lower", "medium"))
    assert [level["mechanism"] for level in found["levels"]] == [low.to_dict(), medium.to_dict()]
    assert [row["high"] - row["low"] for row in found["rows"]] == [72, 72, 352]
    assert found["notes"] == []
    (note,) = run("refine", *words).object["notes"]
    assert note.startswith("no count of TR is below 550: if their risk is medium or higher")


def test_other_eras_have_other_noise(run: Run, here: Path) -> None:
    """By the day that is typed, or the name of the era; old files have fewer columns."""
    short = "".join(f"Canada\tCA\ten.wikipedia\tPage {page}\t4000\n" for page in range(2))
    (here / "v.tsv").write_text(short)
    for day, scale in (("2016-02-03", "300"), ("pre-2017", "300"), ("2018-02-03", "30")):
        found = run("refine", "--table", "v.tsv", "--day", day, "--json").object
        assert found["levels"][0]["mechanism"] == {"type": "DiscreteLaplace", "scale": scale}


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (
            ("--day", "2024-05-01"),
            "a count of 126 in CA, but only counts of at least 550 were published for 2024-05-01",
        ),
        (("--day", "2014-05-01"), "no file covers it"),
        (("--day", "2016-05-01"), "tier must be 'lower' before 2024-02-15"),
        (("--tier", "low=CA"), "must be medium or higher with codes of countries: medium=TR,UA"),
    ],
)
def test_what_no_such_file_can_hold_is_refused(
    refused: Refused, here: Path, words: tuple[str, ...], reason: str
) -> None:
    """Counts below the threshold, days and tiers that were never published."""
    (here / "v.tsv").write_text(views(CANADA, [126]))
    tier = () if "--tier" in words else ("--tier", "medium=CA")
    assert reason in refused("refine", "--table", "v.tsv", *words, *tier)
