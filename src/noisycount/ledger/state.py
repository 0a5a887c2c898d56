"""State of a ledger: the debits, answers and totals that its rows add up to.

`LedgerState` checks each row against all rows before it. A draft of a state holds rows that are not committed yet.
"""

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from operator import attrgetter
from sys import intern

from sqlalchemy import Connection

from noisycount.errors import ConfigError, LedgerError
from noisycount.ledger import checkpoints
from noisycount.ledger.budget import Loss
from noisycount.ledger.chain import (
    ANSWER,
    CHECKPOINT,
    DEBIT,
    KINDS,
    REPEAT,
    REPLY,
    answer_of,
    answered_entry,
    chained_row,
    damaged_row_error,
    debit_of,
    repeat_of,
    row_hash,
    stop_columns,
    unused_reserve,
    utc_time,
)
from noisycount.ledger.checkpoints import KEY, SUBJECT, SealedRows, checkpoint_text, index_record, loss_texts
from noisycount.ledger.entries import (
    Analyst,
    Entry,
    Head,
    Repeat,
    Request,
    TableAnswer,
    check_text,
    edition_of,
    unit_of,
)
from noisycount.ledger.series import EDITION, FormerRequests, QueryIdentity, difference, identity_of, request_at_stop
from noisycount.ledger.storage import RESTORE, Row, row_at, rows_from

NO_LOSS = Loss()  # total loss of a data set or an analyst without a debit
# column with the name of a row in the index of a checkpoint: its own key, or the key of its debit
_NAMED_BY = {REPLY: "key", REPEAT: "question"}
_MOST_RECENT, _LONGEST_RECENT = 512, 10_000  # number of recent debits, and characters of the question of each


@dataclass(slots=True)
class LedgerState:
    """State of a chain up to its newest row, each row checked against all rows before it.

    Charges and answers depend on this state alone, and so on rows whose hashes were computed. A damaged index of the
    database cannot hide a debit or an answer.
    """

    # the newest row; it is set last, so that a thread that reads the head first finds all that the head covers
    head: Head = field(default_factory=Head)
    made: datetime = datetime(1, 1, 1, tzinfo=UTC)  # time of the newest row, in UTC
    debits: MutableMapping[str, int] = field(default_factory=dict)  # row number of each debit, by the key of the debit
    # the key of the debit of each request, by the digest of the request
    keys: MutableMapping[str, str] = field(default_factory=dict)
    # row number of each answer, by the key of its debit
    answers: MutableMapping[str, int] = field(default_factory=dict)
    datasets: MutableMapping[str, Loss] = field(default_factory=dict)  # total loss of each data set, by name
    analysts: MutableMapping[str, Loss] = field(default_factory=dict)  # total loss of each analyst, by name
    # newest description of each data set, a JSON object as text, by name
    descriptions: MutableMapping[str, str] = field(default_factory=dict)
    # editions of each data set in the order of its descriptions; None: the description names no edition
    editions: MutableMapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    # the digest of each reply, by the name of its request
    replies: MutableMapping[str, str] = field(default_factory=dict)
    # repeats of each debit by other analysts, by the key of the debit
    repeats: MutableMapping[str, tuple[Repeat, ...]] = field(default_factory=dict)
    # `series`: keys of the debits of each subject (`QueryIdentity.subject`), oldest first; `prices`: price of each
    # answer in ε or ρ together with the answers below it, by the key of its debit
    series: MutableMapping[str, tuple[str, ...]] = field(default_factory=dict)
    prices: MutableMapping[str, Fraction] = field(default_factory=dict)
    # `coarser`: by the key of a top-up, the key of the debit that it tops up; `finer`: the reverse
    coarser: MutableMapping[str, str] = field(default_factory=dict)
    finer: MutableMapping[str, str] = field(default_factory=dict)
    # request of each debit that reserved the largest price of an accuracy goal, by the key of the debit
    reserves: MutableMapping[str, Request] = field(default_factory=dict)
    payers: MutableMapping[str, str] = field(default_factory=dict)  # the analyst who paid each debit, by its key
    # row number of the newest description of each data set, by name
    description_rows: MutableMapping[str, int] = field(default_factory=dict)
    # shapes of the debits of each data set (`request_shape`), by name; of a resumed state only those of newer rows
    shapes: MutableMapping[str, frozenset[str]] = field(default_factory=dict)
    # recent debits without their answers, by key, so that an answer need not read the row of its debit again. A draft
    # shares them with its state; they count only if their keys are in `debits`
    recent: dict[str, Entry] = field(default_factory=dict, kw_only=True)
    has_replies: bool = field(default=False, kw_only=True)  # True if a row holds the digest of a reply
    checkpoint: Head = field(default_factory=Head, kw_only=True)  # the newest checkpoint; number 0: there is none
    # index records of the rows from that checkpoint on, for the next checkpoint; of a draft only those that it added
    records: list[bytes] = field(default_factory=list, kw_only=True)
    # of a draft: the records of the state that it continues
    former_records: Sequence[bytes] = field(default=(), kw_only=True)
    # rows before the checkpoint from which the ledger was opened, read when needed; None: all rows were read
    sealed: SealedRows | None = field(default=None, kw_only=True)
    # of a draft: new rows that are not in the table yet
    unwritten: list[Row] = field(default_factory=list, kw_only=True)
    # of a draft: new rows of the table of replies that are not in that table yet
    unwritten_replies: list[tuple[str, str, str, bytes]] = field(default_factory=list, kw_only=True)

    def draft(self) -> "LedgerState":
        """Return a draft: a state that continues this one. Rows added to the draft leave this state unchanged."""
        head = self.head  # read first: another thread sets it last
        maps = (ChainMap({}, mapping) for mapping in self.field_mappings)
        shared = {name: getattr(self, name) for name in ("recent", "has_replies", "checkpoint", "sealed")}
        return LedgerState(head, self.made, *maps, former_records=self.records, **shared)

    def adopt(self, draft: "LedgerState") -> None:
        """Add the committed rows of a draft to this state."""
        for mapping, drafted in zip(self.field_mappings, draft.field_mappings, strict=True):
            mapping.update(drafted.maps[0])  # the mappings of a draft are ChainMaps
        is_same = draft.checkpoint == self.checkpoint
        self.records = self.records if is_same else []
        self.records.extend(draft.records)
        self.has_replies, self.checkpoint = draft.has_replies, draft.checkpoint
        self.made = draft.made
        self.head = draft.head

    # mappings of the state, in the order of its fields
    field_mappings = property(
        attrgetter(
            *("debits", "keys", "answers", "datasets", "analysts", "descriptions", "editions", "replies", "repeats"),
            *("series", "prices", "coarser", "finer", "reserves", "payers", "description_rows", "shapes"),
        )
    )

    def entry(self, connection: Connection, key: str | None) -> Entry | None:
        """Return the debit with a key, its answer and the answers that it tops up; None if there is no such debit."""
        if key is None or key not in self.debits:
            return None
        entry, replaced = self._entry(connection, key), tuple(linked_keys(self.coarser, key))
        if not replaced:
            return entry
        base, answered = None, [place for place, replaced_key in enumerate(replaced) if replaced_key in self.answers]
        for place in reversed(answered if identity_of(entry.request).is_gaussian else answered[:1]):
            base = replace(self._entry(connection, replaced[place]), replaces=replaced[place + 1 :], base=base)
        return replace(entry, replaces=replaced, base=base)

    def _entry(self, connection: Connection, key: str) -> Entry:
        number, answered, entry = self.debits[key], self.answers.get(key), self.recent.get(key)
        try:
            if entry is None:
                entry = debit_of(self.row(connection, number))
            if answered is not None:
                entry = answered_entry(entry, self.row(connection, answered))
        except ValueError:
            raise damaged_row_error(number) from None
        return replace(entry, repeats=self.repeats[key]) if key in self.repeats else entry

    def askers(self, key: str) -> Iterator[str]:
        """Yield the analyst who paid for a debit, then the analysts who repeated it. Reads no row."""
        yield self.payers[key]
        yield from (repeat.analyst for repeat in self.repeats.get(key, ()))

    def forms(self, request: Request, formers: Sequence[Request] = ()) -> Sequence[Request]:
        """Return all forms in which the ledger may hold a request. A debit in any of them is a debit of the request.

        These are `formers`, after the request itself if they lack it. `FormerRequests` are built only if the data set
        has a debit of another shape, or if older rows were not read. Else only their reworded requests can be there.
        """
        if isinstance(formers, FormerRequests) and self.sealed is None:
            shape = {request_shape(request)}
            if self.shapes.get(request.dataset, shape) <= shape:
                return request, *formers.reworded
        return formers if request in formers else (request, *formers)

    def keys_of_question(self, requests: Iterable[Request], analyst: Analyst | None = None) -> list[str]:
        """Return the keys of the debits for the question of some requests, at any price.

        If an analyst is given, return only the debits that this analyst may see.
        """
        subjects = dict.fromkeys(identity_of(request).subject for request in requests)
        keys = [key for subject in subjects for key in self.series.get(subject, ())]
        return keys if analyst is None else [key for key in keys if analyst.may_see(self.askers(key))]

    def base_key(self, requests: Sequence[Request], analyst: Analyst | None = None) -> str | None:
        """Return the key of the debit at the highest price that the first request may top up, or None.

        A top-up requires that both versions name exactly the same records: see `QueryIdentity.is_exact`.
        """
        if not identity_of(requests[0]).is_exact:
            return None
        keys = self.keys_of_question((request for request in requests if identity_of(request).is_exact), analyst)
        return max(keys, key=self.prices.__getitem__, default=None)

    def covering_key(self, requests: Sequence[Request], analyst: Analyst | None = None) -> str | None:
        """Return the key of a debit that answers the first request without a new charge, or None.

        This is the debit at the highest price if that is at least the price of the request. If the version of the
        request does not name exactly its records, it may also be an answer that was reserved for the same goal: see
        `settled_key`.
        """
        keys, identity = self.keys_of_question(requests, analyst), identity_of(requests[0])
        key = max(keys, key=self.prices.__getitem__, default=None)
        if key is not None and self.prices[key] >= identity.price:
            return key
        return None if identity.is_exact else self.settled_key(requests, analyst)

    def reserved_for(self, request: Request, keys: Iterable[str]) -> list[str]:
        """Return the keys of the debits that were reserved for the goal of a request, at any stopping price."""
        goal = request.asked.get("within")
        reserved = [(key, self.reserves[key]) for key in keys if goal is not None and key in self.reserves]
        return [key for key, reserve in reserved if reserve.asked.get("within") == goal]

    def settled_key(self, requests: Sequence[Request], analyst: Analyst | None = None) -> str | None:
        """Return the key of the stored answer at the highest price for the goal of the first request, or None.

        The answer may have stopped at the largest price of the goal before it was accurate enough.
        """
        reserved = self.reserved_for(requests[0], self.keys_of_question(requests, analyst))
        answered = [key for key in reserved if key in self.answers]
        return max(answered, key=self.prices.__getitem__, default=None)

    def require_newest_edition(self, dataset: str, edition: str | None) -> None:
        """Raise ConfigError if another edition of the data set has followed this one: an owner cannot go back to it."""
        if edition is not None and edition in self.editions.get(dataset, ())[:-1]:
            raise ConfigError(
                f"edition {edition!r} was followed by another, and its records may have changed since: give the "
                "present records a new edition, and open them again"
            )

    def answered_top_up_key(self, key: str) -> str | None:
        """Return the key of the answer at the highest price among the top-ups of a debit, or None."""
        answered = [finer_key for finer_key in linked_keys(self.finer, key) if finer_key in self.answers]
        return answered[-1] if answered else None

    def row(self, connection: Connection, number: int) -> Row:
        """Return a row by its number. Raise LedgerError if it is missing, or its hash is not that of its content."""
        place = len(self.unwritten) - 1 - (self.head.number - number)
        row = self.unwritten[place] if place >= 0 else row_at(connection, number)
        if row is None or row["hash"] != row_hash(row) or not (self.sealed is None or self.sealed.holds(row)):
            raise damaged_row_error(number)
        return row

    def read_new_rows(self, connection: Connection) -> None:
        """Read the rows after the newest known row. Raise LedgerError if that row is missing or was changed."""
        newest = self.head
        later = rows_from(connection, newest.number)
        row = next(later, None)
        if row is None or row["number"] != newest.number:
            raise LedgerError(
                f"row {newest.number} of the ledger, which was read before, is missing: this is an"
                f" older copy, or another ledger; {RESTORE}"
            )
        if row["hash"] != newest.hash or row_hash(row) != newest.hash:
            raise damaged_row_error(newest.number)
        self.read(later)

    def read(self, rows: Iterable[Row]) -> None:
        """Check and add the rows that follow. Raise LedgerError at the first row that is damaged."""
        for row in rows:
            if self.check_next(row) is not None:
                raise damaged_row_error(self.head.number + 1)

    def append(self, columns: Row, content: Entry | int | TableAnswer | None = None) -> None:
        """Add a row to a draft. If a checkpoint is due, add the checkpoint first. The table gets the rows later.

        Args:
            columns: The columns of the row, without number and hashes.
            content: The entry of a debit, or the answer, so that it is not read from the columns again.
        """
        number = self.head.number + 1
        if number % checkpoints.INTERVAL == 0 and columns["kind"] != CHECKPOINT:
            made = self.made.isoformat()
            self.append({"kind": CHECKPOINT, "key": str(number), "question": self._checkpoint_text(), "made": made})
        row = chained_row(self.head, columns)
        if self._add_row(row, content) is not None:
            raise damaged_row_error(row["number"])
        self.unwritten.append(row)

    def check_next(self, row: Row) -> str | None:
        """Check the next row. Add it and return None if it is valid; else return its fault: the end of a sentence."""
        if row["number"] != self.head.number + 1:
            return "is missing"
        if row["hash"] != row_hash(row):
            return "was changed: its hash does not match its columns"
        if row["previous"] != self.head.hash:
            return "does not follow the row before: a row was put in another's place"
        return self._add_row(row)

    def _add_row(self, row: Row, content: Entry | int | TableAnswer | None = None) -> str | None:
        """Add the next row, whose number and hashes are right, and return None; or return its fault.

        If `content` is given, it is the entry or the answer that the row holds.
        """
        try:
            made, kind = utc_time(row["made"]), row["kind"]
            if kind not in KINDS:
                return "is no debit, no answer, no description, no reply, no repeat and no checkpoint"
            if kind == DEBIT:
                debit = content if isinstance(content, Entry) else debit_of(row)
                why = self._fault_of_debit(debit, row["number"])
                names: tuple[str, ...] = (KEY + debit.key, SUBJECT + identity_of(debit.request).subject)
            elif kind == ANSWER:
                answer = answer_of(row["answer"]) if content is None or isinstance(content, Entry) else content
                why, names = self._fault_of_answer(row, answer), (KEY + row["key"],)
            else:
                find_fault: Callable[[Row], str | None] = getattr(self, f"_fault_of_{kind}")
                why, name = find_fault(row), _NAMED_BY.get(kind)
                names = () if name is None else (KEY + row[name],)
        except (ValueError, TypeError, KeyError, AttributeError):
            return "holds what no ledger writes"
        if why is None:
            self.made = made
            self.head = Head(row["number"], row["hash"])
            self.records.append(index_record(row, names))
        return why

    def _fault_of_debit(self, entry: Entry, number: int) -> str | None:
        digest, dataset, analyst = entry.request.digest, entry.request.dataset, entry.analyst
        identity = identity_of(entry.request)
        self.series.get(identity.subject)  # reads the sealed rows of the same question, so that their digests are known
        if entry.key in self.debits or digest in self.keys:
            return "charges a request or a key a second time"
        price, paid = entry.request.price, self.datasets.get(dataset, NO_LOSS)
        analyst_loss = self.analysts.get(analyst, NO_LOSS)
        spent = paid + price
        if entry.spent != spent or entry.analyst_spent != (spent if analyst_loss == paid else analyst_loss + price):
            return "holds a total that its debits do not add up to"
        if (replaced := identity.replaces) is not None:
            if (why := self._fault_of_top_up(entry.request, identity, replaced)) is not None:
                return why
        elif entry.request.epsilon is not None and entry.request.rho is not None:
            return "is charged a difference, and tops up nothing"
        elif identity.price != (price.rho if price.epsilon is None else price.epsilon):
            return "is charged something else than the price that it states"
        self.add_debit(entry, number)
        self.datasets[dataset], self.analysts[analyst] = entry.spent, entry.analyst_spent
        return None

    def add_debit(self, entry: Entry, number: int) -> None:
        """Add a debit without its totals, which the caller adds."""
        key, identity = entry.key, identity_of(entry.request)
        if identity.replaces is not None:
            self.coarser[key], self.finer[identity.replaces] = identity.replaces, key
        self.series[identity.subject] = (*self.series.get(identity.subject, ()), key)
        self.prices[key] = identity.price
        if identity.is_reserve:
            self.reserves[key] = entry.request
        self.payers[key] = intern(entry.analyst)
        dataset, shape = entry.request.dataset, request_shape(entry.request)
        if shape not in (shapes := self.shapes.get(dataset, frozenset())):
            self.shapes[dataset] = shapes | {shape}
        self.debits[key], self.keys[entry.request.digest] = number, key
        if len(entry.request.question) <= _LONGEST_RECENT:
            if len(self.recent) >= _MOST_RECENT:
                self.recent.clear()
            self.recent[key] = entry

    def _fault_of_top_up(self, request: Request, identity: QueryIdentity, replaced: str) -> str | None:
        price, asked = request.price, request.asked
        if replaced in self.finer or replaced not in self.series.get(identity.subject, ()):
            return "tops up what asks something else, or what was topped up before"
        if not identity.is_exact and EDITION in asked:
            return "tops up an answer about records that may have changed"
        if price != difference(self.prices[replaced], identity.price, is_gaussian=identity.is_gaussian):
            return "charges something else than the difference to what it tops up"
        if replaced not in self.answers and identity.is_gaussian:
            return "rests on an answer that is not known, and would be combined with it"
        if replaced not in self.answers and (identity.is_reserve or replaced in self.reserves):
            return "rests on an answer that is not known, where one of both is a reserve"
        return None

    def _fault_of_answer(self, row: Row, answer: int | TableAnswer) -> str | None:
        if row["key"] not in self.debits or row["key"] in self.answers:
            return "is a second answer, or one without a debit"
        if self.answered_top_up_key(row["key"]) is not None:
            return "is an answer to what was answered at a higher price before"
        if isinstance(answer, TableAnswer):
            answer.check()
        if (row["key"] in self.reserves or row["question"] is not None) and not self._settle_reserve(row):
            return "charges something else than where its answers stopped"
        self.add_answer(row)
        return None

    def add_answer(self, row: Row) -> None:
        """Add an answer and the price at which it stopped, without its refund, which the caller subtracts."""
        key = row["key"]
        self.answers[key] = row["number"]
        if row["question"] is not None:
            self.prices[key] = _stopped_price(self.reserves[key], row)

    def _settle_reserve(self, row: Row) -> bool:
        """Return True if the answer to a reserve states a valid stopping price; if so, deduct its refund."""
        key = row["key"]
        if key not in self.reserves or row["question"] is None:
            return False
        request, analyst = self.reserves[key], self.payers[key]
        price = _stopped_price(request, row)
        base = self.prices[self.coarser[key]] if key in self.coarser else Fraction(0)
        if not base < price <= self.prices[key]:
            return False
        stopped = request_at_stop(request, price)
        columns = stop_columns(stopped)
        if any(row[name] != columns[name] for name in columns):
            return False
        refund = unused_reserve(request, stopped)
        self.datasets[request.dataset] = self.datasets[request.dataset].after_refund(refund)
        self.analysts[analyst] = self.analysts[analyst].after_refund(refund)
        return True

    def _fault_of_description(self, row: Row) -> str | None:
        dataset, text = str(row["dataset"]), str(row["question"])
        former = self.descriptions.get(dataset, text)
        if unit_of(former) != unit_of(text):
            return "changes whose records a data set holds"
        self.descriptions[dataset], self.description_rows[dataset] = text, row["number"]
        edition, editions = edition_of(text), self.editions.get(dataset, ())
        if edition not in editions[-1:]:
            self.editions[dataset] = (*editions, edition)
        return None

    def _fault_of_reply(self, row: Row) -> str | None:
        if row["key"] in self.replies:
            return "is a second reply to one request"
        check_text("digest", row["digest"])
        self.replies[row["key"]], self.has_replies = row["digest"], True
        return None

    def _fault_of_repeat(self, row: Row) -> str | None:
        key, repeat = str(row["question"]), repeat_of(row)
        known = self.repeats.get(key, ())
        if key not in self.debits or repeat.analyst in {former_repeat.analyst for former_repeat in known}:
            return "repeats what was not debited, or what the same analyst repeated before"
        self.repeats[key] = (*known, repeat)
        return None

    def _fault_of_checkpoint(self, row: Row) -> str | None:
        if row["question"] != self._checkpoint_text():
            return "is a checkpoint that does not hold what the rows before it add up to"
        self.checkpoint, self.records, self.former_records = Head(row["number"], row["hash"]), [], ()
        return None

    def _checkpoint_text(self) -> str:
        """Return the text of a checkpoint that covers all rows so far."""
        descriptions = {name: [number, self.editions[name]] for name, number in self.description_rows.items()}
        parts = {
            "datasets": {name: loss_texts(loss) for name, loss in self.datasets.items()},
            "analysts": {name: loss_texts(loss) for name, loss in self.analysts.items()},
            "descriptions": descriptions,
            "has_replies": self.has_replies,
        }
        return checkpoint_text(parts, self.checkpoint, [*self.former_records, *self.records])


def request_shape(request: Request) -> str:
    """Return the part of a question in which the former forms of a request differ from the present one, as text.

    This is the version of the records with the edition, and True for a list of one condition.
    """
    asked = request.asked
    table = asked.get("table")
    questions = table.get("questions") if isinstance(table, dict) else None
    is_list_of_one = isinstance(questions, list) and len(questions) == 1
    return repr((asked.get("version"), asked.get(EDITION, ""), is_list_of_one))


def linked_keys(links: Mapping[str, str], key: str) -> Iterator[str]:
    """Yield the keys that follow a key along links.

    The links `coarser` lead to the debits that it tops up, `finer` to its top-ups.
    """
    while (following := links.get(key)) is not None:
        yield (key := following)


def _stopped_price(reserve: Request, row: Row) -> Fraction:
    """Return the price at which an answer stopped, from its row and the request of its reserve."""
    return identity_of(Request(reserve.dataset, row["question"], reserve.epsilon, reserve.price.rho)).price
