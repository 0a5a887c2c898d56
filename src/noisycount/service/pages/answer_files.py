"""Files of an answer: its numbers as comma-separated values, and its picture.

`answer` collects the content that the page and the files share.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from fastapi import APIRouter, Response

from noisycount.charts.answer_picture import WIDE, CountInterval
from noisycount.charts.picture_svg import picture_svg
from noisycount.charts.table import TableBar, TableBars, sum_bar, table_picture, wrapped_notes
from noisycount.display.columns import free_name
from noisycount.display.numbers import plus_minus, signed
from noisycount.display.texts import label_text
from noisycount.errors import NoisyCountError
from noisycount.model.tables.levels import OTHER, Label
from noisycount.service.auth import LimitedUser
from noisycount.service.pages.answer import ReleasedAnswer
from noisycount.service.pages.layout import download, picture_file, sheet
from noisycount.service.state import State
from noisycount.tasks.answer_display import SUM_NAMES
from noisycount.tasks.report.forms import without_formula

_REFINED = ("refined", "refined_low", "refined_high")


def answer_csv(released: ReleasedAnswer) -> str:
    """Return the numbers as comma-separated values. `noisycount refine` reads those of a table."""
    names, rows = _table_rows(released) if released.is_table else _count_rows(released)
    return sheet([names, *([without_formula(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)])


def _count_rows(released: ReleasedAnswer) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
    """Return the header and the only row of the CSV file of a count."""
    names = ["where", "answer", "error", "low", "high", "confidence", "epsilon", "mechanism", "scale", "unit"]
    cells = [released.reply.get(name) for name in names]
    refined = None if released.estimate is None else released.estimate.count
    return [*names, *_REFINED], [[*cells, *_refined_cells(refined)]]


def _table_rows(released: ReleasedAnswer) -> tuple[Sequence[str], Iterator[Sequence[object]]]:
    """Return the header and the rows of the CSV file of a table."""
    reply, levels = released.reply, {level["level"]: level["scale"] for level in released.reply["levels"]}
    first = reply["levels"][0]["scale"]
    extra_columns = {"mechanism": reply["mechanism"], "threshold": reply.get("threshold")}
    if reply.get("threshold") is None and reply.get("groups_per_unit") not in {None, 1}:
        extra_columns["groups_per_unit"] = reply["groups_per_unit"]
    extra_columns = {name: value for name, value in extra_columns.items() if value is not None}
    sums = [name for name in SUM_NAMES if any(name in row for row in reply["rows"])]
    numbers = ("level", "answer", "error", "error_of_all", "scale", *extra_columns, *sums, *_REFINED)
    estimates = {} if released.estimates is None else released.estimates.rows
    return [*released.header, *(free_name(name, dict.fromkeys(released.header)) for name in numbers)], (
        [
            *map(_csv_cell, row["keys"].values()),
            *(row.get(name) for name in numbers[:4]),
            levels.get(row["level"], first),
            *extra_columns.values(),
            *map(row.get, sums),
            *_refined_cells(estimates.get((row["level"], *row["keys"].values()))),
        ]
        for row in reply["rows"]
    )


def answer_drawing(released: ReleasedAnswer) -> str:
    """Return the picture as an SVG document. Bars are drawn as on the command line."""
    count = f"{signed(released.answer.value)} {plus_minus(released.reply['error'])} " if not released.is_table else ""
    source = f"{released.unit} of {released.reply['dataset']}"
    lines = [released.question, f"{count}{source}, with {released.confidence_text} confidence; noisycount"]
    if (picture := released.picture) is not None:
        title, *notes = wrapped_notes(lines)
        return picture_svg(replace(picture.picture(WIDE), title=title, notes=notes))
    cells = {released.reply["levels"][0]["level"], OTHER}
    rows = [(", ".join(row.keys), row) for row in released.rows if row.level in cells]
    bars = [TableBar(label, row.noisy_count.value, row.error) for label, row in rows]
    sums = [sum_bar(label, *row.sum_so_far) for label, row in rows if row.sum_so_far]
    names = {"axis": f"{released.unit}, with noise", "labels": ", ".join(released.header)}
    return picture_svg(table_picture(TableBars(bars, lines[0], lines[1:], **names, sums=sums)))


def _refined_cells(refined: CountInterval | None) -> Sequence[float | None]:
    """Return the cells of a refined count; empty cells if there is none."""
    return (None, None, None) if refined is None else (round(refined.value, 3), refined.low, refined.high)


def _csv_cell(label: Label) -> object:
    """Return a key as a cell of a CSV file, with truth values in words."""
    return label_text(label) if isinstance(label, bool) else label


router = APIRouter(include_in_schema=False)


@router.get("/releases/{name}/file")
def release_file(name: str, user: LimitedUser, state: State, form: Literal["csv", "svg", "png"] = "csv") -> Response:
    """Return the numbers of an answer, or its picture, as a file."""
    released = state.reply(partial(ReleasedAnswer.from_key, state, user, name))
    if form not in dict(released.files):
        raise NoisyCountError(f"this answer has no {form.upper()}: choose a form that its page offers")
    file_name = "noisycount-" + re.sub(r"[^A-Za-z0-9_-]", "-", released.reply["key"])[:60]
    if form == "csv":
        return download(answer_csv(released), "text/csv", f"{file_name}.csv")
    return picture_file(answer_drawing(released), form, file_name)
