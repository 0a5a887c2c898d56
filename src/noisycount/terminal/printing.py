"""Names, values and rows as lines of a terminal, in which no number is cut.

Results on a terminal, and as JSON for machines.
"""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import click
from rich.cells import cell_len

from noisycount.display.texts import printable
from noisycount.engines.places import is_server
from noisycount.terminal.refusal import writable

__all__ = [
    "Facts",
    "column_widths",
    "file_facts",
    "json_text",
    "line_width",
    "output_encoding",
    "print_drawing",
    "print_facts",
    "print_json",
    "print_table",
    "print_text",
    "seen_from_here",
    "wrapped",
]

_BETWEEN = 3  # what a table draws between two columns
_BREAKABLE = 24  # a longer word may break over lines, unless it is a number
_NUMBER = re.compile(r"[^\w\s]*\d.*", re.DOTALL)
_WORD = re.compile(r"\S+\s*")


def wrapped(text: str, width: int) -> list[str]:
    """A text in lines as wide as there is room for; a word that is wider stays whole.

    Example:
        >>> wrapped("the next may cost up to 1/170141183460469231731687303715884105727", 12)
        ['the next may', 'cost up to', '1/170141183460469231731687303715884105727']
    """
    lines = [text[: len(text) - len(text.lstrip())]]
    for word in _WORD.findall(text):
        if lines[-1].strip() and cell_len(lines[-1] + word.rstrip()) > width:
            lines.append("")
        lines[-1] += word
    return [line.rstrip() for line in lines]


def column_widths(rows: Sequence[Sequence[str]], width: int) -> list[int] | None:
    """A width for each column of a table; None where a number would have to break.

    Example:
        >>> column_widths([("adversary", "δ"), ("distribution only", "0.00286")], 30)
        [16, 7]
        >>> column_widths([("adversary", "δ"), ("distribution only", "0.00286")], 20) is None
        True
    """
    columns = list(zip(*rows, strict=True))
    widths = [max(map(cell_len, column)) for column in columns]
    least = [max(map(_least_width, column)) for column in columns]
    room = width - _BETWEEN * len(columns) - 1
    while sum(widths) > room:
        spare, place = max((have - need, place) for place, (have, need) in _pairs(widths, least))
        if not spare:
            return None
        widths[place] -= 1
    return widths


def as_records(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[tuple[str, str]]:
    """A name and a value for each cell that is not empty, with an empty pair between rows."""
    for number, row in enumerate(rows):
        if number:
            yield "", ""
        yield from ((name, cell) for name, cell in zip(header, row, strict=True) if cell)


def _pairs(widths: list[int], least: list[int]) -> Iterator[tuple[int, tuple[int, int]]]:
    return enumerate(zip(widths, least, strict=True))


def _least_width(cell: str) -> int:
    """The width below which a number in the cell, or a word of usual length, would break."""
    if _NUMBER.fullmatch(cell):
        return cell_len(cell)
    return max((_word_width(word) for word in cell.split()), default=1)


def _word_width(word: str) -> int:
    return cell_len(word) if _NUMBER.fullmatch(word) else min(cell_len(word), _BREAKABLE)


Facts = list[tuple[str, str]]
_GAP = 2  # between a name and its value
_USUAL, _WIDEST = 80, 100  # columns
_DRAWN = ("┏━┳┓", "┃", "┡━╇┩", "│", "└─┴┘")  # above, around and below the header; rows; below all
_PLAIN = ("+--+", "|", "|-+|", "|", "+--+")  # the same for a standard output that lacks them
_DUMB = {"dumb", "unknown"}  # terminals
_READABLE = 20  # columns that are enough for values whose words are longer


def line_width() -> int:
    """How many columns wide lines may be: as wide as the terminal, at most 100."""
    typed = os.environ.get("COLUMNS", "")
    return min(int(typed) if typed.isdecimal() else _terminal_width(), _WIDEST) or _USUAL


def _terminal_width() -> int:
    """How wide the terminal is that any of the three streams is at."""
    for stream in (0, 1, 2):
        with suppress(OSError):
            return os.get_terminal_size(stream).columns
    return _USUAL


def output_encoding() -> str:
    """Of standard output."""
    return getattr(sys.stdout, "encoding", None) or "utf-8"


def print_json(value: object) -> None:
    """One JSON value; characters that could steer a terminal are escaped."""
    text = json_text(value, indent=2)
    plain = (c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
    click.echo("".join(plain))


def json_text(value: object, indent: int | None = None) -> str:
    """A JSON value in characters that standard output can write; the others are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode(output_encoding())
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent)
    return text


def print_text(text: str = "", *, bold: bool = False) -> None:
    """One paragraph."""
    for line in text.split("\n"):
        for part in wrapped(_shown(line), line_width()):
            click.echo(_bold(part) if bold else part)


def seen_from_here(place: object) -> str:
    """A path as short as one would type it: relative below this folder, `~` for the home.

    An address is shown as it is.
    """
    if is_server(str(place)):
        return str(place)
    path, home = Path(str(place)), os.path.expanduser("~")  # noqa: PTH111  (Path.home raises without one)
    if path.is_relative_to(Path.cwd()):
        return str(path.relative_to(Path.cwd()))
    return str(Path("~", path.relative_to(home)) if path.is_relative_to(home) else path)


def print_drawing(lines: Iterable[str]) -> None:
    """Lines of which every character has its place."""
    for line in lines:
        click.echo(_shown(line).rstrip())


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Names and values in two columns or, where numbers have no room there, below each other."""
    shown, room = [(_shown(name), _shown(value)) for name, value in facts], line_width()
    indent = max((cell_len(name) for name, _ in shown), default=0) + _GAP
    widest = max((cell_len(word) for _, value in shown for word in value.split()), default=0)
    is_beside = indent + min(widest, _READABLE) <= room
    for name, value in shown:
        margin = indent if is_beside else _GAP
        first, *others = wrapped(value, room - margin)
        if name and not is_beside:
            click.echo(_bold(name))
        start = _bold(name) if name and is_beside else ""
        gap = " " * (margin - cell_len(name) if is_beside else margin)
        click.echo(f"{start}{gap}{first}".rstrip())
        for line in others:
            click.echo(" " * margin + line)


def file_facts(*files: Path | None) -> Facts:
    """The files that a command wrote, one line each.

    Args:
        files: Where each was asked for; None: it was not.
    """
    return [("file", seen_from_here(file)) for file in files if file is not None]


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows of cells below the names of their columns; names and values where they lack room."""
    names, shown = list(map(_shown, header)), [list(map(_shown, row)) for row in rows]
    widths = column_widths([names, *shown], line_width())
    if widths is None:
        print_text()
        print_facts(as_records(names, shown))
        return
    is_drawn = output_encoding().lower().startswith("utf")
    top, head, below, row, bottom = _DRAWN if is_drawn else _PLAIN
    click.echo(_rule(widths, top))
    _print_row(names, widths, head, is_header=True)
    click.echo(_rule(widths, below))
    for cells in shown:
        _print_row(cells, widths, row)
    click.echo(_rule(widths, bottom))


def _rule(widths: Sequence[int], characters: str) -> str:
    """A line between rows, of its left end, its dash, its crossing and its right end."""
    left, dash, crossing, right = tuple(characters)
    return f"{left}{crossing.join(dash * (width + 2) for width in widths)}{right}"


def _print_row(
    cells: Sequence[str], widths: Sequence[int], bar: str, *, is_header: bool = False
) -> None:
    """A row, in as many lines as its longest cell needs; the header stands at its lowest."""
    parts = [_folded(cell, width) for cell, width in zip(cells, widths, strict=True)]
    most = max(map(len, parts))
    for number in range(most):
        places = [number - (most - len(part) if is_header else 0) for part in parts]
        line = [
            part[place] if 0 <= place < len(part) else ""
            for part, place in zip(parts, places, strict=True)
        ]
        padded = [
            f" {cell}{' ' * (width - cell_len(cell))} "
            for cell, width in zip(line, widths, strict=True)
        ]
        click.echo(f"{bar}{bar.join(map(_bold, padded) if is_header else padded)}{bar}")


def _folded(text: str, width: int) -> list[str]:
    """A cell in lines of a width, in which a longer word is broken."""
    lines = [""]
    for word in _WORD.findall(text):
        if cell_len(lines[-1] + word.rstrip()) > width and lines[-1]:
            lines.append("")
        for character in word if cell_len(word.rstrip()) > width else [word]:
            if cell_len(lines[-1] + character.rstrip()) > width:
                lines.append("")
            lines[-1] += character
    return [line.rstrip() for line in lines]


def _bold(text: str) -> str:
    """The text in bold where standard output is a terminal that can."""
    return text if os.environ.get("TERM", "").lower() in _DUMB else click.style(text, bold=True)


def _shown(text: str) -> str:
    """A text in one line of characters that standard output has, none of which steers it."""
    return writable(printable(text), output_encoding())
