"""Which dialect is whose."""

from noisycount.release.sources.sql.dialect import Dialect
from noisycount.release.sources.sql.postgresql import PostgreSQL

__all__ = ["dialect_of"]

_DIALECTS: dict[str, type[Dialect]] = {"postgresql": PostgreSQL}


def dialect_of(name: str) -> Dialect:
    """What a server says in its own way.

    Args:
        name: Of the dialect in SQLAlchemy.
    """
    return _DIALECTS.get(name, Dialect)()
