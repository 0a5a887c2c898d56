"""An answer that was paid for, found again."""

import json
from typing import Any

from noisycount.app.access.visitor import Visitor
from noisycount.app.server.office import Office
from noisycount.app.server.refusals import UnknownReleaseError
from noisycount.app.server.spending.spend import owner_of_name
from noisycount.app.show.wire import entry_object
from noisycount.release.ledger.lookup import entry_of_key
from noisycount.shown.told import told_name

__all__ = ["found"]


def found(name: str, visitor: Visitor, office: Office) -> bytes:
    """The bytes of a reply; of an answer that was not given here, what the ledger has of it.

    Args:
        name: The key of the reply.
        visitor: Who asks for it.
        office: Where it is kept.

    Raises:
        UnknownReleaseError: There is none of that name, or not for this visitor.
    """
    if not name.isprintable():
        raise UnknownReleaseError
    reply = office.replies.of(name)
    if reply is not None:
        _check(visitor, owner_of_name(name), reply.dataset)
        return reply.content
    entry = entry_of_key(office.ledger, name)
    if entry is None:
        raise UnknownReleaseError
    dataset = office.name_of(entry.request.dataset)
    _check(visitor, entry.analyst, dataset)
    told: dict[str, Any] = {"dataset": told_name(dataset), **entry_object(entry)}
    return json.dumps(told, ensure_ascii=False).encode()


def _check(visitor: Visitor, asker: str, dataset: str) -> None:
    """The refusal of what a visitor may not see.

    Raises:
        UnknownReleaseError: Somebody else asked, or the data set is not there for the visitor.
    """
    if not visitor.is_owner and not (asker == visitor.name and visitor.may_see(dataset)):
        raise UnknownReleaseError
