"""What a check finds in private records, for their owner, and what cells of texts most likely stand for."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from noisycount.display.texts import toml_key, toml_value
from noisycount.display.values import Shown, row_table
from noisycount.engines.finding import Finding, Proposal
from noisycount.engines.formats import BLANKS, ColumnFormat, FileFormat
from noisycount.frozen import frozen
from noisycount.query.schema import KINDS, Kind, Schema, Spelling

EXAMPLES = 3
"""How many different cells that do not fit are told; with fewer there are no others."""
FEW = 20
"""Of how many different texts, at most, a column's values are all told."""


@frozen
class ColumnCheck(Shown):
    """What is in one column."""

    name: str  # of the column
    kind: Kind | None  # of its values; None: no question can use it
    type: str  # what the engine calls its values
    form: ColumnFormat | None  # what its texts stand for; None where the file states the type of its values
    missing: int  # how many cells say nothing
    unreadable: int = 0  # how many cells do not fit the kind
    examples: tuple[str, ...] = ()  # some different ones, at most `EXAMPLES`
    reason: str = "the file says so"  # why it has this kind
    lines: tuple[int, ...] = ()  # the line of the file that has the first of each example; none where it has no lines
    distinct: int | None = None  # about how many different texts it has; None: nobody looked, or they are no texts
    fitting: tuple[ColumnFormat, ...] = ()  # where cells do not fit, other forms that all of them fit
    values: tuple[tuple[str, int], ...] = ()  # each of its texts, where they are few, with how many rows have it

    @property
    def is_refused(self) -> bool:
        """Whether its cells keep all questions from being answered."""
        return self.unreadable > 0 and not (self.form and self.form.accepts_unreadable)


@frozen(repr=False)
class Check(Shown):
    """What is in private records."""

    rows: int  # how many there are
    columns: tuple[ColumnCheck, ...]  # what is in each column
    form: FileFormat | None = None  # how the texts of a file were found; None for other records
    units: int | None = None  # how many different persons the unit names; None: nobody counted them
    without_unit: tuple[int, ...] = ()  # the lines of some rows that name no person, at most `EXAMPLES`
    # that of the last row where it is nearly empty, as a row of sums is; None: it is as the others
    sparse_line: int | None = None
    letters: tuple[str, ...] = ()  # some texts with letters beyond ASCII, to see whether the encoding is right
    unit: str | None = None  # the column that names the person; None: every row is one unit, or nobody stated it
    findings: tuple[Finding, ...] = ()  # what the owner should know of these facts, in the order of severity

    def _key_facts(self) -> dict[str, object]:
        unreadable = [column.name for column in self.columns if column.unreadable]
        return {"rows": self.rows, "columns": len(self.columns), "unreadable": unreadable}

    def _repr_html_(self) -> str:
        """Return a table of the columns and one of the findings, which show facts about the data."""
        notes = [f"{self.rows:,} rows: facts about the data, for their owner alone"]
        columns = row_table("Columns", _HEADER, map(_cells, self.columns), notes)
        findings = [
            (
                finding.severity.value,
                finding.column or "",
                finding.text,
                "; ".join(map(self.statement, finding.proposals)) or " or ".join(map(self.statement, finding.choices)),
            )
            for finding in self.findings
        ]
        return columns + row_table("Findings", _FINDING_HEADER, findings, ["see noisycount check"]) * bool(findings)

    def statement(self, proposal: Proposal) -> str:
        """Return a proposal as a line of `noisycount.toml`."""
        if proposal.table == "kinds":
            return self.proposed_forms([proposal])[proposal.key].line(proposal.key)
        return f"{toml_key(proposal.key)} = {toml_value(proposal.value)}"

    def proposed_forms(self, proposals: Iterable[Proposal]) -> dict[str, ColumnFormat]:
        """Return the forms of columns once all proposals about their kinds are taken."""
        forms: dict[str, ColumnFormat] = {}
        columns = {column.name: column for column in self.columns}
        for proposal in proposals:
            if proposal.table == "kinds" and isinstance(proposal.value, Mapping):
                name, column = proposal.key, columns[proposal.key]
                form = forms.get(name) or column.form or ColumnFormat(column.kind or Kind.TEXT)
                former = {} if "kind" in proposal.value else form.parts
                forms[name] = ColumnFormat.of_parts({**former, **proposal.value})
        return forms

    @property
    def forms(self) -> dict[str, ColumnFormat]:
        """What the texts of each column stand for."""
        return {column.name: column.form for column in self.columns if column.form is not None}


def typed_check(  # noqa: PLR0913 - what an owner is told
    schema: Schema,
    rows: int,
    given: Iterable[int],
    units: int | None,
    *,
    reasons: Mapping[str, str],
    types: Mapping[str, str] | None = None,
    forms: Mapping[str, ColumnFormat] | None = None,
) -> Check:
    """The check of records that state the types of their columns, of which so many cells of each are given."""
    used = [
        ColumnCheck(name, kind, (types or {}).get(name, kind.value), (forms or {}).get(name), rows - cells)
        for (name, kind), cells in zip(schema.items(), given, strict=True)
    ]
    told = [replace(each, reason=reasons[each.name]) for each in used]
    unused = [ColumnCheck(name, None, type_, None, 0) for name, type_ in schema.others.items()]
    return Check(rows, (*told, *unused), units=units)


_HEADER = ("column", "kind", "missing", "do not fit", "why")
_FINDING_HEADER = ("severity", "column", "finding", "for noisycount.toml")


def _cells(column: ColumnCheck) -> tuple[str, ...]:
    """Return a column as a row of a table."""
    kind = column.type if column.kind is None else column.kind.value
    return column.name, kind, f"{column.missing:,}", f"{column.unreadable:,}", column.reason


# What programs and clerks write where there is no value.
MISSING_WORDS = (
    *("NA", "N/A", "#N/A", "NaN", "NULL", "None", "nil", "-", "--", "?", "."),
    *("k.A.", "k. A.", "keine Angabe", "n/a", "na", "nan", "null", "none", "missing"),
)
_ENOUGH = 0.8  # of the cells: with fewer the others are hardly mistakes
_NEARLY_ALL = 0.95  # of truth values: words are also texts
_TRUTH_WORDS = (
    (("true", "t", "yes", "y"), ("false", "f", "no", "n")),
    (("ja", "j", "wahr"), ("nein", "n", "falsch")),
    (("oui", "o", "vrai"), ("non", "n", "faux")),
    (("sí", "si", "sì", "s"), ("no", "n")),
)
# Of the types that a file gives to the cells of one column, the first that holds them all.
_FAMILIES = ((Kind.REAL, Kind.INTEGER), (Kind.BOOLEAN,), (Kind.TIMESTAMP, Kind.DATE))
_OTHER = {".": ",", ",": "."}


@frozen
class Guess:
    """A form of a column, and why."""

    form: ColumnFormat
    reason: str


@frozen
class _Candidate:
    """A form, the cells that fit it, and what they are called."""

    form: ColumnFormat
    fits: Callable[[str], object]
    cells: str

    def share(self, cells: Sequence[str]) -> float:
        """How many of the cells fit; 0 where they are surely too few to matter."""
        first = cells[: len(cells) - int(_ENOUGH * len(cells)) + 1]
        if not any(map(self.fits, first)):
            return 0
        return sum(map(bool, map(self.fits, cells))) / len(cells)


def _candidate(kind: Kind, spelling: Spelling) -> _Candidate:
    """The values of a kind, written in one way."""
    form = ColumnFormat(kind, decimal=spelling.decimal, date_format=spelling.date_format)
    return _Candidate(form, re.compile(spelling.pattern).fullmatch, spelling.words)


# A column of numbers may have cells of either kind, so the one that most fit is taken, the first
# among equals: that whose digits stand in groups comes last.
_CANDIDATES = [
    _candidate(kind, spelling)
    for has_groups in (False, True)
    for kind in KINDS.values()
    for spelling in kind.spellings
    if spelling.has_groups is has_groups
]


def guessed_form(cells: Iterable[str]) -> Guess:
    """The form of a column, from some of its cells that are not empty.

    Numbers, dates and truth values are those that at least four fifths of the cells look like; cells that then do not
    fit are told, and change nothing for the others. Codes with leading zeros are texts, and so are dates that could
    have their day or their month first, and numbers whose only mark could stand before decimals or between thousands.

    Example:
        >>> guessed_form(["1,5", "2,25", "k.A."]).form.parts
        {'kind': 'real', 'decimal': ',', 'missing': ['k.A.']}
        >>> guessed_form(["01067", "99998"]).reason
        'some have leading zeros, as codes have'
    """
    texts = [text for cell in cells if (text := cell.strip(BLANKS))]
    given = [text for text in texts if text not in MISSING_WORDS]
    if not given:
        return Guess(ColumnFormat(Kind.TEXT), "no cell says anything")
    if any(map(re.compile("[+-]?0[0-9]+").fullmatch, given)):
        return Guess(ColumnFormat(Kind.TEXT), "some have leading zeros, as codes have")
    if all(map(_CANDIDATES[0].fits, given)):  # nothing could be likelier, and most columns are so
        return _guess(_CANDIDATES[0], texts)
    found = [(one.share(given), one) for one in (*_CANDIDATES, *_truths(given))]
    most = max(share for share, _ in found)
    best = [one for share, one in found if share == most]
    if most < _ENOUGH:
        return Guess(ColumnFormat(Kind.TEXT), "they are texts")
    if doubt := _doubt([one.form for one in best]):
        return Guess(ColumnFormat(Kind.TEXT), doubt)
    return _guess(best[0], texts)


def other_forms(stated: ColumnFormat, cells: Sequence[str]) -> list[ColumnFormat]:
    """Forms that a column may have whose cells do not fit what is stated: of its kind, the guess of its cells last.

    Example:
        >>> other_forms(ColumnFormat(Kind.INTEGER), ["1,5", "NA"])[-1].parts
        {'kind': 'real', 'decimal': ',', 'missing': ['NA']}
    """
    said = {cell.strip(BLANKS) for cell in cells}
    missing = tuple(dict.fromkeys([*stated.missing, *(word for word in MISSING_WORDS if word in said)]))
    alike = [replace(stated, decimal=each.decimal, date_format=each.date_format) for each in stated.kind.spellings]
    if stated.kind is Kind.BOOLEAN:
        alike = [replace(stated, true=true, false=false) for true, false in _TRUTH_WORDS]
    guess = guessed_form(cells).form
    forms = [*(replace(each, missing=missing) for each in alike), *([] if guess.kind is Kind.TEXT else [guess])]
    return [form for form in dict.fromkeys(forms) if form != stated]


def guessed_of_types(types: Mapping[Kind, int], cells: Iterable[str]) -> Guess:
    """The form of a column whose file tells numbers, truth values and dates from texts.

    Where most cells have one of these types, the texts among them are told as those that do not fit; where most are
    texts, they are no numbers, whatever they look like.

    Example:
        >>> guessed_of_types({Kind.TEXT: 2}, ["501", "10001"]).form.kind
        <Kind.TEXT: 'text'>
    """
    total = sum(types.values())
    texts = [cell.strip(BLANKS) for cell in cells]
    for family in _FAMILIES:
        said = sum(types.get(kind, 0) for kind in family)
        if total and said >= _ENOUGH * total:
            kind = next(kind for kind in family if types.get(kind, 0))
            return _guess(_Candidate(ColumnFormat(kind), bool, f"of kind {kind.value}"), texts)
    guess = guessed_form(texts)
    if guess.form.kind.is_number:
        return Guess(ColumnFormat(Kind.TEXT), "the file says that they are texts")
    return guess


def _guess(best: _Candidate, texts: Sequence[str]) -> Guess:
    """The guess of a form, with the words for missing values that are among the texts."""
    said = {*texts}
    words = tuple(word for word in MISSING_WORDS if word in said)
    return Guess(_with_missing(best.form, words), f"they are {best.cells}")


def _doubt(forms: Sequence[ColumnFormat]) -> str | None:
    """Why none of several forms can be chosen; None: the first can."""
    if {"%d/%m/%Y", "%m/%d/%Y"} <= {form.date_format for form in forms}:
        return "they are dates with the day or the month first: state date_format"
    marks = {(form.kind, form.decimal) for form in forms}
    if forms[0].kind is Kind.REAL and (Kind.INTEGER, _OTHER[forms[0].decimal]) in marks:
        mark = "comma" if forms[0].decimal == "," else "point"
        return f"their {mark} stands before decimals or between thousands: state kind and decimal"
    return None


def _truths(cells: Sequence[str]) -> Iterator[_Candidate]:
    """The words of truth values that nearly all cells are, with some on both sides."""
    said = {cell.casefold() for cell in cells}
    for true, false in _TRUTH_WORDS:
        form = ColumnFormat(Kind.BOOLEAN, true=true, false=false)
        words = re.compile("|".join(map(re.escape, (*true, *false))), re.IGNORECASE)
        one = _Candidate(form, words.fullmatch, f"{true[0]} or {false[0]}")
        if said & {*true} and said & {*false} and one.share(cells) >= _NEARLY_ALL:
            yield one


def _with_missing(form: ColumnFormat, words: Sequence[str]) -> ColumnFormat:
    """The form with words for missing values."""
    return ColumnFormat.of_parts({**form.parts, "missing": list(words)}) if words else form
