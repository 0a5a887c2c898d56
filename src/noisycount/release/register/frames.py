"""The desk of a table in memory, whose description is written down before its first charge."""

from typing import Any

from noisycount.errors import SourceError
from noisycount.release.dataset import Dataset, LateDataset
from noisycount.release.desk import Desk
from noisycount.release.ledger.ledger import Ledger
from noisycount.release.register.described_source import require_described
from noisycount.release.register.register import Register, Statement
from noisycount.release.register.written import ROW, Written
from noisycount.release.sources.interface import CheckedSource
from noisycount.release.sources.opening import opened_frame

__all__ = ["desk_of_frame"]

_SHOWN = "frame"
_DIGITS = 16  # of a hash: of a million tables, two share them once in 1e7 ledgers


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
        stated: What its owner says of it; an empty name: it is called by its content.
        paying: Its budget, and its size where that is public.
        register: What was written down before.
        ledger: Where what it is is written down.

    Raises:
        SourceError: It is no such table, or cannot be counted.
        ConfigError: Nobody said whose rows it holds, or another unit is written down.
    """
    known = register if stated.name else Register()
    unit = known.unit(stated.name or _SHOWN, stated.unit)
    source = opened_frame(frame, unit=unit, columns=stated.columns)
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

    Raises:
        SourceError: Columns are not as they were written down.
        ConfigError: The unit is another, or the same table has another name.
    """
    digest = source.version
    called = Statement(stated.name or f"{_SHOWN} {digest[:_DIGITS]}", is_path=not stated.name)
    name = register.name_of(called, digest)
    register.unit(name, ROW if unit is None else unit)
    former = register.written.get(name)
    if former is not None:
        require_described(_SHOWN, former, source)
    whole = source.schema.entire
    written = Written(unit, source.forms, digest, whole.others).after(former)
    if written != former:
        text = ledger.describe(name, written.text, None if former is None else former.text)
        if text != written.text:
            raise SourceError(f"{name!r} was written down otherwise meanwhile: open it again")
    return name
