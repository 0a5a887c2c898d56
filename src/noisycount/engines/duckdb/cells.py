"""SQL expressions that turn the text of a cell into its value. The value depends on this cell only."""

import re
from collections.abc import Sequence

from noisycount.engines.date_words import DAY, HALF_DAY, MONTH, MONTHS, ORDINAL, WESTERN_MONTHS
from noisycount.engines.duckdb.connection import quoted_text
from noisycount.engines.duckdb.table import SQL_TYPES
from noisycount.engines.formats import (
    DATE_BLANK,
    DIGITS_WITH_ZEROS,
    EXCEL,
    MARKS,
    PLAIN_TEXT,
    WHITE_SPACE,
    ZEROS_INSIDE,
    ColumnFormat,
    date_pattern,
)
from noisycount.query.readings import BLANKS
from noisycount.query.schema import ISO_ZONED, THOUSANDS, ZONED, Kind

_TRUE, _FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
_DAYS = "BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
_MOMENTS = "BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'"


def truth_words(form: ColumnFormat) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words for true and the words for false; their case does not matter."""
    return form.true or _TRUE, form.false or _FALSE


def plain_cast(text: str, form: ColumnFormat) -> str | None:
    """Return the SQL of DuckDB's own cast of a text, which is right for most cells; None if there is no such cast."""
    if form.kind in {Kind.TEXT, Kind.BOOLEAN} or form.date_format is not None or form.nan:
        return None
    if form.kind is Kind.REAL and form.decimal == ",":
        text = f"replace({text}, ',', '.')"
    return f"TRY_CAST({text} AS {SQL_TYPES[form.kind]})"


def sure_cases(text: str, cast: str | None, form: ColumnFormat) -> str:
    """Return the branches of a SQL CASE for the texts whose values are certain; an empty text if there are none.

    If no branch applies, the text may still have a value. DuckDB casts more texts than it should: it rounds 1.5
    to an integer, and reads 1_0, 0x10, epoch and infinity.
    """
    match form.kind:
        case Kind.BOOLEAN:
            true, false = (_is_one_of_sql(words, text) for words in truth_words(form))
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


def _is_one_of_sql(words: Sequence[str], text: str, function: str = "") -> str:
    """Return the SQL condition that a text is one of some words, after `function` is applied to both.

    A long IN is slow.
    """
    return f"({' OR '.join(f'{function}({text}) = {function}({quoted_text(word)})' for word in words)})"


def _is_plain_real(text: str, cast: str, decimal: str) -> str:
    """Return the SQL condition that a text is a finite number without a blank, a plus or a mark between thousands."""
    marks = ["_"] if decimal == "." else ["_", "."]
    absent = " AND ".join(f"NOT contains({text}, '{mark}')" for mark in marks)
    return f"{absent} AND {text} >= '-' AND isfinite({cast})"


_NO_NUMBER = "[+-]?(?i:inf(inity)?)|(?i:nan)"


def is_given_sql(cell: str, form: ColumnFormat) -> str:
    """Return the SQL condition that a cell has a value: it is neither empty nor a word for a missing value."""
    words = form.missing if _keeps_blanks(form) and form.normalise != "NFKC" else (*form.missing, "")
    text = _cell_text(cell, form)
    return f"({cell} IS NOT NULL{_and_none_of_sql(text, words)}{_and_not_nan_sql(text, form)})"


def typed_cell(cell: str, form: ColumnFormat, cast: str | None = None) -> str:
    """Return the SQL of the value of a text; null if the text has none."""
    value = _value_sql(_cell_text(cell, form), form)
    if sure := sure_cases(cell, cast or plain_cast(cell, form), form):
        value = f"CASE {sure} ELSE {value} END"
    words = (*form.missing, "") if form.trim or form.normalise == "NFKC" else form.missing
    conditions = _and_none_of_sql(_cell_text(cell, form), words) + _and_not_nan_sql(_cell_text(cell, form), form)
    return f"CASE WHEN true{conditions} THEN {value} END" if conditions else value


def _and_none_of_sql(text: str, words: Sequence[str]) -> str:
    """Return the SQL of a further condition: a text is none of some words."""
    return "".join(f" AND {text} <> {quoted_text(word)}" for word in words)


def _and_not_nan_sql(text: str, form: ColumnFormat) -> str:
    """Return the SQL of a further condition: a text is not NaN, if NaN is a missing value."""
    return f" AND lower({text}) <> 'nan'" if form.nan else ""


def number_pattern(form: ColumnFormat) -> str:
    """Return the regular expression of the numbers of a column that are written with digits."""
    point, group = r"\." if form.decimal == "." else ",", _group_pattern(form)
    digits = f"([0-9]+|[0-9]{{1,3}}({group}[0-9]{{3}})+)"
    if form.kind is Kind.INTEGER:
        return f"[+-]?{digits}"
    return f"[+-]?({digits}({point}[0-9]*)?|{point}[0-9]+)([eE][+-]?[0-9]+)?"


def _keeps_blanks(form: ColumnFormat) -> bool:
    """Return True if the blanks around a cell belong to it."""
    return form.kind is Kind.TEXT and not form.trim


def _cell_text(cell: str, form: ColumnFormat) -> str:
    """Return the SQL of a cell with plain signs if its form states so, and without blanks around its value."""
    if form.normalise == "NFKC":
        cell = f"CASE WHEN regexp_full_match({cell}, '{PLAIN_TEXT}') THEN {cell} ELSE compatible_text({cell}) END"
    if _keeps_blanks(form):
        return cell
    return f"trim({cell}, '{WHITE_SPACE if form.kind is Kind.TEXT else BLANKS}')"


def _value_sql(text: str, form: ColumnFormat) -> str:
    match form.kind:
        case Kind.TEXT:
            return _normal_text_sql(text, form)
        case Kind.INTEGER | Kind.REAL:
            return _number_sql(text, form)
        case Kind.BOOLEAN:
            return _boolean_sql(text, form)
        case _:
            return _date_or_time_sql(text, form)


def _normal_text_sql(text: str, form: ColumnFormat) -> str:
    """Return the SQL of a text in normal form, which is the same for all its spellings.

    Capital letters first: small letters of two shapes, such as both of Greek s, have one capital letter.
    """
    if form.fold_case:
        text = f"lower(upper({text}))"
    if form.normalise:
        text = f"nfc_normalize({text})"
    if form.drop_zeros:
        text = f"regexp_replace({text}, '{DIGITS_WITH_ZEROS}', '\\1')"
    if form.drop_marks:
        text = f"translate({text}, {quoted_text(MARKS)}, '')"
    if form.drop_zeros:
        text = f"regexp_replace({text}, '{ZEROS_INSIDE}', '\\1\\2', 'g')"
    return text


def _group_pattern(form: ColumnFormat) -> str:
    """Return the regular expression of the mark between thousands."""
    return THOUSANDS[form.thousands or ("," if form.decimal == "." else ".")]


_BLANKS = "[ \t\u00a0\u2009\u202f]*"


def _without_symbols_sql(text: str, form: ColumnFormat) -> str:
    """Return the SQL of a number with its minus in front, without the symbols and brackets that its owner states.

    A symbol may be outside or inside the brackets, and before or after a minus: `$(5)`, `($5)`, `5- $` and
    `5 $-` are all -5.
    """
    symbols = "|".join(map(re.escape, form.symbols))
    signs = [(f"^([+-]?){_BLANKS}({symbols}){_BLANKS}", r"\1"), (f"{_BLANKS}({symbols})$", "")] if symbols else []
    brackets = [(rf"^\({_BLANKS}(.*?){_BLANKS}\)$", r"-\1"), *signs] if form.brackets else []
    minus = [(f"^(.*?){_BLANKS}-$", r"-\1"), *signs] if form.minus_behind else []
    for pattern, replacement in (*signs, *brackets, *minus):
        text = f"regexp_replace({text}, {quoted_text(pattern)}, {quoted_text(replacement)})"
    return text


def _number_sql(text: str, form: ColumnFormat) -> str:
    """Return the SQL of a number; null for a number that is too large for its type."""
    digits = _without_symbols_sql(text, form)
    plain = f"regexp_replace({digits}, {quoted_text(_group_pattern(form))}, '', 'g')"
    if form.decimal == ",":
        plain = f"replace({plain}, ',', '.')"
    fits = f"regexp_full_match({digits}, {quoted_text(number_pattern(form))})"
    value = f"TRY_CAST({plain} AS {SQL_TYPES[form.kind]})"
    if form.kind is Kind.INTEGER:
        return f"CASE WHEN {fits} THEN {value} END"
    return (
        f"CASE WHEN {fits} THEN CASE WHEN isfinite({value}) THEN {value} END "
        f"WHEN regexp_full_match({text}, '{_NO_NUMBER}') THEN TRY_CAST({text} AS DOUBLE) END"
    )


def _boolean_sql(text: str, form: ColumnFormat) -> str:
    true, false = (_is_one_of_sql(words, text, "lower") for words in truth_words(form))
    return f"CASE WHEN {true} THEN true WHEN {false} THEN false END"


def _date_or_time_sql(text: str, form: ColumnFormat) -> str:
    """Return the SQL of a date or a time."""
    type_ = SQL_TYPES[form.kind]
    if form.date_format == ZONED:
        pattern, value = ISO_ZONED, f"TRY_CAST({_adjacent_zone_sql(text)} AS TIMESTAMPTZ) AT TIME ZONE 'UTC'"
    elif form.date_format == EXCEL:
        pattern, value = _serial_day_sql(text, form.kind)
    elif form.date_format is None:
        pattern, value = form.kind.iso, f"TRY_CAST({text} AS {type_})"
    else:
        pattern, value = date_pattern(form.date_format), _parse_date_sql(text, form.date_format)
    return f"CASE WHEN regexp_full_match({text}, {quoted_text(pattern)}) THEN CAST({value} AS {type_}) END"


def _parse_date_sql(text: str, date_format: str) -> str:
    """Return the SQL of a date or a time in the directives of `strftime`, without a zone."""
    if "%n" in date_format:  # DuckDB would round nanoseconds: they are cut off
        text = f"regexp_replace({text}, '([.,][0-9]{{6}})[0-9]+', '\\1')"
        date_format = date_format.replace("%n", "%f")
    value = _parse_english_sql(text, date_format)
    if re.search("%[aAbBpz]| ", date_format):
        single = f"regexp_replace({text}, '{DATE_BLANK}+', ' ', 'g')"
        return f"coalesce({value}, {_parse_english_sql(*_english_date_sql(single, re.sub(' +', ' ', date_format)))})"
    return value


def _parse_english_sql(text: str, date_format: str) -> str:
    """Return the SQL that parses a date or a time after its words are translated to those that DuckDB reads."""
    if "%z" not in date_format:
        return f"try_strptime({text}, {quoted_text(date_format)})"
    zoned = f"regexp_replace({_adjacent_zone_sql(text)}, 'Z$', '+00')"
    return f"try_strptime({zoned}, {quoted_text(date_format.replace(' %z', '%z'))}) AT TIME ZONE 'UTC'"


def _month_name_sql(name: str) -> str:
    """Return the SQL of the English name of a month. DuckDB searches maps from their beginning: few names are first."""
    maps = []
    for is_western in (True, False):
        names = {word: month for word, month in MONTHS.items() if (word in WESTERN_MONTHS) is is_western}
        entries = ", ".join(f"{quoted_text(word)}: {quoted_text(month)}" for word, month in names.items())
        maps.append(f"MAP {{{entries}}}[{name}]")
    return f"coalesce({', '.join(maps)})"


# Of each directive that is translated: the parts of its regular expression that are kept and dropped, and what DuckDB
# reads in its place.
_WORDS = {
    **dict.fromkeys("bB", (MONTH, "", "%b")),
    **dict.fromkeys("aA", ("", DAY, "")),
    "p": ("[AaPp]", HALF_DAY.removeprefix("[AaPp]"), "%p"),
    "d": ("[0-9]{1,2}", ORDINAL, "%d"),
}


def _english_date_sql(text: str, date_format: str) -> tuple[str, str]:
    """Return the SQL of a date in English, without a day of the week, and its format.

    Months in other languages, ordinals such as `1st`, `p.m.` and zones such as `GMT+1` become what DuckDB reads.
    """
    words = "aAbBpd" if re.search("%[bB]", date_format) else "aAp"
    parts: list[str] = []
    pattern, form = "", ""
    for place, piece in enumerate(re.split(f"%([{words}])", date_format)):
        literal = (date_pattern(piece) if "%" in piece else re.escape(piece), "", piece)
        kept_pattern, dropped_pattern, directive = _WORDS[piece] if place % 2 else literal
        pattern += (f"({_without_captures(kept_pattern)})" if kept_pattern else "") + _without_captures(dropped_pattern)
        form += directive
        if kept_pattern:
            group = len(parts) + 1
            name = f"lower(rtrim(regexp_extract({text}, '^PATTERN$', {group}), '.'))"
            parts.append(_month_name_sql(name) if directive == "%b" else f"'\\{group}{'M' * (directive == '%p')}'")
    english = f"regexp_replace({text}, '^PATTERN$', {' || '.join(parts)})".replace("PATTERN", pattern)
    if "%z" in date_format:
        english = f"regexp_replace({english}, ' ?(GMT|UTC)$', 'Z')"
        english = f"regexp_replace({english}, ' ?(GMT|UTC)([+-])', '\\2')"
        english = f"regexp_replace({english}, '([+-])([0-9])(:[0-9]+)?$', '\\10\\2\\3')"
    return f"ltrim({english})", form.lstrip()


def _without_captures(pattern: str) -> str:
    """Return a regular expression without groups that have numbers."""
    return re.sub(r"(?<!\\)\((?!\?)", "(?:", pattern)


def _adjacent_zone_sql(text: str) -> str:
    """Return the SQL of a time whose zone is written as DuckDB reads it: +hh or +hh:mm directly after the time."""
    near = f"regexp_replace({text}, ' ?(Z|[+-][0-9:]+)$', '\\1')"
    return f"regexp_replace({near}, '([+-][0-9]{{2}})([0-9]{{2}})$', '\\1:\\2')"


def _serial_day_sql(text: str, kind: Kind) -> tuple[str, str]:
    """Return the regular expression and the SQL of days since 1899-12-30, with a fraction for the time of a day."""
    if kind is Kind.DATE:
        return r"[1-9][0-9]{0,6}(\.0+)?", f"DATE '1899-12-30' + CAST(TRY_CAST({text} AS DOUBLE) AS INTEGER)"
    milliseconds = f"CAST(round(TRY_CAST({text} AS DOUBLE) * 86400000) AS BIGINT)"
    return r"[0-9]{1,7}(\.[0-9]+)?", f"TIMESTAMP '1899-12-30' + to_milliseconds({milliseconds})"
