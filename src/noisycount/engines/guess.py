"""What the cells of a column of texts most likely stand for, with the reason."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from noisycount.engines.forms import BLANKS, ISO_DATE, ISO_TIMESTAMP, ISO_ZONED, ZONED, ColumnForm
from noisycount.query.schema import Kind

__all__ = ["MISSING_WORDS", "Guess", "guessed_form", "guessed_of_types"]


MISSING_WORDS = (
    *("NA", "N/A", "#N/A", "NaN", "NULL", "None", "nil", "-", "--", "?", "."),
    *("k.A.", "k. A.", "keine Angabe", "n/a", "na", "nan", "null", "none", "missing"),
)


"""What programs and clerks write where there is no value."""


_ENOUGH = 0.8  # of the cells: with fewer the others are hardly mistakes


_NEARLY_ALL = 0.95  # of truth values: words are also texts


_TRUTH_WORDS = (
    (("true", "t", "yes", "y"), ("false", "f", "no", "n")),
    (("ja", "j", "wahr"), ("nein", "n", "falsch")),
    (("oui", "o", "vrai"), ("non", "n", "faux")),
    (("sí", "si", "sì", "s"), ("no", "n")),
)


_DAY, _MONTH = "(0?[1-9]|[12][0-9]|3[01])", "(0?[1-9]|1[0-2])"


_YEAR = "[0-9]{4}"


_WHOLE = "(0|[1-9][0-9]{0,17})"


_FAMILIES = (
    (Kind.REAL, Kind.INTEGER),
    (Kind.BOOLEAN,),
    (Kind.TIMESTAMP, Kind.DATE),
)


_OTHER = {".": ",", ",": "."}


_EXPONENT = "([eE][+-]?[0-9]{1,3})?"


@dataclass(frozen=True, slots=True)
class Guess:
    """A form of a column, and why.

    Attributes:
        form: What its cells stand for.
        reason: What speaks for it, to follow "as".
    """

    form: ColumnForm
    reason: str


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A form, the cells that fit it, and what they are called."""

    form: ColumnForm
    fits: Callable[[str], object]
    cells: str

    def share(self, cells: Sequence[str]) -> float:
        """How many of the cells fit; 0 where they are surely too few to matter."""
        first = cells[: len(cells) - int(_ENOUGH * len(cells)) + 1]
        if not any(map(self.fits, first)):
            return 0
        return sum(map(bool, map(self.fits, cells))) / len(cells)


def _pattern(form: ColumnForm, pattern: str, cells: str) -> _Candidate:
    return _Candidate(form, re.compile(pattern).fullmatch, cells)


# A column of numbers may have cells of either kind, so the one that most fit is taken, the first
# among equals.
_CANDIDATES = (
    _pattern(ColumnForm(Kind.INTEGER), f"[+-]?{_WHOLE}", "whole numbers"),
    _pattern(
        ColumnForm(Kind.REAL),
        rf"[+-]?({_WHOLE}([.][0-9]*)?|[1-9][0-9]{{0,2}}(,[0-9]{{3}})+[.][0-9]+|[.][0-9]+)"
        + _EXPONENT,
        "numbers",
    ),
    _pattern(
        ColumnForm(Kind.REAL, decimal=","),
        rf"[+-]?({_WHOLE}(,[0-9]*)?|[1-9][0-9]{{0,2}}([.][0-9]{{3}})+,[0-9]+|,[0-9]+){_EXPONENT}",
        "numbers with a decimal comma",
    ),
    _pattern(
        ColumnForm(Kind.INTEGER),
        f"[+-]?({_WHOLE}|[1-9][0-9]{{0,2}}(,[0-9]{{3}})+)",
        "whole numbers with commas between thousands",
    ),
    _pattern(
        ColumnForm(Kind.INTEGER, decimal=","),
        f"[+-]?({_WHOLE}|[1-9][0-9]{{0,2}}([.][0-9]{{3}})+)",
        "whole numbers with points between thousands",
    ),
    _pattern(ColumnForm(Kind.DATE), ISO_DATE, "dates of ISO 8601"),
    _pattern(
        ColumnForm(Kind.DATE, date_format="%d.%m.%Y"),
        f"{_DAY}[.]{_MONTH}[.]{_YEAR}",
        "dates with the day first",
    ),
    _pattern(
        ColumnForm(Kind.DATE, date_format="%d/%m/%Y"),
        f"{_DAY}/{_MONTH}/{_YEAR}",
        "dates with the day first",
    ),
    _pattern(
        ColumnForm(Kind.DATE, date_format="%m/%d/%Y"),
        f"{_MONTH}/{_DAY}/{_YEAR}",
        "dates with the month first",
    ),
    _pattern(
        ColumnForm(Kind.DATE, date_format="%Y/%m/%d"),
        f"{_YEAR}/{_MONTH}/{_DAY}",
        "dates with the year first",
    ),
    _pattern(ColumnForm(Kind.TIMESTAMP), ISO_TIMESTAMP, "times of ISO 8601"),
    _pattern(
        ColumnForm(Kind.TIMESTAMP, date_format=ZONED),
        ISO_ZONED,
        "times of ISO 8601 with a zone, read in UTC",
    ),
    _pattern(
        ColumnForm(Kind.TIMESTAMP, date_format="%d.%m.%Y %H:%M"),
        f"{_DAY}[.]{_MONTH}[.]{_YEAR} [0-9]{{1,2}}:[0-9]{{2}}",
        "times with the day first",
    ),
)


def guessed_form(cells: Iterable[str]) -> Guess:
    """The form of a column, from some of its cells that are not empty.

    Numbers, dates and truth values are those that at least four fifths of the cells look like;
    cells that then do not fit are told, and change nothing for the others. Codes with leading
    zeros are texts, and so are dates that could have their day or their month first, and numbers
    whose only mark could stand before decimals or between thousands.

    Args:
        cells: Some of the cells.

    Example:
        >>> guessed_form(["1,5", "2,25", "k.A."]).form.parts
        {'kind': 'real', 'decimal': ',', 'missing': ['k.A.']}
        >>> guessed_form(["01067", "99998"]).reason
        'some have leading zeros, as codes have'
    """
    texts = [text for cell in cells if (text := cell.strip(BLANKS))]
    given = [text for text in texts if text not in MISSING_WORDS]
    if not given:
        return Guess(ColumnForm(Kind.TEXT), "no cell says anything")
    if any(map(re.compile("[+-]?0[0-9]+").fullmatch, given)):
        return Guess(ColumnForm(Kind.TEXT), "some have leading zeros, as codes have")
    if all(map(_CANDIDATES[0].fits, given)):  # nothing could be likelier, and most columns are so
        return _guess(_CANDIDATES[0], texts)
    found = [(one.share(given), one) for one in (*_CANDIDATES, *_truths(given))]
    most = max(share for share, _ in found)
    best = [one for share, one in found if share == most]
    if most < _ENOUGH:
        return Guess(ColumnForm(Kind.TEXT), "they are texts")
    if doubt := _doubt([one.form for one in best]):
        return Guess(ColumnForm(Kind.TEXT), doubt)
    return _guess(best[0], texts)


def guessed_of_types(types: Mapping[Kind, int], cells: Iterable[str]) -> Guess:
    """The form of a column whose file tells numbers, truth values and dates from texts.

    Where most cells have one of these types, the texts among them are told as those that do not
    fit; where most are texts, they are no numbers, whatever they look like.

    Args:
        types: How many cells of a kind there are.
        cells: Some of them.

    Example:
        >>> guessed_of_types({Kind.TEXT: 2}, ["501", "10001"]).form.kind
        <Kind.TEXT: 'text'>
    """
    total = sum(types.values())
    texts = [cell.strip(BLANKS) for cell in cells]
    for kinds in _FAMILIES:
        said = sum(types.get(kind, 0) for kind in kinds)
        if total and said >= _ENOUGH * total:
            kind = next(kind for kind in kinds if types.get(kind, 0))
            return _guess(_Candidate(ColumnForm(kind), bool, f"of kind {kind.value}"), texts)
    guess = guessed_form(texts)
    if guess.form.kind.is_number:
        return Guess(ColumnForm(Kind.TEXT), "the file says that they are texts")
    return guess


def _guess(best: _Candidate, texts: Sequence[str]) -> Guess:
    """The guess of a form, with the words for missing values that are among the texts."""
    said = {*texts}
    words = tuple(word for word in MISSING_WORDS if word in said)
    return Guess(_with_missing(best.form, words), f"they are {best.cells}")


def _doubt(forms: Sequence[ColumnForm]) -> str | None:
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
        form = ColumnForm(Kind.BOOLEAN, true=true, false=false)
        words = "|".join(map(re.escape, (*true, *false)))
        one = _pattern(form, f"(?i:{words})", f"{true[0]} or {false[0]}")
        if said & {*true} and said & {*false} and one.share(cells) >= _NEARLY_ALL:
            yield one


def _with_missing(form: ColumnForm, words: Sequence[str]) -> ColumnForm:
    """The form with words for missing values."""
    return ColumnForm.of_parts({**form.parts, "missing": list(words)}) if words else form
