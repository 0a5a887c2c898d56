"""The lines of `noisycount.toml` that let questions be answered."""

import re
from collections.abc import Iterator
from dataclasses import replace

from noisycount.app.check.inspection import Inspection
from noisycount.app.config.naming import name_of
from noisycount.release.checking import UTF
from noisycount.release.sources.check import EXAMPLES, ColumnCheck
from noisycount.release.sources.forms import ColumnForm, FileForm
from noisycount.shown.toml_text import toml_key, toml_value

__all__ = ["form_lines", "mending"]


def mending(inspection: Inspection) -> list[str]:
    """What to write so that questions are answered; nothing where they are.

    Of a data set that is not configured it is a table that can be pasted as it stands.
    """
    if not (inspection.refused or inspection.unstated_encoding):
        return []
    return [*_of_file(inspection), *_of_columns(inspection)]


def _of_file(inspection: Inspection) -> Iterator[str]:
    """What is stated of the file."""
    dataset, encoding = inspection.dataset, inspection.unstated_encoding
    former = inspection.former
    if not inspection.is_configured:
        if former is not None and former.url is not None:
            yield from ("[ledger]", f"url = {toml_value(former.url)}")
        yield f"[datasets.{_name(inspection)}]"
        yield f"source = {toml_value(inspection.source)}"
        if former is not None:
            yield f"account = {toml_value(former.account)}"
        yield f"unit = {toml_value(dataset.unit)}" if dataset.unit else _UNIT
        if dataset.table is not None:
            yield f"table = {toml_value(dataset.table)}"
        if inspection.check.form is not None:
            yield from (line for line, _ in form_lines(inspection.check.form))
    elif encoding:
        yield f"# under [datasets.{_name(inspection)}]"
        yield f"encoding = {toml_value(encoding)}"


def form_lines(form: FileForm) -> Iterator[tuple[str, str]]:
    """What is stated of how the texts of a file are found, each line with why.

    Args:
        form: How they were found.
    """
    if form.encoding not in UTF:
        yield f"encoding = {toml_value(form.encoding)}", "it is not UTF-8"
    if form.delimiter not in {",", None}:
        yield f"delimiter = {toml_value(form.delimiter)}", "between cells"
    if form.skip:
        yield f"skip = {form.skip}", "lines before the names of the columns"


def _of_columns(inspection: Inspection) -> Iterator[str]:
    """That cells that do not fit are accepted as missing."""
    if not inspection.refused:
        return
    is_stated = inspection.dataset.kinds is not None
    told = "# under [{}], in place of what it says of these columns" if is_stated else "[{}]"
    yield told.format(f"datasets.{_name(inspection)}.kinds")
    for column in inspection.refused:
        if column.form is not None and column.mending is not None:
            yield column.mending
            yield from _or_words(column, column.form)


def _or_words(column: ColumnCheck, form: ColumnForm) -> Iterator[str]:
    """Another line, where all cells that do not fit are words that may say that nothing is known.

    It is a comment, as only the owner knows.
    """
    is_all = len(column.examples) < EXAMPLES
    if is_all and all(_WORD.fullmatch(cell) for cell in column.examples):
        words = " and ".join(map(toml_value, column.examples))
        yield f"# or, if {words} means that nothing is known:"
        mended = replace(form, missing=(*form.missing, *column.examples))
        yield f"# {mended.line(column.name)}"


def _name(inspection: Inspection) -> str:
    dataset = inspection.dataset
    return toml_key(dataset.name if inspection.is_configured else name_of(dataset.source))


_WORD = re.compile(r"[^\W\d_][^\d]{0,29}")
_UNIT = '# unit = "COLUMN" for the column that says whose row it is, or unit = "row"'
