"""What commands write: lines of a terminal, in which no number is cut, JSON, and files."""

import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

import click
from rich.cells import cell_len

from noisycount.display.texts import printable, writable
from noisycount.errors import NoisyCountError
from noisycount.validation import stat_or_none

_WORD = re.compile(r"\S+\s*")
_NUMBER = re.compile(r"[^\w\s]*\d.*", re.DOTALL)
_BREAKABLE = 24  # a longer word may break over lines, unless it is a number
_BETWEEN = 3  # what a table draws between two columns


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
        spare, place = max((have - need, place) for place, (have, need) in enumerate(zip(widths, least, strict=True)))
        if not spare:
            return None
        widths[place] -= 1
    return widths


def _least_width(cell: str) -> int:
    """Return the width below which a number in the cell, or a word of usual length, would break."""
    is_sentence = " " in cell and cell_len(cell) > _BREAKABLE
    if _NUMBER.fullmatch(cell) and not is_sentence:
        return cell_len(cell)
    return max(
        (cell_len(word) if _NUMBER.fullmatch(word) else min(cell_len(word), _BREAKABLE) for word in cell.split()),
        default=1,
    )


Facts = list[tuple[str, str]]
Table = tuple[Sequence[str], Sequence[Sequence[str]]]  # the names of columns, and rows
_GAP = 2  # between a name and its value
_USUAL, _WIDEST = 80, 100  # columns
_DRAWN = ("┏━┳┓", "┃", "┡━╇┩", "│", "└─┴┘")  # above, around and below the header; rows; below all
_UNDRAWN = ("+--+", "|", "|-+|", "|", "+--+")  # the same for a standard output that lacks them
_DUMB = {"dumb", "unknown"}  # terminals
_ON_TERMINAL, _IN_FILE = 60, 1000  # rows that are shown at most
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
    if "://" in str(place):
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
    """The files that a command wrote, one line each; None is one that nobody asked for."""
    return [("file", seen_from_here(file)) for file in files if file is not None]


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows of cells below the names of their columns; names and values where they lack room."""
    names, shown = list(map(_shown, header)), [list(map(_shown, row)) for row in rows]
    widths = column_widths([names, *shown], line_width())
    if widths is None:
        facts: Facts = []
        for row in shown:
            named = ((name, cell) for name, cell in zip(names, row, strict=True) if cell)
            facts += [("", ""), *named]
        print_facts(facts)
        return
    is_drawn = output_encoding().lower().startswith("utf")
    top, head, below, bar, bottom = _DRAWN if is_drawn else _UNDRAWN
    click.echo(_rule(widths, top))
    _print_row(names, widths, head, is_header=True)
    click.echo(_rule(widths, below))
    for row in shown:
        _print_row(row, widths, bar)
    click.echo(_rule(widths, bottom))


def shown_places(rows: int) -> list[int]:
    """Which rows of a long table are shown: all, or the first and the last where nobody reads them all."""
    most = _ON_TERMINAL if sys.stdout.isatty() else _IN_FILE
    if rows <= most:
        return list(range(rows))
    return [*range(most // 2), *range(rows - most // 2, rows)]


def print_rows(header: Sequence[str], rows: Sequence[Sequence[str]], number: int) -> None:
    """So many rows, or those of them that are shown, with a mark in their middle for the others."""
    middle = len(rows) // 2
    left_out = [["…"] * len(header)] if len(rows) < number else []
    print_table(header, [*rows[:middle], *left_out, *rows[middle:]])


def padded(texts: Sequence[str]) -> list[str]:
    """Numbers below each other; a text that is empty stays so."""
    widest = max(map(len, texts), default=0)
    return [text and text.rjust(widest) for text in texts]


def _rule(widths: Sequence[int], characters: str) -> str:
    """A line between rows, of its left end, its dash, its crossing and its right end."""
    left, dash, crossing, right = tuple(characters)
    return f"{left}{crossing.join(dash * (width + 2) for width in widths)}{right}"


def _print_row(cells: Sequence[str], widths: Sequence[int], bar: str, *, is_header: bool = False) -> None:
    """A row, in as many lines as its longest cell needs; the header stands at its lowest."""
    parts = [_folded(cell, width) for cell, width in zip(cells, widths, strict=True)]
    most = max(map(len, parts))
    for part in parts:
        missing = [""] * (most - len(part))
        part[:] = missing + part if is_header else part + missing
    for line in zip(*parts, strict=True):
        padded = [f" {cell}{' ' * (width - cell_len(cell))} " for cell, width in zip(line, widths, strict=True)]
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


Done = Callable[[float], None]  # what work calls with the share of it that is done, from 0 to 1
_PATIENCE = 2.0  # seconds without a bar


@contextmanager
def progress(doing: str) -> Iterator[Done]:
    """How much is done, on a terminal; nothing where standard error is a file."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console, RenderableType  # noqa: PLC0415  (for terminals alone)
    from rich.progress import Progress  # noqa: PLC0415

    class LateProgress(Progress):
        def get_renderables(self) -> Iterator[RenderableType]:
            if all((task.elapsed or 0) > _PATIENCE for task in self.tasks):
                yield from super().get_renderables()

    with LateProgress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(doing, total=None)  # it moves, until somebody knows the share
        yield lambda share: bars.update(task, total=1.0, completed=share)


@contextmanager
def status(doing: str) -> Iterator[None]:
    """What goes on, on a terminal; nothing where standard error is a file."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415  (for terminals alone)

    with Console(stderr=True).status(doing):
        yield


@contextmanager
def new_file(path: Path, option: str) -> Iterator[TextIO]:
    """A text file that was not there before."""
    try:
        with path.open("x", encoding="utf-8") as file:
            yield file
    except FileExistsError:
        raise NoisyCountError(f"{option} {str(path)!r} exists already: name another file") from None
    except OSError as error:
        raise NoisyCountError(f"{option} {str(path)!r} cannot be written ({error.strerror})") from None


def check_regular(file: Path) -> None:
    """The refusal of what is there and neither a file nor a folder: a pipe would wait for ever."""
    state = stat_or_none(file)
    if state is not None and not (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)):
        raise NoisyCountError(f"{str(file)!r} is no regular file: name another file")


@contextmanager
def writing(file: Path) -> Iterator[None]:
    """The refusal of a file that what is done inside cannot write."""
    try:
        check_regular(file)
        yield
    except OSError as error:
        raise NoisyCountError(f"{str(file)!r} cannot be written ({error.strerror}): name another file") from None


@contextmanager
def draft(file: Path) -> Iterator[Path]:
    """Another file of the same ending, which takes the place of a file when all is written.

    Whatever happens inside, an older file stays whole, and no part of a new one is left.
    """
    part = file.with_name(f".{os.getpid()}.{file.name}")
    with writing(file):
        try:
            yield part
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)
