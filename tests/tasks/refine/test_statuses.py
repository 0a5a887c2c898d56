from pathlib import Path

import pytest

from tests.helpers.commands import Run

EPSILON = ("--epsilon", "1")
ANSWERS = ("refine", "--answers", "counts.csv", "--column", "answer", *EPSILON)
OUT, KNOWN = ("--out", "out.csv"), ("--size", "100", "--rate", "10%")
TABLE = ("refine", "--table", "counts.csv", *EPSILON, "--by")
COUNTS = "county,town,answer,text,share\nA,x,10,q,0.1\nA,y,12,r,7\nB,x,13,s,0.2\n"
FILES = {
    "counts.csv": COUNTS,
    "empty.csv": "town,answer\n",
    "other.csv": "a,b\n1,2\n",
    "zero.csv": "size,rate\n0,0.1\n",
    "seven.csv": "size,rate\n1,7\n",
    "broken.json": "{",
    "other.json": "{}",
    "broken.parquet": "x",
    "pages.tsv": "Chad\tTD\tfr.wikipedia\t1\tLac\tQ1\t97\nChad\n",
}


@pytest.fixture(autouse=True)
def files(here: Path) -> None:
    """Files of counts, most of which are wrong."""
    for name, text in FILES.items():
        (here / name).write_text(text)


TYPED = [
    ("refine", "--answers", "counts.csv", "--column", "answers", *EPSILON, *KNOWN, *OUT),
    (*ANSWERS, "--size-column", "sizes", "--rate", "10%", *OUT),
    (*ANSWERS, "--size", "100", "--rate-column", "rates", *OUT),
    (*ANSWERS, *KNOWN, "--out", "counts.csv"),
    (*ANSWERS, *KNOWN, "--out", "counts.csv", "--overwrite"),
    (*ANSWERS, *KNOWN, "--out", "zero.csv"),
    (*ANSWERS, *KNOWN, "--out", "out.txt"),
    (*TABLE, "counties,town"),
    (*TABLE, "county,town", "--column", "answers"),
    (*TABLE, "county,town", "--below-column", "floor"),
    (*TABLE, "county,town", "--out", "counts.csv"),
    (*TABLE, "county,town", "--out", "zero.csv"),
    (*TABLE, "county,town", "--out", "out.txt"),
    ("refine", "--table", "counts.csv", *EPSILON),
]
READ = [
    ("refine", "--answers", "counts.csv", "--column", "text", *EPSILON, *KNOWN, *OUT),
    ("refine", "--answers", "none.csv", "--column", "answer", *EPSILON, *KNOWN, *OUT),
    (*ANSWERS, "--size-column", "text", "--rate", "10%", *OUT),
    (*ANSWERS, "--size", "100", "--rate-column", "share", *OUT),
    (*TABLE, "county,town", "--column", "text"),
    (*TABLE, "county,town", "--below-column", "text"),
    (*TABLE, "county"),
    ("refine", "--table", "none.csv", "--by", "town", *EPSILON),
    ("refine", "--table", "empty.csv", "--by", "town", *EPSILON),
    ("refine", "--table", "broken.parquet", "--by", "town", *EPSILON),
    ("refine", "--table", "broken.json"),
    ("refine", "--table", "other.json"),
    ("refine", "--table", "pages.tsv", "--day", "2023-02-06"),
    ("refine", "3", "--strata", "none.csv", *EPSILON),
    ("refine", "3", "--strata", "other.csv", *EPSILON),
    ("refine", "3", "--strata", "zero.csv", *EPSILON),
    ("refine", "3", "--strata", "seven.csv", *EPSILON),
]


@pytest.mark.parametrize(("status", "words"), [*((2, each) for each in TYPED), *((4, each) for each in READ)])
def test_what_was_typed_ends_with_2_and_what_a_file_holds_with_4(run: Run, status: int, words: tuple[str, ...]) -> None:
    """A wrong name, or a file that cannot be written; a file that cannot be read, or whose rows are no such counts."""
    told = run(*words)
    assert (told.status, told.output) == (status, "")
