"""A predicate as text: in its own language, and in plain English."""

from datetime import datetime

from noisycount.display.texts import printable
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
)
from noisycount.query.tokens import KEYWORDS, SIMPLE_NAME

__all__ = ["canonical_text", "english", "written_name", "written_text"]


_NUMBER_PHRASES = {
    Operator.EQUAL: "is",
    Operator.NOT_EQUAL: "is not",
    Operator.LESS: "is less than",
    Operator.AT_MOST: "is at most",
    Operator.MORE: "is more than",
    Operator.AT_LEAST: "is at least",
}


_ORDER_PHRASES = {
    Operator.EQUAL: "is",
    Operator.NOT_EQUAL: "is not",
    Operator.LESS: "is before",
    Operator.AT_MOST: "is not after",
    Operator.MORE: "is after",
    Operator.AT_LEAST: "is not before",
}


def canonical_text(predicate: Predicate) -> str:
    """The predicate in its own language: one text for each tree, which parses to that tree.

    Example:
        >>> from noisycount.query.schema import Kind
        >>> health = Column("health", Kind.TEXT)
        >>> canonical_text(Not(Membership(health, (Literal(Kind.TEXT, "poor"),))))
        "health not in ('poor')"
    """
    match predicate:
        case Constant(value):
            return str(value).lower()
        case Flag(column):
            return _name(column)
        case Comparison(left, operator, right):
            return f"{_name(left)} {operator.value} {_value(right)}"
        case Not(operand):
            return _canonical_negation(operand)
        case And(operands) | Or(operands):
            return _connective(predicate).join(_grouped(part, Or) for part in operands)
        case _:
            return _canonical_test(predicate, "")


def english(predicate: Predicate) -> str:
    """The predicate in plain English, to follow "records where".

    Example:
        >>> from noisycount.query.schema import Kind
        >>> age = Column("age", Kind.INTEGER)
        >>> english(Comparison(age, Operator.AT_LEAST, Literal(Kind.INTEGER, 30)))
        'age is at least 30'
    """
    match predicate:
        case Constant(value):
            return "anything holds" if value else "nothing holds"
        case Flag(column):
            return f"{_name(column)} is true"
        case Comparison(left, operator, right):
            phrases = _NUMBER_PHRASES if left.kind.is_number else _ORDER_PHRASES
            return f"{_name(left)} {phrases[operator]} {_spoken(right)}"
        case Not(operand):
            return _english_negation(operand)
        case And(operands) | Or(operands):
            return _connective(predicate).join(map(_english_group, operands))
        case _:
            return _english_test(predicate, "")


def _connective(node: And | Or) -> str:
    return " and " if isinstance(node, And) else " or "


def _canonical_test(test: Range | Membership | Pattern | Missing, negation: str) -> str:
    name = _name(test.column)
    match test:
        case Range(_, low, high):
            return f"{name} {negation}between {_value(low)} and {_value(high)}"
        case Membership(_, choices):
            return f"{name} {negation}in ({', '.join(map(_value, choices))})"
        case Pattern(_, pattern):
            return f"{name} {negation}like {written_text(pattern)}"
        case Missing():
            return f"{name} is {negation}null"


def _canonical_negation(operand: Predicate) -> str:
    if isinstance(operand, Range | Membership | Pattern | Missing):
        return _canonical_test(operand, "not ")
    return f"not {_grouped(operand, And, Or)}"


def _grouped(predicate: Predicate, *weaker: type) -> str:
    text = canonical_text(predicate)
    return f"({text})" if isinstance(predicate, weaker) else text


def _english_test(test: Range | Membership | Pattern | Missing, negation: str) -> str:
    subject = f"{_name(test.column)} is {negation}"
    match test:
        case Range(_, low, high):
            return f"{subject}from {_spoken(low)} to {_spoken(high)}"
        case Membership(_, choices):
            *most, last = map(_spoken, choices)
            return f"{subject}{', '.join(most)} or {last}" if most else f"{subject}{last}"
        case Pattern(_, pattern):
            return f"{subject}like {printable(written_text(pattern))}"
        case Missing():
            return f"{subject}missing"


def _english_negation(operand: Predicate) -> str:
    match operand:
        case Constant(value):
            return english(Constant(value=not value))
        case Flag(column):
            return f"{_name(column)} is false"
        case Comparison(left, operator, right):
            return english(Comparison(left, operator.negated, right))
        case Not(inner):
            return english(inner)
        case And() | Or():
            return f"it is not true that ({english(operand)})"
        case _:
            return _english_test(operand, "not ")


def _english_group(predicate: Predicate) -> str:
    text = english(predicate)
    return f"({text})" if isinstance(predicate, And | Or) else text


def written_name(name: str) -> str:
    """A name as one writes it in a question: in double quotes where it needs them.

    Example:
        >>> print(written_name("age"), written_name("Kosten €"))
        age "Kosten €"
    """
    if SIMPLE_NAME.fullmatch(name) and name.lower() not in KEYWORDS:
        return name
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def written_text(text: str) -> str:
    """A text as one writes it in a question.

    Example:
        >>> print(written_text("O'Hara"))
        'O''Hara'
    """
    escaped = text.replace("'", "''")
    return f"'{escaped}'"


def _name(column: Column) -> str:
    return written_name(column.name)


def _value(operand: Column | Literal) -> str:
    if isinstance(operand, Column):
        return _name(operand)
    match operand.value:
        case bool(value):
            return str(value).lower()
        case int(value) | float(value):
            return repr(value)
        case datetime() as value:
            return f"'{value.isoformat(sep=' ')}'"
        case value:
            return written_text(str(value))


def _spoken(operand: Column | Literal) -> str:
    return printable(_value(operand).removesuffix(".0"))
