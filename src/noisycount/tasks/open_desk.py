"""`open_desk`, which opens records from Python. It loads engines and the ledger at its first call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from noisycount.ledger.budget import Written
    from noisycount.query.schema import Stated
    from noisycount.release.desk import Desk


def open_desk(  # noqa: PLR0913 - all that is said once of records
    source: Any,  # noqa: ANN401 - a table of any library
    *,
    unit: str | None = None,
    budget: Written = "2",
    ledger: str | Path | None = None,
    name: str | None = None,
    size: int | None = None,
    columns: Sequence[str] | None = None,
    values: Mapping[str, Stated] | None = None,
    table: str | None = None,
    analyst: str | None = None,
) -> Desk:
    """Open records with a ledger, and return the desk that answers queries about them.

    Args:
        source: A file, folder or pattern of files; a table of pandas, Polars, Arrow or DuckDB, or any other with
            `__arrow_c_stream__`; or the name of a data set of `noisycount.toml`, which states the other arguments.
        unit: The privacy unit: the column that identifies a person, or `row` if each row is another person. It is
            stated once: the ledger stores it and refuses another unit for these records. None: as `noisycount.toml`
            states it, or as it was stated before.
        budget: The largest sum of all prices, in ε; or {"rho": "0.1"}, or {"epsilon": "2", "delta": "1e-6"}, which
            pays for Gaussian noise and hidden keys too.
        ledger: The file of the ledger, or its address, such as `postgresql+psycopg://user@host/name`. None: the
            ledger of `noisycount.toml` in this folder or above it, else one in the folder of the user. A data set of
            `noisycount.toml` has a ledger, and no other can be given.
        name: The name of the records in the ledger. None: their path, or a number for a table in memory.
        size: The number of units if it is public, else None.
        columns: The columns that queries may use. None: all except the unit.
        values: Public values of columns, never looked up in the records: {"town": ["Bern", "Biel"], "age": "0 to
            120"}. Tables by these columns need no keys, and a query for another value is refused before the charge.
        table: The table of a DuckDB file.
        analyst: The name of the analyst who asks. Required if `noisycount.toml` has `[analysts]`, whose budgets must
            pay too.

    Returns:
        A desk. As a context manager it closes the records and the ledger.

    Raises:
        ValueError: The budget, the name or the size is out of range.
        ConfigError: `noisycount.toml` cannot be used or contradicts an argument; the unit is missing, or another one
            was stated before; or the analyst is missing or not configured.
        SourceError: The records cannot be read.
        LedgerError: The ledger cannot be used.

    Example:
        >>> import tempfile
        >>> import noisycount as nc
        >>> import polars as pl
        >>> frame = pl.DataFrame({"person": range(600), "age": [20 + n % 60 for n in range(600)]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with nc.open_desk(frame, unit="person", ledger=f"{folder}/ledger.db") as desk:
        ...         answer = desk.release("age >= 50", "1/2")
        >>> answer.unit, answer.charged, answer.remaining
        ('person', Fraction(1, 2), Fraction(3, 2))
    """
    from noisycount.tasks.desk import desk_of  # noqa: PLC0415 - loads engines and the ledger

    return desk_of(
        source,
        unit=unit,
        budget=budget,
        ledger=ledger,
        name=name,
        size=size,
        columns=columns,
        values=values,
        table=table,
        analyst=analyst,
    )
