"""The report as HTML: one file to read, print and file, which loads and runs nothing."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from noisycount.app.config.config import Config
from noisycount.app.report.report import DatasetReport, Report
from noisycount.app.report.words import (
    HEADER,
    NOTES,
    TITLE,
    dataset_facts,
    release_cells,
    report_facts,
)

__all__ = ["report_fragment", "report_page"]

_STYLE = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_WARNED = "verified"


def report_page(report: Report, configuration: Config) -> str:
    """The whole report as one file, light, for A4."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{TITLE} · {report.made:%Y-%m-%d}</title>\n<style>\n{_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n<h1>{TITLE}</h1>\n{report_fragment(report, configuration)}</main>\n"
        "</body>\n</html>\n"
    )


def report_fragment(report: Report, configuration: Config) -> str:
    """The report below its title, escaped, for a page that has a frame of its own."""
    kind = "good" if report.is_verified else "refused"
    facts = report_facts(report, configuration)
    verified = next(words for name, words in facts if name == _WARNED)
    parts = [
        f'<p class="notice {kind}">{escape(verified)}.</p>\n',
        _facts([fact for fact in facts if fact[0] != _WARNED]),
        *map(_dataset, report.datasets),
        "<section>\n<h2>How to read this</h2>\n",
        *(f"<p>{escape(note)}</p>\n" for note in NOTES),
        "</section>\n",
    ]
    return "".join(parts)


def _dataset(dataset: DatasetReport) -> str:
    name = escape(dataset.account.name)
    return (
        f"<section>\n<h2>{name}</h2>\n{_facts(dataset_facts(dataset))}"
        f"{_table(name, [release_cells(each) for each in dataset.releases])}</section>\n"
    )


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    items = "".join(f"<dt>{escape(n)}</dt><dd>{escape(value)}</dd>\n" for n, value in facts)
    return f'<dl class="facts">\n{items}</dl>\n'


def _table(name: str, rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return "<p>Nothing was asked yet.</p>\n"
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in HEADER)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>\n" for row in rows
    )
    return (
        f'<div class="wide" role="region" aria-label="Releases of {name}" tabindex="0">\n'
        f"<table>\n<caption>Releases, the oldest first</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}</tbody>\n</table>\n</div>\n"
    )
