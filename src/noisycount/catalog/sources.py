"""Records under their description: opened when they are counted, and not to find an old answer."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from noisycount.catalog.record import Written
from noisycount.engines.check import Check, Closing, require_readable
from noisycount.engines.interface import CheckedSource, require_known_columns, require_known_parts
from noisycount.errors import SourceError
from noisycount.ledger.transactions import BatchQueue, Task
from noisycount.query.grouping import CellQuestion, KeyCounts, KeyQuestion
from noisycount.query.predicate import Predicate
from noisycount.query.schema import Schema

__all__ = ["DescribedSource", "require_described"]
_FEW = 8  # predicates; who asks for more has a scan of their own


@dataclass(slots=True)
class DescribedSource(Closing):
    """Records of which all is known that a question needs before they are counted.

    Attributes:
        shown: What messages call the records.
        written: Their description.
        schema: What questions may use of them.
        require_same: Refuses records that may not be those of the description any more.
        opening: Opens them.
        former_versions: What their version was called before contents were hashed.
        opened: The open records, from the first need of them on.
        is_closed: Whether their use has ended.
        lock: Held while they are opened or closed.
        scans: Lets threads that ask little share one scan.
    """

    shown: str
    written: Written
    schema: Schema
    require_same: Callable[[], None]
    opening: Callable[[], CheckedSource]
    former_versions: tuple[str, ...] = ()
    opened: CheckedSource | None = None
    is_closed: bool = False
    lock: Lock = field(default_factory=Lock)
    scans: BatchQueue = field(default_factory=BatchQueue)

    @property
    def unit(self) -> str | None:
        """The column that names the person, or None where every record is one unit."""
        return self.written.unit

    @property
    def version(self) -> str:
        """A text that changes with the records, and with what their cells stand for."""
        return self.written.version

    @property
    def accepted(self) -> frozenset[str]:
        """The columns whose cells that do not fit count as missing; see ``Source.accepted``."""
        return self.written.accepted

    def require_unchanged(self) -> None:
        """The refusal of records that changed; see ``Source.require_unchanged``."""
        if self.is_closed:
            raise SourceError(f"{self.shown} is closed: open it again")
        self.require_same()

    def prepare(self) -> None:
        """The opening of the records, and the refusal of what does not fit; see ``Source``."""
        self._described().prepare()

    def count(self, predicates: Sequence[Predicate]) -> list[int]:
        """The true count for each predicate; see ``Source.count``."""
        require_known_columns(predicates, self.schema)
        if len(predicates) > _FEW:
            counts = self._described().count(predicates)
        else:
            counts = self.scans.result(predicates, self._scan)
        self.require_unchanged()
        return counts

    def _scan(self, tasks: Sequence[Task[Sequence[Predicate], list[int]]]) -> None:
        """Count for several threads at once."""
        asked = [predicate for task in tasks for predicate in task.wish]
        counts = iter(self._described().count(asked))
        for task in tasks:
            task.settle(lambda predicates: list(islice(counts, len(predicates))))

    def count_cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        """The true counts of a table; see ``Source.count_cells``."""
        require_known_parts(question.keys.parts, question.where, self.schema)
        counts = self._described().count_cells(question)
        self.require_unchanged()
        return counts

    def count_keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        """The groups that have units, and how many; see ``Source.count_keys``."""
        require_known_parts(question.parts, question.where, self.schema)
        return self._keys(self._described(), question)

    def _keys(self, source: CheckedSource, question: KeyQuestion) -> Iterator[KeyCounts]:
        yield from source.count_keys(question)
        self.require_unchanged()

    def check(self, unit: str | None = None) -> Check:
        """What is in the records; see ``Source.check``."""
        return self._source().check(unit)

    def close(self) -> None:
        """The end of their use."""
        with self.lock:
            self.is_closed = True
            if self.opened is not None:
                self.opened.close()

    def _described(self) -> CheckedSource:
        """The open records, once they are seen to be as they were described."""
        source = self._source()
        require_described(self.shown, self.written, source)
        require_readable(self.shown, source.used())
        return source

    def _source(self) -> CheckedSource:
        """The open records; a copy that was removed meanwhile is made again."""
        with self.lock:
            self.require_unchanged()
            if self.opened is not None and not _is_there(self.opened):
                self.opened.close()
                self.opened = None
            if self.opened is None:
                self.opened = self.opening()
            return self.opened


def _is_there(source: CheckedSource) -> bool:
    """Whether open records are what they were at opening."""
    try:
        source.require_unchanged()
    except SourceError:
        return False
    return True


def require_described(shown: str, written: Written, source: CheckedSource) -> None:
    """The refusal of records that are not as they were described.

    Args:
        shown: What messages call them.
        written: Their description.
        source: The records.
    """
    whole = source.schema.entire
    for name, form in written.columns.items():
        kind = whole.kinds.get(name)
        if kind is not form.kind and name != written.unit:
            found = whole.others.get(name, "missing") if kind is None else kind.value
            raise SourceError(
                f"column {name!r} of {shown} was written down as {form.kind.value}, and is {found} "
                "now: mend it, or write down what it is by `noisycount check --renew`"
            )
