"""The files of figures: pictures, data and the page."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from noisycount.app.figures.page import Section, page
from noisycount.app.terminal.files import writing
from noisycount.app.terminal.progress import Done
from noisycount.charts.figures import figure_png, figure_svg
from noisycount.study.figure import Figure

__all__ = ["FORMATS", "PAGE", "figure_object", "save_figures"]

FORMATS = ("svg", "png", "csv", "json")
PAGE = "index.html"


def save_figures(
    sections: Sequence[Section], folder: Path, formats: Sequence[str], done: Done
) -> list[Path]:
    """Write each figure in each format, and the page of all of them last.

    Raises:
        NoisyCountError: The folder or a file cannot be written.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    figures = [figure for _, each, _ in sections for figure in each]
    files = []
    for number, figure in enumerate(figures, start=1):
        for kind in formats:
            file = folder / f"{figure.key}.{kind}"
            with writing(file):
                _save(figure, file)
            files.append(file)
        done(number / (len(figures) + 1))
    file = folder / PAGE
    with writing(file):
        file.write_text(page(sections), encoding="utf-8")
    return [*files, file]


def figure_object(figure: Figure) -> dict[str, Any]:
    """A figure with its data and claims as one JSON object."""
    axes = {
        name: {"title": axis.title, "unit": axis.unit, "log": axis.is_log}
        for name, axis in (("x", figure.x), ("y", figure.y))
    }
    return {
        "figure": figure.key,
        "source": figure.source,
        "number": figure.number,
        "title": figure.title,
        "caption": figure.caption,
        **axes,
        "panels": [
            {
                "title": panel.title,
                "lines": [
                    {"name": line.name or None, "x": list(line.xs), "y": list(line.ys)}
                    for line in panel.lines
                ],
            }
            for panel in figure.panels
        ],
        "claims": [
            {
                "source": claim.source,
                "says": claim.says,
                "found": claim.found,
                "verdict": claim.verdict.value,
            }
            for claim in figure.claims
        ],
    }


def _save(figure: Figure, file: Path) -> None:
    """Write one figure in the format of the file's ending."""
    if file.suffix == ".png":
        file.write_bytes(figure_png(figure))
    else:
        file.write_text(_TEXTS[file.suffix.removeprefix(".")](figure), encoding="utf-8")


def _json(figure: Figure) -> str:
    return json.dumps(figure_object(figure), ensure_ascii=False, indent=2) + "\n"


_TEXTS: dict[str, Callable[[Figure], str]] = {"svg": figure_svg, "csv": Figure.csv, "json": _json}
