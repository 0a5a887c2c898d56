"""The computed figures of papers, as a table for the terminal, as JSON, as files and as one self-contained HTML page.

Each figure is shown with the claims of its paper and their verdicts.
"""

import base64
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from noisycount.charts.picture_svg import picture_svg, save_picture
from noisycount.charts.plot_picture import plot_picture
from noisycount.display.output import Done, Table, checked_writing
from noisycount.frozen import frozen
from noisycount.papers.catalogue import PAPERS
from noisycount.papers.figure import Claim, Figure, Paper, Verdict


@frozen
class Section:
    """A paper with its selected figures."""

    paper: Paper
    figures: tuple[Figure, ...]  # its selected figures
    claims: tuple[Claim, ...] = ()  # claims of the paper outside its figures; none unless all figures are selected

    @property
    def all_claims(self) -> Iterator[Claim]:
        """Claims of the figures, then the claims outside them."""
        for figure in self.figures:
            yield from figure.claims
        yield from self.claims


def compute_figures(keys: Sequence[str], done: Done) -> list[Section]:
    """Compute the figures with the given keys. Return a section for each paper that has one.

    `done` receives the finished share of the work. A section has the claims outside figures only if all figures of its
    paper are selected.
    """
    sections: list[Section] = []
    finished_figures = 0
    for paper in PAPERS:
        figures = []
        for key in (key for key in paper.figures if key in keys):
            figures.append(paper.figures[key]())
            finished_figures += 1
            done(finished_figures / len(keys))
        if figures:
            is_whole = len(figures) == len(paper.figures)
            sections.append(Section(paper, tuple(figures), paper.claims() if is_whole else ()))
    return sections


OUTSIDE = "Numbers outside the figures"
_HEADS = {Verdict.HOLDS: "holds", Verdict.PARTLY: "in part", Verdict.FAILS: "not"}


def verdict_words(verdicts: Sequence[Verdict]) -> str:
    """Return the number of claims with each verdict as text.

    Example:
        >>> verdict_words([Verdict.FAILS, Verdict.HOLDS, Verdict.PARTLY, Verdict.PARTLY]), verdict_words([])
        ('1 holds, 2 hold in part, 1 does not hold', '')
    """
    words = {
        Verdict.HOLDS: ("holds", "hold"),
        Verdict.PARTLY: ("holds in part", "hold in part"),
        Verdict.FAILS: ("does not hold", "do not hold"),
    }
    counts = Counter(verdicts)
    return ", ".join(
        f"{counts[verdict]} {words[verdict][counts[verdict] != 1]}" for verdict in Verdict if counts[verdict]
    )


def figure_table(sections: Sequence[Section]) -> Table:
    """Return a table with a row for each figure and one for the other claims of a paper: the claims per verdict."""
    rows = []
    for section in sections:
        rows += [(figure.key, figure.title, *_verdict_counts(figure.claims)) for figure in section.figures]
        if section.claims:
            rows.append((section.paper.key, OUTSIDE, *_verdict_counts(section.claims)))
    return ("figure", "shows", *_HEADS.values()), rows


def _verdict_counts(claims: Sequence[Claim]) -> list[str]:
    counts = Counter(claim.verdict for claim in claims)
    return [str(counts[verdict] or "") for verdict in _HEADS]


def figures_json(sections: Sequence[Section], page: Path, files: Sequence[Path]) -> dict[str, Any]:
    """Return the figures with their data and claims, the other claims of each paper, and the written files, as JSON."""
    return {
        "page": str(page),
        "files": [str(file) for file in files],
        "papers": [
            {
                "paper": section.paper.key,
                "name": section.paper.name,
                "reference": section.paper.reference,
                "figures": [figure.to_dict() for figure in section.figures],
                "claims": [claim.to_dict() for claim in section.claims],
            }
            for section in sections
        ],
    }


STYLE = (Path(__file__).parent / "figures.css").read_text(encoding="utf-8")
_PAGE = Template((Path(__file__).parent / "figures.html").read_text(encoding="utf-8"))
_MARKS = {Verdict.HOLDS: "✓", Verdict.PARTLY: "◐", Verdict.FAILS: "✗"}
_CLASSES = {Verdict.HOLDS: "holds", Verdict.PARTLY: "partly", Verdict.FAILS: "fails"}


def page(sections: Sequence[Section]) -> str:
    """Return the HTML page: each figure beside its claims and the results for them."""
    verdicts = [claim.verdict for section in sections for claim in section.all_claims]
    return _PAGE.substitute(
        style=STYLE,
        verdicts=f"<p>Of {len(verdicts)} claims {verdict_words(verdicts)}.</p>" if verdicts else "",
        links="\n".join(map(_navigation_item, sections)),
        sections="\n".join(line for section in sections for line in _section_lines(section)),
    )


def _navigation_item(section: Section) -> str:
    """Return an item of the navigation with a link to the paper and to each of its figures."""
    links = " ".join(f'<a href="#{figure.key}">{_html_text(_short_title(figure))}</a>' for figure in section.figures)
    return f'<li><a href="#{section.paper.key}">{_html_text(section.paper.name)}</a> {links}</li>'


def _section_lines(section: Section) -> Iterator[str]:
    paper = section.paper
    yield f'<section id="{paper.key}"><h2>{_html_text(paper.name)}</h2>'
    yield f"<p>{_html_text(paper.reference)}</p>"
    for figure in section.figures:
        yield from _figure_article(figure)
    if section.claims:
        yield f'<article class="numbers"><h3>{OUTSIDE}</h3>'
        yield from _claim_list(section.claims)
        yield "</article>"
    yield "</section>"


def _figure_article(figure: Figure) -> Iterator[str]:
    yield f'<article id="{figure.key}"><h3>{_html_text(_heading(figure))}</h3>'
    yield '<div class="beside"><figure>'
    yield f'<div class="plate">{_picture(figure)}</div>'
    yield f"<figcaption>{_html_text(figure.caption)} {_download(figure)}</figcaption></figure>"
    yield from _claim_list(figure.claims)
    yield "</div></article>"


def _claim_list(claims: Sequence[Claim]) -> Iterator[str]:
    if not claims:
        return
    yield '<ol class="claims">'
    for claim in claims:
        yield (
            f'<li class="{_CLASSES[claim.verdict]}"><p class="says">{_html_text(claim.says)} '
            f'<cite>{_html_text(claim.source)}</cite></p><p class="found">'
            f"{_html_text(_capitalized(claim.found))}</p>"
            f'<p class="verdict">{_MARKS[claim.verdict]} {claim.verdict.value}</p></li>'
        )
    yield "</ol>"


def _picture(figure: Figure) -> str:
    svg = picture_svg(plot_picture(figure), description=figure.description, is_headed=False)
    return re.sub(r'(<svg[^>]*?) width="[\d.]+" height="[\d.]+"', r"\1", svg, count=1)


def _download(figure: Figure) -> str:
    data = base64.b64encode(figure.csv().encode()).decode()
    name = f"{figure.key}.csv"
    return f'<a download="{name}" href="data:text/csv;base64,{data}">Data ({name})</a>'


def _heading(figure: Figure) -> str:
    return f"{figure.number}: {figure.title}" if figure.number.startswith("Fig.") else figure.title


def _short_title(figure: Figure) -> str:
    if figure.number.startswith("Fig."):
        return figure.number
    return figure.key.partition(".")[2]


def _html_text(text: str) -> str:
    """Return a text escaped for HTML, with no line break before %, = and ± or after =."""
    return re.sub(r" (?=[%=±])|(?<==) ", "\N{NO-BREAK SPACE}", escape(text))


def _capitalized(text: str) -> str:
    """Return a text with a capital first letter, unless it begins with a symbol."""
    return text[:1].upper() + text[1:] if text[:1].isascii() and text[1:2] != " " else text


FORMATS = ("svg", "png", "csv", "json")


def save_figures(sections: Sequence[Section], folder: Path, formats: Sequence[str], done: Done) -> list[Path]:
    """Write each figure in each format, then the page of all figures. Return the written files, the page last."""
    with checked_writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    figures = [figure for section in sections for figure in section.figures]
    files = []
    for number, figure in enumerate(figures, start=1):
        for kind in formats:
            file = folder / f"{figure.key}.{kind}"
            with checked_writing(file):
                _save_figure(figure, file)
            files.append(file)
        done(number / (len(figures) + 1))
    file = folder / "index.html"
    with checked_writing(file):
        file.write_text(page(sections), encoding="utf-8")
    return [*files, file]


def _save_figure(figure: Figure, file: Path) -> None:
    texts: dict[str, Callable[[Figure], str]] = {".csv": Figure.csv, ".json": _figure_data_json}
    if file.suffix in texts:
        file.write_text(texts[file.suffix](figure), encoding="utf-8")
    else:
        save_picture(plot_picture(figure), file)


def _figure_data_json(figure: Figure) -> str:
    return json.dumps(figure.to_dict(), ensure_ascii=False, indent=2) + "\n"
