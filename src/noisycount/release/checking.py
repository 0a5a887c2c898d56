"""What is in private records, for whoever owns them: it shows facts about the data."""

from collections.abc import Mapping
from pathlib import Path

from noisycount.release.sources.check import Check
from noisycount.release.sources.forms import ColumnForm, FileForm
from noisycount.release.sources.opening import checked

__all__ = ["checked_records"]


def checked_records(
    place: Path | str,
    *,
    unit: str | None = None,
    table: str | None = None,
    kinds: Mapping[str, ColumnForm] | None = None,
    form: FileForm = FileForm(),  # noqa: B008 - frozen
) -> Check:
    """What is in the records at a place, whether or not their cells fit.

    Args:
        place: As ``Records.open`` takes it, like the rest.
        unit: The column that names the person.
        table: Which table of a DuckDB file.
        kinds: What is stated of the columns.
        form: What is stated of the file.

    Raises:
        SourceError: The records cannot be read.
    """
    return checked(place, unit=unit, table=table, kinds=kinds, form=form)
