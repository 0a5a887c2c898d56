"""The requests that are worked on, each once."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from noisycount.app.server.refusals import InFlightError

__all__ = ["Flights"]


@dataclass(slots=True, eq=False)
class Flights:
    """The names of requests that are worked on in this process.

    Two processes that work on one name are kept from a second answer by the ledger alone.

    Example:
        >>> flights = Flights()
        >>> with flights.of("ana:1"), flights.of("ana:2"):
        ...     pass
    """

    _names: set[str] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """The time in which a request is worked on.

        Raises:
            InFlightError: It is already.
        """
        with self._lock:
            if name in self._names:
                raise InFlightError
            self._names.add(name)
        try:
            yield
        finally:
            with self._lock:
                self._names.remove(name)
