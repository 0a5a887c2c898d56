"""Digests of files, and proofs that their columns can be read, cached beside the ledger.

`Contents` reads and stores them; `sources` uses the result, a `Content`.
"""

import gzip
import hashlib
import json
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from os import SEEK_END
from pathlib import Path
from typing import Any

from noisycount.catalog.folder import write_private
from noisycount.engines.places import Keys, files_of, hive_keys, state_of
from noisycount.errors import BY_THE_SERVICE, SourceError
from noisycount.frozen import frozen

_CACHE_FILE = "contents.json"
_CACHE_VERSION = 4  # version of the format of the cache
_MAX_LINE = 1 << 22  # largest number of bytes of a first line
_FIRST_LINES = 20  # lines that may be titles, whose ends are compared
_MAX_PLACES = 1000  # largest number of cached places, the newest; a few hundred bytes for each file
_CLOCK_TICK = 2.0  # seconds; a change within a tick of the disk's clock may leave the times of a file as they were


@frozen
class FileFacts:
    """Digests of a file at one moment, and the proofs about it."""

    end: str  # SHA-256 of the end of the file; see `_end_digest`
    digest: str  # SHA-256 of the whole file
    proofs: set[str]  # proofs that columns can be read by the engine that read them; the set grows


@frozen
class Content:
    """Content of the files of a place at one moment."""

    files: tuple[Path, ...]  # paths of the files
    state: tuple[tuple[int, ...], ...]  # their sizes, times, inodes and devices at that moment
    digest: str  # SHA-256 of their content, in hexadecimal digits
    facts: tuple[FileFacts, ...]  # facts of each file

    @property
    def former_versions(self) -> tuple[str, ...]:
        """Identifier of a single file in releases that did not hash contents: its size and time."""
        return tuple(f"{size}-{time_ns}" for size, time_ns, *_ in self.state) if len(self.state) == 1 else ()

    @property
    def reading_correction(self) -> str | None:
        """Correction of the reading of the files: older releases lost rows; None if they read these files correctly."""
        with suppress(OSError):  # a missing file is reported when it is opened
            return next(filter(None, map(_find_correction, self.files)), None)
        return None

    @property
    def proofs(self) -> list[set[str]]:
        """Proofs of each file that columns can be read."""
        return [facts.proofs for facts in self.facts]

    @property
    def proof_count(self) -> int:
        """Number of proofs of all files."""
        return sum(map(len, self.proofs))

    def require_same(self) -> None:
        """Raise SourceError if a file changed since its content was read."""
        if state_of(self.files) != self.state:
            raise SourceError(f"{self.files[0].name!r} changed while it was open: open it again")


@frozen
class Contents:
    """Cache of the digests of files and of proofs that their columns can be read. Only changed files are read again."""

    folder: Path | None = None  # folder of the cache; None: no cache

    def at(self, place: Path) -> Content:
        """Return the content of the files of a place, including the keys in the names of their folders."""
        files = files_of(place)
        return self.read_files(files, hive_keys(place, files), place)

    def read_files(self, files: tuple[Path, ...], keys: tuple[Keys, ...] = (), place: Path | None = None) -> Content:
        """Return the content of the files.

        A file is recognised by its path, size, inode, device, both of its times and its end. A file that was written
        within the last two seconds is not cached, because the clock of a disk has ticks.
        """
        state, name = state_of(files), str(place or files[0])
        cached = _facts_from_cache(name, self._read_cache().get(name))
        before = [cached.get((str(file), stat)) for file, stat in zip(files, state, strict=True)]
        facts = tuple(map(_current_facts, files, before))
        content = Content(files, state, _joint_digest([fact.digest for fact in facts], keys), facts)
        content.require_same()
        if any(current is not former for current, former in zip(facts, before, strict=True)):
            self.cache_facts(content, name)
        return content

    def cache_facts(self, content: Content, name: str) -> None:
        """Store the facts of the files of a place in the cache, unless one was written within the last two seconds."""
        newest = max(max(stat[1], stat[2]) for stat in content.state) / 1e9
        if self.folder is None or newest + _CLOCK_TICK >= time.time():
            return
        cached = self._read_cache()
        cached.pop(name, None)
        entries = {**dict(list(cached.items())[-_MAX_PLACES:]), name: _cache_entry(name, content)}
        with suppress(OSError):  # without a cache entry the files are read again
            write_private(self.folder / _CACHE_FILE, json.dumps(entries).encode())

    def _read_cache(self) -> dict[str, object]:
        """Return the cache entry of each place; empty if there is no cache or it is unreadable."""
        if self.folder is None:
            return {}
        try:
            cached = json.loads((self.folder / _CACHE_FILE).read_bytes())
        except (OSError, ValueError):
            return {}
        return cached if isinstance(cached, dict) else {}


def _cache_entry(name: str, content: Content) -> list[object]:
    """Return the cache entry of a place, with a checksum that fails if a byte changed or an older release wrote it."""
    files = zip(content.files, content.state, content.facts, strict=True)
    rows: list[Any] = [
        [str(file), [*state], facts.end, facts.digest, sorted(facts.proofs)] for file, state, facts in files
    ]
    return [rows, _checksum(name, rows)]


def _facts_from_cache(name: str, entry: object) -> dict[tuple[str, tuple[int, ...]], FileFacts]:
    """Return the facts in the cache entry of a place, by path and state of the file; empty if the checksum fails."""
    match entry:
        case [list(rows), str(total)] if total == _checksum(name, rows):
            return {
                (file, tuple(state)): FileFacts(end, digest, {*proofs}) for file, state, end, digest, proofs in rows
            }
    return {}


def _checksum(name: str, rows: list[Any]) -> str:
    """Return the checksum of the cache entry of a place."""
    return hashlib.sha256(json.dumps([name, rows, _CACHE_VERSION]).encode("ascii")).hexdigest()


def _current_facts(file: Path, cached: FileFacts | None) -> FileFacts:
    """Return the facts of a file: the cached ones if the end of the file is unchanged."""
    try:
        end = _end_digest(file)
        return cached if cached is not None and cached.end == end else FileFacts(end, _file_digest(file), set())
    except OSError as error:
        remedy = f", or {BY_THE_SERVICE}" if isinstance(error, PermissionError) else ""
        refusal = f"{str(file)!r} cannot be read: check its path and permissions{remedy}"
    raise SourceError(refusal)


def _end_digest(file: Path) -> str:
    """Return the SHA-256 of the last bytes of a file, or of the footer of a Parquet file."""
    with file.open("rb") as opened:
        size = opened.seek(0, SEEK_END)
        opened.seek(max(0, size - 8))
        last = opened.read()
        length = int.from_bytes(last[:4], "little") if last[4:] == b"PAR1" else 0
        opened.seek(max(0, size - 8 - length))
        return hashlib.sha256(opened.read()).hexdigest()


def _file_digest(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _joint_digest(digests: Sequence[str], keys: tuple[Keys, ...] = ()) -> str:
    """Return the digest of one file, or of several files with their keys. It does not depend on names and order."""
    if keys:
        return hashlib.sha256(json.dumps(sorted(zip(digests, keys, strict=True))).encode("ascii")).hexdigest()
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256(" ".join(sorted(digests)).encode("ascii")).hexdigest()


def _find_correction(file: Path) -> str | None:
    """Return the fault that older releases had with a text file; None if they read it correctly.

    They lost rows if a first cell has a line break, or if the first lines end in different ways.
    """
    name = file.name.lower()
    if not name.endswith((".csv", ".tsv", ".csv.gz", ".tsv.gz")):
        return None
    with (
        suppress(EOFError, zlib.error, gzip.BadGzipFile),
        (gzip.open if name.endswith(".gz") else open)(file, "rb") as opened,
    ):
        first, *others = [opened.readline(_MAX_LINE) for _ in range(_FIRST_LINES)]
        if first.count(b'"') % 2 == 1:
            return "line break in the first cells"
        ends = {line.endswith(b"\r\n") for line in (first, *others) if line.endswith(b"\n")}
        return "ends of the first lines" if len(ends) > 1 else None
    return None  # a damaged file is reported when it is read
