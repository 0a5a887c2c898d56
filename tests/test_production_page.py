"""The service behaves as `docs/how-to/production.md` shows, and PostgreSQL keeps a ledger as that page describes."""

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import noisycount as nc
from noisycount.config.config import load_config
from noisycount.config.service import ServiceConfig
from noisycount.data import survey_path
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.replies import Reply
from noisycount.service.keys import Keyring, Role
from tests.helpers.postgresql import Server
from tests.helpers.service_callers import calling, configured, serving
from tests.helpers.transcripts import PROJECT, blocks_of

PAGE = PROJECT / "docs/how-to/production.md"
ADDRESS = "@/ledger?host=/run/postgresql"
REFUSED = (
    *("UPDATE ledger SET epsilon = '0'", "DELETE FROM ledger", "TRUNCATE ledger", "DROP TABLE ledger"),
    *("DROP TRIGGER ledger_refuses_update ON ledger", "ALTER TABLE ledger DISABLE TRIGGER ALL"),
    *("DROP FUNCTION ledger_refuses() CASCADE", "DELETE FROM replies", "CREATE TABLE more (n integer)"),
)

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the tests run outside the project's folder")


def block(language: str, part: str) -> str:
    """Return the one block of a language of the page that contains a text."""
    (block,) = (each.text for each in blocks_of(PAGE, language) if part in each.text)
    return block


def test_the_configuration_states_defaults(tmp_path: Path) -> None:
    """The page's configuration loads, and its table `[server]` has a slot and proxies, by default as stated."""
    (tmp_path / "noisycount.toml").write_text(block("toml", "[server]"), encoding="utf-8")
    assert load_config(tmp_path / "noisycount.toml").service == ServiceConfig()
    assert set(tomllib.loads(block("toml", "[server]"))["server"]) == {"slot", "proxies"}


def test_the_first_question_of_the_page_is_answered(tmp_path: Path) -> None:
    """The body of the request that tries the proxy is a question of the service."""
    words = shlex.split(block("sh", "first-question"))
    question = json.loads(words[words.index("--json") + 1])
    with serving(configured(tmp_path)) as state:
        assert calling(state).ask(question, "first-question").status_code == 201


def test_keys_are_stored_behind_the_link_of_the_page(tmp_path: Path) -> None:
    """With a ledger in PostgreSQL, the folder of keys may be a link to a folder that the unit can write to."""
    *_, target, link = map(Path, shlex.split(block("sh", "ln -s")))
    state, folder = tmp_path / target.name, tmp_path / "etc"
    state.mkdir(mode=0o700)
    folder.mkdir()
    (folder / link.name).symlink_to(state)
    survey = '[datasets.survey]\nsource = "survey.parquet"\nunit = "person"\n'
    (folder / "noisycount.toml").write_text(survey + block("toml", ADDRESS), encoding="utf-8")
    configuration = load_config(folder / "noisycount.toml")
    Keyring.from_config(configuration).issue("ana", Role.ANALYST, ["survey"], None)
    assert {"access.json", "access.secret"} <= {path.name for path in state.iterdir()}
    assert [key.name for key in Keyring.from_config(configuration).issued()] == ["ana"]


@pytest.fixture
def administrated(postgresql: Server) -> Iterator[Server]:
    """Yield a server on which the role and the database of the page were made; remove both afterwards."""
    with postgresql.shell("postgres") as shell:
        for statement in block("sql", "CREATE DATABASE").split(";\n"):
            shell.execute(statement.encode())
    with postgresql.shell("ledger") as shell:
        shell.execute(block("sql", "USAGE, CREATE").encode())
    yield postgresql
    with postgresql.shell("postgres") as shell:
        shell.execute("DROP DATABASE ledger WITH (FORCE)")
        shell.execute("DROP ROLE noisycount")
        shell.execute("DROP ROLE IF EXISTS ledger_owner")


@pytest.mark.thorough
def test_a_ledger_in_postgresql_keeps_its_rows_from_its_own_role(administrated: Server) -> None:
    """The role of the page asks and stores replies before and after the tables are taken from it, and changes none."""
    (address,) = re.findall(r'url = "(\S+)"', block("toml", ADDRESS))
    url = address.replace(ADDRESS, f"@/ledger?host={administrated.folder}")
    answer_and_reply(url, "age >= 50", "ana:1")
    with administrated.shell("ledger") as shell:
        shell.execute(block("sql", "ledger_owner").encode())
    answer_and_reply(url, "age >= 60", "ana:2")
    with administrated.shell("ledger", user="noisycount") as shell:
        for statement in REFUSED:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                shell.execute(statement.encode())
        assert shell.execute("SELECT count(*) FROM replies").fetchall() == [(2,)]
    with Ledger.open(url) as ledger:
        assert len(ledger.entries()) == 2
        assert ledger.verify().broken is None


def answer_and_reply(url: str, where: str, name: str) -> None:
    """Charge a question to a ledger, and store a reply of a service beside it."""
    with nc.open_desk(survey_path(), unit="person", ledger=url, name="survey") as desk:
        desk.release(where, "0.1")
    with Ledger.open(url) as ledger:
        ledger.replies.store(Reply(name, "survey", name, b"{}"))
