"""The report as HTML: one file to read, print and file, which loads and runs nothing."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

from noisycount.app.config.config import Config
from noisycount.app.report.appendix import appendix
from noisycount.app.report.report import DatasetReport, Report
from noisycount.app.report.words import (
    ANALYSTS,
    CHECKED,
    HEADER,
    NOTES,
    SIGNED,
    TERMS,
    TITLE,
    analyst_rows,
    dataset_facts,
    notice_kind,
    release_cells,
    report_facts,
)

__all__ = ["report_fragment", "report_page"]

_STYLE = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


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
    kind = notice_kind(report.found, report.known_head)
    facts = report_facts(report, configuration)
    verified = next(words for name, words in facts if name == CHECKED)
    told = appendix(report)
    parts = [
        f'<p class="notice {kind}">{escape(verified)}.</p>\n',
        _facts([fact for fact in facts if fact[0] != CHECKED]),
        *map(_dataset, report.datasets),
        *_analysts(report),
        *(_section(title, _table(title, "", header, rows)) for title, header, rows in told),
        "<section>\n<h2>How to read this</h2>\n",
        _facts(TERMS),
        *(f"<p>{escape(note)}</p>\n" for note in NOTES),
        "</section>\n",
        f"<section>\n{_facts([(name, '') for name in SIGNED], 'facts signed')}</section>\n",
    ]
    return "".join(parts)


def _dataset(dataset: DatasetReport) -> str:
    name = dataset.account.name
    rows = [release_cells(each) for each in dataset.releases]
    told = "<p>Nothing was asked yet.</p>\n"
    if rows:
        told = _table(f"Releases of {name}", "Releases, the oldest first", HEADER, rows)
    return _section(name, f"{_facts(dataset_facts(dataset))}{told}")


def _analysts(report: Report) -> Iterator[str]:
    if report.analysts:
        yield _section("Analysts", _table("Analysts", "", ANALYSTS, analyst_rows(report)))


def _section(title: str, told: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{told}</section>\n"


def _facts(facts: Iterable[tuple[str, str]], kind: str = "facts") -> str:
    items = "".join(f"<dt>{escape(n)}</dt><dd>{escape(value)}</dd>\n" for n, value in facts)
    return f'<dl class="{kind}">\n{items}</dl>\n'


def _table(name: str, caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in header)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>\n" for row in rows
    )
    above = f"<caption>{escape(caption)}</caption>\n" if caption else ""
    return (
        f'<div class="wide" role="region" aria-label="{escape(name)}" tabindex="0">\n'
        f"<table>\n{above}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"
        "</div>\n"
    )
