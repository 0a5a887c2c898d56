"""The desk of a table in memory, whose description is written down before its first charge."""

from itertools import count
from typing import Any

from noisycount.catalog.record import ROW, Written
from noisycount.catalog.register import Register, Statement
from noisycount.catalog.sources import require_described
from noisycount.display.texts import told_name
from noisycount.engines.interface import CheckedSource
from noisycount.engines.opening import frames
from noisycount.errors import SourceError
from noisycount.ledger.ledger import Ledger
from noisycount.release.dataset import Dataset, LateDataset
from noisycount.release.desk import Desk

__all__ = ["desk_of_frame"]


_SHOWN = "frame"


def desk_of_frame(
    frame: Any,  # noqa: ANN401 - of any library
    stated: Statement,
    paying: Dataset,
    register: Register,
    ledger: Ledger,
) -> Desk:
    """The desk of a table in memory; all of it is read at the first question, not before.

    Args:
        frame: A table of pandas, Polars, Arrow or DuckDB.
        stated: What its owner says of it; an empty name: it is called by a number.
        paying: Its budget, and its size where that is public.
        register: What was written down before.
        ledger: Where what it is is written down.

    Raises:
        SourceError: It is no such table, or cannot be counted.
        ConfigError: Nobody said whose rows it holds, or another unit is written down.
    """
    known = register if stated.name else Register()
    unit = known.unit(stated.name or _SHOWN, stated.unit)
    source = frames().open(frame, unit=unit, columns=stated.columns)
    named = LateDataset(
        lambda: _described(source, unit, stated, register, ledger),
        paying.budget,
        paying.size,
        paying.needs_purpose,
    )
    return Desk(source, ledger, named)


def _described(
    source: CheckedSource, unit: str | None, stated: Statement, register: Register, ledger: Ledger
) -> str:
    """The name of a table in memory, once what it is is written down.

    A table without a name is known again by its content, which only what is written down holds: its
    name is a number, since a name is told to whoever reads an answer.

    Raises:
        SourceError: Columns are not as they were written down.
        ConfigError: The unit is another, or the same table has another name.
    """
    digest = source.version
    called = Statement(stated.name or _free_name(register), is_path=not stated.name)
    name = register.name_of(called, digest)
    register.unit(name, ROW if unit is None else unit)
    former = register.written.get(name)
    if former is not None:
        require_described(_SHOWN, former, source)
    whole = source.schema.entire
    written = Written(unit, source.forms, digest, whole.others).after(former)
    if written == former:
        return name
    text = ledger.describe(name, written.text, None if former is None else former.text)
    if text == written.text:
        return name
    if former is None and not stated.name:  # another process took the number
        return _described(source, unit, stated, Register.of(ledger, register.folder), ledger)
    raise SourceError(f"{told_name(name)!r} was written down otherwise meanwhile: open it again")


def _free_name(register: Register) -> str:
    """The first name of a table without one that no other has."""
    names = (f"{_SHOWN} {number}" for number in count(1))
    return next(name for name in names if name not in register.written)
