"""The picture of a forecast as a file."""

from pathlib import Path

from noisycount.app.forecast.forecast import Forecast
from noisycount.app.forecast.words import shape_words
from noisycount.app.terminal.files import writing
from noisycount.charts.files import save_file
from noisycount.charts.table.bars import TableBar, TableBars
from noisycount.charts.table.chart import table_chart
from noisycount.shown.numbers import percent

__all__ = ["save_forecast_plot"]


def save_forecast_plot(told: Forecast, file: Path) -> None:
    """The ± of each level as one picture, SVG or PNG by its ending.

    Raises:
        NoisyCountError: The file cannot be written.
    """
    levels = list(map(told.levels, told.plans))
    bars = [
        TableBar(level.name, level.error, 0, level.mechanism if len(levels) > 1 else "")
        for same in zip(*levels, strict=True)
        for level in same
    ]
    chart = table_chart(
        TableBars(
            bars=bars,
            title="How far off would each count be?",
            notes=[shape_words(told.design), f"with {percent(told.confidence)} confidence"],
            axis="± of one count",
            kinds="noise" if len(levels) > 1 else "",
        )
    )
    with writing(file):
        save_file(chart, file)
