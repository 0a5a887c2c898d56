"""Results on a terminal, and as JSON for machines."""

import json
import os.path
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from noisycount.release.question.text import printable

__all__ = [
    "Facts",
    "cell",
    "console",
    "json_text",
    "print_facts",
    "print_json",
    "print_table",
    "print_text",
    "seen_from_here",
]

Facts = list[tuple[str, str]]


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
    console().print(Text("\n".join(map(printable, text.split("\n"))), style=style))


def seen_from_here(place: Path | str) -> str:
    """A path as short as one would type it: relative below this folder, `~` for the home."""
    path, home = Path(place), os.path.expanduser("~")  # noqa: PTH111  (Path.home raises without one)
    if path.is_relative_to(Path.cwd()):
        return str(path.relative_to(Path.cwd()))
    return str(Path("~", path.relative_to(home)) if path.is_relative_to(home) else path)


def cell(text: str) -> Text:
    """A text in a table; nothing in it is taken for markup, or steers the terminal."""
    return Text(printable(text), overflow="fold")


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Names and values in two columns."""
    grid = Table.grid(padding=(0, 2), pad_edge=False)
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts:
        grid.add_row(cell(name), cell(value))
    console().print(grid)


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows of cells below the names of their columns."""
    table = Table(*header)
    for row in rows:
        table.add_row(*map(cell, row))
    console().print(table)
