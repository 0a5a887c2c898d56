"""How often somebody may show a wrong key."""

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address, ip_network
from threading import Lock

__all__ = ["MOST", "SECONDS", "Attempts"]

MOST = 10
"""So many wrong keys may come from one place within so many `SECONDS`."""

SECONDS = 60.0
_PLACES = 10_000  # that are kept in mind, the latest
_HOMES = 64  # bits of an address of which one customer has all the rest


@dataclass(slots=True)
class Attempts:
    """The wrong keys of the last minute, by where they came from.

    Args:
        clock: Seconds, from any beginning.
    """

    clock: Callable[[], float] = time.monotonic
    _failed: OrderedDict[str, deque[float]] = field(default_factory=OrderedDict, init=False)
    _turn: Lock = field(default_factory=Lock, init=False)

    def seconds_left(self, host: str) -> float:
        """How long a host has to wait until its next attempt; 0 where it may try.

        Args:
            host: Its address.
        """
        with self._turn:
            failed = self._failed.get(_place(host))
            if failed is None or len(failed) < MOST:
                return 0.0
            return max(0.0, failed[0] + SECONDS - self.clock())

    def fail(self, host: str) -> None:
        """Keep a wrong key in mind.

        Args:
            host: The address that it came from.
        """
        with self._turn:
            place = _place(host)
            self._failed.setdefault(place, deque(maxlen=MOST)).append(self.clock())
            self._failed.move_to_end(place)
            while len(self._failed) > _PLACES:
                self._failed.popitem(last=False)


def _place(host: str) -> str:
    """Whose address it is.

    Example:
        >>> _place("192.0.2.7"), _place("2001:db8::1"), _place("a socket")
        ('192.0.2.7', '2001:db8::/64', 'a socket')
    """
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        return str(ip_network((int(address), _HOMES), strict=False))
    return host
