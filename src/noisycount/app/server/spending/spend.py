"""One spend: charged once, answered once, and replied to with the same bytes for ever."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from noisycount.app.access.visitor import Visitor
from noisycount.app.count.hint import hints
from noisycount.app.count.question import Answer, answer_at
from noisycount.app.count.wire import answer_object
from noisycount.app.server.office import Office
from noisycount.app.server.spending.question import Question
from noisycount.app.table.question import Table, table_at
from noisycount.app.table.wire import table_object
from noisycount.errors import ReuseError
from noisycount.release.ledger.enclosure import Enclosure
from noisycount.release.ledger.reply import Reply

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
            found = office.replies.of(self.name) or self._made(office)
        if (found.dataset, found.request) != (self.dataset, self.question.digest):
            raise ReuseError(_REUSED)
        return found

    def _made(self, office: Office) -> Reply:
        """The reply to a request that was not replied to before, which is kept with its answer."""
        drafts: dict[Enclosure, Reply] = {}

        def enclose(answered: Answer | Table) -> Enclosure:
            reply = self._draft(answered)
            enclosure = office.replies.enclosure(reply)
            drafts[enclosure] = reply
            return enclosure

        try:
            answered = self._answered(office, enclose)
        except BaseException:
            drafts.clear()  # the frames of a refusal hold no answer
            raise
        kept = [reply for enclosure, reply in drafts.items() if enclosure.is_written]
        return kept[0] if kept else office.replies.kept(self._draft(answered))

    def _answered(
        self, office: Office, enclose: Callable[[Answer | Table], Enclosure]
    ) -> Answer | Table:
        """A count or a table."""
        counter, analyst = office.counter(self.visitor, self.dataset), office.analyst(self.visitor)
        asked, pay = self.question.asked(), self.question.pay
        key, why = self.name, self.question.purpose
        if asked.is_table:
            return table_at(counter, asked, pay, analyst, key=key, purpose=why, enclose=enclose)
        (where,), price, sure = asked.wheres, pay.price, pay.confidence
        return answer_at(
            counter, where, price, sure, analyst, key=key, purpose=why, enclose=enclose
        )

    def _draft(self, answered: Answer | Table) -> Reply:
        """The reply that tells of an answer."""
        made = self._object(answered)
        told = {**made, "key": self.name}
        del told["ledger"]  # where it lies is none of a visitor's business
        if made["key"] != self.name and owner_of_name(made["key"]) == self.visitor.name:
            told["first"] = made["key"]  # their own request, which was charged for it
        content = json.dumps(told, ensure_ascii=False, allow_nan=False).encode()
        return Reply(self.name, self.dataset, self.question.digest, content)

    def _object(self, answered: Answer | Table) -> dict[str, Any]:
        """A count or a table as JSON."""
        if isinstance(answered, Table):
            return table_object(answered)
        goal = self.question.pay.goal
        if goal is None:
            return answer_object(answered, hints(answered))
        return answer_object(answered, hints(answered, goal.guess, goal.within))
