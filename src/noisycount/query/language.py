"""Text from an analyst, who is not trusted, becomes words, then a typed tree, or a refusal."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from itertools import pairwise
from reprlib import repr as shortened
from typing import Any, NoReturn, TypeAlias

from noisycount.display.texts import printable
from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.query import predicate as tree
from noisycount.query.schema import Kind, Schema

MAXIMUM_BYTES = 4096  # a page of text: more than anybody writes by hand
MAXIMUM_TOKENS = 500  # at most as many comparisons as a scan of a million records does in seconds
MAXIMUM_DEPTH = 20  # so that parsing needs at most 600 frames of Python's 1,000
MAXIMUM_PATTERNS = 200  # characters, each of which can cost a step for each of a text


class TokenKind(Enum):
    """The kinds of tokens."""

    NAME = "name"
    TEXT = "text"
    NUMBER = "number"
    KEYWORD = "keyword"
    SYMBOL = "symbol"


@frozen
class Token:
    """One token: a name or a text without its quotes, a number, a keyword, a symbol."""

    kind: TokenKind
    text: str

    @property
    def is_value(self) -> bool:
        """Whether a comparison could have this token as one of its sides."""
        return self.kind in VALUES or self in _CONSTANTS


VALUES = (TokenKind.NAME, TokenKind.TEXT, TokenKind.NUMBER)
NOT, LIKE, IN, BETWEEN, *_CONSTANTS = (
    Token(TokenKind.KEYWORD, word) for word in ("not", "like", "in", "between", "true", "false", "null")
)
OPENING, CLOSING, COMMA, MINUS = (Token(TokenKind.SYMBOL, symbol) for symbol in "(),-")

_PATTERN = re.compile(
    rf"""
      (?P<blank>\s+)
    | (?P<word>{tree.SIMPLE_NAME.pattern})
    | "(?P<name>(?:[^"]|"")+)"
    | '(?P<text>(?:[^']|'')*)'
    | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<symbol><>|!=|<=|>=|=(?![=<>])|<|>|\(|\)|,|-(?!-))
    """,
    re.VERBOSE,
)

_CURVED = "„“”«»\N{SINGLE LOW-9 QUOTATION MARK}\N{LEFT SINGLE QUOTATION MARK}\u2019"

_REFUSED = {
    ";": "ask one question, without ';'",
    "--": "leave comments out",
    "/*": "leave comments out",
    "==": "write one '='",
    "=>": "write >=",
    "=<": "write <=",
    "'": "close the text with a second quote, and write '' for a quote within it: 'O''Brien'",
    '"': "close the name with a second double quote",
    ".": "write the bare name of the column, in double quotes if it has a dot",
    "::": "leave casts out",
    "`": "write names in double quotes",
    "\0": "leave out the NUL character",
    "≥": "write >=",
    "≤": "write <=",
    "≠": "write <>",
    "&&": "write and",
    "||": "write or",
    **dict.fromkeys("+*/%", "leave arithmetic out, compare the column itself with a number"),
    **dict.fromkeys(_CURVED, "put a text between straight single quotes, such as 'yes'"),
}

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_OUTSIDE = "use columns, literals, comparisons, and, or, not, in, between, like, is null"


def tokens(text: str) -> list[Token]:
    """The tokens of a predicate, at most 500 of them, nested at most 20 deep.

    All patterns after like have at most 200 characters together, as each can cost a step for each
    character of a text: what an asker makes slow for some records only, a slot cannot hide.
    """
    _require_bytes(text)
    found: list[Token] = []
    position = 0
    while position < len(text):
        match = _PATTERN.match(text, position)
        if match is None:
            _require_neighbours(found)  # what is odd before it says more
            raise PredicateError(_unknown_character(text[position:]))
        position = match.end()
        if match.lastgroup != "blank":
            found.append(_token(match))
    if not found:
        raise PredicateError("where is empty: write a predicate such as age >= 30, or true for all")
    if len(found) > MAXIMUM_TOKENS:
        raise PredicateError(f"where has {len(found)} words and symbols, more than {MAXIMUM_TOKENS}: ask less at once")
    _require_depth(found)
    _require_neighbours(found)
    _require_commas_and_negations(found)
    characters = sum(len(second.text) for first, second in pairwise(found) if first == LIKE)
    if characters > MAXIMUM_PATTERNS:
        raise PredicateError(
            f"where has {characters} characters after like, more than {MAXIMUM_PATTERNS}: ask for shorter texts"
        )
    return found


def _require_bytes(text: str) -> None:
    """The refusal of a text that is no Unicode or is longer than 4,096 bytes in UTF-8."""
    if not isinstance(text, str):
        raise PredicateError(f"where must be a text, got a {type(text).__name__}")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise PredicateError("where is not valid Unicode: write it in UTF-8") from None
    if size > MAXIMUM_BYTES:
        raise PredicateError(f"where is {size} bytes long, more than {MAXIMUM_BYTES}: ask less at once")


def _token(match: re.Match[str]) -> Token:
    sort, text = match.lastgroup, match[match.lastgroup or 0]
    if sort == "word" and text.lower() in tree.KEYWORDS:
        return Token(TokenKind.KEYWORD, text.lower())
    if sort in ("word", "name"):
        return Token(TokenKind.NAME, text.replace('""', '"'))
    if sort == "text":
        return Token(TokenKind.TEXT, text.replace("''", "'"))
    if sort == "number":
        return Token(TokenKind.NUMBER, text)
    return Token(TokenKind.SYMBOL, "<>" if text == "!=" else text)


def _unknown_character(rest: str) -> str:
    for start, remedy in _REFUSED.items():
        if rest.startswith(start):
            return f"where has {start!r} outside the predicate language: {remedy}"
    return f"where has {rest[0]!r} outside the predicate language: {_OUTSIDE}"


def _require_depth(found: Sequence[Token]) -> None:
    opened, prefixes = [0], 0
    for token in found:
        if token == OPENING:
            opened.append(opened[-1] + prefixes + 1)
        elif token == CLOSING:
            opened.pop()
        prefixes = prefixes + 1 if token in (NOT, MINUS) else 0
        if not opened:
            raise PredicateError("where has ')' without '(' before it: balance the parentheses")
        if opened[-1] + prefixes > MAXIMUM_DEPTH:
            raise PredicateError(f"where nests more than {MAXIMUM_DEPTH} parentheses and nots: ask less at once")
    if len(opened) > 1:
        raise PredicateError("where has '(' without ')' after it: balance the parentheses")


def _require_neighbours(found: Sequence[Token]) -> None:
    """The refusal of two words that cannot follow each other, and what was meant by them."""
    for first, second in pairwise(found):
        before, after = shortened(first.text), shortened(second.text)
        fault = None
        if first.kind is TokenKind.NAME and second == OPENING:
            fault = f"calls {before}: leave functions and casts out, compare the column itself"
        elif first.kind is TokenKind.NAME and second.kind is TokenKind.TEXT:
            fault = f"has {before} before the text {after}: write the text alone, or an operator between them"
        elif first.kind is second.kind is TokenKind.NUMBER:
            fault = (
                f"has {after} after {before}: write one number, with one point, or a date in "
                "single quotes: '2026-01-31'"
            )
        elif first == IN and second != OPENING:
            fault = f"has {after} after in: put the list in parentheses, as in ('yes', 'no')"
        elif first.kind is TokenKind.TEXT and second.kind in (TokenKind.NAME, TokenKind.NUMBER):
            fault = (
                f"has {after} after the text {before}: write and or or between them, or '' "
                "for a quote within a text: 'O''Brien'"
            )
        elif (first.is_value or first == CLOSING) and second.is_value:
            fault = f"has {after} after {before}: {_OUTSIDE}, with an operator between values"
        if fault is not None:
            raise PredicateError(f"where {fault}")


def _require_commas_and_negations(found: Sequence[Token]) -> None:
    """The refusal of a comma that separates nothing, and of a not behind a column."""
    for first, second in pairwise(found):
        if (second == COMMA and first in (OPENING, COMMA)) or (first, second) == (COMMA, CLOSING):
            raise PredicateError(
                f"where has {second.text!r} after {first.text!r}: write one comma between two literals, as in (1, 2)"
            )
    for before, (first, second) in zip(found, pairwise(found[1:]), strict=False):
        follows = before.is_value or before == CLOSING
        if first == NOT and follows and second not in (IN, BETWEEN, LIKE):
            raise PredicateError(
                f"where has not after {shortened(before.text)}: write is not null, or not before the whole comparison"
            )


def parse(text: str, schema: Mapping[str, Kind]) -> tree.Predicate:
    """The typed tree of a predicate about columns of a schema.

    The language: ``and``, ``or``, ``not``, parentheses; ``= <> != < <= > >=`` between a column and a literal or another
    column; ``in``, ``between``, ``like``, ``is null`` and their negations; a boolean column; ``true`` and ``false``.
    Names resolve exactly, else by their only match in another case.

    Example:
        >>> tree.canonical_text(parse("(Age>=30) AND NOT health='poor'",
        ...                      {"age": Kind.INTEGER, "health": Kind.TEXT}))
        "age >= 30 and not health = 'poor'"
    """
    known = schema if isinstance(schema, Schema) else Schema(schema)
    try:
        predicate = _TypedSyntax(known).predicate(_Grammar(tokens(text)).whole())
    except PredicateError:
        odd = (name for name in known if not tree.SIMPLE_NAME.fullmatch(name) and re.search(r"[^\W\d]", name))
        if name := next((name for name in odd if name in _QUOTED.sub("", text)), None):
            fault = f"where names {name} without double quotes: write {tree.quoted_name(name)}"
            raise PredicateError(printable(fault)) from None
        raise
    _require_bytes(tree.canonical_text(predicate))
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
        if token is None or token.kind in VALUES or token.text not in words:
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
        return (word, *(part for node in found for part in (node[1:] if node[0] == word else [node])))

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
        if self.at == len(self.found) or self.found[self.at].kind not in VALUES:
            self.refuse()
        token = self.found[self.at]
        self.at += 1
        return (token.kind.value, token.text)


def _about_decimals(found: Sequence[Token]) -> str:
    """How to write the decimals of a number that has a comma before them, if there is one."""
    for before, whole, comma, decimals in zip(found, found[1:], found[2:], found[3:], strict=False):
        numbers = whole.kind is decimals.kind is TokenKind.NUMBER
        if numbers and comma == COMMA and before.kind not in VALUES and before not in (OPENING, COMMA):
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

    def predicate(self, node: Node) -> tree.Predicate:
        match node:
            case ("and" | "or" as word, *operands):
                connective = tree.And if word == "and" else tree.Or
                return connective(tuple(map(self.predicate, operands)))
            case ("not", operand):
                return tree.Not(self.predicate(operand))
            case ("true" | "false" as word,):
                return tree.Constant(word == "true")
            case ("name", _):
                return tree.Flag(self.column(node))
        return self.test(node)

    def test(self, node: Node) -> tree.Predicate:
        match node:
            case ("in", tested, *choices):
                listed = [self.literal(choice) for choice in choices]
                column = self.column(tested)
                return tree.Membership(column, self.beside(column, listed, choices))
            case ("between", tested, *ends):
                column = self.column(tested)
                low, high = self.beside(column, [self.literal(end) for end in ends], ends)
                return tree.Range(column, low, high)
            case ("like", tested, text):
                column, pattern = self.column(tested), self.literal(text)
                if isinstance(pattern.value, str):
                    return tree.Pattern(column, pattern.value)
                raise PredicateError(f"where has {pattern} after like: write a text such as 'a%'")
            case ("is", tested, ("null",)):
                return tree.Missing(self.column(tested))
            case ("is", *_):
                raise PredicateError("where has is without null: write is null, is not null, or =")
            case (word, left, right) if word in _EQUALITIES + _ORDERS:
                return self.comparison(left, tree.Operator(word), right)
        raise _outside(node)

    def comparison(self, one: Node, operator: tree.Operator, other: Node) -> tree.Comparison:
        left = self.operand(one)
        right = self.operand(other, left.kind)
        if isinstance(left, tree.Literal):
            left, operator, right = right, operator.mirrored, left
        if isinstance(left, tree.Literal):
            remedy = "put a column on one side"
            for kind, *parts in (other, one):
                if kind == "text" and parts[0] in self.schema:
                    remedy = f"write the column as {printable(tree.quoted_name(parts[0]))}, not in single quotes"
            raise PredicateError(f"where compares two literals: {remedy}")
        if isinstance(right, tree.Literal):
            (right,) = self.beside(left, [right], (one, other))
        return tree.Comparison(left, operator, right)

    def operand(self, node: Node, beside: Kind = Kind.TEXT) -> tree.Column | tree.Literal:
        return self.column(node, beside) if node[0] == "name" else self.literal(node)

    def column(self, node: Node, beside: Kind = Kind.TEXT) -> tree.Column:
        match node:
            case ("name", name):
                return tree.Column.named(name, self.schema, beside)
            case ("number" | "text", _):
                raise PredicateError("where has a literal before in, between, like or is: use a column")
        raise _outside(node)

    def literal(self, node: Node) -> tree.Literal:
        match node:
            case ("number", numeral) | ("-", ("number", numeral)):
                sign = "-" if node[0] == "-" else ""
                if numeral.isdecimal():
                    return tree.Literal(Kind.INTEGER, int(sign + numeral))
                return tree.Literal(Kind.REAL, float(sign + numeral))
            case ("text", text):
                return tree.Literal(Kind.TEXT, text)
            case ("true" | "false" as word,):
                return tree.Literal(Kind.BOOLEAN, word == "true")
            case ("name", _):
                raise PredicateError(
                    "where has a column after in, between or like: write literals there, "
                    "and compare columns by = <> < <= > >="
                )
            case ("null",):
                raise PredicateError("where compares with null, which nothing equals: write is null")
        raise _outside(node)

    def beside(
        self, column: tree.Column, literals: Sequence[tree.Literal], nodes: Iterable[Node]
    ) -> tuple[tree.Literal, ...]:
        """What a column is compared with, of its kind where there is such a value.

        All are reals if one of them is. What does not fit stays as it is: the tree refuses it.
        """
        bare = (node[1] if node[0] == "-" else node for node in nodes)
        numerals = [node[1] for node in bare if node[0] == "number"]
        self.schema.require_clear(column.name, numerals, "where")
        fitted = [literal.beside(column.kind) for literal in literals]
        if any(literal.kind is Kind.REAL for literal in fitted):
            fitted = [literal.beside(Kind.REAL) for literal in fitted]
        return tuple(fitted)
