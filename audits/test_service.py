"""The promises of the service under a race of a minute and a hundred kills."""

import random
import signal
import time
from collections.abc import Callable
from fractions import Fraction

from tests.helpers.service_process import Service
from tests.helpers.spenders import PRICE, raced

Tell = Callable[[str], None]

ANALYSTS = 50
RACE = 60.0  # seconds
FITS = 2000  # answers, for which all race
AMPLE = Fraction(10_000)
KILLS, LIVES = 100, (0.2, 2.0)  # seconds from one start to the next kill


def test_fifty_analysts_at_one_budget_overspend_and_lose_nothing(tell: Tell) -> None:
    """For a minute, without slots; the budget may end before they do."""
    budget = FITS * PRICE
    with Service.running(str(float(budget))) as service:
        found = raced(service, ANALYSTS, RACE, budget)
    tell(f"{ANALYSTS} analysts: {found.told}")
    assert (found.overspent, found.lost, found.changed, found.second) == (0, 0, 0, 0)
    assert found.intact
    assert len(found.spends) <= FITS


def test_no_kill_loses_an_answer_or_gives_a_second(tell: Tell) -> None:
    """A hundred kills at random moments, under the load of all."""
    moments = random.Random(17)  # noqa: S311 - when it is killed
    with Service.running(str(AMPLE)) as service:

        def kill(seconds: float) -> None:
            until = time.monotonic() + seconds
            for _ in range(KILLS):
                time.sleep(moments.uniform(*LIVES))
                service.end(signal.SIGKILL)
                service.start()
            time.sleep(max(0, until - time.monotonic()))

        found = raced(service, ANALYSTS, KILLS * sum(LIVES) / 2, AMPLE, kill)
    tell(f"{KILLS} kills: {found.told}")
    assert (found.overspent, found.lost, found.changed, found.second) == (0, 0, 0, 0)
    assert found.intact
    assert any(spend.tries > 1 for spend in found.spends)
