"""A key, told from the time in which another is refused."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from audits.timing import guessed_right, interleaved_times
from noisycount.service.keys import Key, Keyring, Role

PAIRS = 20_000


@pytest.fixture
def ring(tmp_path: Path) -> Keyring:
    """The keys of a hundred analysts."""
    ring = Keyring(tmp_path)
    for number in range(100):
        ring.issue(f"a{number}", Role.ANALYST, ["survey"])
    return ring


def refusal_time(ring: Keyring, shown: Callable[[], Key]) -> Callable[[int], float]:
    """Give the time until a key is refused, all of which are there before the first."""
    texts = [shown().text for _ in range(PAIRS)]

    def seconds(number: int) -> float:
        text = texts[number]
        begun = time.perf_counter()
        assert ring.find_valid(text) is None
        return time.perf_counter() - begun

    return seconds


def nearly(key: Key) -> Key:
    """A key that differs in its last digit."""
    return Key(key.id, key.secret[:-1] + ("1" if key.secret[-1] == "0" else "0"))


def test_the_time_of_a_refusal_tells_no_secret(ring: Keyring, tell: Callable[[str], None]) -> None:
    """The time reveals neither the number of wrong digits nor whether the id exists."""
    key, _ = ring.issue("ana", Role.ANALYST, ["survey"])
    shown = {
        "one digit wrong": lambda: nearly(key),
        "an unknown id": lambda: Key(Key.new().id, key.secret),
    }
    wrong = refusal_time(ring, lambda: Key(key.id, Key.new().secret))
    for name, other in shown.items():
        right = guessed_right(*interleaved_times(wrong, refusal_time(ring, other), PAIRS))
        tell(f"{PAIRS:,} pairs of a wrong secret and {name}: guessed right {right:.1%}")
        assert right <= 0.53
