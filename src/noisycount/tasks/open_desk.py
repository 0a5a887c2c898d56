"""The desk of one's own data, from Python."""

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
    """The desk that counts one's own records, under a budget that a ledger keeps.

    Args:
        source: A file, folder or pattern of files; a table of pandas, Polars, Arrow or DuckDB, or
            any other with `__arrow_c_stream__`; or the name of a data set of `noisycount.toml`, which says the rest.
        unit: The column that names the person, or `row` where every row is another person. It is
            said once and for all: the ledger keeps it, and refuses another one for these records.
            None: as `noisycount.toml` says, or as it was said before.
        budget: The most that all answers together may cost, in ε; or {"rho": "0.1"}, or
            {"epsilon": "2", "delta": "1e-6"}, which pays for Gaussian noise and hidden keys too.
        ledger: The file of the ledger, or its address, such as
            `postgresql+psycopg://user@host/name`; None: that of `noisycount.toml` in this folder
            or above it, else one of the user. A data set of `noisycount.toml` has its own alone.
        name: What the ledger calls the records; None: their path, or their content.
        size: The number of units where everybody may know it; else None.
        columns: What questions may use; None: all but the unit.
        values: What columns can have, as everybody may know, never as the records tell: {"town": ["Bern", "Biel"],
            "age": "0 to 120"}. Tables by them need no keys, and a value outside them is refused before the charge.
        table: Which table of a DuckDB file.
        analyst: Who asks, to be said where `noisycount.toml` names `[analysts]`; what they ask must
            fit their own budget too.

    Returns:
        A desk; as a context manager it closes the records and the ledger.

    Raises:
        ValueError: A budget, name or size is out of range.
        ConfigError: `noisycount.toml` cannot be used or says otherwise, nobody said whose rows
            these are, another unit is written down, or the analyst is missing or not configured.
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

    return desk_of(source, unit, budget, ledger, name, size, columns, values, table, analyst)
