"""`noisycount figures`: the figures of the papers, computed exactly."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from noisycount.app.figures.files import FORMATS, PAGE, save_figures
from noisycount.app.figures.page import Section
from noisycount.app.terminal.printing import print_facts, print_table, seen_from_here
from noisycount.app.terminal.progress import Done, progress
from noisycount.study.claim import Verdict
from noisycount.study.figure import Figure
from noisycount.study.papers.catalogue import PAPERS, chosen

__all__ = ["command"]

_HEADS = {Verdict.HOLDS: "holds", Verdict.PARTLY: "in part", Verdict.FAILS: "not"}


def _names(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> list[str]:
    """Names, each given alone or with others between commas."""
    names = [name.strip() for text in texts for name in text.split(",")]
    try:
        return chosen(names)
    except ValueError as error:
        raise click.BadParameter(str(error).removeprefix("only ")) from None


def _formats(_: click.Context, __: click.Parameter, text: str) -> list[str]:
    """Formats between commas, each once."""
    kinds = list(dict.fromkeys(kind.strip().lower() for kind in text.split(",")))
    for kind in kinds:
        if kind not in FORMATS:
            raise click.BadParameter(f"must be some of {','.join(FORMATS)}, got {kind!r}")
    return kinds


@click.command(
    name="figures",
    epilog="\b\nExample:\n"
    "  noisycount figures\n"
    "  noisycount figures --only naldi2014.1,breutigam --format png,json",
)
@click.option(
    "--only",
    "keys",
    multiple=True,
    callback=_names,
    metavar="NAME",
    help="A figure such as naldi2014.1, or all of naldi2014, naldi2015, breutigam or ours; several "
    "with commas. Left out: all.",
)
@click.option(
    "--format",
    "formats",
    default="svg,csv",
    show_default=True,
    callback=_formats,
    metavar="KINDS",
    help="What to write of each figure: svg, png, csv, json, with commas.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("figures"),
    show_default=True,
    metavar="DIR",
    help="Where to write; made if it is missing.",
)
def command(keys: list[str], formats: list[str], out: Path) -> None:
    """Draw the figures of the papers exactly, and judge their claims.

    Writes each figure with its data, and one page (index.html) that shows them all with what the
    papers say, our number, and whether it holds. No data is read.
    """
    with progress("computing") as done:
        sections = _computed(keys, done)
    with progress("drawing") as done:
        files = save_figures(sections, out, formats, done)
    rows = [
        (figure.key, figure.title, *_counts(figure))
        for _, figures, _ in sections
        for figure in figures
    ]
    print_table(("figure", "shows", *_HEADS.values()), rows)
    page = seen_from_here(out / PAGE)
    print_facts([("page", page), ("files", f"{len(files)} in {seen_from_here(out)}")])


def _counts(figure: Figure) -> list[str]:
    """How many claims have each verdict."""
    counts = Counter(claim.verdict for claim in figure.claims)
    return [str(counts[verdict] or "") for verdict in _HEADS]


def _computed(keys: Sequence[str], done: Done) -> list[Section]:
    """The figures that were chosen, by paper; with all of a paper also its other claims."""
    sections: list[Section] = []
    finished = 0
    for paper in PAPERS:
        figures = []
        for key in (key for key in paper.figures if key in keys):
            figures.append(paper.figures[key]())
            finished += 1
            done(finished / len(keys))
        if figures:
            is_whole = len(figures) == len(paper.figures)
            sections.append((paper, figures, paper.claims() if is_whole else ()))
    return sections
