"""Drafts of a noisycount.toml for one file or table, with the lines that make its questions answerable.

`accept_proposals` applies the proposals of a check. `Draft` composes the text of the configuration.
"""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

from noisycount.catalog.folder import Certificates
from noisycount.config.config import DatasetConfig
from noisycount.display.texts import toml_key, toml_value
from noisycount.engines.check import ColumnCheck
from noisycount.engines.finding import FILLED_UP, LEFT_OUT, Finding, Proposal, Severity
from noisycount.engines.formats import FileFormat
from noisycount.frozen import frozen
from noisycount.tasks.check import Inspection, examined_place
from noisycount.tasks.check_display import finding_words
from noisycount.tasks.findings import findings_of
from noisycount.tasks.proposals import form_lines

_BESIDE = 36  # column where the comment of a line begins
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

_NEARLY_UNIQUE = "Most units have a text of their own there, so better without: {}"


def accept_proposals(
    inspection: Inspection, kept: Certificates, unit: str | None = None
) -> tuple[Inspection, tuple[Proposal, ...]]:
    """Apply the proposals of a check, repeat the check, and return the last check with the applied proposals.

    Each round applies only proposals about the file if there are any, as those about columns depend on them; the
    proposals about columns that were applied before are then dropped. `unit` is the privacy unit that the owner states;
    its column may exist only after proposals are applied.
    """
    taken: list[Proposal] = []
    for _ in range(_ROUNDS):
        proposals = [each for each in _proposals(inspection) if each not in taken]
        of_file = [each for each in proposals if not each.table]
        if not proposals:
            break
        if of_file:  # A proposal about the file may change the columns.
            taken = [each for each in taken if not each.table]
            inspection = replace(inspection, dataset=replace(inspection.dataset, kinds=None))
        taken += of_file or proposals
        dataset = _with_statements(inspection, of_file or proposals)
        inspection = examined_place(replace(dataset, unit=unit or dataset.unit), inspection.former, kept)
    if unit is not None and inspection.dataset.unit != unit:
        inspection = examined_place(replace(inspection.dataset, unit=unit), inspection.former, kept)
    return inspection, tuple(taken)


_ROUNDS = 8  # at most, as a proposal may lead to another one


def _proposals(inspection: Inspection) -> list[Proposal]:
    """Return the proposals of all findings except notes."""
    return [
        each for found in findings_of(inspection) if found.severity is not Severity.NOTE for each in found.proposals
    ]


def _with_statements(inspection: Inspection, proposals: Sequence[Proposal]) -> DatasetConfig:
    """Return the configuration of the data set with the values of the proposals."""
    dataset = inspection.dataset
    of_form = {part.name for part in fields(FileFormat)}
    values = {each.key: each.value for each in proposals if not each.table}
    form = FileFormat.of_parts({**dataset.form.parts, **{key: v for key, v in values.items() if key in of_form}})
    others: dict[str, Any] = {key: value for key, value in values.items() if key not in of_form}
    kinds = {**(dataset.kinds or {}), **inspection.check.proposed_forms(proposals)}
    return replace(dataset, form=form, kinds=kinds or None, **others)


@frozen
class Draft:
    """The text of a `noisycount.toml` for one file or table."""

    inspection: Inspection  # check of the records
    name: str  # name of the data set
    unit: str | None  # privacy unit that the owner stated, a column or `row`; None: not stated
    taken: tuple[Proposal, ...] = ()  # proposals that the check has applied

    @property
    def text(self) -> str:
        """Whole text of the configuration."""
        former = self.inspection.former
        url = (former and former.url) or "sqlite:///ledger.db"
        head = f"{_HEAD}url = {toml_value(url)}\n"
        return f"{head}\n{self.table}"

    @property
    def table(self) -> str:
        """Section of the data set. It can also follow the sections of other data sets."""
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
        """Return the text of an existing configuration with the section of the data set appended."""
        return f"{text.rstrip()}\n\n{self.table}"

    @property
    def _taken_of_file(self) -> list[str]:
        """Lines of the applied proposals about the file; if several have the same key, only the last."""
        taken = {each.key: each for each in self.taken if not each.table}
        return [self.inspection.check.statement(each) for each in taken.values()]

    @property
    def taken_lines(self) -> list[str]:
        """Lines of all applied proposals, with the present kind of each column."""
        names = {each.key for each in self.taken if each.table == "kinds"}
        forms = self.inspection.check.forms.items()
        return [*self._taken_of_file, *(form.line(name) for name, form in forms if name in names)]

    @property
    def effects(self) -> list[str]:
        """Sentences that state how many rows each rule leaves out or fills up, and in which lines."""
        findings = (each for each in self.inspection.check.findings if each.title in {LEFT_OUT, FILLED_UP})
        return [finding_words(self.inspection, each) for each in findings]

    def _file(self) -> str:
        inspection, form = self.inspection, self.inspection.check.form
        lines = [f"[datasets.{toml_key(self.name)}]", f"source = {toml_value(inspection.source)}"]
        if inspection.former is not None:
            account = f"account = {toml_value(inspection.former.account)}"
            lines.append(_beside(account, "under which answers were paid for"))
        if inspection.dataset.table is not None:
            lines.append(f"table = {toml_value(inspection.dataset.table)}")
        if form is not None:
            lines += [_beside(line, why) for line, why in form_lines(form, inspection.check.faults)]
        stated = {line.partition(" =")[0] for line in lines}
        lines += [line for line in self._taken_of_file if line.partition(" =")[0] not in stated]
        lines += self._comments(self._proposed.get(None, []), "to mend that", lines)
        if inspection.dataset.is_served:
            return "\n".join([*lines, _SERVED])
        return "\n".join([*lines, ""])

    def _columns(self) -> str:
        """Return comment lines with all columns that have a kind, except the unit, for the owner to choose from."""
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
        """Return the section of the kinds of the columns; empty if it has no lines."""
        proposed = self._proposed
        lines = [line for column in self.inspection.check.columns for line in self._column(column, proposed)]
        return "\n".join([f"{_KINDS}[datasets.{toml_key(self.name)}.kinds]", *lines, ""]) if lines else ""

    def _column(self, column: ColumnCheck, proposed: "_Proposed") -> Iterator[str]:
        if column.form is not None:
            yield _beside(column.form.line(column.name), column.reason)
        place = "if that is meant" if column.form is None else "in place of the line above"
        yield from self._comments(proposed.get(column.name, []), place)

    @property
    def _proposed(self) -> "_Proposed":
        """Proposals of findings by the column whose kind they state; None is the key of all others.

        If a finding proposes nothing, its choices stand in place. Choices beside a proposal are left out, as they may
        quote cells.
        """
        proposed: _Proposed = {}
        for finding in findings_of(self.inspection):
            for each in finding.proposals or finding.choices:
                if finding.severity is not Severity.NOTE:
                    proposed.setdefault(each.key if each.table == "kinds" else None, []).append((finding, each))
        return proposed

    def _comments(
        self, proposed: Sequence[tuple[Finding, Proposal]], place: str, stated: Sequence[str] = ()
    ) -> Iterator[str]:
        """Yield the lines of proposals as comments, with a first line that names the findings.

        `place` is a phrase that states where the lines belong. Lines in `stated` are left out.
        """
        forms = self.inspection.check.proposed_forms(each for finding, each in proposed if finding.proposals)
        lines = [form.line(column) for column, form in forms.items()]
        lines += [self.inspection.check.statement(each) for _, each in proposed if each.key not in forms]
        lines = [line for line in lines if not any(each.startswith(line) for each in stated)]
        if lines:
            titles = "; ".join(dict.fromkeys(finding.title for finding, _ in proposed))
            number = "this" if all(finding.proposals for finding, _ in proposed) else "one of these"
            yield f"# {titles[0].upper()}{titles[1:]}; {place}, {number}:"
            yield from (f"# {line}" for line in lines)


_Proposed = dict[str | None, list[tuple[Finding, Proposal]]]


def _beside(line: str, comment: str) -> str:
    return f"{line:{_BESIDE - 2}}  # {comment}"
