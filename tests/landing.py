"""Choose the thorough tests that a landing runs: a quarter in rooms that the change can affect, an eighth elsewhere.

With half of those in all rooms, `.ci/run` took 28 minutes on two cores; it may take 25.

`.ci/landed` holds the number of landings so far and the commit that landed last; `make landed` writes it when work on
the next change begins. Nothing here depends on the date. A commit that git does not know affects all rooms.
"""

import hashlib
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.helpers.house import ARROWS, EVERYBODY

PROJECT = Path(__file__).parents[1]
LANDED = PROJECT / ".ci" / "landed"

_AFFECTED_TURNS, _OTHER_TURNS = 4, 8  # every thorough test runs at one of so many landings
_PAGES = "pages"  # the room of tests directly in `tests/`, which run what the pages of `docs/` state
_PAGE_ROOMS = {_PAGES, "reference", "website"}
_WITHOUT_TESTS = {"", "__main__"}  # modules directly in the package
_ALL = frozenset({*ARROWS, *_PAGE_ROOMS, "oracles", "release_trial"}) - _WITHOUT_TESTS


def rank(name: str) -> bytes:
    """Return a sort key that has nothing to do with the alphabet, and is the same in every process."""
    return hashlib.sha256(name.encode()).digest()


@dataclass(frozen=True)
class Landing:
    """A landing: its number and the rooms that its change can affect."""

    number: int
    base: str  # the commit that landed last
    rooms: frozenset[str]

    @classmethod
    @cache
    def read(cls) -> "Landing":
        """Read the last landing, and compare this commit with it."""
        number, base = LANDED.read_text(encoding="ascii").split()
        changed = _git("diff", "--name-only", base, "--", ".")
        return cls(int(number) + 1, base, _ALL if changed is None else affected_rooms(changed.splitlines()))

    @property
    def text(self) -> str:
        """A line for the head of a run."""
        return f"landing {self.number} on {self.base[:8]}; rooms that it can affect: {', '.join(sorted(self.rooms))}"

    def waiting(self, items: Sequence[pytest.Item]) -> list[pytest.Item]:
        """Return the thorough tests that wait for another landing."""
        of_file = defaultdict(list)
        for item in items:
            if item.get_closest_marker("thorough") is not None and item.get_closest_marker("always") is None:
                of_file[item.path.relative_to(PROJECT)].append(item)
        waiting = []
        for path, tests in of_file.items():
            turns = _AFFECTED_TURNS if room(path) in self.rooms else _OTHER_TURNS
            ranked = sorted(tests, key=lambda item: rank(item.nodeid))
            waiting += [item for place, item in enumerate(ranked) if (place - self.number) % turns]
        return waiting


def room(path: Path) -> str:
    """Return the room of a file of the source or the tests; `pages` for files directly in `tests`."""
    parts = path.parts[2:] if path.parts[0] == "src" else path.parts[1:]
    return parts[0] if len(parts) > 1 else _PAGES


def affected_rooms(paths: Iterable[str]) -> frozenset[str]:
    """Return the rooms that hold changed files, and the rooms that import them.

    Example:
        >>> sorted(affected_rooms(["src/noisycount/papers/figure.py", "README.md"]))
        ['cli', 'pages', 'papers', 'reference', 'tasks', 'website']
    """
    affected: set[str] = set()
    for path in map(Path, paths):
        match path.parts:
            case ("src", _, name, _, *_) if name not in EVERYBODY:
                importing = {importer for importer, rooms in ARROWS.items() if name in rooms}
                affected |= {name, *importing}
            case ("tests", name, _, *_) if name in _ALL - {"oracles"}:
                affected.add(name)
            case ("docs", *_) | ("README.md" | "CHANGELOG.md",):
                affected |= _PAGE_ROOMS
            case ("tests", name) if name.startswith("test_"):
                affected.add(_PAGES)
            case ("audits" | "benchmarks" | "deploy" | ".ci", *_):
                continue
            case _:  # what all rooms share: common files of the source and of the tests, settings of the project
                return _ALL
    return frozenset(affected) - _WITHOUT_TESTS


def _git(*arguments: str) -> str | None:
    """Return what git prints, or None if it fails."""
    command = ["git", "-C", str(PROJECT), *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own arguments
    return result.stdout if result.returncode == 0 else None
