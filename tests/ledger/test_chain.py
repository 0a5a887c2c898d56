import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.ledger.budget import Loss
from noisycount.ledger.chain import (
    answer_columns,
    answered_entry,
    chained_row,
    debit_columns,
    debit_of,
    repeat_columns,
    reply_columns,
    row_hash,
)
from noisycount.ledger.entries import Entry, Head, Repeat, Request, TableAnswer
from noisycount.ledger.storage import COLUMNS, LATER_COLUMNS
from noisycount.ledger.verification import entries_of, verification

Row = dict[str, Any]
Rows = list[Row]
START = datetime(2026, 1, 1, tzinfo=UTC)
REPEATED = "repeats what was not debited, or what the same analyst repeated before"


def entry(number: int, spent: Loss, own: Loss, analyst: str) -> Entry:
    """Give one of many entries without an answer: two cost what is not ε alone."""
    price = Fraction(1, 2 + number)
    prices = {2: (None, price), 3: (price, None, price / 10**6)}
    paid = prices.get(number, (price,))
    request = Request(f"data {number % 2}", f"question {number}", *paid)  # type: ignore[arg-type]
    made = START + timedelta(hours=number)
    totals = spent + request.price, own + request.price
    purpose = None if number % 2 else "a report, “№ 5” | <b>"
    return Entry(f"key {number}", request, totals[0], made, None, analyst, totals[1], purpose)


def columns(debits: int) -> list[Row]:
    """Give the columns of so many debits, about two data sets by two analysts, and of answers."""
    made: list[Row] = []
    datasets, analysts = dict[str, Loss](), dict[str, Loss]()
    for number in range(debits):
        dataset, analyst = f"data {number % 2}", f"analyst {number % 3 // 2}"
        each = entry(number, datasets.get(dataset, Loss()), analysts.get(analyst, Loss()), analyst)
        datasets[dataset], analysts[analyst] = each.spent, each.analyst_spent
        made.append(debit_columns(each))
        if number % 3:
            answer = TableAnswer.from_levels([[7], [number]]) if number == 2 else 7 - number
            made.append(answer_columns(each.key, answer, each.made))
    return made


def linked(parts: list[Row]) -> Rows:
    """Give a chain of rows with these columns."""
    rows, head = Rows(), Head()
    for part in parts:
        rows.append(chained_row(head, part))
        head = Head(rows[-1]["number"], rows[-1]["hash"])
    return rows


@pytest.fixture
def rows() -> Rows:
    """Give a chain of ten rows."""
    rows = linked(columns(6))
    assert len(rows) == 10
    return rows


def test_an_intact_chain_is_intact(rows: Rows) -> None:
    """From its first row to its last, and against every head that was ever written down."""
    assert verification(rows).head == Head(10, rows[-1]["hash"])
    for row in rows:
        for digits in (32, 64):
            written = Head.read(f"{row['number']}:{row['hash'][:digits]}")
            assert verification(rows, written).broken is None
    assert verification([]).head == Head()
    assert verification([], Head()).broken is None


@pytest.mark.parametrize("name", [*COLUMNS, *LATER_COLUMNS, "hash"])
@given(number=st.integers(0, 9), value=st.none() | st.text() | st.integers() | st.binary())
def test_any_change_of_any_column_is_found_in_its_row(name: str, number: int, value: object) -> None:
    """The first broken row is the one that was changed."""
    rows = linked(columns(6))
    if rows[number][name] == value:
        return
    rows[number][name] = value
    assert verification(rows).broken == number + 1


@given(st.data())
def test_a_changed_row_whose_hash_was_mended_breaks_the_next(data: st.DataObject) -> None:
    """A changed row requires a change of every later one, which a known head detects."""
    rows = linked(columns(6))
    number = data.draw(st.integers(0, 8))
    written = Head(10, rows[-1]["hash"])
    rows[number]["made"] = "2020-01-01T00:00:00+00:00"
    rows[number]["hash"] = row_hash(rows[number])
    assert verification(rows).broken == number + 2
    forged = linked([{name: row[name] for name in (*COLUMNS, *LATER_COLUMNS)} for row in rows])
    assert verification(forged).broken is None
    assert verification(forged, written).broken == 10


@given(st.data())
def test_a_row_that_is_missing_doubled_or_moved_is_found(data: st.DataObject) -> None:
    """A cut inside the chain is detected; a chain cut at its end needs a known head."""
    rows = linked(columns(6))
    number = data.draw(st.integers(0, 8))
    gone = [*rows[:number], *rows[number + 1 :]]
    assert verification(gone).broken == number + 1
    assert verification([*rows[: number + 1], *rows[number:]]).broken == number + 2
    swapped = [*rows[:number], rows[number + 1], rows[number], *rows[number + 2 :]]
    assert verification(swapped).broken == number + 1


@given(kept=st.integers(0, 10), written=st.integers(0, 10))
def test_an_older_copy_is_told_by_a_head_that_it_lacks(kept: int, written: int) -> None:
    """And only by such a head."""
    rows = linked(columns(6))
    head = Head() if written == 0 else Head(written, rows[written - 1]["hash"])
    found = verification(rows[:kept], head)
    assert found.broken == (kept + 1 if kept < written else None)
    assert found.head.number == kept
    if kept < written:
        assert found.why == (f"is missing, though the stated head is row {written}: this is an older copy")


def test_a_row_under_another_number_is_found_though_its_hash_is_right(rows: Rows) -> None:
    """A gap in the numbers is detected, although the hashes are right."""
    renumbered = {**rows[-1], "number": len(rows) + 1}
    found = verification([*rows[:-1], {**renumbered, "hash": row_hash(renumbered)}])
    assert (found.broken, found.why) == (len(rows), "is missing")


def test_an_older_copy_that_was_used_again_is_told_by_its_other_rows(rows: Rows) -> None:
    """It may have as many rows as the ledger had; they are others."""
    parts = columns(6)
    parts[7] = {**parts[7], "made": "2026-02-01T00:00:00+00:00"}
    again = linked(parts)
    written = Head(10, rows[-1]["hash"])
    assert verification(again, Head(7, rows[6]["hash"])).broken is None
    found = verification(again, written)
    assert (found.broken, found.head.number) == (10, 9)
    assert found.why.startswith("is not the row of the stated head: an older copy")


def second_debit(parts: Rows) -> Row:
    """A debit for a request that was charged before, under another key."""
    return {**parts[0], "key": "another"}


def second_key(parts: Rows) -> Row:
    """A debit under a key that was used before."""
    other = Request("data 9", "another", Fraction(1))
    price = Loss.from_epsilon(other.epsilon)
    return debit_columns(Entry(parts[0]["key"], other, price, START, None, "new", price))


def repeated(key: str) -> dict[str, str | None]:
    """Return the row of a repeat: another analyst asked a question that was already debited."""
    price = Loss.from_epsilon(Fraction(1))
    request = Request("data 9", "another", Fraction(1))
    entry = Entry(key, request, price, START, None, "new", price)
    return repeat_columns("a repeat", entry, Repeat("bo", START))


def test_a_second_repeat_of_the_same_analyst_is_found() -> None:
    """Each is written once; the first is there with the entry."""
    parts = [*columns(6), repeated("key 1")]
    rows = linked(parts)
    told = {each.key: each.repeats for each in entries_of(rows) if each.repeats}
    assert told == {"key 1": (Repeat("bo", START),)}
    found = verification(linked([*parts, {**repeated("key 1"), "key": "a second"}]))
    assert (found.broken, found.why) == (len(rows) + 1, REPEATED)


@pytest.mark.parametrize(
    ("forged", "why"),
    [
        (second_debit, "charges a request or a key a second time"),
        (second_key, "charges a request or a key a second time"),
        (lambda _: {"spent": "0.01", "spent_rho": "1"}, "holds what no ledger writes"),
        (lambda _: {"spent": "9"}, "holds a total that its debits do not add up to"),
        (lambda _: {"spent_rho": "9"}, "holds a total that its debits do not add up to"),
        (lambda _: {"analyst_spent": "9"}, "holds a total that its debits do not add up to"),
        (lambda _: {"spent_delta": "0.1"}, "holds a total that its debits do not add up to"),
        (lambda _: {"analyst_delta": "0.1"}, "holds a total that its debits do not add up to"),
        (lambda _: {"analyst_spent": None}, "holds a total that its debits do not add up to"),
        (lambda _: {"rho": "0.1"}, "holds what no ledger writes"),
        (lambda _: {"delta": "0.1"}, "holds what no ledger writes"),
        (lambda _: {"epsilon": None, "rho": "0.1"}, "holds what no ledger writes"),
        (lambda _: {"analyst_rho": "9"}, "holds a total that its debits do not add up to"),
        (lambda _: {"analyst": "somebody"}, "holds a total that its debits do not add up to"),
        (lambda _: {"epsilon": "0.5"}, "holds what no ledger writes"),
        (lambda _: {"question": 5}, "holds what no ledger writes"),
        (lambda _: {"purpose": 5}, "holds what no ledger writes"),
        (lambda _: {"purpose": " "}, "holds what no ledger writes"),
        (lambda _: {"purpose": "a\nb"}, "holds what no ledger writes"),
        (lambda _: {"purpose": "long" * 51}, "holds what no ledger writes"),
        (lambda _: {"made": None}, "holds what no ledger writes"),
        (lambda _: {"kind": "note"}, "is no debit, no answer, no description, no reply, no repeat and no checkpoint"),
        (lambda _: reply_columns("key 0", None, START), "holds what no ledger writes"),
        (lambda _: repeated("key 5"), REPEATED),
        (lambda _: {**repeated("key 1"), "analyst": None}, "holds what no ledger writes"),
        (lambda _: {**repeated("key 1"), "purpose": "a\nb"}, "holds what no ledger writes"),
        (lambda _: answer_columns("key 1", 5, START), "is a second answer, or one without a debit"),
        (lambda _: answer_columns("key 5", 5, START), "is a second answer, or one without a debit"),
        (lambda _: {**answer_columns("key 3", 5, START), "answer": "many"}, "holds what no ledger writes"),
        (lambda _: {**answer_columns("key 3", 5, START), "answer": None}, "holds what no ledger writes"),
    ],
)
def test_a_row_that_no_ledger_writes_is_found_though_its_hash_is_right(forged: Callable[[Rows], Row], why: str) -> None:
    """A forged row with a right hash is refused if the rows before contradict it."""
    parts = columns(6)
    place = next(place for place, part in enumerate(parts) if part["key"] == "key 4")
    part = forged(parts)
    parts[place] = part if "kind" in part and len(part) > 1 else {**parts[place], **part}
    found = verification(linked(parts[: place + 1]))
    assert (found.broken, found.why) == (place + 1, why)


@given(st.integers())
def test_an_entry_is_read_as_it_was_written(answer: int) -> None:
    """Columns hold all of it, in whatever it was paid, and whether it is one count or several."""
    third, purpose = Fraction(1, 3), None if answer % 2 else "a report"
    table = TableAnswer.from_levels([[answer % 2**63], []])
    for paid in ((third,), (None, third), (third, None, third), (None, third, third)):
        request = Request("b", "c", *paid)  # type: ignore[arg-type]
        for given_, text in ((answer, str(answer)), (table, table.text), (None, None)):
            spent, own = request.price, request.price + Loss.from_epsilon(third)
            written = Entry("a", request, spent, START, given_, "d", own, purpose)
            debit = debit_of(debit_columns(written))
            assert (debit if text is None else answered_entry(debit, {"answer": text, "question": None})) == written


def test_a_hash_can_be_computed_by_anybody(rows: Rows) -> None:
    """It is the SHA-256 of a JSON array of the columns, as the documentation says."""
    from hashlib import sha256

    for row in rows:
        later = [row[name] for name in LATER_COLUMNS]
        if row["purpose"] is None:
            later = [] if later == [None] * len(later) else later[:-1]
        array = json.dumps([row[name] for name in COLUMNS] + later)
        assert sha256(array.encode()).hexdigest() == row["hash"]


@pytest.mark.parametrize("text", ["", "12", "12:ab", f"-1:{'a' * 32}", f"1:{'g' * 32}", "1:" + "a" * 65])
def test_a_text_that_is_no_head_is_refused(text: str) -> None:
    """In one line."""
    with pytest.raises(ValueError, match=r"\Ahead must be a number, a colon and 32 to 64 hex"):
        Head.read(text)


@pytest.mark.parametrize("value", [None, 12, b"12:" + b"a" * 32, Head()])
def test_what_is_no_text_is_no_head(value: object) -> None:
    """In the same words."""
    with pytest.raises(ValueError, match=r"\Ahead must be a number, a colon .*, got a [A-Za-z]+\Z"):
        Head.read(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("number", "digits"),
    [
        (-1, "a" * 64),
        (10**18, "a" * 64),
        (None, "a" * 64),
        (True, "a" * 64),
        (1.0, "a" * 64),
        (1, "a" * 31),
        (1, "A" * 64),
        (1, None),
        (1, b"a" * 64),
    ],
)
def test_a_head_is_checked(number: int, digits: str) -> None:
    """No number that a database could not hold, no hash that no row has."""
    with pytest.raises(ValueError, match=r"\Ahead must be a number, a colon and 32 to 64 hex"):
        Head(number, digits)
