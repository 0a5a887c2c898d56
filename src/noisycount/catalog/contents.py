"""What files hold: their digests, and proofs that their columns can be read, kept beside the ledger."""

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

_REMEMBERED = "contents.json"
_DIGESTS = 4  # the fourth form of what is remembered
_LONGEST = 1 << 22  # bytes of a first line
_KEPT = 1000  # places, the newest: a few hundred bytes a file
_SETTLED = 2.0  # seconds: a file written again within a tick of the disk's clock keeps its state


@frozen
class FileFacts:
    """What one file held at one moment, and what is proved of it."""

    end: str  # the SHA-256 of its end; see `_end_digest`
    digest: str  # the SHA-256 of all of it
    proofs: set[str]  # that columns of it can be read, by the engine that read them; they grow


@frozen
class Content:
    """What some files held at one moment."""

    files: tuple[Path, ...]  # where they lie
    state: tuple[tuple[int, ...], ...]  # their sizes, times, inodes and devices then
    digest: str  # the SHA-256 of what they held, in hexadecimal digits
    facts: tuple[FileFacts, ...]  # of each file

    @property
    def former_versions(self) -> tuple[str, ...]:
        """What one file was known by before its content was hashed: its size and its time."""
        return tuple(f"{each[0]}-{each[1]}" for each in self.state) if len(self.state) == 1 else ()

    @property
    def correction(self) -> str | None:
        """The correction of how the file is read since older releases, which left rows out; None: there is none."""
        with suppress(OSError):  # a file that is gone is refused where it is opened
            return "line break in the first cells" if any(map(_has_broken_first_line, self.files)) else None
        return None

    @property
    def proofs(self) -> list[set[str]]:
        """Of each file, the proofs that columns of it can be read."""
        return [each.proofs for each in self.facts]

    @property
    def proof_count(self) -> int:
        """Number of proofs of all files."""
        return sum(map(len, self.proofs))

    def require_same(self) -> None:
        """The refusal of files that may hold something else by now."""
        if state_of(self.files) != self.state:
            raise SourceError(f"{self.files[0].name!r} changed while it was open: open it again")


@frozen
class Contents:
    """Digests of files, and proofs that their columns can be read: only what changed is read again."""

    folder: Path | None = None  # where they are kept; None: nowhere

    def at(self, place: Path) -> Content:
        """Return what the files of a place hold, and what their folders say of their records."""
        files = files_of(place)
        return self.of(files, hive_keys(place, files), place)

    def of(self, files: tuple[Path, ...], keys: tuple[Keys, ...] = (), place: Path | None = None) -> Content:
        """Return what the files hold.

        A file is recognised by its path, size, inode, device, both of its times and its end. A file that was written
        within the last two seconds is read again the next time: a disk's clock has ticks.
        """
        state, name = state_of(files), str(place or files[0])
        known = _facts_of(name, self._remembered().get(name))
        before = [known.get((str(file), each)) for file, each in zip(files, state, strict=True)]
        facts = tuple(map(_current_facts, files, before))
        content = Content(files, state, _joint_digest([each.digest for each in facts], keys), facts)
        content.require_same()
        if any(one is not other for one, other in zip(facts, before, strict=True)):
            self.keep(content, name)
        return content

    def keep(self, content: Content, name: str) -> None:
        """Keep what is known of the files of a place, unless one was written within the last two seconds."""
        newest = max(max(each[1], each[2]) for each in content.state) / 1e9
        if self.folder is None or newest + _SETTLED >= time.time():
            return
        known = self._remembered()
        known.pop(name, None)
        kept = {**dict(list(known.items())[-_KEPT:]), name: _remembering(name, content)}
        with suppress(OSError):  # what cannot be remembered is read again
            write_private(self.folder / _REMEMBERED, json.dumps(kept).encode())

    def _remembered(self) -> dict[str, object]:
        """Return what is kept of each place; empty if nothing is."""
        if self.folder is None:
            return {}
        try:
            known = json.loads((self.folder / _REMEMBERED).read_bytes())
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}


def _remembering(name: str, content: Content) -> list[object]:
    """Return what is kept of a place, with a sum that shows if a byte of it changed, or an older release wrote it."""
    files = zip(content.files, content.state, content.facts, strict=True)
    rows: list[Any] = [[str(file), [*state], each.end, each.digest, sorted(each.proofs)] for file, state, each in files]
    return [rows, _total(name, rows)]


def _facts_of(name: str, kept: object) -> dict[tuple[str, tuple[int, ...]], FileFacts]:
    """Return the facts of each file of a place in its state, as `_remembering` gave them; empty if a byte changed."""
    match kept:
        case [list(rows), str(total)] if total == _total(name, rows):
            return {
                (file, tuple(state)): FileFacts(end, digest, {*proofs}) for file, state, end, digest, proofs in rows
            }
    return {}


def _total(name: str, rows: list[Any]) -> str:
    """Return the sum of what is kept of a place."""
    return hashlib.sha256(json.dumps([name, rows, _DIGESTS]).encode("ascii")).hexdigest()


def _current_facts(file: Path, known: FileFacts | None) -> FileFacts:
    """Return the facts of a file: the known ones if its end is theirs."""
    try:
        end = _end_digest(file)
        return known if known is not None and known.end == end else FileFacts(end, _file_digest(file), set())
    except OSError as error:
        remedy = f", or {BY_THE_SERVICE}" if isinstance(error, PermissionError) else ""
        refusal = f"{str(file)!r} cannot be read: check its path and permissions{remedy}"
    raise SourceError(refusal)


def _end_digest(file: Path) -> str:
    """Return the SHA-256 of the last bytes of a file; in a Parquet file, of its footer, which describes all pages."""
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
    """Return the digest of one file, or of several with the keys of each, whatever their names and order are."""
    if keys:
        return hashlib.sha256(json.dumps(sorted(zip(digests, keys, strict=True))).encode("ascii")).hexdigest()
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256(" ".join(sorted(digests)).encode("ascii")).hexdigest()


def _has_broken_first_line(file: Path) -> bool:
    """Return True if a cell of the first line of a text file has a line break."""
    name = file.name.lower()
    if not name.endswith((".csv", ".tsv", ".csv.gz", ".tsv.gz")):
        return False
    with (
        suppress(EOFError, zlib.error, gzip.BadGzipFile),
        (gzip.open if name.endswith(".gz") else open)(file, "rb") as lines,
    ):
        return lines.readline(_LONGEST).count(b'"') % 2 == 1
    return False  # what is damaged is refused when it is read
