"""Results on a terminal, and as JSON for machines."""

import json
import os.path
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from noisycount.app.terminal.characters import writable
from noisycount.app.terminal.layout import as_records, column_widths, wrapped
from noisycount.release.sources.servers import is_server
from noisycount.shown.printable import printable

__all__ = [
    "Facts",
    "console",
    "file_facts",
    "json_text",
    "print_drawing",
    "print_facts",
    "print_json",
    "print_table",
    "print_text",
    "seen_from_here",
]

Facts = list[tuple[str, str]]

_GAP = 2  # between a name and its value
_READABLE = 20  # columns that are enough for values whose words are longer


def console() -> Console:
    """Standard output, at most 100 columns wide."""
    terminal = Console(highlight=False)
    terminal.width = min(terminal.width, 100)
    return terminal


def print_json(value: object) -> None:
    """One JSON value; characters that could steer a terminal are escaped."""
    text = json_text(value, indent=2)
    plain = (c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
    click.echo("".join(plain))


def json_text(value: object, indent: int | None = None) -> str:
    """A JSON value in characters that standard output can write; the others are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent)
    return text


def print_text(text: str = "", style: str = "") -> None:
    """One paragraph; nothing in it is taken for markup."""
    terminal = console()
    for line in text.split("\n"):
        _print_lines(
            terminal, [Text(each, style) for each in wrapped(_shown(line), terminal.width)]
        )


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
    terminal = console()
    _print_lines(terminal, (Text(_shown(line)) for line in lines))


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Names and values in two columns or, where numbers have no room there, below each other."""
    shown, terminal = [(_shown(name), _shown(value)) for name, value in facts], console()
    indent = max((cell_len(name) for name, _ in shown), default=0) + _GAP
    widest = max((cell_len(word) for _, value in shown for word in value.split()), default=0)
    is_beside = indent + min(widest, _READABLE) <= terminal.width
    for name, value in shown:
        margin = indent if is_beside else _GAP
        first, *others = wrapped(value, terminal.width - margin)
        if not is_beside and name:
            _print_lines(terminal, [Text(name, "bold")])
        start = (name, "bold") if is_beside else ""
        gap = " " * (margin - cell_len(name) if is_beside else margin)
        _print_lines(terminal, [Text.assemble(start, gap, first)])
        _print_lines(terminal, [Text(" " * margin + line) for line in others])


def file_facts(*files: Path | None) -> Facts:
    """The files that a command wrote, one line each.

    Args:
        files: Where each was asked for; None: it was not.
    """
    return [("file", seen_from_here(file)) for file in files if file is not None]


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows of cells below the names of their columns; names and values where they lack room."""
    names, shown = list(map(_shown, header)), [list(map(_shown, row)) for row in rows]
    terminal = console()
    widths = column_widths([names, *shown], terminal.width)
    if widths is None:
        print_text()
        print_facts(as_records(names, shown))
        return
    table = Table()
    for name, width in zip(names, widths, strict=True):
        table.add_column(Text(name), width=width, overflow="fold")
    for row in shown:
        table.add_row(*(Text(cell, overflow="fold") for cell in row))
    terminal.print(table)


def _shown(text: str) -> str:
    """A text in one line of characters that standard output has, none of which steers it."""
    return writable(printable(text), console().encoding)


def _print_lines(terminal: Console, lines: Iterable[Text]) -> None:
    """Lines as they are, however narrow the terminal, without blanks at their ends."""
    for line in lines:
        line.rstrip()
        terminal.print(line, no_wrap=True, overflow="ignore", crop=False)
