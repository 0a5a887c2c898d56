"""Verification of a whole chain, from its first row to its last.

`entries_of` returns every debit with its answer, `verification` finds the first broken row.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import dropwhile

from sqlalchemy import Connection

from noisycount.errors import LedgerError
from noisycount.frozen import frozen
from noisycount.ledger import chain
from noisycount.ledger.entries import Entry, Head
from noisycount.ledger.series import identity_of
from noisycount.ledger.state import LedgerState, linked_keys
from noisycount.ledger.storage import Row, row_at


def entries_of(rows: Iterable[Row]) -> list[Entry]:
    """Return every debit with its answer, oldest first. Raise LedgerError at the first damaged row."""
    state, entries = LedgerState(), dict[str, Entry]()
    for row in rows:
        state.read([row])
        if row["kind"] == chain.DEBIT:
            debit = state.recent.get(row["key"]) or chain.debit_of(row)  # a debit with a long question is not kept
            if replaced := tuple(linked_keys(state.coarser, row["key"])):
                base = entries[replaced[0]] if identity_of(debit.request).is_gaussian else None
                debit = replace(debit, replaces=replaced, base=base)
            entries[row["key"]] = debit
        elif row["kind"] == chain.ANSWER:
            debit = entries[row["key"]]
            entries[row["key"]] = answered = chain.answered_entry(debit, row)
            if refund := chain.unused_reserve(debit.request, answered.request):
                entries |= _after_refund(refund, answered, entries)
        elif row["kind"] == chain.REPEAT:
            repeated = entries[row["question"]]
            repeats = (*repeated.repeats, chain.repeat_of(row))
            entries[repeated.key] = replace(repeated, repeats=repeats)
    return [_with_base(entry, entries) for entry in entries.values()]


def _with_base(entry: Entry, entries: Mapping[str, Entry]) -> Entry:
    """Return a debit whose `base` is the answer that it tops up. Debits under Gaussian noise have a base already."""
    if not entry.replaces or entry.base is not None:
        return entry
    answered = (entries[key] for key in entry.replaces if entries[key].answer is not None)
    return replace(entry, base=next(answered, None))


def _after_refund(refund: Fraction, settled: Entry, entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """Return a settled debit and all later debits. Totals that included its reserve are reduced by its refund."""
    later = dropwhile(lambda entry: entry.key != settled.key, entries.values())
    return {
        entry.key: replace(
            entry,
            spent=entry.spent.after_refund(refund if entry.request.dataset == settled.request.dataset else Fraction(0)),
            analyst_spent=entry.analyst_spent.after_refund(refund if entry.analyst == settled.analyst else Fraction(0)),
        )
        for entry in later
    }


@frozen
class Verification:
    """Result of reading a chain from its first row to its last."""

    head: Head  # the newest row before the first broken one, or the newest of all
    broken: int | None = None  # number of the first broken row; None if the chain is intact
    why: str = ""  # end of a sentence that says what is wrong with that row
    older_replies: int = 0  # number of replies without a row that holds their digest, as they are older than such rows


def verification(
    rows: Iterable[Row], known_head: Head | None = None, replies: Mapping[str, str] | None = None
) -> Verification:
    """Check the rows of a chain, and return its newest row, or its first broken row with the reason.

    Args:
        rows: All rows, oldest first.
        known_head: A head that the owner states; the chain must hold that row. None: any chain is allowed.
        replies: Digests of the stored replies by name, to be compared with the rows. None: they are not compared.
    """
    state = LedgerState()
    for row in rows:
        head = state.head
        why = state.check_next(row)
        if why is None and not _agrees_with_head(state.head, known_head):
            why = "is not the row of the stated head: an older copy was restored, or rewritten"
        if why is None and replies is not None and _is_lost(row, replies):
            why = f"is of reply {row['key']!r}, which was changed or removed"
        if why is not None:
            return Verification(head, head.number + 1, why)
    if known_head is not None and state.head.number < known_head.number:
        why = f"is missing, though the stated head is row {known_head.number}: this is an older copy"
        return Verification(state.head, state.head.number + 1, why)
    unknown = sorted((replies or {}).keys() - state.replies.keys())
    if unknown and state.replies:
        why = f"is missing: reply {unknown[0]!r} is in no row, and was added behind its back"
        return Verification(state.head, state.head.number + 1, why)
    return Verification(state.head, older_replies=len(unknown))


def _is_lost(row: Row, replies: Mapping[str, str]) -> bool:
    """Return True if a row belongs to a reply that was changed or removed."""
    return bool(row["kind"] == chain.REPLY and replies.get(row["key"]) != row["digest"])


def _agrees_with_head(head: Head, known_head: Head | None) -> bool:
    """Return True unless a row has the number of the known head and another hash."""
    return known_head is None or head.number != known_head.number or known_head.names(head.hash)


def require_row(connection: Connection, known_head: Head, place: str) -> None:
    """Raise LedgerError if a ledger does not hold the row of the head that its owner states."""
    if known_head.number == 0:
        return
    row = row_at(connection, known_head.number)
    if row is None or row["hash"] != chain.row_hash(row) or not known_head.names(row["hash"]):
        raise LedgerError(
            f"{place} does not hold the row of the stated head, row {known_head.number}: it is"
            " an older copy, or another ledger; restore the newest copy"
        )
