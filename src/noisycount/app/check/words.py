"""What a check found, in words."""

import shlex
from collections.abc import Iterator, Sequence

from noisycount.app.check.inspection import Inspection
from noisycount.app.check.kinds import kind_words
from noisycount.app.terminal.printing import Facts, seen_from_here
from noisycount.release.checking import UTF
from noisycount.release.sources.check import EXAMPLES, ColumnCheck
from noisycount.release.sources.forms import FileForm
from noisycount.shown.numbers import signed
from noisycount.shown.toml_text import toml_value

__all__ = [
    "FOR_OWNERS",
    "column_header",
    "column_rows",
    "file_words",
    "inspection_facts",
    "mending_words",
    "problems",
    "unique_words",
    "unit_words",
    "value_header",
    "value_rows",
]

FOR_OWNERS = (
    "This shows facts about the data, cells and true counts: it is for whoever owns them, and for "
    "nobody else."
)
_SHOWN = 30  # characters of a cell


def inspection_facts(inspection: Inspection) -> Facts:
    """Whose records they are, and how they were read."""
    dataset, check = inspection.dataset, inspection.check
    facts = [
        ("data set", seen_from_here(dataset.name)),
        ("source", seen_from_here(dataset.source)),
        ("rows", signed(check.rows)),
    ]
    if inspection.persons is not None:
        facts.append(("persons", signed(inspection.persons)))
    if inspection.is_said:
        unit = inspection.unit
        facts.append(("counts", f"distinct values of {unit}" if unit else "rows"))
    if reason := _only_reason(inspection):
        facts.append(("kinds", f"as {reason}"))
    if check.form is not None and check.form.encoding is not None:
        facts.append(("read as", file_words(check.form)))
    if check.letters and inspection.dataset.form.encoding not in UTF:
        facts.append(("such as", _listed(check.letters)))
    return facts if inspection.is_configured or dataset.table else facts[1:]


def file_words(form: FileForm) -> str:
    """How texts were found in a file."""
    lines = f"{form.skip} line{'' if form.skip == 1 else 's'}" if form.skip else "no line"
    return (
        f"{form.encoding} texts between {toml_value(form.delimiter)}, "
        f"{lines} before the names of the columns"
    )


def column_header(inspection: Inspection) -> tuple[str, ...]:
    """The names of the columns; why kinds are what they are is told where reasons differ."""
    why = () if _only_reason(inspection) else ("why",)
    return "column", "kind", "missing", "unreadable", "questions", *why


def column_rows(inspection: Inspection) -> list[tuple[str, ...]]:
    """One line a column, with cells as `column_header` names them."""
    has_reasons = not _only_reason(inspection)
    return [
        (
            column.name,
            kind_words(column),
            signed(column.missing),
            signed(column.unreadable),
            "yes" if (why := inspection.why_unused(column)) is None else f"no: {why}",
            *([column.reason.removeprefix("they are ")] if has_reasons else []),
        )
        for column in inspection.check.columns
    ]


def value_header() -> tuple[str, ...]:
    """The names of the columns of the values of texts."""
    return "texts of", "rows with each of them"


def value_rows(inspection: Inspection) -> list[tuple[str, ...]]:
    """The values of each column that has few texts, with how many rows have it."""
    return [
        (column.name, ", ".join(f"{_shown(value)} {signed(rows)}" for value, rows in column.values))
        for column in inspection.check.columns
        if column.values and inspection.why_unused(column) in {None, "unreadable"}
    ]


def _only_reason(inspection: Inspection) -> str:
    """The reason of all kinds where there are several columns and one reason."""
    first, *others = {column.reason for column in inspection.check.columns} or {""}
    return "" if others or len(inspection.check.columns) == 1 else first


def problems(inspection: Inspection) -> Iterator[str]:
    """What does not fit, and what follows from it."""
    if encoding := inspection.unstated_encoding:
        yield (
            f"The file is not in UTF-8; it was read as {encoding}, and its encoding must be stated."
            f" Look whether letters with accents are right{_such(inspection.check.letters)}."
        )
    if inspection.without_unit:
        yield (
            f"{unit_words(inspection)} cannot be counted for anybody: fill them in, or remove"
            " those rows."
        )
    if (last := inspection.check.sparse_line) is not None:
        yield (
            f"{_line_word(inspection).capitalize()} {signed(last)}, the last one, is nearly empty: "
            "if it holds sums, remove it, as it is counted like any other."
        )
    for column in inspection.check.columns:
        if column.unreadable:
            yield f"{column.name}: {_unreadable(column, _line_word(inspection))}"
    for column in inspection.nearly_unique:
        yield unique_words(column, inspection)
    if inspection.is_changed:
        yield (
            "These are not the columns that the ledger has written down: mend them, or let "
            "`noisycount check --renew` write down these."
        )
    if number := inspection.answered_otherwise:
        are = "answer in the ledger is" if number == 1 else "answers in the ledger are"
        yield (
            f"{signed(number)} {are} about other records, or about these as they were read then: "
            "who asks the same again is charged, and counts what is there now."
        )
    yield _verdict(inspection)


def _verdict(inspection: Inspection) -> str:
    """Whether questions are answered."""
    if not inspection.fits:
        return "No question is answered until that is mended."
    if inspection.is_said:
        return "Questions are answered, and the ledger keeps what these columns are."
    return (
        "Questions are answered once the first one says whose rows these are: --unit COLUMN, or "
        "--unit row."
    )


def mending_words(inspection: Inspection) -> str:
    """Where to write what mends it."""
    if inspection.is_configured:
        return "To mend that, write into noisycount.toml:"
    source = seen_from_here(inspection.dataset.source)
    return (
        "To mend that, write into noisycount.toml what follows, or let `noisycount init "
        f"{shlex.quote(source)}` write all of it, and change it there:"
    )


def unit_words(inspection: Inspection) -> str:
    """How many rows name no person, and where some of them are."""
    told = f"{_cells(inspection.without_unit, 'row')} without a value of {inspection.unit}"
    lines = inspection.check.without_unit
    if not lines:
        return told
    more = " and more" if len(lines) < inspection.without_unit else ""
    plural = "s" if len(lines) > 1 or more else ""
    return f"{told} ({_line_word(inspection)}{plural} {', '.join(map(signed, lines))}{more})"


def unique_words(column: ColumnCheck, inspection: Inspection) -> str:
    """That a column tells nearly all persons apart."""
    what = "rows" if inspection.unit is None else "persons"
    return (
        f"{column.name} has another text for nearly all {what}, as names and free texts have: "
        "leave it out of `columns` unless it must be asked about."
    )


def _unreadable(column: ColumnCheck, line: str) -> str:
    """What is in the cells of a column that do not fit, and where."""
    kind = column.kind.value if column.kind else column.type
    fit = "does" if column.unreadable == 1 else "do"
    told = f"{_cells(column.unreadable)} {fit} not fit the kind {kind}"
    accepted = "" if column.is_refused else "; the owner accepted that they count as missing"
    such = ", such as" if len(column.examples) >= EXAMPLES else ":"
    examples = [_shown(cell) for cell in column.examples]
    if column.lines:
        first = "" if column.unreadable == len(examples) else "first in "
        places = (f"({first}{line} {signed(number)})" for number in column.lines)
        examples = [f"{cell} {place}" for cell, place in zip(examples, places, strict=True)]
    return f"{told}{such} {', '.join(examples)}{accepted}"


def _line_word(inspection: Inspection) -> str:
    """What a record of the file is called: a row of a sheet, or a line."""
    form = inspection.check.form
    is_sheet = form is not None and form.encoding is None and form.skip is not None
    return "row" if is_sheet else "line"


def _such(cells: Sequence[str]) -> str:
    """Some cells, to follow what is said of them."""
    return f": {_listed(cells)}" if cells else ""


def _listed(cells: Sequence[str]) -> str:
    return ", ".join(map(_shown, cells))


def _cells(number: int, what: str = "cell") -> str:
    return f"{signed(number)} {what}{'' if number == 1 else 's'}"


def _shown(cell: str) -> str:
    """A cell in quotes, in characters that steer nothing, and not longer than a few words."""
    return repr(cell if len(cell) <= _SHOWN else f"{cell[:_SHOWN]}…")
