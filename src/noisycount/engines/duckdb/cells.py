# ruff: noqa: S608, as all SQL here is made of names that it quotes and of patterns of its own
"""What the cells of a table of texts stand for, as SQL of DuckDB that depends on no other cell."""

from collections.abc import Sequence

from noisycount.engines.duckdb.connection import Connection, quoted_name, quoted_text
from noisycount.engines.forms import BLANKS, ColumnForm, date_pattern
from noisycount.query.schema import ISO_ZONED, ZONED, Kind

# DuckDB rounds nanoseconds, over midnight too: here they are cut off, also before 1970, where the
# remainder is negative. What has no such number is infinite, or missing.
_NANOSECONDS = (
    "coalesce(make_timestamp(epoch_ns({0}) // 1000 - (epoch_ns({0}) % 1000 < 0)::BIGINT), TRY_CAST({0} AS TIMESTAMP))"
)

# Moments are read in UTC, whatever their zone; what is infinite has no number of microseconds.
_UTC = "coalesce(make_timestamp(epoch_us({0})), TRY_CAST({0} AS TIMESTAMP))"
_INTEGERS = "tinyint, smallint, integer, bigint, utinyint, usmallint, uinteger, ubigint"
_TIMES = "timestamp, timestamp_s, timestamp_ms"

# The type of the columns of each kind, what is brought to it, and how: in one order, and no error.
_COLUMNS = (
    (Kind.INTEGER, "BIGINT", _INTEGERS, "{}"),
    (Kind.REAL, "DOUBLE", "float, double, decimal", "CAST({} AS DOUBLE)"),
    (Kind.TEXT, "VARCHAR", "varchar, enum, time", 'CAST({} AS VARCHAR) COLLATE "binary"'),
    (Kind.BOOLEAN, "BOOLEAN", "boolean", "{}"),
    (Kind.DATE, "DATE", "date", "{}"),
    (Kind.TIMESTAMP, "TIMESTAMP", _TIMES, "TRY_CAST({} AS TIMESTAMP)"),
    (Kind.TIMESTAMP, "TIMESTAMP", "timestamp_ns, timestamptz_ns", _NANOSECONDS),
    (Kind.TIMESTAMP, "TIMESTAMP", "timestamp with time zone", _UTC),
)

SQL_TYPES = {kind: type_ for kind, type_, *_ in _COLUMNS}

# The kind of the columns of each type that are read, and the SQL of one as a value of it.
READ_TYPES = {type_: (kind, conversion) for kind, _, types, conversion in _COLUMNS for type_ in types.split(", ")}

_TRUE, _FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
_DAYS = "BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
_MOMENTS = "BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'"


def truth_words(form: ColumnForm) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words for true and for false, in whatever case."""
    return form.true or _TRUE, form.false or _FALSE


def plain_cast(text: str, form: ColumnForm) -> str | None:
    """The SQL of DuckDB's own reading of a text, which most cells agree with; None: it has none."""
    if form.kind in {Kind.TEXT, Kind.BOOLEAN} or form.date_format is not None:
        return None
    if form.kind is Kind.REAL and form.decimal == ",":
        text = f"replace({text}, ',', '.')"
    return f"TRY_CAST({text} AS {SQL_TYPES[form.kind]})"


def sure_cases(text: str, cast: str | None, form: ColumnForm) -> str:
    """The cases of a CASE of SQL in which a text is surely a value; empty: there are none.

    Where no case is true, the text may be a value all the same. DuckDB casts more texts than it should: it rounds 1.5
    to an integer, and reads 1_0, 0x10, epoch and infinity.
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


_NO_NUMBER = "[+-]?(?i:inf(inity)?)|(?i:nan)"


def given_cell(cell: str, form: ColumnForm) -> str:
    """The SQL of whether a cell says anything: it is neither empty nor a word for missing."""
    words = form.missing if _keeps_blanks(form) else (*form.missing, "")
    return f"({cell} IS NOT NULL{_is_none_of(_text(cell, form), words)})"


def typed_cell(cell: str, form: ColumnForm, cast: str | None = None) -> str:
    """The SQL of a text as the value that it stands for, null where it stands for none."""
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
            return _written(text, form)


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


def _written(text: str, form: ColumnForm) -> str:
    """The SQL of a date or a time, or of what else is written in one way."""
    type_ = SQL_TYPES[form.kind]
    if form.date_format == ZONED:
        # DuckDB reads a zone only as +hh or +hh:mm, and right behind the seconds.
        near = f"regexp_replace({text}, ' ?(Z|[+-][0-9:]+)$', '\\1')"
        moment = f"regexp_replace({near}, '([+-][0-9]{{2}})([0-9]{{2}})$', '\\1:\\2')"
        pattern = ISO_ZONED
        value = f"TRY_CAST({moment} AS TIMESTAMPTZ) AT TIME ZONE 'UTC'"
    elif form.date_format is None:
        pattern = form.kind.iso
        value = f"TRY_CAST({text} AS {type_})"
    else:
        pattern = date_pattern(form.date_format)
        value = f"try_strptime({text}, {quoted_text(form.date_format)})"
    return f"CASE WHEN regexp_full_match({text}, '{pattern}') THEN CAST({value} AS {type_}) END"


# Texts that stand for a value without doubt: a 007 may be the name of a region.
_CERTAIN = {
    Kind.INTEGER: "-?(0|[1-9][0-9]{0,17})",
    Kind.REAL: r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?([eE][+-]?[0-9]{1,2})?",
    Kind.BOOLEAN: "true|false",
    Kind.DATE: "[0-9]{4}-[0-9]{2}-[0-9]{2}",
}


def certain_kinds(connection: Connection, table: str, names: Sequence[str]) -> dict[str, Kind]:
    """The kind of each column of a public table of texts: the first for which all its cells stand.

    One cell can change it, and what all others stand for: it is nothing for private records.
    """
    tests = [_all_stand_for(name, kind) for name in names for kind in _CERTAIN]
    fits = iter(connection.execute(f"SELECT {', '.join(tests)} FROM {table}").fetchall()[0])
    found = {name: [kind for kind in _CERTAIN if next(fits)] for name in names}
    return {name: next(iter(kinds), Kind.TEXT) for name, kinds in found.items()}


def _all_stand_for(name: str, kind: Kind) -> str:
    """The SQL of whether all cells of a column stand for a kind; null where there are none."""
    text = quoted_name(name)
    value = f"TRY_CAST({text} AS {SQL_TYPES[kind]})"
    return (
        f"bool_and(regexp_full_match({text}, '{_CERTAIN[kind]}') AND {value} IS NOT NULL) "
        f"FILTER (WHERE {text} IS NOT NULL)"
    )
