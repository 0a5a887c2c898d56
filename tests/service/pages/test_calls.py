"""Calls that a page shows are run: by a shell, by Python, and by the service that they name."""

import json
import re
import subprocess
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

import pytest

from noisycount.config.config import load_config
from noisycount.service.keys import Role, User
from noisycount.service.state import ServiceState
from tests.helpers.commands import Run
from tests.helpers.service_callers import OFTEN, calling, serving

NAMED = User("ana", Role.ANALYST, None)
OWNER = User("olga", Role.OWNER, None)
TOWNS = ["O'Hara", "Zürich", 'a,b "c"', "back\\slash $HOME `id` $(id) !", " spaced ", "1..3", "null", ""]
COLUMNS = ["person", "town", "Größe (cm)", "it's", "a=b", "a,b", "a:b", "day", "ok"]
CONFIGURATION = """
[ledger]
url = "sqlite:///ledger.db"

[server]
rate = {rate}

[datasets.Umfrage-2026]
source = "umfrage.parquet"
unit = "person"
size = 300
budget = {{ epsilon = "900", delta = "1e-3" }}
{purpose}
{analysts}
"""
ANALYSTS = "[analysts.ana]\n[analysts.olga]"
EVERYTHING = "analysts and purposes"


@pytest.fixture
def state(request: pytest.FixtureRequest, here: Path) -> Iterator[ServiceState]:
    """Give a service over a few odd records, of which the current folder has the configuration."""
    import polars as pl

    rows = range(300)
    values: list[list[object]] = [
        list(rows),
        [None if i % 9 == 8 else TOWNS[i % 9] for i in rows],
        [120.0 + i % 80 for i in rows],
        [i % 7 for i in rows],
        [f"x={i % 3}" for i in rows],
        [f"y,{i % 3}" for i in rows],
        [f"z:{i % 3}" for i in rows],
        [f"2026-{1 + i % 12:02}-05" for i in rows],
        [i % 2 == 0 for i in rows],
    ]
    frame = pl.DataFrame(dict(zip(COLUMNS, values, strict=True)))
    frame.with_columns(pl.col("day").str.to_date()).write_parquet(here / "umfrage.parquet")
    text = CONFIGURATION.format(
        rate=OFTEN,
        purpose='purpose = "required"' if "purposes" in request.param else "",
        analysts=ANALYSTS if "analysts" in request.param else "",
    )
    (here / "noisycount.toml").write_text(text, encoding="utf-8")
    with serving(load_config(here / "noisycount.toml")) as opened:
        yield opened


def words(command: str, program: str, shell: str = "sh") -> tuple[list[str], str]:
    """Give the words with which a shell calls a program, and what that reads."""
    script = f"{program}() {{ printf '%s\\0' \"$@\"; printf '\\1'; cat; }}\n"
    script += f"uuidgen() {{ echo {token_hex(8)}; }}\n{command} < /dev/null\n"
    if "<<" in command:
        script = script.replace(" < /dev/null", "")
    ran = subprocess.run(  # noqa: S603 - what the page shows, with a function in the program's place
        [f"/bin/{shell}", "-c", script],
        check=True,
        capture_output=True,
        env={"NOISYCOUNT_KEY": "nc_secret", "HOME": "/nowhere", "PATH": "/usr/bin:/bin"},
    )
    given, _, read = ran.stdout.decode().partition("\1")
    return given.split("\0")[:-1], read


def answers_in(told: dict[str, Any]) -> Any:  # noqa: ANN401 - a count, or those of a table
    """Give the answers of a reply; a page tells the rows of a table in the order of the ledger."""
    if "rows" not in told:
        return told["answer"]
    return {(row["level"], *row["keys"].values()): row["answer"] for row in told["rows"]}


def by_command(run: Run, command: str) -> Any:  # noqa: ANN401 - a count, or those of a table
    """Give the answers that the command line tells."""
    given, _ = words(command, "noisycount")
    assert given == words(command, "noisycount", "bash")[0]
    ran = run(*given, "--json")  # the service in this process writes to standard error as well
    assert ran.status == 0, ran.errors
    return answers_in(json.loads(ran.output))


def by_python(code: str) -> Any:  # noqa: ANN401 - the same
    """Give the answers that Python prints."""
    printed: list[Any] = []
    names: dict[str, Any] = {"print": printed.append}
    exec(compile(code, "copied", "exec"), names)  # noqa: S102 - what the page shows
    names["desk"].close()
    (release,) = printed
    if not hasattr(release, "rows"):
        return release.answer
    return {(row.level, *row.labels): row.answer for row in release.rows}


def by_service(state: ServiceState, user: User, command: str) -> Any:  # noqa: ANN401 - the same
    """Give the answers that the service replies to curl."""
    (place, *options), read = words(command, "curl")
    headers = dict(options[at + 1].split(": ", 1) for at, word in enumerate(options) if word == "-H")
    assert headers.pop("Authorization") == "Bearer nc_secret"
    assert options[-2:] == ["--data-binary", "@-"]
    reply = calling(state, user).request("POST", urlsplit(place).path, content=read.encode(), headers=headers)
    assert reply.status_code == 201, reply.text
    return answers_in(reply.json())


def answers(state: ServiceState, user: User, run: Run, page: str) -> list[Any]:
    """Give what each call of a page gets: of the command line, of Python, of curl."""
    command, python, curl = map(unescape, re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", page, re.DOTALL))
    return [by_command(run, command), by_python(python), by_service(state, user, curl)]


FORMS: dict[str, dict[str, object]] = {
    "apostrophe": {"where": "town = 'O''Hara' or town = 'Zürich'"},
    "everything": {"where": "town = 'back\\slash $HOME `id` $(id) !'\nor town = 'a,b \"c\"'"},
    "odd columns": {"where": '"Größe (cm)" >= 150 and "it\'s" < 5 and "a=b" <> \'x=1\''},
    "share": {"where": "ok", "confidence": "0.9"},
    "percent": {"where": "ok", "confidence": "99.5 %", "epsilon": "1/3"},
    "near": {"where": "ok", "goal": "within", "within": "20%", "at_most": "1", "confidence": "0.9"},
    "builder": {"column": "town", "operator": "in", "low": "O'Hara, Zürich", "high": ""},
    "keys": {
        "group": "town",
        "split": "",
        "keys": "'O''Hara',Zürich,'a,b \"c\"','back\\slash $HOME `id` $(id) !',' spaced ','1..3','null',null,''",
        "total": "on",
        "other": "on",
        "groups_per_unit": "1",
    },
    "ranges": {
        "group": ["it's", "Größe (cm)"],
        "split": ["", "0, 150, 170.5"],
        "keys": ["0..3, null", ""],
        "where": "ok",
        "total": "on",
    },
    "missing ranges": {"group": "it's", "split": "0,3", "keys": "null"},
    "months": {"group": "day", "split": "month", "keys": "2026-01..2026-04, null"},
    "days": {"group": "day", "split": "", "keys": "2026-01-05, 2026-02-05"},
    "truths": {"group": "ok", "split": "", "keys": "true, null"},
    "odd groups": {"group": ["a=b", "a,b", "a:b"], "split": ["", "", ""], "keys": ["'x=1','x=2'", "'y,1'", "'z:0'"]},
    "hidden": {
        "group": ["town", "a,b"],
        "split": ["", ""],
        "keys": ["", ""],
        "delta": "1e-4",
        "total": "on",
        "groups_per_unit": "1",
    },
}


@pytest.mark.thorough
@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("state", "name"),
    [
        *((EVERYTHING, name) for name in FORMS),
        *(("analysts", name) for name in ("apostrophe", "keys")),
        *(("nobody named", name) for name in ("apostrophe", "keys")),
    ],
    indirect=["state"],
)
def test_calls_of_a_page_run(state: ServiceState, run: Run, name: str) -> None:
    """Before an answer and behind it each of them gets that answer, and one debit is made."""
    form = {"goal": "epsilon", "epsilon": "5", "confidence": "95%", **FORMS[name]}
    caller = calling(state, NAMED)
    page = caller.request("POST", "/ask/Umfrage-2026", data={**form, "preview": "1"}).text
    assert 'role="alert"' not in page, page
    first, *others = answers(state, NAMED, run, page)
    assert others == [first, first]
    found = re.search(r'name="question" value="(.*?)">', page, re.DOTALL)
    assert found is not None
    sent = {"question": unescape(found[1]), "purpose": "what", "key": "a" * 32}
    place = caller.request("POST", "/ask/Umfrage-2026/spend", data=sent).headers["Location"]
    (entry,) = state.ledger.entries()
    assert entry.analyst == (NAMED.name if state.configuration.analysts else "analyst")
    mine = caller.get(place).text
    if "<pre" in mine:
        assert answers(state, NAMED, run, mine) == [first] * 3
    assert len(state.ledger.entries()) == 1


BODIES: dict[str, dict[str, object]] = {
    **{name: {"where": str(form["where"])} for name, form in FORMS.items() if len(form) == 1},
    "list": {"where": ["town = 'O''Hara'", '"it\'s" >= 3', "town = 'a,b \"c\"'"]},
    "table": {
        "by": ["town", '"a:b"', "day:quarter"],
        "keys": {"town": ["O'Hara", "Zürich", " spaced ", None], "a:b": ["z:0", "z:1"], "day": ["2026-Q1"]},
        "margins": ["all"],
        "groups_per_unit": 2,
        "where": '"Größe (cm)" > 130.5',
    },
    "odd margins": {
        "by": ['"it\'s"', '"a=b"'],
        "keys": {"it's": [-1, 3], "a=b": ["x=1"]},
        "margins": ["it's", "total"],
        "other": True,
    },
    "ranges": {"by": ['"it\'s":0,3,5'], "cumulative": True, "groups_per_unit": 1},
    "hidden": {"by": ["town"], "delta": "1e-4", "groups_per_unit": 1, "margins": ["total"]},
}


@pytest.mark.thorough
@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("state", "name"),
    [*((EVERYTHING, name) for name in BODIES), *(("nobody named", name) for name in ("apostrophe", "table"))],
    indirect=["state"],
)
def test_calls_of_an_answer_run(state: ServiceState, run: Run, name: str) -> None:
    """For its asker, and for an owner who looks at it: each gets the very answer, for nothing."""
    body = {**BODIES[name], "epsilon": "5", "purpose": "it's “for” \\ Zürich"}
    caller = calling(state, NAMED)
    reply = caller.ask(body, "mine", "Umfrage-2026")
    assert reply.status_code == 201, reply.text
    first = answers_in(reply.json())
    for user in (NAMED, OWNER):
        page = calling(state, user).get("/releases/ana:mine").text
        assert answers(state, user, run, page) == [first] * 3
    assert len(state.ledger.entries()) == 1
