"""Which entries somebody wants to see, from the address of the page."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Self
from urllib.parse import urlencode

from noisycount.release.ledger.selection import Selection
from noisycount.shown.told import told_name

__all__ = ["AT_ONCE", "Filters"]

AT_ONCE = 50
"""How many entries are on a page."""

_PAGE = re.compile(r"[1-9][0-9]{0,5}")


@dataclass(frozen=True, slots=True)
class Filters:
    """What the form of the page holds.

    Attributes:
        dataset: Empty: all.
        analyst: Empty: everybody.
        since: A day; empty: from the beginning.
        until: A day; empty: to the end.
        wrong_days: What was given for a day and is none; it is left out.
        page: 1 for the newest entries.
    """

    dataset: str = ""
    analyst: str = ""
    since: str = ""
    until: str = ""
    page: int = 1
    wrong_days: tuple[str, ...] = ()

    @classmethod
    def of(cls, said: Mapping[str, str]) -> Self:
        """The filters of an address; what is no page is the first."""
        texts = {name: said.get(name, "").strip() for name in ("dataset", "analyst")}
        days = {name: said.get(name, "").strip() for name in ("since", "until")}
        wrong = tuple(day for day in days.values() if day and _day(day) is None)
        right = {name: "" if day in wrong else day for name, day in days.items()}
        page = said.get("page", "")
        return cls(
            **texts, **right, page=int(page) if _PAGE.fullmatch(page) else 1, wrong_days=wrong
        )

    @property
    def first(self) -> int:
        """How many newer entries are on earlier pages."""
        return (self.page - 1) * AT_ONCE

    def selection(
        self, known: Iterable[str], visible: frozenset[str] | None, analyst: str | None
    ) -> Selection:
        """What is wanted of what may be seen.

        Args:
            known: What the ledger calls data sets, which are told otherwise where that is a path.
            visible: The data sets that may be; None: all.
            analyst: Whose entries alone may be; None: everybody's.
        """
        datasets = visible
        if self.dataset:
            chosen = frozenset(name for name in known if told_name(name) == self.dataset)
            datasets = chosen if visible is None else chosen & visible
        return Selection(
            datasets=datasets,
            analyst=analyst if analyst is not None else self.analyst or None,
            since=_day(self.since),
            until=_day(self.until),
        )

    def query(self, page: int = 1) -> str:
        """The same filters in an address."""
        said = {name: getattr(self, name) for name in ("dataset", "analyst", "since", "until")}
        pages = {} if page == 1 else {"page": str(page)}
        return urlencode({**{name: text for name, text in said.items() if text}, **pages})


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None
