from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import psycopg
import pytest

from tests.helpers.postgresql import Server

CANARY = "canary-7c1"
"""Stands in cells and in the password, and must stand in nothing that is said."""

PASSWORD = f"{CANARY}/p w#r%d:?&"
EXACTLY = "40"  # an ε at which the noise is 0 in all but one answer of 1e17
VISITS = """
CREATE TABLE visits (
  person integer NOT NULL, age integer, town text, cost numeric(8, 2), seen date, note text,
  tags text[], history json
)
"""


class Visit(NamedTuple):
    """A record of the table `visits`, without what is odd in it."""

    person: int
    age: int
    town: str | None
    cost: Decimal
    seen: date


RECORDS = [
    Visit(n % 40, n % 90, ("Bern", "Biel", None)[n % 3], Decimal(n) / 4, date(2026, 1, 1 + n % 28)) for n in range(120)
]


@dataclass(frozen=True, slots=True)
class Clinic:
    """A database of its own on the tests' server, whose table `visits` has 120 rows of 40 persons.

    Attributes:
        server: The server.
        database: Its name.
    """

    server: Server
    database: str

    def address(self, table: str = "visits", user: str = "owner", options: str = "") -> str:
        """The address of a table, with a password that the server does not look at."""
        login = f"{user}:{quote(PASSWORD, safe='')}"
        place = f"{self.database}?host={self.server.folder}{options}"
        return f"postgresql+psycopg://{login}@/{place}#{table}"

    def shown(self, table: str = "visits") -> str:
        """The name of a table in messages."""
        return f"postgresql:///{self.database}?host={self.server.folder}#{table}"

    def make(self) -> None:
        """Make the table, in place of what has its name."""
        places = "%s, %s, %s, %s, %s, %s, ARRAY[%s], json_build_object('is', %s::text)"
        rows = [(*record, CANARY, CANARY, CANARY) for record in RECORDS]
        self.run(f"DROP TABLE IF EXISTS visits CASCADE; {VISITS}")
        with self.server.shell(self.database) as shell, shell.cursor() as cursor:
            cursor.executemany(f"INSERT INTO visits VALUES ({places})".encode(), rows)  # noqa: S608 - constants
        self.run(f"GRANT SELECT ON visits TO {self.clerk}")

    def change(self, statement: str) -> None:
        """Run a statement that names the database or the clerk."""
        with self.server.shell("postgres" if "DATABASE" in statement else self.database) as shell:
            shell.execute(statement.format(database=self.database, clerk=self.clerk).encode())

    def run(self, statements: str, user: str = "owner") -> None:
        """Run statements."""
        with self.server.shell(self.database, user) as shell:
            shell.execute(statements.encode())

    @property
    def clerk(self) -> str:
        """A role that may read the table, and nothing else."""
        return f"clerk_of_{self.database}"

    def configure(self, folder: Path, table: str = "visits", more: str = "", user: str = "owner") -> None:
        """A configuration of a table as the data set `visits`, of which any answer is paid for."""
        budget = "" if "budget" in more else 'budget = "1000"'
        source = f'source = "{self.address(table, user)}"'
        text = f"[datasets.visits]\n{source}\n{budget}\n{more}\n"
        (folder / "noisycount.toml").write_text(text, encoding="utf-8")


@pytest.fixture
def clinic(postgresql: Server) -> Iterator[Clinic]:
    """A database with one table, and a role that may read it."""
    found = Clinic(postgresql, postgresql.database())
    found.run(f"CREATE ROLE {found.clerk} LOGIN")
    found.make()
    yield found
    with postgresql.shell("postgres") as shell:
        shell.execute(f"DROP DATABASE {found.database} WITH (FORCE)".encode())
        shell.execute(f"DROP ROLE {found.clerk}".encode())


def is_refused(clinic: Clinic, statement: str, user: str) -> bool:
    """Return True if a role may not run a statement."""
    try:
        clinic.run(statement, user)
    except psycopg.errors.InsufficientPrivilege:
        return True
    return False
