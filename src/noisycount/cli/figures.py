"""`noisycount figures`: the figures of the papers, computed exactly."""

from collections.abc import Sequence
from pathlib import Path

import click

from noisycount.charts.chart import check_charts
from noisycount.display.output import print_facts, print_json, print_table, progress, seen_from_here
from noisycount.papers.catalogue import select_keys
from noisycount.readers.options import json_option, repeated, typed
from noisycount.tasks.figures import FORMATS, computed, counted, figure_table, figures_json, save_figures


def _names(texts: Sequence[str]) -> list[str]:
    """Names of figures, each given alone or with others between commas."""
    try:
        return select_keys([name.strip() for text in texts for name in text.split(",")])
    except ValueError as error:
        raise ValueError(str(error).removeprefix("only ")) from None


def _parse_formats(text: str) -> list[str]:
    """Formats between commas, each once."""
    kinds = list(dict.fromkeys(kind.strip().lower() for kind in text.split(",")))
    for kind in kinds:
        if kind not in FORMATS:
            raise ValueError(f"must be some of {','.join(FORMATS)}, got {kind!r}")
    return kinds


@click.command(
    name="figures",
    epilog="\b\nExample:\n  noisycount figures\n  noisycount figures --only naldi2014.1,breutigam --format png,json",
)
@repeated(
    "--only keys",
    _names,
    "NAME",
    "A figure such as naldi2014.1, or all of naldi2014, naldi2015, breutigam or ours; several with "
    "commas. Left out: all.",
)
@typed(
    "--format formats",
    _parse_formats,
    "KINDS",
    "What to write of each figure: svg, png, csv, json, with commas.",
    default="svg,csv",
)
@typed(
    "--out",
    click.Path(path_type=Path, file_okay=False),
    "DIR",
    "Where to write; made if it is missing.",
    default=Path("figures"),
)
@json_option
def figures(keys: list[str], formats: list[str], out: Path, *, as_json: bool) -> None:
    """Draw the figures of the papers exactly, and judge their claims.

    Writes each figure with its data, and one page (index.html) that shows them all with what the
    papers say, our number, and whether it holds. No data is read.
    """
    check_charts()
    with progress("computing") as done:
        sections = computed(keys, done)
    with progress("drawing") as done:
        *files, page = save_figures(sections, out, formats, done)
    if as_json:
        print_json(figures_json(sections, page, files))
        return
    print_table(*figure_table(sections))
    written = f"{len(files) + 1} in {seen_from_here(out)}"
    verdicts = [claim.verdict for section in sections for claim in section.all_claims]
    claims = f"{len(verdicts)}: {counted(verdicts)}" if verdicts else "none"
    print_facts([("claims", claims), ("page", seen_from_here(page)), ("files", written)])
