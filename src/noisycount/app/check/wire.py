"""What a check found, as JSON."""

from typing import Any

from noisycount.app.check.inspection import Inspection
from noisycount.app.check.mending import mending
from noisycount.app.check.words import FOR_OWNERS, problems
from noisycount.release.sources.check import ColumnCheck

__all__ = ["inspection_object"]


def inspection_object(inspection: Inspection) -> dict[str, Any]:
    """What is in the records of a data set; `mend` is what to write into noisycount.toml."""
    dataset, check = inspection.dataset, inspection.check
    form = check.form
    return {
        "about": FOR_OWNERS,
        "dataset": dataset.name,
        "source": str(dataset.source),
        "unit": inspection.unit,
        "rows": check.rows,
        "persons": inspection.persons,
        "encoding": form and form.encoding,
        "delimiter": form and form.delimiter,
        "skip": form and form.skip,
        "letters": list(check.letters),
        "lines_without_unit": list(check.without_unit),
        "sparse_line": check.sparse_line,
        "fits": inspection.fits,
        "changed": inspection.is_changed,
        "answered_otherwise": inspection.answered_otherwise,
        "columns": [_column(inspection, column) for column in check.columns],
        "problems": list(problems(inspection)),
        "mend": "\n".join(mending(inspection)),
    }


def _column(inspection: Inspection, column: ColumnCheck) -> dict[str, Any]:
    """What is in one column; `form` is what noisycount.toml may state of it."""
    why = inspection.why_unused(column)
    return {
        "name": column.name,
        "kind": column.kind and column.kind.value,
        "type": column.type,
        "form": column.form and column.form.parts,
        "missing": column.missing,
        "unreadable": column.unreadable,
        "examples": list(column.examples),
        "lines": list(column.lines),
        "values": [{"value": value, "rows": rows} for value, rows in column.values],
        "usable": why is None,
        "why_not": why,
        "reason": column.reason,
    }
