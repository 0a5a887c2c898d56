"""Order comparisons of texts with what reads as a number or a date: refused, as texts are ordered by characters."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from reprlib import repr as shortened
from unicodedata import category

from noisycount.display.texts import printable
from noisycount.engines.dates import date_spellings
from noisycount.query import predicate as tree
from noisycount.query.readings import BLANKS, read_day, read_number
from noisycount.query.schema import Kind

_SHOWN = 3  # sentences
_EQUALITIES = (tree.Operator.EQUAL, tree.Operator.NOT_EQUAL)
# Numbers of any size, and days with one digit, without a day, or that do not exist, beside all that owners can state.
_NUMBER = r"[+-]?([0-9]+[.,]?[0-9]*|[.,][0-9]+)([eE][+-]?[0-9]+)?"
_DATE = r"[0-9]{4}-[0-9]{1,2}(-[0-9]{1,2}([ T].*)?)?"
_NUMBERS = [_NUMBER, *(form.pattern for kind in (Kind.INTEGER, Kind.REAL) for form in kind.spellings)]
_DATES = [_DATE, *(form.pattern for kind in (Kind.DATE, Kind.TIMESTAMP) for form in kind.spellings)]


def _kind_of(literal: tree.Literal) -> Kind | None:
    """Return the kind of number or date that a text reads as, in any form; None if it reads as neither."""
    text = str(literal.value).strip(BLANKS)
    bare = "".join(sign for sign in text if category(sign) != "Sc" and sign not in "%‰()").strip(BLANKS)
    if any(re.fullmatch(form, bare) for form in _NUMBERS):
        return Kind.REAL
    exported = (spelling.pattern for _, spelling in date_spellings([text]))
    return Kind.DATE if any(re.fullmatch(form, text) for form in chain(_DATES, exported)) else None


def text_order_refusals(predicates: Iterable[tree.Predicate]) -> list[str]:
    """Return a sentence for the first few columns of texts that questions order by a number or a date; reads no data.

    Example:
        >>> from noisycount.query.normal_form import parse_predicate
        >>> asked = parse_predicate("code >= '100' or code = '5' or code > 'b'", {"code": Kind.TEXT})
        >>> for sentence in text_order_refusals([asked.normal]):
        ...     print(sentence)
        where orders column 'code' (text) by '100', and texts are ordered by their characters ('9' is after '10'): \
write number(code) >= 100, or let its owner state a kind for the column in noisycount.toml
    """
    return [*islice(dict.fromkeys(sentence for each in predicates for sentence in _sentences(each)), _SHOWN)]


def _sentences(predicate: tree.Predicate) -> Iterator[str]:
    match predicate:
        case tree.Not(operand):
            yield from _sentences(operand)
        case tree.And(operands) | tree.Or(operands):
            for operand in operands:
                yield from _sentences(operand)
        case tree.Comparison(column, operator, tree.Literal() as literal) if operator not in _EQUALITIES:
            yield from _sentences_about(column, operator.value, (literal,))
        case tree.Range(column, low, high):
            yield from _sentences_about(column, "between", (low, high))


def _sentences_about(column: tree.Column, word: str, literals: tuple[tree.Literal, ...]) -> Iterator[str]:
    """Yield the refusal of an order comparison if the column holds texts and a literal reads as another kind."""
    if column.kind is not Kind.TEXT:
        return
    found = [(literal, kind) for literal in literals if (kind := _kind_of(literal)) is not None]
    if not found:
        return
    literal, kind = found[0]
    name = printable(tree.quoted_name(column.name))
    values = " and ".join(_written(each, kind) for each in literals)
    function, form = ("number", "a kind") if kind is Kind.REAL else ("date", "the form of its dates")
    yield (
        f"where orders {column} by {shortened(literal.value)}, and texts are ordered by their characters "
        f"('9' is after '10'): write {function}({name}) {word} {values}, or let its owner state {form} for the "
        "column in noisycount.toml"
    )


def _written(literal: tree.Literal, kind: Kind) -> str:
    """Return a text as a literal of its kind, or an example of one if the language writes it in another form."""
    text = str(literal.value).strip(BLANKS)
    if kind is Kind.REAL:
        return text.lstrip("+") if read_number(text) is not None else "100"
    day = read_day(text)
    return Kind.DATE.literal if day is None else tree.quoted_text(day.isoformat())
