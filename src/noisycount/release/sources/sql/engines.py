"""The engines of SQLAlchemy, and which packages they need."""

from typing import Any

from sqlalchemy import URL, Engine, NullPool, create_engine, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from noisycount.errors import SourceError, extra_words

__all__ = ["engine_of"]

_POSTGRESQL = "postgresql"
_DRIVER = "postgresql+psycopg"
_PATIENCE = {  # s, but the number: a server that is gone without a word is noticed within 30
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "4",
    "tcp_user_timeout": "30000",
}
_PACKAGES = {
    "snowflake": "snowflake-sqlalchemy",
    "bigquery": "sqlalchemy-bigquery",
    "trino": "trino[sqlalchemy]",
    "databricks": "databricks-sqlalchemy",
}


def engine_of(address: str, shown: str) -> Engine:
    """The maker of connections to a server, each of which is closed after its use.

    Args:
        address: Of the server, with its account and password.
        shown: What messages call the records: nothing of those.

    Raises:
        SourceError: The address names no server, or its driver is not installed.
    """
    try:
        url = make_url(address)
        engine = create_engine(
            _with_driver(url),
            poolclass=NullPool,
            pool_reset_on_return=None,  # what is closed needs no end of its transaction
            hide_parameters=True,
            **_options(url),
        )
    except NoSuchModuleError:
        engine_name = shown.partition("://")[0]
        package = _PACKAGES.get(engine_name, f"that brings SQLAlchemy the dialect {engine_name!r}")
        refusal = f"{shown!r} needs the package {package}: install it"
    except ModuleNotFoundError as error:
        is_ours = error.name == "psycopg"
        remedy = extra_words("postgres") if is_ours else f"install the package {error.name}"
        refusal = f"{shown!r} needs a driver that is not here: {remedy}"
    except (ArgumentError, ValueError, TypeError, ImportError):
        refusal = (
            f"the address of {shown!r} cannot be read: write it as "
            "postgresql+psycopg://user@host/database#schema.table"
        )
    else:
        return engine
    raise SourceError(refusal)


def _with_driver(url: URL) -> URL:
    if url.get_backend_name() != _POSTGRESQL:
        return url
    return url.set(drivername=_DRIVER, query={**_PATIENCE, **url.query})


def _options(url: URL) -> dict[str, Any]:
    """What connections of PostgreSQL's driver are made with: no statement is prepared by name.

    A statement sees what was committed before it began, after its table was locked.
    """
    if url.get_backend_name() != _POSTGRESQL:
        return {}
    return {"isolation_level": "READ COMMITTED", "connect_args": {"prepare_threshold": None}}
