"""Analysts that spend one budget through a service, whatever becomes of it, and what they find."""

import hashlib
import json
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from noisycount.ledger.ledger import Ledger
from tests.helpers.service_process import DATASET, Service
from tests.helpers.workers import processes

if TYPE_CHECKING:
    from noisycount.ledger.entries import Entry

__all__ = ["Spend", "Toll", "raced"]

PRICE = Fraction(1, 1000)
PROCESSES = 2  # of clients: the service has the other core where there are two
REFUSED, AWAY = 0.02, 0.3  # seconds, until somebody asks again who was refused, or met nobody
_AGE = 100
_NO_HEAD = sys.maxsize  # length of a reply whose head has not arrived


@dataclass(frozen=True, slots=True)
class Spend:
    """A reply to a spend."""

    name: str  # what the ledger calls it
    digest: str  # of its bytes
    seconds: float  # from the first request to the reply
    tries: int  # how many requests that took


@dataclass(frozen=True, slots=True)
class Toll:
    """Spends of many analysts, compared with the entries of the ledger."""

    spends: Sequence[Spend]  # all that was acknowledged
    refused: Mapping[int, int]  # how many refusals there were of other status than "more than is left", by status
    seconds: float  # for how long they asked
    overspent: Fraction  # by how much the budget was overspent
    lost: int  # how many acknowledged spends the ledger does not hold, or not with that answer
    changed: int  # how many replies are not the same bytes when they are asked for again
    second: int  # how many debits are of a question that another debit is of
    intact: bool  # whether the chain is
    clients: float  # seconds of processor time that the analysts used while they asked

    @property
    def rate(self) -> float:
        """Spends a second."""
        return len(self.spends) / self.seconds

    @property
    def told(self) -> str:
        """The result on a single line."""
        slow = np.quantile([spend.seconds for spend in self.spends], 0.99)
        tries = sum(spend.tries - 1 for spend in self.spends)
        return (
            f"{len(self.spends)} spends in {self.seconds:.0f} s, {self.rate:.0f} a second, 99 % of"
            f" them within {slow:.2f} s, {tries} requests sent again; {self.overspent} overspent,"
            f" {self.lost} lost, {self.changed} changed, {self.second} charged twice"
        )


def raced(  # noqa: PLR0913 - each is about something else
    service: Service,
    analysts: int,
    seconds: float,
    budget: Fraction,
    meanwhile: Callable[[float], None] = time.sleep,
    *,
    first: int = 0,
) -> Toll:
    """Return what becomes of analysts who spend one budget for some seconds.

    `first`: the number of each analyst's first question, so that a second race asks other questions.
    """
    names = [f"analyst{number}" for number in range(analysts)]
    keys = list(service.keys(names).items())
    shares = [dict(keys[number::PROCESSES]) for number in range(PROCESSES)]
    with ProcessPoolExecutor(PROCESSES, mp_context=processes()) as pool:
        found = [pool.submit(crowd, service.port, share, seconds, first) for share in shares]
        started = time.monotonic()
        meanwhile(seconds)
        spends, refused, used = zip(*(each.result() for each in found), strict=True)
        lasted = time.monotonic() - started
        acknowledged = list(chain.from_iterable(spends))
        changed = sum(pool.map(changed_of, [service.port] * PROCESSES, shares, map(list, spends)))
    toll = _toll(service, acknowledged, sum(refused, Counter()), lasted, budget, changed)
    return replace(toll, clients=sum(used))


def crowd(port: int, keys: Mapping[str, str], seconds: float, first: int) -> tuple[list[Spend], Counter[int], float]:
    """Return what the analysts of one process are replied to within some seconds, and their processor time."""
    until, begun = time.monotonic() + seconds, time.process_time()
    with ThreadPoolExecutor(len(keys)) as pool:
        found = list(pool.map(lambda each: spent(port, *each, until, first), keys.items()))
    spends, refused = [each for each, _ in found], [each for _, each in found]
    return list(chain.from_iterable(spends)), sum(refused, Counter()), time.process_time() - begun


def spent(port: int, name: str, key: str, until: float, number: int) -> tuple[list[Spend], Counter[int]]:
    """Ask ever new questions as one analyst, each until it is answered; return the replies."""
    spends, refused, line = list[Spend](), Counter[int](), Line(port, key)
    while time.monotonic() < until:
        started, tries, status, content = time.monotonic(), 0, 0, b""
        while status not in {201, 403}:
            tries += 1
            status, content = line.post(f"{number}", body(name, number))
            if status not in {0, 201, 403}:
                refused[status] += 1
            if status != 201:
                time.sleep(REFUSED if status else AWAY)
        if status == 201:
            passed = time.monotonic() - started
            spends.append(Spend(f"{name}:{number}", digest(content), passed, tries))
        number += 1
    line.close()
    return spends, refused


def changed_of(port: int, keys: Mapping[str, str], spends: Sequence[Spend]) -> int:
    """Count the replies that are other bytes if the same request is sent again."""
    lines = {name: Line(port, key) for name, key in keys.items()}
    changed = 0
    for spend in spends:
        name, _, number = spend.name.partition(":")
        status, content = lines[name].post(number, body(name, int(number)))
        changed += (status, digest(content)) != (201, spend.digest)
    for line in lines.values():
        line.close()
    return changed


def body(name: str, number: int) -> bytes:
    """A question that nobody else asks."""
    place = int(name.removeprefix("analyst")) * 10_000 + number
    first, second, third = place % _AGE, place // _AGE % _AGE, place // _AGE**2
    where = f"age in ({first}, {_AGE + second}, {2 * _AGE + third})"
    return json.dumps({"where": where, "epsilon": str(float(PRICE))}).encode()


def digest(content: bytes) -> str:
    """Return a digest that distinguishes replies."""
    return hashlib.sha256(content).hexdigest()


@dataclass(slots=True)
class Line:
    """Connection of an analyst, which is opened again after it broke.

    It is a socket that stays open: a complete client would take as much of the processor as a part of the service.
    """

    port: int
    key: str
    connection: socket.socket | None = None

    def post(self, key: str, content: bytes) -> tuple[int, bytes]:
        """Return the status and the body of a reply; 0 if no reply came."""
        head = (
            f"POST /v1/datasets/{DATASET}/releases HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self.key}\r\n"
            f"Content-Type: application/json\r\nIdempotency-Key: {key}\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        try:
            if self.connection is None:
                self.connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
            self.connection.sendall(head.encode("ascii") + content)
            return self._reply(self.connection)
        except OSError:
            self.close()
            return 0, b""

    def close(self) -> None:
        """Close the connection if there is one."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def _reply(self, connection: socket.socket) -> tuple[int, bytes]:
        """Read a reply whose head states its length. Raise OSError if the connection ends before."""
        reply, length = b"", _NO_HEAD
        while len(reply) < length:
            part = connection.recv(1 << 16)
            if not part:
                raise ConnectionError
            reply += part
            if length == _NO_HEAD and (end := reply.find(b"\r\n\r\n")) >= 0:
                head = reply[:end].lower()
                length = end + 4 + int(head.partition(b"\r\ncontent-length: ")[2].partition(b"\r\n")[0])
        if b"\r\nconnection: close" in head:
            self.close()
        return int(head[9:12]), reply[end + 4 :]


def _toll(  # noqa: PLR0913, PLR0917 - each was found elsewhere
    service: Service, spends: Sequence[Spend], refused: Counter[int], seconds: float, budget: Fraction, changed: int
) -> Toll:
    """Compare the acknowledged spends with the ledger."""
    with Ledger.open(service.ledger_url, create=False) as ledger:
        entries: dict[str, Entry] = {entry.key: entry for entry in ledger.entries()}
        intact = ledger.verify().broken is None
        paid = ledger.paid(next(iter(entries.values())).request.dataset).epsilon or Fraction(0)
    charged = sum((entry.request.price.epsilon or 0 for entry in entries.values()), Fraction(0))
    questions = Counter(entry.request.digest for entry in entries.values())
    lost = [spend for spend in spends if spend.name not in entries or entries[spend.name].answer is None]
    return Toll(
        spends=spends,
        refused=refused,
        seconds=seconds,
        overspent=max(Fraction(0), paid - budget),
        lost=len(lost) + (charged != paid),
        changed=changed,
        second=sum(number - 1 for number in questions.values()),
        intact=intact,
        clients=0.0,
    )
