"""Refusals of order comparisons of texts with numbers, dates or times, and hints about functions that read texts.

Texts are ordered by their characters, in which '9' is after '10'. So such a comparison would count other records than
the analyst means.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import time
from itertools import chain, islice
from reprlib import repr as shortened
from unicodedata import category

from noisycount.display.texts import replace_unprintable
from noisycount.engines.dates import date_spellings
from noisycount.engines.formats import SYMBOL_BEFORE, compatible_text
from noisycount.engines.resemblances import CLOCK, ORDERED_CLOCK, looks_like_date
from noisycount.query import predicate as tree
from noisycount.query.normal_form import EXACT_INTEGERS
from noisycount.query.person_values import row_conditions
from noisycount.query.readings import BLANKS, read_day, read_number
from noisycount.query.schema import Kind

_SHOWN = 3  # largest number of sentences of one kind
_EQUALITIES = (tree.Operator.EQUAL, tree.Operator.NOT_EQUAL)
# For each kind, the function that reads texts as it, the form of such texts, and the remedy of the owner for others.
_OWNERS = "let its owner state {} in noisycount.toml, or store them as {}"
_REMEDIES = {
    Kind.REAL: ("number", "12.5", _OWNERS.format("a kind for the column", "numbers")),
    Kind.DATE: ("date", "2024-02-01", _OWNERS.format("the form of its dates", "dates")),
}
_MINUTES = re.compile(r"([01][0-9]|2[0-4]):[0-5][0-9](:[0-5][0-9](\.[0-9]{0,5}[1-9])?)?")
_UNKNOWN = "…"  # in place of a time of day that does not exist
# Categories of signs, `<`, marks of currencies, dashes, brackets, blanks, quotes and characters without a shape.
_MARKS = {"Sm", "Sc", "Pd", "Ps", "Zs", "Pi", "Pf", "Cf", "Cc"}
_OTHER_MARKS = f"{BLANKS}.,%‰'\""
_DIGITS = {"Nd", "No", "Nl"}
_NO_NUMBER = re.compile("[+-]?(nan|NaN|NAN|inf|Inf|INF|infinity|Infinity|INFINITY|\u221e)")
# Dates with a one-digit day or month, without a day, or that do not exist; and all forms that owners can state.
_DATE = r"[0-9]{4}-[0-9]{1,2}(-[0-9]{1,2}([ T].*)?)?"
_DATES = [_DATE, *(form.pattern for kind in (Kind.DATE, Kind.TIMESTAMP) for form in kind.spellings)]


def _resembled_kind(literal: tree.Literal) -> Kind | None:
    """Return DATE for a text that looks like a date, REAL for one that begins like a number, and None for others."""
    text = compatible_text(str(literal.value)).strip(BLANKS)
    exported = (spelling.pattern for _, spelling in date_spellings([text]))
    is_date = any(re.fullmatch(form, text) for form in chain(_DATES, exported)) or looks_like_date(text)
    if is_date and read_number(text) is None:
        return Kind.DATE
    return Kind.REAL if any(map(_begins_like_a_number, (str(literal.value), text))) else None


def _begins_like_a_number(text: str) -> bool:
    """Return True if a text is infinity or NaN, or begins with a digit of any script.

    Signs, currencies, quotes, blanks and invisible characters before the digit are skipped.
    """
    if _NO_NUMBER.fullmatch(text):
        return True
    bare = SYMBOL_BEFORE.sub("", text, count=1)
    first = next((each for each in bare if not (each in _OTHER_MARKS or category(each) in _MARKS)), " ")
    return category(first) in _DIGITS


def text_order_refusals(predicates: Iterable[tree.Predicate]) -> list[str]:
    """Return sentences that refuse comparisons of the order of texts with a number, a date or a time. Reads no data.

    Example:
        >>> from noisycount.query.normal_form import parse_predicate
        >>> asked = parse_predicate("code >= '100' or code = '5' or code > 'b'", {"code": Kind.TEXT})
        >>> for sentence in text_order_refusals([asked.normal]):
        ...     print(sentence)
        where orders column 'code' (text) by '100', and texts are ordered by their characters ('9' is after '10'): if \
they are written as 12.5, write number(code) >= 100, in which all others are missing values; if not, let its owner \
state a kind for the column in noisycount.toml, or store them as numbers
    """
    sentences = (sentence for condition in row_conditions(predicates) for sentence in _refusal_sentences(condition))
    return [*islice(dict.fromkeys(sentences), _SHOWN)]


def reading_hints(predicates: Iterable[tree.Predicate]) -> list[str]:
    """Return hints about texts that `number()` and `date()` can read, and about large numbers that are equal as reals.

    Example:
        >>> from noisycount.query.normal_form import parse_predicate
        >>> reading_hints([parse_predicate("number(code) >= 100", {"code": Kind.TEXT}).normal])
        ['number(code) reads texts written as 12.5; all others count as missing values']
        >>> reading_hints([parse_predicate("dose = 10000000000000000", {"dose": Kind.REAL}).normal])
        ["column 'dose' (real) keeps about 15 digits: other whole numbers near 10000000000000000 are equal to it"]
    """
    questions = [*row_conditions(predicates)]
    read = dict.fromkeys(column for question in questions for column in tree.columns(question) if column.is_parsed)
    hints = [
        f"{function}({replace_unprintable(tree.quoted_name(column.name))}) reads texts written as {written}; "
        "all others count as missing values"
        for column in read
        for function, written, _ in [_REMEDIES[column.kind]]
    ]
    equal = dict.fromkeys(hint for question in questions for hint in _hints_of_literals(question))
    return [*islice(hints, _SHOWN), *islice(equal, _SHOWN)]


def _hints_of_literals(predicate: tree.Predicate) -> Iterator[str]:
    """Yield hints about equal reals, orders of texts, and times of day that are texts."""
    for test in tree.tests(predicate):
        match test:
            case tree.Comparison(column, operator, tree.Column() as other) if _orders_texts(column, operator):
                one, two = (replace_unprintable(tree.quoted_name(each.name)) for each in (column, other))
                yield (
                    f"{one} {operator.value} {two} orders texts by their characters ('9' is after '10'): write "
                    f"number({one}) {operator.value} number({two}), or date(), if they spell numbers or dates"
                )
            case tree.Comparison(column, operator, tree.Literal() as literal):
                yield from _reading_hints_about(column, (literal,), is_equality=operator in _EQUALITIES)
            case tree.Membership(column, choices):
                yield from _reading_hints_about(column, choices, is_equality=True)
            case tree.Range(column, low, high):
                yield from _reading_hints_about(column, (low, high), is_equality=False)


def _orders_texts(column: tree.Column, operator: tree.Operator) -> bool:
    """Return True if a comparison orders the texts of a column."""
    return column.kind is Kind.TEXT and operator not in _EQUALITIES


def _reading_hints_about(column: tree.Column, literals: Iterable[tree.Literal], *, is_equality: bool) -> Iterator[str]:
    for literal in literals:
        value = literal.value
        if isinstance(value, float) and is_equality and abs(value) >= EXACT_INTEGERS:
            number = shortened(int(value))
            yield f"{column} keeps about 15 digits: other whole numbers near {number} are equal to it"
        if column.kind is Kind.TEXT and isinstance(value, str) and CLOCK.fullmatch(value):
            if is_equality and ORDERED_CLOCK.fullmatch(value):
                continue
            verb = "equal" if is_equality else "ordered as times"
            yield f"texts of {column} are {verb} only if written so: columns of times of day have 08:30:00"


def _refusal_sentences(predicate: tree.Predicate) -> Iterator[str]:
    """Yield the refusals of the order comparisons of texts in a predicate."""
    for test in tree.tests(predicate):
        match test:
            case tree.Comparison(column, operator, tree.Literal() as literal) if operator not in _EQUALITIES:
                yield from _sentences_about(column, operator.value, (literal,))
            case tree.Range(column, low, high):
                yield from _sentences_about(column, "between", (low, high))


def _sentences_about(column: tree.Column, word: str, literals: tuple[tree.Literal, ...]) -> Iterator[str]:
    """Yield a refusal if an order comparison of a column of texts has a literal like a number, a date or a time."""
    texts = [str(literal.value).strip(BLANKS) for literal in literals]
    if column.kind is not Kind.TEXT or _are_ordered_clocks(texts, word):
        return
    name = replace_unprintable(tree.quoted_name(column.name))
    if all(map(CLOCK.fullmatch, texts)):
        values = " and ".join(map(_clock_literal, texts))
        yield (
            f"where orders {column} by {shortened(texts[0])}, and texts are ordered by their characters: write times "
            f"of day as they stand in columns of them, {name} {word} {values}"
        )
        return
    found = [(literal, kind) for literal in literals if (kind := _resembled_kind(literal)) is not None]
    if not found:
        return
    literal, kind = found[0]
    written_values = [_literal_text(each, kind) for each in literals]
    function, written, owners = _REMEDIES[kind]
    if None in written_values:
        remedy = (
            f"{owners}; {function}({name}) reads only texts written as {written}, and all others are missing values"
        )
    else:
        asked = f"{function}({name}) {word} {' and '.join(map(str, written_values))}"
        remedy = (
            f"if they are written as {written}, write {asked}, in which all others are missing values; if not, {owners}"
        )
    yield (
        f"where orders {column} by {shortened(literal.value)}, and texts are ordered by their characters "
        f"('9' is after '10'): {remedy}"
    )


def _are_ordered_clocks(texts: Sequence[str], word: str) -> bool:
    """Return True if literals are times of day whose characters have the order of the times.

    Columns of times of day have seconds, with a fraction that has no zeros at its end. The text `08:30` is ordered just
    before `08:30:00`, so `>= '08:30'` and `< '08:30'` have the right meaning, other comparisons have not.
    """
    is_half_open = word in {tree.Operator.AT_LEAST.value, tree.Operator.LESS.value}
    pattern = _MINUTES if is_half_open else ORDERED_CLOCK
    return all(map(pattern.fullmatch, texts))


def _clock_literal(text: str) -> str:
    """Return a time of day in the form that columns of times have, in quotes; `…` if there is no such time.

    Example:
        >>> _clock_literal("8:30"), _clock_literal("1:30 PM"), _clock_literal("08:30:00.500"), _clock_literal("25:00")
        ("'08:30:00'", "'13:30:00'", "'08:30:00.5'", '…')
    """
    digits, half = re.fullmatch("([0-9:.]+)[^0-9]*?([AaPp]?)[Mm. ]*", text).groups()  # type: ignore[union-attr]  # a clock
    hour, _, rest = digits.partition(":")
    try:
        number = int(hour) % 12 + 12 * (half in "Pp") if half else int(hour)
        written = time.fromisoformat(f"{number:02}:{rest}").isoformat()
    except ValueError:
        return _UNKNOWN
    return tree.quoted_text(written.rstrip("0") if "." in written else written)


def _literal_text(literal: tree.Literal, kind: Kind) -> str | None:
    """Return a text as a literal of a kind; None if the functions of the language do not read this form."""
    text = str(literal.value).strip(BLANKS)
    if kind is Kind.REAL:
        return None if read_number(text) is None else text.lstrip("+")
    day = read_day(text)
    return tree.quoted_text(text) if day is not None and text == day.isoformat() else None
