"""The report as Markdown."""

import re
from collections.abc import Iterator, Sequence

from noisycount.app.config.config import Config
from noisycount.app.report.report import Report
from noisycount.app.report.words import (
    HEADER,
    NOTES,
    TITLE,
    dataset_facts,
    release_cells,
    report_facts,
)

__all__ = ["as_inline", "report_markdown"]

_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;"})


def report_markdown(report: Report, configuration: Config) -> str:
    """The whole report."""
    lines = [f"# {TITLE}", "", *_listed(report_facts(report, configuration))]
    for dataset in report.datasets:
        lines += ["", f"## {as_inline(dataset.account.name)}", "", *_listed(dataset_facts(dataset))]
        lines += ["", *_table([release_cells(each) for each in dataset.releases])]
    lines += ["", *(f"*{as_inline(note)}*  " for note in NOTES)]
    return "\n".join(lines) + "\n"


def as_inline(text: str) -> str:
    r"""A text of which nothing is taken for markup.

    Example:
        >>> print(as_inline("a | b <b>*c*</b>"))
        a \| b &lt;b>\*c\*&lt;/b>
    """
    return _SPECIAL.sub(r"\\\1", text.translate(_ENTITIES)).replace("://", ":&#47;/")


def _listed(facts: Sequence[tuple[str, str]]) -> Iterator[str]:
    return (f"- **{name}**: {as_inline(value)}" for name, value in facts)


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        yield "Nothing was asked yet."
        return
    yield f"| {' | '.join(HEADER)} |"
    yield f"|{' --- |' * len(HEADER)}"
    for row in rows:
        yield f"| {' | '.join(map(as_inline, row))} |"
