"""Spark's dialect of the counting statements. See `engines/dialect.py` for the parts that all engines share."""

import re
from collections.abc import Sequence
from datetime import date, datetime
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql.pandas.types import from_arrow_schema
from sqlalchemy import BigInteger, Boolean, Date, FromClause, String, bindparam, case, column, func, null, table
from sqlalchemy.sql.compiler import GenericTypeCompiler, IdentifierPreparer
from sqlalchemy.sql.expression import ClauseElement
from sqlalchemy.types import TypeEngine

from noisycount.engines.dialect import OUTSIDE, Dialect, Expression, Lists, TextCompiler, TextDialect, text_of, whole
from noisycount.engines.formats import DIGITS_WITH_ZEROS, SIGNS_FROM, SIGNS_TO, ZEROS_INSIDE
from noisycount.engines.spark.connection import Api, Frame, run_ignoring_errors

_VIEW_NUMBERS = count()
_ARROW = {BigInteger: pa.int64(), Boolean: pa.bool_(), Date: pa.date32(), String: pa.string()}


def java_regex(pattern: str) -> str:
    r"""Return the regular expression of a `like` pattern: `%` is any text, `_` one character.

    Spark's own `like` may take exponential time at a text that matches parts of the pattern in many ways, and one
    record could stop a count. The atomic groups of this expression do not backtrack.

    Example:
        >>> print(java_regex("100%_\\"))
        (?s)\A100.*.\\\z
    """
    first, *rest = ("".join(map(_expression_of_character, part)) for part in pattern.split("%"))
    middle = "".join(f"(?>.*?{part})" for part in rest[:-1])
    return rf"(?s)\A{first}{middle}{''.join(f'.*{part}' for part in rest[-1:])}\z"


def _expression_of_character(character: str) -> str:
    """Return the expression of one character of a pattern: any character for `_`, else the character itself."""
    if character == "_":
        return "."
    return re.sub(r"[!-/:-@\[-`{-~]", r"\\\g<0>", character)


class _Types(GenericTypeCompiler):
    def visit_string(self, type_: Any, **_: Any) -> str:  # noqa: ANN401, ARG002 - of SQLAlchemy
        """Return the type of texts of any length."""
        return "STRING"

    def visit_datetime(self, type_: Any, **_: Any) -> str:  # noqa: ANN401, ARG002 - of SQLAlchemy
        """Return the type of times without a zone."""
        return "TIMESTAMP_NTZ"


class _SparkCompiler(TextCompiler):
    def visit_floordiv_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ANN401, ARG002 - of SQLAlchemy
        """Return the division of whole numbers; Spark's `/` divides reals."""
        return f"{self.process(binary.left, **kw)} div {self.process(binary.right, **kw)}"

    def visit_bisected_func(self, fn: Any, **kw: Any) -> str:  # noqa: ANN401 - of SQLAlchemy
        """Return the index of the last edge at or below a number, by bisection; −1 if there is none.

        The edges are one text, separated by commas.
        """
        value, edges, type_, size = fn.clauses
        steps = ", ".join(str(1 << bit) for bit in reversed(range(size.value.bit_length())))
        listed = f"CAST(split({self.process(edges, **kw)}, ',') AS ARRAY<{type_.value}>)"
        above = f"get({listed}, place + step) <= {self.process(value, **kw)}"
        further = f"(place, step) -> CASE WHEN {above} THEN place + step ELSE place END"
        return f"CAST(aggregate(array({steps}), -1, {further}) AS BIGINT)"


class _Names(IdentifierPreparer):
    def __init__(self, dialect: Any) -> None:  # noqa: ANN401 - of SQLAlchemy
        super().__init__(dialect, initial_quote="`")


class _SparkText(TextDialect):
    statement_compiler = _SparkCompiler
    type_compiler_cls = _Types
    preparer = _Names  # type: ignore[assignment]  # one of those


SPARK = _SparkText()


def bound_frame(rows: pa.Table, api: Api) -> Frame:
    """Send the rows of a table to Spark as values, never as part of a statement's text."""
    frame: Frame
    if rows.num_rows:
        frame = api.session.createDataFrame(rows)
    else:  # Connect needs the types stated if there are no rows
        frame = api.session.createDataFrame([], from_arrow_schema(rows.schema))
    return frame


class SparkDialect(Dialect):
    """The dialect of a Spark session. Lists of keys are temporary views of the session."""

    text_type = String()
    keeps_keys = True
    joins_missing = True
    counts_distinct = False

    def __init__(self, api: Api) -> None:
        self.api = api
        self.views: list[str] = []

    def text(self, value: Expression) -> Expression:
        """Return a value as a text. Text columns stay as they are: they are compared by their bytes."""
        return value if isinstance(value.type, String) else super().text(value)

    def is_like(self, text: Expression, pattern: str) -> Expression:
        """Return an expression that is true if a text matches a `like` pattern, by a regular expression."""
        return self.is_match(text, java_regex(pattern))

    def is_match(self, text: Expression, pattern: str) -> Expression:
        """Return an expression that is true if part of a text matches a regular expression."""
        return text.op("RLIKE", is_comparison=True)(self.text_literal(pattern))

    def normal_spelling(self, text: Expression) -> Expression:
        """Return a text in a normal form, in which likely spellings of the same text are equal.

        It does not use Unicode's forms.
        """
        plain = func.translate(text, self.text_literal(SIGNS_FROM), self.text_literal(SIGNS_TO))
        single = func.regexp_replace(plain, self.text_literal(" +"), self.text_literal(" "))
        spelling = super().normal_spelling(single)
        for step in ((DIGITS_WITH_ZEROS, "$1"), (ZEROS_INSIDE, "$1$2")):
            spelling = func.regexp_replace(spelling, *map(self.text_literal, step), type_=self.text_type)
        return spelling

    def integer(self, value: Expression) -> Expression:
        """Return a whole number unchanged: all have 64 bits."""
        return value

    def range_code(self, value: Expression, edges: Sequence[int | float]) -> Expression | None:
        """Return the index of a number's range among many edges, by bisection of their list.

        A CASE with so many branches takes seconds to compile, and exceeds Java's 64 KB for one method.
        """
        listed = bindparam(None, ",".join(map(repr, edges)), String())
        type_ = "BIGINT" if isinstance(edges[0], int) else "DOUBLE"
        place: Expression = func.bisected(
            value, listed, bindparam(None, type_), bindparam(None, len(edges)), type_=BigInteger()
        )
        return case((value.is_(None), null()), (place >= whole(0), place), else_=OUTSIDE)

    def value_table(self, name: str, columns: Lists) -> FromClause:
        """Return rows of values as a temporary view."""
        held = {each: pa.array(values, _arrow_type(type_)) for each, (values, type_) in columns.items()}
        size = len(next(iter(held.values())))
        rows = pa.table({**held, "place": pa.array(np.arange(1, size + 1))})
        selected = [column(each, type_) for each, (_, type_) in columns.items()]
        view = self.make_view(bound_frame(rows, self.api))
        return table(view, *selected, column("place", BigInteger())).alias(name)

    def make_view(self, frame: Frame) -> str:
        """Make a temporary view of a frame until `close`, and return its name."""
        view = f"noisycount_{next(_VIEW_NUMBERS)}"
        frame.createTempView(view)
        self.views.append(view)
        return view

    def close(self) -> None:
        """Drop the views, if Spark still answers."""
        for view in self.views:
            run_ignoring_errors(partial(self.api.session.catalog.dropTempView, view))


def _arrow_type(type_: TypeEngine[Any]) -> pa.DataType:
    return next((arrow for kind, arrow in _ARROW.items() if isinstance(type_, kind)), pa.int64())


def result_of(statement: ClauseElement, api: Api) -> Frame:
    """Return the result of a statement as a frame.

    Dates and times are bound as texts: as values, Spark would shift them by the zone of the machine.
    """
    text, values = text_of(statement, SPARK)
    bound = {name: _date_text(value) if isinstance(value, date) else value for name, value in values.items()}
    frame: Frame = api.session.sql(text, args=bound)
    return frame


def _date_text(value: date) -> str:
    return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
