import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from starlette.routing import Route, Router

from noisycount.service.middleware import LazyRoutes
from noisycount.service.state import ServiceState
from tests.helpers.service_callers import calling
from tests.service.conftest import PATIENCE

HEAVY = {"numpy", "duckdb", "sqlglot", "altair", "joserfc", "noisycount.analysis"}
AT_ONCE = ["/healthz", "/login", "/static/noisycount.css"]


@pytest.mark.thorough
def test_a_service_listens_without_laws_and_engines() -> None:
    """Modules that only questions need are not loaded before the first answer."""
    code = (
        "import sys, noisycount.cli.serve, noisycount.service.server\n"
        f"print('loaded', *sorted(set(sys.modules) & {HEAVY}))"
    )
    loaded = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert loaded.stdout.split() == ["loaded"]


@pytest.mark.parametrize("path", AT_ONCE)
def test_the_first_answers_wait_for_nothing(state: ServiceState, path: str) -> None:
    """The health check and the login form with its style are answered before late modules load."""
    caller = calling(state)
    assert caller.get(path).status_code == 200
    assert not caller.application.state.late.is_there


@pytest.mark.parametrize("path", ["/v1/datasets", "/explore", "/openapi.json", "/nowhere"])
def test_other_questions_wait_for_their_routes(state: ServiceState, path: str) -> None:
    """The first reply is the same as the second, also where nothing is."""
    caller = calling(state)
    first, second = (caller.get(path) for _ in range(2))
    assert caller.application.state.late.is_there
    assert (first.status_code, first.text) == (second.status_code, second.text)
    assert first.status_code == (404 if path == "/nowhere" else 200)


def test_routes_are_loaded_once(state: ServiceState) -> None:
    """However many ask at once; those whose routes are there do not wait for the others."""
    caller, goes_on, loads = calling(state), Event(), []
    late = caller.application.state.late
    add = late.add

    def slowly() -> None:
        loads.append("begun")
        assert goes_on.wait(PATIENCE)
        add()

    late.add = slowly
    with ThreadPoolExecutor() as pool:
        try:
            asked = [pool.submit(caller.get, "/v1/datasets") for _ in range(4)]
            assert caller.get("/healthz").status_code == 200
            assert not any(reply.done() for reply in asked)
        finally:
            goes_on.set()
        assert {reply.result(PATIENCE).status_code for reply in asked} == {200}
    assert loads == ["begun"]


def test_what_cannot_be_loaded_is_tried_again(state: ServiceState) -> None:
    """A failed import is reported once, and the next request tries again."""
    caller = calling(state)
    late = caller.application.state.late
    add = late.add

    def broken() -> None:
        late.add = add
        raise ImportError("no such module")

    late.add = broken
    assert [caller.get("/v1/datasets").status_code for _ in range(2)] == [500, 200]


def test_a_request_of_a_wrong_method_waits_for_nothing() -> None:
    """Its path is known."""
    router = Router([Route("/here", lambda _: None, methods=["GET"])])
    late = LazyRoutes(router, lambda: None)
    scope = {"type": "http", "method": "POST", "headers": [], "root_path": ""}
    assert not late.may_have({**scope, "path": "/here"})
    assert late.may_have({**scope, "path": "/there"})
    late.load()
    assert not late.may_have({**scope, "path": "/there"})
