import hmac
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.errors import ConfigError
from noisycount.service import keys as keys_module
from noisycount.service.keys import Key, Keyring, Role

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def at(passed: timedelta) -> Callable[[], datetime]:
    """A clock that stands still so long after noon."""
    return lambda: NOON + passed


@pytest.fixture
def ring(tmp_path: Path) -> Keyring:
    """The keys at noon beside a ledger that has none yet."""
    return Keyring(tmp_path / "ledger.db.data", at(timedelta()))


def test_a_key_opens_what_it_was_issued_for(ring: Keyring) -> None:
    """It tells its holder's name, role and data sets, and no other."""
    key, _ = ring.issue("ana", Role.ANALYST, ["survey", "visits", "survey"])
    other, _ = ring.issue("boss", Role.OWNER, None)
    holders = [ring.find_valid(each.text) for each in (key, other)]
    ana, boss = (holder.user for holder in holders if holder is not None)
    assert (ana.name, ana.role, ana.grants) == ("ana", Role.ANALYST, {"survey", "visits"})
    assert (boss.name, boss.reads_all, boss.may_see("anything")) == ("boss", True, True)
    assert key.text != other.text


def test_a_system_without_locks_issues_no_key(ring: Keyring, monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal names a system that has them."""
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with pytest.raises(ConfigError, match=r"^this system has no file locks of POSIX: issue keys on Linux"):
        ring.issue("ana", Role.ANALYST, ["survey"])
    assert ring.issued() == ()


@pytest.mark.parametrize("datasets", [(), None, ("survey",)])
def test_an_officer_reads_all_and_asks_nothing(ring: Keyring, datasets: tuple[str, ...] | None) -> None:
    """The role decides, whatever data sets the key has; also after it is read again."""
    key, _ = ring.issue("otto", Role.OFFICER, datasets)
    holder = Keyring(ring.folder, ring.now).find_valid(key.text)
    assert holder is not None
    assert (holder.user.reads_all, holder.user.may_ask, holder.user.may_see("survey")) == (True, False, False)


def test_a_key_has_256_random_bits(ring: Keyring) -> None:
    """No two keys share an id or a secret, and each bit of a secret is as often set as not."""
    keys = [Key.new() for _ in range(400)]
    assert len({key.id for key in keys} | {key.secret for key in keys}) == 800
    bits = [f"{int(key.secret, 16):0256b}" for key in keys]
    ones = [sum(each[place] == "1" for each in bits) for place in range(256)]
    assert all(120 < count < 280 for count in ones)  # 8 standard deviations
    assert ring.issued() == ()


def test_a_key_that_expired_opens_nothing(ring: Keyring) -> None:
    """It opens until the very moment, and never after; one without an end opens for ever."""
    key, issued = ring.issue("ana", Role.ANALYST, ["survey"], timedelta(days=90))
    lasting, _ = ring.issue("ben", Role.ANALYST, ["survey"])
    for passed, found in ((timedelta(days=90, seconds=-1), issued), (timedelta(days=90), None)):
        ring.now = at(passed)
        assert (ring.find_valid(key.text), ring.valid_key(issued.id)) == (found, found)
    ring.now = at(timedelta(days=36_500))
    assert ring.find_valid(lasting.text) is not None


def test_a_key_for_no_data_set_sees_none(ring: Keyring) -> None:
    """An empty list of data sets grants none, also after it is read again."""
    key, issued = ring.issue("ana", Role.ANALYST, [])
    assert ring.find_valid(key.text) == issued
    assert issued.user.grants == frozenset()
    assert not issued.user.may_see("survey")
    assert ring.issue("ben", Role.ANALYST, None)[1].user.may_see("survey")


def test_a_key_that_was_revoked_opens_nothing_anywhere_at_once(ring: Keyring) -> None:
    """Another process at the same ledger knows at its next look, without a restart."""
    key, issued = ring.issue("ana", Role.ANALYST, ["survey"])
    elsewhere = Keyring(ring.folder, ring.now)
    assert elsewhere.find_valid(key.text) == issued
    assert [ended.id for ended in ring.revoke("ana")] == [issued.id]
    for each in (ring, elsewhere):
        assert each.find_valid(key.text) is None
        assert each.valid_key(issued.id) is None
    assert ring.revoke("ana") == ()
    (kept,) = ring.issued()
    assert kept.revoked == NOON


def test_a_change_of_the_same_size_is_seen(ring: Keyring) -> None:
    """Neither size nor time of the file decides whether it is read: its bytes do, and its seal."""
    key, issued = ring.issue("ana", Role.ANALYST, ["survey"])
    before = ring.path.stat()
    content = ring.path.read_bytes()
    assert ring.find_valid(key.text) == issued
    ring.path.write_bytes(content.replace(b'"ana"', b'"eve"'))
    os.utime(ring.path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(ConfigError, match="is damaged or of a later version"):
        ring.find_valid(key.text)


def wrong_keys(key: Key) -> Iterator[str]:
    """Yield texts that are almost a key."""
    text = key.text
    yield from ("", " ", text[:-1], f"{text}0", f" {text}", f"{text}\n", text.upper())
    yield from (f"nc_{key.id}", f"nc_{key.id}_", f"nc__{key.secret}", key.secret, "nc_" * 3)
    yield from (text.replace("nc_", "nx_"), text.replace("_", "-"), "é" * 80, "0" * 100_000)
    last = "0" if text[-1] != "0" else "1"
    yield from (f"{text[:-1]}{last}", Key(key.id, Key.new().secret).text, Key.new().text)
    yield Key(Key.new().id, key.secret).text


def test_a_file_is_read_again_only_if_it_changed_or_is_recent(ring: Keyring, monkeypatch: pytest.MonkeyPatch) -> None:
    """The times of a recent file may not distinguish two changes, so that it is read at every use."""
    key, issued = ring.issue("ana", Role.ANALYST, ["survey"])
    content, reads = ring.path.read_bytes(), list[Path]()
    read_bytes = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: [reads.append(path), read_bytes(path)][1])
    for _ in range(3):
        assert ring.find_valid(key.text) == issued
    assert reads.count(ring.path) == 3
    later = time.time() + 3
    monkeypatch.setattr(keys_module.time, "time", lambda: later)
    for _ in range(3):
        assert ring.find_valid(key.text) == issued
    assert reads.count(ring.path) == 4
    ring.path.write_bytes(content.replace(b"ana", b"bob"))  # the same size, and not sealed
    with pytest.raises(ConfigError, match="damaged"):
        ring.find_valid(key.text)


def test_what_is_no_key_opens_nothing(ring: Keyring) -> None:
    """Malformed, cut, lengthened, of another id or with another secret, down to one digit."""
    key, issued = ring.issue("ana", Role.ANALYST, ["survey"])
    assert ring.find_valid(key.text) == issued
    assert [wrong for wrong in wrong_keys(key) if ring.find_valid(wrong) is not None] == []


@given(text=st.text(max_size=100))
def test_no_text_makes_it_stumble(text: str) -> None:
    """Whatever is shown is a key or is none."""
    key = Key.read(text)
    assert key is None or key.text == text


def test_a_digest_is_always_compared(ring: Keyring, monkeypatch: pytest.MonkeyPatch) -> None:
    """Known, unknown, malformed, expired and revoked keys take one digest and one comparison.

    The comparison is that of the standard library whose time does not depend on the bytes.
    """
    compared: list[tuple[int, int]] = []

    def counted(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return compare(one, other)

    compare = hmac.compare_digest
    monkeypatch.setattr(keys_module.hmac, "compare_digest", counted)
    key, _ = ring.issue("ana", Role.ANALYST, ["survey"])
    old, _ = ring.issue("old", Role.ANALYST, ["survey"], timedelta(hours=1))
    out, _ = ring.issue("out", Role.ANALYST, ["survey"])
    ring.revoke("out")
    ring.now = at(timedelta(days=1))
    shown = [key.text, old.text, out.text, Key.new().text, "no key", ""]
    assert [ring.find_valid(text) is not None for text in shown] == [True, *[False] * 5]
    assert compared == [(32, 32)] * len(shown)


def test_a_digest_belongs_to_one_ledger_and_one_id(ring: Keyring, tmp_path: Path) -> None:
    """A row that was copied from elsewhere, or a hash that was moved to another row, opens nothing."""
    other = Keyring(tmp_path / "other.data")
    key, issued = other.issue("ana", Role.ANALYST, ["survey"])
    mine, own = ring.issue("ben", Role.ANALYST, ["survey"])
    moved = replace(own, id=Key.new().id, name="eve", role=Role.OWNER)
    with ring.keys_for_change() as (keys, _):
        keys[:] = [issued, moved]
    assert other.find_valid(key.text) == issued
    for shown in (key, mine, Key(moved.id, mine.secret)):
        assert ring.find_valid(shown.text) is None


def test_a_place_without_keys_says_so(ring: Keyring, tmp_path: Path) -> None:
    """A folder in the place of the file opens nothing, and a file in that of the folder takes no key."""
    key, _ = ring.issue("ana", Role.ANALYST, ["survey"])
    ring.path.unlink()
    ring.path.mkdir()
    with pytest.raises(ConfigError, match=r"cannot be read .*: only the ledger's owner may read it$"):
        ring.find_valid(key.text)
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"keys cannot be stored in .* \(.*\): make the folder writable"):
        Keyring(tmp_path / "file").issue("ana", Role.ANALYST, ["survey"])


def test_threads_that_issue_at_once_lose_no_key(ring: Keyring) -> None:
    """Eight start together, each with a ring of its own; all their keys open."""
    gate = Barrier(8)

    def issue(name: str) -> list[Key]:
        own = Keyring(ring.folder)
        gate.wait()
        return [own.issue(name, Role.ANALYST, ["survey"])[0] for _ in range(3)]

    with ThreadPoolExecutor(8) as threads:
        made = list(chain.from_iterable(threads.map(issue, "abcdefgh")))
    assert len(made) == len(ring.issued()) == 24
    assert all(ring.find_valid(key.text) for key in made)


ISSUING = """
import sys
from pathlib import Path
from noisycount.service.keys import Keyring, Role
ring = Keyring(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
for number in range(10):
    key, issued = ring.issue(sys.argv[2], Role.ANALYST, ["survey"])
    if number % 2:
        ring.revoke(issued.id)
    print(key.text, flush=True)
"""


@pytest.mark.thorough
def test_processes_that_issue_and_revoke_at_once_lose_nothing(ring: Keyring) -> None:
    """Three are let go together; every second key of each is revoked, the others open."""
    words = [sys.executable, "-c", ISSUING, str(ring.folder)]
    racing = [
        subprocess.Popen([*words, name], stdin=-1, stdout=-1, text=True)  # noqa: S603  (our own)
        for name in ("ana", "ben", "eve")
    ]
    for process in racing:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in racing:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in racing:
        keys = process.communicate(timeout=60)[0].split()
        assert process.returncode == 0
        assert [ring.find_valid(key) is not None for key in keys] == [True, False] * 5
    assert len(ring.issued()) == 30


def test_no_byte_of_the_keys_changes_in_silence(ring: Keyring) -> None:
    """Another name, role, data set or time is refused; a new file is sealed, whatever it was."""
    ring.issue("ana", Role.ANALYST, ["survey"], timedelta(days=1))
    issued, content = ring.issued(), ring.path.read_bytes()
    refused = 0
    for place in range(len(content)):
        for bit in (1, 2, 32):
            changed = bytearray(content)
            changed[place] ^= bit
            ring.path.write_bytes(changed)
            try:
                assert Keyring(ring.folder).issued() == issued, bytes(changed[place - 9 :])
            except ConfigError as error:
                refused += "restore it from a copy" in str(error)
    assert refused > 2.5 * len(content)


def test_keys_of_an_older_file_are_sealed_with_the_next(ring: Keyring) -> None:
    """A file of 0.2 without a seal is read, and the next issued key adds a seal."""
    ring.issue("ana", Role.ANALYST, ["survey"])
    sealed = json.loads(ring.path.read_bytes())
    older = {name: sealed[name] for name in ("version", "keys")}
    ring.path.write_text(json.dumps(older), encoding="ascii")
    assert [key.name for key in ring.issued()] == ["ana"]
    ring.issue("bo", Role.ANALYST, ["survey"])
    again = json.loads(ring.path.read_bytes())
    assert len(again["seal"]) == 64
    again["keys"][0]["name"] = "bo"
    ring.path.write_text(json.dumps(again), encoding="ascii")
    with pytest.raises(ConfigError, match="is damaged or of a later version"):
        ring.issued()
