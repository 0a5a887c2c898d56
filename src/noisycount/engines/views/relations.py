"""The relations that a view reads, the owner's statement about its rows, and the refusals of views.

`definition` reads the text of a view, `proof` judges it, and `stability` refuses it.
"""

from collections.abc import Callable, Mapping
from dataclasses import field

from noisycount.errors import SourceError
from noisycount.frozen import frozen


@frozen
class UnitClaim:
    """The owner's statement about the rows of a view."""

    unit: str | None = None  # the column that names the unit; None: every row is a unit
    public_tables: tuple[str, ...] = ()  # tables and views that hold no private records
    vouched: str | None = None  # why each row is of one unit, in the owner's words; None: the definition must prove it
    is_stated: bool = True  # False: the unit is not stated yet, so nothing is proved

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Statements beyond the unit, as pairs of a name and its words."""
        public = [("public tables", ", ".join(self.public_tables))] if self.public_tables else []
        return public if self.vouched is None else [*public, ("vouched", self.vouched)]


class UnprovenError(Exception):
    """Error: the definition of a view does not prove a property. Its text is the reason, for the owner of the view."""


class VolatileError(Exception):
    """Error: a definition may give other rows for the same records. Its text names the cause."""


@frozen
class BaseTable:
    """A table that holds records."""

    name: str  # as its owner writes it
    columns: Mapping[str, str]  # the type of each column in lower case; empty: equal values may differ in their bytes
    keys: tuple[frozenset[str], ...] = ()  # sets of columns that no two records share
    storages: frozenset[str] = frozenset()  # what holds its records; empty: the table itself
    computed: Mapping[str, str] = field(default_factory=dict)  # the expressions of generated columns
    is_readable: bool = True  # False: these may call functions of others, which the text need not show
    may_be_public: bool = True  # False: its name could also be that of another relation, or it has children
    has_policies: bool = False  # policies of rows choose which of its rows an account reads

    @property
    def is_view(self) -> bool:
        """False: the rows of a base table are stored."""
        return False


@frozen
class ViewDefinition:
    """A view and its definition."""

    name: str  # as its owner writes it
    definition: str  # a query, or the statement that creates the view
    columns: Mapping[str, str] = field(default_factory=dict)  # as `BaseTable.columns`, from the catalog
    is_readable: bool = True  # False: it calls functions of others, which the text need not show
    schema: str | None = None  # of the names that it reads without a schema; None: these are the engine's own
    is_stored: bool = False  # its rows are stored, and change only if its owner refreshes them
    may_be_public: bool = True  # False: its name could also be that of another relation

    @property
    def is_view(self) -> bool:
        """True: the rows of a view are computed."""
        return True


Relations = Callable[[str | None, str], BaseTable | ViewDefinition]
"""Finds a relation by its schema and name; raises UnprovenError if there is none, or if there is no schema."""


_LOWER = {capital: capital + 32 for capital in range(ord("A"), ord("Z") + 1)}


def fold(name: str, dialect: str) -> str:
    """Return a name as the engine compares it: with case in PostgreSQL, in lower case in DuckDB and SQLite."""
    return name if dialect == "postgres" else name.translate(_LOWER)


def unproven_view_error(name: str, unit: str | None, reason: str) -> SourceError:
    """Return the refusal of a view whose definition does not prove that each row comes from one unit."""
    whose = "record" if unit is None else f"value of {unit!r}"
    return SourceError(
        f"{name!r} is a view whose definition does not prove that each of its rows comes from one {whose}: {reason}; "
        'name a table, list public_tables in noisycount.toml, or state there why it holds: vouched = "…"'
        " (PostgreSQL, Spark, object stores: noisycount docs how-to/servers)"
    )


def unreadable_view_error(name: str, reason: str) -> SourceError:
    """Return the error about a view whose relations are unknown."""
    return SourceError(f"{name!r} is a view that cannot be judged: {reason}: make it a table that is stored")
