"""Time of a chart of Explore, for a single user and for eight at once; without a rival."""

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from tests.helpers.running_service import ANALYST, Service, configured, served

from benchmarks.comparison import Comparison, Show, sized
from noisycount.readers.values import NOISE_KINDS
from noisycount.service.pages.explore import fragment
from noisycount.tasks.explore.sliders import QUANTITIES, Sliders
from noisycount.tasks.explore.views import VIEWS

SLOWEST = 0.3  # seconds, of 99 in 100
VISITORS, MOVES, PAUSE = sized(8, 2), sized(12, 1), sized(1, 0)  # a person looks at the charts before the next move


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of nothing but an empty ledger."""
    folder = tmp_path_factory.mktemp("explore")
    with served(configured(folder, '[ledger]\nurl = "sqlite:///ledger.db"\n'), ANALYST) as running:
        yield running


def stops(seed: int) -> Iterator[Sliders]:
    """Yield places of a user's sliders: the start, then random moves."""
    dice, placed = random.Random(seed), Sliders()  # noqa: S311  (no secret)
    texts = placed.texts
    while True:
        name = dice.choice(["noise", *QUANTITIES])
        texts[name] = dice.choice(sorted(NOISE_KINDS)) if name == "noise" else str(dice.choice(QUANTITIES[name].stops))
        yield Sliders.from_query(texts)


def visit(service: Service, seed: int, pause: float) -> list[tuple[float, str]]:
    """Return the time of each chart, as a page fetches them in turn."""
    times = []
    with httpx.Client(
        base_url=service.url, headers={"Authorization": f"Bearer {service.keys['ana']}"}, timeout=60
    ) as client:
        for placed, _ in zip(stops(seed), range(MOVES), strict=False):
            for name in VIEWS:
                address = f"/explore/fragment?chart={name}&{placed.query}"
                start = time.perf_counter()
                assert client.get(address).status_code == 200
                times.append((time.perf_counter() - start, address))
            time.sleep(pause * random.Random(seed + len(times)).uniform(0.5, 1.5))  # noqa: S311
    return times


def compared(show: Show, name: str, times: list[tuple[float, str]]) -> Comparison:
    """Print the quantiles of times, and show the 99th beside its limit."""
    ranked = sorted(times)
    median, near, last = (ranked[int(share * (len(ranked) - 1))] for share in (0.5, 0.99, 1))
    quantiles = f"median {median[0] * 1e3:.0f} ms, p99 {near[0] * 1e3:.0f} ms"
    print(f"\n{name}: {len(ranked)} charts, {quantiles}, slowest {last[0] * 1e3:.0f} ms")  # noqa: T201
    print(last[1])  # noqa: T201
    comparison = Comparison(f"99 % of charts, {name}", near[0], "limit of", SLOWEST, SLOWEST)
    show(comparison)
    return comparison


def test_processor_time(show: Show) -> None:
    """A chart that nobody asked for before stays within its limit of processor time."""
    times = []
    for seed in range(sized(5, 1)):
        for placed, _ in zip(stops(seed), range(MOVES), strict=False):
            for name in VIEWS:
                start = time.thread_time()
                fragment(name, placed)
                times.append((time.thread_time() - start, f"{name}&{placed.query}"))
    assert compared(show, "processor time", times).kept


def test_one_visitor(show: Show, service: Service) -> None:
    """Charts that nobody asked for before, one after another."""
    assert compared(show, "one user", visit(service, 99, 0.0)).kept


def test_eight_visitors(show: Show, service: Service) -> None:
    """Eight people who move sliders about once a second, mostly to where nobody was before."""
    with ThreadPoolExecutor(VISITORS) as pool:
        visits = list(pool.map(lambda seed: visit(service, seed, PAUSE), range(VISITORS)))
    assert compared(show, "eight users", [one for visit in visits for one in visit]).kept
