"""The stored answer to a question for a table."""

import json
from contextlib import suppress
from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.ledger.budget import Loss
from noisycount.ledger.chain import answer_columns, chained_row, debit_columns
from noisycount.ledger.entries import Entry, Head, Request, TableAnswer
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.verification import verification
from tests.helpers.ledgers import TENTH, asked, change, refusal

RICH = Fraction(10)
LARGE = 1_000_000
counts = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5)
values = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
DAMAGED = [
    *("{", "{}", "{]", '{"levels":[]}', '{"levels":5}', '{"levels":[5]}', '{"levels":[[1.0]]}'),
    *('{"levels":[[true]]}', '{"levels":[["1"]]}', '{"levels":[[null]]}', '{"levels":[[NaN]]}'),
    *('{"levels":[[1]],"keys":5}', '{"levels":[[1]],"keys":[]}', '{"levels":[[1]],"keys":[5]}'),
    *('{"levels":[[1]],"keys":[[[]]]}', '{"levels":[[1]],"keys":[["a"],["b"]]}'),
    *('{"levels":[[1,2]],"keys":[["a"],["b",1]]}', '{"levels":[[1]],"keys":[[1.5]]}'),
    *('{"levels":[[1]],"other":1}', f'{{"levels":[[{2**63}]]}}', f'{{"levels":[[1{"0" * 5000}]]}}'),
    *('{"levels":[[1,2]],"order":[0,0]}', '{"levels":[[1,2]],"order":[1]}', '{"levels":[[1,2]],"order":[1,2]}'),
    *('{"levels":[[1,2]],"order":[1.0,0]}', '{"levels":[[1,2]],"order":[true,0]}', '{"levels":[[1]],"order":"0"}'),
    '{"levels":' + "[" * 100_000,
]


@given(st.lists(counts, min_size=1, max_size=3), st.data())
def test_a_table_is_read_as_it_was_written(levels: list[list[int]], data: st.DataObject) -> None:
    """From lists and from arrays, with any keys; its text is printable, and one line."""
    width = data.draw(st.integers(1, 3))
    row = st.lists(values, min_size=width, max_size=width)
    size = len(levels[0])
    keys = data.draw(st.none() | st.lists(row, min_size=size, max_size=size))
    order = data.draw(st.permutations(range(size)))
    answer = TableAnswer.from_levels(levels, keys, order)
    assert answer == TableAnswer.from_levels(
        [np.array(level, dtype=np.int64) for level in levels], keys, np.array(order)
    )
    assert answer.text.isprintable()
    assert answer.text.isascii()
    for each in (answer, TableAnswer(answer.text)):
        assert [level.tolist() for level in each.levels] == levels
        assert all(level.dtype == np.int64 for level in each.levels)
        assert each.keys == keys
        assert (order == sorted(order)) == (each.order is None)
        assert each.order is None or each.order.tolist() == order


@pytest.mark.parametrize("text", DAMAGED, ids=lambda text: text[:40])
def test_a_damaged_text_is_no_table(text: str) -> None:
    """It is refused when it is read, in one line that shows nothing of it."""
    answer = TableAnswer(text)
    for read in (lambda: answer.levels, lambda: answer.keys, lambda: repr(answer), answer.check):
        with pytest.raises(ValueError, match=r"\Athe text of a table must be that of whole counts"):
            read()


@given(st.data())
def test_whatever_is_changed_in_a_text_is_read_or_refused(data: st.DataObject) -> None:
    """Signs of JSON put in, taken out or repeated: a table or a refusal, and nothing else."""
    text = TableAnswer.from_levels([[1, -20, 300], [281]], [["a", None], ["b", 5], [True, "\n"]]).text
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 3)))
        sign = st.sampled_from(["", *'[]{},:"-0eE.', "null", "NaN", "1e9", "\\", "\\u", "9" * 30])
        text = text[:start] + data.draw(sign) + text[end:]
    with suppress(ValueError):
        assert all(level.dtype == np.int64 for level in TableAnswer(text).levels)


@pytest.mark.parametrize(
    ("levels", "keys"),
    [
        ([], None),
        ([[0.5]], None),
        ([["1"]], None),
        ([[True]], None),
        ([[2**63]], None),
        ([np.array([[1, 2]])], None),
        ([[1]], []),
        ([[1]], [[1.5]]),
    ],
)
def test_what_is_no_table_is_refused(levels: list[list[int]], keys: list[list[int]] | None) -> None:
    """Before anything is stored."""
    with pytest.raises(ValueError, match=r"\Athe text of a table must be that of whole counts"):
        TableAnswer.from_levels(levels, keys)  # type: ignore[arg-type]


def test_a_table_is_stored_once(ledger: Ledger) -> None:
    """And given again as it was stored, by this process and by the next."""
    entry, _ = ledger.reserve("mine", asked(1), RICH)
    answer = TableAnswer.from_levels([[5, 0], [7]], [["a"], [None]])
    stored = ledger.store(entry, answer)
    assert stored.answer == answer
    assert ledger.store(entry, TableAnswer.from_levels([[9, 9], [9]], [["a"], ["b"]])) == stored
    assert ledger.store(entry, 5) == stored
    assert ledger.reserve("other", asked(1), RICH)[0] == stored
    assert ledger.entries() == [stored]
    assert ledger.verify().broken is None


@pytest.mark.parametrize("answer", [TableAnswer("{}"), TableAnswer(""), [1, 2], "{}", None])
def test_what_is_no_answer_is_not_stored(ledger: Ledger, answer: TableAnswer) -> None:
    """In one line."""
    entry, _ = ledger.reserve("mine", asked(1), RICH)
    with pytest.raises(ValueError, match=r"\A(answer|the text of a table) must be [^\n]+\Z"):
        ledger.store(entry, answer)
    assert ledger.entries() == [entry]


@pytest.mark.parametrize("text", DAMAGED, ids=lambda text: text[:40])
def test_a_damaged_table_breaks_the_chain_though_its_hash_is_right(text: str) -> None:
    """A forged row with a right hash does not make a command end in a traceback."""
    price, made = Loss.from_epsilon(TENTH), datetime.now(UTC)
    debit = chained_row(Head(), debit_columns(Entry("mine", asked(1), price, made, None, "alice", price)))
    columns = {**answer_columns("mine", 5, made), "answer": text}
    found = verification([debit, chained_row(Head(1, debit["hash"]), columns)])
    assert (found.broken, found.why) == (2, "holds what no ledger writes")


def test_a_table_that_was_changed_is_refused(ledger: Ledger) -> None:
    """By the row's number."""
    entry, _ = ledger.reserve("mine", asked(1), RICH)
    ledger.store(entry, TableAnswer.from_levels([[5, 0]]))
    change(ledger, """UPDATE ledger SET answer = '{"levels":[[6,0]]}' WHERE number = 2""")
    for action in (ledger.entries, lambda: ledger.reserve("mine", asked(1), RICH)):
        assert refusal(action).startswith("row 2 of the ledger is damaged; restore it from")


@pytest.mark.thorough
def test_a_million_counts_are_kept(ledger: Ledger, ledger_url: str) -> None:
    """With a question that names as many keys."""
    question = json.dumps({"table": {"keys": list(range(LARGE))}})
    request = Request("survey", question, TENTH)
    level = np.arange(LARGE) * 37 - 10**6
    entry, _ = ledger.reserve("mine", request, RICH)
    answer = TableAnswer.from_levels([level, level[:1]])
    ledger.store(entry, answer)
    with Ledger.open(ledger_url) as other:
        again, charged = other.reserve("again", request, RICH)
    assert not charged
    assert isinstance(again.answer, TableAnswer)
    assert (again.answer.levels[0] == level).all()
