"""The keys of records as columns of Spark."""

from collections.abc import Sequence

from noisycount.release.question.grouping import OUTSIDE, Edges, Part, Plain
from noisycount.release.question.schema import Kind
from noisycount.release.sources.edges import edges_of
from noisycount.release.sources.expressions.keys import is_text, key_expression
from noisycount.release.sources.spark.algebra import SparkAlgebra
from noisycount.release.sources.spark.api import Columns, Functions

__all__ = ["is_inside", "key_column", "key_names", "key_texts"]

_MOST_CASES = 64  # edges; to make more cases takes seconds, and machine code ends at 64 KB
_TYPES = {Kind.INTEGER: "array<bigint>", Kind.REAL: "array<double>"}


def key_names(parts: Sequence[Part]) -> list[str]:
    """What frames call the keys."""
    return [f"k{number}" for number in range(len(parts))]


def key_column(part: Part, algebra: SparkAlgebra) -> Columns:
    """The code of the key of a record, as `key_expression` has it."""
    if isinstance(part, Edges) and len(part.edges) > _MOST_CASES:
        return _range_number(part, algebra)
    return key_expression(part, algebra)


def _range_number(part: Edges, algebra: SparkAlgebra) -> Columns:
    """The number of a range, by a bisection of a list of edges."""
    make, kind = algebra.functions, part.column.kind
    edges = make.split(make.lit(",".join(map(repr, edges_of(part)))), ",").cast(_TYPES[kind])
    value = algebra.column(part.column, kind)
    steps = [make.lit(1 << bit) for bit in reversed(range(len(part.edges).bit_length()))]

    def further(place: Columns, step: Columns) -> Columns:
        return make.when(make.get(edges, place + step) <= value, place + step).otherwise(place)

    place = make.aggregate(make.array(*steps), make.lit(-1), further).cast("bigint")
    inside = algebra.chosen(place >= 0, place, algebra.number(OUTSIDE))
    return algebra.chosen(algebra.is_missing(value), algebra.nothing(), inside)


def is_inside(part: Part, key: Columns) -> Columns | None:
    """Whether a key is that of a group; None: each is."""
    if isinstance(part, Plain) and part.column.kind is not Kind.DATE:
        return None
    return key.isNull() | (key != OUTSIDE)


def key_texts(parts: Sequence[Part], functions: Functions) -> list[Columns]:
    """The text of each key that is hashed, which tells where it ends; see `truncation`."""
    texts = [
        _text(part, functions.col(name), functions)
        for part, name in zip(parts, key_names(parts), strict=True)
    ]
    mark, missing = functions.lit(":"), functions.lit("-")
    return [
        functions.coalesce(
            functions.concat(functions.length(text).cast("string"), mark, text), missing
        )
        for text in texts
    ]


def _text(part: Part, code: Columns, functions: Functions) -> Columns:
    """The text of a key, from its code."""
    if is_text(part):
        return code
    if isinstance(part, Plain) and part.column.kind is Kind.BOOLEAN:
        return (code == 1).cast("string")
    if isinstance(part, Plain) and part.column.kind is Kind.DATE:
        digits = functions.lpad(code.cast("string"), 8, "0")
        dash = functions.lit("-")
        day = [functions.substring(digits, start, length) for start, length in _OF_A_DAY]
        return functions.concat(day[0], dash, day[1], dash, day[2])
    return code.cast("string")


_OF_A_DAY = ((1, 4), (5, 2), (7, 2))
