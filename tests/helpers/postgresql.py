"""A throw-away PostgreSQL server for the tests: a real one, in a folder of its own."""

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from psycopg import Connection

REQUIRED = "NOISYCOUNT_REQUIRES_POSTGRESQL"
"""Where this is set in the environment, a missing server fails the tests instead of skipping."""

_ACCOUNTS = ("postgres", "nobody")  # the server refuses to be run by root
_SECONDS_TO_START = 60
_ROOM = 2 * 2**30


class Server:
    """A server that keeps what it acknowledges, reached through a socket in its own folder."""

    def __init__(self) -> None:
        self.programs = programs()
        self.folder = Path(tempfile.mkdtemp(prefix="noisycount-postgresql-", dir=roomy_folder()))
        self.account = account() if os.geteuid() == 0 else {}
        if self.account:
            shutil.chown(self.folder, **self.account)
        self.numbers = itertools.count()
        self._run("initdb", "--auth=trust", "--username=owner", "--encoding=UTF8", "--locale=C", "--wal-segsize=1")
        self.start()

    @property
    def data(self) -> Path:
        """The folder of the server's files."""
        return self.folder / "data"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        from psycopg import OperationalError

        words = ["-D", str(self.data), "-k", str(self.folder), "-c", "listen_addresses="]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - the server's own program
                [self.programs / "postgres", *words], stdout=log, stderr=log, cwd="/", **self.account
            )
        deadline = time.monotonic() + _SECONDS_TO_START
        while True:
            try:
                self.shell("postgres").close()
            except OperationalError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.05)
            else:
                return

    def stop(self, how: str = "fast") -> None:
        """Stop the server; `immediate` is as good as a power cut."""
        self._run("pg_ctl", "stop", "--silent", f"--mode={how}")
        self.process.wait()

    def database(self) -> str:
        """Make an empty database and give its name."""
        name = f"ledger_{next(self.numbers)}"
        with self.shell("postgres") as shell:
            shell.execute(f"CREATE DATABASE {name}".encode())
        return name

    def url(self, database: str, user: str = "owner", options: str = "") -> str:
        """Give the address of a ledger in a database."""
        return f"postgresql+psycopg://{user}@/{database}?host={self.folder}{options}"

    def new_url(self) -> str:
        """Give the address of a ledger that is not made yet, in a schema of an account's own."""
        name = f"clerk_{next(self.numbers)}"
        with self.shell("postgres") as shell:
            shell.execute(f"CREATE ROLE {name} LOGIN".encode())
            shell.execute(f"CREATE SCHEMA {name} AUTHORIZATION {name}".encode())
        return self.url("postgres", user=name)

    def shell(self, database: str, user: str = "owner") -> "Connection":
        """Give a connection that commits at once."""
        from psycopg import connect

        return connect(dbname=database, user=user, host=str(self.folder), autocommit=True, connect_timeout=10)

    @contextmanager
    def limited(self, size: int) -> Iterator[None]:
        """Let no file grow past a size, in connections that are opened meanwhile."""
        self._limit(f"{size}:unlimited")
        try:
            yield
        finally:
            self._limit("unlimited:unlimited")

    def close(self) -> None:
        """Stop the server and remove its files."""
        if self.process.poll() is None:
            self.stop("immediate")
        shutil.rmtree(self.folder)

    def _limit(self, soft_and_hard: str) -> None:
        subprocess.run(  # noqa: S603 - a program of every Linux
            ["/usr/bin/prlimit", f"--pid={self.process.pid}", f"--fsize={soft_and_hard}"], check=True, **self.account
        )

    def _run(self, program: str, *words: str) -> None:
        subprocess.run(  # noqa: S603 - the server's own programs
            [self.programs / program, f"--pgdata={self.data}", *words],
            check=True,
            capture_output=True,
            cwd="/",
            **self.account,
        )


def roomy_folder() -> str | None:
    """Give the folder of the memory's files if it has room, as a server makes thousands."""
    memory = Path("/dev/shm")  # noqa: S108 - the server's own folder in it is its account's
    if memory.is_dir() and shutil.disk_usage(memory).free > _ROOM:
        return str(memory)
    return None


def account() -> dict[str, int]:
    """Give an account that may run a server, with its group, where root may not."""
    known = {each.pw_name: each for each in pwd.getpwall()}
    found = next(known[name] for name in _ACCOUNTS if name in known)
    return {"user": found.pw_uid, "group": found.pw_gid}


def programs() -> Path:
    """Give the folder of the newest server's programs, or those of the package `pgserver`."""
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    found = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = max(found, key=lambda path: float(path.parts[-3]), default=None)
    packed = find_spec("pgserver")
    if newest is None and packed is not None and packed.origin is not None:
        newest = Path(packed.origin).parent / "pginstall" / "bin" / "initdb"
    if newest is None:
        absent = "PostgreSQL is not installed, so no test of a server can run"
        if os.environ.get(REQUIRED):
            pytest.fail(f"{absent}, though {REQUIRED} is set")
        pytest.skip(f"{absent}: pip install pgserver, or on Debian apt-get install postgresql")
    return newest.parent


@pytest.fixture
def unguarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let views through that compute, for what else must hold if a server fails in a count."""
    engines = "noisycount.engines"
    monkeypatch.setattr(f"{engines}.sql.postgresql.computed_columns", lambda *_: frozenset())
    monkeypatch.setattr(f"{engines}.sql.postgresql.require_stable", lambda *_: None)
    monkeypatch.setattr(f"{engines}.sql.relations.ServerRelations.require_recorded", lambda *_: None)
    monkeypatch.setattr(f"{engines}.spark.table.STORED", frozenset({"TEMPORARY"}))


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """Give a server; all tests of a session share it, each in databases of its own."""
    server = Server()
    yield server
    server.close()
