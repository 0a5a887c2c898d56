"""Text from an analyst, who is not trusted, becomes a typed tree or a refusal."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from reprlib import repr as shortened
from typing import Any, NoReturn, TypeAlias

from noisycount.display.texts import printable
from noisycount.errors import PredicateError
from noisycount.frozen import frozen
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
    canonical_text,
    written_name,
    written_text,
)
from noisycount.query.schema import Kind, Schema, close_names
from noisycount.query.tokens import COMMA, OPENING, VALUES, Sort, Token, require_bytes, tokens


def parse(text: str, schema: Mapping[str, Kind]) -> Predicate:
    """The typed tree of a predicate about columns of a schema.

    The language: ``and``, ``or``, ``not``, parentheses; ``= <> != < <= > >=`` between a column and
    a literal or another column; ``in``, ``between``, ``like``, ``is null`` and their negations; a
    boolean column; ``true`` and ``false``. Names resolve exactly, else by their only match in
    another case.

    Example:
        >>> canonical_text(parse("(Age>=30) AND NOT health='poor'",
        ...                      {"age": Kind.INTEGER, "health": Kind.TEXT}))
        "age >= 30 and not health = 'poor'"
    """
    known = schema if isinstance(schema, Schema) else Schema(schema)
    predicate = _TypedSyntax(known).predicate(_Grammar(tokens(text)).whole())
    require_bytes(canonical_text(predicate))
    return predicate


Node: TypeAlias = tuple[Any, ...]  # a word of the language, or what a value is, and its parts
_EQUALITIES, _ORDERS = ("=", "<>"), ("<", "<=", ">", ">=")
_MISPLACED = {
    "name": "column",
    "number": "literal",
    "text": "literal",
    "tuple": "tuple",
    "true": "boolean",
    "false": "boolean",
    "null": "null",
}


class _Grammar:
    """What the tokens say, whatever the kinds of columns are; parentheses leave no trace."""

    def __init__(self, found: Sequence[Token]) -> None:
        self.found, self.at = found, 0

    def whole(self) -> Node:
        """All tokens."""
        node = self.disjunction()
        if self.at < len(self.found):
            self.refuse()
        return node

    def refuse(self) -> NoReturn:
        raise PredicateError(
            "where is no complete predicate: write comparisons such as age >= 30, "
            f"joined by and, or, not{_about_decimals(self.found)}"
        )

    def take(self, *words: str) -> str | None:
        """The next token, which is passed, if it is one of these keywords or symbols."""
        token = self.found[self.at] if self.at < len(self.found) else None
        if token is None or token.sort in VALUES or token.text not in words:
            return None
        self.at += 1
        return token.text

    def need(self, word: str) -> None:
        if self.take(word) is None:
            self.refuse()

    def disjunction(self) -> Node:
        return self.joined("or", lambda: self.joined("and", self.equality))

    def joined(self, word: str, operand: Callable[[], Node]) -> Node:
        """One node for a run of the same connective."""
        found = [operand()]
        while self.take(word):
            found.append(operand())
        if len(found) == 1:
            return found[0]
        return (
            word,
            *(part for node in found for part in (node[1:] if node[0] == word else [node])),
        )

    def equality(self) -> Node:
        return self.chain(_EQUALITIES, lambda: self.chain(_ORDERS, self.test))

    def chain(self, symbols: Sequence[str], operand: Callable[[], Node]) -> Node:
        node = operand()
        while symbol := self.take(*symbols):
            node = (symbol, node, operand())
        return node

    def test(self) -> Node:
        node = self.difference()
        while True:
            is_negated = self.take("not")
            word = self.take("in", "between", "like", "is")
            if word == "in":
                self.need("(")
                node = ("in", node, *self.listed())
            elif word == "between":
                low = self.difference()
                self.need("and")
                node = ("between", node, low, self.difference())
            elif word is not None:
                is_negated = self.take("not") if word == "is" else is_negated
                node = (word, node, self.difference())
            elif is_negated:
                self.refuse()
            else:
                return node
            node = ("not", node) if is_negated else node

    def listed(self) -> list[Node]:
        """What stands between commas, up to the closing parenthesis."""
        if self.take(")"):
            return []
        found = [self.disjunction()]
        while self.take(","):
            found.append(self.disjunction())
        self.need(")")
        return found

    def difference(self) -> Node:
        return self.chain("-", self.operand)

    def operand(self) -> Node:
        if self.take("not"):
            return ("not", self.equality())
        if self.take("-"):
            return ("-", self.operand())
        if self.take("("):
            inside = self.listed()
            return inside[0] if len(inside) == 1 else ("tuple",)
        if constant := self.take("true", "false", "null"):
            return (constant,)
        if self.at == len(self.found) or self.found[self.at].sort not in VALUES:
            self.refuse()
        token = self.found[self.at]
        self.at += 1
        return (token.sort.value, token.text)


def _about_decimals(found: Sequence[Token]) -> str:
    """How to write the decimals of a number that has a comma before them, if there is one."""
    for before, whole, comma, decimals in zip(found, found[1:], found[2:], found[3:], strict=False):
        numbers = whole.sort is decimals.sort is Sort.NUMBER
        if numbers and comma == COMMA and before.sort not in VALUES and before not in (OPENING, COMMA):
            return f", and decimals with a point: {whole.text.replace('.', '')}.{decimals.text}"
    return ""


def _outside(node: Node) -> PredicateError:
    """The refusal of a part that stands where it has no meaning."""
    dates = ""
    match node:
        case ("-", *parts):
            what = "arithmetic"
            dates = ", and dates in single quotes: '2026-01-31'" if parts[1:] else ""
        case (word, *_) if word in _MISPLACED:
            what = f"a misplaced {_MISPLACED[word]}"
        case (word, *_):
            what = f"{word!r} where a column or a literal belongs"
    return PredicateError(
        f"where has {what}: write a column, an operator, then a literal or another column, "
        f"and join such comparisons by and, or, not{dates}"
    )


@frozen
class _TypedSyntax:
    """The typed trees of syntax about columns of a schema."""

    schema: Schema

    def predicate(self, node: Node) -> Predicate:
        match node:
            case ("and" | "or" as word, *operands):
                connective = And if word == "and" else Or
                return connective(tuple(map(self.predicate, operands)))
            case ("not", operand):
                return Not(self.predicate(operand))
            case ("true" | "false" as word,):
                return Constant(word == "true")
            case ("name", _):
                return Flag(self.column(node))
        return self.test(node)

    def test(self, node: Node) -> Predicate:
        match node:
            case ("in", tested, *choices):
                listed = [self.literal(choice) for choice in choices]
                column = self.column(tested)
                return Membership(column, self.beside(column, listed, choices))
            case ("between", tested, *ends):
                column = self.column(tested)
                low, high = self.beside(column, [self.literal(end) for end in ends], ends)
                return Range(column, low, high)
            case ("like", tested, text):
                column, pattern = self.column(tested), self.literal(text)
                if isinstance(pattern.value, str):
                    return Pattern(column, pattern.value)
                raise PredicateError(f"where has {pattern} after like: write a text such as 'a%'")
            case ("is", tested, ("null",)):
                return Missing(self.column(tested))
            case ("is", *_):
                raise PredicateError("where has is without null: write is null, is not null, or =")
            case (word, left, right) if word in _EQUALITIES + _ORDERS:
                return self.comparison(left, Operator(word), right)
        raise _outside(node)

    def comparison(self, one: Node, operator: Operator, other: Node) -> Comparison:
        left = self.operand(one)
        right = self.operand(other, left.kind)
        if isinstance(left, Literal):
            left, operator, right = right, operator.mirrored, left
        if isinstance(left, Literal):
            remedy = "put a column on one side"
            for kind, *parts in (other, one):
                if kind == "text" and parts[0] in self.schema:
                    remedy = f"write the column as {_typed(parts[0])}, not in single quotes"
            raise PredicateError(f"where compares two literals: {remedy}")
        if isinstance(right, Literal):
            (right,) = self.beside(left, [right], (one, other))
        return Comparison(left, operator, right)

    def operand(self, node: Node, beside: Kind = Kind.TEXT) -> Column | Literal:
        return self.column(node, beside) if node[0] == "name" else self.literal(node)

    def column(self, node: Node, beside: Kind = Kind.TEXT) -> Column:
        match node:
            case ("name", name):
                return _resolved(name, self.schema, beside)
            case ("number" | "text", _):
                raise PredicateError("where has a literal before in, between, like or is: use a column")
        raise _outside(node)

    def literal(self, node: Node) -> Literal:
        match node:
            case ("number", numeral) | ("-", ("number", numeral)):
                sign = "-" if node[0] == "-" else ""
                if numeral.isdecimal():
                    return Literal(Kind.INTEGER, int(sign + numeral))
                return Literal(Kind.REAL, float(sign + numeral))
            case ("text", text):
                return Literal(Kind.TEXT, text)
            case ("true" | "false" as word,):
                return Literal(Kind.BOOLEAN, word == "true")
            case ("name", _):
                raise PredicateError(
                    "where has a column after in, between or like: write literals there, "
                    "and compare columns by = <> < <= > >="
                )
            case ("null",):
                raise PredicateError("where compares with null, which nothing equals: write is null")
        raise _outside(node)

    def beside(self, column: Column, literals: Sequence[Literal], nodes: Iterable[Node]) -> tuple[Literal, ...]:
        """What a column is compared with, of its kind where there is such a value.

        All are reals if one of them is. What does not fit stays as it is: the tree refuses it.
        """
        bare = (node[1] if node[0] == "-" else node for node in nodes)
        numerals = [node[1] for node in bare if node[0] == "number"]
        self.schema.require_clear(column.name, numerals, "where")
        fitted = [_fitted(literal, column.kind) for literal in literals]
        if any(literal.kind is Kind.REAL for literal in fitted):
            fitted = [_fitted(literal, Kind.REAL) for literal in fitted]
        return tuple(fitted)


_SHORT_DATE = re.compile(r"([0-9]{4})-(?=[0-9]-|[0-9]{2}-[0-9](?![0-9]))([0-9]{1,2})-([0-9]{1,2})")
_SHORT = 30  # characters of a text that a message repeats


def _fitted(literal: Literal, kind: Kind) -> Literal:
    """The literal as a value of a kind, where it has such a value.

    A text beside a date or a timestamp is read as ISO 8601; an integer beside a real becomes one.
    """
    value = literal.value
    if literal.kind is Kind.INTEGER and kind is Kind.REAL:
        return Literal(Kind.REAL, float(value))  # type: ignore[arg-type]  # an int, by its kind
    if not isinstance(value, str) or kind.quoted is None:
        return literal
    remedy = f"write {kind.example}"
    try:
        if kind.quoted.fullmatch(value):
            return Literal(kind, kind.parsed(value))
    except ValueError:
        remedy = f"there is no such {kind.noun}, {remedy}"
    if kind.is_moment and (short := _SHORT_DATE.match(value)):
        year, month, day = short.groups()
        remedy = f"give month and day two digits each, '{year}-{month:0>2}-{day:0>2}'"
    raise PredicateError(f"where compares a {kind.value} with the text {shortened(value)}: {remedy}")


def _typed(name: str) -> str:
    """A name as one types it, for one line."""
    return printable(written_name(name))


def _resolved(name: str, schema: Schema, beside: Kind) -> Column:
    names = [*schema, *schema.others]
    same = [name] if name in names else [n for n in names if n.casefold() == name.casefold()]
    if len(same) > 1:
        raise PredicateError(
            f"where names {shortened(name)}, which could be {' or '.join(map(_typed, same))}: write one of them exactly"
        )
    if not same and schema.unit is not None and name.casefold() == schema.unit.casefold():
        raise PredicateError(
            f"where names {shortened(name)}, which is the unit that is counted, and no question "
            f"may use it: use {close_names(name, [*schema], _typed)}"
        )
    if not same:
        raise PredicateError(
            f"where names {shortened(name)}, which is no column that questions may use: use "
            f"{close_names(name, [*schema], _typed)}, or {_no_column(name, beside)}"
        )
    if same[0] in schema.others:
        raise PredicateError(
            f"where names {shortened(same[0])}, whose type {schema.others[same[0]]} "
            f"no question can use: use {close_names(name, [*schema], _typed)}"
        )
    return Column(same[0], schema[same[0]])


def _no_column(name: str, beside: Kind) -> str:
    """What to write in place of a name that is no column, beside a value of a kind."""
    if beside is not Kind.TEXT:
        return f"{beside.example} beside a {beside.value} column"
    text = f": {printable(written_text(name))}" if len(name) <= _SHORT else ""
    return f"single quotes for a text{text}"
