"""What a check found, in words and as JSON."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from noisycount.display.numbers import number_of, signed
from noisycount.display.output import Facts, Table, seen_from_here
from noisycount.display.texts import toml_value
from noisycount.engines.check import EXAMPLES, ColumnCheck
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.query.schema import ZONED
from noisycount.release.records import UTF
from noisycount.tasks.check import Inspection
from noisycount.tasks.init import mending, proposed_values


def _kind_words(column: ColumnCheck) -> str:
    """The kind of a column; what the file calls its values where there is none."""
    if column.kind is None:
        return column.type
    return column.kind.value if column.form is None else form_words(column.form)


def form_words(form: ColumnFormat) -> str:
    """What the texts of a column stand for, in a few words.

    Example:
        >>> from noisycount.query.schema import Kind
        >>> form_words(ColumnFormat(Kind.REAL, decimal=",", missing=("NA", "k.A.")))
        'real, decimal comma, NA or k.A. missing'
        >>> form_words(ColumnFormat(Kind.DATE, date_format="%d.%m.%Y", accepts_unreadable=True))
        'date as %d.%m.%Y, unreadable missing'
    """
    words = [form.kind.value]
    if form.date_format == ZONED:
        words[0] += " in UTC"
    elif form.date_format:
        words[0] += f" as {form.date_format}"
    if form.decimal == ",":
        words.append("decimal comma")
    return ", ".join([*words, *_values(form)])


def value_words(form: ColumnFormat) -> str:
    """What the values of a column are, for those who ask, not how they are written in a file.

    Example:
        >>> from noisycount.query.schema import Kind
        >>> value_words(ColumnFormat(Kind.DATE, date_format="%d.%m.%Y", missing=("k.A.",)))
        'date, k.A. missing'
    """
    zone = " in UTC" if form.date_format == ZONED else ""
    return ", ".join([form.kind.value + zone, *_values(form)])


def _values(form: ColumnFormat) -> Iterator[str]:
    """What is true, and what is missing."""
    if form.true:
        yield f"{form.true[0]} or {form.false[0]}"
    if form.trim:
        yield "trimmed"
    if form.missing:
        yield f"{' or '.join(form.missing)} missing"
    if form.accepts_unreadable:
        yield "unreadable missing"


FOR_OWNERS = "This shows facts about the data, cells and true counts: it is for whoever owns them, and for nobody else."

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
    facts += dataset.claim.facts
    if reason := _only_reason(inspection):
        facts.append(("kinds", f"as {reason}"))
    if check.form is not None and check.form.encoding is not None:
        facts.append(("read as", _file_words(check.form)))
    if check.letters and inspection.dataset.form.encoding not in UTF:
        facts.append(("such as", _listed(check.letters)))
    return facts if inspection.is_configured or dataset.table else facts[1:]


def _file_words(form: FileFormat) -> str:
    """How texts were found in a file."""
    lines = f"{form.skip} line{'' if form.skip == 1 else 's'}" if form.skip else "no line"
    return f"{form.encoding} texts between {toml_value(form.delimiter)}, {lines} before the names of the columns"


def column_table(inspection: Inspection) -> Table:
    """One line a column; why kinds are what they are is told where reasons differ."""
    has_reasons = not _only_reason(inspection)
    rows = [
        (
            column.name,
            _kind_words(column),
            signed(column.missing),
            signed(column.unreadable),
            "yes" if (why := inspection.why_unused(column)) is None else f"no: {why}",
            *([column.reason.removeprefix("they are ")] if has_reasons else []),
        )
        for column in inspection.check.columns
    ]
    return ("column", "kind", "missing", "unreadable", "questions", *(("why",) if has_reasons else ())), rows


VALUE_HEADER = ("texts of", "rows with each of them")


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
        such = f": {_listed(inspection.check.letters)}" if inspection.check.letters else ""
        yield (
            f"The file is not in UTF-8; it was read as {encoding}, and its encoding must be stated."
            f" Look whether letters with accents are right{such}."
        )
    if inspection.without_unit:
        yield (f"{unit_words(inspection)} cannot be counted for anybody: fill them in, or remove those rows.")
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
    yield from _unlisted(inspection)
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
    if not inspection.fits:
        return "No question is answered until that is mended."
    if inspection.is_said:
        return "Questions are answered, and the ledger keeps what these columns are."
    return "Questions are answered once the first one says whose rows these are: --unit COLUMN, or --unit row."


def _unlisted(inspection: Inspection) -> Iterator[str]:
    """The texts that their owner did not list among the public values of their column."""
    for column in inspection.check.columns:
        stated = inspection.dataset.values.get(column.name, "")
        unlisted = [] if isinstance(stated, str) else [each for each in column.values if each[0] not in stated]
        if unlisted:
            rows = number_of("row", sum(rows for _, rows in unlisted))
            such = _listed([value for value, _ in unlisted[:EXAMPLES]])
            yield f"{column.name}: {rows} with none of its public values, which are in no row of a table: {such}"


PROPOSING = (
    "Does everybody know without the records what these columns can have? Then write into noisycount.toml what follows,"
    " without what the records alone tell: who may ask sees it, tables need no keys, and what is mistyped is refused."
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
    told = f"{number_of('row', inspection.without_unit)} without a value of {inspection.unit}"
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
    told = f"{number_of('cell', column.unreadable)} {fit} not fit the kind {kind}"
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


def _listed(cells: Sequence[str]) -> str:
    return ", ".join(map(_shown, cells))


def _shown(cell: str) -> str:
    """A cell in quotes, in characters that steer nothing, and not longer than a few words."""
    return repr(cell if len(cell) <= _SHOWN else f"{cell[:_SHOWN]}…")


def inspection_json(inspection: Inspection) -> dict[str, Any]:
    """What is in the records of a data set; `mend` is what to write into noisycount.toml."""
    dataset, check = inspection.dataset, inspection.check
    form = check.form
    return {
        "about": FOR_OWNERS,
        "dataset": dataset.name,
        "source": str(dataset.source),
        "unit": inspection.unit,
        "public_tables": list(dataset.public_tables),
        "vouched": dataset.vouched,
        "rows": check.rows,
        "persons": inspection.persons,
        "encoding": form and form.encoding,
        "delimiter": form and form.delimiter,
        "skip": form and form.skip,
        "letters": list(check.letters),
        "lines_without_unit": list(check.without_unit),
        "sparse_line": check.sparse_line,
        "fits": inspection.fits,
        "changed": inspection.is_changed,
        "answered_otherwise": inspection.answered_otherwise,
        "columns": [_column(inspection, column) for column in check.columns],
        "problems": list(problems(inspection)),
        "mend": "\n".join(mending(inspection)),
        "propose": "\n".join(proposed_values(inspection)),
    }


def _column(inspection: Inspection, column: ColumnCheck) -> dict[str, Any]:
    why = inspection.why_unused(column)
    return {
        "name": column.name,
        "kind": column.kind and column.kind.value,
        "type": column.type,
        "form": column.form and column.form.parts,
        "missing": column.missing,
        "unreadable": column.unreadable,
        "examples": list(column.examples),
        "lines": list(column.lines),
        "values": [{"value": value, "rows": rows} for value, rows in column.values],
        "usable": why is None,
        "why_not": why,
        "reason": column.reason,
    }
