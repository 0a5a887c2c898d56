"""Findings about the names and the rows of a file: faults of its lines, and rows that do not look like records."""

from collections.abc import Iterator, Mapping

from noisycount.display.numbers import counted_noun
from noisycount.engines.check import EXAMPLES, PADDED, SINGLE_QUOTED, Check, OddRows
from noisycount.engines.finding import (
    FILLED_UP,
    LEFT_OUT,
    Finding,
    Proposal,
    Severity,
    quoted_cells,
    quoted_examples,
)
from noisycount.engines.formats import FileFormat

_KINDS = {
    "groups": ("names below a line of groups", "looks like the names of the columns, below a line of groups"),
    "names": ("more names below the names", "look like more names, such as the texts of questions"),
    "names again": ("names that stand there again", "repeat the names"),
    "tables": ("another table below", "begin as the names do: split the file if another table begins there"),
    "below": ("another table below", "differ from all rows above: split the file if another table begins there"),
    "empty": ("empty rows", "are empty"),
    "notes": ("rows of totals or notes", "look like totals or notes"),
    "several": (
        "rows that may be several",
        "have cells of several lines with as many cells each as there are names, as if a quotation mark were missing",
    ),
    "totals": ("rows that add up others", "look like sums of other rows"),
    "named": ("rows with the word for a total", "have the word for a total in a cell"),
}
_MARKS = ("#", "//")  # comments of programs


def layout_faults(check: Check) -> Iterator[Finding]:
    """Yield a finding for each fault that prevents counting the file until its owner states how to read it."""
    if any(odd.kind == "groups" for odd in check.odd_rows):  # the names are in another line
        return
    for fault in dict.fromkeys(check.faults.values()):
        proposals = tuple(
            Proposal(part, _configured_value(check, part)) for part, text in check.faults.items() if text == fault
        )
        text = f"{fault[0].upper()}{fault[1:]}: mend it there, or state how it is read"
        yield Finding(Severity.BLOCKS, "lines that cannot be read as they are", text, proposals=proposals)


def words_in_lines(check: Check) -> Iterator[Finding]:
    """Yield a finding if the only column may be several columns with blanks between them."""
    if check.words:
        proposals = (Proposal("delimiter", " "),) if check.has_single_blanks else ()
        remedy = "state that a blank stands between them" if proposals else "write one comma for each run of blanks"
        text = (
            f"Each line is one cell and has {check.words} words with blanks between them: if they are cells, {remedy}"
        )
        yield Finding(Severity.LOOK, "lines that may be several cells", text, proposals=proposals)


def quoted_names(check: Check) -> Iterator[Finding]:
    """Yield a finding if all names are in single quotation marks.

    The marks belong to the names unless the owner states otherwise.
    """
    names = [column.name for column in check.columns]
    is_stated = check.form is None or check.form.delimiter is None or check.form.quote is not None
    if names and not is_stated and all(map(SINGLE_QUOTED.fullmatch, names)):
        text = (
            f"Single quotation marks stand around the names, as if around all cells: {quoted_cells(names[:EXAMPLES])}"
        )
        yield Finding(Severity.LOOK, "marks around names", text, proposals=(Proposal("quote", "'"),))


def unnamed_columns(check: Check) -> Iterator[Finding]:
    """Yield a finding about columns that have no name in the line of names."""
    names = _new_names(check)
    if not names:
        return
    columns = ", ".join(f"column {place} is called {name!r}" for place, name in [*check.unnamed.items()][:EXAMPLES])
    more = f", and {len(names) - EXAMPLES:,} more" if len(names) > EXAMPLES else ""
    verb = "has" if len(names) == 1 else "have"
    text = f"{counted_noun('column', len(names))} {verb} no name: {columns}{more}. State names by place, counted from 1"
    yield Finding(Severity.LOOK, "columns without a name", text, proposals=(_stated_names(check, names),))


def renamed_columns(check: Check) -> Iterator[Finding]:
    """Yield a finding about columns that were renamed, as another name differs only in case."""
    for name, original in check.renamed.items():
        text = f"The file calls it {original!r}, and another column the same in whatever case: rename one of them there"
        yield Finding(Severity.LOOK, "columns with another name", text, name)


def broken_names(check: Check) -> Iterator[Finding]:
    """Yield a finding about names with line breaks or other characters that cannot be typed."""
    if (check.form or FileFormat()).skip is None or "names" in check.faults:
        return
    taken = {column.name.lower() for column in check.columns}
    names: dict[int, str] = {}
    for place, column in enumerate(check.columns, start=1):
        if not column.name.isprintable():
            plain = " ".join("".join(each if each.isprintable() else " " for each in column.name).split())
            names[place] = plain if plain and plain.lower() not in taken else f"{plain or 'column'}_{place}"
            taken.add(names[place].lower())
    if names:
        such = quoted_cells([check.columns[place - 1].name for place in [*names][:EXAMPLES]])
        verb = "has" if len(names) == 1 else "have"
        text = f"{counted_noun('name', len(names))} {verb} line breaks or characters that no question can type: {such}"
        yield Finding(Severity.LOOK, "names with line breaks", text, proposals=(_stated_names(check, names),))


def _stated_names(check: Check, names: Mapping[int, str]) -> Proposal:
    """Return the proposal of some names by position, in addition to the stated names."""
    stated = dict((check.form or FileFormat()).names or ())
    return Proposal("names", {str(place): name for place, name in sorted({**stated, **names}.items())})


def _new_names(check: Check) -> dict[int, str]:
    """Return the proposed names of columns that have none, by position."""
    if any(odd.kind == "groups" for odd in check.odd_rows) or "names" in check.faults:
        return {}
    taken = {column.name.lower() for column in check.columns if column.name not in check.unnamed.values()}
    return {place: f"column{place}" + "_" * (f"column{place}" in taken) for place in check.unnamed}


def odd_rows(check: Check) -> Iterator[Finding]:
    """Yield a finding for each kind of odd rows, which do not look like records.

    They are counted, or block all answers.
    """
    for odd in check.odd_rows:
        title, phrase = _KINDS[odd.kind]
        verb = phrase if odd.rows > 1 or odd.kind == "groups" else singular_phrase(phrase)
        severity, effect = Severity.LOOK, ", and every row is counted"
        if _is_blocking(check, odd):
            severity, effect = Severity.BLOCKS, f", and keep{'s' * (odd.rows == 1)} questions from being answered"
        such = quoted_examples(odd.texts, EXAMPLES) if odd.texts else ""
        text = f"{counted_noun('row', odd.rows)} {verb}{effect}{such}"
        statements, is_doubtful = (
            tuple(_odd_rows_proposals(check, odd)),
            odd.kind == "named",
        )  # a record may have that word
        proposals, choices = ((), statements) if is_doubtful else (statements, ())
        yield Finding(severity, title, text, None, odd.rows, odd.lines, proposals, choices)


def rows_by_rule(check: Check) -> Iterator[Finding]:
    """Yield a finding with the number of rows that each stated rule leaves out or fills up."""
    for rows in check.rows_by_rule:
        rule, verb, title = rows.kind, "leaves out", LEFT_OUT
        if rows.kind == PADDED:
            rule, verb, title = "ragged", "fills up", FILLED_UP
        statement = check.form.line(rule) if rule == "ragged" and check.form else rule
        number = f"{rows.rows:,}" if rows.rows else "none"
        text = f"{statement} {verb} {number} of {counted_noun('row', check.rows_below_names)}"
        yield Finding(Severity.NOTE, title, text, None, rows.rows, rows.lines)


def _is_blocking(check: Check, odd: OddRows) -> bool:
    """Return True if questions are refused because of cells of odd rows, and would be answered without these rows."""
    if odd.kind == "groups" and check.faults:
        return True
    for column in check.columns:
        if column.left is not None and odd.can_be_left_out:
            filled = sum(odd.cells.get(column.name, {}).values())
            names_nobody = column.name == check.unit and column.missing > column.left.missing and filled < odd.rows
            if names_nobody or (filled and column.is_refused and not column.left.is_refused):
                return True
    return False


def names_like_values(check: Check) -> Iterator[Finding]:
    """Yield a finding if the line of names looks like a record.

    If the owner states a unit by a name in that line, nothing is proposed: without the line, no column has that name.
    """
    if check.names_like_values:
        such = quoted_cells(check.names_like_values[:EXAMPLES])
        names = [f"column{place}" for place in range(1, len(check.columns) + 1)]
        remedy = "state that no line has names"
        if check.unit is not None:
            names, remedy = [], "state header = false and names, with a new name for the unit, if no line has names"
        proposals = (Proposal("header", value=False), Proposal("names", names)) if names else ()
        text = f"The names look like values of a record, which is not counted: {remedy}: {such}"
        yield Finding(Severity.LOOK, "names that look like values", text, proposals=proposals)


_SINGULAR = {"are": "is", "have": "has"}


def singular_phrase(phrase: str) -> str:
    """Return the phrase of a finding in the singular: "have no value" becomes "has no value"."""
    verb, _, others = phrase.partition(" ")
    return f"{_SINGULAR.get(verb, verb + 's')} {others.replace('totals or notes', 'a total or a note')}"


def _configured_value(check: Check, part: str) -> object:
    """Return the value of a part of the file's layout, as a configuration states it."""
    return (check.form or FileFormat()).parts[part]


def _odd_rows_proposals(check: Check, odd: OddRows) -> Iterator[Proposal]:
    """Yield the proposals that leave out odd rows."""
    form = check.form or FileFormat()
    match odd.kind:
        case "groups":
            yield Proposal("skip", odd.lines[0] - 1)
        case "names":
            yield Proposal("skip_rows_after_header", odd.rows)
        case "names again":
            yield Proposal("drop_rows_like_header", value=True)
        case "empty":
            yield Proposal("drop_empty_rows", value=True)
        case "notes" if odd.can_be_left_out:
            marks = tuple(mark for mark in _MARKS if any(text.startswith(mark) for text in odd.texts))
            if marks:
                yield Proposal("comment", [*(form.comment or ()), *marks])
            if texts := [text for text in odd.texts if not text.startswith(marks or "\0")]:
                yield Proposal("footer", [*(form.footer or ()), *texts])
        case "several" if check.fits_unquoted:
            yield Proposal("quote", "")
        case "totals" | "named" if odd.can_be_left_out or odd.kind == "named":
            yield Proposal("drop_rows_where", _dropped_texts(check, odd))


def _dropped_texts(check: Check, odd: OddRows) -> dict[str, list[str]]:
    """Return the texts of rows to leave out, by the name of the column once all proposals are accepted."""
    renamed = {check.unnamed[place]: name for place, name in _new_names(check).items()}
    dropped: dict[str, list[str]] = {}
    for name, texts in [*((check.form and check.form.drop_rows_where) or ()), *odd.wholes.items()]:
        dropped.setdefault(renamed.get(name, name), []).extend(texts)
    return dropped
