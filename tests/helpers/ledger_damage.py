"""A ledger of a few entries, and what it does once bytes of its file have changed."""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from hashlib import sha256
from pathlib import Path

from noisycount.errors import LedgerError
from noisycount.ledger.entries import Analyst, Request, TableAnswer
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.replies import Reply
from noisycount.ledger.verification import Verification

__all__ = [
    "FORBIDDEN",
    "OVERSPENT",
    "REFUSED",
    "SILENT",
    "SMALL_PAGES",
    "TRACEBACK",
    "UNTRUE",
    "Change",
    "Sample",
    "sample",
    "served_sample",
]

OVERSPENT, SECOND, REFUSED = "overspent", "second answer", "refused"
FORBIDDEN = (OVERSPENT, SECOND)
SILENT, TRACEBACK, UNTRUE = "silent", "traceback", "untrue"
PRICE, LEAST = Fraction(1, 10), Fraction(1, 10**9)
ALICE, BOB, CAROL = Analyst("alice", 2 * PRICE), Analyst("bob", PRICE), Analyst("carol")
ASKED = [
    (Request("survey", "old", PRICE), ALICE, 701),
    (Request("survey", "young", PRICE), BOB, 702),
    (Request("census", "old", PRICE), ALICE, TableAnswer.from_levels([[703, 5], [704]])),
]
BUDGETS = {"survey": 2 * PRICE, "census": PRICE, "panel": PRICE}
UNPAYABLE = [("survey", CAROL), ("census", CAROL), ("panel", ALICE), ("panel", BOB)]
REPLIED = ["alice:1", "bob:1", "alice:2", "carol:1"]
ASKERS = (ALICE, BOB, CAROL)
FRESH = 8_675_309  # an answer that no question of the sample was given
SMALL_PAGES = 512  # bytes: the table has an inner page then, and rows that go on elsewhere

Change = Mapping[int, int]  # bytes by their places


@dataclass(frozen=True, slots=True)
class Sample:
    """A ledger in a file, in which every budget is spent and every question answered."""

    path: Path  # the file
    content: bytes  # its bytes as they were written

    def outcomes(self, changes: Iterable[Change], *, is_open: bool = False) -> Counter[str]:
        """Count the changes after which a ledger does a forbidden act, or refuses everything."""
        found = Counter[str]()
        for change in changes:
            self.write({})
            with suppress(LedgerError), Ledger.open(f"sqlite:///{self.path}") as ledger:
                if is_open:
                    ledger.spent("survey")
                    ledger.close()
                    self.write(change)
                    found.update(set(wrongs(ledger)))
            if not is_open:
                self.write(change)
                found.update(self.wrongs_when_opened())
        return found

    def tellings(self, changes: Iterable[Change]) -> Counter[str]:
        """Count the changes after which a ledger shows other values in silence, or raises a foreign error."""
        self.write({})
        right, found = all_told(self.path), Counter[str]()
        assert REFUSED not in right.values()
        for change in changes:
            self.write(change)
            try:
                told = all_told(self.path)
            except Exception as error:  # noqa: BLE001 - that is what is looked for
                found[f"{TRACEBACK}: {type(error).__name__}: {error} at {change}"] += 1
                continue
            others = {name for name, said in told.items() if said != right[name]}
            if told["verified"] != REFUSED and others:
                found[f"{SILENT}: {sorted(others)} at {change}"] += 1
            if any(told[name] != REFUSED for name in others - {"rows", "verified"}):
                found[f"{UNTRUE}: {sorted(others)} at {change}"] += 1
            found[REFUSED] += told["verified"] == REFUSED
        return found

    def write(self, change: Change) -> None:
        """Write the file with a change, and nothing beside it."""
        self.path.with_name(f"{self.path.name}-journal").unlink(missing_ok=True)
        content = bytearray(self.content)
        for place, value in change.items():
            content[place] = value
        self.path.write_bytes(content)

    def wrongs_when_opened(self) -> set[str]:
        """Return the forbidden acts of a ledger that is opened now."""
        try:
            with Ledger.open(f"sqlite:///{self.path}") as ledger:
                return set(wrongs(ledger))
        except LedgerError:
            return {REFUSED}


def wrongs(ledger: Ledger) -> Iterator[str]:
    """Yield the forbidden acts of an open ledger: overspending, a second answer."""
    refused = 0
    for number, (request, analyst, answer) in enumerate(ASKED):
        key = f"{number}" if number % 2 else f"another {number}"
        try:
            entry, charged = ledger.reserve(key, request, BUDGETS[request.dataset], analyst)
            if charged:
                yield OVERSPENT
            if (entry.answer or ledger.store(entry, FRESH).answer) != answer:
                yield SECOND
        except LedgerError:
            refused += 1
    for dataset, analyst in UNPAYABLE:
        request = Request(dataset, f"new by {analyst.name}", LEAST)
        with suppress(LedgerError):
            ledger.reserve(f"new {dataset} {analyst.name}", request, BUDGETS[dataset], analyst)
            yield OVERSPENT
    if refused == len(ASKED):
        yield REFUSED


def all_told(path: Path) -> dict[str, object]:
    """Give all that a ledger in a file tells to anybody; what it refuses is `REFUSED`."""
    told: dict[str, object] = {}
    try:
        with Ledger.open(f"sqlite:///{path}") as ledger:
            replies = ledger.replies
            reads: dict[str, Callable[[], object]] = {
                "verified": lambda: verified(ledger),
                "rows": ledger.rows,
                "entries": ledger.entries,
                "descriptions": ledger.descriptions,
                **{f"spent for {name}": partial(ledger.paid, name) for name in BUDGETS},
                **{f"spent by {each.name}": partial(ledger.paid_by, each.name) for each in ASKERS},
                **{f"reply {name}": partial(replies.get, name) for name in REPLIED},
            }
            for name, read in reads.items():
                told[name] = REFUSED
                with suppress(LedgerError):
                    told[name] = read()
    except LedgerError:
        told["verified"] = REFUSED
    return told


def verified(ledger: Ledger) -> Verification:
    """Give what verifying tells of a ledger that is whole."""
    found = ledger.verify()
    if found.broken is not None:
        raise LedgerError(found.why)
    return found


def served_sample(path: Path, page: int | None = None) -> Sample:
    """Give the sample as a service leaves it: each answer with its reply, one of them repeated."""
    with Ledger.open(f"sqlite:///{path}") as ledger:
        replies = ledger.replies
        ledger.describe("survey", '{"unit": "person", "kinds": {"age": "whole"}}')
        for name, (request, analyst, answer) in zip(REPLIED, ASKED, strict=False):
            budget = BUDGETS[request.dataset]
            entry, _ = ledger.reserve(name, request, budget, analyst, purpose="a report")
            ledger.store(entry, answer, replies.attached_write(reply_of(name)))
        replies.store(reply_of(REPLIED[-1]))
    return packed_sample(path, page)


def reply_of(name: str) -> Reply:
    """Give the reply to a request; its answer is that of the sample."""
    content = {"answer": 701, "analyst": name.partition(":")[0], "key": name, "low": 680}
    return Reply(name, "survey", sha256(name.encode()).hexdigest(), json.dumps(content).encode())


def sample(path: Path, page: int | None = None) -> Sample:
    """The sample in a new file."""
    with Ledger.open(f"sqlite:///{path}") as ledger:
        for number, (request, analyst, answer) in enumerate(ASKED):
            entry, _ = ledger.reserve(f"{number}", request, BUDGETS[request.dataset], analyst)
            ledger.store(entry, answer)
    return packed_sample(path, page)


def packed_sample(path: Path, page: int | None) -> Sample:
    """Give the sample that is in a file, with pages of a length."""
    if page is not None:
        shell = sqlite3.connect(path)
        shell.execute(f"PRAGMA page_size = {page}")
        shell.execute("VACUUM")
        shell.close()
    return Sample(path, path.read_bytes())
