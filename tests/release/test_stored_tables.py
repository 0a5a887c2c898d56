"""Answers in a ledger that are none to their questions: forged by whoever can compute hashes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from noisycount.engines.memory import MemorySource
from noisycount.errors import LedgerError
from noisycount.ledger.budget import ApproximateBudget
from noisycount.ledger.entries import TableAnswer
from noisycount.ledger.ledger import Ledger
from noisycount.query.schema import Kind
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk

SURVEY = Dataset("survey", ApproximateBudget("2", "1e-3", "5e-4"))  # type: ignore[arg-type]
SCHEMA = {"age": Kind.INTEGER, "seen": Kind.DATE}
Ask = Callable[[Desk], object]


def count(desk: Desk) -> object:
    """Ask for one count."""
    return desk.release("age > 3", "0.1").answer


def cells(desk: Desk) -> object:
    """Ask for a table with a margin."""
    return desk.release_table("age:0,5", epsilon="0.1", margins="total").rows


def questions(desk: Desk) -> object:
    """Ask two questions at once."""
    return desk.release_many(["age > 3", "age > 4"], "0.1").rows


def hidden(desk: Desk) -> object:
    """Ask for hidden keys."""
    return desk.release_table("seen", epsilon="0.1", delta="1e-4").rows


def desk(ledger: Ledger) -> Desk:
    """Give a desk of a few records."""
    return Desk(
        MemorySource([{"age": age, "seen": None} for age in range(9)], SCHEMA), ledger, SURVEY
    )


@pytest.mark.parametrize("ask", [count, cells, questions, hidden])
@pytest.mark.parametrize(
    ("answer", "fitting"),
    [
        (5, {count}),
        (TableAnswer.of([[1, 2]]), {questions}),
        (TableAnswer.of([[1, 2], [3]]), {cells}),
        (TableAnswer.of([[1, 2], [3]], [["a"], ["b"]]), set()),
        (TableAnswer.of([[1, 2]], [["2026-01-01"], [None]]), {hidden}),
        (TableAnswer.of([[1, 2]], [["2026-01-01"], ["today"]]), set()),
        (TableAnswer.of([[1]], [["2026-01-01", "2026-01-02"]]), set()),
        (TableAnswer.of([[], []]), set()),
    ],
)
def test_an_answer_of_another_form_is_refused(
    ask: Ask, answer: int | TableAnswer, fitting: set[Ask], tmp_path: Path
) -> None:
    """In one line that shows nothing of it; an answer of the right form is given as it is."""
    with Ledger.open(f"sqlite:///{tmp_path}/honest.db") as ledger:
        ask(desk(ledger))
        (honest,) = ledger.entries()
    with Ledger.open(f"sqlite:///{tmp_path}/forged.db") as ledger:
        entry, _ = ledger.reserve("forged", honest.request, SURVEY.budget)
        ledger.store(entry, answer)
        if ask in fitting:
            assert ask(desk(ledger))
            return
        with pytest.raises(LedgerError) as refused:
            ask(desk(ledger))
    assert str(refused.value) == (
        "key 'forged' of the ledger has an answer that is none to its question; restore it from a"
        " copy that holds every debit"
    )
