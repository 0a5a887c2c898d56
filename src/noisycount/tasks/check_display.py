"""What a check found, in words and as JSON."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from noisycount.display.numbers import signed
from noisycount.display.output import Facts, Table, seen_from_here
from noisycount.display.texts import toml_value
from noisycount.engines.check import ColumnCheck
from noisycount.engines.finding import Finding, Severity, quoted_cell, quoted_cells
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.query.schema import ZONED
from noisycount.release.records import UTF
from noisycount.tasks.check import Inspection
from noisycount.tasks.findings import findings_of
from noisycount.tasks.proposals import proposal_lines, value_lines


def _kind_words(column: ColumnCheck) -> str:
    """The kind of a column; what the file calls its values where there is none."""
    if column.kind is None:
        return column.type
    return column.kind.value if column.form is None else form_words(column.form)


_MARKS = {",": "comma", ".": "point", " ": "blank", "'": "apostrophe"}


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
    if form.thousands is not None:
        words.append(f"{_MARKS[form.thousands]} between thousands")
    if form.symbols:
        words.append(f"with {' or '.join(form.symbols)}")
    if form.brackets:
        words.append("brackets for negative ones")
    if form.nan:
        words.append("NaN missing")
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

_NAMED = 8  # columns in one line


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
        facts.append(("such as", quoted_cells(check.letters)))
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
        (column.name, ", ".join(f"{quoted_cell(value)} {signed(rows)}" for value, rows in column.values))
        for column in inspection.check.columns
        if column.values and inspection.why_unused(column) in {None, "unreadable"}
    ]


def _only_reason(inspection: Inspection) -> str:
    """The reason of all kinds where there are several columns and one reason."""
    first, *others = {column.reason for column in inspection.check.columns} or {""}
    return "" if others or len(inspection.check.columns) == 1 else first


def verdict(inspection: Inspection, findings: Sequence[Finding]) -> str:
    """Return in a sentence if questions are answered, and what the owner should look at."""
    blocking = [finding for finding in findings if finding.severity is Severity.BLOCKS]
    if blocking:
        return f"Not readable: no question is answered until this is mended: {named_findings(blocking)}."
    keeps = ", and the ledger keeps what these columns are" if inspection.is_said else ""
    if look := [finding for finding in findings if finding.severity is Severity.LOOK]:
        return f"Ready, but look at {named_findings(look)}. Questions are answered{keeps}."
    return f"Ready: questions are answered{keeps}."


def named_findings(findings: Sequence[Finding]) -> str:
    """Return the titles of findings, with the columns that each is about."""
    columns: dict[str, list[str]] = {}
    for finding in findings:
        columns.setdefault(finding.title, []).extend([finding.column] if finding.column else [])
    return "; ".join(title + (f" ({listed_few(names)})" if names else "") for title, names in columns.items())


def listed_few(names: Sequence[str]) -> str:
    """Return names with commas between them, of many the first and the number of the others."""
    more = len(names) - _NAMED
    return ", ".join(names) if more <= 1 else f"{', '.join(names[:_NAMED])} and {more:,} more"


def finding_words(inspection: Inspection, finding: Finding) -> str:
    """Return the text of a finding with the lines of the file that it is about."""
    if not finding.lines:
        return f"{finding.text}."
    word = _line_word(inspection) + "s" * (len(finding.lines) > 1)
    first = "first in " if finding.rows > len(finding.lines) else ""
    return f"{finding.text} ({first}{word} {', '.join(map(signed, finding.lines))})."


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


def _line_word(inspection: Inspection) -> str:
    """What a record of the file is called: a row of a sheet, or a line."""
    form = inspection.check.form
    is_sheet = form is not None and form.encoding is None and form.skip is not None
    return "row" if is_sheet else "line"


def inspection_json(inspection: Inspection) -> dict[str, Any]:
    """What is in the records of a data set; `mend` is what to write into noisycount.toml."""
    dataset, check = inspection.dataset, inspection.check
    form, findings = check.form, findings_of(inspection)
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
        "problems": [finding_words(inspection, finding) for finding in findings],
        "verdict": verdict(inspection, findings),
        "findings": [_finding(inspection, finding) for finding in findings],
        "mend": "\n".join(proposal_lines(inspection)),
        "propose": "\n".join(value_lines(inspection)),
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


def _finding(inspection: Inspection, finding: Finding) -> dict[str, Any]:
    """Return a finding as JSON, with the lines for noisycount.toml that it proposes."""
    statement = inspection.check.statement
    return {
        "severity": finding.severity.value,
        "column": finding.column,
        "title": finding.title,
        "text": finding_words(inspection, finding),
        "rows": finding.rows,
        "lines": list(finding.lines),
        "proposals": [{"table": each.table, "line": statement(each)} for each in finding.proposals],
        "choices": [{"table": each.table, "line": statement(each)} for each in finding.choices],
    }
