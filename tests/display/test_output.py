import os
import re
from contextlib import redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.table import Table
from rich.text import Text

from noisycount.display.output import column_widths, print_table, wrap_text
from noisycount.display.texts import replace_unencodable
from tests.helpers.commands import Refused, Run, configure

PLAN = ("plan", "--within", "20%", "--guess", "1,000")
RISK = ("risk", "--size", "5912", "--rate", "1.7%", "--noise", "gaussian", "--scale", "10")
REFINE = ("refine", "107", "--size", "5,912", "--rate", "1.7%", "--epsilon", "0.15")
COUNT = ("count", "survey", "--where", "age > 40", "--epsilon", "0.125")


@given(st.text(), st.integers(1, 60))
def test_a_wrapped_text_keeps_its_words(text: str, width: int) -> None:
    """Every word is there, whole, and a line is too wide only where one word is."""
    lines = wrap_text(text, width)
    assert " ".join(lines).split() == text.split()
    for line in lines:
        assert cell_len(line.strip()) <= width or len(line.split()) == 1


@given(st.lists(st.tuples(*[st.from_regex(r"[a-zA-Z0-9 .%]{0,30}")] * 3), min_size=1), st.integers(4, 90))
def test_columns_have_room_for_their_numbers(rows: list[tuple[str, str, str]], width: int) -> None:
    """A table with column widths fits, and no number is wider than its column."""
    widths = column_widths(rows, width)
    if widths is None:
        return
    assert sum(widths) + 10 <= width
    for row in rows:
        for cell, room in zip(row, widths, strict=True):
            assert all(cell_len(word) <= room for word in cell.split() if word[0].isdecimal())


@given(st.text(st.characters(exclude_categories=["Cs"])))
@pytest.mark.parametrize("encoding", ["ascii", "latin1", "cp1252", "cp437"])
def test_every_text_can_be_written(encoding: str, text: str) -> None:
    """No character is lost as a question mark, and what an encoding has stays as it is."""
    written = replace_unencodable(text, encoding)
    assert written.encode(encoding).decode(encoding) == written
    assert written.count("?") <= sum("?" in replace_unencodable(each, encoding) for each in text)
    assert replace_unencodable(written, encoding) == written


@pytest.mark.parametrize(
    ("character", "told"), [("±", "+-"), ("−", "-"), ("ε", "epsilon"), ("ü", "u"), ("中", "\\u4e2d")]
)
def test_signs_have_names(character: str, told: str) -> None:
    """Signs that ASCII lacks are written out as words."""
    assert replace_unencodable(character, "ascii") == told


@pytest.mark.thorough
@pytest.mark.parametrize("columns", ["40", "80"])
def test_no_line_is_padded_and_no_number_cut(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    """On narrow and on wide terminals the same numbers are told, and no line ends in a blank."""
    configure(here)
    monkeypatch.setenv("COLUMNS", "100")
    run(*COUNT)  # is paid for, and so told as a repeat from now on
    commands = (RISK, REFINE, COUNT, ("ledger", "show"))
    wide = [run(*words).output for words in commands]
    monkeypatch.setenv("COLUMNS", columns)
    shown = [run(*words).output for words in commands]
    assert list(map(numbers, shown)) == list(map(numbers, wide))
    for told in (*shown, run(*PLAN).output):
        assert not re.search(r"[ \t]$", told, re.MULTILINE)


def numbers(text: str) -> set[str]:
    """The numbers that a text shows."""
    return set(re.findall(r"[−\d][\d.,:/e%-]*\d", text))


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "--epsilon", "0.1", "--guess", "{}"),
        ("plan", "--error", "{}"),
        ("refine", "{}", "--size", "{}", "--rate", "50%", "--epsilon", "0.5"),
        ("refine", "700", "--size", "{}", "--rate", "50%", "--noise", "laplace", "--scale", "{}"),
    ],
)
def test_a_number_is_taken_as_it_is_shown(run: Run, words: tuple[str, ...]) -> None:
    """1,012 is 1012 wherever records are counted."""
    grouped, plain = ([word.format(number) for word in words] for number in ("1,012", "1012"))
    assert run(*grouped, "--json").object == run(*plain, "--json").object


@pytest.mark.parametrize("number", ["1,5", "0,125", "1,0000", ",100", "1,,000"])
def test_a_decimal_comma_is_no_separator(run: Run, number: str) -> None:
    """Only groups of three digits are taken, so that one and a half is not fifteen."""
    told = run("plan", "--epsilon", "0.1", "--guess", number)
    assert (told.status, told.output) == (2, "")
    assert f"got '{number}'" in told.errors


WORDS = st.sampled_from(["abc", "distribution", "0.00286", "1,234", "δ", "x" * 40, "中文字" * 7])
CELLS = st.lists(WORDS, max_size=4).map(" ".join)
NAMES = st.lists(WORDS, min_size=1, max_size=2).map(" ".join)


def leaves_blank(text: str, width: int) -> bool:
    """Return True if Rich moves the blank behind a broken word to the next line, unlike this package."""
    broken = [word for word in text.split()[:-1] if cell_len(word) > width]
    return any(len(chop_cells(f"{word} ", width)) > len(chop_cells(word, width)) for word in broken)


@given(st.data(), st.integers(1, 4), st.integers(20, 100), st.sampled_from(["utf-8", "ascii"]))
def test_a_table_is_drawn_as_rich_draws_it(data: st.DataObject, columns: int, width: int, encoding: str) -> None:
    """Lines and their breaks are those of rich, which takes longer to load than most answers."""
    header = data.draw(st.lists(NAMES, min_size=columns, max_size=columns))
    rows = data.draw(st.lists(st.lists(CELLS, min_size=columns, max_size=columns), min_size=1, max_size=3))
    texts = [[replace_unencodable(cell, encoding) for cell in row] for row in [header, *rows]]
    widths = column_widths(texts, width)
    if widths is None:
        return
    assume(not any(leaves_blank(cell, room) for row in texts for cell, room in zip(row, widths, strict=True)))
    expected = Table()
    for name, room in zip(texts[0], widths, strict=True):
        expected.add_column(Text(name), width=room, overflow="fold")
    for row in texts[1:]:
        expected.add_row(*(Text(cell, overflow="fold") for cell in row))
    streams = [TextIOWrapper(BytesIO(), encoding=encoding) for _ in range(2)]
    Console(highlight=False, width=width, file=streams[0]).print(expected)
    with redirect_stdout(streams[1]), pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        print_table(header, rows)
    drawn = []
    for stream in streams:
        stream.seek(0)
        drawn.append(stream.read().splitlines())
    assert drawn[1] == drawn[0]


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "--epsilon", "0.1", "--guess", "100", "--plot"),
        ("refine", "5", "--size", "9", "--rate", "0.5", "--epsilon", "1", "--plot"),
        ("risk", "--noise", "laplace", "--scale", "1", "--size", "9", "--rate", "0.5", "--plot"),
    ],
    ids=lambda words: words[0],
)
def test_no_command_waits_for_the_reader_of_a_pipe(refused: Refused, here: Path, words: tuple[str, ...]) -> None:
    """A path that exists and is no regular file is refused."""
    os.mkfifo(here / "pipe.svg")
    assert "'pipe.svg' is no regular file: name another file" in refused(*words, "pipe.svg")


def test_no_table_takes_the_place_of_a_pipe(refused: Refused, here: Path) -> None:
    """Before the work for it is done."""
    (here / "answers.csv").write_text("answer\n5\n")
    os.mkfifo(here / "pipe.csv")
    words = ("refine", "--answers", "answers.csv", "--column", "answer", "--size", "9")
    message = refused(*words, "--rate", "0.5", "--epsilon", "1", "--out", "pipe.csv")
    assert "'pipe.csv' is no regular file: name another file" in message
    assert (here / "pipe.csv").is_fifo()
