"""Which dialect is whose."""

from noisycount.release.sources.sql.dialect import Dialect
from noisycount.release.sources.sql.other_dialects import (
    BigQuery,
    Databricks,
    MySQL,
    Oracle,
    Snowflake,
    Sqlite,
    SqlServer,
    Trino,
)
from noisycount.release.sources.sql.postgresql import PostgreSQL

__all__ = ["dialect_of"]

_DIALECTS: dict[str, type[Dialect]] = {
    "bigquery": BigQuery,
    "databricks": Databricks,
    "mssql": SqlServer,
    "mysql": MySQL,
    "oracle": Oracle,
    "postgresql": PostgreSQL,
    "snowflake": Snowflake,
    "sqlite": Sqlite,
    "trino": Trino,
}


def dialect_of(name: str) -> Dialect:
    """What a server says in its own way.

    Args:
        name: Of the dialect in SQLAlchemy.
    """
    return _DIALECTS.get(name, Dialect)()
