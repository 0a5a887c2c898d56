"""Output of commands: text, facts and tables for a terminal, JSON, and files.

Text is wrapped to the width of the terminal, but no number is ever broken over two lines. `texts` has the escaping of
characters that could steer a terminal.
"""

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

from noisycount.display.texts import replace_unencodable, replace_unprintable
from noisycount.errors import NoisyCountError
from noisycount.validation import stat_or_none

_WORD = re.compile(r"\S+\s*")
_NUMBER = re.compile(r"[^\w\s]*\d.*", re.DOTALL)
_MAX_UNBROKEN = 24  # characters; a longer word may break over lines, unless it is a number
_SEPARATOR_WIDTH = 3  # characters that a table draws between two columns


def wrap_text(text: str, width: int) -> list[str]:
    """Return the text as lines of at most `width` characters. A longer word has a line of its own, unbroken.

    Example:
        >>> wrap_text("the next may cost up to 1/170141183460469231731687303715884105727", 12)
        ['the next may', 'cost up to', '1/170141183460469231731687303715884105727']
    """
    lines = [text[: len(text) - len(text.lstrip())]]
    for word in _WORD.findall(text):
        if lines[-1].strip() and cell_len(lines[-1] + word.rstrip()) > width:
            lines.append("")
        lines[-1] += word
    return [line.rstrip() for line in lines]


def column_widths(rows: Sequence[Sequence[str]], width: int) -> list[int] | None:
    """Return a width for each column of a table, or None if a number would have to break.

    Example:
        >>> column_widths([("adversary", "δ"), ("distribution only", "0.00286")], 30)
        [16, 7]
        >>> column_widths([("adversary", "δ"), ("distribution only", "0.00286")], 20) is None
        True
    """
    columns = list(zip(*rows, strict=True))
    widths = [max(map(cell_len, {*column})) for column in columns]
    available = width - _SEPARATOR_WIDTH * len(columns) - 1
    minimums = [max(map(_minimum_width, {*column})) for column in columns] if sum(widths) > available else widths
    while sum(widths) > available:
        slack, index = max(
            (current - minimum, index) for index, (current, minimum) in enumerate(zip(widths, minimums, strict=True))
        )
        if not slack:
            return None
        widths[index] -= 1
    return widths


def _minimum_width(cell: str) -> int:
    """Return the width below which a number in the cell, or a word of usual length, would break."""
    is_sentence = " " in cell and cell_len(cell) > _MAX_UNBROKEN
    if _NUMBER.fullmatch(cell) and not is_sentence:
        return cell_len(cell)
    return max(
        (cell_len(word) if _NUMBER.fullmatch(word) else min(cell_len(word), _MAX_UNBROKEN) for word in cell.split()),
        default=1,
    )


Facts = list[tuple[str, str]]  # names and values
Table = tuple[Sequence[str], Sequence[Sequence[str]]]  # column names, and rows
_GAP = 2  # spaces between a name and its value
_DEFAULT_WIDTH, _MAX_WIDTH = 80, 100  # characters
_UNICODE_RULES = ("┏━┳┓", "┃", "┡━╇┩", "│", "└─┴┘")  # top, header row, rule below the header, row, bottom
_ASCII_RULES = ("+--+", "|", "|-+|", "|", "+--+")  # for an output encoding without box-drawing characters
_DUMB_TERMINALS = {"dumb", "unknown"}  # values of TERM
_MAX_TERMINAL_ROWS, _MAX_FILE_ROWS = 60, 1000
_MIN_VALUE_WIDTH = 20  # characters; facts with less room are stacked


def line_width() -> int:
    """Return the length of output lines: the width of the terminal, at most 100; 80 if there is no terminal."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal():
        return min(int(columns), _MAX_WIDTH) or _DEFAULT_WIDTH
    for stream in (0, 1, 2):  # any of standard input, output and error
        with suppress(OSError):
            return min(os.get_terminal_size(stream).columns, _MAX_WIDTH) or _DEFAULT_WIDTH
    return _DEFAULT_WIDTH


def output_encoding() -> str:
    """Return the encoding of standard output."""
    return getattr(sys.stdout, "encoding", None) or "utf-8"


def print_json(value: object) -> None:
    """Print one JSON value. Characters that could steer a terminal are escaped."""
    text = json_text(value, indent=2)
    if not text.replace("\n", "").isprintable():
        text = "".join(
            character if character.isprintable() or character == "\n" else json.dumps(character)[1:-1]
            for character in text
        )
    click.echo(text)


def json_text(value: object, indent: int | None = None) -> str:
    """Return a value as JSON. Characters that standard output cannot encode are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode(output_encoding())
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent)
    return text


def print_text(text: str = "", *, bold: bool = False) -> None:
    """Print a text, wrapped to the width of a line."""
    for line in text.split("\n"):
        for part in wrap_text(_terminal_text(line), line_width()):
            click.echo(_bold(part) if bold else part)


def shortest_path_text(place: object) -> str:
    """Return the shortest text of a path: relative to this folder, or with `~` for the home folder.

    An address (`scheme://…`) is returned unchanged.
    """
    if "://" in str(place):
        return str(place)
    path, home = Path(str(place)), os.path.expanduser("~")  # noqa: PTH111  (Path.home raises without one)
    if path.is_relative_to(Path.cwd()):
        return str(path.relative_to(Path.cwd()))
    return str(Path("~", path.relative_to(home)) if path.is_relative_to(home) else path)


def print_drawing(lines: Iterable[str]) -> None:
    """Print lines without wrapping them, because each character has its position."""
    for line in lines:
        click.echo(_terminal_text(line).rstrip())


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print names and values in two columns, or one below the other if the values need more room."""
    texts, width = [(_terminal_text(name), _terminal_text(value)) for name, value in facts], line_width()
    indent = max((cell_len(name) for name, _ in texts), default=0) + _GAP
    longest_word = max((cell_len(word) for _, value in texts for word in value.split()), default=0)
    has_two_columns = indent + min(longest_word, _MIN_VALUE_WIDTH) <= width
    for name, value in texts:
        margin = indent if has_two_columns else _GAP
        first, *others = wrap_text(value, width - margin)
        if name and not has_two_columns:
            click.echo(_bold(name))
        start = _bold(name) if name and has_two_columns else ""
        gap = " " * (margin - cell_len(name) if has_two_columns else margin)
        click.echo(f"{start}{gap}{first}".rstrip())
        for line in others:
            click.echo(" " * margin + line)


def file_facts(*files: Path | None) -> Facts:
    """Return a fact for each file that a command wrote; None stands for an output that was not requested."""
    return [("file", shortest_path_text(file)) for file in files if file is not None]


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table, or the cells of each row as facts if the columns have too little room."""
    names, body = list(map(_terminal_text, header)), [list(map(_terminal_text, row)) for row in rows]
    widths = column_widths([names, *body], line_width())
    if widths is None:
        facts: Facts = []
        for row in body:
            cells = ((name, cell) for name, cell in zip(names, row, strict=True) if cell)
            facts += [("", ""), *cells]
        print_facts(facts)
        return
    has_unicode = output_encoding().lower().startswith("utf")
    top, head, below, bar, bottom = _UNICODE_RULES if has_unicode else _ASCII_RULES
    lines = [_rule_line(widths, top), *_row_lines(names, widths, head, is_header=True), _rule_line(widths, below)]
    for row in body:
        lines += _row_lines(row, widths, bar)
    click.echo("\n".join([*lines, _rule_line(widths, bottom)]))  # one call: each call flushes the output


def row_indices_to_show(rows: int) -> list[int]:
    """Return the indices of the rows to show: all rows, or the first and the last of a long table."""
    limit = _MAX_TERMINAL_ROWS if sys.stdout.isatty() else _MAX_FILE_ROWS
    if rows <= limit:
        return list(range(rows))
    return [*range(limit // 2), *range(rows - limit // 2, rows)]


def print_rows(header: Sequence[str], rows: Sequence[Sequence[str]], number: int) -> None:
    """Print a table of `number` rows. If `rows` has only the first and the last of them, a row of … marks the gap."""
    middle = len(rows) // 2
    left_out = [["…"] * len(header)] if len(rows) < number else []
    print_table(header, [*rows[:middle], *left_out, *rows[middle:]])


def align_right(texts: Sequence[str]) -> list[str]:
    """Return the numbers aligned to the right. An empty text stays empty."""
    width = max(map(len, texts), default=0)
    return [text and text.rjust(width) for text in texts]


def _rule_line(widths: Sequence[int], characters: str) -> str:
    """Return a line between rows, from four characters: left end, dash, crossing, right end."""
    left, dash, crossing, right = tuple(characters)
    return f"{left}{crossing.join(dash * (width + 2) for width in widths)}{right}"


def _row_lines(cells: Sequence[str], widths: Sequence[int], bar: str, *, is_header: bool = False) -> Iterator[str]:
    """Yield the lines of a row, as many as its longest cell needs. Header cells are aligned to the bottom."""
    columns = [_fold_cell(cell, width) for cell, width in zip(cells, widths, strict=True)]
    height = max(map(len, columns))
    for column in columns:
        blank_lines = [""] * (height - len(column))
        column[:] = blank_lines + column if is_header else column + blank_lines
    for line in zip(*columns, strict=True):
        texts = [f" {cell}{' ' * (width - cell_len(cell))} " for cell, width in zip(line, widths, strict=True)]
        yield f"{bar}{bar.join(map(_bold, texts) if is_header else texts)}{bar}"


def _fold_cell(text: str, width: int) -> list[str]:
    """Return a cell as lines of at most `width` characters. A longer word is broken."""
    if cell_len(text) <= width:
        return [text.strip()]
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
    """Return the text in bold, unless the terminal cannot show bold text."""
    return text if os.environ.get("TERM", "").lower() in _DUMB_TERMINALS else click.style(text, bold=True)


def _terminal_text(text: str) -> str:
    """Return the text without control characters, in characters that standard output can encode."""
    return replace_unencodable(replace_unprintable(text), output_encoding())


Done = Callable[[float], None]  # callback that receives the completed share of the work, from 0 to 1
_BAR_DELAY = 2.0  # seconds before a progress bar appears


@contextmanager
def progress(title: str) -> Iterator[Done]:
    """Show a progress bar on a terminal, and yield a function that updates it. Show nothing in a file."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console, RenderableType  # noqa: PLC0415 - slow to import, only needed on a terminal
    from rich.progress import Progress  # noqa: PLC0415

    class LateProgress(Progress):
        def get_renderables(self) -> Iterator[RenderableType]:
            if all((task.elapsed or 0) > _BAR_DELAY for task in self.tasks):
                yield from super().get_renderables()

    with LateProgress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(title, total=None)  # without a total, the bar only shows that work goes on
        yield lambda share: bars.update(task, total=1.0, completed=share)


@contextmanager
def status(title: str) -> Iterator[None]:
    """Show a spinner with a title on a terminal. Show nothing in a file."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415 - as in `progress`

    with Console(stderr=True).status(title):
        yield


@contextmanager
def new_file(path: Path, option: str) -> Iterator[TextIO]:
    """Open a new text file for writing. Raises NoisyCountError, which names the option, if the file exists."""
    try:
        with path.open("x", encoding="utf-8") as file:
            yield file
    except FileExistsError:
        raise NoisyCountError(f"{option} {str(path)!r} exists already: name another file") from None
    except OSError as error:
        raise NoisyCountError(f"{option} {str(path)!r} cannot be written ({error.strerror})") from None


def check_regular(file: Path) -> None:
    """Raise NoisyCountError if the path is neither a file nor a folder: opening a pipe could wait for ever."""
    state = stat_or_none(file)
    if state is not None and not (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)):
        raise NoisyCountError(f"{str(file)!r} is no regular file: name another file")


@contextmanager
def checked_writing(file: Path) -> Iterator[None]:
    """Turn an OSError of the block, which writes the file, into a NoisyCountError. The file must be regular."""
    try:
        check_regular(file)
        yield
    except OSError as error:
        raise NoisyCountError(f"{str(file)!r} cannot be written ({error.strerror}): name another file") from None


@contextmanager
def draft(file: Path) -> Iterator[Path]:
    """Yield the path of a temporary file with the same suffix, which replaces the file after the block.

    If the block fails, the old file stays as it was and the temporary file is removed.
    """
    temporary = file.with_name(f".{os.getpid()}.{file.name}")
    with checked_writing(file):
        try:
            yield temporary
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)
