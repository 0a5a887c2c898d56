"""Syntax of the predicate language: the text of an untrusted analyst to tokens, and tokens to nodes.

A text outside the language or above its limits raises PredicateError. `language` types the nodes by the kinds of the
columns.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from reprlib import repr as shortened
from typing import Any, NamedTuple, NoReturn, TypeAlias

from noisycount.errors import PredicateError
from noisycount.query import person_values
from noisycount.query import predicate as tree
from noisycount.query.person_values import NONE, Function
from noisycount.query.readings import FUNCTIONS

MAXIMUM_BYTES = 4096  # a page of text, more than anybody writes by hand
MAXIMUM_TOKENS = 500  # limits a query to the comparisons that a scan of a million records makes in seconds
MAXIMUM_DEPTH = 20  # parsing needs at most 600 of Python's 1,000 stack frames
MAXIMUM_PATTERNS = 200  # characters, each of which can cost a step for each character of a text

VALUES = ("name", "text", "number")  # kinds of tokens that are columns and literals


class Token(NamedTuple):
    """A token: a name or a text without its quotes, a number, a keyword, a function, a symbol or a duration."""

    kind: str  # "name", "text", "number", "keyword", "function", "symbol" or "duration"; "end" behind the last token
    text: str

    @property
    def is_value(self) -> bool:
        """True if a comparison could have this token as one of its sides."""
        return self.kind in VALUES or self in _CONSTANTS


NOT, LIKE, IN, BETWEEN, *_CONSTANTS = (
    Token("keyword", word) for word in ("not", "like", "in", "between", "true", "false", "null")
)
_COUNT = Token("function", Function.COUNT.value)
OPENING, CLOSING, COMMA, MINUS = (Token("symbol", symbol) for symbol in "(),-")
_END = Token("end", "")

OF_CONDITIONS = (*(function.value for function in person_values.OF_CONDITIONS), NONE)  # of a condition of rows
OF_PERSONS = (*(function.value for function in Function), NONE)  # functions of all rows of a person
_CLAUSES = ("where", "by")  # words inside functions; elsewhere they are names
_DURATION = r"[0-9]{1,8}\s+(?i:days?|months?|years?)\b"
_PATTERN = re.compile(
    rf"""
      (?P<blank>\s+)
    | (?P<function>(?i:{"|".join((*FUNCTIONS, *OF_PERSONS))})(?=\s*\())
    | (?P<duration>{_DURATION})
    | (?P<qualified>{tree.SIMPLE_NAME.pattern}\.(?:{tree.SIMPLE_NAME.pattern}|"(?:[^"]|"")+"))
    | (?P<word>{tree.SIMPLE_NAME.pattern})
    | "(?P<name>(?:[^"]|"")+)"
    | '(?P<text>(?:[^']|'')*)'
    | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<symbol><>|!=|<=|>=|=(?![=<>])|<|>|\(|\)|,|-(?!-)|\+(?=\s*{_DURATION}))
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

_OUTSIDE = "use columns, literals, comparisons, and, or, not, in, between, like, is null, number(), date()"
# Beginning of the text after `distinct` if it is a keyword, and not the name of a column in a condition.
_COLUMN = re.compile(rf'\s+("|(?!({"|".join(sorted(tree.KEYWORDS))})\b)\w)', re.IGNORECASE)


def tokens(text: str) -> list[Token]:
    """Return the tokens of a predicate: at most 500, nested at most 20 deep.

    All patterns after `like` together have at most 200 characters, since each can cost a step for each character of a
    text. The duration of a query that is slow for some records would reveal whether such records exist.

    Raises:
        PredicateError: The text is not in the language, or exceeds a limit.
    """
    require_bytes(text)
    found: list[Token] = []
    position = 0
    while position < len(text):
        match = _PATTERN.match(text, position)
        if match is None:
            _require_neighbours(found)  # an unexpected token before the character explains more
            if found[-2:] == [_COUNT, OPENING] and text[position] == "*":
                raise PredicateError("where has count(*): write count(true) for the number of all rows of a person")
            raise PredicateError(_unknown_character_message(text[position:]))
        position = match.end()
        if match.lastgroup != "blank":
            found.append(_token(match, found))
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


def require_bytes(text: str) -> None:
    """Raise PredicateError if a text is not valid Unicode or is longer than 4,096 bytes in UTF-8."""
    if not isinstance(text, str):
        raise PredicateError(f"where must be a text, got a {type(text).__name__}")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise PredicateError("where is not valid Unicode: write it in UTF-8") from None
    if size > MAXIMUM_BYTES:
        raise PredicateError(f"where is {size} bytes long, more than {MAXIMUM_BYTES}: ask less at once")


def _token(match: re.Match[str], found: Sequence[Token]) -> Token:
    """Return the token of a match. `where`, `by` and `distinct` are keywords inside a function, elsewhere names."""
    kind, text = match.lastgroup or "", match[match.lastgroup or 0]
    if kind == "word":
        word = text.lower()
        is_clause = word in _CLAUSES and bool(found) and (found[-1].is_value or found[-1] == CLOSING)
        follows_count = word == "distinct" and [*found[-2:]] == [_COUNT, OPENING]
        is_distinct = follows_count and _COLUMN.match(match.string, match.end())
        return Token("keyword", word) if word in tree.KEYWORDS or is_clause or is_distinct else Token("name", text)
    if kind in ("duration", "function"):
        return Token(kind, " ".join(text.lower().split()))
    if kind == "qualified":
        table, _, column = text.partition(".")
        return Token("name", f"{table}.{unquoted_name(column)}")
    if kind in ("name", "text"):
        quote = "'" if kind == "text" else '"'
        return Token(kind, text.replace(2 * quote, quote))
    return Token(kind, "<>" if text == "!=" else text)


def unquoted_name(name: str) -> str:
    """Return a name without its double quotes, if it has some."""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _unknown_character_message(text: str) -> str:
    """Return the error message for a text that begins with a character outside the predicate language."""
    for start, remedy in _REFUSED.items():
        if text.startswith(start):
            return f"where has {start!r} outside the predicate language: {remedy}"
    return f"where has {text[0]!r} outside the predicate language: {_OUTSIDE}"


def _require_depth(found: Sequence[Token]) -> None:
    """Raise PredicateError if parentheses are not balanced, or nested too deeply with nots and minus signs."""
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
    """Raise PredicateError, with the likely intention, if a token cannot follow the one before it."""
    for first, second in pairwise(found):
        fault = None
        if first.kind == "name" and second == OPENING:
            fault = "calls {0}: leave functions and casts out, compare the column itself"
        elif first.kind == "name" and second.kind == "text":
            fault = "has {0} before the text {1}: write the text alone, or an operator between them"
        elif first.kind == second.kind == "number":
            fault = "has {1} after {0}: write one number, with one point, or a date in single quotes: '2026-01-31'"
        elif second.kind == "duration" and first.text not in ("-", "+"):
            fault = f"has {{1}} after {{0}}: write a date or time before it, as in day + {second.text}"
        elif first == IN and second != OPENING:
            fault = "has {1} after in: put the list in parentheses, as in ('yes', 'no')"
        elif first.kind == "text" and second.kind in ("name", "number"):
            fault = (
                "has {1} after the text {0}: write and or or between them, or '' for a quote within a text: 'O''Brien'"
            )
        elif (first.is_value or first == CLOSING) and second.is_value:
            fault = f"has {{1}} after {{0}}: {_OUTSIDE}, with an operator between values"
        if fault is not None:
            raise PredicateError(f"where {fault.format(shortened(first.text), shortened(second.text))}")


def _require_commas_and_negations(found: Sequence[Token]) -> None:
    """Raise PredicateError if a comma separates nothing, or if a `not` follows a column."""
    for before, first, second in zip([_END, *found], found, found[1:], strict=False):
        if (second == COMMA and first in (OPENING, COMMA)) or (first, second) == (COMMA, CLOSING):
            raise PredicateError(
                f"where has {second.text!r} after {first.text!r}: write one comma between two literals, as in (1, 2)"
            )
        follows = before.is_value or before == CLOSING
        if first == NOT and follows and second not in (IN, BETWEEN, LIKE):
            raise PredicateError(
                f"where has not after {shortened(before.text)}: write is not null, or not before the whole comparison"
            )


Node: TypeAlias = tuple[Any, ...]  # first the keyword, operator or kind of value, then its parts
EQUALITIES, ORDERS = ("=", "<>"), ("<", "<=", ">", ">=")
_CONNECTIVES = ("or", "and")
_LEVELS = (*((word,) for word in _CONNECTIVES), EQUALITIES, ORDERS)  # operators, the weakest first
_MISPLACED = {
    "name": "column",
    "number": "literal",
    "text": "literal",
    "tuple": "tuple",
    "true": "boolean",
    "false": "boolean",
    "null": "null",
}


def syntax_of(text: str) -> Node:
    """Return the node of a text. Raise PredicateError if the text has no complete syntax."""
    grammar = _Grammar(tokens(text))
    node = grammar.operators()
    if grammar.take_kind(_END.kind) is None:
        grammar.refuse()
    return node


class _Grammar:
    """Parser of tokens that ignores the kinds of columns. Parentheses leave no node of their own."""

    def __init__(self, text_tokens: Sequence[Token]) -> None:
        self.tokens, self.at = [*text_tokens, _END], 0

    def refuse(self) -> NoReturn:
        raise PredicateError(
            "where is not a complete predicate: write comparisons such as age >= 30, "
            f"joined by and, or, not{_decimal_point_advice(self.tokens)}"
        )

    def take_kind(self, *kinds: str) -> Token | None:
        """Return the next token and advance if it is of one of these kinds; else return None."""
        token = self.tokens[self.at]
        if token.kind not in kinds:
            return None
        self.at += 1
        return token

    def take(self, *words: str) -> str | None:
        """Return the next token and advance if it is one of these keywords or symbols; else return None."""
        token = self.tokens[self.at]
        if token.kind in VALUES or token.text not in words:
            return None
        self.at += 1
        return token.text

    def require_word(self, word: str) -> None:
        if self.take(word) is None:
            self.refuse()

    def operators(self, level: int = 0) -> Node:
        """Return the node of operands that operators join, of one level or of a level that binds more strongly.

        Operands with the same connective are in one node, so that a long list of them is not nested.
        """
        if level == len(_LEVELS):
            return self.test()
        node = self.operators(level + 1)
        while word := self.take(*_LEVELS[level]):
            first = node if word == node[0] and word in _CONNECTIVES else (word, node)
            node = (*first, self.operators(level + 1))
        return node

    def test(self) -> Node:
        node = self.difference()
        while True:
            is_negated = self.take("not")
            word = self.take("in", "between", "like", "is")
            if word == "in":
                self.require_word("(")
                node = ("in", node, *self.parse_list())
            elif word == "between":
                low = self.difference()
                self.require_word("and")
                node = ("between", node, low, self.difference())
            elif word is not None:
                is_negated = self.take("not") if word == "is" else is_negated
                node = (word, node, self.difference())
            elif is_negated:
                self.refuse()
            else:
                return node
            node = ("not", node) if is_negated else node

    def parse_list(self) -> list[Node]:
        """Return the nodes between commas, up to the closing parenthesis."""
        if self.take(")"):
            return []
        items = [self.operators()]
        while self.take(","):
            items.append(self.operators())
        self.require_word(")")
        return items

    def difference(self) -> Node:
        node = self.operand()
        while symbol := self.take("-", "+"):
            if duration := self.take_kind("duration"):
                amount, unit = duration.text.split(" ")
                node = ("moved", node, int(symbol + amount), unit.removesuffix("s"))
            else:
                node = (symbol, node, self.operand())
        return node

    def operand(self) -> Node:
        if self.take("not"):
            return ("not", self.operators(_LEVELS.index(EQUALITIES)))
        if self.take("-"):
            return ("-", self.operand())
        if self.take("("):
            inside = self.parse_list()
            return inside[0] if len(inside) == 1 else ("tuple",)
        if constant := self.take("true", "false", "null"):
            return (constant,)
        if function := self.take_kind("function"):
            return self.call(function.text)
        return self.take_kind(*VALUES) or self.refuse()

    def call(self, name: str) -> Node:
        """Return the node of a function: with its argument, or with the column, order and condition of the rows."""
        self.require_word("(")
        column = order = condition = None
        if name in OF_CONDITIONS and not (name == _COUNT.text and self.take("distinct")):
            condition = self.operators()
        else:
            column = self.operand()
            if name not in FUNCTIONS:
                order = self.operand() if self.take("by") else None
                condition = self.operators() if self.take("where") else None
        self.require_word(")")
        return ("function", name, column) if name in FUNCTIONS else ("value", name, column, order, condition)


def _decimal_point_advice(text_tokens: Sequence[Token]) -> str:
    """Return advice if the text has a number with a decimal comma; else an empty text."""
    runs = zip(text_tokens, text_tokens[1:], text_tokens[2:], text_tokens[3:], strict=False)
    for before, whole, comma, decimals in runs:
        numbers = whole.kind == decimals.kind == "number"
        if numbers and comma == COMMA and before.kind not in VALUES and before not in (OPENING, COMMA):
            return f", and decimals with a point: {whole.text.replace('.', '')}.{decimals.text}"
    return ""


def misplaced_node_error(node: Node) -> PredicateError:
    """Return the error about a node in a place where it has no meaning."""
    dates = ""
    match node:
        case ("-" | "+" | "moved", *parts):
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
