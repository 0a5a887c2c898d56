"""A ledger in PostgreSQL is restored, and the log of the service looks, as `docs/how-to/backup.md` shows."""

import inspect
import json
import os
import re
import shlex
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

import noisycount as nc
from noisycount.data import survey_path
from noisycount.service import server, workers
from noisycount.service.errors import INTERNAL, PROBLEMS
from noisycount.service.middleware import json_line
from tests.helpers.commands import Run
from tests.helpers.postgresql import Server
from tests.helpers.service_callers import calling, configured, serving
from tests.helpers.transcripts import PROJECT, blocks_of

PAGE = PROJECT / "docs/how-to/backup.md"

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the tests run outside the project's folder")


@pytest.mark.thorough
def test_a_dump_of_postgresql_is_restored_by_the_commands_of_the_page(postgresql: Server, run: Run) -> None:
    """The programs of PostgreSQL copy a ledger; `verify` confirms its head in the copy, and refuses another."""
    with postgresql.shell("postgres") as shell:
        shell.execute("CREATE DATABASE ledger")
    try:
        with nc.open_desk(survey_path(), unit="person", ledger=postgresql.url("ledger"), name="survey") as desk:
            desk.release("age >= 50", "0.1")
        (drill,) = (block.text for block in blocks_of(PAGE, "sh") if "pg_dump" in block.text)
        *copying, verifying = map(shlex.split, drill.splitlines())
        environment = {**os.environ, "PGHOST": str(postgresql.folder), "PGUSER": "owner"}
        for program, *words in copying:
            subprocess.run([postgresql.programs / program, *words], check=True, env=environment)  # noqa: S603 - PostgreSQL's own
        restored = postgresql.url("restored")
        head = run("ledger", "verify", "--ledger", postgresql.url("ledger"), "--json").object["head"]
        words = [
            {"postgresql+psycopg:///restored": restored, "NUMBER:HASH": head}.get(word, word) for word in verifying
        ]
        assert f"head: {head}" in run(*words[1:]).output
        assert run(*words[1:-1], f"9:{head.partition(':')[2]}").status == 5
        (renaming,) = (block.text for block in blocks_of(PAGE, "sql"))
        with postgresql.shell("postgres") as shell:
            shell.execute("CREATE ROLE noisycount LOGIN")
            for statement in renaming.split(";\n"):
                shell.execute(statement.encode())
        assert f"head: {head}" in run("ledger", "verify", "--ledger", postgresql.url("ledger")).output
        postgresql.shell("ledger", user="noisycount").close()  # the role may connect again
    finally:
        with postgresql.shell("postgres") as shell:
            for name in ("restored", "damaged", "ledger"):
                shell.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
            shell.execute("DROP ROLE IF EXISTS noisycount")


def test_log_lines_have_the_members_of_the_page(tmp_path: Path) -> None:
    """An answer, and records that are missing, write lines like those of the page; `/healthz` replies as stated."""
    *shown, stopped = (json.loads(line) for block in blocks_of(PAGE, "json") for line in block.text.splitlines())
    lines: list[dict[str, object]] = []
    configuration = configured(tmp_path)
    with serving(configuration) as state:
        caller = calling(state, write=lines.append)
        assert caller.get("/healthz").text in PAGE.read_text(encoding="utf-8")
        assert caller.ask({"where": "age >= 50", "epsilon": "0.1"}, "1").status_code == 201
    (tmp_path / "stay.csv").unlink()
    with serving(configuration) as state:
        assert calling(state, write=lines.append).ask({"where": "age >= 60", "epsilon": "0.1"}, "2").status_code == 503
    written = [json.loads(json_line(line, datetime.now(UTC))) for line in lines[1:]]
    assert [list(line) for line in written] == [list(line) for line in shown]
    differing = ("time", "request", "why", "visitor")  # the caller of the test has no key
    assert [{**line, **dict.fromkeys(differing)} for line in written] == [
        {**line, **dict.fromkeys(differing)} for line in shown
    ]
    assert stopped["event"] in inspect.getsource(server)


def test_a_request_for_a_data_set_shows_that_the_ledger_is_lost(tmp_path: Path) -> None:
    """`/healthz` still replies that the process serves."""
    configuration = configured(tmp_path)
    with serving(configuration) as state:
        caller = calling(state)
        assert caller.get("/v1/datasets/stay").status_code == 200
        assert configuration.ledger_file is not None
        configuration.ledger_file.write_bytes(b"")
        lost = caller.get("/v1/datasets/stay")
        assert (lost.status_code, lost.json()["type"]) == (503, "urn:noisycount:ledger")
        assert caller.get("/healthz").json() == {"status": "ok"}


def test_alerts_name_problems_and_events_of_the_service() -> None:
    """Each problem of the table is one of the service, and each event stands in its source."""
    table = "\n".join(line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| "))
    kinds = {problem.name for problem in (*PROBLEMS.values(), INTERNAL)}
    problems = re.findall(r'`(?:"problem": )?"([\w-]+)"`', table)
    assert len(problems) >= 7
    assert set(problems) <= kinds
    source = inspect.getsource(server) + inspect.getsource(workers)
    for event in re.findall(r'`("event": "[\w ]+")', table):
        assert event in source
