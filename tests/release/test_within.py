"""Accuracy goals of a count: the largest price is reserved, and the price at the stopping time is charged."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

import noisycount as nc
from noisycount.analysis.within import coverage, stopping_rule
from noisycount.engines.memory import MemorySource
from noisycount.errors import BudgetError, LedgerError, ReuseError, SourceError
from noisycount.ledger.budget import ApproximateBudget, Loss
from noisycount.ledger.chain import answer_columns, chained_row
from noisycount.ledger.entries import Analyst, Entry
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.series import request_at_stop
from noisycount.query.query import Query
from noisycount.query.schema import Kind
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from noisycount.release.publishing import ledger_forms, stopping_schedule
from noisycount.release.query_plan import plan_of
from noisycount.release.rehearsal import rehearse_query
from noisycount.release.results import Release
from tests.helpers.ledgers import refusal

RECORDS = [{"town": town} for town in [*["Bern"] * 1000, *["Chur"] * 3]]
LARGE, SMALL = "town = 'Bern'", "town = 'Chur'"
SURVEY = Dataset("survey", Fraction(2))
HALF = Fraction(1, 2)
DeskOf = Callable[..., Desk]


class FailingSource(MemorySource):
    """Records that cannot be counted for a while."""

    __slots__ = ("fails",)

    def __init__(self) -> None:
        super().__init__(RECORDS, {"town": Kind.TEXT})
        self.fails = False

    def count(self, predicates: object) -> list[int]:
        """Give the true counts, or fail."""
        if self.fails:
            raise SourceError("no")
        return super().count(predicates)  # type: ignore[arg-type]


@pytest.fixture
def source() -> FailingSource:
    """Give the records."""
    return FailingSource()


@pytest.fixture
def desk_of(ledger: Ledger, source: FailingSource) -> DeskOf:
    """Return a function that opens desks of the records, for any analyst."""

    def made(dataset: Dataset = SURVEY, analyst: Analyst = Analyst()) -> Desk:  # noqa: B008 - frozen
        return Desk(source, ledger, dataset, analyst=analyst)

    return made


@pytest.mark.thorough
def test_an_answer_that_meets_another_goal_is_told_as_it_was_asked(ledger: Ledger) -> None:
    """With the share and the confidence of that goal, where those of its own promise less; the nearer one stays."""
    source = MemorySource([{"town": "Bern"}] * 100_000, {"town": Kind.TEXT})
    desk = Desk(source, ledger, SURVEY)
    first = desk.release(within="50%", at_most=HALF, confidence=0.9)
    nearer = desk.release(within="20%", at_most=HALF, confidence=0.99)
    assert (nearer.answer, nearer.charged) == (first.answer, 0)
    assert (nearer.within, nearer.confidence, nearer.is_near) == (Fraction(1, 5), 0.99, True)
    assert nearer.error <= first.answer / 5
    assert desk.release(within="50%", at_most=HALF, confidence=0.9) == replace(first, paid=Loss())
    assert desk.release(within="60%", at_most=HALF, confidence=0.9).within == HALF


def test_a_large_count_is_cheap_and_a_small_one_is_capped(desk_of: DeskOf) -> None:
    """Of what is reserved the rest is given back; what is told is that the count lies between the bounds."""
    desk = desk_of()
    large = desk.release(LARGE, within="20%", at_most=HALF)
    assert large.charged == large.epsilon < Fraction(1, 20)
    assert (large.within, large.confidence, large.is_near) == (Fraction(1, 5), 0.95, True)
    low, high = large.bounds or (0, 0)
    assert (low, high) == stopping_rule("0.2", "0.95", HALF).nearby_interval(large.answer)
    assert large.error == max(high - large.answer, large.answer - low)
    assert large.remaining == desk.remaining == 2 - large.epsilon
    small = desk.release(SMALL, within=0.2, at_most="1/2")
    assert (small.charged, small.epsilon, small.is_near) == (HALF, HALF, False)
    assert small.bounds == stopping_rule("0.2", "0.95", HALF).interval(small.answer)
    assert desk.remaining == 2 - large.epsilon - HALF
    assert desk.ledger.verify().broken is None
    assert [entry.spent.epsilon for entry in desk.ledger.entries()] == [large.epsilon, large.epsilon + HALF]


@pytest.mark.thorough
@pytest.mark.parametrize("where", [LARGE, SMALL])
def test_the_same_again_is_free(desk_of: DeskOf, where: str) -> None:
    """At the same share and confidence, whatever it may cost at most; and in one process or the next."""
    desk = desk_of()
    first = desk.release(where, within="20%", at_most=HALF)
    again = desk.release(where, within="20%", at_most=HALF)
    assert (again.answer, again.charged, again.bounds, again.key) == (first.answer, 0, first.bounds, first.key)
    if first.is_near:
        assert desk.release(where, within="20%", at_most=1).charged == 0
        assert desk.release(where, within="50%", at_most=1).charged == 0  # it is nearer than that
    assert desk.release(where, first.epsilon).charged == 0
    assert desk.release(where, first.epsilon / 2).bounds == first.bounds


@pytest.mark.thorough
def test_what_is_told_is_true_as_often_as_it_says(source: FailingSource, ledger_url: str) -> None:
    """A hundred chains of a count of 40, near the middle of its prices."""
    source = MemorySource(RECORDS[:40], {"town": Kind.TEXT})
    told = 0
    with Ledger.open(ledger_url) as ledger:
        for number in range(100):
            desk = Desk(source, ledger, Dataset(f"survey {number}", Fraction(1)))
            low, high = desk.release(LARGE, within="50%", at_most=HALF, confidence=0.9).bounds or (0, 0)
            told += low <= 40 <= high
    assert told >= 100 * coverage(stopping_rule("0.5", "0.9", HALF), 40) - 5 * 100**0.5 / 2


@pytest.mark.thorough
@pytest.mark.parametrize("count", [40, 400])
def test_a_goal_after_a_goal_is_true_as_often_as_it_says(ledger_url: str, count: int) -> None:
    """Sixty chains that stopped within a half, and went on because somebody saw that, to within a fifth."""
    source = MemorySource(RECORDS[:count], {"town": Kind.TEXT})
    wrong = 0
    with Ledger.open(ledger_url) as ledger:
        for number in range(60):
            desk = Desk(source, ledger, Dataset(f"survey {number}", Fraction(1)))
            desk.release(LARGE, within="50%", at_most=HALF, confidence=0.9)
            low, high = desk.release(LARGE, within="20%", at_most=HALF, confidence=0.9).bounds or (0, 0)
            wrong += not low <= count <= high
    assert wrong <= 60 * 0.1 + 5 * (60 * 0.09) ** 0.5


@pytest.mark.parametrize("where", [LARGE, SMALL])
def test_a_list_of_it_states_the_same_error(desk_of: DeskOf, where: str) -> None:
    """Asked as a list, too, the answer is as sure as its rule, not as its noise alone would be."""
    desk = desk_of()
    alone = desk.release(where, within="20%", at_most=HALF, confidence=0.9)
    listed = desk.release_many([where], alone.epsilon)
    assert (listed.errors, listed.errors_of_all, listed.confidence) == ((alone.error,), (alone.error,), 0.9)
    assert (listed.rows[0].answer, listed.rows[0].error, listed.key) == (alone.answer, alone.error, alone.key)


@pytest.mark.thorough
def test_a_nearer_answer_goes_on_from_the_one_that_is_known(desk_of: DeskOf) -> None:
    """By a rule that holds also where somebody saw the first answer and asked because of it."""
    desk = desk_of()
    first = desk.release(LARGE, within="20%", at_most=HALF)
    nearer = desk.release(LARGE, within="5%", at_most=HALF)
    assert nearer.charged == nearer.epsilon - first.epsilon > 0
    assert nearer.replaces == (first.key,)
    prices = [entry.loss.epsilon for entry in desk.ledger.entries()]
    assert prices == [first.epsilon, nearer.epsilon]
    assert desk.remaining == 2 - nearer.epsilon
    finer = desk.release(LARGE, "1")
    assert (finer.charged, finer.replaces) == (1 - nearer.epsilon, (nearer.key, first.key))
    assert (finer.bounds, finer.within) == (None, None)


@pytest.mark.thorough
def test_an_answer_that_is_near_enough_already_costs_nothing(desk_of: DeskOf) -> None:
    """A stored answer that meets the goal is free, also if it was bought at a fixed price."""
    desk = desk_of()
    bought = desk.release(LARGE, "1")
    near = desk.release(LARGE, within="20%", at_most="3/2")
    assert (near.key, near.charged) == (bought.key, 0)
    assert desk.release(LARGE, within="20%", at_most="1/2").key == bought.key


@pytest.mark.thorough
def test_a_surer_goal_that_is_met_already_is_told_by_its_own_confidence(desk_of: DeskOf) -> None:
    """The answer within 5 % at 90 % is free, and within 20 % at 99 %; asked for 80 %, it is told as it was drawn."""
    desk = desk_of()
    first = desk.release(LARGE, within="5%", at_most=HALF, confidence=0.9)
    surer = desk.release(LARGE, within="20%", at_most=HALF, confidence=0.99)
    assert (surer.key, surer.charged, surer.is_near) == (first.key, 0, True)
    assert (surer.within, surer.confidence) == (Fraction(1, 5), 0.99)
    looser = desk.release(LARGE, within="20%", at_most=HALF, confidence=0.8)
    assert (looser.key, looser.within, looser.confidence) == (first.key, Fraction(1, 20), 0.9)


@pytest.mark.thorough
def test_a_capped_answer_goes_on_where_more_may_be_paid(desk_of: DeskOf) -> None:
    """An answer that stopped at its largest price is topped up for a goal with a larger one."""
    desk = desk_of()
    capped = desk.release(SMALL, within="20%", at_most="1/4")
    more = desk.release(SMALL, within="20%", at_most=HALF)
    assert (more.replaces, more.charged, more.epsilon, more.is_near) == ((capped.key,), Fraction(1, 4), HALF, False)
    assert desk.release(SMALL, within="20%", at_most="1/4").charged == 0


def test_who_is_overtaken_by_a_higher_price_has_that_answer_for_their_own_charge(ledger: Ledger) -> None:
    """While the first counts, somebody else pays for a finer answer, which stands for both; nothing is given back."""
    finer: list[Release] = []
    second = Desk(MemorySource(RECORDS, {"town": Kind.TEXT}), ledger, SURVEY, analyst=Analyst("second"))

    class Slow(MemorySource):
        """Records during whose count somebody else asks the same at a higher price."""

        def count(self, predicates: object) -> list[int]:
            """Give the true counts."""
            finer.append(second.release(LARGE, "0.3"))
            return super().count(predicates)  # type: ignore[arg-type]

    slow = Desk(Slow(RECORDS, {"town": Kind.TEXT}), ledger, SURVEY, analyst=Analyst("first"))
    mine = slow.release(LARGE, "0.1")
    assert (mine.key, mine.answer, mine.epsilon) == (finer[0].key, finer[0].answer, Fraction(3, 10))
    assert (mine.charged, finer[0].charged) == (Fraction(1, 10), Fraction(1, 5))
    assert slow.remaining == Fraction(17, 10)


@pytest.mark.thorough
def test_a_stop_at_the_price_of_what_it_tops_up_breaks_the_chain(
    desk_of: DeskOf, ledger: Ledger, source: FailingSource
) -> None:
    """An answer that tops up another costs more than that one."""
    desk_of().release(LARGE, "0.1")
    source.fails = True
    with pytest.raises(SourceError):
        desk_of().release(LARGE, within="1%", at_most=HALF)
    entry = ledger.entries()[-1]
    assert len(entry.replaces) == 1
    draft = ledger.transactions.known.draft()
    for price, why in (("0.1", "charges something else than where its answers stopped"), ("0.11", None)):
        columns = answer_columns(entry.key, 1003, entry.made, request_at_stop(entry.request, Fraction(price)))
        assert draft.check_next(chained_row(draft.head, columns)) == why


def test_the_most_is_reserved_before_anything_is_counted(desk_of: DeskOf, source: FailingSource) -> None:
    """A failure leaves it charged; who asks again, in whatever words, has it settled."""
    desk = desk_of()
    source.fails = True
    with pytest.raises(SourceError, match="the debit stays"):
        desk.release(LARGE, within="20%", at_most=HALF)
    assert desk.remaining == Fraction(3, 2)
    source.fails = False
    settled = desk.release(f"{LARGE} or {LARGE}", within="20%", at_most=HALF)
    assert (settled.charged, settled.remaining) == (0, 2 - settled.epsilon)
    assert desk.ledger.verify().broken is None


def test_who_asks_at_a_price_settles_a_reserve_and_tops_it_up(desk_of: DeskOf, source: FailingSource) -> None:
    """It is drawn as it was asked first; what is missing then is charged to who wants more."""
    desk = desk_of()
    source.fails = True
    with pytest.raises(SourceError):
        desk.release(LARGE, within="20%", at_most=HALF)
    source.fails = False
    finer = desk.release(LARGE, "0.3")
    assert (finer.epsilon, len(finer.replaces), desk.remaining) == (Fraction(3, 10), 1, Fraction(17, 10))
    assert sum((entry.request.price for entry in desk.ledger.entries()), Loss()).epsilon == Fraction(3, 10)


OPEN, HIGHER, DEAR = {"within": "20%", "at_most": HALF}, {"within": "5%", "at_most": "0.8"}, {"epsilon": "0.8"}


@pytest.mark.thorough
@pytest.mark.parametrize(("first", "then"), [(OPEN, DEAR), (OPEN, HIGHER), ({"epsilon": "0.001"}, OPEN)])
def test_what_has_no_answer_is_answered_before_a_reserve_rests_on_it(
    desk_of: DeskOf, source: FailingSource, first: dict[str, object], then: dict[str, object]
) -> None:
    """Nothing is charged on top of what may still stop lower; in the end all together cost the last price."""
    desk = desk_of()
    source.fails = True
    for goal in (first, then):
        with pytest.raises(SourceError):
            desk.release(LARGE, **goal)  # type: ignore[arg-type]
    (reserve,) = desk.ledger.entries()
    source.fails = False
    told = desk.release(LARGE, **then, key="then")  # type: ignore[arg-type]
    assert (told.key, told.replaces, told.remaining) == ("then", (reserve.key,), 2 - told.epsilon)
    for goal in ({"epsilon": told.epsilon}, first):
        assert desk.release(LARGE, **goal).charged == 0  # type: ignore[arg-type]
    assert desk.release(LARGE, 1).remaining == desk.remaining == 1
    assert desk.ledger.verify().broken is None


@pytest.mark.thorough
def test_a_key_names_the_answer_that_its_reserve_had(desk_of: DeskOf) -> None:
    """However low it stopped, and after it was topped up too; for a price of its own it is refused as before."""
    desk = desk_of()
    first = desk.release(LARGE, within="20%", at_most=HALF, key="first")
    for finer in ({"within": "5%", "at_most": HALF}, {"epsilon": 1}):
        assert desk.release(LARGE, **finer).charged > 0  # type: ignore[arg-type]
        again = desk.release(LARGE, within="20%", at_most=HALF, key="first")
        assert (again.key, again.answer, again.charged) == ("first", first.answer, 0)
    with pytest.raises(ReuseError, match="at a lower price"):
        desk.release(LARGE, HALF, key="first")


@pytest.mark.parametrize("key", ["first", "second"])
def test_who_asks_while_the_same_is_settled_pays_nothing(desk_of: DeskOf, ledger: Ledger, key: str) -> None:
    """A request made before the answer was stored finds it under the price that was reserved."""
    desk = desk_of()
    query = Query(wheres=[LARGE], within="20%", at_most=HALF)
    plan = plan_of(query, desk.source.schema, None, is_replacement=False)
    first = desk.release(LARGE, within="20%", at_most=HALF, key="first")
    request, formers = ledger_forms(plan, "survey", desk.source)
    entry, charged = ledger.reserve(key, request, SURVEY.budget, formers=formers)
    assert (entry.key, entry.answer, charged) == ("first", first.answer, Loss())


def test_a_list_of_one_question_has_the_price_that_it_asked_for(desk_of: DeskOf, source: FailingSource) -> None:
    """A reserve that it found stopped lower, and was topped up."""
    desk = desk_of()
    source.fails = True
    with pytest.raises(SourceError):
        desk.release(LARGE, within="20%", at_most=HALF)
    source.fails = False
    assert desk.release_many([LARGE], "0.3").price.epsilon == Fraction(3, 10)


def test_who_draws_second_tells_where_the_first_one_stopped(ledger: Ledger) -> None:
    """The answer of another process is told with its own price; that of the lost draw would say something more."""

    class Meanwhile(MemorySource):
        """Records during whose count somebody else settles the reserve."""

        def count(self, predicates: object) -> list[int]:
            """Give the true counts."""
            (entry,) = ledger.entries()
            ledger.store(entry, 1234, stopped=Fraction(1, 3))
            return super().count(predicates)  # type: ignore[arg-type]

    desk = Desk(Meanwhile(RECORDS, {"town": Kind.TEXT}), ledger, SURVEY)
    told = desk.release(LARGE, within="20%", at_most=HALF)
    assert (told.answer, told.epsilon, told.charged, told.remaining) == (
        1234,
        Fraction(1, 3),
        Fraction(1, 3),
        Fraction(5, 3),
    )


def test_two_who_ask_at_once_are_told_one_answer_and_what_is_left(ledger: Ledger, source: FailingSource) -> None:
    """While the second counts the first is answered: the rest of the reserve is given back once."""
    told: list[Release] = []
    first, second = (Desk(source, ledger, SURVEY, analyst=Analyst(name)) for name in ("first", "second"))

    class Slow(FailingSource):
        """Records during whose first count somebody else asks the same."""

        __slots__ = ()

        def count(self, predicates: object) -> list[int]:
            """Give the true counts."""
            if not told:
                told.append(second.release(LARGE, within="20%", at_most=HALF))
            return super().count(predicates)

    slow = Desk(Slow(), ledger, SURVEY, analyst=first.analyst)
    mine = slow.release(LARGE, within="20%", at_most=HALF)
    assert (mine.answer, mine.key) == (told[0].answer, told[0].key)
    assert mine.charged == mine.epsilon
    assert told[0].charged == 0
    assert mine.remaining == told[0].remaining == slow.remaining == 2 - mine.epsilon


def test_both_budgets_must_pay_the_most(desk_of: DeskOf) -> None:
    """An analyst's own gets the rest back, too."""
    poor = desk_of(analyst=Analyst("poor", Fraction(1, 4)))
    with pytest.raises(
        BudgetError, match=r"epsilon 0\.5 exceeds the 0\.25 that is left of the budget 0\.25 of analyst"
    ):
        poor.release(LARGE, within="20%", at_most=HALF)
    told = poor.release(LARGE, within="20%", at_most="1/4")
    assert told.remaining == poor.remaining == Fraction(1, 4) - told.epsilon


def test_a_sum_of_rho_keeps_the_most(desk_of: DeskOf) -> None:
    """A sum of ρ charges ε²/2 for the largest price, which bounds all answers up to it."""
    desk = desk_of(Dataset("survey", ApproximateBudget(Fraction(2), Fraction(1, 10**9))))
    told = desk.release(LARGE, within="20%", at_most=HALF)
    assert desk.ledger.paid("survey") == Loss(told.epsilon, Fraction(1, 8))


def test_a_stop_gives_back_epsilon_alone(desk_of: DeskOf, ledger: Ledger, source: FailingSource) -> None:
    """In ρ the most stays charged, in the entry that is stored and in the one that is read again."""
    source.fails = True
    with pytest.raises(SourceError):
        desk_of().release(LARGE, within="20%", at_most=HALF)
    (entry,) = ledger.entries()
    assert entry.request.price == Loss(HALF, Fraction(1, 8))
    stored = ledger.store(entry, 1003, stopped=Fraction(1, 10))
    assert stored.request.price == Loss(Fraction(1, 10), Fraction(1, 8))
    (again,) = ledger.entries()
    assert again.request == stored.request


def test_a_rehearsal_stops_where_a_real_one_would(desk_of: DeskOf) -> None:
    """Of made-up records: within the share, or at the most that it may cost."""
    desk = desk_of()
    query = Query(wheres=[LARGE], within="20%", at_most=HALF)
    plan = plan_of(query, desk.source.schema, desk.source.unit, is_replacement=False)
    told = rehearse_query(query, plan, None, size=1000).release
    assert isinstance(told, Release)
    assert told.is_near is (told.epsilon < HALF)
    assert told.scale == 1 / told.epsilon
    assert desk.ledger.entries() == []


def test_a_posterior_follows_from_the_last_answer_alone(desk_of: DeskOf) -> None:
    """The answers that were too small to stop do not change the posterior."""
    told = desk_of().release(LARGE, within="20%", at_most=HALF)
    population = nc.Binomial(5000, 0.2)
    assert nc.posterior(told, population).mean == nc.posterior(told.answer, population, told.mechanism).mean


@pytest.mark.parametrize(
    ("goal", "why"),
    [
        ({"within": "20%"}, "within needs either at_most or a public guess: within='20%' and at_most='0.5'"),
        ({"within": "20%", "at_most": 1, "guess": 5}, "within needs either at_most or a public guess"),
        ({"epsilon": 1, "at_most": 1}, "at_most belongs to within: leave it out"),
        ({"within": "100%", "at_most": 1}, "within must lie between 0 and 1"),
        ({"within": "20%", "at_most": 0}, "at_most must be a decimal of at most 18"),
        ({"within": "20%", "at_most": 1, "confidence": 0.3}, "confidence must be at least 0.5 and less than 1"),
    ],
)
def test_a_goal_that_no_rule_keeps_is_refused(desk_of: DeskOf, goal: dict[str, object], why: str) -> None:
    """Before anything is charged."""
    desk = desk_of()
    with pytest.raises(ValueError, match=why):
        desk.release(LARGE, **goal)  # type: ignore[arg-type]
    assert desk.ledger.entries() == []


@pytest.mark.parametrize("price", [Fraction(1, 1000), Fraction(3, 5), Fraction(2, 5)], ids=["cheap", "dear", "other"])
def test_a_forged_stop_breaks_the_chain(
    desk_of: DeskOf, ledger: Ledger, source: FailingSource, price: Fraction
) -> None:
    """More than was reserved, or another charge than that of the price at which it is said to have stopped."""
    source.fails = True
    with pytest.raises(SourceError):
        desk_of().release(LARGE, within="20%", at_most=HALF)
    (entry,) = ledger.entries()
    stopped = request_at_stop(entry.request, price)
    columns = answer_columns(entry.key, 1003, entry.made, stopped)
    forged = {**columns, "epsilon": "0.001"} if price != Fraction(1, 1000) else {**columns, "epsilon": "0.0005"}
    draft = ledger.transactions.known.draft()
    assert draft.check_next(chained_row(draft.head, forged)) == "charges something else than where its answers stopped"
    plain = chained_row(draft.head, answer_columns(entry.key, 1003, entry.made))
    assert draft.check_next(plain) == "charges something else than where its answers stopped"
    assert "is damaged" in refusal(lambda: ledger.transactions.write(lambda _, state: state.append(forged)))


@pytest.mark.thorough
def test_the_rule_of_a_known_answer_is_for_any_time(desk_of: DeskOf, ledger: Ledger) -> None:
    """Its prices begin with what was paid, and end with the most."""
    desk = desk_of()
    first = desk.release(SMALL, "0.1")
    desk.release(SMALL, within="20%", at_most="0.105")
    (key,) = (entry.key for entry in ledger.entries() if entry.key != first.key)
    entry = ledger.entry(key)
    assert isinstance(entry, Entry)
    assert entry.loss.epsilon == Fraction(105, 1000)
    plan = plan_of(Query(wheres=[SMALL], epsilon=1), desk.source.schema, None, is_replacement=False)
    stopping = stopping_schedule(plan, entry)
    assert stopping is not None
    assert (stopping.prices, stopping.rule.anytime) == ((Fraction(1, 10), Fraction(105, 1000)), True)
    with pytest.raises(LedgerError, match="lower price"):
        desk.release(SMALL, "1", key=first.key)
