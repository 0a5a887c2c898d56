"""How often a visitor may ask: a bucket of tokens each, which fills as time passes."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from noisycount.app.server.refusals import RateError

__all__ = ["Buckets"]

_MINUTE = 60.0


@dataclass(slots=True, eq=False)
class Buckets:
    """A token is taken by each request; a full bucket holds those of a minute.

    Attributes:
        rate: So many tokens a minute come into each bucket.
        clock: Seconds, from any beginning.

    Example:
        >>> buckets = Buckets(rate=2, clock=lambda: 0.0)
        >>> buckets.take("ana"), buckets.take("ana"), buckets.take("bo")
        (None, None, None)
    """

    rate: int
    clock: Callable[[], float] = time.monotonic
    _levels: dict[str, tuple[float, float]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def take(self, name: str, tokens: float = 1.0) -> None:
        """Some tokens of a visitor's bucket, or a part of one.

        Args:
            name: The visitor's.
            tokens: How many.

        Raises:
            RateError: It has not so many; the error says when it will.
        """
        with self._lock:
            now = self.clock()
            level, then = self._levels.get(name, (float(self.rate), now))
            level = min(float(self.rate), level + (now - then) * self.rate / _MINUTE)
            if level < tokens:
                raise RateError(math.ceil((tokens - level) * _MINUTE / self.rate))
            self._levels[name] = level - tokens, now
