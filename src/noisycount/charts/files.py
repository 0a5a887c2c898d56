"""Charts as files."""

from pathlib import Path

import altair as alt

from noisycount.charts.drawing import png, specification, svg

__all__ = ["save", "save_file"]


def save(chart: alt.TopLevelMixin, folder: Path, stem: str) -> list[Path]:
    """The two files of a chart, SVG and PNG of double resolution, written without a browser.

    Args:
        chart: Any chart.
        folder: Where to write; made where it is missing.
        stem: The files' name without its ending.

    Returns:
        The two files, the SVG first.

    Raises:
        OSError: The folder or a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{stem}.svg", folder / f"{stem}.png"]
    for file in files:
        save_file(chart, file)
    return files


def save_file(chart: alt.TopLevelMixin, file: Path) -> None:
    """The file of a chart, written as SVG or as PNG of double resolution by the ending of its name.

    Args:
        chart: Any chart.
        file: Where to write.

    Raises:
        OSError: The file cannot be written.
    """
    drawn = specification(chart)
    if file.suffix.lower() == ".svg":
        file.write_text(svg(drawn), encoding="utf-8")
    else:
        file.write_bytes(png(drawn))
