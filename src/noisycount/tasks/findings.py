"""Findings about a data set, for its owner, and the lines of `noisycount.toml` that correct them.

`findings_of` lists the findings, and `proposal_lines` returns the lines. A finding that follows from the records alone
belongs to `engines/findings.py`, which says how to add one.
"""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from string import Formatter
from typing import Any

from noisycount.config.places import suggest_name
from noisycount.display.numbers import counted_noun
from noisycount.display.texts import toml_key, toml_value
from noisycount.engines.check import EXAMPLES
from noisycount.engines.finding import Finding, Proposal, Severity, quoted_cells, sorted_by_severity
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.ledger.price import unit_noun
from noisycount.query.schema import Kind
from noisycount.release.records import UTF
from noisycount.tasks.check import GroupInspection, Inspection

_ROWS_A_VALUE = 2  # with fewer rows of each value, on average, the values may be names


def findings_of(inspection: Inspection) -> list[Finding]:
    """Return all findings about a file or a table, those that block questions first."""
    return sorted_by_severity(
        [*inspection.findings_about_records, *(finding for finder in _FINDERS for finding in finder(inspection))]
    )


def joint_findings(inspection: GroupInspection) -> list[Finding]:
    """Return the findings about several tables together. Each is about a table, or a column with its table."""
    return sorted_by_severity([finding for finder in _JOINT_FINDERS for finding in finder(inspection)])


def findings_of_tables(inspection: GroupInspection) -> list[Finding]:
    """Return the findings about several tables together, and about each table, with qualified names of columns."""
    of_tables = [
        replace(finding, column=name if finding.column is None else f"{name}.{finding.column}")
        for name, table in inspection.tables.items()
        for finding in findings_of(table)
    ]
    return sorted_by_severity([*joint_findings(inspection), *of_tables])


_TEXTS = tomllib.loads(Path(__file__).with_name("findings.toml").read_text(encoding="utf-8"))


class _Words(Formatter):
    """Words with numbers: {rows:row} is "1 row" or "2 rows", and {rows:is|are} the verb that agrees with them."""

    def format_field(self, value: Any, format_spec: str) -> str:  # noqa: ANN401 - a number or a text
        singular, _, plural = format_spec.partition("|")
        if plural:
            return singular if value == 1 else plural
        return counted_noun(format_spec, value) if format_spec not in {"", ","} else format(value, format_spec)


def _finding(name: str, column: str | None = None, /, rows: int = 0, **values: Any) -> Finding:  # noqa: ANN401 - any
    """Return the finding of a name in `findings.toml`, with the values of its texts, its proposals and choices."""
    statements = {kind: values.pop(kind) for kind in ("proposals", "choices") if kind in values}
    title, text = (_Words().vformat(_TEXTS[name][part], (), values) for part in ("title", "text"))
    return Finding(Severity(_TEXTS[name]["severity"]), title, text, column, rows, **statements)


def _find_encoding(inspection: Inspection) -> Iterator[Finding]:
    """Yield a finding if the encoding must be stated, or if the owner should check letters that depend on it."""
    form, letters = inspection.check.form, inspection.check.letters
    examples = f": {quoted_cells(letters)}" if letters else ""
    if encoding := inspection.unstated_encoding:
        proposals = (Proposal("encoding", encoding),)
        yield _finding("encoding", encoding=encoding, examples=examples, proposals=proposals)
    elif form is not None and form.encoding not in UTF and letters:
        yield _finding("letters", encoding=form.encoding, examples=examples)


def _find_other_columns(inspection: Inspection) -> Iterator[Finding]:
    """Yield a finding if the columns differ from those that the ledger describes."""
    if inspection.is_changed:
        yield _finding("other_columns")


def _find_unstated_unit(inspection: Inspection) -> Iterator[Finding]:
    """Yield a finding if the privacy unit is not stated."""
    if not inspection.is_unit_stated:
        yield _finding("unit")


def _find_repeated_ids(inspection: Inspection) -> Iterator[Finding]:
    """Yield a finding if the unit has a single value, and one for each column of repeated ids if the unit is a row."""
    rows, persons = inspection.check.rows, inspection.check.persons
    if inspection.persons == 1 and persons is not None and persons.largest_rows > 1:
        yield _finding("single_person", inspection.unit, number=persons.largest_rows)
    has_rows_as_units = inspection.is_unit_stated and inspection.unit is None and inspection.group is None
    for column in inspection.check.columns if has_rows_as_units else ():
        number = rows - column.missing
        if 1 < column.ids < number < column.ids * _MOST_ROWS:
            name = toml_value(column.name)
            yield _finding("repeated_ids", column.name, number=number, ids=column.ids, column=name)


_MOST_ROWS = 100  # of a person on average; a value with more is hardly one


def _find_other_size(inspection: Inspection | GroupInspection) -> Iterator[Finding]:
    """Yield a finding if the stated size is not the number of units."""
    size, units = inspection.dataset.size, inspection.units
    if size is not None and units is not None and units != size:
        yield _finding("other_size", size=size, units=counted_noun(unit_noun(inspection.unit), units))


def _find_same_unit(inspection: Inspection | GroupInspection) -> Iterator[Finding]:
    """Yield a finding if other data sets with a unit of the same name may be about the same persons."""
    if inspection.same_unit:
        yield _finding("same_unit", others=", ".join(inspection.same_unit), unit=inspection.unit)


def _find_nearly_unique_texts(inspection: Inspection) -> Iterator[Finding]:
    """Yield a finding for each column whose texts identify nearly all persons."""
    units = inspection.units or 0
    for column in inspection.nearly_unique:
        about = "" if column.values or column.distinct == units else "About "
        counted = counted_noun(unit_noun(inspection.unit), units)
        yield _finding("unique_texts", column.name, about=about, number=column.distinct or 0, units=counted)


def _find_unlisted_values(inspection: Inspection) -> Iterator[Finding]:
    """Yield a finding for each column with texts that are not among its public values."""
    for column in inspection.check.columns:
        public_values = inspection.dataset.values.get(column.name, "")
        unlisted_values = (
            [] if isinstance(public_values, str) else [pair for pair in column.values if pair[0] not in public_values]
        )
        if unlisted_values:
            rows = sum(rows for _, rows in unlisted_values)
            examples = quoted_cells(value for value, _ in unlisted_values[:EXAMPLES])
            yield _finding("unlisted_values", column.name, rows, number=rows, examples=examples)


def _find_answers_about_others(inspection: Inspection | GroupInspection) -> Iterator[Finding]:
    """Yield a finding if the ledger has answers about other records."""
    if inspection.answered_otherwise:
        yield _finding("other_answers", number=inspection.answered_otherwise)


def _find_public_values(inspection: Inspection) -> Iterator[Finding]:
    """Yield a finding for each column with few different texts, as these may be public values."""
    if not (inspection.fits and inspection.is_configured):
        return
    for column in map(inspection.check.without_odd_rows, inspection.check.columns):
        is_short = 1 < len(column.values) <= inspection.check.rows / _ROWS_A_VALUE
        if is_short and column.name not in inspection.dataset.values and inspection.reason_unused(column) is None:
            values = [value for value, _ in column.values]
            choices = (Proposal(column.name, values, "values"),)
            yield _finding("public_values", column.name, number=len(values), choices=choices)


_FINDERS: tuple[Callable[[Inspection], Iterator[Finding]], ...] = (
    _find_encoding,
    _find_other_columns,
    _find_unstated_unit,
    _find_repeated_ids,
    _find_other_size,
    _find_same_unit,
    _find_nearly_unique_texts,
    _find_unlisted_values,
    _find_answers_about_others,
    _find_public_values,
)


def _find_refusal(inspection: GroupInspection) -> Iterator[Finding]:
    """Yield a finding if the tables cannot be joined."""
    if inspection.refusal is not None:
        yield _finding("refusal", refusal=inspection.refusal)


def _find_absent_persons(inspection: GroupInspection) -> Iterator[Finding]:
    """Yield a finding for each table with persons who are not in a table that has a row of every person."""
    if inspection.numbers is None:
        return
    for name, table in inspection.numbers.tables.items():
        for register, number in table.absent.items():
            if number:
                absence = "not_in_persons" if register == inspection.group.persons else "not_in_table"
                yield _finding(absence, name, number=number, table=name, register=register)
        if table.persons and table.alone == table.persons and len(inspection.numbers.tables) > 1:
            yield _finding("other_persons", name, number=table.persons, table=name)


def _find_ids_of_one_person(inspection: GroupInspection) -> Iterator[Finding]:
    """Yield a finding if a person may have one id in one table, and another in another table."""
    persons = [table.check.persons for table in inspection.tables.values()]
    of_one_table = [ids.texts for each in persons if each is not None for ids in each.spellings]
    for ids in () if inspection.numbers is None else inspection.numbers.spellings:
        if ids.texts > max(of_one_table, default=0):
            yield _finding(
                "ids",
                rows=ids.texts,
                about="About " if ids.is_estimate else "",
                number=ids.texts,
                largest=ids.largest,
                form=ColumnFormat.from_parts({"kind": Kind.TEXT.value, **ids.parts}).line(inspection.unit or ""),
                examples=ids.examples_text,
            )


def _find_repeated_persons(inspection: GroupInspection) -> Iterator[Finding]:
    """Yield a finding for each table whose numbers of rows a person differ from what the owner states."""
    for facts in inspection.group.facts:
        table = inspection.joint_check(facts.name)
        if table is None:
            continue
        if facts.is_one_row_a_unit and table.repeated:
            yield _finding("several_rows", facts.name, number=table.repeated)
        elif not facts.is_one_row_a_unit and table.persons and not table.repeated:
            yield _finding("one_row", facts.name, table=facts.name)


def _find_broken_links(inspection: GroupInspection) -> Iterator[Finding]:
    """Yield findings about the rows of a link that lead to nobody, to several persons, or to no explanation."""
    for link in () if inspection.numbers is None else inspection.numbers.links:
        column, values, lost = f"{link.table}.{link.column}", link.unmatched_values, link.missing + link.unmatched
        if link.is_lookup:
            if link.unmatched:
                yield _finding("unexplained", column, number=link.unmatched, values=values, target=link.target)
            continue
        if lost:
            parts = {"missing": link.missing, "unmatched": link.unmatched, "values": values, "target": link.target}
            yield _finding("unowned", column, lost, number=lost, **parts)
        if link.shared:
            shared_values, target = link.shared_values, link.target
            yield _finding("shared", column, link.shared, number=link.shared, values=shared_values, target=target)


_JOINT_FINDERS: tuple[Callable[[GroupInspection], Iterator[Finding]], ...] = (
    _find_refusal,
    _find_absent_persons,
    _find_ids_of_one_person,
    _find_repeated_persons,
    _find_broken_links,
    _find_other_size,
    _find_same_unit,
    _find_answers_about_others,
)


_UNIT = '# unit = "COLUMN" with the column that identifies a person, or unit = "row"'
_OR, _ONE = "# or:", "# keep one of these lines, without its #:"  # before choices
_REASONS = {
    "encoding": "the file is not in UTF-8",
    "delimiter": "the mark between cells",
    "quote": "the mark around cells",
    "skip": "lines before the names of the columns",
    "header": "no line names the columns",
    "names": "names by the positions of columns",
    "skip_rows_after_header": "rows below the names that are not records",
    **dict.fromkeys(
        ("drop_empty_rows", "drop_rows_like_header", "comment", "footer", "drop_rows_where"),
        "such rows are not records",
    ),
}


def proposal_lines(inspection: Inspection) -> list[str]:
    """Return the lines of a configuration that correct the findings; none if no finding has a proposal.

    For a data set that is not configured they are a complete table, which can be pasted.
    """
    findings = [finding for finding in findings_of(inspection) if finding.severity is not Severity.NOTE]
    if not any(finding.proposals or finding.choices for finding in findings):
        return []
    return [*_dataset_lines(inspection, findings), *_kind_lines(inspection, findings)]


def value_lines(inspection: Inspection) -> list[str]:
    """Return the lines that state texts as public values. The owner must decide which of them are public."""
    choices = [choice for finding in findings_of(inspection) for choice in finding.choices if choice.table == "values"]
    if not choices:
        return []
    header = f"{'# under ' if inspection.dataset.values else ''}[datasets.{_table_name(inspection)}.values]"
    return [header, *map(inspection.check.statement, choices)]


def file_format_lines(form: FileFormat, faults: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each line that a file needs about its format (encoding, delimiter and so on), with the reason.

    `faults` has the faults of the file, by the part of the format that corrects them.
    """
    usual: dict[str, list[object]] = {"encoding": [*UTF], "delimiter": [",", None], "skip": [0, None]}
    for part, value in form.parts.items():
        if value not in usual.get(part, []):
            yield form.line(part), faults.get(part) or _REASONS.get(part, "as it was read")


def _dataset_lines(inspection: Inspection, findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the lines of the TOML table `[datasets.NAME]`.

    The statements among which the owner must choose follow at its end, as comments.
    """
    proposed_lines = _statement_lines(inspection, (proposal for finding in findings for proposal in finding.proposals))
    for finding in findings:
        if lines := _statement_lines(inspection, finding.choices):
            proposed_lines += [_OR if finding.proposals else _ONE, *(f"# {line}" for line in lines)]
    if inspection.is_configured:
        yield from [f"# under [datasets.{_table_name(inspection)}]", *proposed_lines] if proposed_lines else []
        return
    dataset, former = inspection.dataset, inspection.former
    if former is not None and former.url is not None:
        yield from ("[ledger]", f"url = {toml_value(former.url)}")
    yield f"[datasets.{_table_name(inspection)}]"
    yield f"source = {toml_value(inspection.source)}"
    if former is not None:
        yield f"account = {toml_value(former.account)}"
    yield f"unit = {toml_value(dataset.unit)}" if dataset.unit else _UNIT
    if dataset.table is not None:
        yield f"table = {toml_value(dataset.table)}"
    keys = {line.partition(" =")[0] for line in proposed_lines}
    form, faults = inspection.check.form, inspection.check.faults
    form_statements = [] if form is None else [line for line, _ in file_format_lines(form, faults)]
    yield from (line for line in form_statements if line.partition(" =")[0] not in keys)
    yield from proposed_lines


def _statement_lines(inspection: Inspection, proposals: Iterable[Proposal]) -> list[str]:
    """Return a line for each key of the data set's own table. The last proposal about a key counts."""
    last_proposals = {proposal.key: proposal for proposal in proposals if not proposal.table}
    return [inspection.check.statement(proposal) for proposal in last_proposals.values()]


def _kind_lines(inspection: Inspection, findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the lines of the table `kinds`, with the choices as comments behind them."""
    check = inspection.check
    forms = check.proposed_forms(proposal for finding in findings for proposal in finding.proposals)
    choices = {
        finding.column: finding for finding in findings if any(choice.table == "kinds" for choice in finding.choices)
    }
    names = dict.fromkeys([*forms, *choices])
    if names:
        is_stated = inspection.dataset.kinds is not None
        place = "# under [{}], in place of what it says of these columns" if is_stated else "[{}]"
        yield place.format(f"datasets.{_table_name(inspection)}.kinds")
    for name in names:
        if name in forms:
            yield forms[name].line(name)
        if name in choices:
            yield _OR if name in forms else _ONE
            yield from (f"# {check.statement(choice)}" for choice in choices[name].choices)


def _table_name(inspection: Inspection) -> str:
    dataset = inspection.dataset
    if inspection.block is not None:
        return inspection.block
    return toml_key(dataset.name if inspection.is_configured else suggest_name(dataset.source))
