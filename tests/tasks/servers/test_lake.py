"""Tests of `engines/duckdb/lake.py`."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

import duckdb
import pytest

from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.places import LakePlace
from noisycount.errors import SourceError
from noisycount.query.language import parse
from tests.helpers.commands import Run
from tests.helpers.postgresql import REQUIRED
from tests.tasks.servers.conftest import CANARY, EXACTLY

COUNT = ("count", "visits", "--where", "age >= 65", "--epsilon", EXACTLY, "--json")


class Store(BaseHTTPRequestHandler):
    """Files of a folder by their ranges, and for a folder a page of links."""

    protocol_version = "HTTP/1.1"
    server: "Server"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        """Tell the size and the version of a file."""
        self.answer(has_body=False)

    def do_GET(self) -> None:
        """Give a part of a file, or the names in a folder."""
        self.answer(has_body=True)

    def answer(self, *, has_body: bool) -> None:
        """Answer a request."""
        place = self.server.folder / self.path.partition("?")[0].strip("/")
        links = (f'<a href="{each.name}">{each.name}</a>' for each in place.glob("*.parquet"))
        whole = place.read_bytes() if place.is_file() else "".join(links).encode()
        if not place.exists():
            self.send_error(404)
            return
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        part = whole[int(asked[1]) : int(asked[2]) + 1] if asked else whole
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {asked[1]}-{asked[2]}/{len(whole)}")
        self.send_header("Content-Type", "text/html" if place.is_dir() else "binary/octet-stream")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Connection", "close")  # nothing is answered once it is shut down
        self.send_header("Content-Length", str(len(part)))
        self.send_header("ETag", f'"{hash(whole)}"')
        self.end_headers()
        if has_body:
            with suppress(ConnectionError):
                self.wfile.write(part)


class Server(ThreadingHTTPServer):
    """A server of the files of a folder, which does not report clients that go away."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(("127.0.0.1", 0), Store)

    def handle_error(self, *_: object) -> None:
        """Report nothing."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Server]:
    """A server of the files in the folder `lake`: two with the records, and one that is no part."""
    if find_spec("fsspec") is None or find_spec("aiohttp") is None:
        absent = "fsspec[http] is not installed, so no test of a lake can run"
        if os.environ.get(REQUIRED):
            pytest.fail(f"{absent}, though {REQUIRED} is set")
        pytest.skip(absent)
    lake = tmp_path / "lake"
    (lake / "visits").mkdir(parents=True)
    for name, first in (("visits/a", 0), ("visits/b", 60), ("secret", 0)):
        write(lake / f"{name}.parquet", first)
    server = Server(lake)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def write(place: Path, first: int) -> None:
    """Write sixty records."""
    query = "SELECT range % 40 AS person, range % 90 AS age, $note AS note FROM range($first, $last)"
    values = {"note": CANARY, "first": first, "last": first + 60}
    with duckdb.connect() as connection:
        connection.sql(query, params=values).write_parquet(str(place))


def address(store: Server, path: str) -> str:
    """The address of a file, with a signature, or of a pattern."""
    signature = "" if "*" in path else f"?signature={CANARY}"
    return f"http://127.0.0.1:{store.server_port}/{path}{signature}"


def configure(store: Server, here: Path, path: str, more: str = "") -> None:
    """A configuration of files of the store as the data set `visits`."""
    text = f'[datasets.visits]\nsource = "{address(store, path)}"\nbudget = "1000"\n{more}\n'
    (here / "noisycount.toml").write_text(text)


@pytest.mark.thorough
@pytest.mark.parametrize(("path", "rows"), [("visits/a.parquet", 60), ("visits/*.parquet", 120)])
def test_files_of_a_store_are_counted(run: Run, here: Path, store: Server, path: str, rows: int) -> None:
    """A file or a pattern of a store is counted under its edition, like a table of a server."""
    configure(store, here, path, 'edition = "1"')
    expected = sum(number % 90 >= 65 for number in range(rows))
    told = run(*COUNT).object
    assert (told["answer"], told["charged"]) == (expected, EXACTLY)
    store.shutdown()
    assert run(*COUNT).object["charged"] == "0"
    shown = run("show", "visits", "--json")
    assert shown.object["source"] == f"http://127.0.0.1:{store.server_port}/{path}"
    Thread(target=store.serve_forever, daemon=True).start()
    assert run("check", "visits", "--json").object["rows"] == rows
    assert CANARY not in shown.output + run("ledger", "export").output


def test_only_the_owner_names_a_store(run: Run, here: Path, store: Server) -> None:
    """A typed address is refused, configured or not, and no signature is shown."""
    configure(store, here, "visits/a.parquet")
    for source in (address(store, "visits/a.parquet"), f"s3://{CANARY}:{CANARY}@bucket/a.parquet"):
        told = run("count", source, "--unit", "row", "--where", "true", "--epsilon", "1")
        assert (told.status, told.output) == (2, "")
        assert "is on an object store, which is read only where its owner configured it" in told.errors
        assert CANARY not in told.errors.replace(f"s3://{CANARY}:", "")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("nothing.parquet", "does not exist, or contains no Parquet file: check its address"),
        ("nowhere/*.parquet", "nowhere/*.parquet' "),
        ("broken.parquet", "cannot be read as Parquet: check that its files are whole"),
    ],
)
def test_stores_that_fail(run: Run, here: Path, store: Server, path: str, said: str) -> None:
    """The error is a single line without a charge, and shows only the address's host and path."""
    (here.parent / "lake" / "broken.parquet").write_text(f"PAR1 {CANARY}")
    configure(store, here, path)
    told = run(*COUNT[:-1])
    assert (told.status, told.output) == (4, "")
    assert said in told.errors
    assert CANARY not in told.errors
    assert "nothing was asked yet" in run("ledger", "show").output


def test_a_store_that_goes_away(run: Run, here: Path, store: Server) -> None:
    """It is refused before the debit, as a server that is down."""
    configure(store, here, "visits/a.parquet")
    assert run(*COUNT).status == 0
    store.shutdown()
    store.server_close()
    told = run("count", "visits", "--where", "age < 7", "--epsilon", "1")
    assert (told.status, "check that its store answers" in told.errors) == (4, True)
    assert len(run("ledger", "show", "--json").object["entries"]) == 1


def test_files_that_change_while_they_are_open(store: Server, tmp_path: Path) -> None:
    """They are not those that were opened any more, and are not counted."""
    with DuckDBSource.of_lake(LakePlace.read(address(store, "visits/a.parquet"))) as source:
        assert source.count([parse("age >= 0", source.schema)]) == [60]
        write(tmp_path / "lake" / "visits" / "a.parquet", 60)
        with pytest.raises(SourceError, match="changed while it was open: open it again"):
            source.count([parse("age >= 0", source.schema)])


def test_nothing_else_is_read(store: Server, tmp_path: Path) -> None:
    """The connection reads the files of the lake, for reading, and no other file or address."""
    lake = tmp_path / "lake"
    with DuckDBSource.of_lake(LakePlace.read(address(store, "visits/*.parquet"))) as source:
        for place in (address(store, "secret.parquet"), str(lake / "secret.parquet"), "lake://9.parquet"):
            with pytest.raises(duckdb.Error):
                source.cursors.connection.sql(f"FROM read_parquet('{place}')").fetchall()
        for name in ("lake://0.parquet", "lake://new.parquet"):
            with pytest.raises(duckdb.Error):
                source.cursors.connection.execute(f"COPY (SELECT 1) TO '{name}'")
        assert source.count([parse("note is null", source.schema)]) == [0]
