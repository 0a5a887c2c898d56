"""The service as a process of its own, with many analysts that ask it over loopback."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Self

from noisycount.config.config import load_config
from noisycount.data import survey_path
from noisycount.service.keys import Keyring, Role

__all__ = ["FOLLOW", "Service", "demo_process"]

DATASET = "survey"
PATIENCE = 300.0  # seconds: a machine may have much to do
_COMMAND = "from noisycount.cli.main import main; main()"
FOLLOW = """
import os, signal, threading
threading.Thread(target=lambda: (os.read(0, 1), os.kill(os.getpid(), signal.SIGKILL)), daemon=True).start()
"""  # ends a process once that which holds the other end of its standard input is gone, even if it was killed
_FILE = """
[ledger]
url = "{url}"

[datasets.{dataset}]
source = "{source}"
unit = "person"
size = 5912
budget = "{budget}"

[server]
rate = 1000000
concurrency = 64
slot = {slot}
"""


@dataclass(slots=True)
class Service:
    """A service at one port, which may be killed and started again."""

    folder: Path  # where its configuration, its keys and its ledger are
    port: int  # where it listens
    slots: bool  # whether replies leave at ticks alone
    ledger_url: str  # the address of its ledger
    workers: int = 1  # how many processes serve
    process: subprocess.Popen[bytes] | None = field(default=None)  # the one that runs now

    @classmethod
    @contextmanager
    def running(cls, budget: str, slot: float | None = None, workers: int = 1, url: str = "") -> Iterator[Self]:
        """Serve the survey until the block ends; its ledger is on a disk that must be waited for, or at an address."""
        with tempfile.TemporaryDirectory(dir=_disk()) as folder:
            url = url or f"sqlite:///{folder}/ledger.db"
            text = _FILE.format(url=url, dataset=DATASET, source=survey_path(), budget=budget, slot=slot or 1)
            Path(folder, "noisycount.toml").write_text(text, encoding="utf-8")
            service = cls(Path(folder), _free_port(), slot is not None, url, workers)
            try:
                service.start()
                yield service
            finally:
                service.end(signal.SIGKILL)

    def keys(self, names: list[str]) -> dict[str, str]:
        """A key for each of some analysts."""
        ring = Keyring.from_config(load_config(self.folder / "noisycount.toml"))
        return {name: ring.issue(name, Role.ANALYST, [DATASET])[0].text for name in names}

    def start(self) -> float:
        """Start it; how many seconds pass until it takes connections and answers the first."""
        started = time.monotonic()
        words = [sys.executable, "-c", f"{FOLLOW}{_COMMAND}", "serve", "--port", str(self.port)]
        words += ["--workers", str(self.workers)]
        words += [] if self.slots else ["--no-slots"]
        with Path(self.folder, "log").open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and code
                words,
                cwd=self.folder,
                env={**os.environ, "HOME": str(self.folder)},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        while not self._answers():
            assert self.process.poll() is None, Path(self.folder, "log").read_text()
            assert time.monotonic() - started < PATIENCE, "the service does not start"
            time.sleep(0.02)
        return time.monotonic() - started

    def end(self, by: signal.Signals) -> int:
        """End the process by a signal, and return its status."""
        if self.process is None:
            return 0
        with self.process as process:
            process.send_signal(by)
            code = process.wait(PATIENCE)
        self.process = None
        return code

    def processor_time(self) -> float:
        """Return the seconds of processor time that its processes have used."""
        assert self.process is not None
        stats = [Path(f"/proc/{each}/stat").read_text() for each in (self.process.pid, *self.children())]
        fields = [stat.rpartition(")")[2].split()[11:13] for stat in stats]
        return sum(map(int, chain.from_iterable(fields))) / os.sysconf("SC_CLK_TCK")

    def children(self) -> list[int]:
        """Return the identifiers of the workers, oldest first; none if the one process serves."""
        assert self.process is not None
        pid = self.process.pid
        found = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        return [each for each in found if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()]

    def workers_when(self, number: int, killed: Sequence[int] = ()) -> list[int]:
        """Wait until so many workers run beside those that were killed, and return their identifiers."""
        until = time.monotonic() + PATIENCE
        while len(found := [each for each in self.children() if each not in killed]) < number:
            assert time.monotonic() < until, "the workers do not start"
            time.sleep(0.05)
        return found

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 5) as line:
                line.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                return line.recv(12).endswith(b" 200")
        except OSError:
            return False


@contextmanager
def demo_process(home: Path, code: str = _COMMAND) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """Yield a process that serves the survey at any port, and what it printed; its log is in `log` of its home."""
    with (
        Path(home, "log").open("wb") as log,
        subprocess.Popen(  # noqa: S603 - our own interpreter and words
            [sys.executable, "-c", f"{FOLLOW}{code}", "serve", "--demo", "--port", "0"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=home,
            env={**os.environ, "HOME": str(home), "COLUMNS": "200", "TMPDIR": str(home)},
        ) as process,
    ):
        try:
            assert process.stdout is not None
            told = {}
            for line in process.stdout:
                name, _, value = line.strip().partition("  ")
                told[name] = value.strip()
                if name == "ends":
                    break
            yield process, told
        finally:
            process.kill()


def _disk() -> str | None:
    """A folder on a real disk, where tests keep theirs in memory."""
    return os.environ.get("NOISYCOUNT_TEST_DISK", "/var/tmp")  # noqa: S108 - a folder of our own in it


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as place:
        return int(place.getsockname()[1])
