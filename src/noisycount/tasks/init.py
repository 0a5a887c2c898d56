"""Drafts of a noisycount.toml for one file or table, with the lines that make its questions answerable.

`accept_proposals` applies the proposals of a check. `Draft` composes the section of the data set.
"""

import textwrap
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from noisycount.catalog.folder import EngineCertificates
from noisycount.config.config import DatasetConfig
from noisycount.display.texts import toml_key, toml_value
from noisycount.engines.check import ColumnCheck
from noisycount.engines.finding import FILLED_UP, LEFT_OUT, Finding, Proposal, Severity
from noisycount.engines.formats import FileFormat
from noisycount.frozen import frozen
from noisycount.tasks.check import Inspection, examine_place
from noisycount.tasks.check_display import finding_words
from noisycount.tasks.findings import file_format_lines, findings_of

_COMMENT_COLUMN = 36  # column where the comment of a line begins
_WIDTH = 100

# Parts of a draft, by name.
DRAFTS: dict[str, str] = tomllib.loads(Path(__file__).with_name("drafts.toml").read_text(encoding="utf-8"))


def new_text(section: str, url: str | None = None) -> str:
    """Return the text of a new configuration with the section of a data set, and the address of its ledger."""
    return DRAFTS["head"].format(toml_value(url or "sqlite:///ledger.db"), section)


def accept_proposals(
    inspection: Inspection, certificates: EngineCertificates, unit: str | None = None
) -> tuple[Inspection, tuple[Proposal, ...]]:
    """Apply the proposals of a check, repeat the check, and return the last check with the applied proposals.

    Each round applies only proposals about the file if there are any, as those about columns depend on them; the
    proposals about columns that were applied before are then dropped. `unit` is the privacy unit that the owner states;
    its column may exist only after proposals are applied.
    """
    applied: list[Proposal] = []
    for _ in range(_ROUNDS):
        proposals = [proposal for proposal in _proposals_to_apply(inspection) if proposal not in applied]
        of_file = [proposal for proposal in proposals if not proposal.table]
        if not proposals:
            break
        if of_file:  # A proposal about the file may change the columns.
            applied = [proposal for proposal in applied if not proposal.table]
            inspection = replace(inspection, dataset=replace(inspection.dataset, kinds=None))
        applied += of_file or proposals
        dataset = _with_proposals(inspection, of_file or proposals)
        inspection = examine_place(replace(dataset, unit=unit or dataset.unit), inspection.former, certificates)
    if unit is not None and inspection.dataset.unit != unit:
        inspection = examine_place(replace(inspection.dataset, unit=unit), inspection.former, certificates)
    return inspection, tuple(applied)


_ROUNDS = 8  # at most, as a proposal may lead to another one


def _proposals_to_apply(inspection: Inspection) -> list[Proposal]:
    """Return the proposals of all findings except notes."""
    return [
        proposal
        for finding in findings_of(inspection)
        if finding.severity is not Severity.NOTE
        for proposal in finding.proposals
    ]


def _with_proposals(inspection: Inspection, proposals: Sequence[Proposal]) -> DatasetConfig:
    """Return the configuration of the data set with the values of the proposals."""
    dataset = inspection.dataset
    form_keys = {part.name for part in fields(FileFormat)}
    values = {proposal.key: proposal.value for proposal in proposals if not proposal.table}
    form = FileFormat.from_parts(
        {**dataset.form.parts, **{key: value for key, value in values.items() if key in form_keys}}
    )
    others: dict[str, Any] = {key: value for key, value in values.items() if key not in form_keys}
    kinds = {**(dataset.kinds or {}), **inspection.check.proposed_forms(proposals)}
    return replace(dataset, form=form, kinds=kinds or None, **others)


@frozen
class Draft:
    """The section of a `noisycount.toml` for one file or table."""

    inspection: Inspection  # check of the records
    name: str  # name of the data set
    unit: str | None  # privacy unit that the owner stated, a column or `row`; None: not stated
    applied: tuple[Proposal, ...] = ()  # proposals that the check has applied
    joins: tuple[str, ...] = ()  # lines that join one of several tables to the others

    @property
    def part(self) -> str:
        """Section of the configuration for one of several tables."""
        return "\n".join(filter(None, [self._file_lines(), self._column_comments(), self._kinds_section()]))

    @property
    def dataset_section(self) -> str:
        """Section of the data set. It can also follow the sections of other data sets."""
        parts = [
            self._file_lines(),
            DRAFTS["unit"] if self.unit is None else f"unit = {toml_value(self.unit)}\n",
            DRAFTS["size"],
            self._column_comments(),
            DRAFTS["budget"],
            self._kinds_section(),
            DRAFTS["values"].format(toml_key(self.name)),
        ]
        return "\n".join(filter(None, parts))

    @property
    def _applied_file_lines(self) -> list[str]:
        """Lines of the applied proposals about the file; if several have the same key, only the last."""
        last = {proposal.key: proposal for proposal in self.applied if not proposal.table}
        return [self.inspection.check.statement(proposal) for proposal in last.values()]

    @property
    def applied_lines(self) -> list[str]:
        """Lines of all applied proposals, with the present kind of each column."""
        names = {proposal.key for proposal in self.applied if proposal.table == "kinds"}
        forms = self.inspection.check.forms.items()
        return [*self._applied_file_lines, *(form.line(name) for name, form in forms if name in names)]

    @property
    def effect_sentences(self) -> list[str]:
        """Sentences that state the number and the lines of the rows that each rule leaves out or fills up."""
        findings = (each for each in self.inspection.check.findings if each.title in {LEFT_OUT, FILLED_UP})
        return [finding_words(self.inspection, each) for each in findings]

    @property
    def _block_name(self) -> str:
        return self.inspection.block or toml_key(self.name)

    def _file_lines(self) -> str:
        inspection, form = self.inspection, self.inspection.check.form
        lines = [f"[datasets.{self._block_name}]", f"source = {toml_value(inspection.source)}", *self.joins]
        if inspection.former is not None:
            account = f"account = {toml_value(inspection.former.account)}"
            lines.append(_with_comment(account, "the name of earlier answers in the ledger"))
        if inspection.dataset.table is not None:
            lines.append(f"table = {toml_value(inspection.dataset.table)}")
        if form is not None:
            lines += [_with_comment(line, why) for line, why in file_format_lines(form, inspection.check.faults)]
        stated = {line.partition(" =")[0] for line in lines}
        lines += [line for line in self._applied_file_lines if line.partition(" =")[0] not in stated]
        lines += self._proposal_comments(
            self._proposals_by_column.get(None, []), "to read the file as it is meant", lines
        )
        if inspection.dataset.is_served:
            return "\n".join([*lines, DRAFTS["served"]])
        return "\n".join([*lines, ""])

    def _column_comments(self) -> str:
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
        warning = [DRAFTS["nearly_unique"].format(unique)] if unique else []
        heading = "# Columns that questions may use. Default: all except the unit."
        return "\n".join([heading, *warning, *listed, ""])

    def _kinds_section(self) -> str:
        """Return the section of the kinds of the columns; empty if it has no lines."""
        proposed = self._proposals_by_column
        lines = [line for column in self.inspection.check.columns for line in self._column_lines(column, proposed)]
        return "\n".join([DRAFTS["kinds"].format(self._block_name), *lines, ""]) if lines else ""

    def _column_lines(self, column: ColumnCheck, proposed: "_Proposed") -> Iterator[str]:
        if column.form is not None:
            yield _with_comment(column.form.line(column.name), column.reason)
        place = "if the column has this kind" if column.form is None else "to replace the line above"
        yield from self._proposal_comments(proposed.get(column.name, []), place)

    @property
    def _proposals_by_column(self) -> "_Proposed":
        """Proposals of findings by the column whose kind they state; None is the key of all others.

        If a finding has no proposal, its choices are used. Choices of a finding with a proposal are left out, as they
        may quote cells.
        """
        proposed: _Proposed = {}
        for finding in findings_of(self.inspection):
            for each in finding.proposals or finding.choices:
                if finding.severity is not Severity.NOTE:
                    proposed.setdefault(each.key if each.table == "kinds" else None, []).append((finding, each))
        return proposed

    def _proposal_comments(
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
            number = "write this" if all(finding.proposals for finding, _ in proposed) else "write one of these"
            yield f"# {titles[0].upper()}{titles[1:]}; {place}, {number}:"
            yield from (f"# {line}" for line in lines)


_Proposed = dict[str | None, list[tuple[Finding, Proposal]]]


def _with_comment(line: str, comment: str) -> str:
    return f"{line:{_COMMENT_COLUMN - 2}}  # {comment}"
