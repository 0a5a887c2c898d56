"""The screen of a check - a table of columns, a table of findings, a verdict, texts around proposals - and its JSON.

Both may show true counts, and are meant for the owner only. The functions about a `GroupInspection` come last: they
show what concerns several tables together.
"""

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from noisycount.display.numbers import counted_noun, signed
from noisycount.display.output import Facts, Table, align_right, shortest_path_text
from noisycount.display.texts import toml_value
from noisycount.display.values import members
from noisycount.engines.check import ColumnCheck
from noisycount.engines.finding import Finding, Proposal, Severity, quoted_cell, quoted_cells
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.engines.table_checks import LinkCheck
from noisycount.engines.table_facts import TableFacts
from noisycount.query.predicate import qualified_name
from noisycount.query.schema import ZONED, Kind
from noisycount.release.records import UTF
from noisycount.tasks.check import GroupInspection, Inspection
from noisycount.tasks.findings import findings_of, findings_of_tables, joint_findings, proposal_lines, value_lines


def _kind_words(column: ColumnCheck) -> str:
    """Return the kind of a column with its format as text; the type in the file if the column has no kind."""
    if column.kind is None:
        return column.type
    return column.kind.value if column.form is None else form_words(column.form)


_MARKS = {",": "comma", ".": "point", " ": "blank", "'": "apostrophe"}


def form_words(form: ColumnFormat) -> str:
    """Return the format of a column as a short text.

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
    if form.minus_behind:
        words.append("a minus behind negative ones")
    return ", ".join([*words, *_value_texts(form)])


def value_words(form: ColumnFormat) -> str:
    """Return the kind and the missing values of a column as text for analysts, without its format in the file.

    Example:
        >>> from noisycount.query.schema import Kind
        >>> value_words(ColumnFormat(Kind.DATE, date_format="%d.%m.%Y", missing=("k.A.",)))
        'date, k.A. missing'
    """
    zone = " in UTC" if form.date_format == ZONED else ""
    return ", ".join([form.kind.value + zone, *_value_texts(form)])


_RULES = {
    "trim": "trimmed",
    "fold_case": "in small letters",
    "drop_zeros": "without zeros",
    "drop_marks": "without marks",
    "drop_missing": "rows without it left out",
}


def _value_texts(form: ColumnFormat) -> Iterator[str]:
    """Yield the texts for true and false, the rules for comparing texts, and the missing values, in words."""
    if form.true:
        yield f"{form.true[0]} or {form.false[0]}"
    yield from (words for rule, words in _RULES.items() if getattr(form, rule))
    if form.normalise:
        yield form.normalise
    if form.missing:
        yield f"{' or '.join(form.missing)} missing"
    if form.nan:
        yield "NaN missing"
    if form.codes:
        yield "codes in place of labels"
    if form.accepts_unreadable:
        yield "unreadable missing"


FOR_OWNERS = "For the owner only: this shows facts about the data, cells and true counts."

_NAMED = 8  # columns that one line names


def inspection_facts(inspection: Inspection) -> Facts:
    """Return the source, the rows, the privacy unit and the format of the records as facts."""
    dataset, check = inspection.dataset, inspection.check
    facts = [
        ("data set", shortest_path_text(dataset.name)),
        ("source", shortest_path_text(dataset.source)),
        ("rows", signed(check.rows)),
    ]
    if (columns := len(check.columns)) > _MOST_COLUMNS:
        facts.append(("columns", f"{signed(columns)}, of which {_FIRST_COLUMNS} are shown; --json lists all"))
    if inspection.persons is not None:
        facts.append(("persons", signed(inspection.persons)))
        facts += _rows_per_person_facts(inspection)
    if inspection.is_unit_stated:
        unit = inspection.unit
        facts.append(("counts", f"distinct values of {unit}" if unit else "rows"))
    facts += dataset.claim.facts
    if reason := _common_reason(inspection):
        facts.append(("kinds", reason))
    if check.form is not None and check.form.encoding is not None:
        facts.append(("read as", _file_words(check.form)))
    if check.letters and inspection.dataset.form.encoding not in UTF:
        facts.append(("such as", quoted_cells(check.letters)))
    has_name = inspection.group is None and (inspection.is_configured or dataset.table)
    return facts if has_name else facts[1:]


def _common_reason(inspection: Inspection) -> str | None:
    """Return the reason of all kinds if the file or the server states them for the same reason; else None."""
    reasons = {column.reason for column in inspection.check.columns}
    return next(iter(reasons)) if len(reasons) == 1 and reasons <= {"the file says so", "the server says so"} else None


def _rows_per_person_facts(inspection: Inspection) -> Facts:
    """Return the number of rows of a person as facts."""
    persons = inspection.check.persons
    if persons is None or persons.largest_rows == 1:
        return [] if persons is None else [("each", "1 row")]
    median = f"{persons.median_rows:,.10g} row{'' if persons.median_rows == 1 else 's'} (median)"
    rule = "" if inspection.group else "; a person counts if one row satisfies the whole condition"
    return [("each", f"{median}, {signed(persons.largest_rows)} (largest){rule}")]


def _file_words(form: FileFormat) -> str:
    """Return the text format of a file: encoding, delimiter, and lines before the table."""
    lines = f"{form.skip} line{'' if form.skip == 1 else 's'}" if form.skip else "no line"
    table = "records, which no line names" if form.header is False else "names of the columns"
    return f"{form.encoding} texts between {toml_value(form.delimiter)}, {lines} before the {table}"


def column_table(inspection: Inspection, findings: Sequence[Finding]) -> Table:
    """Return a table with a row for each column.

    If there are more than 40 columns, only the first 15 have a row, columns with findings before the others. A row for
    each kind then sums up the remaining columns.
    """
    columns, marks = inspection.check.columns, _finding_titles(findings)
    shown_columns = list(columns)
    if len(columns) > _MOST_COLUMNS:
        order = {name: place for place, name in enumerate(marks)}
        shown_columns = sorted(columns, key=lambda column: order.get(column.name, len(order)))[:_FIRST_COLUMNS]
    names = {column.name for column in shown_columns}
    texts = [
        (column.name, _kind_words(column), _remarks_on_column(inspection, column, marks)) for column in shown_columns
    ]
    numbers = [(column.missing, column.unreadable) for column in shown_columns]
    others: dict[str, list[ColumnCheck]] = {}
    for column in columns:
        if column.name not in names:
            others.setdefault(column.type if column.kind is None else column.kind.value, []).append(column)
    for kind, alike in others.items():
        with_missing = sum(column.missing > 0 for column in alike)
        remark = f"cells missing in {counted_noun('column', with_missing)}" if with_missing else ""
        texts.append((f"{counted_noun('other', len(alike))}", kind, remark))
        numbers.append((sum(each.missing for each in alike), sum(each.unreadable for each in alike)))
    missing, unreadable = (align_right([signed(row[place]) for row in numbers]) for place in (0, 1))
    rows = [
        (name, kind, *counts, remark) for (name, kind, remark), *counts in zip(texts, missing, unreadable, strict=True)
    ]
    return ("column", "kind", "missing", "unreadable", "remarks"), rows


_MOST_COLUMNS = 40  # of more columns, only some have a row
_FIRST_COLUMNS = 15  # number of columns with a row if there are too many
_MOST_VALUES = 4  # texts of a column that its row shows
# If each text has fewer rows on average, the row shows the number of texts, not the most frequent ones.
_ROWS_A_VALUE = 2
ACTIONS = {Severity.BLOCKS: "mend", Severity.LOOK: "look", Severity.NOTE: "note"}


def _finding_titles(findings: Sequence[Finding]) -> dict[str, list[str]]:
    """Return the titles of the findings to mend or to look at by column, in the order of the findings."""
    marks: dict[str, list[str]] = {}
    for finding in findings:
        if finding.column is not None and finding.severity is not Severity.NOTE:
            marks.setdefault(finding.column, []).append(f"{ACTIONS[finding.severity]}: {finding.title}")
    return marks


def _remarks_on_column(inspection: Inspection, column: ColumnCheck, marks: Mapping[str, Sequence[str]]) -> str:
    """Return the remarks on a column: its findings, its texts, and the reasons why it is unused or has its kind.

    The texts are the most frequent ones, or only their number if each has few rows.
    """
    remarks = [*marks.get(column.name, ())]
    unused = inspection.reason_unused(column)
    if unused is not None and not (remarks and unused == "unreadable"):
        remarks.append(unused)
    elif column.values and len(column.values) * _ROWS_A_VALUE <= inspection.check.rows:
        values = sorted(column.values, key=lambda each: -each[1])
        value_texts = [f"{quoted_cell(text)} {signed(rows)}" for text, rows in values[:_MOST_VALUES]]
        remarks.append(
            ", ".join(value_texts) + f", {len(values) - len(value_texts)} more" * (len(values) > len(value_texts))
        )
    elif column.distinct:
        about = "" if column.values else "about "
        remarks.append(f"{about}{counted_noun('text', column.distinct)}")
    is_plain = column.reason.startswith("they are ") and column.kind is not Kind.TEXT  # as its kind states it already
    if column.reason not in _PLAIN_REASONS and not is_plain:
        remarks.append(column.reason)
    return "; ".join(remarks)


_PLAIN_REASONS = {
    *("they are texts", "it names the person", "the file says so", "the server says so"),
    *("its owner says so", "the ledger has it so"),
}


def finding_table(inspection: Inspection, findings: Sequence[Finding]) -> Table:
    """Return a table with a row for each finding.

    If more than 9 findings have one title, only the first 8 have a row, and a further row states the number of the
    others. Findings that list values have no row, as their lines stand below the table.
    """
    rows = []
    findings = [finding for finding in findings if not any(choice.table == "values" for choice in finding.choices)]
    titles = Counter(finding.title for finding in findings)
    rows_of_title: Counter[str] = Counter()
    for finding in findings:
        rows_of_title[finding.title] += 1
        more = titles[finding.title] - _MOST_ALIKE
        action = ACTIONS[finding.severity]
        if rows_of_title[finding.title] <= _MOST_ALIKE or more == 1:
            rows.append((action, finding.column or "", finding_words(inspection, finding)))
        elif rows_of_title[finding.title] == _MOST_ALIKE + 1:
            rows.append((action, f"{more:,} more", f"{finding.title}: --json lists them"))
    return ("", "column", "finding"), rows


_MOST_ALIKE = 8  # findings of one title that are listed


def verdict(findings: Sequence[Finding], *, is_unit_stated: bool) -> str:
    """Return a sentence that states if questions are answered, and what the owner should look at."""
    blocking = [finding for finding in findings if finding.severity is Severity.BLOCKS]
    if blocking:
        return f"Not readable: no question is answered because of {named_findings(blocking)}."
    keeps = ", and the ledger keeps what these columns are" if is_unit_stated else ""
    if look := [finding for finding in findings if finding.severity is Severity.LOOK]:
        return f"Ready, but look at {named_findings(look)}. Questions are answered{keeps}."
    return f"Ready: questions are answered{keeps}."


def named_findings(findings: Sequence[Finding]) -> str:
    """Return the titles of findings, each with the columns that it is about."""
    columns: dict[str, list[str]] = {}
    for finding in findings:
        columns.setdefault(finding.title, []).extend([finding.column] if finding.column else [])
    return "; ".join(title + (f" ({shortened_list(names)})" if names else "") for title, names in columns.items())


def shortened_list(names: Sequence[str]) -> str:
    """Return names separated by commas; of more than 9 the first 8, and the number of the others."""
    more = len(names) - _NAMED
    return ", ".join(names) if more <= 1 else f"{', '.join(names[:_NAMED])} and {more:,} more"


def finding_words(inspection: Inspection, finding: Finding) -> str:
    """Return the text of a finding with the lines of the file that it is about."""
    if not finding.lines:
        return f"{finding.text}."
    word = _line_word(inspection) + "s" * (len(finding.lines) > 1)
    first = "first in " if finding.rows > len(finding.lines) else ""
    return f"{finding.text} ({first}{word} {', '.join(map(signed, finding.lines))})."


PUBLIC_VALUES = (
    "Public values: if everybody knows without the records what these columns can hold, write these lines into "
    "noisycount.toml. Leave out every text that the records alone reveal. Analysts see the lists; tables by them need "
    "no keys, and a mistyped value is refused."
)
"""What public values are, and where their lines belong."""


def proposal_words(inspection: Inspection) -> str:
    """Return a sentence on where the proposed lines belong, with the command that writes them."""
    if inspection.is_configured:
        return f"Proposals: write these lines into noisycount.toml.{_block_words(inspection)}"
    source = shlex.quote(shortest_path_text(inspection.dataset.source))
    return f"Proposals: `noisycount init {source} --accept` takes them all; or write these lines into noisycount.toml."


def _block_words(inspection: Inspection) -> str:
    """Return a sentence on the block of one of several tables; empty for other data sets."""
    if inspection.block is None:
        return ""
    block = f"[datasets.{inspection.block}]"
    return f" A table in braces on one line takes no further lines: write it as a block {block} first."


def _line_word(inspection: Inspection) -> str:
    """Return the word for a record of the file: "row" in a spreadsheet, else "line"."""
    form = inspection.check.form
    is_sheet = form is not None and form.encoding is None and form.skip is not None
    return "row" if is_sheet else "line"


def inspection_json(inspection: Inspection) -> dict[str, Any]:
    """Return the content of the records and the findings as JSON; `mend` holds lines for noisycount.toml."""
    dataset, check = inspection.dataset, inspection.check
    form, findings = check.form, findings_of(inspection)
    return {
        "about": FOR_OWNERS,
        "dataset": dataset.name,
        "source": str(dataset.source),
        "unit": inspection.unit,
        **members(dataset, "public_tables", "vouched"),
        "rows": check.rows,
        "persons": inspection.persons,
        "median_rows": check.persons and check.persons.median_rows,
        "largest_rows": check.persons and check.persons.largest_rows,
        "partial_columns": list(check.persons.partial) if check.persons else [],
        "same_unit": list(inspection.same_unit),
        "encoding": form and form.encoding,
        "delimiter": form and form.delimiter,
        "skip": form and form.skip,
        "letters": list(check.letters),
        "lines_without_unit": list(check.without_unit),
        **members(check, "sparse_line", "rows_below_names"),
        "rows_by_rule": [{"rule": each.kind, **members(each, "rows", "lines")} for each in check.rows_by_rule],
        "fits": inspection.fits,
        "changed": inspection.is_changed,
        "answered_otherwise": inspection.answered_otherwise,
        "columns": [_column_json(inspection, column) for column in check.columns],
        "problems": [finding_words(inspection, finding) for finding in findings],
        "verdict": verdict(findings, is_unit_stated=inspection.is_unit_stated),
        "findings": [
            _finding_json(finding, finding_words(inspection, finding), check.statement) for finding in findings
        ],
        "mend": "\n".join(proposal_lines(inspection)),
        "propose": "\n".join(value_lines(inspection)),
    }


def _column_json(inspection: Inspection, column: ColumnCheck) -> dict[str, Any]:
    """Return a column as JSON, with the reason why questions may not use it."""
    why = inspection.reason_unused(column)
    return {
        "name": column.name,
        "kind": column.kind and column.kind.value,
        "type": column.type,
        "form": column.form and column.form.parts,
        **members(column, "missing", "unreadable", "examples", "lines"),
        "values": [{"value": value, "rows": rows} for value, rows in column.values],
        "usable": why is None,
        "why_not": why,
        "reason": column.reason,
    }


def _finding_json(finding: Finding, words: str, statement: Callable[[Proposal], str]) -> dict[str, Any]:
    """Return a finding as JSON, with the lines for noisycount.toml that it proposes.

    Args:
        finding: The finding.
        words: Its text, with the lines of the file that it is about.
        statement: Returns a proposal as a line.
    """
    return {
        **members(finding, "severity", "column", "title"),
        "text": words,
        **members(finding, "rows", "lines"),
        "proposals": [{"table": each.table, "line": statement(each)} for each in finding.proposals],
        "choices": [{"table": each.table, "line": statement(each)} for each in finding.choices],
    }


def group_facts(inspection: GroupInspection) -> Facts:
    """Return the name, the privacy unit and the persons of a data set of several tables as facts."""
    dataset, register = inspection.dataset, inspection.group.persons
    facts = [("data set", shortest_path_text(dataset.name)), ("counts", f"distinct values of {dataset.unit}")]
    if inspection.units is not None:
        where = "in all tables together" if register is None else f"in {register}, which persons names"
        facts.append(("persons", f"{signed(inspection.units)} {where}"))
    return facts


def table_of_tables(inspection: GroupInspection) -> Table:
    """Return a table with a row for each table: its rows, its persons, and how it is joined."""
    numbers = [_numbers_of_table(inspection, facts) for facts in inspection.group.facts]
    rows, persons, alone = (align_right([row[place] for row in numbers]) for place in range(3))
    joins = [join_words(facts) for facts in inspection.group.facts]
    names = [facts.name for facts in inspection.group.facts]
    return ("table", "rows", "persons", "in no other table", "joined by"), [
        *zip(names, rows, persons, alone, joins, strict=True)
    ]


def _numbers_of_table(inspection: GroupInspection, facts: TableFacts) -> tuple[str, str, str]:
    """Return the numbers of rows, of persons, and of persons in no other table; a number that is unknown is empty."""
    rows, table = signed(inspection.tables[facts.name].check.rows), inspection.joint_check(facts.name)
    return (rows, "", "") if table is None else (rows, signed(table.persons), signed(table.alone))


def join_words(facts: TableFacts) -> str:
    """Return how the rows of a table have their persons, in a few words.

    Example:
        >>> from noisycount.engines.table_facts import Link
        >>> join_words(TableFacts("notes", through=Link("visits", "visit_id", "visit_id")))
        'notes.visit_id = visits.visit_id'
    """
    if facts.on is not None:
        return f"public look-up, {_link_words(facts)}"
    if facts.through is not None:
        return _link_words(facts)
    return f"{facts.unit}, one row a person" if facts.is_one_row_a_unit else str(facts.unit)


def _link_words(facts: TableFacts) -> str:
    """Return the equation of a table's link."""
    (link,) = facts.links
    return f"{qualified_name(f'{facts.name}.{link.key}')} = {qualified_name(f'{link.table}.{link.column}')}"


def joint_finding_table(inspection: GroupInspection) -> Table:
    """Return a table with a row for each finding about all tables together."""
    rows = [
        (ACTIONS[finding.severity], finding.column or "", f"{finding.text}.") for finding in joint_findings(inspection)
    ]
    return ("", "table", "finding"), rows


def group_json(inspection: GroupInspection) -> dict[str, Any]:
    """Return the content of several tables and the findings about them as JSON."""
    dataset, findings = inspection.dataset, joint_findings(inspection)
    return {
        "about": FOR_OWNERS,
        "dataset": dataset.name,
        "source": str(dataset.source),
        "unit": dataset.unit,
        "persons_table": inspection.group.persons,
        "persons": inspection.units,
        **members(inspection, "same_unit", "fits", "answered_otherwise"),
        "tables": {facts.name: _table_json(inspection, facts) for facts in inspection.group.facts},
        "links": [] if inspection.numbers is None else [_link_json(link) for link in inspection.numbers.links],
        "problems": [f"{finding.text}." for finding in findings],
        "verdict": verdict(findings_of_tables(inspection), is_unit_stated=True),
        "findings": [_finding_json(finding, f"{finding.text}.", str) for finding in findings],
    }


def _table_json(inspection: GroupInspection, facts: TableFacts) -> dict[str, Any]:
    """Return a table as JSON, with the persons whom it has in common with the others."""
    table = inspection.joint_check(facts.name)
    common = None if table is None else members(table, "persons", "alone", "repeated", "absent")
    return {
        **inspection_json(inspection.tables[facts.name]),
        "is_public": facts.on is not None,
        "one_row_a_unit": facts.is_one_row_a_unit,
        "joined_by": join_words(facts),
        "joint": common,
    }


def _link_json(link: LinkCheck) -> dict[str, Any]:
    """Return the numbers of a link as JSON."""
    names = ("table", "column", "target", "is_lookup", "rows", "missing")
    return members(link, *names, "unmatched", "unmatched_values", "shared", "shared_values")
