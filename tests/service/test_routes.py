import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import duckdb
import httpx
import pytest
from fastapi import FastAPI

from noisycount.config.config import load_config
from noisycount.service.app import application
from noisycount.service.keys import Key, Keyring, Role
from tests.helpers.service_callers import Caller, problem, serving

HOST = "http://desk.example.org"
DATASETS = """
[server]
rate = 1000000
[datasets.survey]
source = "survey.parquet"
unit = "person"
[datasets.payroll]
source = "payroll.parquet"
unit = "person"
"""
ASKED = {
    "ana": ("survey", "year > 19170001"),
    "cydonia": ("survey", "year > 19170002"),
    "zebulon": ("payroll", "year > 19170003"),
}
SECRETS = ("payroll", "salary", "zebulon", "cydonia", "19170002", "19170003")
ABSENT = "paybill"  # as long as the name of the other data set


class Rule(Enum):
    """Whom a route answers."""

    ANYBODY = auto()
    KNOWN = auto()  # every known user, the same for all
    GRANTED = auto()  # whoever may see the data set in its path
    OWN = auto()  # the user who asked for the release in its path, owners and officers
    READERS = auto()  # owners and officers


@dataclass(frozen=True, slots=True)
class Row:
    """A route, whom it answers, and what a good request to it has."""

    rule: Rule  # whom it answers
    body: Mapping[str, Any] | None = None  # JSON
    form: Mapping[str, str] | None = None  # fields of a form, in place of a body
    spends: bool = False  # whether it has a key of idempotency
    query: str = ""  # of the address

    def headers(self, value: str) -> dict[str, str]:
        """Return the headers of a request about a data set."""
        return {"Idempotency-Key": f"matrix-{value}"} if self.spends else {}


QUESTION = {"where": "year > 1", "epsilon": "0.01"}
TYPED = {"where": "year > 1", "goal": "epsilon", "epsilon": "0.01", "confidence": "95%"}
ROWS = {
    "GET /healthz": Row(Rule.ANYBODY),
    "GET /openapi.json": Row(Rule.ANYBODY),
    "GET /static/{name}": Row(Rule.ANYBODY),
    "GET /docs": Row(Rule.ANYBODY),
    "GET /docs/{address:path}": Row(Rule.ANYBODY),
    "GET /login": Row(Rule.ANYBODY),
    "POST /login": Row(Rule.ANYBODY, form={"key": "nc_"}),
    "POST /logout": Row(Rule.KNOWN, form={}),
    "GET /": Row(Rule.ANYBODY),
    "GET /ask": Row(Rule.KNOWN),
    "GET /ask/{name}": Row(Rule.GRANTED),
    "POST /ask/{name}": Row(Rule.GRANTED, form=TYPED),
    "POST /ask/{name}/spend": Row(Rule.GRANTED, form={"question": json.dumps(QUESTION)}),
    "GET /releases/{name}": Row(Rule.OWN),
    "GET /releases/{name}/file": Row(Rule.OWN),
    "GET /explore": Row(Rule.KNOWN),
    "GET /explore/fragment": Row(Rule.KNOWN, query="?chart=posterior"),
    "GET /explore/data": Row(Rule.KNOWN, query="?chart=posterior"),
    "GET /ledger": Row(Rule.KNOWN),
    "GET /ledger/export": Row(Rule.KNOWN),
    "GET /report": Row(Rule.READERS),
    "GET /report/file": Row(Rule.READERS),
    "GET /v1/datasets": Row(Rule.KNOWN),
    "GET /v1/datasets/{name}": Row(Rule.GRANTED),
    "POST /v1/datasets/{name}/plan": Row(Rule.GRANTED, QUESTION),
    "POST /v1/datasets/{name}/rehearsal": Row(Rule.GRANTED, QUESTION),
    "POST /v1/datasets/{name}/releases": Row(Rule.GRANTED, QUESTION, spends=True),
    "GET /v1/releases/{id}": Row(Rule.OWN),
    "POST /v1/refine": Row(Rule.KNOWN, {"answers": [10], "size": 30, "rate": "9%", "epsilon": "1"}),
    "POST /v1/risk": Row(Rule.KNOWN, {"size": 30, "rate": "9%", "price": "1"}),
}


@dataclass(frozen=True, slots=True)
class Desk:
    """A service of two data sets, with analysts who may see one each, an owner and an officer."""

    application: FastAPI
    keys: Mapping[str, Key]

    def client(self, name: str | None) -> Caller:
        """Somebody with a key, or nobody."""
        headers = {} if name is None else {"Authorization": f"Bearer {self.keys[name].text}"}
        return Caller(self.application, headers, HOST)

    def browser(self, name: str) -> tuple[Caller, str]:
        """Somebody with a session, and the token of their forms."""
        auth = self.application.state.auth
        begun = auth.login(self.keys[name].text)
        assert begun is not None
        session = auth.sessions.session(begun[0])
        assert session is not None
        client = Caller(self.application, {"Accept": "text/html", "Origin": HOST}, HOST)
        client.cookies.set("noisycount", begun[0], "desk.example.org", "/")
        return client, session.csrf


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """The desk, with an answer about each data set that was paid for by its analyst."""
    folder = tmp_path_factory.mktemp("desk")
    for name, column in (("survey", "age"), ("payroll", "salary")):
        with duckdb.connect() as engine:
            table = engine.sql("SELECT range AS person, 2000 AS year FROM range(50)")
            table.project(f"*, person AS {column}").write_parquet(f"{folder / name}.parquet")
    (folder / "noisycount.toml").write_text(DATASETS)
    configuration = load_config(folder / "noisycount.toml")
    ring = Keyring.from_config(configuration)
    grants = {"ana": "survey", "zebulon": "payroll", "cydonia": "survey", "ana of payroll": "payroll"}
    keys = {who: ring.issue(who.split()[0], Role.ANALYST, [dataset])[0] for who, dataset in grants.items()}
    keys["olga"] = ring.issue("olga", Role.OWNER, None)[0]
    keys["otto"] = ring.issue("otto", Role.OFFICER, ())[0]
    with serving(configuration) as state:
        found = Desk(application(state), keys)
        for who, (dataset, question) in ASKED.items():
            body = {"where": question, "epsilon": "0.01"}
            head = {"Idempotency-Key": dataset}
            place = f"/v1/datasets/{dataset}/releases"
            assert found.client(who).post(place, json=body, headers=head).status_code == 201
        yield found


def routes(listed: Iterable[object]) -> Iterator[str]:
    """Every method and path that is answered, in routers within routers too."""
    for route in listed:
        inside = getattr(route, "original_router", None)  # of a router that was included
        if inside is not None:
            yield from routes(inside.routes)
            continue
        kind, path = type(route).__name__, getattr(route, "path", "")
        methods = getattr(route, "methods", None)
        assert methods, f"{kind} is no route that this test can ask"
        yield from (f"{method} {path}" for method in methods - {"HEAD", "OPTIONS"})


def ask(desk: Desk, who: str | None, name: str, value: str = "survey") -> httpx.Response:
    """The reply to a good request to a route, with a value for whatever its path leaves open."""
    return send(desk.client(who), name, value)


def send(client: Caller, name: str, value: str, **form: str) -> httpx.Response:
    """The reply to somebody."""
    row, (method, path) = ROWS[name], name.split()
    place = re.sub(r"\{[^}]*\}", value, path) + row.query
    rest: dict[str, Any] = {"headers": row.headers(value)}
    if row.form is not None or form:
        rest["data"] = {**(row.form or {}), **form}
    elif row.body is not None:
        rest["json"] = row.body
    return client.request(method, place, **rest)


def told(reply: httpx.Response) -> tuple[int, bytes, list[tuple[str, str]]]:
    """Return the visible parts of a reply, without the requested name."""
    headers = [(n, text) for n, text in reply.headers.items() if n != "x-request-id"]
    content = re.sub(rb"payroll|paybill", b"...", reply.content)
    return reply.status_code, re.sub(rb"[0-9a-f]{32}", b"random", content), headers


def of_rule(*rules: Rule) -> list[str]:
    """The routes of some rules."""
    return [name for name, row in ROWS.items() if row.rule in rules]


PROTECTED = of_rule(Rule.KNOWN, Rule.GRANTED, Rule.OWN, Rule.READERS)
ANSWERING = of_rule(Rule.KNOWN, Rule.GRANTED)
ASKING = [name for name in of_rule(Rule.GRANTED) if ROWS[name].body is not None]
FILTERS = [("dataset", "payroll", ABSENT), ("analyst", "zebulon", "zabulon")]
POSTS = [name for name in PROTECTED if name.startswith("POST")]
PAGES = [name for name in PROTECTED if name.startswith("GET") and " /v1/" not in name]


def test_every_route_has_a_row(desk: Desk) -> None:
    """A route that nobody thought about fails here; so does a row of a route that is gone."""
    assert sorted(routes(desk.application.routes)) == sorted(ROWS)


@pytest.mark.parametrize("path", ["/ask/", "/login/", "/v1/datasets/"])
def test_a_slash_too_many_leads_nowhere(desk: Desk, path: str) -> None:
    """Least of all to the host that the head of the request names."""
    reply = desk.client("ana").request("GET", path, headers={"Host": "elsewhere.example"})
    assert reply.status_code == 404
    assert "location" not in reply.headers


@pytest.mark.parametrize("name", PROTECTED)
def test_nobody_reads_or_does_anything(desk: Desk, name: str) -> None:
    """Without a key each route says the same, whatever stands in its path."""
    replies = [ask(desk, None, name, value) for value in ("survey", "payroll", ABSENT)]
    assert {reply.status_code for reply in replies} == {401}
    assert len({reply.content for reply in replies}) == 1
    assert all("www-authenticate" in reply.headers for reply in replies)


@pytest.mark.parametrize("name", of_rule(Rule.ANYBODY))
def test_what_is_for_anybody_tells_nothing(desk: Desk, name: str) -> None:
    """The login, the style and the document of the routes name no data set and nobody."""
    reply = ask(desk, None, name, "noisycount.css")
    assert reply.status_code in {200, 303, 403, 404}
    assert not any(secret in reply.text for secret in SECRETS)


@pytest.mark.parametrize("name", [name for name in ANSWERING if name != "POST /logout"])
@pytest.mark.parametrize("who", ["ana", "olga"])
def test_who_may_is_answered(desk: Desk, who: str, name: str) -> None:
    """An analyst about the data set that was granted, an owner about each."""
    for value in ("survey", "payroll") if who == "olga" else ("survey",):
        assert ask(desk, who, name, value).status_code < 400


@pytest.mark.parametrize("name", of_rule(Rule.GRANTED))
def test_another_data_set_is_as_one_that_is_not_there(desk: Desk, name: str) -> None:
    """Status, headers and bytes are the same, for a key and for a session, and tell no column."""
    other, absent = (ask(desk, "ana", name, value) for value in ("payroll", ABSENT))
    assert other.status_code == 404
    assert told(other) == told(absent)
    client, csrf = desk.browser("ana")
    other, absent = (send(client, name, value, csrf=csrf) for value in ("payroll", ABSENT))
    assert told(other) == told(absent)
    assert other.status_code in {404, 422}  # a form is no JSON


@pytest.mark.parametrize("name", ASKING)
@pytest.mark.parametrize(
    "question",
    [
        *({"where": where, "epsilon": "0.01"} for where in ("salary > 10", "nothing > 10", "salary >")),
        *({"where": "year > 1", "epsilon": price} for price in ("1000", "0")),
        *({"where": "year > 1"}, {"by": ["year"], "keys": {"year": [2000]}, "epsilon": "0.01"}),
    ],
    ids=str,
)
def test_no_question_tells_another_data_set(desk: Desk, name: str, question: dict[str, Any]) -> None:
    """A hidden data set replies as an absent one, whether or not the question fits it."""
    row, (method, path) = ROWS[name], name.split()
    client = desk.client("ana")
    other, absent = (
        client.request(method, path.format(name=value), json=question, headers=row.headers(value))
        for value in ("payroll", ABSENT)
    )
    assert told(other) == told(absent)


@pytest.mark.parametrize("name", of_rule(Rule.GRANTED))
def test_an_officer_asks_nothing(desk: Desk, name: str) -> None:
    """Every data set is as one that is not there, by a key and by a session, and the ledger stays as it is."""
    client, csrf = desk.browser("otto")
    before = desk.client("otto").get("/ledger/export").text
    for there, absent in (
        (ask(desk, "otto", name, "survey"), ask(desk, "otto", name, ABSENT)),
        (send(client, name, "survey", csrf=csrf), send(client, name, ABSENT, csrf=csrf)),
    ):
        assert there.status_code in {404, 422}  # a form is no JSON
        assert told(there)[0] == told(absent)[0]
        assert there.content.replace(b"survey", b"...") == absent.content.replace(ABSENT.encode(), b"...")
    assert ask(desk, "otto", name).status_code == 404
    assert desk.client("otto").get("/ledger/export").text == before


@pytest.mark.parametrize("name", of_rule(Rule.KNOWN))
def test_an_officer_uses_what_every_user_may(desk: Desk, name: str) -> None:
    """The list of data sets is empty, and the page of questions leads to the ledger."""
    reply = ask(desk, "otto", name)
    if name == "POST /logout":
        assert reply.status_code == ask(desk, "ana", name).status_code
    else:
        assert reply.status_code < 400
    if name == "GET /v1/datasets":
        assert reply.json() == {"datasets": []}
    if name == "GET /ask":
        assert (reply.status_code, reply.headers["location"]) == (303, "/ledger")


@pytest.mark.parametrize("name", of_rule(Rule.OWN))
def test_an_answer_is_its_askers(desk: Desk, name: str) -> None:
    """To others, also of the same data set, and to who may no more ask of it, it is as one that was never given."""
    for who, release in (("ana", "ana:survey"), ("olga", "zebulon:payroll"), ("otto", "zebulon:payroll")):
        assert ask(desk, who, name, release).status_code == 200
    for who, release in (("ana", "zebulon:payroll"), ("ana", "cydonia:survey"), ("ana of payroll", "ana:survey")):
        other, absent = (ask(desk, who, name, each) for each in (release, f"zebulon:{ABSENT}"))
        assert other.status_code == 404
        assert told(other) == told(absent)


@pytest.mark.parametrize("name", of_rule(Rule.READERS))
def test_what_owners_and_officers_read_is_refused_to_analysts(desk: Desk, name: str) -> None:
    """With 403, by a key and by a session, and they are told whom to ask."""
    refused = ask(desk, "ana", name)
    assert problem(refused) == (403, "forbidden")
    client, csrf = desk.browser("ana")
    assert send(client, name, "survey", csrf=csrf).status_code == 403
    assert ask(desk, "olga", name).status_code < 400
    assert ask(desk, "otto", name).status_code < 400


@pytest.mark.parametrize("name", [each for each in PROTECTED if each.startswith("GET")])
def test_an_analyst_reads_of_no_other(desk: Desk, name: str) -> None:
    """No route names another's data set, its columns, or its analyst, to a key or a browser."""
    client, _ = desk.browser("ana")
    for reply in (ask(desk, "ana", name), send(client, name, "survey")):
        assert not any(secret in reply.text for secret in SECRETS)


@pytest.mark.parametrize("path", ["/ledger", "/ledger/export"])
@pytest.mark.parametrize(("filter_", "there", "absent"), FILTERS)
def test_no_filter_tells_of_others(desk: Desk, path: str, filter_: str, there: str, absent: str) -> None:
    """A filter by another analyst's entries gives the reply of an unknown name."""
    client, _ = desk.browser("ana")
    texts = []
    for value in (there, absent):
        for who in (client, desk.client("ana")):
            reply = who.get(f"{path}?{filter_}={value}")
            assert reply.status_code == 200
            texts.append(reply.text.replace(value, "..."))
    assert (texts[0], texts[1]) == (texts[2], texts[3])


@pytest.mark.parametrize("path", ["/ledger", "/ledger/export", "/ledger/export?form=json"])
def test_the_ledger_of_an_analyst_is_what_they_asked_and_may_see(desk: Desk, path: str) -> None:
    """Their own entries, but for data sets that were taken from them; an owner and an officer read all."""
    readers = [desk.client(who).get(path).text for who in ("ana", "ana of payroll", "olga", "otto")]
    shown = [[number for number in range(1, 4) if f"1917000{number}" in text] for text in readers]
    assert shown == [[1], [], [1, 2, 3], [1, 2, 3]]


@pytest.mark.parametrize("name", POSTS)
def test_a_session_posts_nothing_without_a_token(desk: Desk, name: str) -> None:
    """No route forgets it: without the token, or with another's, 403 and nothing is done."""
    client, _ = desk.browser("olga")
    foreign = desk.browser("ana")[1]
    for form in ({}, {"csrf": foreign}):
        reply = send(client, name, "survey", **form)
        assert reply.status_code == 403
        assert "not from this session" in reply.text


@pytest.mark.parametrize("name", [name for name in POSTS if ROWS[name].form is not None])
@pytest.mark.parametrize("button", ["", "add", "add_group", "remove", "remove_group", "rehearse"])
def test_no_form_makes_a_page_stumble(desk: Desk, name: str, button: str) -> None:
    """A button without the fields that go with it, which no page sends, is no error of ours."""
    client, csrf = desk.browser("ana")
    path = name.split()[1].format(name="survey")
    assert client.post(path, data={button: "", "csrf": csrf}).status_code < 500


@pytest.mark.parametrize("name", PAGES)
def test_every_form_carries_the_token(desk: Desk, name: str) -> None:
    """Each that posts has the token of the session that it was shown to."""
    client, csrf = desk.browser("olga")
    value = "ana:survey" if ROWS[name].rule is Rule.OWN else "survey"
    reply = send(client, name, value)
    assert reply.status_code < 400
    for form in re.findall(r"<form\b[^>]*method=\"?post.*?</form>", reply.text, re.DOTALL):
        assert f'name="csrf" value="{csrf}"' in form
    assert not re.search(r"<form\b(?![^>]*method=)[^>]*>(?:(?!</form>).)*password", reply.text)
