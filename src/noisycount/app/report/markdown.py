"""The report as Markdown."""

import re
from collections.abc import Iterator, Sequence

from noisycount.app.config.config import Config
from noisycount.app.report.appendix import appendix
from noisycount.app.report.report import Report
from noisycount.app.report.words import (
    ANALYSTS,
    HEADER,
    NOTES,
    SIGNED,
    TERMS,
    TITLE,
    analyst_rows,
    dataset_facts,
    release_cells,
    report_facts,
)

__all__ = ["as_inline", "report_markdown"]

_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
_TO_FILL = "_" * 30
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def report_markdown(report: Report, configuration: Config) -> str:
    """The whole report."""
    lines = [f"# {TITLE}", "", *_listed(report_facts(report, configuration))]
    for dataset in report.datasets:
        lines += ["", f"## {as_inline(dataset.account.name)}", "", *_listed(dataset_facts(dataset))]
        lines += ["", *_releases([release_cells(each) for each in dataset.releases])]
    if report.analysts:
        lines += ["", "## Analysts", "", *_table(ANALYSTS, analyst_rows(report))]
    for title, header, rows in appendix(report):
        lines += ["", f"## {as_inline(title)}", "", *_table(header, rows)]
    lines += ["", "## How to read this", "", *_listed(TERMS)]
    lines += ["", *(f"*{as_inline(note)}*  " for note in NOTES)]
    lines += ["", *(f"{name}: {as_inline(_TO_FILL)}  " for name in SIGNED)]
    return "\n".join(lines) + "\n"


def as_inline(text: str) -> str:
    r"""A text of which nothing is taken for markup.

    Example:
        >>> print(as_inline("a | b <b>*c*</b>"))
        a \| b &lt;b&gt;\*c\*&lt;/b&gt;
    """
    return _SPECIAL.sub(r"\\\1", text.translate(_ENTITIES)).replace("://", ":&#47;/")


def _listed(facts: Sequence[tuple[str, str]]) -> Iterator[str]:
    return (f"- **{name}**: {as_inline(value)}" for name, value in facts)


def _releases(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    return _table(HEADER, rows) if rows else iter(["Nothing was asked yet."])


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(map(as_inline, header))} |"
    yield f"|{' --- |' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(map(as_inline, row))} |"
