import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from noisycount.config.config import Config, DatasetConfig
from noisycount.config.file import load
from noisycount.tasks.check import examined_place
from noisycount.tasks.init import Draft
from tests.layers import examples

CELLS = st.sampled_from(
    [
        ["1", "-20", "3.000", "+4"],
        ["1.5", "2e3", ".25", "7"],
        ["1,5", "1.234,50", "-0,25", "7"],
        ["2024-01-31", "1999-12-01"],
        ["31.01.2024", "1.12.1999"],
        ["31/01/2024", "1/12/1999"],
        ["2024-01-31 12:30", "1999-12-01T00:00:01.5"],
        ["2024-01-31T12:30:00Z", "1999-12-01 00:00:01+02:00"],
        ["ja", "Nein", "nein", "JA"],
        ["true", "false"],
        ["01067", "80331"],
        ["Köln", " blanks ", 'a "quoted" one', "", "a;b,c"],
    ]
)
ODD = st.sampled_from(["", "k.A.", "NA", "unbekannt", "1.1.1.1", "?", "12 EUR"])
ACCEPTED = re.compile(r"^.*\n# Some cells do not fit; .*\n# (.*)$", re.MULTILINE)
NAMES = st.text(st.characters(codec="cp1252", exclude_categories=["Cc", "Cf", "Zs"]), min_size=1, max_size=9).map(
    "{}x".format
)  # a title before a name of digits alone is taken for the names


@st.composite
def columns(draw: st.DrawFn) -> list[str]:
    """The cells of one column: most of one kind, and some that may not fit."""
    usual = draw(CELLS)
    cells = draw(st.lists(st.sampled_from(usual), min_size=12, max_size=12))
    return [*cells, *draw(st.lists(ODD, min_size=3, max_size=3))]


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[Sequence[str]]]:
    """Names of columns, and rows."""
    width = draw(st.integers(2, 5))
    names = draw(st.lists(NAMES, min_size=width, max_size=width, unique_by=str.casefold))
    return names, list(zip(*(draw(columns()) for _ in names), strict=True))


@examples(30)
@given(
    table=tables(),
    delimiter=st.sampled_from(",;\t|"),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    titles=st.integers(0, 2),
)
def test_what_is_written_is_what_was_guessed(
    table: tuple[list[str], list[Sequence[str]]], delimiter: str, encoding: str, titles: int
) -> None:
    """A draft loads, and opens the file with the very kinds and the very form."""
    names, rows = table
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([[f"Title {n}", *[""] * (len(names) - 1)] for n in range(titles)])
    writer.writerows([names, *rows])
    with TemporaryDirectory() as folder:
        source = Path(folder).resolve() / "Umfrage 2025 (1).csv"
        source.write_bytes(text.getvalue().encode(encoding))
        found = examined_place(DatasetConfig(str(source), source))
        draft = Draft(found, "umfrage", "row").text
        written, mended = (loaded(source, text) for text in (draft, ACCEPTED.sub(r"\1", draft)))
        again = examined_place(mended.datasets["umfrage"])
    stated = written.datasets["umfrage"].kinds
    assert stated == found.check.forms
    assert [*stated] == names
    assert again.check.form == found.check.form
    assert again.fits
    for before, after in zip(found.check.columns, again.check.columns, strict=True):
        assert (after.kind, after.missing, after.unreadable) == (before.kind, before.missing, before.unreadable)


def loaded(source: Path, text: str) -> Config:
    """The configuration that a text beside a file is."""
    path = source.with_name("noisycount.toml")
    path.write_text(text, encoding="utf-8")
    return load(path)
