"""The files of figures: pictures, data and the page."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from noisycount.display.output import Done, writing
from noisycount.papers.figure import Figure
from noisycount.tasks.figures import Section, page

FORMATS = ("svg", "png", "csv", "json")
_PAGE = "index.html"


def save_figures(sections: Sequence[Section], folder: Path, formats: Sequence[str], done: Done) -> list[Path]:
    """Write each figure in each format, and the page of all of them last: the files."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    figures = [figure for section in sections for figure in section.figures]
    files = []
    for number, figure in enumerate(figures, start=1):
        for kind in formats:
            file = folder / f"{figure.key}.{kind}"
            with writing(file):
                _save(figure, file)
            files.append(file)
        done(number / (len(figures) + 1))
    file = folder / _PAGE
    with writing(file):
        file.write_text(page(sections), encoding="utf-8")
    return [*files, file]


def _save(figure: Figure, file: Path) -> None:
    """The file of one figure, in the format of its ending."""
    from noisycount.charts.plot_chart import plot_png, plot_svg  # noqa: PLC0415  (loads Altair)

    texts: dict[str, Callable[[Figure], str]] = {".svg": plot_svg, ".csv": Figure.csv, ".json": _json}
    if file.suffix == ".png":
        file.write_bytes(plot_png(figure))
    else:
        file.write_text(texts[file.suffix](figure), encoding="utf-8")


def _json(figure: Figure) -> str:
    """A figure as one JSON object."""
    return json.dumps(figure.to_dict(), ensure_ascii=False, indent=2) + "\n"
