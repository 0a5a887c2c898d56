"""The service as a process: many analysts at one budget, kills, and graceful ends."""

import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

from noisycount.ledger.ledger import Ledger
from tests.helpers.service_process import PATIENCE, Service
from tests.helpers.spenders import PRICE, Line, body, raced

ANALYSTS = 50
AMPLE, SMALL = Fraction(1000), 40 * PRICE


@pytest.mark.thorough
def test_analysts_that_race_for_one_budget_get_all_of_it_and_no_more() -> None:
    """Fifty at once, and forty answers that fit: each is stored, and the same bytes again."""
    with Service.running(str(float(SMALL))) as service:
        found = raced(service, ANALYSTS, 3, SMALL)
    assert (found.overspent, found.lost, found.changed, found.second) == (0, 0, 0, 0)
    assert found.intact
    assert len(found.spends) == 40
    assert not found.refused


@pytest.mark.thorough
def test_no_kill_of_a_service_loses_an_answer_or_gives_a_second() -> None:
    """Five kills under the load of twelve analysts; the audit has two hundred and fifty."""
    moments = random.Random(5)  # noqa: S311 - when it is killed

    with Service.running(str(AMPLE)) as service:

        def kill(seconds: float) -> None:
            until = time.monotonic() + seconds
            for _ in range(5):
                time.sleep(moments.uniform(0.1, 0.6))
                assert service.end(signal.SIGKILL) == -signal.SIGKILL
                service.start()
            time.sleep(max(0, until - time.monotonic()))

        found = raced(service, 12, 5, AMPLE, kill)
    assert (found.overspent, found.lost, found.changed, found.second) == (0, 0, 0, 0)
    assert found.intact
    assert found.spends
    assert any(spend.tries > 1 for spend in found.spends), "no analyst met a kill"


@pytest.mark.thorough
def test_a_service_that_is_told_to_stop_ends_what_was_begun() -> None:
    """Open requests are answered when the slot ends; the process then exits by itself."""
    names = [f"analyst{number}" for number in range(8)]
    with Service.running(str(AMPLE), slot=2.0) as service, ThreadPoolExecutor(8) as pool:
        lines = {name: Line(service.port, key) for name, key in service.keys(names).items()}
        asked = [pool.submit(line.post, "0", body(name, 0)) for name, line in lines.items()]
        with Ledger.open(service.ledger_url, create=False) as ledger:
            while len(ledger.entries()) < len(names):  # no reply leaves until a tick
                time.sleep(0.02)
        assert service.end(signal.SIGTERM) == 0
        replies = [each.result(PATIENCE) for each in asked]
        assert {status for status, _ in replies} <= {201, 504}
        service.slots = False
        service.start()
        for (name, line), (status, content) in zip(lines.items(), replies, strict=True):
            again = line.post("0", body(name, 0))
            while again[0] in {0, 504}:
                again = line.post("0", body(name, 0))
            assert again[0] == 201
            assert status == 504 or again[1] == content
            line.close()
