"""Predicates in plain English.

An answer repeats its query in these words; `predicate.canonical_text` writes the predicate language.
"""

from noisycount.display.texts import replace_unprintable
from noisycount.query.person_values import EVERY_ROW, Function, PersonValue, Shifted
from noisycount.query.predicate import (
    And,
    Column,
    Comparison,
    Constant,
    Flag,
    Literal,
    Membership,
    Missing,
    Not,
    Operator,
    Or,
    Pattern,
    Predicate,
    Range,
    connective,
    quoted_text,
    value_text,
)
from noisycount.query.schema import Kind

_OF_NUMBERS = ("is", "is not", "is less than", "is at most", "is more than", "is at least")
_OF_OTHERS = ("is", "is not", "is before", "is not after", "is after", "is not before")
_NUMBER_PHRASES, _ORDER_PHRASES = (dict(zip(Operator, said, strict=True)) for said in (_OF_NUMBERS, _OF_OTHERS))


def english(predicate: Predicate, *, is_negated: bool = False) -> str:
    """Return the predicate or its negation in plain English, for use after "records where" or "persons for whom"."""
    match predicate:
        case Constant(value):
            return "nothing holds" if value is is_negated else "anything holds"
        case Comparison(left, operator, right):
            phrases = _NUMBER_PHRASES if left.kind.is_number else _ORDER_PHRASES
            return f"{_subject(left)} {phrases[operator.negated if is_negated else operator]} {_operand_words(right)}"
        case Not(operand):
            return english(operand, is_negated=not is_negated)
        case And(operands) | Or(operands):
            text = connective(predicate).join(map(_english_group, operands))
            return f"it is not true that ({text})" if is_negated else text
        case Flag(column):
            return _english_flag(column, is_negated=is_negated)
    return _english_test(predicate, "not " if is_negated else "")


def _english_test(test: Range | Membership | Pattern | Missing, negation: str) -> str:
    subject = f"{_subject(test.column)} is {negation}"
    match test:
        case Range(_, low, high):
            return f"{subject}from {_operand_words(low)} to {_operand_words(high)}"
        case Membership(_, choices):
            *most, last = map(_operand_words, choices)
            return f"{subject}{', '.join(most)} or {last}" if most else f"{subject}{last}"
        case Pattern(_, pattern):
            return f"{subject}like {replace_unprintable(quoted_text(pattern))}"
        case Missing():
            return f"{subject}missing"


def _english_group(predicate: Predicate) -> str:
    text = english(predicate)
    return f"({text})" if isinstance(predicate, And | Or) else text


# For each condition of a person: the words before the table, then those of its negation.
_QUANTIFIERS = {
    Function.ANY: ("there is a row", "there is no row"),
    Function.EVERY: ("every row", "not every row"),
}


def _english_flag(column: Column, *, is_negated: bool) -> str:
    """Return the words for a boolean column or value, such as `any` or `every` of a person, or for its negation."""
    if not isinstance(column, PersonValue) or column.function not in _QUANTIFIERS:
        return f"{_subject(column)} is {'false' if is_negated else 'true'}"
    words = f"{_QUANTIFIERS[column.function][is_negated]}{_table_words(column)}"
    if column.where == EVERY_ROW:
        return words
    copula = " is one" if column.function is Function.EVERY else ""
    return f"{words}{copula} where {_english_group(column.where)}"


def _table_words(value: PersonValue) -> str:
    """Return the words for the table of the rows, or an empty text if there is one table."""
    return "" if value.table is None else f" of {value.table}"


def _subject(column: Column) -> str:
    """Return a column, or a value of a person, as the subject of a sentence."""
    match column:
        case Shifted(base=base):
            return f"{column.in_words} {_subject(base)}"
        case PersonValue():
            return _value_subject(column)
    name = column.stored.text
    if not column.is_parsed:
        return name
    return f"the {'number' if column.kind is Kind.REAL else 'date'} in {name}"


def _value_subject(value: PersonValue) -> str:
    """Return a value of a person as the subject of a sentence."""
    column = None if value.column is None else _subject(value.column)
    of_rows = "" if value.where == EVERY_ROW else f" where {_english_group(value.where)}"
    match value.function:
        case Function.COUNT if column is None:
            return f"the number of rows{_table_words(value)}{of_rows}"
        case Function.COUNT:
            return (
                f"the number of different {column} in rows{of_rows}" if of_rows else f"the number of different {column}"
            )
        case Function.TOTAL:
            words = f"the sum of {column}"
        case Function.FIRST | Function.LAST if value.by is not None:
            return f"the {column} of the {value.function.value} {_subject(value.by)}{of_rows}"
        case _ if value.kind.is_moment:
            words = f"the {'first' if value.function is Function.SMALLEST else 'last'} {column}"
        case _:
            words = f"the {'smallest' if value.function is Function.SMALLEST else 'largest'} {column}"
    return words + of_rows


def _operand_words(operand: Column | Literal) -> str:
    """Return the text of the right side of a comparison, on one line."""
    return replace_unprintable(
        _subject(operand) if isinstance(operand, Column) else value_text(operand).removesuffix(".0")
    )
