import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from noisycount.config.config import Config, load_config
from tests.helpers.postgresql import Server
from tests.helpers.transcripts import as_far, blocks, output, pieces, transcripts

PAGE = Path(__file__).parents[1] / "docs/how-to/servers.md"
TEXT = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
PLACE = "@db.example.org/clinic"
REFUSED = "-- refused to counter\n"
MADE = """
CREATE TABLE visits (person integer NOT NULL, age integer, town text, seen date, note text);
INSERT INTO visits SELECT n, n % 90, (ARRAY['Bern', 'Biel', 'Thun'])[1 + n % 3], '2026-01-31', ''
FROM generate_series(1, 90) AS n;
CREATE TABLE staff (name text)
"""

pytestmark = pytest.mark.skipif(not TEXT, reason="the tests run outside the project's folder")


@pytest.fixture
def clinic(postgresql: Server) -> Iterator[Server]:
    """A server with the database that the page is about, of which nothing is left."""
    with postgresql.shell("postgres") as shell:
        shell.execute("CREATE DATABASE clinic")
    with postgresql.shell("clinic") as shell:
        shell.execute(MADE)
    yield postgresql
    with postgresql.shell("postgres") as shell:
        shell.execute("DROP DATABASE clinic WITH (FORCE)")
        shell.execute("DROP ROLE IF EXISTS counter")


def statements(block: str) -> list[str]:
    """The statements of a block of SQL."""
    return [each for each in block.removeprefix(REFUSED).split(";\n") if each.strip()]


def require_refused(server: Server, statement: str) -> None:
    """Nothing but a missing right keeps the account from it."""
    with server.shell("clinic", user="counter") as shell:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            shell.execute(statement.encode())
        shell.rollback()
    with server.shell("clinic") as shell:
        shell.execute(f"BEGIN; {statement}; ROLLBACK".encode())


@pytest.mark.thorough
def test_the_page_is_executed(
    clinic: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its role is made, what that may not do is refused, and its commands print what they show."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    done = {"toml": 0, "sql": 0, "console": 0}
    executed = [(each.language, each.text) for each in blocks(TEXT) if each.language in done]
    for language, block in sorted(executed, key=lambda each: "CREATE ROLE" not in each[1]):
        done[language] += 1
        if language == "toml" and PLACE not in block:
            loaded(tmp_path, block)
        elif language == "toml":
            here = block.replace(PLACE, f"@/clinic?host={clinic.folder}")
            (tmp_path / "noisycount.toml").write_text(here, encoding="utf-8")
        elif block.startswith(REFUSED):
            for statement in statements(block):
                require_refused(clinic, statement)
        elif language == "sql":
            with clinic.shell("clinic") as shell:
                shell.execute(block.encode())
        else:
            for command, printed in transcripts(block):
                found, shown = as_far(pieces(command, output(command, capsys)), pieces(command, printed))
                assert found == shown
    assert done == {"toml": 2, "sql": 4, "console": 1}


def loaded(folder: Path, block: str) -> Config:
    """The configuration that a block is."""
    path = folder / "noisycount.toml"
    path.write_text(block, encoding="utf-8")
    return load_config(path)


def test_every_address_of_the_page_is_one(tmp_path: Path) -> None:
    """Each address in the table can be configured, and is a data set of its own."""
    addresses = re.findall(r"`(\w+(?:\+\w+)?://[^`…]+#[^`…]+)`", TEXT)
    blocks = [f'[datasets.d{n}]\nsource = "{each}"\n' for n, each in enumerate(addresses)]
    assert len(loaded(tmp_path, "".join(blocks)).datasets) == len(addresses) >= 6
