"""Engines that hold many records: what they answer to a person, and a source of ours."""
# ruff: noqa: S608, as all SQL here is our own

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.helpers.postgresql import Server

from noisycount.engines.interface import CheckedSource
from noisycount.engines.opening import open_served_table
from noisycount.engines.places import ServerPlace

__all__ = ["ENGINES", "RECORDS", "Engine"]

RECORDS = int(float(os.environ.get("NOISYCOUNT_BENCH_RECORDS", "1e7")))
"""How many records there are, with about three to a person."""

_PERSONS = max(1, 3 * RECORDS // 10)
_POSTGRESQL_RECORDS = f"""
    CREATE TABLE records AS SELECT
        'town ' || (hashint8extended(i, 1) & 8388607) % 500 AS town,
        ((hashint8extended(i, 2) & 8388607) % 100)::integer AS age,
        (hashint8extended(i, 3) & 1073741823) / 65536.0::double precision AS income,
        (hashint8extended(i, 4) & 1073741823) % {_PERSONS} AS person
    FROM generate_series(1::bigint, {RECORDS}) AS numbers(i)
"""
_SPARK_RECORDS = [
    "concat('town ', pmod(hash(id, 1), 500)) AS town",
    "CAST(pmod(hash(id, 2), 100) AS INT) AS age",
    "pmod(hash(id, 3), 1073741824) / 65536.0D AS income",
    f"CAST(pmod(hash(id, 4), {_PERSONS}) AS BIGINT) AS person",
]


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine with a table `records`.

    Attributes:
        name: What it is called.
        place: Where the records are.
        ask: Gives what it answers to an SQL text itself, in a session that is kept open.
    """

    name: str
    place: ServerPlace
    ask: Callable[[str], list[tuple[object, ...]]]

    def source(self, unit: str | None = None) -> CheckedSource:
        """Its records as ours."""
        return open_served_table(self.place, unit=unit)


@contextmanager
def _postgresql(_: Path) -> Iterator[Engine]:
    """A server with its own settings, whose files lie in memory if there is room."""
    server = Server()
    try:
        database = server.database()
        with server.shell(database) as shell:
            shell.execute(_POSTGRESQL_RECORDS.encode())
            shell.execute("ALTER TABLE records ALTER COLUMN person SET NOT NULL")
            shell.execute("VACUUM ANALYZE records")
            place = ServerPlace.read(f"{server.url(database)}#records")
            yield Engine("PostgreSQL", place, lambda sql: shell.execute(sql.encode()).fetchall())
    finally:
        server.close()


@contextmanager
def _spark(folder: Path) -> Iterator[Engine]:
    """Parquet files, read in local mode on all cores."""
    from noisycount.engines.spark.connection import Session  # noqa: PLC0415 - starts Java

    place = ServerPlace.read(f"spark://local#{folder}/records")
    spark = Session.open(place.url, place.shown).api.session
    spark.range(RECORDS).selectExpr(*_SPARK_RECORDS).write.parquet(f"{folder}/records")
    spark.read.parquet(f"{folder}/records").createOrReplaceTempView("records")
    yield Engine("Spark", place, lambda sql: list(map(tuple, spark.sql(sql).collect())))


ENGINES = {"PostgreSQL": _postgresql, "Spark": _spark}
"""What makes each engine with its records, in a folder."""
