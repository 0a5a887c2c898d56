import json
import math
import sqlite3
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

import noisycount as nc
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.memory import MemorySource
from noisycount.errors import BudgetError, LedgerError, PredicateError, PurposeError, SourceError
from noisycount.ledger import storage
from noisycount.ledger.budget import Loss, PureBudget
from noisycount.ledger.entries import Analyst, Request
from noisycount.ledger.ledger import Ledger
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.predicate import Predicate
from noisycount.query.schema import Kind
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from noisycount.release.results import Release
from tests.helpers.workers import CountedSource

SCHEMA = {"age": Kind.INTEGER, "person": Kind.INTEGER}
PEOPLE = [{"person": number // 2, "age": number % 100} for number in range(2000)]
SURVEY = Dataset("survey", Fraction(1))
HALF = Fraction(1, 2)
CANARY = 8_675_309


class WatchedSource(CountedSource):
    """A source in which something happens while it is counted; it may fail."""

    __slots__ = ("during",)

    def __init__(self, during: Callable[[], int | None] = lambda: None) -> None:
        super().__init__(PEOPLE, SCHEMA, unit="person")
        self.during = during

    def count(self, predicates: Sequence[Predicate]) -> list[int]:
        """Give the true counts, unless what happens meanwhile gives another."""
        true = super().count(predicates)
        found = self.during()
        return true if found is None else [found]


class OddSource(CountedSource):
    """A source that returns the counts that a test states, whatever is asked."""

    __slots__ = ("counts",)

    def __init__(self, counts: list[object]) -> None:
        super().__init__(PEOPLE, SCHEMA, unit="person")
        self.counts = counts

    def count(self, _: Sequence[Predicate]) -> list[object]:
        """Return the stated counts."""
        return self.counts


@pytest.fixture
def source() -> WatchedSource:
    """Give a thousand persons with two records each."""
    return WatchedSource()


@pytest.fixture
def desk(source: WatchedSource, ledger: Ledger) -> Desk:
    """Give the desk of the survey."""
    return Desk(source, ledger, SURVEY)


def test_a_release_is_built_from_the_stored_row(desk: Desk, ledger: Ledger) -> None:
    """Everything that may be said with an answer comes with it."""
    release = desk.release("age >= 50", HALF)
    (entry,) = ledger.entries()
    assert release == Release(
        answer=entry.answer or 0,
        epsilon=HALF,
        paid=Loss.from_epsilon(HALF),
        remaining=HALF,
        dataset="survey",
        where="age >= 50",
        mechanism=DiscreteLaplace(2),
        key=entry.key,
        unit="person",
    )
    assert not release.repeated


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), "0.1", "1/10", 0.1])
def test_a_price_is_the_same_however_it_is_written(
    desk: Desk, source: WatchedSource, epsilon: str | float | Fraction
) -> None:
    """A free repeat: text, fraction and float are one question."""
    first = desk.release("age >= 50", Fraction(1, 10))
    again = desk.release("age >= 50", epsilon)
    assert again.repeated
    assert (again.answer, again.epsilon) == (first.answer, Fraction(1, 10))
    assert source.counted == 1


@pytest.mark.parametrize("goal", [{"within": "20%", "guess": 100}, {"error": 20}])
def test_an_accuracy_pays_the_price_of_the_plan(desk: Desk, goal: dict[str, Any]) -> None:
    """The release is as near as was asked for."""
    release = desk.release("age >= 50", **goal)
    assert release.charged == release.epsilon == Fraction(3, 20)
    assert (release.error, release.confidence) == (20, 0.95)
    assert desk.release("age >= 50", 0.15, confidence=0.5).error == 5


def test_an_answer_is_the_count_of_units_and_noise_of_the_stated_scale(desk: Desk) -> None:
    """At a high price the noise is zero, save with a probability of 4e-9."""
    desk = Desk(desk.source, desk.ledger, Dataset("survey", Fraction(100)))
    assert desk.release("age >= 50", Fraction(20)).answer == 500


def test_the_question_names_all_that_decides_the_answer(desk: Desk, source: WatchedSource, ledger: Ledger) -> None:
    """Predicate, unit, version of the records, mechanism and scale, as canonical text."""
    desk.release(" AGE>=50 ", Fraction(1, 3))
    (entry,) = ledger.entries()
    assert json.loads(entry.request.question) == {
        "where": "age >= 50",
        "unit": "person",
        "version": source.version,
        "mechanism": "discrete Laplace",
        "scale": "3",
    }


def test_a_reply_has_no_digest_of_the_records(desk: Desk, source: WatchedSource) -> None:
    """Whoever knows all records but one could try each value of that one until the digest fits."""
    release = desk.release("age >= 50", HALF)
    (entry,) = desk.ledger.entries()
    assert release.key == entry.key
    assert release.key not in (entry.request.digest, source.version)
    told = repr(release)
    assert entry.request.digest not in told
    assert source.version not in told


def test_a_release_goes_where_an_answer_goes(desk: Desk) -> None:
    """Its mechanism comes with it."""
    release, population = desk.release("age >= 50", HALF), nc.Binomial(1000, 0.5)
    told = nc.posterior(release, population)
    named = nc.posterior(release.answer, population, release.mechanism)
    assert (told.mean, told.surprise) == (named.mean, named.surprise)
    assert nc.posterior(release, population, nc.Laplace(9)).observed == ((release.answer, nc.Laplace(9)),)
    assert nc.refine(release, population) == pytest.approx(told.mean, rel=1e-12)
    assert nc.refine([release, release], population, by="median").tolist() == [told.median] * 2


def test_a_release_shows_what_a_reader_needs(desk: Desk) -> None:
    """Answer, error, price, odds and what is left: on one line, in a notebook, as JSON."""
    release = replace(desk.release("age >= 50", HALF), answer=-1012, where="name <> '<b>'")
    assert repr(release) == ("Release(answer=-1012, error=6, epsilon=0.5, remaining=0.5, where=\"name <> '<b>'\")")
    assert release._repr_html_() == (
        "<p><b>−1,012 ±6</b> (95 %) for <code>name &lt;&gt; &#x27;&lt;b&gt;&#x27;</code>; "
        "charged 0.5, 0.5 left; ε = 0.5: a 50:50 guess about one person becomes at most 63:37</p>"
    )
    again = desk.release("age >= 50", HALF)
    assert "asked before: free" in again._repr_html_()
    told = release.to_dict()
    assert json.loads(json.dumps(told)) == told
    assert told["mechanism"] == {"type": "DiscreteLaplace", "scale": "2"}
    assert (told["answer"], told["error"], told["charged"]) == (-1012, 6, "0.5")
    assert told["odds"] == "a 50:50 guess about one person becomes at most 63:37"


def test_a_desk_shows_what_may_be_asked(desk: Desk, ledger: Ledger) -> None:
    """Neither records nor what holds them open."""
    assert repr(desk) == "Desk(dataset='survey', unit='person', budget='1', columns=['age'])"
    assert desk.to_dict()["remaining"] == "1"
    assert desk._repr_html_().count("<tr>") == 6
    assert repr(replace(ledger, transactions=replace(ledger.transactions, place="here"))) == "Ledger(place='here')"
    desk.release("age >= 50", HALF, key="mine")
    (entry,) = ledger.entries()
    assert repr(entry).startswith("Entry(key='mine', dataset='survey', epsilon=0.5, answer=")
    assert json.loads(json.dumps(entry.to_dict())) == entry.to_dict()


@pytest.mark.parametrize("where", ["age >= 50", "AGE>=50", " (age >= 50) ", "not age < 50"])
@pytest.mark.parametrize("key", [None, "another"])
def test_an_identical_question_is_answered_free_of_charge_and_not_counted_again(
    desk: Desk, source: WatchedSource, where: str, key: str | None
) -> None:
    """However it is written, and under whatever key."""
    first = desk.release("age >= 50", HALF)
    again = desk.release(where, HALF, key=key)
    assert (again.answer, again.charged, again.repeated) == (first.answer, 0, True)
    assert (again.epsilon, again.remaining, again.key) == (HALF, HALF, first.key)
    assert source.counted == 1


@pytest.mark.parametrize("key", [None, "old"])
def test_an_answer_of_an_older_ledger_stays_free_in_the_words_that_bought_it(
    desk: Desk, source: WatchedSource, ledger: Ledger, key: str | None
) -> None:
    """Older ledgers hold questions as they were worded, not in their normal form."""
    desk.release("age < 50", HALF)
    (entry,) = ledger.entries()
    question = json.loads(entry.request.question) | {"where": "not age >= 60"}
    older = Request("survey", json.dumps(question, sort_keys=True), HALF)
    bought, _ = ledger.reserve("old", older, SURVEY.budget)
    ledger.store(bought, 777)
    again = desk.release("NOT age>=60", HALF, key=key)
    assert (again.answer, again.charged, again.key) == (777, 0, "old")
    assert source.counted == 1


def test_a_repeat_tells_what_is_left_now(desk: Desk) -> None:
    """Not what was left when the answer was bought."""
    desk.release("age >= 50", Fraction(1, 4))
    desk.release("age >= 60", Fraction(1, 4))
    assert desk.release("age >= 50", Fraction(1, 4)).remaining == HALF


@pytest.mark.parametrize(("own", "left"), [(Fraction(3, 4), Fraction(1, 4)), (Fraction(9), HALF)])
def test_what_is_left_fits_the_data_set_and_the_analyst(
    source: WatchedSource, ledger: Ledger, own: Fraction, left: Fraction
) -> None:
    """The smaller of the two, whichever it is."""
    desk = Desk(source, ledger, SURVEY, analyst=Analyst("alice", own))
    assert desk.release("age >= 50", HALF).remaining == left


def test_what_others_spent_is_not_taken_from_the_analyst(source: WatchedSource, ledger: Ledger) -> None:
    """Each has a budget of their own; what is left of it follows from their own questions."""
    Desk(source, ledger, SURVEY, analyst=Analyst("bob")).release("age >= 60", Fraction(1, 4))
    alice = Desk(source, ledger, SURVEY, analyst=Analyst("alice", Fraction(3, 4)))
    for charged in (Fraction(1, 4), 0):
        release = alice.release("age >= 50", Fraction(1, 4))
        assert release.charged == charged
        assert release.remains is not None
        assert (release.remains.of_dataset, release.remains.of_quota) == (HALF, HALF)


def test_what_others_bought_needs_a_purpose_all_the_same(source: WatchedSource, ledger: Ledger) -> None:
    """A request without a purpose does not reveal paid answers of others; a buyer's repeat needs none."""
    survey = replace(SURVEY, needs_purpose=True)
    alice, bob = (Desk(source, ledger, survey, analyst=Analyst(name)) for name in ("alice", "bob"))
    bought = alice.release("age >= 50", HALF, purpose="a report")
    assert alice.release("age >= 50", HALF).answer == bought.answer
    with pytest.raises(PurposeError, match=r"\Apurpose is missing: "):
        bob.release("age >= 50", HALF)
    assert bob.release("age >= 50", HALF, purpose="a paper").answer == bought.answer
    assert bob.release("age >= 50", HALF).repeated


def test_changed_records_make_another_question(desk: Desk, ledger: Ledger) -> None:
    """An old answer is not passed off as one about new records."""
    desk.release("age >= 50", HALF)
    newer = MemorySource(PEOPLE[:-1], SCHEMA, unit="person")
    release = Desk(newer, ledger, SURVEY).release("age >= 50", HALF)
    assert (release.charged, release.repeated, release.remaining) == (HALF, False, 0)


@pytest.mark.parametrize("wrong", [{"analyst": "alice"}, {"slot": 1.0}, {"dataset": "survey"}, {"analyst": None}])
def test_a_desk_is_made_of_what_it_needs(source: WatchedSource, ledger: Ledger, wrong: dict[str, object]) -> None:
    """A name alone is no analyst, and a number no slot."""
    (name,) = wrong
    with pytest.raises(ValueError, match=f"{name} must be of the class of that name, got "):
        Desk(**{"source": source, "ledger": ledger, "dataset": SURVEY, **wrong})


@pytest.mark.parametrize("where", [None, b"age > 1", 5])
def test_a_question_that_is_no_text_is_refused(desk: Desk, where: object) -> None:
    """In a line of ours, and nothing is charged."""
    with pytest.raises(PredicateError, match="must be a text"):
        desk.release(where, HALF)
    assert desk.ledger.entries() == []


@pytest.mark.parametrize("is_closed", [True, False])
def test_records_that_are_closed_or_have_changed_charge_nothing(
    tmp_path: Path, ledger: Ledger, *, is_closed: bool
) -> None:
    """A desk that stays open would else spend its whole budget on questions without answers."""
    path = tmp_path / "records.csv"
    path.write_text("age\n31\n")
    with DuckDBSource.open(path) as source:
        desk = Desk(source, ledger, SURVEY)
        if is_closed:
            source.close()
        else:
            path.write_text("age\n31\n32\n")
        with pytest.raises(SourceError, match=r"open it again|open the source again"):
            desk.release("age > 30", HALF)
    assert ledger.entries() == []


def test_nothing_is_left_of_a_budget_that_was_lowered(desk: Desk) -> None:
    """A stored answer is still given, and what is left is not negative."""
    first = desk.release("age >= 50", HALF)
    poorer = Desk(desk.source, desk.ledger, Dataset("survey", Fraction(1, 4)))
    again = poorer.release("age >= 50", HALF)
    assert (again.answer, again.remaining) == (first.answer, 0)


@pytest.mark.parametrize(
    ("where", "goal", "error"),
    [
        ("salary > 1", {"epsilon": HALF}, PredicateError),
        ("age > (select 1)", {"epsilon": HALF}, PredicateError),
        ("age > 1", {"epsilon": Fraction(0)}, ValueError),
        ("age > 1", {"epsilon": Fraction(-1)}, ValueError),
        ("age > 1", {"epsilon": Fraction(1, 1009)}, ValueError),
        ("age > 1", {"epsilon": math.nan}, ValueError),
        ("age > 1", {"epsilon": HALF, "key": ""}, ValueError),
        ("age > 1", {"epsilon": HALF, "key": "line\nbreak"}, ValueError),
        ("age > 1", {"epsilon": HALF, "confidence": 1}, ValueError),
        ("age > 1", {"within": "20%"}, ValueError),
        ("age > 1", {}, ValueError),
        ("age > 1", {"epsilon": Fraction(11, 10)}, BudgetError),
        ("age > 1", {"error": 1}, BudgetError),
    ],
)
def test_a_refused_question_is_neither_charged_nor_counted(
    desk: Desk, source: WatchedSource, where: str, goal: dict[str, Any], error: type[Exception]
) -> None:
    """Every check precedes the debit."""
    with pytest.raises(error):
        desk.release(where, **goal)
    assert (source.counted, desk.ledger.entries()) == (0, [])


def test_the_debit_precedes_the_count(ledger: Ledger) -> None:
    """While the records are read, the price is already spent."""
    seen = []
    source = WatchedSource(lambda: seen.append(ledger.spent("survey")))
    Desk(source, ledger, SURVEY).release("age >= 50", HALF)
    assert seen == [HALF]


def test_a_ledger_that_refuses_the_debit_is_not_counted_against(
    desk: Desk, source: WatchedSource, tmp_path: Path
) -> None:
    """A read-only ledger refuses before the records are touched."""
    with Ledger.open(f"sqlite:///file:{tmp_path}/ledger.db?mode=ro&uri=true") as ledger:
        with pytest.raises(LedgerError, match="is read-only"):
            Desk(source, ledger, SURVEY).release("age >= 50", HALF)
        assert source.counted == 0
    assert desk.ledger.entries() == []


def test_whoever_counts_first_answers_everybody(ledger: Ledger) -> None:
    """A second asker who starts while the first counts gets the first stored answer, unpaid."""
    other = Desk(WatchedSource(), ledger, Dataset("survey", Fraction(1, 1000)))
    replies = []

    def ask_meanwhile() -> None:
        replies.append(other.release("age >= 50", Fraction(1, 1000)))

    desk = Desk(WatchedSource(ask_meanwhile), ledger, other.dataset)
    release = desk.release("age >= 50", Fraction(1, 1000))
    assert release.charged == Fraction(1, 1000)
    assert [(reply.answer, reply.charged) for reply in replies] == [(release.answer, 0)]


def fail_with_a_cell() -> int:
    """Fail as an engine does, which quotes a cell, in the course of another failure."""
    try:
        return int(f"cell {CANARY}")
    except ValueError as error:
        raise SourceError(str(error)) from error


def interrupt_with_a_cell() -> int:
    """Be interrupted by the keyboard while a failure that quotes a cell is handled."""
    try:
        return int(f"cell {CANARY}")
    except ValueError as error:
        raise KeyboardInterrupt from error


def count_the_canary() -> int:
    """Give a true count that no message may show."""
    return CANARY


def everything_that_an_error_knows(error: BaseException) -> str:
    """Give its text, its notes, its traceback with every local value, and those of its causes."""
    known = []
    pending: list[BaseException | None] = [error]
    while pending:
        each = pending.pop()
        if each is not None:
            known += [repr(each), str(each), repr(getattr(each, "__notes__", None))]
            known += frames(each.__traceback__)
            known += traceback.format_exception(each)
            pending += [each.__cause__, each.__context__]
    return "\n".join(known)


def frames(found: TracebackType | None) -> list[str]:
    """Give the local values of every frame but the tests' own."""
    return [
        repr(frame.f_locals) for frame, _ in traceback.walk_tb(found) if not frame.f_code.co_name.startswith("test_")
    ]


@pytest.mark.parametrize("failure", [fail_with_a_cell, interrupt_with_a_cell])
def test_the_canary_can_be_seen_where_nothing_hides_it(failure: Callable[[], int]) -> None:
    """The search below finds what it looks for."""
    with pytest.raises(BaseException) as raised:  # noqa: PT011 - also a keyboard interrupt
        WatchedSource(failure).count([])
    assert str(CANARY) in everything_that_an_error_knows(raised.value)


def test_a_failing_source_is_replaced_by_fixed_text(ledger: Ledger) -> None:
    """No cell leaves with the error; the debit stays, and a later try completes it."""
    with pytest.raises(SourceError, match=r"\Adata set 'survey' could not be [^\n]*\Z") as raised:
        Desk(WatchedSource(fail_with_a_cell), ledger, SURVEY).release("age >= 50", HALF)
    assert str(CANARY) not in everything_that_an_error_knows(raised.value)
    assert "the debit stays" in str(raised.value)
    assert ledger.spent("survey") == HALF
    resumed = Desk(WatchedSource(), ledger, SURVEY).release("age >= 50", HALF)
    assert (resumed.charged, resumed.repeated, resumed.remaining) == (0, True, HALF)


@pytest.mark.parametrize("error", [RuntimeError, MemoryError, SystemExit, KeyboardInterrupt])
def test_a_failing_sampler_does_not_tell_the_true_count(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    """Its frames hold the count, its message could."""

    def release(_: DiscreteLaplace, count: int) -> int:
        raise error(f"{count} records") if issubclass(error, Exception) else error

    monkeypatch.setattr(DiscreteLaplace, "release", release)
    desk = Desk(WatchedSource(count_the_canary), ledger, SURVEY)
    with pytest.raises((SourceError, error)) as raised:
        desk.release("age >= 50", HALF)
    assert str(CANARY) not in everything_that_an_error_knows(raised.value)
    assert isinstance(raised.value, SourceError) == issubclass(error, Exception)


def test_an_interrupted_count_keeps_no_context(ledger: Ledger) -> None:
    """A keyboard interrupt goes through, without what it interrupted."""
    with pytest.raises(KeyboardInterrupt) as raised:
        Desk(WatchedSource(interrupt_with_a_cell), ledger, SURVEY).release("age >= 50", HALF)
    assert str(CANARY) not in everything_that_an_error_knows(raised.value)
    assert ledger.spent("survey") == HALF


def test_a_failure_to_store_does_not_tell_the_true_count(ledger: Ledger, tmp_path: Path) -> None:
    """The row of the debit is there; the answer is not, and the next try gives one.

    The noise has a scale of a million, so the noisy answer is almost never the true count.
    """
    price = Fraction(1, 10**6)

    def damage_the_ledger() -> int:
        ledger.close()
        (tmp_path / "ledger.db").rename(tmp_path / "aside.db")
        (tmp_path / "ledger.db").write_text("x" * 5000)
        return CANARY

    desk = Desk(WatchedSource(damage_the_ledger), ledger, SURVEY)
    with pytest.raises(LedgerError, match="is not a ledger") as raised:
        desk.release("age >= 50", price)
    assert str(CANARY) not in everything_that_an_error_knows(raised.value)
    ledger.close()
    (tmp_path / "aside.db").replace(tmp_path / "ledger.db")
    assert Desk(WatchedSource(), ledger, SURVEY).release("age >= 50", price).charged == 0


FAILURES_TO_STORE = [
    *(sqlite3.OperationalError("odd"), sqlite3.DatabaseError("odd"), RuntimeError("odd")),
    *(OSError(5, "odd"), MemoryError(), KeyboardInterrupt(), SystemExit()),
]


@pytest.mark.parametrize("when", ["execute", "do_commit"])
@pytest.mark.parametrize("failure", FAILURES_TO_STORE, ids=lambda each: type(each).__name__)
def test_a_failure_to_store_does_not_tell_the_noisy_answer(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, failure: BaseException, when: str
) -> None:
    """However often it is tried again: who asks gets one answer, and it is the stored one."""
    drawn = []

    def release(_: DiscreteLaplace, __: int) -> int:
        drawn.append(CANARY * 10 + len(drawn))
        return drawn[-1]

    def fail(*words: object) -> object:
        if when == "do_commit" or "INSERT" in str(words[1]):
            raise failure.with_traceback(None)
        return real(*words)

    monkeypatch.setattr(DiscreteLaplace, "release", release)
    owner = storage if when == "execute" else desk.ledger.transactions.reading.dialect
    real, told = getattr(owner, when), []
    desk.source.during = lambda: monkeypatch.setattr(owner, when, fail)
    for _ in range(3):
        with pytest.raises((LedgerError, type(failure))) as raised:
            desk.release("age >= 50", HALF)
        told.append(everything_that_an_error_knows(raised.value))
        monkeypatch.setattr(owner, when, real)
    desk.source.during = lambda: None
    assert str(CANARY) not in "".join(told)
    assert len(drawn) == 3
    assert isinstance(raised.value, LedgerError) == isinstance(failure, Exception)
    if isinstance(failure, Exception):
        assert str(raised.value).endswith("the debit stays, and to ask the same again costs nothing more")
    release = desk.release("age >= 50", HALF)
    assert (release.answer, release.charged) == (drawn[-1], 0)
    assert desk.release("age >= 50", HALF).answer == desk.ledger.entries()[0].answer == drawn[-1]


@pytest.mark.parametrize("counts", [[], [1, 2], ["many"], [None]])
def test_a_source_that_does_not_give_one_count_is_refused(ledger: Ledger, counts: list[object]) -> None:
    """Nothing is released that is not a count and its noise."""
    with pytest.raises(SourceError, match="could not be counted"):
        Desk(OddSource(counts), ledger, SURVEY).release("age >= 50", HALF)


@pytest.mark.parametrize("budget", [2, "2", Decimal(2), Fraction(2)])
def test_a_data_set_keeps_the_exact_number_of_its_budget(budget: object) -> None:
    """However it is written."""
    assert Dataset("survey", budget).budget == PureBudget(Fraction(2))
    assert type(Dataset("survey", budget).budget.epsilon) is Fraction


@pytest.mark.parametrize(
    ("name", "budget", "message"),
    [
        ("", Fraction(1), r"\Aname must be 1 to 200 printable characters, got ''\Z"),
        ("survey", Fraction(0), r"\Abudget must be .*, got 0\Z"),
        ("survey", Fraction(-1), r"\Abudget must be .*, got -1\Z"),
    ],
)
def test_a_data_set_is_checked(name: str, budget: Fraction, message: str) -> None:
    """Its name can be printed, its budget can be spent."""
    with pytest.raises(ValueError, match=message):
        Dataset(name, budget)
