"""`noisycount figures`: the figures of the papers, computed exactly.

`noisycount.tasks.figures` computes and writes them.
"""

from collections.abc import Sequence
from pathlib import Path

import click

from noisycount.charts.png import check_png
from noisycount.display.output import print_facts, print_json, print_table, progress, shortest_path_text
from noisycount.papers.catalogue import select_keys
from noisycount.readers.options import json_option, repeatable_option, value_option
from noisycount.tasks.figures import FORMATS, compute_figures, figure_table, figures_json, save_figures, verdict_words


def _parse_names(texts: Sequence[str]) -> list[str]:
    """Return the names of figures; each text has one or several names, with commas between them."""
    try:
        return select_keys([name.strip() for text in texts for name in text.split(",")])
    except ValueError as error:
        raise ValueError(str(error).removeprefix("only ")) from None


def _parse_formats(text: str) -> list[str]:
    """Return the distinct file formats in a text with commas between them."""
    kinds = list(dict.fromkeys(kind.strip().lower() for kind in text.split(",")))
    for kind in kinds:
        if kind not in FORMATS:
            raise ValueError(f"must be some of {','.join(FORMATS)}, got {kind!r}")
    return kinds


@click.command(
    name="figures",
    epilog="\b\nExample:\n  noisycount figures\n  noisycount figures --only naldi2014.1,breutigam --format png,json",
)
@repeatable_option(
    "--only keys",
    _parse_names,
    "NAME",
    "Draw only these figures, such as naldi2014.1, or all of naldi2014, naldi2015, breutigam or ours.",
)
@value_option(
    "--format formats",
    _parse_formats,
    "KINDS",
    "Write each figure in these formats: svg, png, csv, json.",
    default="svg,csv",
)
@value_option(
    "--out",
    click.Path(path_type=Path, file_okay=False),
    "DIR",
    "Write to this folder, which is created if it is missing.",
    default=Path("figures"),
)
@json_option
def figures(keys: list[str], formats: list[str], out: Path, *, as_json: bool) -> None:
    """Draw the figures of the papers exactly, and judge their claims.

    Writes each figure with its data, and a page (index.html) that compares each claim of the papers with the exact
    number. No data is read.
    """
    if "png" in formats:
        check_png()
    with progress("computing") as done:
        sections = compute_figures(keys, done)
    with progress("drawing") as done:
        *files, page = save_figures(sections, out, formats, done)
    if as_json:
        print_json(figures_json(sections, page, files))
        return
    print_table(*figure_table(sections))
    file_text = f"{len(files) + 1} in {shortest_path_text(out)}"
    verdicts = [claim.verdict for section in sections for claim in section.all_claims]
    claim_text = f"{len(verdicts)}: {verdict_words(verdicts)}" if verdicts else "none"
    print_facts([("claims", claim_text), ("page", shortest_path_text(page)), ("files", file_text)])
