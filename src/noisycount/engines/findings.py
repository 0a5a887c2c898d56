"""Findings about private records that follow from the facts of a check alone.

To add a finding, write a function from a `Check` to findings and list it in `FINDERS`. Nothing else is needed: the
screen of `check`, its JSON, `Check` in a notebook, `init` and `init --accept` show what the list yields. Three rules:

1. Put the facts into fields of `Check` or `ColumnCheck`; the function reads no record.
2. `Severity.BLOCKS` is only for reasons why every question about the records is refused.
3. A proposal must make its finding disappear: `init --accept` takes the proposals and checks the records again.

Findings that depend on `noisycount.toml` or on the ledger as well are listed in `tasks/findings.py`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from noisycount.display.numbers import counted_noun
from noisycount.engines.check import EXAMPLES, Check, ColumnCheck
from noisycount.engines.finding import (
    Finding,
    Proposal,
    Severity,
    quoted_cell,
    quoted_cells,
    quoted_examples,
    sorted_by_severity,
)
from noisycount.engines.layout_findings import (
    broken_names,
    layout_faults,
    names_like_values,
    odd_rows,
    quoted_names,
    renamed_columns,
    rows_by_rule,
    singular_phrase,
    unnamed_columns,
    words_in_lines,
)
from noisycount.engines.resemblances import may_be_open_ranges
from noisycount.query.schema import Kind


def with_findings(check: Check, unit: str | None) -> Check:
    """Return a check with its findings, those that block questions first.

    `unit`: the column that names the person; None if every row is one unit, or if the unit is not stated.
    """
    facts = replace(check, unit=unit)
    return replace(
        facts, findings=tuple(sorted_by_severity(finding for finder in FINDERS for finding in finder(facts)))
    )


def _no_records(check: Check) -> Iterator[Finding]:
    """Yield a finding if there is no record."""
    if not check.rows:
        text = "There is no record, so that every count is 0: look whether all was exported or copied"
        yield Finding(Severity.LOOK, "no records", text)


_NAMED = 5  # columns in one line
_MINUS_BEHIND = re.compile("[0-9][0-9.,']*-")
_WORD = re.compile(r"[^\W\d_][^\d]{0,29}")


def _rows_without_unit(check: Check) -> Iterator[Finding]:
    """Yield a finding about rows that name no person."""
    unit = next((column for column in check.columns if column.name == check.unit), None)
    if unit is None or not unit.without_dropped_rows.missing:
        return
    rows, verb = unit.without_dropped_rows.missing, "names" if unit.without_dropped_rows.missing == 1 else "name"
    text = f"{counted_noun('row', rows)} {verb} no person"
    if unit.form is not None and unit.form.drop_missing:
        text += " and, as the owner stated, are in no count: persons without an id are not counted"
        yield Finding(Severity.NOTE, "rows without a person", text, check.unit, rows, check.without_unit)
        return
    proposals = _proposals_about_ids(check, {"drop_missing": True})
    ways = "fill the cells in, remove the rows, or state that they are left out"
    text += f": {ways if proposals else 'fill the cells in, or remove the rows'}"
    yield Finding(
        Severity.BLOCKS, "rows without a person", text, check.unit, rows, check.without_unit, proposals=proposals
    )


def _proposals_about_ids(check: Check, parts: Mapping[str, object]) -> tuple[Proposal, ...]:
    """Return the statement about the ids of persons, if noisycount.toml can have one."""
    is_stated = check.unit is not None and check.persons is not None and check.persons.has_stated_ids
    return (Proposal(check.unit, parts, "kinds"),) if is_stated else ()  # type: ignore[arg-type]  # a unit that is there


def _missing_ids(check: Check) -> Iterator[Finding]:
    """Yield a finding about ids of persons that are words or numbers for a missing id."""
    if check.unit is None or check.persons is None:
        return
    form = next((column.form for column in check.columns if column.name == check.unit), None)
    for ids, noun in ((check.persons.missing_ids, "word"), (check.persons.placeholders, "number")):
        if not ids:
            continue
        stated = {"missing": [*(form.missing if form else ()), *ids], "drop_missing": True}
        proposals = _proposals_about_ids(check, stated)
        mending = "a line of noisycount.toml leaves such rows out of all counts"
        if not proposals:
            mending = "leave such rows out where the records are, for instance by a view"
        words = f"is a {noun} for a missing id and counts as a person: {mending}, unless it is a true id"
        if len(ids) > 1:
            words = f"are {noun}s for a missing id and count as a person each: {mending}, unless they are true ids"
        text = f"{counted_noun('id', len(ids))} {words}{quoted_examples(ids, _NAMED)}"
        finding = Finding(Severity.LOOK, "ids that may be missing", text, check.unit, len(ids))
        yield replace(finding, proposals=proposals) if noun == "word" else replace(finding, choices=proposals)


_LOST_DIGITS = (
    "lost digits, as spreadsheets and reals round long numbers: one id may be several persons, who count as one. "
    "Nothing brings the digits back"
)
_BECAME_DATES = "become dates, as spreadsheets write ids such as MAR1 and 3-4: one id may be several persons"


def _spoilt_ids(check: Check) -> Iterator[Finding]:
    """Yield a finding about ids of persons that a program changed when it wrote the file."""
    persons = check.persons
    if check.unit is None or persons is None:
        return
    for ids, title, fate in (
        (persons.rounded, "ids that lost digits", _LOST_DIGITS),
        (persons.dates, "ids that became dates", _BECAME_DATES),
    ):
        if ids is not None:
            verb = "has" if ids.ids == 1 else "have"
            number = f"{counted_noun('id', ids.ids)} in {counted_noun('row', ids.rows)}"
            text = f"{number} {verb} {fate}: export the ids again, as texts{quoted_examples(ids.examples, _NAMED)}"
            yield Finding(Severity.LOOK, title, text, check.unit, ids.ids)


def _columns_to_judge(check: Check) -> Iterator[ColumnCheck]:
    """Yield the columns without the rows that the check proposes to leave out."""
    return (column.without_dropped_rows for column in check.columns)


def _unreadable_cells(check: Check) -> Iterator[Finding]:
    """Yield a finding for each column with cells that do not fit its kind."""
    for column in _columns_to_judge(check):
        if column.unreadable:
            proposals, choices = _form_proposals(column)
            if proposals and column.name == check.unit:  # a person without an id cannot be counted
                proposals, choices = (Proposal(column.name, {"kind": "text"}, "kinds"),), ()
            yield Finding(
                Severity.BLOCKS if column.is_refused else Severity.NOTE,
                "cells that do not fit",
                _unreadable_cells_sentence(column),
                column.name,
                column.unreadable,
                column.lines,
                proposals,
                choices,
            )


def _unreadable_cells_sentence(column: ColumnCheck) -> str:
    """Return a sentence with the number of unreadable cells of a column, and some of them."""
    kind = column.kind.value if column.kind else column.type
    verb, count = ("does", "counts") if column.unreadable == 1 else ("do", "count")
    accepted = "" if column.is_refused else f" and, as the owner stated, {count} as missing"
    examples = f"{', such as' if len(column.examples) >= EXAMPLES else ':'} {quoted_cells(column.examples)}"
    return f"{counted_noun('cell', column.unreadable)} {verb} not fit the kind {kind}{accepted}{examples}"


def _form_proposals(column: ColumnCheck) -> tuple[tuple[Proposal, ...], tuple[Proposal, ...]]:
    """Return the proposals for a column with unreadable cells, and the choices that its owner has."""
    if column.form is None or not column.is_refused:
        return (), ()
    is_negative = column.form.kind.is_number and any(map(_MINUS_BEHIND.fullmatch, column.examples))
    parts = {"minus_behind": True} if is_negative else {}  # else a count would lose negative numbers
    accepting = Proposal(column.name, {**parts, "unreadable": "missing"}, "kinds")
    fitting = tuple(Proposal(column.name, form.parts, "kinds") for form in column.fitting)
    if is_negative and column.form.kind is Kind.INTEGER and may_be_open_ranges(column.examples):
        return (), (*(fitting or (accepting,)), Proposal(column.name, {"kind": "text"}, "kinds"))
    if fitting:
        return (fitting, ()) if len(fitting) == 1 else ((), fitting)
    return (accepting,), tuple(_missing_value_proposals(column))


def _missing_value_proposals(column: ColumnCheck) -> Iterator[Proposal]:
    """Yield the proposal that all unreadable cells of a column are words for a missing value, if this is possible."""
    words = column.examples
    if column.form and len(words) < EXAMPLES and all(map(_WORD.fullmatch, words)):
        yield Proposal(column.name, {"missing": [*column.form.missing, *words]}, "kinds")


def _sparse_row(check: Check) -> Iterator[Finding]:
    """Yield a finding about the last row if it is nearly empty, as a row of sums is."""
    if check.sparse_line is not None:
        text = "The last row is nearly empty and counted like any other: remove it if it holds sums"
        yield Finding(Severity.LOOK, "a last row that is nearly empty", text, None, 1, (check.sparse_line,))


def _several_spellings(check: Check) -> Iterator[Finding]:
    """Yield a finding for each column whose ids or texts may be several spellings of one."""
    persons = check.persons
    for ids in persons.spellings if check.unit and persons else ():
        number = f"{'About ' if ids.is_estimate else ''}{counted_noun('person', ids.texts)}"
        is_for_owner = "drop_marks" in ids.parts
        text = (
            f"{number} may have several ids{' that differ in marks' if is_for_owner else ''}; one with {ids.largest} "
            f"ids changes a count by up to {ids.largest}, at the price of 1{ids.examples_text}"
        )
        proposals = _proposals_about_ids(check, ids.parts)
        finding = Finding(Severity.LOOK, "ids that may be one person's", text, check.unit, ids.texts)
        yield replace(finding, choices=proposals) if is_for_owner else replace(finding, proposals=proposals)
    for column in check.columns:
        if column.name != check.unit and (texts := column.spellings):
            text = f"{counted_noun('text', texts.texts)} may have several spellings, of which a question finds one"
            parts = {rule: part for rule, part in texts.parts.items() if rule in {"trim", "normalise"}}
            proposals = (Proposal(column.name, parts, "kinds"),) if parts and column.form else ()
            severity = Severity.LOOK if parts else Severity.NOTE
            shown = text + texts.examples_text
            yield Finding(severity, "texts that may be one", shown, column.name, texts.texts, proposals=proposals)


def _partial_columns(check: Check) -> Iterator[Finding]:
    """Yield a finding for columns that have a value in only some rows of a person, with advice about conditions."""
    if check.unit is None or check.persons is None or not check.persons.partial:
        return
    partial, apart = check.persons.partial, check.persons.apart
    names = ", ".join(partial[:_NAMED]) + (f" and {len(partial) - _NAMED} more" if len(partial) > _NAMED else "")
    text = f"Most persons have {names} in some of their rows only. One row must satisfy a whole condition"
    if apart:
        one, other = apart[0]
        text += f": no row has both {one} and {other}, so a condition that needs both is true of nobody"
    yield Finding(Severity.LOOK, "columns of some rows of a person", text)


def _several_readings(check: Check) -> Iterator[Finding]:
    """Yield a finding for each column whose cells can be read in several ways."""
    for column in _columns_to_judge(check):
        if column.choices and column.kind and not column.is_refused:
            reason = column.reason.partition(": state")[0].removeprefix("they are ")
            text = f"{reason[0].upper()}{reason[1:]}: until its owner states a form, the column is {column.kind.value}"
            choices = tuple(Proposal(column.name, form.parts, "kinds") for form in column.choices)
            yield Finding(Severity.LOOK, "cells with several readings", text, column.name, choices=choices)


def _resemblances(check: Check) -> Iterator[Finding]:
    """Yield a finding for each column of texts that look like numbers, dates or times."""
    for column in _columns_to_judge(check):
        if column.looks_like and column.kind and column.name != check.unit:
            likeness, kind = column.looks_like, column.kind.value
            text = f"Looks like {likeness.noun}, and stays {kind}. {likeness.remedy}: {quoted_cell(likeness.example)}"
            yield Finding(Severity.LOOK, "cells that look like another kind", text, column.name)


LOSSES = {
    "digits": (
        "numbers with too many digits",
        "whole number",
        "have more than 15 digits, of which a workbook keeps 15: if they identify something, store them as texts",
    ),
    "errors": ("errors of formulas", "cell", "hold an error, such as #N/A or #DIV/0!: it is read as a missing value"),
    "formulas": (
        "formulas without a result",
        "formula",
        "have no stored result and are read as missing: open the workbook in a spreadsheet program, and save it",
    ),
    "bytes": ("bytes", "cell", "hold bytes, which are read as hexadecimal digits: store texts or numbers"),
    "durations": (
        "durations",
        "cell",
        "hold a duration, which is read as a text such as '30:00:00': store numbers of hours to compare durations",
    ),
    "periods": (
        "periods stored as numbers",
        "cell",
        "hold a period, which pandas stores as a whole number: store texts such as 2024-02, or the first day",
    ),
    "stored durations": (
        "durations stored as numbers",
        "cell",
        "hold a duration, which the file stores as a whole number of its unit: store hours or days as numbers",
    ),
    "objects": (
        "objects within objects",
        "cell",
        "hold an object or an array, which is read as one text: give each part that questions need a key of its own",
    ),
    "labels": (
        "codes of which some have no label",
        "cell",
        "have a label in place of the code, and others have a code: ask for each by =, or state codes = true",
    ),
    "moments": (
        "numbers in a column of times",
        "cell",
        "hold a number, but the table declares dates or times: ask with numbers, or store texts such as 2024-02-14",
    ),
}
"""Cells that are read otherwise than other programs show them: the title, the noun and the phrase of the finding."""


def _lossy_cells(check: Check) -> Iterator[Finding]:
    """Yield a finding for columns with cells whose value differs from what other programs show.

    Ids that are all bytes, and labels in a column of numbers, are not in this finding.
    """
    for column in check.columns:
        for key, cells in column.losses.items():
            title, noun, phrase = LOSSES[key]
            are_ids = key == "bytes" and column.name == check.unit and cells == check.rows - column.missing
            if not are_ids and (key != "labels" or column.kind is Kind.TEXT):
                text = f"{counted_noun(noun, cells)} {phrase if cells != 1 else singular_phrase(phrase)}"
                yield Finding(Severity.LOOK, title, text, column.name, cells)


def _unlikely_years(check: Check) -> Iterator[Finding]:
    """Yield a finding for columns whose years may be of another century or calendar.

    No clock decides, so that the same records have the same findings next year.
    """
    for column in _columns_to_judge(check):
        if column.years is None or column.form is None:
            continue
        first, last = column.years
        years = f"Its years are {first} to {last}" if first < last else f"Its year is {first}"
        if "%y" in (column.form.date_format or "") and last >= _FAR_YEAR:
            reason = "Two digits are read as 1969 to 2068, so 45 is 2045: write years of birth with four digits"
        elif not _YEARS[0] <= first <= last <= _YEARS[1]:
            reason = (
                f"Years before {_YEARS[0]} or after {_YEARS[1]} may be of another calendar or stand for missing values:"
                " write them in the usual calendar, or as empty cells"
            )
        else:
            continue
        yield Finding(Severity.LOOK, "years that may be wrong", f"{years}. {reason}", column.name)


_FAR_YEAR = 2030  # of two digits, from which on some may be of the century before
_YEARS = (1800, 2100)


def _not_a_number(check: Check) -> Iterator[Finding]:
    """Yield a finding for columns with NaN.

    NaN is a value above all numbers unless the owner states that it is missing.
    """
    for column in check.columns:
        if column.nan:
            verb = "is" if column.nan == 1 else "are"
            is_unit = column.name == check.unit
            meaning = "is one person: fill the ids in, or remove the rows" if is_unit else "is above every number"
            text = f"{counted_noun('value', column.nan)} {verb} NaN, which {meaning}"
            proposals = () if is_unit else (Proposal(column.name, {"nan": "missing"}, "kinds"),)
            yield Finding(Severity.LOOK, "NaN", text, column.name, column.nan, proposals=proposals)


FINDERS: tuple[Callable[[Check], Iterator[Finding]], ...] = (
    _no_records,
    layout_faults,
    words_in_lines,
    names_like_values,
    quoted_names,
    unnamed_columns,
    renamed_columns,
    broken_names,
    odd_rows,
    rows_by_rule,
    _rows_without_unit,
    _missing_ids,
    _spoilt_ids,
    _unreadable_cells,
    _several_readings,
    _resemblances,
    _several_spellings,
    _partial_columns,
    _lossy_cells,
    _not_a_number,
    _unlikely_years,
    _sparse_row,
)
"""The functions whose findings are shown, in the order of the screen."""
