"""What lies at a path, told apart from what cannot be looked for."""

import errno
import os
from pathlib import Path

__all__ = ["state_at"]

_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}


def state_at(path: Path) -> os.stat_result | None:
    """What is known of the file or folder at a path; None: there is none, nor where links lead.

    `Path.exists` tells so, from Python 3.14 on, of what an account may not look for as well.

    Raises:
        OSError: A folder above it may not be entered, or its name is too long.
    """
    try:
        return path.stat()
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise
