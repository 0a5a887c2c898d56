"""Several processes that serve one ledger: what they share, and what becomes of it when one of them is killed."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from fractions import Fraction
from http.client import HTTPConnection
from pathlib import Path

import pytest

from noisycount.config.config import Config
from noisycount.config.service import ServiceConfig
from noisycount.service.workers import shared_memory
from tests.helpers.service_process import DATASET, PATIENCE, Service
from tests.helpers.spenders import raced

CLIENTS = 64
AMPLE = Fraction(10_000)
RATE = 20  # requests a minute


def test_workers_share_limits_attempts_and_sessions_with_their_drafts() -> None:
    """Rates, sessions and drafts of a worker process are visible in the others."""
    with shared_memory(Config(None, "sqlite:///ledger.db", {}, service=ServiceConfig(rate=2))) as shared:
        assert [shared.rates.wait("ana") for _ in range(3)] == [0, 0, 30]
        cookie = shared.sessions.begin("id", "ana")
        name = shared.sessions.keep_draft(cookie, [("where", "age > 40")], "a refusal")
        session = shared.sessions.session(cookie)
        assert name is not None
        assert session is not None
        draft = session.drafts.draft(name)
        assert draft is not None
        assert (draft.fields, draft.refusal) == ((("where", "age > 40"),), "a refusal")
        assert shared.sessions.session("another") is None
        assert shared.sessions.keep_draft("another", []) is None
        shared.sessions.end(cookie)
        assert shared.sessions.session(cookie) is None
        for _ in range(10):
            assert shared.attempts.seconds_left("192.0.2.1") == 0
            shared.attempts.fail("192.0.2.1")
        assert shared.attempts.seconds_left("192.0.2.1") > 50


def status(service: Service, key: str) -> int:
    """Return the status of a request by a connection of its own."""
    line = HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
    line.request("GET", "/v1/datasets", headers={"Authorization": f"Bearer {key}"})
    reply = line.getresponse().status
    line.close()
    return reply


@pytest.mark.thorough
@pytest.mark.always
def test_a_limit_outlasts_the_workers_and_a_signal_ends_all() -> None:
    """Killed workers are started again, know the limits, and end with the process that started them."""
    with Service.running("2", workers=2) as service:
        service.end(signal.SIGTERM)
        file = service.folder / "noisycount.toml"
        file.write_text(file.read_text(encoding="utf-8").replace("rate = 1000000", f"rate = {RATE}"), encoding="utf-8")
        service.start()
        key, begun = service.keys(["ana"])["ana"], time.monotonic()
        found = Counter(status(service, key) for _ in range(30))
        assert found.keys() == {200, 429}
        killed = service.workers_when(2)
        for each in killed:
            os.kill(each, signal.SIGKILL)
        service.workers_when(2, killed)
        found.update(status(service, key) for _ in range(30))
        assert found[200] <= RATE + RATE * (time.monotonic() - begun) / 60 + 1
        last = service.workers_when(2)
        assert service.end(signal.SIGTERM) == 0
        assert not any(Path(f"/proc/{each}").exists() for each in last)
        service.start()
        last = service.workers_when(2)
        service.end(signal.SIGKILL)
        until = time.monotonic() + PATIENCE
        while any(Path(f"/proc/{each}").exists() for each in last):
            assert time.monotonic() < until, "workers outlast the process that started them"
            time.sleep(0.1)


_RUN = """
from tests.helpers.service_process import Service
with Service.running("2", workers=2) as service:
    print(service.process.pid, *service.workers_when(2), flush=True)
    service.process.wait()
"""


@pytest.mark.thorough
@pytest.mark.always
def test_a_killed_test_run_leaves_no_service_behind(tmp_path: Path) -> None:
    """The process that watches the workers ends with the tests that started it, and the workers end with it."""
    with subprocess.Popen(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", _RUN],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "NOISYCOUNT_TEST_DISK": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout is not None
        served = run.stdout.readline().split()
        run.kill()
    assert len(served) == 3
    until = time.monotonic() + PATIENCE
    while alive := [each for each in served if Path(f"/proc/{each}").exists()]:
        assert time.monotonic() < until, f"{alive} outlast the tests that started them"
        time.sleep(0.1)


@pytest.mark.thorough(minutes=1)
@pytest.mark.parametrize("is_on_server", [False, True])
def test_no_kill_of_a_worker_loses_an_answer_or_gives_a_second(
    request: pytest.FixtureRequest, *, is_on_server: bool
) -> None:
    """Sixty-four clients spend at SQLite and PostgreSQL, while one worker after another is killed."""
    moments = random.Random(39)  # noqa: S311 - when a worker is killed
    url = request.getfixturevalue("postgresql").new_url() if is_on_server else ""
    with Service.running(str(AMPLE), workers=2, url=url) as service:
        keys = service.keys(["owner"])
        assert status(service, keys["owner"]) == 200

        def kill(seconds: float) -> None:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                time.sleep(moments.uniform(1, 3))
                os.kill(moments.choice(service.workers_when(1)), signal.SIGKILL)

        found = raced(service, CLIENTS, 15, AMPLE, kill)
    assert (found.overspent, found.lost, found.changed, found.second) == (0, 0, 0, 0)
    assert found.intact
    assert found.spends
    assert any(spend.tries > 1 for spend in found.spends), f"{DATASET}: no client met a killed worker"
