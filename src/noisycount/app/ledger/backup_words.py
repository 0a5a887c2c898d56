"""What is said of a copy of a ledger: what is in it, and how it is put in place."""

import shlex
from pathlib import Path
from typing import Any

from noisycount.app.ledger.asked_words import number_of
from noisycount.app.ledger.backup import Backup
from noisycount.app.terminal.printing import seen_from_here

__all__ = ["backup_object", "backup_words", "restoring"]


def backup_words(backup: Backup) -> str:
    """What was copied where."""
    beside = ""
    if backup.data is not None:
        files = number_of("file", len(backup.files))
        beside = f", with {files} of {seen_from_here(backup.data)},"
    ledger = seen_from_here(backup.ledger)
    return f"copied {ledger}{beside} to {seen_from_here(backup.folder.absolute())}"


def restoring(backup: Backup) -> list[str]:
    """The lines that put the copy in place, for a shell."""
    copy, ledger = backup.copy.absolute(), backup.ledger.absolute()
    lines = [f"cp -p {_quoted(copy)} {_quoted(ledger)}"]
    if backup.data is not None:
        beside = copy.with_name(backup.data.name)
        lines.append(f"cp -pR {_quoted(beside)}/. {_quoted(backup.data.absolute())}")
    return lines


def backup_object(backup: Backup) -> dict[str, Any]:
    """The same for machines."""
    return {
        "ledger": str(backup.ledger),
        "backup": str(backup.copy.absolute()),
        "files": list(backup.files),
        "rows": backup.found.head.number,
        "head": str(backup.found.head),
        "restore": restoring(backup),
    }


def _quoted(place: Path) -> str:
    """A path as a shell reads it; no `~`, which quotes would keep from being read."""
    here = Path.cwd()
    return shlex.quote(str(place.relative_to(here) if place.is_relative_to(here) else place))
