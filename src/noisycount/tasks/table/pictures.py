"""The picture of a table as a file."""

from pathlib import Path

from noisycount.charts.bars import TableBars
from noisycount.charts.drawing import save_file
from noisycount.charts.table import table_chart
from noisycount.release.table_answer import TableRelease
from noisycount.terminal.files import writing

__all__ = ["save_table_plot"]


def save_table_plot(release: TableRelease, file: Path) -> None:
    """The picture of a table as one file, SVG or PNG by its ending.

    Raises:
        ValueError: It has no row, or more than anybody reads.
        NoisyCountError: The file cannot be written.
    """
    chart = table_chart(TableBars.of(release))
    with writing(file):
        save_file(chart, file)
