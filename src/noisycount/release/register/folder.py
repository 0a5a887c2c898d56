"""The folder beside a ledger, for the owner's eyes alone."""

import os
import secrets
from pathlib import Path

__all__ = ["make_private", "write_private"]


def make_private(folder: Path) -> None:
    """Make a folder that its owner alone may look into.

    Raises:
        OSError: It cannot be made, or is somebody else's.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)


def write_private(file: Path, content: bytes) -> None:
    """Write a file that its owner alone may read; it appears whole, in place of an older one.

    Raises:
        OSError: It cannot be written.
    """
    make_private(file.parent)
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file_:
            file_.write(content)
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
