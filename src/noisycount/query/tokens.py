"""Tokens of the text of an untrusted analyst. A text outside the language or above its limits raises PredicateError."""

import re
from collections.abc import Sequence
from enum import Enum
from itertools import pairwise
from reprlib import repr as shortened
from typing import NamedTuple

from noisycount.errors import PredicateError
from noisycount.query import person_values
from noisycount.query import predicate as tree
from noisycount.query.person_values import NONE, Function
from noisycount.query.readings import FUNCTIONS

MAXIMUM_BYTES = 4096  # a page of text, more than anybody writes by hand
MAXIMUM_TOKENS = 500  # limits a query to the comparisons that a scan of a million records makes in seconds
MAXIMUM_DEPTH = 20  # parsing needs at most 600 of Python's 1,000 stack frames
MAXIMUM_PATTERNS = 200  # characters, each of which can cost a step for each character of a text


class TokenKind(Enum):
    """Kind of a token."""

    NAME = "name"
    TEXT = "text"
    NUMBER = "number"
    KEYWORD = "keyword"
    FUNCTION = "function"
    SYMBOL = "symbol"
    DURATION = "duration"


class Token(NamedTuple):
    """A token: a name or a text without its quotes, a number, a keyword, a function, a symbol or a duration."""

    kind: TokenKind
    text: str

    @property
    def is_value(self) -> bool:
        """True if a comparison could have this token as one of its sides."""
        return self.kind in VALUES or self in _CONSTANTS


VALUES = (TokenKind.NAME, TokenKind.TEXT, TokenKind.NUMBER)
NOT, LIKE, IN, BETWEEN, *_CONSTANTS = (
    Token(TokenKind.KEYWORD, word) for word in ("not", "like", "in", "between", "true", "false", "null")
)
_COUNT = Token(TokenKind.FUNCTION, "count")
OPENING, CLOSING, COMMA, MINUS = (Token(TokenKind.SYMBOL, symbol) for symbol in "(),-")

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
            found.append(_clause_keyword(match, found) or _token(match))
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


def _clause_keyword(match: re.Match[str], found: Sequence[Token]) -> Token | None:
    """Return the token of a keyword `where`, `by` or `distinct` inside a function; None for any other token."""
    word = match[0].lower()
    if match.lastgroup != "word" or not found:
        return None
    is_clause = word in _CLAUSES and (found[-1].is_value or found[-1] == CLOSING)
    is_distinct = word == "distinct" and [*found[-2:]] == [_COUNT, OPENING] and _COLUMN.match(match.string, match.end())
    return Token(TokenKind.KEYWORD, word) if is_clause or is_distinct else None


def _token(match: re.Match[str]) -> Token:
    sort, text = match.lastgroup, match[match.lastgroup or 0]
    if sort in ("duration", "function"):
        return Token(TokenKind(sort), " ".join(text.lower().split()))
    if sort == "number":
        return Token(TokenKind.NUMBER, text)
    if sort == "word" and text.lower() in tree.KEYWORDS:
        return Token(TokenKind.KEYWORD, text.lower())
    if sort == "qualified":
        table, _, column = text.partition(".")
        return Token(TokenKind.NAME, f"{table}.{unquoted_name(column)}")
    if sort in ("word", "name", "text"):
        quote = "'" if sort == "text" else '"'
        return Token(TokenKind.TEXT if sort == "text" else TokenKind.NAME, text.replace(2 * quote, quote))
    return Token(TokenKind.SYMBOL, "<>" if text == "!=" else text)


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
        if first.kind is TokenKind.NAME and second == OPENING:
            fault = "calls {0}: leave functions and casts out, compare the column itself"
        elif first.kind is TokenKind.NAME and second.kind is TokenKind.TEXT:
            fault = "has {0} before the text {1}: write the text alone, or an operator between them"
        elif first.kind is second.kind is TokenKind.NUMBER:
            fault = "has {1} after {0}: write one number, with one point, or a date in single quotes: '2026-01-31'"
        elif second.kind is TokenKind.DURATION and not (first == MINUS or first.text == "+"):
            fault = f"has {{1}} after {{0}}: write a date or time before it, as in day + {second.text}"
        elif first == IN and second != OPENING:
            fault = "has {1} after in: put the list in parentheses, as in ('yes', 'no')"
        elif first.kind is TokenKind.TEXT and second.kind in (TokenKind.NAME, TokenKind.NUMBER):
            fault = (
                "has {1} after the text {0}: write and or or between them, or '' for a quote within a text: 'O''Brien'"
            )
        elif (first.is_value or first == CLOSING) and second.is_value:
            fault = f"has {{1}} after {{0}}: {_OUTSIDE}, with an operator between values"
        if fault is not None:
            raise PredicateError(f"where {fault.format(shortened(first.text), shortened(second.text))}")


def _require_commas_and_negations(found: Sequence[Token]) -> None:
    """Raise PredicateError if a comma separates nothing, or if a `not` follows a column."""
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
