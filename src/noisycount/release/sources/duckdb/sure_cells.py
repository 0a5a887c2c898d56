"""Cells that are written as most are: what they stand for takes no regular expression to tell."""

from collections.abc import Sequence

from noisycount.release.question.schema import Kind
from noisycount.release.sources.duckdb.quoting import quoted_text
from noisycount.release.sources.forms import ColumnForm

__all__ = ["plain_cast", "sure_cases", "truth_words"]

_TRUE, _FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")

_DAYS = "BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
_MOMENTS = "BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'"


def truth_words(form: ColumnForm) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words for true and for false, in whatever case."""
    return form.true or _TRUE, form.false or _FALSE


def plain_cast(text: str, form: ColumnForm) -> str | None:
    """The SQL of DuckDB's own reading of a text, which most cells agree with; None: it has none.

    Args:
        text: The SQL of the text, with the blanks around it.
        form: What it is said to stand for.
    """
    match form.kind:
        case Kind.INTEGER:
            return f"TRY_CAST({text} AS BIGINT)"
        case Kind.REAL:
            plain = text if form.decimal == "." else f"replace({text}, ',', '.')"
            return f"TRY_CAST({plain} AS DOUBLE)"
        case Kind.DATE | Kind.TIMESTAMP if form.date_format is None:
            return f"TRY_CAST({text} AS {form.kind.name})"
        case _:
            return None


def sure_cases(text: str, cast: str | None, form: ColumnForm) -> str:
    """The cases of a CASE of SQL in which a text is surely a value; empty: there are none.

    Where no case is true, the text may be a value all the same. DuckDB casts more texts than it
    should: it rounds 1.5 to an integer, and reads 1_0, 0x10, epoch and infinity.

    Args:
        text: The SQL of the text, with the blanks around it.
        cast: The SQL of its `plain_cast`, or the column that holds it.
        form: What it is said to stand for.
    """
    match form.kind:
        case Kind.BOOLEAN:
            true, false = (_is_one_of(text, words) for words in truth_words(form))
            return f"WHEN {true} THEN true WHEN {false} THEN false"
        case _ if cast is None:
            return ""
        case Kind.REAL:
            test = _is_plain_real(text, cast, form.decimal)
        case Kind.DATE:
            test = f"CAST({cast} AS VARCHAR) = {text} AND {cast} {_DAYS}"
        case Kind.TIMESTAMP:
            is_same = f"CAST({cast} AS VARCHAR) = replace({text}, 'T', ' ')"
            test = f"{is_same} AND {cast} {_MOMENTS}"
        case _:
            test = f"CAST({cast} AS VARCHAR) = {text}"
    return f"WHEN {test} THEN {cast}"


def _is_one_of(text: str, words: Sequence[str]) -> str:
    """The SQL of whether a text is one of some words; DuckDB makes a slow join of a longer IN."""
    return f"({' OR '.join(f'{text} = {quoted_text(word)}' for word in words)})"


def _is_plain_real(text: str, cast: str, decimal: str) -> str:
    """A finite number that does not begin with a blank, a plus or a mark of groups."""
    others = ["_"] if decimal == "." else ["_", "."]
    absent = " AND ".join(f"NOT contains({text}, '{other}')" for other in others)
    return f"{absent} AND {text} >= '-' AND isfinite({cast})"
