"""Connections to the service: how many there are, and how long each may keep it waiting."""

import asyncio
from collections.abc import Iterable

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["Connection", "accepted_at_once", "end_overdue", "most_connections"]


HEAD = 10.0


"""Seconds that the head of a request may take to arrive, from the connection or the last reply."""


UNREAD = 30.0


"""Seconds for which a client may read nothing of a reply that waits for it."""


_MOST = 4096


_USUAL_FILES = 1024  # that a process may have open where nobody says


class Connection(H11Protocol):
    """A connection that is ended where the client lets the service wait for too long.

    Where there are as many as may be, the newest takes the place of the one that waits for its
    client the longest, or has none where most are worked on: these are never ended.
    """

    since = 0.0  # when it began to wait for a head
    unread = 0  # bytes of replies at the last look
    read_at = 0.0  # when the client last took some of them
    is_late = False
    is_ended = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place, which may be another's."""
        super().connection_made(transport)
        self.since = self.loop.time()
        there: list[Connection] = [each for each in self._all() if not each.is_ended]
        if len(there) > most_connections():
            waiting = [each for each in there if each.awaits_client]
            is_idle = len(waiting) > len(there) // 2
            (min(waiting, key=lambda each: each.since) if is_idle else self).end()

    def on_response_complete(self) -> None:
        """Wait for the next head."""
        self.since = self.loop.time()
        super().on_response_complete()

    @property
    def awaits_head(self) -> bool:
        """Whether no request is here."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def awaits_client(self) -> bool:
        """Whether nothing happens before the client sends or reads something."""
        return self.awaits_head or self.cycle.more_body or self._unread > 0

    def is_overdue(self, now: float) -> bool:
        """Whether the client took too long; to be asked again and again."""
        unread = self._unread
        if unread == 0 or unread != self.unread:
            self.unread, self.read_at = unread, now
        if unread:
            return now > self.read_at + UNREAD
        return self.awaits_head and now > self.since + HEAD

    def end(self) -> None:
        """Close it now, whatever is unread."""
        self.is_ended = True
        self.transport.abort()

    @property
    def _unread(self) -> int:
        return self.transport.get_write_buffer_size()

    def _all(self) -> Iterable["Connection"]:
        return self.connections  # type: ignore[return-value]  # the service makes no others


def end_overdue(connections: Iterable[Connection], now: float) -> None:
    """End the connections whose clients took too long, at this look and at the one before.

    Between two looks the service has read what lay there: one that was busy blames nobody.

    Args:
        connections: All that there are.
        now: Seconds of the loop's clock.
    """
    for each in list(connections):
        was_late, each.is_late = each.is_late, each.is_overdue(now)
        if was_late and each.is_late and not each.is_ended:
            each.end()


def most_connections() -> int:
    """How many there may be: half of the files that the process may have open."""
    return max(4, min(_MOST, _files() // 2))


def accepted_at_once() -> int:
    """How many may be accepted before the first of them is looked at: an eighth of the files."""
    return max(1, min(_MOST, _files() // 8))


def _files() -> int:
    """How many files the process may have open."""
    try:
        import resource  # noqa: PLC0415 - POSIX alone has it
    except ImportError:
        return _USUAL_FILES
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST * 8 if soft == resource.RLIM_INFINITY else soft
