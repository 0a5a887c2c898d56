"""One spend: charged once, answered once, and replied to with the same bytes for ever."""

import json
from dataclasses import dataclass
from typing import Any

from noisycount.app.access.visitor import Visitor
from noisycount.app.count.hint import hints
from noisycount.app.count.question import answer_at
from noisycount.app.count.wire import answer_object
from noisycount.app.server.office import Office
from noisycount.app.server.spending.question import Question
from noisycount.app.table.question import table_at
from noisycount.app.table.wire import table_object
from noisycount.errors import ReuseError
from noisycount.release.ledger.replies import Reply

__all__ = ["Spend", "owner_of_name"]

_REUSED = (
    "this Idempotency-Key was used for another request, which it names for ever: choose another key"
)


def owner_of_name(name: str) -> str:
    """Whose request has a name in the ledger; no key holds a colon.

    Example:
        >>> owner_of_name("ana:2026-11-22")
        'ana'
    """
    return name.rpartition(":")[0]


@dataclass(frozen=True, slots=True)
class Spend:
    """A question that is to be answered at a price.

    Attributes:
        visitor: Who asks.
        dataset: The name of the data set.
        key: What the visitor calls the request; it has no colon.
        question: What is asked.
    """

    visitor: Visitor
    dataset: str
    key: str
    question: Question

    @property
    def name(self) -> str:
        """What the ledger calls the request: nobody meets the keys of others."""
        return f"{self.visitor.name}:{self.key}"

    def reply(self, office: Office) -> Reply:
        """The reply, made now or long ago.

        Raises:
            UnknownError: There is no such data set for the visitor.
            InFlightError: The request is worked on already.
            ReuseError: The key names another request.
            NoisyCountError: The question, the budget or the ledger refuses it.
        """
        office.dataset(self.visitor, self.dataset)
        with office.flights.of(self.name):
            found = office.replies.of(self.name) or office.replies.kept(self._made(office))
        if (found.dataset, found.request) != (self.dataset, self.question.digest):
            raise ReuseError(_REUSED)
        return found

    def _made(self, office: Office) -> Reply:
        """The reply to a request that was not replied to before."""
        made = self._told(office)
        told = {**made, "key": self.name}
        del told["ledger"]  # where it lies is none of a visitor's business
        if made["key"] != self.name and owner_of_name(made["key"]) == self.visitor.name:
            told["first"] = made["key"]  # their own request, which was charged for it
        content = json.dumps(told, ensure_ascii=False, allow_nan=False).encode()
        return Reply(self.name, self.dataset, self.question.digest, content)

    def _told(self, office: Office) -> dict[str, Any]:
        """A count or a table as JSON."""
        counter, analyst = office.counter(self.visitor, self.dataset), office.analyst(self.visitor)
        asked, pay = self.question.asked(), self.question.pay
        key, why = self.name, self.question.purpose
        if asked.is_table:
            return table_object(table_at(counter, asked, pay, analyst, key=key, purpose=why))
        (where,), goal, price, sure = asked.wheres, pay.goal, pay.price, pay.confidence
        answer = answer_at(counter, where, price, sure, analyst, key=key, purpose=why)
        if goal is None:
            return answer_object(answer, hints(answer))
        return answer_object(answer, hints(answer, goal.guess, goal.within))
