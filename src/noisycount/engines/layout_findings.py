"""Findings about the names and the rows of a file: faults of its lines, and rows that look like no records."""

from collections.abc import Iterator

from noisycount.display.numbers import number_of
from noisycount.engines.check import EXAMPLES, Check, OddRows
from noisycount.engines.finding import Finding, Proposal, Severity, quoted_cells, quoted_examples
from noisycount.engines.formats import FileFormat

_KINDS = {
    "names": ("more names below the names", "look like more names, such as the texts of questions"),
    "names again": ("names that stand there again", "repeat the names"),
    "tables": ("another table below", "begin as the names do: split the file if another table begins there"),
    "empty": ("empty rows", "are empty"),
    "notes": ("rows of totals or notes", "look like totals or notes"),
}
_MARKS = ("#", "//")  # comments of programs
_MOST = 20  # different texts that are proposed


def layout_faults(check: Check) -> Iterator[Finding]:
    """Yield the faults that keep the file from being counted until its owner states how it is read."""
    for fault in dict.fromkeys(check.faults.values()):
        proposals = tuple(Proposal(part, _value(check, part)) for part, text in check.faults.items() if text == fault)
        text = f"{fault[0].upper()}{fault[1:]}: mend it there, or state how it is read"
        yield Finding(Severity.BLOCKS, "lines that cannot be read as they are", text, proposals=proposals)


def odd_rows(check: Check) -> Iterator[Finding]:
    """Yield the rows that look like no records and are counted like any other."""
    for odd in check.odd_rows:
        title, words = _KINDS[odd.kind]
        such = quoted_examples(odd.texts, EXAMPLES)
        verb = words if odd.rows > 1 else _singular(words)
        text = f"{number_of('row', odd.rows)} {verb}, and every row is counted{such if odd.texts else ''}"
        yield Finding(Severity.LOOK, title, text, None, odd.rows, odd.lines, tuple(_proposals(check, odd)))


def names_like_values(check: Check) -> Iterator[Finding]:
    """Yield that the line of names looks like a record."""
    if check.names_like_values:
        such = quoted_cells(check.names_like_values[:EXAMPLES])
        names = [f"column{place}" for place in range(1, len(check.columns) + 1)]
        proposals = (Proposal("header", value=False), Proposal("names", names))
        text = f"The names look like values of a record, which is not counted: state that no line has names: {such}"
        yield Finding(Severity.LOOK, "names that look like values", text, proposals=proposals)


def _singular(words: str) -> str:
    """Return words about rows as words about one row."""
    verb, _, others = words.partition(" ")
    return f"{'is' if verb == 'are' else verb + 's'} {others.replace('totals or notes', 'a total or a note')}"


def _value(check: Check, part: str) -> object:
    """Return a part of the form of a file in the words of a configuration."""
    return (check.form or FileFormat()).parts[part]


def _proposals(check: Check, odd: OddRows) -> Iterator[Proposal]:
    """Yield the statements by which odd rows are left out."""
    form = check.form or FileFormat()
    match odd.kind:
        case "names":
            yield Proposal("skip_rows_after_header", odd.rows)
        case "names again":
            yield Proposal("drop_rows_like_header", value=True)
        case "empty":
            yield Proposal("drop_empty_rows", value=True)
        case "notes" if len(odd.texts) <= _MOST:
            marks = tuple(mark for mark in _MARKS if any(text.startswith(mark) for text in odd.texts))
            if marks:
                yield Proposal("comment", [*(form.comment or ()), *marks])
            if texts := [text for text in odd.texts if not text.startswith(marks or "\0")]:
                yield Proposal("footer", [*(form.footer or ()), *texts])
