"""What the cells of a table of texts stand for, as SQL that depends on no other cell."""

from collections.abc import Sequence

from noisycount.release.question.schema import Kind
from noisycount.release.sources.duckdb.quoting import quoted_text
from noisycount.release.sources.duckdb.sure_cells import plain_cast, sure_cases, truth_words
from noisycount.release.sources.forms import (
    BLANKS,
    ISO_DATE,
    ISO_TIMESTAMP,
    ISO_ZONED,
    ZONED,
    ColumnForm,
    date_pattern,
)

__all__ = ["SQL_TYPES", "given_cell", "typed_cell"]

SQL_TYPES = {
    Kind.INTEGER: "BIGINT",
    Kind.REAL: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}

_NO_NUMBER = "[+-]?(?i:inf(inity)?)|(?i:nan)"


def given_cell(cell: str, form: ColumnForm) -> str:
    """The SQL of whether a cell says anything: it is neither empty nor a word for missing."""
    words = form.missing if _keeps_blanks(form) else (*form.missing, "")
    return f"({cell} IS NOT NULL{_is_none_of(_text(cell, form), words)})"


def typed_cell(cell: str, form: ColumnForm, cast: str | None = None) -> str:
    """The SQL of a text as the value that it stands for, null where it stands for none.

    Args:
        cell: The SQL of the text.
        form: What its owner says of it.
        cast: The column that holds its `plain_cast`, where it is computed already.
    """
    value = _value(_text(cell, form), form)
    if sure := sure_cases(cell, cast or plain_cast(cell, form), form):
        value = f"CASE {sure} ELSE {value} END"
    words = (*form.missing, "") if form.trim else form.missing
    if not words:
        return value
    return f"CASE WHEN true{_is_none_of(_text(cell, form), words)} THEN {value} END"


def _is_none_of(text: str, words: Sequence[str]) -> str:
    """The SQL of whether a text is none of some words, to follow another condition."""
    return "".join(f" AND {text} <> {quoted_text(word)}" for word in words)


def number_pattern(form: ColumnForm) -> str:
    """The regular expression of the numbers of a column that are written with digits."""
    point, group = (r"\.", ",") if form.decimal == "." else (",", r"\.")
    whole = f"([0-9]+|[0-9]{{1,3}}({group}[0-9]{{3}})+)"
    if form.kind is Kind.INTEGER:
        return f"[+-]?{whole}"
    return f"[+-]?({whole}({point}[0-9]*)?|{point}[0-9]+)([eE][+-]?[0-9]+)?"


def _keeps_blanks(form: ColumnForm) -> bool:
    """Whether the blanks around a cell belong to it."""
    return form.kind is Kind.TEXT and not form.trim


def _text(cell: str, form: ColumnForm) -> str:
    """The SQL of a cell without the blanks around it, where they do not belong to it."""
    return cell if _keeps_blanks(form) else f"trim({cell}, '{BLANKS}')"


def _value(text: str, form: ColumnForm) -> str:
    match form.kind:
        case Kind.TEXT:
            return text
        case Kind.INTEGER | Kind.REAL:
            return _number(text, form)
        case Kind.BOOLEAN:
            return _truth(text, form)
        case _:
            return _moment(text, form)


def _number(text: str, form: ColumnForm) -> str:
    """The SQL of a number; one too large for its type is none."""
    group = "," if form.decimal == "." else "."
    plain = f"replace({text}, '{group}', '')"
    if form.decimal == ",":
        plain = f"replace({plain}, ',', '.')"
    fits = f"regexp_full_match({text}, '{number_pattern(form)}')"
    value = f"TRY_CAST({plain} AS {SQL_TYPES[form.kind]})"
    if form.kind is Kind.INTEGER:
        return f"CASE WHEN {fits} THEN {value} END"
    return (
        f"CASE WHEN {fits} THEN CASE WHEN isfinite({value}) THEN {value} END "
        f"WHEN regexp_full_match({text}, '{_NO_NUMBER}') THEN TRY_CAST({text} AS DOUBLE) END"
    )


def _truth(text: str, form: ColumnForm) -> str:
    true, false = (_lowered(text, words) for words in truth_words(form))
    return f"CASE WHEN {true} THEN true WHEN {false} THEN false END"


def _lowered(text: str, words: Sequence[str]) -> str:
    """The SQL of whether a text is one of some words in whatever case."""
    return f"({' OR '.join(f'lower({text}) = lower({quoted_text(word)})' for word in words)})"


def _moment(text: str, form: ColumnForm) -> str:
    """The SQL of a date or a time."""
    type_ = SQL_TYPES[form.kind]
    if form.date_format == ZONED:
        # DuckDB reads a zone only as +hh or +hh:mm, and right behind the seconds.
        near = f"regexp_replace({text}, ' ?(Z|[+-][0-9:]+)$', '\\1')"
        moment = f"regexp_replace({near}, '([+-][0-9]{{2}})([0-9]{{2}})$', '\\1:\\2')"
        pattern = ISO_ZONED
        value = f"TRY_CAST({moment} AS TIMESTAMPTZ) AT TIME ZONE 'UTC'"
    elif form.date_format is None:
        pattern = ISO_DATE if form.kind is Kind.DATE else ISO_TIMESTAMP
        value = f"TRY_CAST({text} AS {type_})"
    else:
        pattern = date_pattern(form.date_format)
        value = f"try_strptime({text}, {quoted_text(form.date_format)})"
    return f"CASE WHEN regexp_full_match({text}, '{pattern}') THEN CAST({value} AS {type_}) END"
