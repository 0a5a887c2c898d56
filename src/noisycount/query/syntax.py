"""Syntax of the predicate language: tokens to nodes, whatever the kinds of the columns. `language` types the nodes."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias

from noisycount.errors import PredicateError
from noisycount.query.person_values import Function
from noisycount.query.readings import FUNCTIONS
from noisycount.query.tokens import COMMA, OF_CONDITIONS, OPENING, VALUES, Token, TokenKind, tokens

Node: TypeAlias = tuple[Any, ...]  # first the keyword, operator or kind of value, then its parts
EQUALITIES, ORDERS = ("=", "<>"), ("<", "<=", ">", ">=")
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
    return _Grammar(tokens(text)).parse_all()


class _Grammar:
    """Parser of tokens that ignores the kinds of columns. Parentheses leave no node of their own."""

    def __init__(self, text_tokens: Sequence[Token]) -> None:
        self.tokens, self.at = text_tokens, 0

    def parse_all(self) -> Node:
        """Return the node of all tokens."""
        node = self.disjunction()
        if self.at < len(self.tokens):
            self.refuse()
        return node

    def refuse(self) -> NoReturn:
        raise PredicateError(
            "where is not a complete predicate: write comparisons such as age >= 30, "
            f"joined by and, or, not{_decimal_point_advice(self.tokens)}"
        )

    def take(self, *words: str) -> str | None:
        """Return the next token and advance if it is one of these keywords or symbols; else return None."""
        token = self.tokens[self.at] if self.at < len(self.tokens) else None
        if token is None or token.kind in VALUES or token.text not in words:
            return None
        self.at += 1
        return token.text

    def require_word(self, word: str) -> None:
        if self.take(word) is None:
            self.refuse()

    def disjunction(self) -> Node:
        return self.joined("or", lambda: self.joined("and", self.equality))

    def joined(self, word: str, operand: Callable[[], Node]) -> Node:
        """Return one node for a sequence of operands with the same connective."""
        nodes = [operand()]
        while self.take(word):
            nodes.append(operand())
        if len(nodes) == 1:
            return nodes[0]
        return (word, *(part for node in nodes for part in (node[1:] if node[0] == word else [node])))

    def equality(self) -> Node:
        return self.chain(EQUALITIES, lambda: self.chain(ORDERS, self.test))

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
        items = [self.disjunction()]
        while self.take(","):
            items.append(self.disjunction())
        self.require_word(")")
        return items

    def difference(self) -> Node:
        node = self.operand()
        while symbol := self.take("-", "+"):
            node = (symbol, node, self.duration() or self.operand())
        return node

    def duration(self) -> Node | None:
        """Return the node of a duration such as `30 days`, if one follows."""
        if self.at == len(self.tokens) or self.tokens[self.at].kind is not TokenKind.DURATION:
            return None
        self.at += 1
        amount, unit = self.tokens[self.at - 1].text.split(" ")
        return ("duration", amount, unit.removesuffix("s"))

    def operand(self) -> Node:
        if self.take("not"):
            return ("not", self.equality())
        if self.take("-"):
            return ("-", self.operand())
        if self.take("("):
            inside = self.parse_list()
            return inside[0] if len(inside) == 1 else ("tuple",)
        if constant := self.take("true", "false", "null"):
            return (constant,)
        if self.at < len(self.tokens) and self.tokens[self.at].kind is TokenKind.FUNCTION:
            self.at += 1
            name = self.tokens[self.at - 1].text
            return ("function", name, self.argument()) if name in FUNCTIONS else self.person_value(name)
        if self.at == len(self.tokens) or self.tokens[self.at].kind not in VALUES:
            self.refuse()
        token = self.tokens[self.at]
        self.at += 1
        return (token.kind.value, token.text)

    def person_value(self, name: str) -> Node:
        """Return the node of a value of a person: its function, column, order and condition of the rows."""
        self.require_word("(")
        is_distinct = name == Function.COUNT.value and self.take("distinct") is not None
        column = order = condition = None
        if name in OF_CONDITIONS and not is_distinct:
            condition = self.disjunction()
        else:
            column = self.operand()
            order = self.operand() if self.take("by") else None
            condition = self.disjunction() if self.take("where") else None
        self.require_word(")")
        return ("value", name, column, order, condition)

    def argument(self) -> Node:
        """Return the only operand in parentheses after the name of a function."""
        self.require_word("(")
        node = self.operand()
        self.require_word(")")
        return node


def _decimal_point_advice(text_tokens: Sequence[Token]) -> str:
    """Return advice if the text has a number with a decimal comma; else an empty text."""
    runs = zip(text_tokens, text_tokens[1:], text_tokens[2:], text_tokens[3:], strict=False)
    for before, whole, comma, decimals in runs:
        numbers = whole.kind is decimals.kind is TokenKind.NUMBER
        if numbers and comma == COMMA and before.kind not in VALUES and before not in (OPENING, COMMA):
            return f", and decimals with a point: {whole.text.replace('.', '')}.{decimals.text}"
    return ""


def misplaced_node_error(node: Node) -> PredicateError:
    """Return the error about a node in a place where it has no meaning."""
    dates = ""
    match node:
        case ("-" | "+", *parts):
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
