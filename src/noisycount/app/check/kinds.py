"""The kind of a column in words, with what else its texts stand for."""

from collections.abc import Iterator

from noisycount.release.sources.check import ColumnCheck
from noisycount.release.sources.forms import ZONED, ColumnForm

__all__ = ["form_words", "kind_words", "value_words"]


def kind_words(column: ColumnCheck) -> str:
    """The kind of a column; what the file calls its values where there is none."""
    if column.kind is None:
        return column.type
    return column.kind.value if column.form is None else form_words(column.form)


def form_words(form: ColumnForm) -> str:
    """What the texts of a column stand for, in a few words.

    Example:
        >>> from noisycount.release.question.schema import Kind
        >>> form_words(ColumnForm(Kind.REAL, decimal=",", missing=("NA", "k.A.")))
        'real, decimal comma, NA or k.A. missing'
        >>> form_words(ColumnForm(Kind.DATE, date_format="%d.%m.%Y", accepts_unreadable=True))
        'date as %d.%m.%Y, unreadable missing'
    """
    words = [form.kind.value]
    if form.date_format == ZONED:
        words[0] += " in UTC"
    elif form.date_format:
        words[0] += f" as {form.date_format}"
    if form.decimal == ",":
        words.append("decimal comma")
    return ", ".join([*words, *_values(form)])


def value_words(form: ColumnForm) -> str:
    """What the values of a column are, for those who ask, not how they are written in a file.

    Example:
        >>> from noisycount.release.question.schema import Kind
        >>> value_words(ColumnForm(Kind.DATE, date_format="%d.%m.%Y", missing=("k.A.",)))
        'date, k.A. missing'
    """
    zone = " in UTC" if form.date_format == ZONED else ""
    return ", ".join([form.kind.value + zone, *_values(form)])


def _values(form: ColumnForm) -> Iterator[str]:
    """What is true, and what is missing."""
    if form.true:
        yield f"{form.true[0]} or {form.false[0]}"
    if form.trim:
        yield "trimmed"
    if form.missing:
        yield f"{' or '.join(form.missing)} missing"
    if form.accepts_unreadable:
        yield "unreadable missing"
