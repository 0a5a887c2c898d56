"""What a cell stands for, in plain Python: the reference for the SQL that reads whole columns."""

import re
from datetime import UTC, date, datetime
from math import isfinite

from noisycount.engines.formats import ColumnFormat, date_pattern
from noisycount.query.schema import ISO_ZONED, ZONED, Kind

TRUE, FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")


def reference(cell: str | None, form: ColumnFormat) -> tuple[bool, object]:
    """Whether a cell says anything, and its value; None: it stands for none."""
    if not cell:
        return False, None
    kept = form.kind is Kind.TEXT and not form.trim
    text = cell if kept else cell.strip(" \t\n\v\f\r")
    if text in form.missing or not text:
        return False, None
    return True, _VALUES[form.kind](text, form)


def _number(text: str, form: ColumnFormat) -> str | None:
    """The digits of a number with a decimal point and without marks between groups of three."""
    point, group = (".", ",") if form.decimal == "." else (",", ".")
    found = re.fullmatch(
        rf"([+-]?)([0-9{re.escape(group)}]*)((?:{re.escape(point)}[0-9]*)?)((?:[eE][+-]?[0-9]+)?)", text
    )
    if found is None:
        return None
    sign, whole, decimals, exponent = found.groups()
    first, *rest = whole.split(group)
    if rest and not (1 <= len(first) <= 3 and all(len(part) == 3 for part in rest)):
        return None
    if not any(map(str.isdigit, whole + decimals)):
        return None
    return f"{sign}{first}{''.join(rest)}{decimals.replace(point, '.')}{exponent}"


def _integer(text: str, form: ColumnFormat) -> int | None:
    plain = _number(text, form)
    if plain is None or not re.fullmatch("[+-]?[0-9]+", plain):
        return None
    return int(plain) if -(2**63) <= int(plain) < 2**63 else None


def _real(text: str, form: ColumnFormat) -> float | None:
    if re.fullmatch("[+-]?inf(inity)?|nan", text, re.IGNORECASE | re.ASCII):
        return float(text)
    plain = _number(text, form)
    return float(plain) if plain is not None and isfinite(float(plain)) else None


def _boolean(text: str, form: ColumnFormat) -> bool | None:
    said = text.lower()
    if said in [word.lower() for word in form.true or TRUE]:
        return True
    return False if said in [word.lower() for word in form.false or FALSE] else None


def _moment(text: str, form: ColumnFormat) -> datetime | None:
    if form.date_format is None:
        pattern = form.kind.iso
    else:
        pattern = ISO_ZONED if form.date_format == ZONED else date_pattern(form.date_format)
    if not re.fullmatch(pattern, text):
        return None
    try:
        if form.date_format is None:
            return datetime.fromisoformat(text)
        if form.date_format == ZONED:
            moment = datetime.fromisoformat(text.replace(" ", "T", 1).replace(" ", ""))
            return moment.astimezone(UTC).replace(tzinfo=None)
        return datetime.strptime(text, form.date_format)  # noqa: DTZ007 - columns have no zone
    except (ValueError, OverflowError):
        return None


def _date(text: str, form: ColumnFormat) -> date | None:
    moment = _moment(text, form)
    return None if moment is None else moment.date()


_VALUES = {
    Kind.INTEGER: _integer,
    Kind.REAL: _real,
    Kind.TEXT: lambda text, _: text,
    Kind.BOOLEAN: _boolean,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _moment,
}
