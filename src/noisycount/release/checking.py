"""What is in private records, for whoever owns them: it shows facts about the data."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from noisycount.errors import SourceError
from noisycount.release.register.served_table import ServedTable
from noisycount.release.sources.check import Check, ColumnCheck
from noisycount.release.sources.conformance.certificate import Certificate
from noisycount.release.sources.forms import ColumnForm, FileForm
from noisycount.release.sources.opening import checked, served

__all__ = ["UTF", "checked_records", "checked_table"]

UTF = {"utf-8", "utf-16", None}
"""The encodings that nobody needs to state, as UTF-16 has a mark; None: the file has none."""

_OTHER = "cp1252"  # what is not UTF-8 most often


def checked_records(  # noqa: PLR0913 - one argument a property of the records
    place: Path | str,
    *,
    unit: str | None = None,
    columns: Sequence[str] | None = None,
    table: str | None = None,
    kinds: Mapping[str, ColumnForm] | None = None,
    form: FileForm = FileForm(),  # noqa: B008 - frozen
) -> Check:
    """What is in the records at a place, whether or not their cells fit.

    A file that is not UTF-8, and of which no encoding is stated, is read as Windows wrote it; its
    owner has to state that before it can be counted.

    Args:
        place: As ``Records.open`` takes it, like the rest.
        unit: The column that names the person.
        columns: What questions may use; what is in the others is told too.
        table: Which table of a DuckDB file.
        kinds: What is stated of the columns.
        form: What is stated of the file.

    Raises:
        SourceError: The records cannot be read, or a column is unknown.
    """
    look = partial(checked, place, unit=unit, columns=columns, table=table, kinds=kinds)
    try:
        return look(form=form)
    except SourceError:
        if form.encoding is not None:
            raise
        try:
            return look(form=replace(form, encoding=_OTHER))
        except SourceError:
            pass  # it was not the encoding: the first refusal tells what it was
        raise


def checked_table(
    table: ServedTable,
    *,
    unit: str | None = None,
    columns: Sequence[str] | None = None,
    certificates: Collection[Certificate] = (),
) -> Check:
    """What is in a table of a server, whether or not each record has a unit.

    Args:
        table: Where it is.
        unit: The column that names the person.
        columns: What questions may use; of the others only their kinds are told, as the account
            need not be allowed to read them.
        certificates: Those that its owner has of engines.

    Raises:
        SourceError: The server does not answer, or a column is unknown.
    """
    read = None if columns is None else [*columns, *([unit] if unit else [])]
    with served(
        table.place, columns=read, seconds=table.seconds, certificates=certificates
    ) as source:
        whole = source.schema.entire
        whole.for_questions(unit, columns)
        check = source.check(unit)
    told = {column.name for column in check.columns}
    unread = [
        ColumnCheck(name, kind, kind.value, None, 0, reason="the server says so")
        for name, kind in whole.items()
        if name not in told
    ]
    return replace(check, columns=(*check.columns, *unread))
