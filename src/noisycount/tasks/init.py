"""A noisycount.toml for one file or table, and the lines of it that let questions be answered."""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import replace

from noisycount.config.places import name_for
from noisycount.display.texts import toml_key, toml_value
from noisycount.engines.check import EXAMPLES, ColumnCheck
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.frozen import frozen
from noisycount.release.records import UTF
from noisycount.tasks.check import Inspection


def mending(inspection: Inspection) -> list[str]:
    """What to write so that questions are answered; nothing where they are.

    Of a data set that is not configured it is a table that can be pasted as it stands.
    """
    if not (inspection.refused or inspection.unstated_encoding):
        return []
    return [*_of_file(inspection), *_of_columns(inspection)]


def proposed_values(inspection: Inspection) -> list[str]:
    """The texts of columns that have few of them, for their owner to say which everybody knows; nothing stores them."""
    lines = [
        f"{toml_key(column.name)} = {toml_value([value for value, _ in column.values])}"
        for column in inspection.check.columns
        if 1 < len(column.values) <= inspection.check.rows / _ALIKE
        and column.name not in inspection.dataset.values
        and inspection.why_unused(column) is None
    ]
    if not (lines and inspection.fits and inspection.is_configured):
        return []
    return [f"{'# under ' if inspection.dataset.values else ''}[datasets.{_name(inspection)}.values]", *lines]


def _of_file(inspection: Inspection) -> Iterator[str]:
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
            yield from (line for line, _ in _form_lines(inspection.check.form))
    elif encoding:
        yield f"# under [datasets.{_name(inspection)}]"
        yield f"encoding = {toml_value(encoding)}"


def _form_lines(form: FileFormat) -> Iterator[tuple[str, str]]:
    """What is stated of how the texts of a file are found, each line with why."""
    if form.encoding not in UTF:
        yield f"encoding = {toml_value(form.encoding)}", "it is not UTF-8"
    if form.delimiter not in {",", None}:
        yield f"delimiter = {toml_value(form.delimiter)}", "between cells"
    if form.skip:
        yield f"skip = {form.skip}", "lines before the names of the columns"


def _of_columns(inspection: Inspection) -> Iterator[str]:
    """How all cells fit, or that those that do not are accepted as missing."""
    if not inspection.refused:
        return
    is_stated = inspection.dataset.kinds is not None
    told = "# under [{}], in place of what it says of these columns" if is_stated else "[{}]"
    yield told.format(f"datasets.{_name(inspection)}.kinds")
    for column in inspection.refused:
        if column.form is None or column.mending is None:
            continue
        if len(column.fitting) > 1:
            yield f"# all cells of {column.name} fit each of these: keep the one that is meant"
            yield from (f"# {form.line(column.name)}" for form in column.fitting)
            continue
        yield column.mending
        if not column.fitting:
            yield from _or_words(column, column.form)


def _or_words(column: ColumnCheck, form: ColumnFormat) -> Iterator[str]:
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
    return toml_key(dataset.name if inspection.is_configured else name_for(dataset.source))


_ALIKE = 2  # rows of each value, on average: with fewer they may be names
_WORD = re.compile(r"[^\W\d_][^\d]{0,29}")
_UNIT = '# unit = "COLUMN" for the column that says whose row it is, or unit = "row"'
_BESIDE = 36  # where a comment begins
_WIDTH = 100

_HEAD = """\
# noisycount.toml: which data may be counted, and how much may be told about it.
# Every command looks for this file in the current folder and then in the folders above.
# `noisycount init` guessed what stands here: read it, and mend it where it is wrong.

# The ledger remembers every answer that was paid for, and so what is left to spend.
# Keep it, and back it up: a lost or restored ledger gives spent budget away again.
[ledger]
"""

_SERVED = """\
# After so many seconds a count is given up:
# timeout = 600
# Whether counts may take indexes: faster, and then their time tells how many records match.
# indexes = false
# What the records are called as they are now. The table may change, and an answer is kept until
# another edition: then the same question is a new one, at its price.
# edition = "1"
"""

_UNIT_DRAFT = """\
# Whose row is it? Put the column that says so in place of COLUMN, then answers count persons and
# protect them; or write "row", where every row is another person.
unit = "COLUMN"
"""

_SIZE = """\
# How many of them there are, only where everybody may know it:
# size = 1000
"""

_BUDGET = """\
# The most that all answers together may cost, in epsilon: an exact number in quotes.
budget = "2"
# And its reason, in a sentence that the report tells:
# why = "agreed with the data protection officer on 2026-11-02"
"""

_VALUES = """\
# What columns can have, where everybody knows it without the records: lists or ranges. Tables by
# them need no keys, and what is mistyped is refused. `noisycount check` proposes lists of texts.
# [datasets.{}.values]
# age = "0 to 120"
"""

_KINDS = """\
# What the texts of each column stand for, and why that was guessed. Where cells do not fit, no
# question is answered until they are accepted as missing, and every answer then says so.
"""

_NEARLY_UNIQUE = "Nearly every unit has a text of its own there, so better without: {}"


@frozen
class Draft:
    """The text of a `noisycount.toml` for one file or table."""

    inspection: Inspection  # what is in it
    name: str  # of the data set
    unit: str | None  # what its owner says of the unit, a column or `row`; None: nothing

    @property
    def text(self) -> str:
        """The whole of it."""
        former = self.inspection.former
        url = (former and former.url) or "sqlite:///ledger.db"
        head = f"{_HEAD}url = {toml_value(url)}\n"
        return f"{head}\n{self.table}"

    @property
    def table(self) -> str:
        """What it says of the data set, which can stand below others."""
        parts = [
            self._file(),
            _UNIT_DRAFT if self.unit is None else f"unit = {toml_value(self.unit)}\n",
            _SIZE,
            self._columns(),
            _BUDGET,
            self._kinds(),
            _VALUES.format(toml_key(self.name)),
        ]
        return "\n".join(filter(None, parts))

    def added_to(self, text: str) -> str:
        """The text of a configuration with the data set below all others."""
        return f"{text.rstrip()}\n\n{self.table}"

    def _file(self) -> str:
        inspection, form = self.inspection, self.inspection.check.form
        lines = [f"[datasets.{toml_key(self.name)}]", f"source = {toml_value(inspection.source)}"]
        if inspection.former is not None:
            account = f"account = {toml_value(inspection.former.account)}"
            lines.append(_beside(account, "under which answers were paid for"))
        if inspection.dataset.table is not None:
            lines.append(f"table = {toml_value(inspection.dataset.table)}")
        if form is not None:
            lines += [_beside(line, why) for line, why in _form_lines(form)]
        if inspection.dataset.is_served:
            return "\n".join([*lines, _SERVED])
        return "\n".join([*lines, ""])

    def _columns(self) -> str:
        """The columns that questions may use, to choose from."""
        usable = [each for each in self.inspection.check.columns if each.kind is not None]
        names = [toml_value(each.name) for each in usable if each.name != self.unit]
        if not names:
            return ""
        listed = textwrap.wrap(
            f"columns = [{', '.join(names)}]",
            _WIDTH,
            initial_indent="# ",
            subsequent_indent="#     ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        unique = ", ".join(each.name for each in self.inspection.nearly_unique)
        warning = [f"# {_NEARLY_UNIQUE.format(unique)}"] if unique else []
        told = "# What questions may use; left out: all but the unit."
        return "\n".join([told, *warning, *listed, ""])

    def _kinds(self) -> str:
        """What the texts of each column stand for; nothing where the file states it itself."""
        columns = [column for column in self.inspection.check.columns if column.form is not None]
        if not columns:
            return ""
        lines = [line for column in columns for line in self._column(column)]
        header = f"[datasets.{toml_key(self.name)}.kinds]"
        return _KINDS + "\n".join([header, *lines, ""])

    def _column(self, column: ColumnCheck) -> Iterator[str]:
        if column.form is None:
            return
        yield _beside(column.form.line(column.name), column.reason)
        if column.mending is not None:
            yield "# Some cells do not fit; in place of the line above this accepts them:"
            yield f"# {column.mending}"


def _beside(line: str, comment: str) -> str:
    return f"{line:{_BESIDE - 2}}  # {comment}"
