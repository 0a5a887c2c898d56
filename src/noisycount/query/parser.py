"""Literals as an analyst writes them, as values of the kind of the column beside them.

Text from an analyst, who is not trusted, becomes a typed tree or a refusal.

The tokens are bounded first; sqlglot then sees their grammar only: every name and every literal
goes in as the number of its token, so that no text can be read as anything but itself.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from reprlib import repr as shortened
from typing import Any

from sqlglot import ParseError, Parser, TokenType, exp
from sqlglot import Token as ParserToken

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
from noisycount.query.tokens import COMMA, KEYWORDS, Sort, Token, require_bytes, tokens

__all__ = ["parse"]

_SHORT_DATE = re.compile(r"([0-9]{4})-(?=[0-9]-|[0-9]{2}-[0-9](?![0-9]))([0-9]{1,2})-([0-9]{1,2})")


def signed_number(numeral: str, *, negative: bool) -> Literal:
    """The number that a numeral stands for: an integer, or a real if it has a point or exponent.

    Example:
        >>> signed_number("25e-1", negative=True).value
        -2.5
    """
    sign = "-" if negative else ""
    if numeral.isdecimal():
        return Literal(Kind.INTEGER, int(sign + numeral))
    return Literal(Kind.REAL, float(sign + numeral))


def beside(column: Column, literals: Sequence[Literal]) -> tuple[Literal, ...]:
    """The literals that a column is compared with, of a kind that compares with its own.

    Example:
        >>> [literal.value for literal in beside(Column("age", Kind.REAL),
        ...                                      [signed_number("65", negative=False)])]
        [65.0]
    """
    return of_one_kind([fitted(literal, column.kind) for literal in literals])


def fitted(literal: Literal, kind: Kind) -> Literal:
    """The literal as a value of the kind of the column beside it, where it has such a value.

    A text beside a date or a timestamp is read as ISO 8601; an integer beside a real becomes one.
    Any other literal stays as it is: the tree refuses what cannot be compared.

    Example:
        >>> fitted(Literal(Kind.TEXT, "2026-01-31"), Kind.DATE).value
        datetime.date(2026, 1, 31)
    """
    if literal.kind is Kind.INTEGER and kind is Kind.REAL:
        return real(literal)
    if not isinstance(literal.value, str) or kind.quoted is None:
        return literal
    remedy = f"write {kind.example}"
    try:
        if kind.quoted.fullmatch(literal.value):
            return Literal(kind, kind.parsed(literal.value))
    except ValueError:
        remedy = f"there is no such {kind.noun}, {remedy}"
    if kind.is_moment and (short := _SHORT_DATE.match(literal.value)):
        year, month, day = short.groups()
        remedy = f"give month and day two digits each, '{year}-{month:0>2}-{day:0>2}'"
    raise PredicateError(
        f"where compares a {kind.value} with the text {shortened(literal.value)}: {remedy}"
    )


def real(literal: Literal) -> Literal:
    """An integer literal as the nearest real; any other literal as it is.

    Example:
        >>> real(Literal(Kind.INTEGER, 3)).value
        3.0
    """
    if literal.kind is not Kind.INTEGER:
        return literal
    return Literal(Kind.REAL, float(literal.value))  # type: ignore[arg-type]  # an int, by its kind


def of_one_kind(literals: list[Literal]) -> tuple[Literal, ...]:
    """The literals, all as reals if one of them is a real.

    Example:
        >>> [choice.value for choice in of_one_kind([signed_number("1", negative=False),
        ...                                          signed_number("2.5", negative=False)])]
        [1.0, 2.5]
    """
    if any(literal.kind is Kind.REAL for literal in literals):
        return tuple(real(literal) for literal in literals)
    return tuple(literals)


_TOKEN_TYPES = {
    **{word: TokenType[word.upper()] for word in KEYWORDS},
    "(": TokenType.L_PAREN,
    ")": TokenType.R_PAREN,
    ",": TokenType.COMMA,
    "-": TokenType.DASH,
    "=": TokenType.EQ,
    "<>": TokenType.NEQ,
    "<": TokenType.LT,
    "<=": TokenType.LTE,
    ">": TokenType.GT,
    ">=": TokenType.GTE,
}

_VALUE_TYPES = {
    Sort.NAME: TokenType.IDENTIFIER,
    Sort.TEXT: TokenType.STRING,
    Sort.NUMBER: TokenType.NUMBER,
}

_OPERATORS: dict[type[exp.Expression], Operator] = {
    exp.EQ: Operator.EQUAL,
    exp.NEQ: Operator.NOT_EQUAL,
    exp.LT: Operator.LESS,
    exp.LTE: Operator.AT_MOST,
    exp.GT: Operator.MORE,
    exp.GTE: Operator.AT_LEAST,
}

_WORDS: dict[type[exp.Expression], str] = {
    **{kind: operator.value for kind, operator in _OPERATORS.items()},
    exp.And: "and",
    exp.Or: "or",
    exp.Not: "not",
    exp.Is: "is",
    exp.Like: "like",
    exp.Between: "between",
    exp.In: "in",
}

_SHORT = 30  # characters of a text that a message repeats

_SHAPES: dict[type[exp.Expression], frozenset[str]] = {
    **dict.fromkeys([exp.And, exp.Or, exp.Is, *_OPERATORS], frozenset({"this", "expression"})),
    **dict.fromkeys([exp.Not, exp.Neg, exp.Paren, exp.Column, exp.Boolean], frozenset({"this"})),
    exp.Like: frozenset({"this", "expression", "negate"}),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.In: frozenset({"this", "expressions"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Null: frozenset(),
}


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
    found = tokens(text)
    known = schema if isinstance(schema, Schema) else Schema(schema)
    predicate = _TypedSyntax(found, known).predicate(_grammar(found))
    require_bytes(canonical_text(predicate))
    return predicate


def _grammar(found: Sequence[Token]) -> object:
    """The syntax tree of the tokens, in which names and literals are token numbers."""
    parser_tokens = [
        ParserToken(_VALUE_TYPES[token.sort], str(number))
        if token.sort in _VALUE_TYPES
        else ParserToken(_TOKEN_TYPES[token.text], token.text)
        for number, token in enumerate(found)
    ]
    try:
        trees: Sequence[object] = Parser().parse(parser_tokens, "")
    except (ParseError, RecursionError):
        trees = []
    if len(trees) != 1:
        raise PredicateError(
            "where is no complete predicate: write comparisons such as age >= 30, "
            f"joined by and, or, not{_about_decimals(found)}"
        )
    return trees[0]


def _about_decimals(found: Sequence[Token]) -> str:
    """How to write the decimals of a number that has a comma before them, if there is one."""
    for before, whole, comma, decimals in zip(found, found[1:], found[2:], found[3:], strict=False):
        numbers = whole.sort is decimals.sort is Sort.NUMBER
        if numbers and comma == COMMA and before.text in {*_TOKEN_TYPES} - {"(", ","}:
            return f", and decimals with a point: {whole.text.replace('.', '')}.{decimals.text}"
    return ""


def _arguments(node: object) -> dict[str, Any]:
    """The arguments of a node of the white list, refusing any argument that it should not have."""
    if type(node) in _SHAPES and isinstance(node, exp.Expression):
        found = {key: value for key, value in node.args.items() if value not in (None, False, [])}
        if found.keys() <= _SHAPES[type(node)]:
            return found
    raise _outside(node)


def _outside(node: object) -> PredicateError:
    what = f"a misplaced {type(node).__name__.lower()}"
    if type(node) in (exp.Sub, exp.Neg):
        what = "arithmetic"
    elif isinstance(node, exp.Expression) and type(node) in _WORDS:
        what = f"{_WORDS[type(node)]!r} where a column or a literal belongs"
    dates = ", and dates in single quotes: '2026-01-31'" if type(node) is exp.Sub else ""
    return PredicateError(
        f"where has {what}: write a column, an operator, then a literal or another column, "
        f"and join such comparisons by and, or, not{dates}"
    )


def _bare(node: object) -> object:
    """The node inside any parentheses around it."""
    while type(node) is exp.Paren:
        node = _arguments(node)["this"]
    return node


@frozen
class _TypedSyntax:
    """The typed trees of syntax trees whose names and literals are numbers of tokens."""

    found: Sequence[Token]
    schema: Schema

    def predicate(self, node: object) -> Predicate:
        node = _bare(node)
        match node:
            case exp.And() | exp.Or():
                connective = And if type(node) is exp.And else Or
                return connective(tuple(map(self.predicate, _flat(node))))
            case exp.Not():
                return Not(self.predicate(_arguments(node)["this"]))
            case exp.Boolean():
                return Constant(_arguments(node).get("this", False))
            case exp.Column():
                return Flag(self.column(node))
            case _:
                return self.test(node, _arguments(node))

    def test(self, node: object, parts: dict[str, Any]) -> Predicate:
        match node:
            case exp.In():
                return self.membership(parts)
            case exp.Between():
                return self.range(parts)
            case exp.Like():
                pattern = self.pattern(parts)
                return Not(pattern) if "negate" in parts else pattern
            case exp.Is():
                return self.missing(parts)
            case exp.Expression() if type(node) in _OPERATORS:
                return self.comparison(_OPERATORS[type(node)], parts)
            case _:
                raise _outside(node)

    def comparison(self, operator: Operator, parts: dict[str, Any]) -> Predicate:
        left = self.operand(parts["this"])
        right = self.operand(parts["expression"], left.kind)
        if isinstance(left, Literal):
            left, operator, right = right, operator.mirrored, left
        if isinstance(left, Literal):
            literals = [side for side in (left, right) if isinstance(side, Literal)]
            raise PredicateError(f"where compares two literals: {self.column_remedy(literals)}")
        if isinstance(right, Literal):
            self.require_clear(left, parts.values())
            (right,) = beside(left, [right])
        return Comparison(left, operator, right)

    def column_remedy(self, literals: Sequence[Literal]) -> str:
        """How to write a column of which there are only literals."""
        for literal in literals:
            if isinstance(literal.value, str) and literal.value in self.schema:
                return f"write the column as {_typed(literal.value)}, not in single quotes"
        return "put a column on one side"

    def range(self, parts: dict[str, Any]) -> Range:
        column = self.column(parts["this"])
        low, high = beside(column, [self.literal(parts[end]) for end in ("low", "high")])
        self.require_clear(column, [parts["low"], parts["high"]])
        return Range(column, low, high)

    def membership(self, parts: dict[str, Any]) -> Membership:
        listed = [self.literal(node) for node in parts.get("expressions", ())]
        column = self.column(parts["this"])
        self.require_clear(column, parts.get("expressions", ()))
        return Membership(column, beside(column, listed))

    def require_clear(self, column: Column, nodes: Iterable[object]) -> None:
        """The refusal of a number that a column may mean otherwise."""
        bare = [_bare(node) for node in nodes]
        bare = [_bare(_arguments(node)["this"]) if type(node) is exp.Neg else node for node in bare]
        places = [int(_arguments(node)["this"]) for node in bare if type(node) is exp.Literal]
        self.schema.require_clear(column.name, (self.found[at].text for at in places), "where")

    def pattern(self, parts: dict[str, Any]) -> Pattern:
        column, pattern = self.column(parts["this"]), self.literal(parts["expression"])
        if not isinstance(pattern.value, str):
            raise PredicateError(f"where has {pattern} after like: write a text such as 'a%'")
        return Pattern(column, pattern.value)

    def missing(self, parts: dict[str, Any]) -> Missing:
        if type(parts["expression"]) is not exp.Null:
            raise PredicateError("where has is without null: write is null, is not null, or =")
        return Missing(self.column(parts["this"]))

    def operand(self, node: object, beside: Kind = Kind.TEXT) -> Column | Literal:
        is_column = type(_bare(node)) is exp.Column
        return self.column(node, beside) if is_column else self.literal(node)

    def column(self, node: object, beside: Kind = Kind.TEXT) -> Column:
        node = _bare(node)
        if type(node) is exp.Literal:
            raise PredicateError("where has a literal before in, between, like or is: use a column")
        if type(node) is not exp.Column:
            raise _outside(node)
        identifier = _arguments(_arguments(node)["this"])
        if "quoted" not in identifier:
            raise PredicateError(
                f"where has {identifier['this']!r} where a column belongs: "
                "write a column of that name in double quotes"
            )
        return _resolved(self.found[int(identifier["this"])].text, self.schema, beside)

    def literal(self, node: object) -> Literal:
        outer = inner = _bare(node)
        if type(outer) is exp.Column:
            raise PredicateError(
                "where has a column after in, between or like: write literals there, "
                "and compare columns by = <> < <= > >="
            )
        if type(outer) is exp.Null:
            raise PredicateError("where compares with null, which nothing equals: write is null")
        if type(outer) is exp.Boolean:
            return Literal(Kind.BOOLEAN, _arguments(outer).get("this", False))
        if type(outer) is exp.Neg:
            inner = _bare(_arguments(outer)["this"])
        if type(inner) is exp.Literal:
            token = self.found[int(_arguments(inner)["this"])]
            if token.sort is Sort.NUMBER:
                return signed_number(token.text, negative=inner is not outer)
            if inner is outer:
                return Literal(Kind.TEXT, token.text)
        raise _outside(outer)


def _flat(node: exp.Expression) -> Iterator[object]:
    """The operands of a run of the same connective, in order, without recursion."""
    pending: list[object] = [node]
    while pending:
        current = _bare(pending.pop())
        if type(current) is type(node):
            parts = _arguments(current)
            pending += [parts["expression"], parts["this"]]
        else:
            yield current


def _no_column(name: str, beside: Kind) -> str:
    """What to write in place of a name that is no column, beside a value of a kind."""
    if beside is not Kind.TEXT:
        return f"{beside.example} beside a {beside.value} column"
    text = f": {printable(written_text(name))}" if len(name) <= _SHORT else ""
    return f"single quotes for a text{text}"


def _typed(name: str) -> str:
    """A name as one types it, for one line."""
    return printable(written_name(name))


def _resolved(name: str, schema: Schema, beside: Kind) -> Column:
    names = [*schema, *schema.others]
    same = [name] if name in names else [n for n in names if n.casefold() == name.casefold()]
    if len(same) > 1:
        raise PredicateError(
            f"where names {shortened(name)}, which could be "
            f"{' or '.join(map(_typed, same))}: write one of them exactly"
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
