"""Cells that are written as most are: what they stand for takes no regular expression to tell."""

from collections.abc import Sequence

from noisycount.release.question.schema import Kind
from noisycount.release.sources.duckdb.quoting import quoted_text
from noisycount.release.sources.forms import ColumnForm

__all__ = ["sure_value", "truth_words"]

_TRUE, _FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")

_DAYS = "BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
_MOMENTS = "BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'"


def truth_words(form: ColumnForm) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words for true and for false, in whatever case."""
    return form.true or _TRUE, form.false or _FALSE


def sure_value(text: str, form: ColumnForm) -> tuple[str, str] | None:
    """The SQL of whether a text is surely a value, and of that value; None: there is no such test.

    Where the test is false or null, the text may be one all the same. DuckDB casts more texts than
    it should: it rounds 1.5 to an integer, and reads 1_0, 0x10, epoch and infinity.

    Args:
        text: The SQL of the text, with the blanks around it.
        form: What it is said to stand for.
    """
    match form.kind:
        case Kind.INTEGER:
            value = f"TRY_CAST({text} AS BIGINT)"
            return f"CAST({value} AS VARCHAR) = {text}", value
        case Kind.REAL:
            return _real(text, form.decimal)
        case Kind.DATE if form.date_format is None:
            value = f"TRY_CAST({text} AS DATE)"
            return f"CAST({value} AS VARCHAR) = {text} AND {value} {_DAYS}", value
        case Kind.TIMESTAMP if form.date_format is None:
            value = f"TRY_CAST({text} AS TIMESTAMP)"
            is_same = f"CAST({value} AS VARCHAR) = replace({text}, 'T', ' ')"
            return f"{is_same} AND {value} {_MOMENTS}", value
        case Kind.BOOLEAN:
            true, false = truth_words(form)
            return _is_one_of(text, true + false), _is_one_of(text, true)
        case _:
            return None


def _is_one_of(text: str, words: Sequence[str]) -> str:
    """The SQL of whether a text is one of some words; DuckDB makes a slow join of a longer IN."""
    return f"({' OR '.join(f'{text} = {quoted_text(word)}' for word in words)})"


def _real(text: str, decimal: str) -> tuple[str, str]:
    """A finite number that does not begin with a blank, a plus or a mark of groups."""
    others = ["_"] if decimal == "." else ["_", "."]
    absent = " AND ".join(f"NOT contains({text}, '{other}')" for other in others)
    plain = text if decimal == "." else f"replace({text}, ',', '.')"
    value = f"TRY_CAST({plain} AS DOUBLE)"
    return f"{absent} AND {text} >= '-' AND isfinite({value})", value
