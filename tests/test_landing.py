"""The tests of a landing depend on the change and on the number of landings only."""

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.helpers.house import ARROWS, EVERYBODY
from tests.landing import PROJECT, Landing, affected_rooms, room
from tests.layers import FURTHER_CASE

ALL = affected_rooms(["pyproject.toml"])


def items(paths: Iterable[str], marks: Iterable[str] = ("thorough",), number: int = 20) -> list[Any]:
    """Return tests as pytest collects them, some in each file."""
    return [
        SimpleNamespace(
            nodeid=f"{path}::test_{place}",
            path=PROJECT / path,
            get_closest_marker=lambda name: name if name in {*marks} else None,
        )
        for path in paths
        for place in range(number)
    ]


def test_every_folder_of_tests_is_a_room() -> None:
    """No test stands in a room that no change affects."""
    files = [path.relative_to(PROJECT) for folder in ("tests", "src") for path in (PROJECT / folder).rglob("*.py")]
    assert {room(path) for path in files if path.name.startswith("test_")} <= ALL
    assert {room(path) for path in files} <= ALL | EVERYBODY | {"noisycount", "pages", "helpers"}


@pytest.mark.parametrize(
    ("path", "affected"),
    [
        ("src/noisycount/cli/main.py", {"cli"}),
        ("src/noisycount/service/pages/form.py", {"service", "cli"}),
        ("src/noisycount/papers/figure.py", {"papers", "tasks", "cli"}),
        ("tests/ledger/test_chain.py", {"ledger"}),
        ("tests/test_docs.py", {"pages"}),
        ("docs/how-to/tables.md", {"pages", "reference", "website"}),
        ("audits/test_noise.py", set()),
        (
            "src/noisycount/model/exact.py",
            {name for name, rooms in ARROWS.items() if name and "model" in rooms} | {"model"},
        ),
        ("src/noisycount/errors.py", ALL),
        ("src/noisycount/display/texts.py", ALL),
        ("tests/oracles/balls.py", ALL),
        ("tests/layers.py", ALL),
        ("Makefile", ALL),
    ],
)
def test_a_change_affects_its_room_and_those_that_import_it(path: str, affected: set[str]) -> None:
    """A shared file affects every room; a file outside source and tests affects none."""
    assert affected_rooms([path]) == affected


def test_fast_tests_and_those_marked_always_never_wait() -> None:
    """In rooms that the change affects, and in others."""
    for number in range(4):
        landing = Landing(number, "", frozenset({"ledger"}))
        for path in ("tests/ledger/test_chain.py", "tests/model/test_exact.py"):
            assert landing.waiting(items([path], ())) == []
            assert landing.waiting(items([path], ("thorough", "always"))) == []


@pytest.mark.parametrize(("path", "turns"), [("tests/ledger/test_chain.py", 4), ("tests/model/test_exact.py", 8)])
@pytest.mark.parametrize("number", [1, 20])
def test_a_thorough_test_runs_at_every_fourth_or_eighth_landing(path: str, turns: int, number: int) -> None:
    """Of each file an equal part at a time, a quarter of it where the change can affect the room."""
    tests = items([path], number=number)
    runs = []
    for landing in range(7, 7 + turns):
        waiting = Landing(landing, "", frozenset({"ledger"})).waiting(tests)
        runs += [test.nodeid for test in tests if test not in waiting]
        assert number // turns <= len(tests) - len(waiting) <= -(-number // turns)
    assert sorted(runs) == sorted(test.nodeid for test in tests)


def test_an_unknown_commit_affects_everything(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A shallow clone, or a history that was written again, skips nothing."""
    (tmp_path / "landed").write_text(f"3 {'0' * 40}\n", encoding="ascii")
    monkeypatch.setattr("tests.landing.LANDED", tmp_path / "landed")
    landing = Landing.read.__wrapped__(Landing)
    assert (landing.number, landing.rooms) == (4, ALL)


@pytest.mark.parametrize("case", range(5))
def test_a_fast_run_takes_all_cases_of_a_test_without_marks(request: pytest.FixtureRequest, case: int) -> None:
    """Only samples of one rule, and tests that are marked, may wait."""
    assert request.node.get_closest_marker("thorough") is None, case


@pytest.mark.few(2)
@pytest.mark.parametrize("case", range(5))
def test_a_fast_run_takes_some_samples_of_one_rule(request: pytest.FixtureRequest, case: int) -> None:
    """So many as the test says: the fourth and the fifth case wait."""
    waits = request.node.get_closest_marker("thorough") is not None
    assert waits == (FURTHER_CASE in request.node.stash), case
