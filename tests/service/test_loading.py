import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from starlette.routing import Route, Router

from noisycount.service.app import application
from noisycount.service.middleware import LazyRoutes
from tests.service.callers import Caller, calling, configured, serving

PATIENCE = 60.0  # seconds
HEAVY = {"numpy", "duckdb", "sqlglot", "altair", "joserfc", "noisycount.analysis"}
AT_ONCE = ["/healthz", "/login", "/static/noisycount.css"]


def test_a_service_listens_without_laws_and_engines() -> None:
    """What only questions need is not loaded before the first answer."""
    code = (
        "import sys, noisycount.cli.serve, noisycount.service.server\n"
        "import noisycount.service.server\n"
        f"print('loaded', *sorted(set(sys.modules) & {HEAVY}))"
    )
    loaded = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert loaded.stdout.split() == ["loaded"]


@pytest.mark.parametrize("path", AT_ONCE)
def test_the_first_answers_wait_for_nothing(tmp_path: Path, path: str) -> None:
    """Whether the service is there, and the form that takes a key with its style, are told."""
    with serving(configured(tmp_path)) as state:
        made = application(state)
        assert Caller(made).get(path).status_code == 200
        assert not made.state.late.is_there


@pytest.mark.parametrize("path", ["/v1/datasets", "/explore", "/openapi.json", "/nowhere"])
def test_other_questions_wait_for_their_routes(tmp_path: Path, path: str) -> None:
    """The first reply is the same as the second, also where nothing is."""
    with serving(configured(tmp_path)) as state:
        caller = calling(state)
        replies = [caller.get(path) for _ in range(2)]
        assert {reply.status_code for reply in replies} == {404 if path == "/nowhere" else 200}
        assert caller.application.state.late.is_there
        first, second = (reply.text for reply in replies)
        assert first == second


def test_the_document_tells_of_all_routes_once(tmp_path: Path) -> None:
    """Those that are there at once too."""
    with serving(configured(tmp_path)) as state:
        paths = calling(state).get("/openapi.json").json()["paths"]
    assert {"/healthz", "/v1/datasets", "/v1/risk"} <= paths.keys()


def test_routes_are_loaded_once(tmp_path: Path) -> None:
    """However many ask at once; those whose routes are there do not wait for the others."""
    with serving(configured(tmp_path)) as state:
        made = application(state)
        late, goes_on, loads = made.state.late, Event(), []
        add = late.add

        def slowly() -> None:
            loads.append("begun")
            assert goes_on.wait(PATIENCE)
            add()

        late.add = slowly
        with ThreadPoolExecutor() as pool:
            try:
                asked = [pool.submit(Caller(made).get, "/v1/datasets") for _ in range(4)]
                assert Caller(made).get("/healthz").status_code == 200
                assert not any(reply.done() for reply in asked)
            finally:
                goes_on.set()
            assert {reply.result(PATIENCE).status_code for reply in asked} == {401}
        assert loads == ["begun"]


def test_what_cannot_be_loaded_is_tried_again(tmp_path: Path) -> None:
    """One failure is told, and is not remembered."""
    with serving(configured(tmp_path)) as state:
        made = application(state)
        late = made.state.late
        add = late.add

        def broken() -> None:
            late.add = add
            raise ImportError("no such module")

        late.add = broken
        assert Caller(made).get("/v1/datasets").status_code == 500
        assert Caller(made).get("/v1/datasets").status_code == 401


def test_a_request_of_a_wrong_method_waits_for_nothing() -> None:
    """Its path is known."""
    router = Router([Route("/here", lambda _: None, methods=["GET"])])
    late = LazyRoutes(router, lambda: None)
    scope = {"type": "http", "method": "POST", "headers": [], "root_path": ""}
    assert not late.may_have({**scope, "path": "/here"})
    assert late.may_have({**scope, "path": "/there"})
    late.load()
    assert not late.may_have({**scope, "path": "/there"})
