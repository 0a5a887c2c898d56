import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from noisycount.terminal.printing import column_widths, wrapped
from noisycount.terminal.refusal import writable
from tests.commands import Run, configure

PLAN = ("plan", "--within", "20%", "--guess", "1,000")
RISK = ("risk", "--size", "5912", "--rate", "1.7%", "--noise", "gaussian", "--scale", "10")
REFINE = ("refine", "107", "--size", "5,912", "--rate", "1.7%", "--epsilon", "0.15")
COUNT = ("count", "survey", "--where", "age > 40", "--epsilon", "0.125")


@given(st.text(), st.integers(1, 60))
def test_a_wrapped_text_keeps_its_words(text: str, width: int) -> None:
    """Every word is there, whole, and a line is too wide only where one word is."""
    lines = wrapped(text, width)
    assert " ".join(lines).split() == text.split()
    for line in lines:
        assert cell_len(line.strip()) <= width or len(line.split()) == 1


@given(
    st.lists(st.tuples(*[st.from_regex(r"[a-zA-Z0-9 .%]{0,30}")] * 3), min_size=1),
    st.integers(4, 90),
)
def test_columns_have_room_for_their_numbers(rows: list[tuple[str, str, str]], width: int) -> None:
    """Where there are widths, the table fits, and no number is wider than its column."""
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
    written = writable(text, encoding)
    assert written.encode(encoding).decode(encoding) == written
    assert written.count("?") <= sum("?" in writable(each, encoding) for each in text)
    assert writable(written, encoding) == written


@pytest.mark.parametrize(
    ("character", "told"),
    [("±", "+-"), ("−", "-"), ("ε", "epsilon"), ("ü", "u"), ("中", "\\u4e2d")],
)
def test_signs_have_names(character: str, told: str) -> None:
    """What ASCII lacks is written out."""
    assert writable(character, "ascii") == told


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
