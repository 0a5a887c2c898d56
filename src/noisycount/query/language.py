"""Parser of the predicate language. It turns the text of an untrusted analyst into a typed tree, or raises an error.

`_Grammar` checks the syntax, and `_TypedSyntax` the columns and their kinds.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from reprlib import repr as shortened
from typing import Any, NoReturn, TypeAlias

from noisycount.display.texts import printable
from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.query import predicate as tree
from noisycount.query.readings import FUNCTIONS
from noisycount.query.schema import INTEGERS, Kind, Schema
from noisycount.query.tokens import COMMA, OPENING, VALUES, Token, TokenKind, require_bytes, tokens

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def parse(text: str, schema: Mapping[str, Kind]) -> tree.Predicate:
    """Return the typed tree of a predicate about columns of a schema.

    The language: `and`, `or`, `not`, parentheses; `= <> != < <= > >=` between a column and a literal or another column;
    `in`, `between`, `like`, `is null` and their negations; a boolean column; `true` and `false`; `number()` and
    `date()` of a column of texts. Names match exactly, else by the only name that differs in case. A day beside a
    timestamp represents all of its moments.

    Raises:
        PredicateError: The text is not a predicate of the language, or does not suit the schema.

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
    require_bytes(tree.canonical_text(predicate))
    return predicate


Node: TypeAlias = tuple[Any, ...]  # first the keyword, operator or kind of value, then its parts
_SHOWN_DIGITS = 40
_LAST_MOMENT = datetime.max  # noqa: DTZ901 - columns have no zone
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
    """Parser of tokens that ignores the kinds of columns. Parentheses leave no node of their own."""

    def __init__(self, found: Sequence[Token]) -> None:
        self.found, self.at = found, 0

    def whole(self) -> Node:
        """Return the node of all tokens."""
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
        """Return the next token and advance if it is one of these keywords or symbols; else return None."""
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
        """Return one node for a sequence of operands with the same connective."""
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
        """Return the nodes between commas, up to the closing parenthesis."""
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
        if self.at < len(self.found) and self.found[self.at].kind is TokenKind.FUNCTION:
            self.at += 1
            return ("function", self.found[self.at - 1].text, self.argument())
        if self.at == len(self.found) or self.found[self.at].kind not in VALUES:
            self.refuse()
        token = self.found[self.at]
        self.at += 1
        return (token.kind.value, token.text)

    def argument(self) -> Node:
        """Return the only operand in parentheses after the name of a function."""
        self.need("(")
        node = self.operand()
        self.need(")")
        return node


def _about_decimals(found: Sequence[Token]) -> str:
    """Return advice if the text has a number with a decimal comma; else an empty text."""
    for before, whole, comma, decimals in zip(found, found[1:], found[2:], found[3:], strict=False):
        numbers = whole.kind is decimals.kind is TokenKind.NUMBER
        if numbers and comma == COMMA and before.kind not in VALUES and before not in (OPENING, COMMA):
            return f", and decimals with a point: {whole.text.replace('.', '')}.{decimals.text}"
    return ""


def _outside(node: Node) -> PredicateError:
    """Return the error about a node in a place where it has no meaning."""
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


def _parsed(function: str, column: tree.Column) -> tree.Column:
    """Return the column of the values that a function reads in texts; a column of such values is unchanged.

    Raises:
        PredicateError: The function does not apply to the kind of the column.
    """
    kind = FUNCTIONS[function]
    if column.kind is Kind.TEXT:
        return tree.Column(column.name, kind, is_parsed=True)
    if column.kind is kind or (column.kind.is_number and kind.is_number):
        return column
    remedy = f"compare the column itself with {column.kind.example}"
    if column.kind is Kind.TIMESTAMP and kind is Kind.DATE:
        remedy = "compare the column itself: a day such as '2026-01-31' stands for all of its moments"
    raise PredicateError(f"where has {function}() of {column}, and it reads texts: {remedy}")


def _joined(connective: type[tree.And] | type[tree.Or], predicates: Iterable[tree.Predicate]) -> tree.Predicate:
    """Join predicates by a connective. Operands that are joined by the same connective replace their node."""
    operands = [part for each in predicates for part in (each.operands if isinstance(each, connective) else (each,))]
    return connective(tuple(operands)) if len(operands) > 1 else operands[0]


def _is_day_of(column: tree.Column, literal: tree.Column | tree.Literal) -> bool:
    """Return True if a literal is a day beside a column of timestamps, where it represents all of its moments."""
    return column.kind is Kind.TIMESTAMP and isinstance(literal, tree.Literal) and literal.kind is Kind.DATE


def _midnight(day: Any) -> tree.Literal:  # noqa: ANN401 - a date
    """Return the first moment of a day."""
    return tree.Literal(Kind.TIMESTAMP, datetime.combine(day, time.min))


def _compared_with_day(column: tree.Column, operator: tree.Operator, day: Any) -> tree.Predicate:  # noqa: ANN401 - a date
    """Return the comparison of timestamps with a whole day, by the first moment of the day and of the next day.

    The tree contains only moments, so that its text in a ledger never changes its meaning.
    """
    begins = tree.Comparison(column, tree.Operator.AT_LEAST, _midnight(day))
    if day == date.max:
        ends = tree.Comparison(column, tree.Operator.AT_MOST, tree.Literal(Kind.TIMESTAMP, _LAST_MOMENT))
    else:
        ends = tree.Comparison(column, tree.Operator.LESS, _midnight(day + timedelta(days=1)))
    match operator:
        case tree.Operator.EQUAL:
            return tree.And((begins, ends))
        case tree.Operator.NOT_EQUAL:
            return tree.Not(tree.And((begins, ends)))
        case tree.Operator.AT_LEAST:
            return begins
        case tree.Operator.AT_MOST:
            return ends
    limit = begins if operator is tree.Operator.LESS else ends
    return tree.Comparison(column, limit.operator.negated, limit.right)


def _range(column: tree.Column, low: tree.Literal, high: tree.Literal) -> tree.Predicate:
    """Return the predicate of a column between two literals. A day includes all of its moments."""
    moments = (_midnight(end.value) if _is_day_of(column, end) else end for end in (low, high))
    whole = tree.Range(column, *moments)
    if not _is_day_of(column, high) or whole.low.value > whole.high.value:  # type: ignore[operator]  # of one kind
        return whole  # a range with the greater end first is true of no record
    begins = tree.Comparison(column, tree.Operator.AT_LEAST, whole.low)
    return _joined(tree.And, [begins, _compared_with_day(column, tree.Operator.AT_MOST, high.value)])


def _require_real(column: tree.Column, numerals: Iterable[str]) -> None:
    """Raise PredicateError for a number that no real represents, since other numbers would have the same real."""
    for numeral in numerals:
        nearest = float(numeral)
        if nearest and Decimal(numeral) not in {Decimal(nearest), Decimal(repr(nearest))}:
            written = repr(nearest) if column.kind is Kind.INTEGER else repr(nearest).removesuffix(".0")
            remedy = f"write {written} for what is read as it"
            if column.kind is Kind.INTEGER and int(nearest) in INTEGERS:
                remedy = "write all numbers beside it without a point"
            shown = numeral[:_SHOWN_DIGITS]
            raise PredicateError(
                f"where compares {column} with {shown}, of which a real keeps about 15 digits: {remedy}"
            )


def _membership(column: tree.Column, choices: Sequence[tree.Literal]) -> tree.Predicate:
    """Return the predicate of a column equal to one of several literals. A day includes all of its moments."""
    days = [choice for choice in choices if _is_day_of(column, choice)]
    moments = tuple(choice for choice in choices if choice not in days)
    listed = [tree.Membership(column, moments)] if moments or not days else []
    return _joined(tree.Or, [*listed, *(_compared_with_day(column, tree.Operator.EQUAL, day.value) for day in days)])


@frozen
class _TypedSyntax:
    """Builder of typed trees from the syntax, for the columns of a schema."""

    schema: Schema

    def predicate(self, node: Node) -> tree.Predicate:
        match node:
            case ("and" | "or" as word, *operands):
                return _joined(tree.And if word == "and" else tree.Or, map(self.predicate, operands))
            case ("not", operand):
                return tree.Not(self.predicate(operand))
            case ("true" | "false" as word,):
                return tree.Constant(word == "true")
            case ("name" | "function", *_):
                return tree.Flag(self.column(node))
        return self.test(node)

    def test(self, node: Node) -> tree.Predicate:
        match node:
            case ("in", tested, *choices):
                listed = [self.literal(choice) for choice in choices]
                column = self.column(tested)
                return _membership(column, self.beside(column, listed, choices))
            case ("between", tested, *ends):
                column = self.column(tested)
                low, high = self.beside(column, [self.literal(end) for end in ends], ends)
                return _range(column, low, high)
            case ("like", tested, text):
                column, pattern = self.column(tested), self.literal(text)
                if isinstance(pattern.value, str):
                    return tree.Pattern(column, self.normal_pattern(column.name, pattern.value))
                raise PredicateError(f"where has {pattern} after like: write a text such as 'a%'")
            case ("is", tested, ("null",)):
                return tree.Missing(self.column(tested))
            case ("is", *_):
                raise PredicateError("where has is without null: write is null, is not null, or =")
            case (word, left, right) if word in _EQUALITIES + _ORDERS:
                return self.comparison(left, tree.Operator(word), right)
        raise _outside(node)

    def comparison(self, one: Node, operator: tree.Operator, other: Node) -> tree.Predicate:
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
            if _is_day_of(left, right):
                return _compared_with_day(left, operator, right.value)
        return tree.Comparison(left, operator, right)

    def operand(self, node: Node, beside: Kind = Kind.TEXT) -> tree.Column | tree.Literal:
        return self.column(node, beside) if node[0] in {"name", "function"} else self.literal(node)

    def column(self, node: Node, beside: Kind = Kind.TEXT) -> tree.Column:
        match node:
            case ("name", name):
                return tree.Column.named(name, self.schema, beside)
            case ("function", name, ("name" | "function", *_) as argument):
                return _parsed(name, self.column(argument))
            case ("function", name, _):
                remedy = "write a date alone, in single quotes" if name == "date" else "write a number alone"
                raise PredicateError(f"where has {name}() of what is no column: write {name}(code), and {remedy}")
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
            case ("name" | "function", *_):
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
        """Return the literals as values of the kind of a column, if they have such values; texts in their normal form.

        If one literal is a real, all become reals. Other literals stay unchanged, and the tree refuses them.
        """
        bare = (node[1] if node[0] == "-" else node for node in nodes)
        numerals = [node[1] for node in bare if node[0] == "number"]
        self.schema.require_clear(column.name, numerals, "where")
        if column.kind is Kind.TEXT:
            literals = [self.normal(column.name, literal) for literal in literals]
        fitted = [literal.beside(column.kind) for literal in literals]
        if any(literal.kind is Kind.REAL for literal in fitted):
            fitted = [literal.beside(Kind.REAL) for literal in fitted]
            if column.kind.is_number:
                _require_real(column, numerals)
        return tuple(fitted)

    def normal(self, name: str, literal: tree.Literal) -> tree.Literal:
        """Return a literal in the normal form that the owner states for the texts of a column."""
        normalise, text = self.schema.normalisers.get(name), literal.value
        return tree.Literal(Kind.TEXT, normalise(text)) if normalise and isinstance(text, str) else literal

    def normal_pattern(self, name: str, pattern: str) -> str:
        """Return a like pattern in which the texts between wildcards are in the normal form of a column.

        Raises:
            PredicateError: No text of the column can have the blanks at an end of the pattern, or the pattern has signs
                whose normal form is a wildcard.
        """
        normalise = self.schema.normalisers.get(name, str)
        pieces = re.split("([%_])", pattern)
        pieces[::2] = [normalise(f"|{piece}|")[1:-1] for piece in pieces[::2]]  # blanks next to a wildcard remain
        normal = "".join(pieces)
        if normalise(normal) != normal or any(re.search("[%_]", piece) for piece in pieces[::2]):
            raise PredicateError(
                f"where has like {shortened(pattern)} for {shortened(name)}, whose texts its owner normalises: no text "
                f"has such blanks or signs, so write like {shortened(normalise(normal))}"
            )
        return normal
