"""Tests of `service/analysis.py`."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from noisycount.service.state import ServiceState
from tests.helpers.service_callers import Caller, calling, configured, serving

ROUTES = [
    ("GET", "/v1/datasets"),
    ("GET", "/v1/datasets/{name}"),
    ("POST", "/v1/datasets/{name}/plan"),
    ("POST", "/v1/datasets/{name}/rehearsal"),
    ("POST", "/v1/datasets/{name}/releases"),
    ("GET", "/v1/releases/{id}"),
    ("POST", "/v1/refine"),
    ("POST", "/v1/risk"),
    ("GET", "/healthz"),
]


@pytest.fixture
def state(tmp_path: Path) -> Iterator[ServiceState]:
    """Give a service whose users may ask as often as they like."""
    with serving(configured(tmp_path, budget="1000000", rate=10**9)) as state:
        yield state


def test_the_document_has_every_route_and_no_page(state: ServiceState) -> None:
    """Each with an example of its reply and of each refusal, and of its body."""
    document = calling(state).get("/openapi.json").json()
    found = {(method.upper(), path) for path, each in document["paths"].items() for method in each}
    assert found == set(ROUTES)
    for method, path in ROUTES:
        operation = document["paths"][path][method.lower()]
        for status, reply in operation["responses"].items():
            (content,) = reply["content"].values()
            assert content["example"], (path, status)
        assert {"401", "404", "422", "500"} <= operation["responses"].keys()
    for name in ("Question", "RefineRequest", "RiskRequest"):
        schema = document["components"]["schemas"][name]
        assert schema["additionalProperties"] is False
        assert schema.get("example") or schema["examples"]


@pytest.mark.thorough
def test_every_example_is_what_the_service_replies(state: ServiceState) -> None:
    """Examples can be sent as they are, and real replies have exactly their members."""
    caller = calling(state)
    document = caller.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    count, many, table = schemas["Question"]["examples"]
    assert count["where"] == "health = 'poor'"
    for body in (many, table):
        assert {"epsilon", "where", "by"} & body.keys()
    body = {"where": "age >= 65", "epsilon": "0.1"}
    named = {"name": "stay", "id": "ana:one"}
    bodies = {"/v1/refine": schemas["RefineRequest"]["example"], "/v1/risk": schemas["RiskRequest"]["example"]}
    for method, path in ROUTES:
        place = path.format(**named)
        reply = caller.get(place) if method == "GET" else caller.post(place, bodies.get(path, body), "one")
        shown = document["paths"][path][method.lower()]["responses"][str(reply.status_code)]["content"]
        told, told_as = reply.json(), shown["application/json"]
        jsonschema.validate(told, told_as["schema"])
        jsonschema.validate(told_as["example"], told_as["schema"])
        assert told.keys() == told_as["example"].keys(), path
        for name, value in told_as["example"].items() if path in bodies else ():
            assert not isinstance(value, float) or told[name] == pytest.approx(value, rel=1e-3), name


@pytest.mark.thorough
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_no_request_makes_the_service_fail(state: ServiceState, method: str, path: str) -> None:
    """Whatever the document allows gets a status, a type and a form that it documents; no 5xx."""
    caller = calling(state)
    schema = schemathesis.openapi.from_dict(caller.get("/openapi.json").json())
    operation = schema[path][method]

    @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
    @given(operation.as_strategy(), st.sampled_from(["stay", None]))
    def check(case: schemathesis.Case, name: str | None) -> None:
        if name and "name" in case.path_parameters:
            case.path_parameters["name"] = name
        reply = sent(caller, case)
        assert reply.status_code < 500, reply.text
        case.validate_response(
            reply, checks=[status_code_conformance, content_type_conformance, response_schema_conformance]
        )

    check()


def sent(caller: Caller, case: schemathesis.Case) -> httpx.Response:
    """Give the reply to a case, sent as it stands."""
    said = case.as_transport_kwargs(base_url="http://127.0.0.1")
    said = {name: value for name, value in said.items() if name != "cookies" and value is not None}
    if "data" in said:
        said["content"] = said.pop("data")
    url = said.pop("url").removeprefix("http://127.0.0.1")
    return caller.request(said.pop("method"), url, **said)
