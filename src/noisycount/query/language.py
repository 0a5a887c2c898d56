"""Parser of the predicate language. It turns the text of an untrusted analyst into a typed tree, or raises an error.

`syntax` checks the grammar; `_TypedSyntax` the columns and their kinds.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from reprlib import repr as shortened
from typing import Any

from noisycount.display.texts import replace_unprintable
from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.query import predicate as tree
from noisycount.query.close_names import did_you_mean
from noisycount.query.person_values import (
    EVERY_ROW,
    NONE,
    Function,
    PersonValue,
    Shifted,
    require_one_level,
    with_rows_of_tables,
)
from noisycount.query.predicate import column_of, qualified_name, typed_name
from noisycount.query.readings import FUNCTIONS
from noisycount.query.schema import INTEGERS, Kind, Schema, schema_of
from noisycount.query.syntax import (
    EQUALITIES,
    OF_CONDITIONS,
    ORDERS,
    Node,
    misplaced_node_error,
    require_bytes,
    syntax_of,
)

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_SHOWN_DIGITS = 40  # of a number in a message
_LONGEST_TEXT = 30  # characters of a text that an error repeats
_LAST_MOMENT = datetime.max  # noqa: DTZ901 - columns have no zone


def parse(text: str, schema: Mapping[str, Kind]) -> tree.Predicate:
    """Return the typed tree of a predicate about columns of a schema.

    The language: `and`, `or`, `not`, parentheses; `= <> != < <= > >=` between a column and a literal or another column;
    `in`, `between`, `like`, `is null` and their negations; a boolean column; `true` and `false`; `number()` and
    `date()` of a column of texts. Names match exactly, else by the only name that differs in case. A day beside a
    timestamp represents all of its moments.

    If the records name persons, values of a person stand where a column may stand: `any(P)`, `none(P)`, `every(P)`,
    `count(P)`, `count(distinct column where P)`, `min(column where P)`, `max`, `sum`, `first(day where P)`,
    `first(column by day where P)` and `last`, where P is a condition of one row, and `where P` may be left out. Dates
    and times move by durations such as `+ 30 days`.

    Raises:
        PredicateError: The text is not a predicate of the language, or does not suit the schema.

    Example:
        >>> tree.canonical_text(parse("(Age>=30) AND NOT health='poor'",
        ...                      {"age": Kind.INTEGER, "health": Kind.TEXT}))
        "age >= 30 and not health = 'poor'"
    """
    known = schema_of(schema)
    try:
        predicate = _TypedSyntax(known).predicate(syntax_of(text))
        if known.tables:
            single_tables = {name for name, traits in known.tables.items() if traits.is_one_row_a_unit}
            predicate = with_rows_of_tables(predicate, single_tables)
        require_one_level(predicate)
    except PredicateError:
        unquoted = "" if known.tables else _QUOTED.sub("", text)
        odd = (name for name in known if name in unquoted and not tree.SIMPLE_NAME.fullmatch(name))
        if name := next((name for name in odd if re.search(r"[^\W\d]", name)), None):
            fault = f"where names {name} without double quotes: write {tree.quoted_name(name)}"
            raise PredicateError(replace_unprintable(fault)) from None
        raise
    require_bytes(tree.canonical_text(predicate))
    return predicate


def parse_value(text: str, schema: Mapping[str, Kind]) -> PersonValue:
    """Return a value of a person, such as `first(day where lab = 'pos')`, from its text.

    Raises:
        PredicateError: The text is no value of a person, or does not suit the schema.
    """
    known = schema_of(schema)
    node = syntax_of(text)
    column = _TypedSyntax(known).column(node) if node[0] == "value" and node[1] != NONE else None
    if not isinstance(column, PersonValue):
        raise PredicateError(f"by has {tree.short_text(text)}, which is no value of a person: write count(lab = 'pos')")
    require_one_level(tree.Missing(column))
    return column


def _find_column(name: str, schema: Schema, beside: Kind, table: str | None = None) -> tree.Column:
    """Return the column of a name, matched exactly or by the only name that differs in case.

    Args:
        name: The name in the query.
        schema: The schema.
        beside: The kind of the column on the other side of the comparison, for the advice.
        table: The table of a column in the same function, for the advice.

    Raises:
        PredicateError: No column or several columns match, or queries may not use the column.
    """
    names = [*schema, *schema.others]
    same = [name] if name in names else [n for n in names if n.casefold() == name.casefold()]
    if len(same) > 1:
        either = " or ".join(typed_name(schema, each) for each in same)
        raise PredicateError(f"where names {shortened(name)}, which could be {either}: write one of them exactly")
    if same and same[0] in schema:
        return column_of(schema, same[0])
    other = None
    if same:
        name = same[0]
        fault = f"whose type {schema.others[name]} no question can use"
        if schema.others[name] == "time_ns":
            fault += " until its owner stores it in microseconds or as texts such as '08:30:00'"
    elif schema.unit is not None and name.casefold() == schema.unit.casefold():
        fault = "which is the unit that is counted, and no question may use it"
    elif of_tables := [
        each for each in schema if schema.tables and each.partition(".")[2].casefold() == name.casefold()
    ]:
        nearest = [each for each in of_tables if each.partition(".")[0] == table] or of_tables
        written = " or ".join(replace_unprintable(qualified_name(each)) for each in nearest)
        raise PredicateError(f"where names {shortened(name)} without its table: write {written}")
    else:
        fault, other = "which is no column that questions may use", _no_column_advice(name, beside)
    remedy = did_you_mean(name, [*schema], partial(typed_name, schema), other)
    if "." in name and not schema.tables and not remedy.startswith("did you mean"):
        remedy = "write the bare name of the column, in double quotes if it has a dot"
    raise PredicateError(f"where names {shortened(name)}, {fault}: {remedy}")


def _no_column_advice(name: str, beside: Kind) -> str:
    """Return advice for a name that is no column, by the kind of the other side of the comparison."""
    if beside is not Kind.TEXT:
        return f"{beside.example} beside a {beside.value} column"
    text = f": {replace_unprintable(tree.quoted_text(name))}" if len(name) <= _LONGEST_TEXT else ""
    return f"single quotes for a text{text}"


def _parsed_column(function: str, column: tree.Column) -> tree.Column:
    """Return the column that a function such as `number()` makes of a column of texts.

    A column of numbers is unchanged by `number()`, and one of days by `date()`.

    Raises:
        PredicateError: The function does not apply to the kind of the column.
    """
    kind = FUNCTIONS[function]
    if column.kind is Kind.TEXT:
        return replace(column, kind=kind, is_parsed=True)
    if column.kind is kind or (column.kind.is_number and kind.is_number):
        return column
    remedy = f"compare the column itself with {column.kind.example}"
    if column.kind is Kind.TIMESTAMP and kind is Kind.DATE:
        remedy = "compare the column itself: a day such as '2026-01-31' stands for all of its moments"
    raise PredicateError(f"where has {function}() of {column}, and it reads texts: {remedy}")


def _is_day_of(column: tree.Column, literal: tree.Column | tree.Literal) -> bool:
    """Return True if a literal is a day beside a column of timestamps, where it represents all of its moments."""
    return column.kind is Kind.TIMESTAMP and isinstance(literal, tree.Literal) and literal.kind is Kind.DATE


def _first_moment(day: Any) -> tree.Literal:  # noqa: ANN401 - a date
    """Return the first moment of a day."""
    return tree.Literal(Kind.TIMESTAMP, datetime.combine(day, time.min))


def _compared_with_day(column: tree.Column, operator: tree.Operator, day: Any) -> tree.Predicate:  # noqa: ANN401 - a date
    """Return the comparison of timestamps with a whole day, by the first moment of the day and of the next day.

    The tree contains only moments, so that its text in a ledger never changes its meaning.
    """
    begins = tree.Comparison(column, tree.Operator.AT_LEAST, _first_moment(day))
    if day == date.max:
        ends = tree.Comparison(column, tree.Operator.AT_MOST, tree.Literal(Kind.TIMESTAMP, _LAST_MOMENT))
    else:
        ends = tree.Comparison(column, tree.Operator.LESS, _first_moment(day + timedelta(days=1)))
    if operator in (tree.Operator.EQUAL, tree.Operator.NOT_EQUAL):
        inside = tree.And((begins, ends))
        return inside if operator is tree.Operator.EQUAL else tree.Not(inside)
    limit = begins if operator in (tree.Operator.AT_LEAST, tree.Operator.LESS) else ends
    if operator in (tree.Operator.AT_LEAST, tree.Operator.AT_MOST):
        return limit
    return tree.Comparison(column, limit.operator.negated, limit.right)


def _range_predicate(column: tree.Column, low: tree.Literal, high: tree.Literal) -> tree.Predicate:
    """Return the predicate of a column between two literals. A day includes all of its moments."""
    moments = (_first_moment(end.value) if _is_day_of(column, end) else end for end in (low, high))
    whole = tree.Range(column, *moments)
    if not _is_day_of(column, high) or whole.low.value > whole.high.value:  # type: ignore[operator]  # of one kind
        return whole  # a range with the greater end first is true of no record
    begins = tree.Comparison(column, tree.Operator.AT_LEAST, whole.low)
    return tree.joined(tree.And, [begins, _compared_with_day(column, tree.Operator.AT_MOST, high.value)])


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


def _membership_predicate(column: tree.Column, choices: Sequence[tree.Literal]) -> tree.Predicate:
    """Return the predicate of a column equal to one of several literals. A day includes all of its moments."""
    days = [choice for choice in choices if _is_day_of(column, choice)]
    moments = tuple(choice for choice in choices if choice not in days)
    listed = [tree.Membership(column, moments)] if moments or not days else []
    return tree.joined(
        tree.Or, [*listed, *(_compared_with_day(column, tree.Operator.EQUAL, day.value) for day in days)]
    )


def _named_tables(node: Node, schema: Schema) -> Iterator[str]:
    """Yield the tables that a condition names outside values of a person."""
    match node:
        case ("name", name) if name in schema.tables:
            yield schema.tables[name].rows
        case ("and" | "or" | "not", *operands):
            for operand in operands:
                yield from _named_tables(operand, schema)


_COMPUTED = ("value", "moved")  # nodes of values of a person, and of dates that are moved by a duration


@frozen
class _TypedSyntax:
    """Builder of typed trees from the syntax, for the columns of a schema."""

    schema: Schema
    is_in_rows: bool = False  # True inside a value of a person, where the name of a table is true of all of its rows
    table: str | None = None  # table of the column of that value

    def predicate(self, node: Node) -> tree.Predicate:
        match node:
            case ("and" | "or" as word, *operands):
                return tree.joined(tree.And if word == "and" else tree.Or, map(self.predicate, operands))
            case ("not", operand):
                return tree.Not(self.predicate(operand))
            case ("true" | "false" as word,):
                return tree.Constant(word == "true")
            case ("name" | "function" | "value", name, *_):
                return self.flag(node, name)
        return self.test(node)

    def flag(self, node: Node, name: str) -> tree.Predicate:
        """Return the predicate of a boolean column or value; the name of a table is true in all of its rows."""
        if node[0] == "name" and name in self.schema.tables:
            table = self.schema.tables[name].rows
            return EVERY_ROW if self.is_in_rows else tree.Flag(PersonValue.from_function(Function.ANY, table=table))
        flag = tree.Flag(self.column(node))
        return tree.Not(flag) if node[0] == "value" and name == NONE else flag

    def test(self, node: Node) -> tree.Predicate:
        match node:
            case ("in", tested, *choices):
                listed = [self.literal(choice) for choice in choices]
                column = self.column(tested)
                return _membership_predicate(column, self.convert_literals(column, listed, choices))
            case ("between", tested, *ends) if any(end[0] in _COMPUTED for end in ends):
                bounds = zip((">=", "<="), ends, strict=True)
                return tree.joined(
                    tree.And, [self.comparison(tested, tree.Operator(word), end) for word, end in bounds]
                )
            case ("between", tested, *ends):
                column = self.column(tested)
                low, high = self.convert_literals(column, [self.literal(end) for end in ends], ends)
                return _range_predicate(column, low, high)
            case ("like", tested, text):
                column, pattern = self.column(tested), self.literal(text)
                if isinstance(pattern.value, str):
                    return tree.Pattern(column, self.normalise_pattern(column.origin.name, pattern.value))
                raise PredicateError(f"where has {pattern} after like: write a text such as 'a%'")
            case ("is", tested, ("null",)):
                return tree.Missing(self.column(tested))
            case ("is", *_):
                raise PredicateError("where has is without null: write is null, is not null, or =")
            case (word, left, right) if word in EQUALITIES + ORDERS:
                return self.comparison(left, tree.Operator(word), right)
        raise misplaced_node_error(node)

    def comparison(self, one: Node, operator: tree.Operator, other: Node) -> tree.Predicate:
        left = self.operand(one)
        right = self.operand(other, left.kind)
        if isinstance(left, tree.Literal):
            left, operator, right = right, operator.mirrored, left
        if isinstance(left, tree.Literal):
            remedy = "put a column on one side"
            for kind, *parts in (other, one):
                if kind == "text" and parts[0] in self.schema:
                    remedy = f"write the column as {typed_name(self.schema, parts[0])}, not in single quotes"
            raise PredicateError(f"where compares two literals: {remedy}")
        if isinstance(right, tree.Literal):
            (right,) = self.convert_literals(left, [right], (one, other))
            if _is_day_of(left, right):
                return _compared_with_day(left, operator, right.value)
        return tree.Comparison(left, operator, right)

    def operand(self, node: Node, beside: Kind = Kind.TEXT) -> tree.Column | tree.Literal:
        is_column = node[0] in ("name", "function", *_COMPUTED)
        return self.column(node, beside) if is_column else self.literal(node)

    def column(self, node: Node, beside: Kind = Kind.TEXT) -> tree.Column:
        match node:
            case ("name", name):
                return _find_column(name, self.schema, beside, self.table)
            case ("function", name, ("name" | "function", *_) as argument):
                return _parsed_column(name, self.column(argument))
            case ("value", name, column, order, condition):
                return self.person_value(name, column, order, condition)
            case ("moved", base, amount, unit):
                return Shifted.from_duration(self.column(base), amount, unit)
            case ("function", name, _):
                remedy = "write a date alone, in single quotes" if name == "date" else "write a number alone"
                raise PredicateError(
                    f"where has {name}() of a value that is not a column: write {name}(code), and {remedy}"
                )
            case ("number" | "text", _):
                raise PredicateError("where has a literal before in, between, like or is: use a column")
        raise misplaced_node_error(node)

    def person_value(self, name: str, column: Node | None, order: Node | None, condition: Node | None) -> PersonValue:
        """Return a value of a person. Its column and its order are columns of the records.

        Raises:
            PredicateError: The records name no persons, or the function does not apply to its column.
        """
        if self.schema.unit is None:
            raise PredicateError(
                f"where has {name}(), which is about all rows of a person, and the data set counts rows: ask about one "
                "row, or let its owner name the column of persons as unit"
            )
        value_column = None if column is None else self.column(column)
        table = None if value_column is None else value_column.origin.name.partition(".")[0]
        inside = replace(self, is_in_rows=True, table=table)
        order_column = None if order is None else inside.column(order)
        for used in (value_column, order_column):
            if used is not None and next(used.stored_columns) != used:
                raise PredicateError(f"where has {name}() of {used}: name a column of the records")
        where = EVERY_ROW if condition is None else inside.predicate(condition)
        function = Function.ANY if name == NONE else Function(name)
        tables = [] if condition is None else [*dict.fromkeys(_named_tables(condition, self.schema))]
        value = PersonValue.from_function(function, where, value_column, order_column, next(iter(tables), None))
        if any(each != value.table for each in tables) or (self.schema.tables and value.table is None):
            first = tree.quoted_name(next(iter(self.schema.tables)))
            raise PredicateError(
                f"where has {name}() of rows of {' and '.join(tables) or 'no table'}: name one table, as in "
                f"{name if name in OF_CONDITIONS else 'count'}({first})"
            )
        return value

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
            case ("name" | "function" | "value", *_):
                raise PredicateError(
                    "where has a column after in, between or like: write literals there, "
                    "and compare columns by = <> < <= > >="
                )
            case ("null",):
                raise PredicateError("where compares with null, which nothing equals: write is null")
        raise misplaced_node_error(node)

    def convert_literals(
        self, column: tree.Column, literals: Sequence[tree.Literal], nodes: Iterable[Node]
    ) -> tuple[tree.Literal, ...]:
        """Convert literals to the kind of a column where possible, and texts to their normal form.

        If one literal is a real, all become reals. Other literals stay unchanged, and the tree refuses them.
        """
        bare = (node[1] if node[0] == "-" else node for node in nodes)
        numerals = [node[1] for node in bare if node[0] == "number"]
        self.schema.require_clear_decimal(column.origin.name, numerals, "where")
        normalise = self.schema.normalisers.get(column.origin.name)
        if column.kind is Kind.TEXT and normalise is not None:
            literals = [
                tree.Literal(Kind.TEXT, normalise(literal.value)) if isinstance(literal.value, str) else literal
                for literal in literals
            ]
        fitted = [literal.as_kind(column.kind) for literal in literals]
        if any(literal.kind is Kind.REAL for literal in fitted):
            fitted = [literal.as_kind(Kind.REAL) for literal in fitted]
            if column.kind.is_number:
                _require_real(column, numerals)
        return tuple(fitted)

    def normalise_pattern(self, name: str, pattern: str) -> str:
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
