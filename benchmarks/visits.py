"""Made-up visits of patients in a Parquet file, for questions about persons."""
# ruff: noqa: S608, as all SQL here is our own

from pathlib import Path

import duckdb


def write_visits(path: Path, rows: int) -> None:
    """Write visits with patient, ward, day and dose, about ten for each patient."""
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT (hash(number) % {rows // 10})::BIGINT AS patient, "
            "['ICU', 'A', 'B', 'C'][1 + (hash(number, 'ward') % 4)::INTEGER] AS ward, "
            "DATE '2025-01-01' + (hash(number, 'day') % 365)::INTEGER AS day, "
            "(hash(number, 'dose') % 100)::INTEGER AS dose "
            f"FROM range({rows}) AS numbers(number)) TO '{path}' (FORMAT parquet)"
        )
