"""A question alone and as a list of one: equal noise, price and error, and a single answer."""

import json
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

import noisycount as nc
from noisycount.engines.memory import MemorySource
from noisycount.errors import PredicateError
from noisycount.ledger.budget import ConcentratedBudget, Loss, PureBudget
from noisycount.ledger.entries import Entry, Request, TableAnswer
from noisycount.ledger.ledger import Ledger
from noisycount.query.schema import Kind
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from tests.helpers.workers import processes, start_together, wait_for_all

WHERE, OTHER, EPSILON = "age >= 40", "not age < 40", Fraction(1, 3)
SURVEY = Dataset("survey", PureBudget(Fraction(10)))
Ask = Callable[..., tuple[int, Fraction, int]]
RECORDS = [{"age": number} for number in range(90)]


def desk_of(ledger: Ledger, dataset: Dataset = SURVEY) -> Desk:
    """Give a desk of the records."""
    return Desk(MemorySource(RECORDS, {"age": Kind.INTEGER}), ledger, dataset)


def alone(ledger: Ledger, key: str | None = None) -> tuple[int, Fraction, int]:
    """Give the answer of a count, what was charged, and its error."""
    told = desk_of(ledger).release(WHERE, EPSILON, key=key)
    return told.answer, told.charged, told.error


def listed(ledger: Ledger, key: str | None = None) -> tuple[int, Fraction, int]:
    """Give the same of a list of one, asked in other words."""
    told = desk_of(ledger).release_many([OTHER], EPSILON, key=key)
    ((answer,), (error,)) = told.answers, told.errors
    return int(answer[0]), told.charged.epsilon or Fraction(0), error


def older(*, is_list: bool) -> Request:
    """Give the request that noisycount 0.2 wrote down, letter by letter."""
    version = MemorySource(RECORDS, {"age": Kind.INTEGER}).version
    same = f'"unit": null, "version": {json.dumps(version)}'
    text = (
        '{"mechanism": "discrete Laplace", "scales": ["3"], "table": {"questions": ["age >= 40"]}, '
        f'{same}, "where": null}}'
        if is_list
        else f'{{"mechanism": "discrete Laplace", "scale": "3", {same}, "where": "age >= 40"}}'
    )
    return Request(SURVEY.name, text, EPSILON)


def bought(ledger: Ledger, answer: int, *, is_list: bool, is_stored: bool = True) -> Entry:
    """Give an answer that noisycount 0.2 sold, or its debit alone."""
    request = older(is_list=is_list)
    entry, charged = ledger.reserve(f"old {is_list}", request, SURVEY.budget)
    assert charged == Loss.from_epsilon(EPSILON)
    form = TableAnswer.from_levels([[answer]]) if is_list else answer
    return ledger.store(entry, form) if is_stored else entry


@pytest.mark.parametrize(("first", "second"), [(alone, listed), (listed, alone)])
def test_who_asks_alone_and_in_a_list_of_one_pays_once(ledger: Ledger, first: Ask, second: Ask) -> None:
    """In either order: one debit, one answer, under one key or two."""
    answer, charged, error = first(ledger, "mine")
    assert charged == EPSILON
    for key in (None, "mine", "again"):
        assert second(ledger, key) == (answer, 0, error)
        assert first(ledger, key) == (answer, 0, error)
    assert desk_of(ledger).remaining == 10 - EPSILON
    (entry,) = ledger.entries()
    assert entry.request == older(is_list=False)
    assert entry.answer == answer


@pytest.mark.parametrize("is_list", [False, True])
def test_what_was_bought_in_either_form_is_found_by_both(ledger: Ledger, *, is_list: bool) -> None:
    """Ledgers of 0.2 hold a list of one as a table; it stays as it is."""
    entry = bought(ledger, 1234, is_list=is_list)
    assert alone(ledger)[:2] == listed(ledger)[:2] == (1234, 0)
    assert ledger.entries() == [entry]


@pytest.mark.parametrize("first", [False, True])
def test_who_paid_for_both_keeps_both_answers(ledger: Ledger, *, first: bool) -> None:
    """A ledger of 0.2 may hold two: each way of asking gives for ever what it gave."""
    for is_list in (first, not first):
        bought(ledger, 2000 + is_list, is_list=is_list)
    assert alone(ledger)[:2] == (2000, 0)
    assert listed(ledger)[:2] == (2001, 0)


@pytest.mark.parametrize("is_list", [False, True])
@pytest.mark.parametrize("ask", [alone, listed])
def test_a_debit_without_an_answer_is_resumed_by_both(ledger: Ledger, ask: Ask, *, is_list: bool) -> None:
    """The stored answer has the form of its debit, so that older readers understand it."""
    bought(ledger, 0, is_list=is_list, is_stored=False)
    answer, charged, _ = ask(ledger)
    assert charged == 0
    (entry,) = ledger.entries()
    told = entry.answer
    assert told == (TableAnswer.from_levels([[answer]]) if is_list else answer)
    assert alone(ledger)[0] == listed(ledger)[0] == answer


def test_other_lists_are_other_questions(ledger: Ledger) -> None:
    """Of more questions, of other noise: another law. The order of a list makes no difference."""
    alone(ledger)
    desk = desk_of(ledger)
    pair = desk.release_many([WHERE, "age < 9"], EPSILON)
    assert pair.charged == Loss.from_epsilon(EPSILON)
    again = desk.release_many(["age < 9", OTHER], EPSILON)
    assert (again.charged, again.answers[0].tolist()) == (Loss(), pair.answers[0].tolist()[::-1])
    smooth = desk_of(ledger, Dataset("survey", ConcentratedBudget(Fraction(10))))
    for where, charged in ((WHERE, Loss.concentrated(Fraction(1, 10))), (OTHER, Loss())):
        told = smooth.release_many([where], rho="0.1", noise=nc.DiscreteGaussian)
        assert told.charged == charged
    with pytest.raises(PredicateError, match="twice: ask each question once"):
        desk.release_many([WHERE, OTHER], EPSILON)


def spend(url: str, *, is_list: bool) -> tuple[int, Fraction, int]:
    """Ask in a process of its own, at the same moment as the others."""
    with Ledger.open(url) as ledger:
        wait_for_all()
        return listed(ledger) if is_list else alone(ledger)


def test_processes_that_ask_both_at_once_are_charged_once(tmp_path: Path) -> None:
    """Processes that ask both forms at once share a debit and an answer."""
    url = f"sqlite:///{tmp_path}/ledger.db"
    Ledger.open(url).close()
    context = processes()
    barrier = context.Barrier(4)
    with ProcessPoolExecutor(4, context, start_together, (barrier,)) as pool:
        futures = [pool.submit(spend, url, is_list=bool(place % 2)) for place in range(4)]
        told = [future.result() for future in futures]
    assert sorted(charged for _, charged, _ in told) == [0, 0, 0, EPSILON]
    assert len({answer for answer, _, _ in told}) == 1
    with Ledger.open(url) as ledger:
        assert len(ledger.entries()) == 1
