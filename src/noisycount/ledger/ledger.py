"""Ledger of a privacy budget: append-only debits and answers in a SQL database.

`Ledger` charges requests to the budgets, stores their answers, returns stored entries, and verifies its own rows.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import partial
from typing import Any, Self, cast

from sqlalchemy import ColumnElement, Connection, func, select

from noisycount.display.values import Shown
from noisycount.errors import LedgerError, ReuseError
from noisycount.frozen import frozen
from noisycount.ledger import chain
from noisycount.ledger.address import LedgerAddress, check_server, make_file, make_table
from noisycount.ledger.budget import Budget, Loss, budget_of
from noisycount.ledger.charges import Charge
from noisycount.ledger.entries import (
    Analyst,
    Entry,
    Head,
    Repeat,
    Request,
    TableAnswer,
    check_description,
    check_purpose,
    check_text,
    check_type,
    edition_of,
    storable_answer,
    unit_of,
)
from noisycount.ledger.replies import Replies, check_older_replies, digests_of
from noisycount.ledger.series import EDITION, identity_of, request_at_stop
from noisycount.ledger.state import NO_LOSS, LedgerState
from noisycount.ledger.storage import LEDGER, all_rows, as_ledger_errors, check_structure, is_made
from noisycount.ledger.transactions import AttachedWrite, StaleReadingError, Transactions, lock_out_writers
from noisycount.ledger.verification import Verification, entries_of, require_row, verification


class StaleBaseError(LedgerError):
    """Error: the answer that a top-up was drawn from is out of date. Draw the top-up again from the newer answer."""


@frozen
class Selection:
    """Filter of debits by data set, analyst and day."""

    datasets: frozenset[str] | None = None  # names of data sets in the ledger; None: all
    analyst: str | None = None  # analyst who paid; None: all
    since: date | None = None  # first day in UTC; None: from the beginning
    until: date | None = None  # last day in UTC, included; None: to the end

    @property
    def conditions(self) -> list[ColumnElement[bool]]:
        """SQL conditions on the rows. Times are stored as texts that sort in the order of the times."""
        conditions = [LEDGER.c.kind == chain.DEBIT]
        if self.datasets is not None:
            conditions.append(LEDGER.c.dataset.in_(sorted(self.datasets)))
        if self.analyst is not None:
            conditions.append(LEDGER.c.analyst == self.analyst)
        if self.since is not None:
            conditions.append(LEDGER.c.made >= self.since.isoformat())
        if self.until is not None and self.until < date.max:
            conditions.append(LEDGER.c.made < (self.until + timedelta(days=1)).isoformat())
        return conditions


@frozen
class Selected:
    """A page of the debits that match a selection, with the totals of the whole ledger."""

    entries: tuple[Entry, ...]  # newest first, each from rows whose hashes were checked
    total: int  # number of all debits that match the selection
    datasets: Mapping[str, Loss]  # loss of every data set with a debit, by its name in the ledger
    analysts: Mapping[str, Loss]  # loss of every analyst who paid for a debit, by name
    head: Head  # the newest row


@frozen(repr=False)
class Ledger(Shown):
    """Record of what every data set has spent, and of every answer that an analyst has paid for.

    Use `open`, not the constructor. Many threads and processes may use a ledger at once; each process opens its own.
    Each row carries the hash of the row before. Charges and answers depend only on rows whose hashes were checked
    since the ledger was opened. Rows before the newest checkpoint are read and checked when they are needed.

    Example:
        >>> import tempfile
        >>> request = Request("survey", "age > 40", Fraction(1, 10))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        ...         entry, charged = ledger.reserve("mine", request, Fraction(1))
        ...         entry = ledger.store(entry, 103)
        ...         again, charged_again = ledger.reserve("mine", request, Fraction(1))
        ...         head = ledger.verify().head
        >>> charged.epsilon, charged_again.epsilon, again.answer, head.number
        (Fraction(1, 10), Fraction(0, 1), 103, 2)
    """

    transactions: Transactions
    clock: Callable[[], datetime] = partial(datetime.now, UTC)  # returns the time in UTC
    replies: Replies = field(init=False)  # the replies of a service

    def __post_init__(self) -> None:
        object.__setattr__(self, "replies", Replies(self.transactions, self.clock))

    @property
    def place(self) -> str:
        """Name of the ledger in messages; it holds no password."""
        return self.transactions.place

    def _facts(self) -> dict[str, object]:
        return {"place": self.place}

    @classmethod
    def open(cls, url: str, *, create: bool = True, known_head: Head | None = None) -> Self:
        """Open the ledger at an address, and upgrade a ledger of the older form, without hashes, to the present one.

        ``?timeout=5`` limits the wait for a lock to 5 seconds (default: 30). The address
        ``sqlite:///file:ledger.db?mode=ro&uri=true`` is read-only. Raise LedgerError if the address is wrong, if the
        file is missing and `create` is False, or if the ledger does not hold the row of `known_head`.
        """
        address = LedgerAddress.read(url)
        check_type("known_head", known_head, Head | None)
        if address.file is not None:
            make_file(address, address.file, create=create, known_head=known_head)
        with as_ledger_errors(address.place):
            engine = address.engine()
        proven = known_head if known_head is not None and known_head.number else None
        writing = engine.execution_options(writing=True)
        ledger = cls(Transactions(address.place, engine, writing, known_head=proven))
        try:
            ledger._prepare(create=create and address.file is None)
            if known_head is not None:
                with ledger.transactions.transaction() as connection:
                    require_row(connection, known_head, ledger.place)
        except Exception:
            ledger.close()
            raise
        return ledger

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections. Committed rows stay."""
        self.transactions.reading.dispose()

    def reserve(  # noqa: PLR0913 - all that a debit keeps
        self,
        key: str,
        request: Request,
        budget: Fraction | Budget,
        analyst: Analyst = Analyst(),  # noqa: B008 - frozen
        formers: Sequence[Request] = (),
        *,
        purpose: str | None = None,
        asked: Request | None = None,
        prepare: Callable[[], None] | None = None,
    ) -> tuple[Entry, Loss]:
        """Return the debit of a request, and what this call charged for it.

        If the analyst asked the question before at this price or a higher one, under any key, it is free. If only other
        analysts asked it, it is also free, and the ledger records a repeat; but both budgets must be able to pay for it
        as if no other analyst had asked: see `require_payable`. If the question was asked at a lower price, the
        difference is charged if its version names exactly the records that are counted, else the full price.

        A top-up of a reserve or under Gaussian noise, and a reserve on top of a debit, need the answer to the debit
        below. If that debit has no answer, this method returns it to be answered first, and charges nothing.

        `formers` are other forms in which the ledger may hold the request: see `LedgerState.forms`. If `request` is for
        an answer that another analyst has, `asked` is the request in its place for which both budgets must be able to
        pay. `prepare` is called before anything is charged, unless the analyst has a stored answer to the request.

        Raises:
            BudgetError: A budget does not admit the charge.
            ReuseError: The key was used by another analyst, for another question, or at a lower price.
        """
        check_text("key", key)
        check_type("request", request, Request)
        check_type("analyst", analyst, Analyst)
        check_purpose(purpose)
        limit = budget_of(budget)

        if prepare is not None and not self.transactions.read_state(
            lambda state: state.covering_key(state.forms(request, formers), analyst) in state.answers
        ):
            prepare()
        reading = self.transactions.unconfirmed_reading()

        def reserve_in(connection: Connection, state: LedgerState) -> tuple[Entry, Loss]:
            is_replied = key in state.replies
            if reading is not None and (is_replied or state.description_rows.get(request.dataset, 0) > reading):
                raise StaleReadingError(f"another process replied to key {key!r}, or described the data set: ask again")
            forms = state.forms(request, formers)
            state.require_newest_edition(request.dataset, request.asked.get(EDITION))
            charge, stored, base = Charge(connection, state, request, forms, limit, analyst), None, None
            if key in state.debits:
                self._require_same_request(state, key, request, forms, analyst)
                stored, _ = charge.find_stored_entry(key)
            elif state.keys_of_question(forms):
                stored, base = charge.find_stored_entry(asked=asked)
            if stored is None:
                entry = charge.append_debit(key, base, purpose, self.clock())
                return entry, entry.request.price
            if analyst.name not in stored.askers:
                repeat = Repeat(analyst.name, max(self.clock(), state.made), purpose)
                state.append(chain.repeat_columns(secrets.token_hex(16), stored, repeat))
            return stored, Loss()

        return self.transactions.write(reserve_in)

    def require_payable(
        self, request: Request, budget: Fraction | Budget, analyst: Analyst, formers: Sequence[Request] = ()
    ) -> None:
        """Raise BudgetError unless both budgets pay for a request as if no other analyst had asked its question.

        A question that the analyst asked before at this price or a higher one needs no payment.
        """
        limit = budget_of(budget)

        def check(connection: Connection, state: LedgerState) -> None:
            forms = state.forms(request, formers)
            if state.covering_key(forms, analyst) is None:
                Charge(connection, state, request, forms, limit, analyst).require_payable(request)

        self.transactions.read(check)

    def store(
        self,
        entry: Entry,
        answer: int | TableAnswer,
        attached: AttachedWrite | None = None,
        stopped: Fraction | None = None,
    ) -> Entry:
        """Store the answer to a debit, and return the entry with its final answer.

        If the debit has an answer already, or a top-up of the debit has one, nothing is stored and the entry with that
        answer is returned. `attached` is written in the same transaction. `stopped` is the ε at which the search for an
        accuracy goal stopped; the rest of the reserve is then refunded. None: the price is fixed.

        Raise LedgerError if there is no such debit, StaleBaseError if another request improved the answer since `entry`
        was read.
        """
        check_type("entry", entry, Entry)
        answer = storable_answer(answer)

        def store_in(connection: Connection, state: LedgerState) -> tuple[Entry, bool]:
            made = max(self.clock(), state.made)
            stored = state.entry(connection, entry.key)
            reserved = state.reserves.get(entry.key)
            if stored is None or entry.request not in {stored.request, reserved}:
                raise LedgerError(f"key {entry.key!r} has no debit here; reserve before you store")
            if stored.answer is not None:
                return stored, False
            if (finer := state.entry(connection, state.answered_top_up_key(entry.key))) is not None:
                return finer, False
            bases = [either.base.key if either.base else None for either in (stored, entry)]
            if bases[0] != bases[1]:
                raise StaleBaseError(f"another request improved the answer of key {entry.key!r} first: ask again")
            settled = None if stopped is None else request_at_stop(stored.request, stopped)
            state.append(chain.answer_columns(entry.key, answer, made, settled), answer)
            is_written = attached is not None and attached.write(state)
            return replace(stored, answer=answer, request=settled or stored.request), is_written

        stored, is_written = self.transactions.write(store_in)
        if attached is not None:
            attached.is_written = is_written
        return stored

    def describe(self, dataset: str, text: str, former: str | None = None) -> str:
        """Store a description of a data set if it has none or the newest is `former`; return the newest description.

        Raise LedgerError for another privacy unit, and ConfigError for an edition that another edition has followed.
        """
        check_text("dataset", dataset)
        check_description(text)

        def describe_in(_: Connection, state: LedgerState) -> str:
            known = state.descriptions.get(dataset)
            if known is not None and (known != former or known == text):
                return known
            state.require_newest_edition(dataset, edition_of(text))
            if known is not None and unit_of(known) != unit_of(text):
                raise LedgerError(f"data set {dataset!r} has another unit in the ledger")
            made = max(self.clock(), state.made).isoformat()
            key, named = secrets.token_hex(16), {"dataset": dataset, "question": text}
            state.append({"kind": chain.DESCRIPTION, "key": key, **named, "made": made})
            return text

        return self.transactions.write(describe_in)

    def descriptions(self) -> dict[str, str]:
        """Return the newest description of each data set."""
        return self.transactions.read_state(lambda state: dict(state.descriptions))

    def spent(self, dataset: str) -> Fraction | None:
        """Return the exact sum of the ε that a data set has paid; None if an answer had no ε."""
        return self.paid(dataset).epsilon

    def paid(self, dataset: str) -> Loss:
        """Return the privacy loss of all debits of a data set."""
        check_text("dataset", dataset)
        return self.transactions.read_state(lambda state: state.datasets.get(dataset, NO_LOSS))

    def paid_by(self, analyst: str) -> Loss:
        """Return the privacy loss of all debits that an analyst has paid for, over all data sets."""
        check_text("analyst", analyst)
        return self.transactions.read_state(lambda state: state.analysts.get(analyst, NO_LOSS))

    def entries(self, dataset: str | None = None) -> list[Entry]:
        """Return every debit, oldest first; if a data set is named, only its debits. Reads and checks all rows."""
        if dataset is not None:
            check_text("dataset", dataset)
        with self.transactions.transaction() as connection:
            with all_rows(connection) as rows:
                entries = entries_of(rows)
            check_structure(connection, self.place)
        return [entry for entry in entries if dataset in {None, entry.request.dataset}]

    def entry(self, key: str) -> Entry | None:
        """Return the debit with a key, with its answer; None if there is no such debit."""
        check_text("key", key)
        return self.transactions.read(lambda connection, state: state.entry(connection, key))

    def entries_asking(
        self, request: Request, formers: Sequence[Request] = (), analyst: Analyst | None = None
    ) -> list[Entry]:
        """Return the debits for the question of a request, at any price, oldest first.

        If an analyst is given, only the debits that this analyst may see are read and returned.
        """

        def read_entries(connection: Connection, state: LedgerState) -> list[Entry]:
            forms = state.forms(request, formers)
            return [cast("Entry", state.entry(connection, key)) for key in state.keys_of_question(forms, analyst)]

        return self.transactions.read(read_entries)

    def select(self, selection: Selection, first: int = 0, limit: int | None = None) -> Selected:
        """Return at most `limit` debits of a selection, newest first, after skipping `first`. Reads no other debit."""
        conditions = selection.conditions
        query = select(LEDGER.c.key).where(*conditions).order_by(LEDGER.c.number.desc())
        counted = select(func.count()).select_from(LEDGER).where(*conditions)
        with self.transactions.transaction() as connection:
            state = self.transactions.state(connection)
            total = connection.execute(counted).scalar_one()
            keys = connection.execute(query.offset(first).limit(limit)).scalars().all()
            entries = (state.entry(connection, key) for key in keys)
            return Selected(
                entries=tuple(entry for entry in entries if entry is not None),
                total=total,
                datasets=dict(state.datasets),
                analysts=dict(state.analysts),
                head=state.head,
            )

    def rows(self) -> list[dict[str, Any]]:
        """Return every row as it is stored, oldest first, even if the chain is broken."""
        with self.transactions.transaction() as connection, all_rows(connection) as rows:
            return list(map(dict, rows))

    def has_top_up(self) -> bool:
        """Return True if a debit tops up another one. Reads the questions of all debits, and checks no hash."""
        is_top_up = LEDGER.c.question.contains('"replaces": ')
        query = select(LEDGER.c.number).where(LEDGER.c.kind == chain.DEBIT, is_top_up).limit(1)
        with self.transactions.transaction() as connection:
            return connection.execute(query).first() is not None

    def verify(self, known_head: Head | None = None) -> Verification:
        """Read the whole chain, and return its newest valid row, with the first broken row if there is one.

        Each reply must match the digest in its row. A reply that is older than such rows must repeat an answer of the
        ledger; no hash covers the rest of its text.
        """
        check_type("known_head", known_head, Head | None)
        with self.transactions.transaction() as connection:
            replies = digests_of(connection)
            with all_rows(connection) as rows:
                result = verification(rows, known_head, replies)
            if result.broken is None:
                check_structure(connection, self.place)
                if result.older_replies:
                    check_older_replies(connection)
        return result

    def is_made(self) -> bool:
        """Return True if there is a ledger at the address."""
        with self.transactions.transaction() as connection:
            return is_made(connection)

    @staticmethod
    def _require_same_request(
        state: LedgerState, key: str, request: Request, forms: Sequence[Request], analyst: Analyst
    ) -> None:
        """Raise ReuseError if a key was used by another analyst, for another question, or at a lower price."""
        if not analyst.may_see(state.askers(key)):  # first, so that the error does not reveal the other question
            raise ReuseError(f"key {key!r} was used by another analyst; choose another key")
        if all(key not in state.series.get(identity_of(form).subject, ()) for form in forms):
            raise ReuseError(f"key {key!r} was used for another question; choose another key")
        if key not in state.reserved_for(request, [key]) and state.prices[key] < identity_of(forms[0]).price:
            raise ReuseError(f"key {key!r} was used for this question at a lower price; choose another key")

    def _prepare(self, *, create: bool) -> None:
        """Make the tables if they are missing, or upgrade those of the older form."""
        with self.transactions.transaction() as connection:
            check_server(connection, self.place)
            if is_made(connection):
                return
        if self.transactions.is_on_server and not create:
            return
        with self.transactions.transaction(writes=True) as connection:
            lock_out_writers(connection)
            make_table(connection, self.place)
