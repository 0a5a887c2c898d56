"""Guesses of the form of a column: the way in which its texts most likely represent values. The owner confirms them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from noisycount.engines.check import FEW, Check, Resemblance
from noisycount.engines.dates import (
    compact_spellings,
    date_spellings,
    may_be_croatian,
    may_be_day_of_month,
    order_of,
)
from noisycount.engines.formats import EXCEL, MISSING_WORDS, NO_ANSWERS, ColumnFormat
from noisycount.engines.resemblances import (
    ENOUGH,
    EPOCHS,
    SignedNumber,
    first_cells,
    may_be_open_ranges,
    may_have_signs,
    resemblance,
)
from noisycount.frozen import frozen
from noisycount.query.predicate import quoted_name
from noisycount.query.readings import BLANKS, FUNCTIONS, READERS, read_number
from noisycount.query.schema import KINDS, THOUSANDS, Kind, Spelling

# Words that are answers in a questionnaire whose other answers are yes and no.
_ANSWERS = ("N/A", "n/a", "k.A.", "k. A.", "keine Angabe")
_NEARLY_ALL = 0.95  # of truth values: words are also texts
_TRUTH_WORDS = (
    (("true", "t", "yes", "y"), ("false", "f", "no", "n")),
    (("ja", "j", "wahr"), ("nein", "n", "falsch")),
    (("oui", "o", "vrai"), ("non", "n", "faux")),
    (("sí", "si", "sì", "s"), ("no", "n")),
)
# The types that the cells of one column may have in a file; the first type of a family holds the values of all.
_FAMILIES = ((Kind.REAL, Kind.INTEGER), (Kind.BOOLEAN,), (Kind.TIMESTAMP, Kind.DATE))
_OTHER = {".": ",", ",": "."}


_PLAIN = ColumnFormat(Kind.TEXT)


@frozen
class Guess:
    """The likeliest form of a column."""

    form: ColumnFormat
    reason: str  # why it has this form
    choices: tuple[ColumnFormat, ...] = ()  # forms that the cells may have, between which only the owner can choose
    looks_like: Resemblance | None = None  # of texts that look like values which no form reads


@frozen
class _Candidate:
    """A form that the cells of a column may have."""

    form: ColumnFormat
    fits: Callable[[str], object]  # tests a cell
    cells: str  # words for the cells

    def share(self, cells: Sequence[str]) -> float:
        """Return the share of the cells that fit; 0 if the share is certainly below `ENOUGH`."""
        if not any(map(self.fits, first_cells(cells))):
            return 0
        return len([*filter(self.fits, cells)]) / len(cells)


@cache
def _candidate_of_spelling(kind: Kind, spelling: Spelling) -> _Candidate:
    """Return the form of a kind and a spelling, as a candidate for a column."""
    form = form_of(kind, spelling)
    return _Candidate(form, re.compile(spelling.pattern).fullmatch, spelling.words)


def form_of(kind: Kind, spelling: Spelling) -> ColumnFormat:
    """Return the form of a column of values that are written in one way."""
    return ColumnFormat(kind, decimal=spelling.decimal, thousands=spelling.thousands, date_format=spelling.date_format)


# Whole numbers fit several kinds: of equally good candidates the first is taken, so groups of digits come last.
_CANDIDATES = [
    _candidate_of_spelling(kind, spelling)
    for has_groups in (False, True)
    for kind in KINDS.values()
    for spelling in kind.spellings
    if spelling.has_groups is has_groups
]


def guessed_form(cells: Sequence[str], name: str = "") -> Guess:
    """Return the form of a column, from some of its cells that are not empty.

    A column has numbers, dates or truth values if at least four fifths of its cells look like them. The other cells are
    shown to the owner, and do not change how the rest is read. Codes with leading zeros are texts. Dates that could
    have their day or their month first, and numbers whose only mark could stand before decimals or between thousands,
    are texts until the owner chooses.

    Args:
        cells: The texts of the cells.
        name: The name of the column, which may show that single letters are truth values, or that digits are an id.

    Example:
        >>> guessed_form(["1,5", "2,25", "k.A."]).form.parts
        {'kind': 'real', 'decimal': ',', 'missing': ['k.A.']}
        >>> guessed_form(["01067", "99998"]).reason
        'some have leading zeros, as codes have'
    """
    has_blanks = _BLANK("".join(cells))  # few columns have
    texts = [text for cell in cells if (text := cell.strip(BLANKS))] if has_blanks else [*filter(None, cells)]
    values = [text for text in texts if text not in _NO_VALUE]
    if not values:
        return Guess(_PLAIN, "no cell says anything")
    different = {*values}  # of most columns far fewer
    if any(_CODE(cell) for cell in different if cell[0] in "+-0"):
        return _guess_days(values, texts, name) or Guess(_PLAIN, "some have leading zeros, as codes have")
    if all(map(_CANDIDATES[0].fits, different)):  # most columns are so
        return _guess_integers(values, texts, name, _guess_with_missing_words(_CANDIDATES[0], texts))
    have_digits = len([*filter(_DIGIT, values)]) / len(values) >= ENOUGH  # as numbers and dates have
    if have_digits:
        dates = [_candidate_of_spelling(kind, spelling) for kind, spelling in date_spellings(first_cells(values))]
        whole = "".join(values)
        absent = {mark for mark, pattern in THOUSANDS.items() if not re.search(pattern, whole)}
        forms = [one for one in _CANDIDATES if one.form.thousands not in absent]  # the others fit no other cells
        likely = [(share, one) for one in (*forms, *dates) if (share := one.share(values)) >= ENOUGH]
        if likely:
            return _guess_from_candidates(likely, values, texts, name)
    guess = _guess_truths(texts, name) or _guess_with_signs(values, texts)
    return guess or Guess(_PLAIN, "they are texts", looks_like=resemblance(values))


_EPOCH = range(10**9, 4 * 10**9)  # the seconds from 2001 to 2096
_NO_VALUE = frozenset(MISSING_WORDS)
_BLANK = re.compile(f"[{BLANKS}]").search
_DIGIT = re.compile("[0-9]").search
_CODE = re.compile("[+-]?0[0-9]+").fullmatch
_DISTINCT_DAYS = 3  # of fewer different numbers it may be chance that they look like days
_SERIALS = range(10_000, 80_000)  # the days from 1927 to 2119, as workbooks count them


def _name_words(name: str) -> set[str]:
    """Return the words of a column's name, in small letters.

    Example:
        >>> sorted(_name_words("PatientID_2")), sorted(_name_words("isSmoker?"))
        (['id', 'patient'], ['?', 'is', 'smoker'])
    """
    return {word.casefold() for word in re.findall(r"[A-ZÄÖÜ]+(?![a-zäöü])|[^\W\d_][^\W\d_A-ZÄÖÜ]*|\?", name)}


_CODES = _name_words(
    "id ids nr no num number nummer numero code key case ref sku phone tel plz zip account konto batch"
)
_MOMENTS = _name_words(
    "date dates datum day tag jour fecha time zeit birth birthday born geburtstag dob "
    "timestamp created updated modified epoch unix"
)
_PERIODS = _name_words("month monat mois mes mese period periode")
_FLAGS = _name_words(
    "? is has had was did does do can wants flag bool boolean yn yesno truefalse tf ist hat war kann jn janein est oui "
    "ouinon on es si sino ja"
)


def _guess_integers(values: Sequence[str], texts: Sequence[str], name: str, guess: Guess) -> Guess:
    """Return the guess for whole numbers, which may be days such as 20240214, or days as workbooks count them."""
    return _guess_days(values, texts, name, guess.form) or _guess_moments(values, name, guess)


def _guess_moments(values: Sequence[str], name: str, guess: Guess) -> Guess:
    """Return the guess for numbers in a column of days or times: days as workbooks count them, or seconds."""
    if not _name_words(name) & _MOMENTS:
        return guess
    whole = [int(number) for cell in values if (number := read_number(cell)) is not None]
    if len(whole) < len(values):
        return guess
    if all(number in _SERIALS for number in whole):
        kind = Kind.DATE if guess.form.kind is Kind.INTEGER else Kind.TIMESTAMP
        days = ColumnFormat(kind, date_format=EXCEL, missing=guess.form.missing)
        reason = f"{guess.reason}, or days as workbooks count them: state kind"
        return replace(guess, reason=reason, choices=(guess.form, days))
    for unit, epochs in EPOCHS.items():
        if all(number // unit in _EPOCH for number in whole):
            return replace(guess, looks_like=replace(epochs, example=values[0]))
    return guess


def _guess_days(values: Sequence[str], texts: Sequence[str], name: str, other: ColumnFormat = _PLAIN) -> Guess | None:
    """Return the guess for digits such as 20240214 as days, in this or another order; None if they are not days.

    If there are six digits, or no day of the month, the order of year, month and day is uncertain.
    """
    words, is_distinct = _name_words(name), len({*values}) >= _DISTINCT_DAYS
    is_sure = is_distinct and not words & _CODES
    likely = [one for one in _COMPACT_DAYS if one.share(values) >= ENOUGH]
    if is_sure and len(likely) == 1 and all(map(likely[0].fits, values)):
        return _guess_with_missing_words(likely[0], texts)
    if is_sure and not likely:
        likely = [one for one in _SHORT_DAYS if all(map(one.fits, values))]
        if not (words & (_MOMENTS | _PERIODS) or any("%y" in str(one.form.date_format) for one in likely)):
            return None
    if not likely:
        return None
    digits = "codes" if other is _PLAIN else "whole numbers"
    missing = _missing_words(texts)
    forms = (other, *(_add_missing_words(one.form, missing) for one in likely))
    return Guess(other, f"they are days without marks between year, month and day, or {digits}: state kind", forms)


_COMPACT_DAYS, _SHORT_DAYS = (
    [_candidate_of_spelling(kind, spelling) for kind, spelling in compact_spellings(is_short=is_short)]
    for is_short in (False, True)
)


def _guess_from_candidates(
    likely: Sequence[tuple[float, _Candidate]], values: Sequence[str], texts: Sequence[str], name: str
) -> Guess:
    """Return the guess with the form that most cells fit, or with texts if another form gives other values."""
    most = max(share for share, _ in likely)
    best = [one for share, one in likely if share == most]
    first = next((one for one in best if one.form.kind is Kind.INTEGER), best[0])
    if first.form.kind is Kind.REAL:  # as 20240214133000.25 is, which is a time
        first = next((one for one in best if one.form.kind.is_moment), first)
    fitting = values if most == 1 else [*filter(first.fits, values)]
    if doubt := _two_readings(best, first):
        reason, forms = doubt
    elif rivals := _rival_date_forms(first, [one for _, one in likely], values, fitting):
        reason, forms = "they are dates with the day or the month first: state date_format", [first.form, *rivals]
    elif may_be_day_of_month(first.form.date_format, fitting):
        reason, forms = "they are months of years, or days without a year: state kind", [_PLAIN, first.form]
    elif may_be_croatian(first.form.date_format, fitting):
        reason, forms = (
            "their months have other names in Croatian than in Polish and Czech: state kind",
            [_PLAIN, first.form],
        )
    elif all(map(_is_season, fitting)):
        reason, forms = "they are months, or seasons of two years: state kind", [_PLAIN, first.form]
    elif first is _CANDIDATES[0]:
        return _guess_integers(fitting, texts, name, _guess_with_missing_words(first, texts))
    else:
        return _guess_moments(fitting, name, _guess_with_missing_words(first, texts))
    words = _missing_words(texts)
    return Guess(_PLAIN, reason, tuple(_add_missing_words(form, words) for form in forms))


def _is_season(cell: str) -> bool:
    """Return True if a cell may be two consecutive years, such as 2009-10, as well as a month.

    Example:
        >>> _is_season("2009-10"), _is_season("2009-11")
        (True, False)
    """
    return bool(re.fullmatch("[0-9]{4}-[0-9]{2}", cell)) and (int(cell[2:4]) + 1) % 100 == int(cell[5:])


def _rival_date_forms(
    first: _Candidate, others: Sequence[_Candidate], values: Sequence[str], fitting: Sequence[str]
) -> list[ColumnFormat]:
    """Return the date formats with another order of day and month that fit equally well, or that fit other cells.

    `fitting`: the values that the first form fits.
    """
    if not first.form.kind.is_moment:
        return []
    chosen = order_of(first.form.date_format)
    unfit = [cell for cell in values if not first.fits(cell)] if len(fitting) < len(values) else []
    rivals: dict[str, ColumnFormat] = {}
    for one in others:
        order = order_of(one.form.date_format) if one.form.kind.is_moment else chosen
        if order != chosen and (any(map(one.fits, unfit)) or all(map(one.fits, fitting))):
            rivals.setdefault(order, one.form)
    return [*rivals.values()]


def _guess_truths(texts: Sequence[str], name: str) -> Guess | None:
    """Return the guess for words such as yes and no of one language; None if the cells are other texts."""
    values = [text for text in texts if text not in _NO_VALUE or text in _ANSWERS]
    words = {cell.casefold() for cell in {*values}}
    for true, false in _TRUTH_WORDS:
        if not (words & {*true} and words & {*false}):
            continue
        known = {word.casefold() for word in (*true, *false)}
        share = sum(cell.casefold() in known for cell in values) / len(values)
        others = tuple(dict.fromkeys(cell for cell in values if cell.casefold() not in known))
        is_said = all(any(len(word) > 1 for word in words & {*side}) for side in (true, false))
        if share < _HALF or (share < _NEARLY_ALL and len(others) > FEW):
            continue
        if not is_said and not (_has_pair(words, true, false) and NO_ANSWERS.issuperset(map(str.casefold, others))):
            continue  # as regions N, E, S and W are
        missing = tuple(word for word in _missing_words(texts) if word not in _ANSWERS)
        form = ColumnFormat(Kind.BOOLEAN, true=true, false=false, missing=missing)
        choices = (_PLAIN, replace(form, missing=(*missing, *others)))
        if not is_said and not _name_words(name) & _FLAGS:
            return Guess(_PLAIN, "they are single letters, as codes are: state kind", choices)
        if share < _NEARLY_ALL:
            return Guess(_PLAIN, "some are neither yes nor no", choices)
        return Guess(form, f"they are {true[0]} or {false[0]}", choices if others else ())
    return None


_HALF = 0.5


def _has_pair(words: set[str], true: Sequence[str], false: Sequence[str]) -> bool:
    """Return True if there is a word for true or false, or both letters of a pair, such as Y and N.

    Example:
        >>> _has_pair({"y", "n"}, *_TRUTH_WORDS[0]), _has_pair({"t", "n"}, *_TRUTH_WORDS[0])
        (True, False)
    """
    letters = ([word for word in side if len(word) == 1] for side in (true, false))
    return any(len(word) > 1 for word in words & {*true, *false}) or any(
        words.issuperset(pair) for pair in zip(*letters, strict=False)
    )


def _guess_with_signs(values: Sequence[str], texts: Sequence[str]) -> Guess | None:
    """Return the guess for numbers with currencies, percent signs, brackets or a final minus; None for other cells."""
    if not any(map(may_have_signs, {*values})):
        return None
    cells = [*map(SignedNumber.read, values)]
    symbols = tuple(dict.fromkeys(symbol for cell in cells for symbol in cell.symbols))
    brackets, minus_behind = any(cell.has_brackets for cell in cells), any(cell.has_minus_behind for cell in cells)
    if not (symbols or brackets or minus_behind):
        return None
    guess = guessed_form([cell.text for cell in cells])
    numbers = [form for form in guess.choices or (guess.form,) if form.kind.is_number]
    if not numbers:
        return None
    signs: dict[str, Any] = {"symbols": symbols, "brackets": brackets, "minus_behind": minus_behind}
    forms = [replace(form, missing=_missing_words(texts), **signs) for form in numbers]
    is_mixed = bool({"%", "‰"} & {*symbols}) and not all(cell.symbols for cell in cells)
    if len(numbers) > 1:
        doubt = guess.reason
    elif len(symbols) > 1 or is_mixed:
        doubt = "some of their numbers have another sign than others"
    elif all(cell.has_brackets for cell in cells):
        doubt = "all of their numbers are in brackets"
    elif minus_behind and numbers[0].kind is Kind.INTEGER and may_be_open_ranges(values):
        doubt = "they are numbers with a minus behind negative ones, or grades or open ranges: state kind"
    else:
        words_of_signs = [(brackets, "brackets for negative ones"), (minus_behind, "a minus behind negative ones")]
        listed = [*symbols, *(words for is_used, words in words_of_signs if is_used)]
        return Guess(forms[0], f"{guess.reason}, with {' and '.join(listed)}")
    return Guess(_PLAIN, doubt, (*([_PLAIN] if minus_behind else []), *forms))


def other_forms(stated: ColumnFormat, cells: Sequence[str]) -> list[ColumnFormat]:
    """Return other forms of a column whose cells do not fit the stated form: forms of its kind first, then guesses.

    Example:
        >>> other_forms(ColumnFormat(Kind.INTEGER), ["1,5", "NA"])[-1].parts
        {'kind': 'real', 'decimal': ',', 'missing': ['NA']}
    """
    words = {cell.strip(BLANKS) for cell in cells}
    missing = tuple(dict.fromkeys([*stated.missing, *(word for word in MISSING_WORDS if word in words)]))
    same_kind = [form_of(stated.kind, each) for each in stated.kind.spellings]
    same_kind = [replace(form, **{name: getattr(stated, name) for name in _SIGNS}) for form in same_kind]
    if stated.kind is Kind.BOOLEAN:
        same_kind = [replace(stated, true=true, false=false) for true, false in _TRUTH_WORDS]
    elif stated.kind.is_moment:
        likely = [form_of(kind, spelling) for kind, spelling in date_spellings(words)]
        same_kind += [form for form in likely if form.kind is stated.kind][:_MANY]
    guess = guessed_form(cells)
    looks = [form for form in (guess.form, *guess.choices) if form.kind is not Kind.TEXT]
    forms = [*(replace(form, missing=missing) for form in same_kind), *looks]
    if stated.codes:
        forms = [replace(form, codes=True) for form in forms]
    return [form for form in dict.fromkeys(forms) if form != stated]


_SIGNS = ("symbols", "brackets", "minus_behind")
_MANY = 40  # forms that are tried in one statement


def guess_for_stored_types(types: Mapping[Kind, int], cells: Iterable[str], name: str = "") -> Guess:
    """Return the guess for a column whose file stores numbers, truth values and dates as other types than texts.

    If most cells have one of these types, the texts among them are unreadable. If most are texts, the column has texts,
    even if they look like numbers.

    Example:
        >>> guess_for_stored_types({Kind.TEXT: 2}, ["501", "10001"]).form.kind
        <Kind.TEXT: 'text'>
    """
    total = sum(types.values())
    texts = [cell.strip(BLANKS) for cell in cells]
    for family in _FAMILIES:
        number = sum(types.get(kind, 0) for kind in family)
        if total and number >= ENOUGH * total:
            kind = next(kind for kind in family if types.get(kind, 0))
            typed = _guess_with_missing_words(_Candidate(ColumnFormat(kind), bool, f"of kind {kind.value}"), texts)
            values = [text for text in texts if text not in typed.form.missing]
            is_whole = kind is Kind.INTEGER and bool(values) and all(map(_CANDIDATES[0].fits, values))
            return _guess_integers(values, texts, name, typed) if is_whole else typed
    guess = guessed_form(texts, name)
    numbers = [form for form in (guess.form, *guess.choices) if form.kind.is_number]
    if not numbers:
        return guess
    looks_like = typed_resemblance(texts, name, 'State kind = "integer" if they are numbers')
    written = [
        form
        for form in numbers
        if form.kind is Kind.REAL or form.thousands or any(getattr(form, name) for name in _SIGNS)
    ]
    choices = (_PLAIN, *written) if written else ()
    are_texts = types.get(Kind.TEXT) == total
    reason = "the file says that they are texts" if are_texts else "the cells have several types in the file"
    return Guess(_PLAIN, reason, choices, None if choices else looks_like)


_LOOKED_AT = 1000  # texts of a column


def with_resemblances(check: Check, unit: str | None, some_texts: Callable[[str, int], Iterable[str]]) -> Check:
    """Return a check that states which columns of texts look like numbers or dates.

    Args:
        check: The check of the records.
        unit: The column that names the person, whose texts may look like anything.
        some_texts: Returns some texts of a column, by its name and their largest number.
    """
    columns = (
        replace(column, looks_like=typed_resemblance(some_texts(column.name, _LOOKED_AT), column.name))
        if column.kind is Kind.TEXT and column.form is None and column.name != unit
        else column
        for column in check.columns
    )
    return replace(check, columns=tuple(columns))


def typed_resemblance(cells: Iterable[str], name: str, stated: str = "") -> Resemblance | None:
    """Return the kind of values that the texts of a column resemble; None if they resemble texts only.

    Codes count as texts: numbers with leading zeros, and whole numbers in a column whose name suggests ids.

    Args:
        cells: Some of the texts.
        name: The name of the column.
        stated: What the owner can state, as a sentence; empty if the source takes no statement.

    Example:
        >>> typed_resemblance(["12", "7.5"], "dose").remedy
        'Ask with number(dose), or store them as numbers'
        >>> typed_resemblance(["14.02.2024"], "seen").remedy
        'Store them as dates'
    """
    texts = [*cells]
    guess = guessed_form(texts, name)
    form = next((form for form in (guess.form, *guess.choices) if form.kind.is_number or form.kind.is_moment), None)
    if form is None and (guess.looks_like is None or not guess.looks_like.noun.startswith("dates")):
        return guess.looks_like
    if form is not None and form.kind is Kind.INTEGER and _name_words(name) & _CODES:
        return None
    noun, kind = ("numbers", Kind.REAL) if form is not None and form.kind.is_number else ("dates", Kind.DATE)
    values = [text for cell in texts if (text := cell.strip(BLANKS)) and text not in _NO_VALUE]
    is_read = sum(READERS[kind](text) is not None for text in values) >= ENOUGH * len(values)
    function = next(function for function, each in FUNCTIONS.items() if each is kind)
    remedies = [f"ask with {function}({quoted_name(name)})"] if is_read else []
    remedy = ", or ".join([*([stated] if stated else []), *remedies, *([] if stated else [f"store them as {noun}"])])
    return Resemblance(noun, remedy[0].upper() + remedy[1:], values[0])


def _guess_with_missing_words(best: _Candidate, texts: Sequence[str]) -> Guess:
    """Return the guess of a form, with the words for missing values that are among the texts."""
    return Guess(_add_missing_words(best.form, _missing_words(texts)), f"they are {best.cells}")


def _missing_words(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the words for missing values that are among the texts."""
    words = {*texts}
    return tuple(word for word in MISSING_WORDS if word in words)


def _two_readings(best: Sequence[_Candidate], first: _Candidate) -> tuple[str, list[ColumnFormat]] | None:
    """Return the reason why a mark in numbers can be read in two ways, and both forms; None if it cannot."""
    if first is _CANDIDATES[0]:
        return None
    forms = {(one.form.kind, one.form.decimal): one.form for one in best if one.form.thousands is None}
    for decimal, mark in ((",", "comma"), (".", "point")):
        real, whole = forms.get((Kind.REAL, decimal)), forms.get((Kind.INTEGER, _OTHER[decimal]))
        if real and whole:
            reason = f"their {mark} stands before decimals or between thousands: state kind and decimal"
            return reason, [real, whole]
    return None


def _add_missing_words(form: ColumnFormat, words: Sequence[str]) -> ColumnFormat:
    """Return the form with words for missing values."""
    missing = tuple(words)
    return form if form.missing == missing else replace(form, missing=missing)
