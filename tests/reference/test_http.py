import json
import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from noisycount.service.errors import INTERNAL, PROBLEMS, problem_reply
from noisycount.service.state import ServiceState
from tests.helpers.reference_pages import blocks, section
from tests.helpers.service_callers import Caller, calling, configured, serving
from tests.http_page import PAGE, operations, page
from tests.service.test_routes import ROWS, Rule

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def state(tmp_path: Path) -> Iterator[ServiceState]:
    """Give a service whose users may ask as often as they like."""
    with serving(configured(tmp_path, budget="1000000", rate=10**9)) as state:
        yield state


@pytest.fixture
def caller(state: ServiceState) -> Caller:
    """Give somebody who may ask."""
    return calling(state)


@pytest.fixture
def document(caller: Caller) -> dict[str, Any]:
    """Give what the service says of itself."""
    return dict(caller.get("/openapi.json").json())


def test_second_half_is_that_of_the_document() -> None:
    """Routes, parameters, bodies and refusals are those of the service; `python -m tests.http_page` writes them."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_page_has_every_route_status_and_member(document: dict[str, Any]) -> None:
    """Nothing of the document is left out on the way to the page."""
    text = PAGE.read_text(encoding="utf-8").partition("## Routes")[2]
    for route, operation in operations(document).items():
        assert text.count(f"| `{route}`") == 1
        assert operation["summary"] != operation["operationId"].partition("_")[0].title()
        assert all(f"**{status}**" in text for status in operation["responses"] if status >= "400")
        assert all(f"* `{parameter['name']}` " in text for parameter in operation.get("parameters", []))
    for schema in document["components"]["schemas"].values():
        assert all(f"`{member}` *" in text for member in schema["properties"])


def test_roles_are_those_that_are_tested() -> None:
    """Only the routes that need no key on the page answer without one; the others are for users and owners."""
    sentence = section("http.md", "Authentication").partition("need none")[0]
    open_routes = {name for name, row in ROWS.items() if row.rule is Rule.ANYBODY and f"`{name}`" in sentence}
    assert open_routes == {"GET /healthz", "GET /openapi.json"} == set(re.findall(r"`(GET [^`]+)`", sentence))
    rules = {row.rule for name, row in ROWS.items() if "/v1/" in name}
    assert rules == {Rule.KNOWN, Rule.GRANTED, Rule.OWN}


def test_header_is_that_of_the_document(document: dict[str, Any]) -> None:
    """The Idempotency-Key is needed, and of the characters of the page."""
    operation = operations(document)["POST /v1/datasets/{name}/releases"]
    (header,) = [each for each in operation["parameters"] if each["in"] == "header"]
    assert (header["name"], header["required"]) == ("Idempotency-Key", True)
    pattern = re.compile(header["schema"]["pattern"])
    assert pattern.match("Az09._~-" * 12)
    assert pattern.match('"a"')
    assert not any(map(pattern.match, ("", "a" * 101, "a:b", "a b", '"a')))
    queries = [
        each["name"]
        for operation in operations(document).values()
        for each in operation.get("parameters", [])
        if each["in"] == "query"
    ]
    assert queries == ["epsilon"]


def test_same_key_gives_the_same_bytes(caller: Caller) -> None:
    """The table of keys: charged once, the same again, and no other body."""
    body = {"where": "age >= 65", "epsilon": "0.01"}
    first = caller.ask(body, "reference-1")
    again = caller.ask(dict(reversed(body.items())), "reference-1")
    other = caller.ask(body | {"epsilon": "0.02"}, "reference-1")
    assert (first.status_code, again.status_code, other.status_code) == (201, 201, 422)
    assert (first.content, other.json()["type"]) == (again.content, "urn:noisycount:key-reuse")
    assert first.json()["key"].endswith(":reference-1")
    assert first.headers["Location"] == f"/v1/releases/{first.json()['key']}"
    third = caller.ask(body, "reference-2").json()
    assert (third["charged"], third["first"]) == ("0", first.json()["key"])
    assert caller.post("/v1/datasets/stay/releases", body).status_code == 422


def test_refusals_are_those_of_the_code() -> None:
    """Each kind of refusal that a program can get stands there once with its status."""
    found = {
        (int(status), name)
        for status, causes in re.findall(r"^\* \*\*(\d+)\*\* (.+)$", section("http.md", "Refusals"), re.MULTILINE)
        for name in re.findall(r"`([a-z-]+)`: ", causes)
    }
    problems = {(each.status, each.name) for each in (*PROBLEMS.values(), INTERNAL)}
    browser = {(403, "forbidden"), (403, "forged")}  # of pages only
    assert found == problems - browser | {(422, "form"), (400, "form"), (404, "route"), (405, "route")}
    reply = problem_reply(next(iter(PROBLEMS))())
    assert set(json.loads(bytes(reply.body))) == {"type", "title", "status", "detail"}
    assert reply.media_type == "application/problem+json"


@pytest.mark.parametrize(
    ("method", "path", "content", "problem"),
    [
        ("POST", "/v1/risk", b'{"size": "many"}', (422, "form")),
        ("POST", "/v1/risk", b"{", (400, "form")),
        ("GET", "/v1/nothing", b"", (404, "route")),
        ("GET", "/v1/risk", b"", (405, "route")),
    ],
)
def test_refusals_of_form_and_route(
    caller: Caller, method: str, path: str, content: bytes, problem: tuple[int, str]
) -> None:
    """Refusals without an exception of noisycount have the status and the type of the page."""
    reply = caller.request(method, path, content=content, headers=JSON)
    assert (reply.status_code, reply.json()["type"]) == (problem[0], f"urn:noisycount:{problem[1]}")


def test_session_of_the_page_gets_an_answer(caller: Caller) -> None:
    """The requests of the page show a data set, preview a question and answer it."""
    (block,) = blocks(PAGE.read_text(encoding="utf-8"), "sh")
    replies = [sent(caller, shlex.split(line)) for line in block.replace("\\\n", " ").splitlines()]
    assert [reply.status_code for reply in replies] == [200, 200, 201]
    offer, plan, answer = (reply.json() for reply in replies)
    assert "age" in offer["columns"]
    assert (plan["answer"], answer["key"]) == (None, "ana:elderly-1")


def sent(caller: Caller, words: list[str]) -> httpx.Response:
    """Send the request of a curl command about the survey to the service of the tests."""
    assert words[0] == "curl"
    options = list(pairwise(words))
    headers = dict(value.split(": ", 1) for option, value in options if option == "-H")
    assert headers.pop("Authorization") == "Bearer $NOISYCOUNT_KEY"
    (path,) = [urlsplit(word).path.replace("/survey", "/stay") for word in words if word.startswith("https://")]
    content = [value.encode() for option, value in options if option == "--json"]
    if not content:
        return caller.get(path)
    return caller.request("POST", path, content=content[0], headers={**JSON, **headers})
