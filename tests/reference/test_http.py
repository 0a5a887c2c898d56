import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from noisycount.service.errors import INTERNAL, PROBLEMS, problem_reply
from noisycount.service.state import ServiceState
from tests.helpers.reference_pages import blocks, rows, section, text
from tests.helpers.service_callers import Caller, calling, configured, serving
from tests.helpers.service_process import Service
from tests.service.test_routes import ROWS, Rule

PAGE = "http.md"

ROUTES = rows(text(PAGE), "route", "who may call it", "status", "what it does")
JSON = {"Content-Type": "application/json"}
REFUSALS = ("type", "status", "title", "Retry-After", "when")
WHO = {
    Rule.ANYBODY: "anybody",
    Rule.KNOWN: "every user with a key",
    Rule.GRANTED: "users of the data set",
    Rule.OWN: "the user who asked, and owners",
}


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


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Every route of the document."""
    return {
        f"{method.upper()} {path}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def test_routes_are_those_of_the_document(document: dict[str, Any]) -> None:
    """Each route, the status of its success, and its sentence."""
    told = {
        route: (next(s for s in each["responses"] if s < "300"), each["description"])
        for route, each in operations(document).items()
    }
    assert {route: (status, what) for route, _, status, what in ROUTES} == told


def test_roles_are_those_that_are_tested() -> None:
    """Whom each route answers, as the tests of all routes hold it to."""
    assert {route: who for route, who, _, _ in ROUTES} == {
        route: WHO[row.rule] for route, row in ROWS.items() if "/v1/" in route or "healthz" in route
    }


def test_statuses_are_those_of_the_document(document: dict[str, Any]) -> None:
    """The page lists the statuses that every route has, and those of single routes."""
    sentence = re.search(r"Every route can refuse with ([^.]+)\.", text(PAGE))
    assert sentence is not None
    always = set(re.findall(r"\d{3}", sentence[1]))
    for route, operation in operations(document).items():
        expected = set(always)
        if route not in {"GET /healthz", "GET /v1/datasets"}:
            expected.add("504")
        if route.endswith("/releases"):
            expected |= {"403", "409"}
        assert {status for status in operation["responses"] if status >= "300"} == expected, route


@pytest.mark.parametrize("name", ["Question", "Refining", "Revealing"])
def test_bodies_are_those_of_the_document(document: dict[str, Any], name: str) -> None:
    """Each member with its type, its range unless it is that of most texts, its default and its sentence."""
    schema = document["components"]["schemas"][name]
    required = schema.get("required", [])
    told = [
        (
            member,
            written(each).removesuffix(", 1 to 100 characters" if name == "Question" else ", at most 100 characters"),
            "must be given"
            if member in required
            else json.dumps(each["default"])
            if each.get("default") is not None
            else "none",
            each["description"],
        )
        for member, each in schema["properties"].items()
    ]
    assert rows(section(PAGE, name), "member", "type and range", "default", "what it is") == told


def test_bodies_belong_to_the_routes_of_the_page(document: dict[str, Any]) -> None:
    """The first line below each body names its routes."""
    for name in ("Question", "Refining", "Revealing"):
        line = section(PAGE, name).strip().partition(".")[0]
        found = {
            route.rpartition("/")[2]
            for route, operation in operations(document).items()
            if f"/{name}'" in str(operation.get("requestBody"))
        }
        assert set(re.findall(r"`(\w+)`", line)) == found


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
    """Every kind of problem, with its status, its title and when to ask again."""
    found = rows(text(PAGE), *REFUSALS)
    told = {
        (f"urn:noisycount:{each.name}", str(each.status), each.title, "5 s" if each.again else "")
        for each in (*PROBLEMS.values(), INTERNAL)
    }
    own = {row[:4] for row in found if not row[0].endswith((":form", ":route"))}
    patient = {(*row[:3], "" if row[2] == "Too many requests" else row[3]) for row in own}
    assert patient == told
    assert len(found) == len(told) + 3
    reply = problem_reply(next(iter(PROBLEMS))())
    assert set(json.loads(bytes(reply.body))) == {"type", "title", "status", "detail"}
    assert reply.media_type == "application/problem+json"


def test_refusals_of_form_and_route(caller: Caller) -> None:
    """Refusals without an exception of noisycount are listed with their titles."""
    found = rows(text(PAGE), *REFUSALS)
    own = {row[:3] for row in found if row[0].endswith((":form", ":route"))}
    replies = [
        caller.post("/v1/risk", {"size": "many"}),
        caller.request("POST", "/v1/risk", content=b"{", headers=JSON),
        caller.get("/v1/nothing"),
        caller.get("/v1/risk"),
    ]
    told = {(each.json()["type"], str(each.status_code), each.json()["title"]) for each in replies}
    spread = {(kind, each, title) for kind, s, title in own for each in s.split(" or ")}
    assert told == spread


def written(schema: dict[str, Any]) -> str:
    """A type and its range, in the words of the page."""
    if "anyOf" in schema:
        return _one_of(schema)
    if "enum" in schema:
        return " or ".join(map(json.dumps, schema["enum"]))
    return {"string": _text, "array": _list, "object": _object}.get(schema["type"], _number)(schema)


def _one_of(schema: dict[str, Any]) -> str:
    """Types of which a value has one; that it may be left out is told by its default."""
    kinds = [each for each in schema["anyOf"] if each != {"type": "null"}]
    limits = {key: value for key, value in schema.items() if key not in {"anyOf", "title"}}
    if [each.get("type") for each in kinds] == ["integer", "number"]:
        return _number({**limits, "type": "number"})
    null = ["null"] * (1 < len(kinds) < len(schema["anyOf"]))
    return "; or ".join([*map(written, kinds), *null])


def _text(schema: dict[str, Any]) -> str:
    return f"text, {_size(schema, 'Length')} characters"


def _list(schema: dict[str, Any]) -> str:
    size = f", {_size(schema, 'Items')}" if "maxItems" in schema else ""
    return f"list{size}: {written(schema['items'])}"


def _object(schema: dict[str, Any]) -> str:
    inner = written(schema["additionalProperties"])
    return f"object, {_size(schema, 'Properties')} members: {inner}"


def _size(schema: dict[str, Any], what: str) -> str:
    low = schema.get(f"min{what}")
    return f"{f'{low} to' if low else 'at most'} {schema[f'max{what}']}"


def _number(schema: dict[str, Any]) -> str:
    kind, most = schema["type"], schema.get("maximum", schema.get("le"))
    if most is None:
        return str(kind)
    above = schema.get("exclusiveMinimum", schema.get("gt"))
    if above is not None:
        return f"{kind}, above {above}, at most {int(most)}"
    return f"{kind}, {int(schema.get('minimum', schema.get('ge')))} to {int(most)}"


@pytest.mark.thorough
def test_program_of_the_page_gets_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """The program in Python gets one answer, and the same bytes again."""
    (program,) = blocks(text(PAGE), "python")
    with Service.running("2") as service:
        (key,) = service.keys(["ana"]).values()
        program = program.replace("https://counts.example.org", f"http://127.0.0.1:{service.port}")
        values: dict[str, object] = {}
        exec(compile(program.replace("nc_…", key), PAGE, "exec"), values)  # noqa: S102 - our page
    assert values["answer"] == values["again"]
    assert "±" in capsys.readouterr().out
