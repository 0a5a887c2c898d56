"""Top-ups: the difference in price is charged, and all answers together are worth the most accurate one."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import noisycount as nc
from noisycount.engines.memory import MemorySource
from noisycount.errors import BudgetError, LedgerError, PurposeError, ReuseError
from noisycount.ledger.budget import ApproximateBudget, ConcentratedBudget, Loss
from noisycount.ledger.chain import answer_columns, chained_row, debit_columns
from noisycount.ledger.entries import Analyst, Entry, Request
from noisycount.ledger.ledger import Ledger, StaleBaseError
from noisycount.ledger.series import _LAPLACE as LAPLACE
from noisycount.ledger.series import difference, topped_up
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from tests.helpers.towns import RECORDS, SCHEMA, DeskOf, desks_of
from tests.model.test_gradual import equal_probability

WHERE = "town = 'Bern'"
SURVEY, RICH = Dataset("survey", Fraction(10)), Dataset("survey", Fraction(10**6))


@pytest.fixture
def desk_of(ledger: Ledger) -> DeskOf:
    """Return a function that opens desks of the records, for any analyst."""
    return desks_of(ledger, SURVEY)


def test_the_difference_is_charged(desk_of: DeskOf) -> None:
    """A higher price costs what it is higher by; a lower one, or one between two, gives the best answer for nothing."""
    desk = desk_of()
    first = desk.release(WHERE, "0.1")
    finer = desk.release(WHERE, "0.4")
    assert (first.charged, finer.charged, finer.epsilon) == (Fraction(1, 10), Fraction(3, 10), Fraction(2, 5))
    assert (first.replaces, finer.replaces) == ((), (first.key,))
    assert desk.remaining == finer.remaining == Fraction(96, 10)
    for price in ("0.1", "0.05", "0.2", "0.4"):
        again = desk.release(WHERE, price)
        assert replace(again, paid=finer.paid) == finer
        assert again.repeated
    assert desk.release("town in ('Bern')", "1/3").key == finer.key  # the same question in other words
    assert desk.ledger.verify().broken is None


def test_the_noise_that_can_be_made_finer_has_its_name() -> None:
    """A ledger knows it by its name, as it loads no law of noise."""
    assert nc.DiscreteLaplace.name == LAPLACE


def test_prices_of_no_short_form_have_a_difference(desk_of: DeskOf) -> None:
    """1/997 and 1/991 are prices, and what lies between them is charged to the last digit."""
    desk = desk_of()
    desk.release(WHERE, "1/997")
    finer = desk.release(WHERE, "1/991")
    assert finer.charged == Fraction(1, 991) - Fraction(1, 997)
    assert 0 <= 10 - Fraction(1, 991) - desk.remaining < Fraction(1, 10**9)


def test_one_question_and_a_list_of_it_top_each_other_up(desk_of: DeskOf) -> None:
    """They are one question, however it is asked."""
    desk = desk_of()
    alone = desk.release(WHERE, "0.1")
    listed = desk.release_many([WHERE], "0.3")
    assert (listed.charged, listed.replaces) == (Loss(Fraction(1, 5), Fraction(9, 200)), (alone.key,))
    again = desk.release(WHERE, "0.2")
    assert (again.answer, again.epsilon, again.charged) == (listed.answers[0][0], Fraction(3, 10), 0)
    assert again.replaces == (alone.key,)


def test_lists_and_tables_are_topped_up_cell_by_cell(desk_of: DeskOf) -> None:
    """In whatever order the cells are asked; a table of other margins or keys is another question."""
    desk = desk_of(RICH)
    keys = {"town": ["Bern", "Chur"]}
    coarse = desk.release_table("town", keys, epsilon="0.1", margins="total")
    fine = desk.release_table("town", {"town": ["Chur", "Bern"]}, epsilon=1000, margins="total")
    assert (fine.charged.epsilon, fine.price) == (Fraction(9999, 10), Loss.from_epsilon(Fraction(1000)))
    assert fine.replaces == (coarse.key,)
    assert [level.tolist() for level in fine.answers] == [[200, 300], [500]]
    assert desk.release_table("town", keys, epsilon="0.2", margins="total").key == fine.key
    assert desk.release_table("town", keys, epsilon="0.2").charged.epsilon == Fraction(1, 5)
    wheres = [WHERE, "age < 50"]
    assert desk.release_many(wheres, "0.1").charged.epsilon == Fraction(1, 10)
    assert desk.release_many(wheres[::-1], "0.15").charged.epsilon == Fraction(1, 20)


def test_hidden_keys_stay_as_they_were_found(ledger: Ledger) -> None:
    """The finer counts are of the keys that are shown already, whatever they are; no other key appears."""
    dataset = Dataset("towns", ApproximateBudget(Fraction(1000), Fraction(1, 10**5), Fraction(1, 10**6)))
    desk = Desk(MemorySource(RECORDS, SCHEMA), ledger, dataset)
    first = desk.release_table("town", epsilon="0.5", delta="1e-7", margins="total")
    finer = desk.release_table("town", epsilon=100, delta="1e-7", margins="total")
    assert (finer.charged, finer.price.delta) == (difference(Fraction(1, 2), Fraction(100)), Fraction(1, 10**7))
    assert finer.plan.threshold == first.plan.threshold
    assert finer.plan.surely_shown() is None is not first.plan.surely_shown()  # the first noise decided which
    assert [(row.labels, row.answer) for row in finer.rows] == [(("Bern",), 300), (("Chur",), 200), ((None,), 502)]
    assert desk.release_table("town", epsilon=1, delta="2e-7").charged.delta == Fraction(2, 10**7)


def test_an_analyst_is_charged_the_difference_too(desk_of: DeskOf) -> None:
    """Of the own budget as of the data set's; an answer that both have is topped up, and no other is seen for free."""
    ana, ben = (desk_of(analyst=Analyst(name, Fraction(1, 2))) for name in ("ana", "ben"))
    ana.release(WHERE, "0.4")
    assert ana.release(WHERE, "0.5").remaining == 0
    assert ben.release(WHERE, "0.3").charged == 0
    assert ben.release(WHERE, "0.75").charged == Fraction(1, 4)
    with pytest.raises(
        BudgetError, match=r"epsilon 0\.5 exceeds the 0 that is left of the budget 0\.5 of analyst 'ana'"
    ):
        ana.release(WHERE, "1")
    assert ana.release(WHERE, "0.1").epsilon == Fraction(1, 2)  # her own answer, not the more accurate one of Ben


@pytest.mark.parametrize(
    "budget", [ConcentratedBudget(Fraction(1, 10)), ApproximateBudget(Fraction(2), Fraction(1, 10**9))]
)
def test_a_sum_of_rho_holds_what_is_proved(desk_of: DeskOf, budget: ConcentratedBudget | ApproximateBudget) -> None:
    """Each answer adds ε²/2 to a sum of ρ, as an answer of its own does, however little its price is higher."""
    desk = desk_of(Dataset("survey", budget))
    for number in range(1, 4):
        desk.release(WHERE, Fraction(number, 10))
        assert desk.ledger.paid("survey") == Loss(
            Fraction(number, 10), sum(Fraction(n**2, 200) for n in range(1, number + 1))
        )


def test_a_key_names_one_answer(desk_of: DeskOf) -> None:
    """Under its key an answer stays what it is, after it was topped up too; a key pays for no finer one."""
    desk = desk_of()
    first = desk.release(WHERE, "0.1", key="first")
    with pytest.raises(ReuseError, match=r"was used for this question at a lower price; choose another key"):
        desk.release(WHERE, "0.2", key="first")
    desk.release(WHERE, "0.2", key="second")
    assert desk.release(WHERE, "0.1", key="first") == replace(first, paid=Loss(), remaining=desk.remaining)
    with pytest.raises(ReuseError, match="another question"):
        desk.release("age < 50", "0.1", key="first")


def test_coarser_answers_add_nothing(desk_of: DeskOf) -> None:
    """An answer together with the answers that it replaces gives its own posterior."""
    desk = desk_of()
    answers = [desk.release(WHERE, price) for price in ("0.1", "0.2", "0.9")]
    population = nc.Binomial(502, 0.6)
    alone, together = nc.posterior(answers[-1], population), nc.posterior(answers, population)
    assert together.observed == alone.observed
    assert nc.posterior([answers[0], answers[2]], population).observed == alone.observed
    assert nc.posterior([answers[1], answers[1]], population).observed == nc.posterior(answers[1], population).observed
    other = desk.release("age < 50", "0.1")
    assert len(nc.posterior([answers[0], other], population).observed) == 2


@pytest.mark.thorough
def test_the_pair_has_the_law_of_the_theorem(desk_of: DeskOf) -> None:
    """The finer error is of its own scale, and Y₁ − Y₂ is free of it, and 0 as often as it must be."""
    wheres = [f"age < 50 and town <> '{number}'" for number in range(300)]
    desk, coarse, fine = desk_of(RICH), 5, 2  # scales
    first = desk.release_many(wheres, Fraction(300, coarse)).answers[0]
    second = desk.release_many(wheres, Fraction(300, fine)).answers[0]
    errors, added = second - np.int64(252), first - second
    noise, more = stats.dlaplace(1 / fine), stats.dlaplace(1 / coarse)
    edges = [-5, -3, -2, -1, 0, 1, 2, 3, 5]
    seen = np.diff(np.concatenate([[0], np.searchsorted(np.sort(errors), edges, side="right"), [300]]))
    below = np.concatenate([[0], noise.cdf(edges), [1]])
    assert stats.chisquare(seen, 300 * np.diff(below)).pvalue > 1e-9
    equal = equal_probability(Fraction(coarse), Fraction(fine))
    assert stats.binomtest(int((added == 0).sum()), 300, equal + (1 - equal) * more.pmf(0)).pvalue > 1e-9
    assert abs(stats.spearmanr(errors, added).statistic) < 0.2


def test_what_was_debited_and_not_answered_is_topped_up(desk_of: DeskOf, ledger: Ledger) -> None:
    """The finer answer stands for both then: the coarser one is never drawn, as the two would be independent."""
    desk = desk_of()
    unanswered, _ = ledger.reserve("lost", *one_request(desk, "0.1"))
    finer = desk.release(WHERE, "0.3")
    assert (finer.charged, finer.replaces) == (Fraction(1, 5), ("lost",))
    again = desk.release(WHERE, "0.1", key="lost")
    assert (again.answer, again.key, again.epsilon) == (finer.answer, finer.key, Fraction(3, 10))
    assert ledger.store(unanswered, 7).key == finer.key
    assert ledger.verify().broken is None
    assert sum(entry.answer is not None for entry in ledger.entries()) == 1


def test_an_answer_that_rests_on_what_is_no_longer_the_finest_is_not_stored(desk_of: DeskOf, ledger: Ledger) -> None:
    """While the finer one was drawn the coarser one was told to somebody: it is drawn anew, given that."""
    request, budget = one_request(desk_of(), "0.1")
    coarse, _ = ledger.reserve("coarse", request, budget)
    fine, _ = ledger.reserve("fine", one_request(desk_of(), "0.3")[0], budget)
    ledger.store(coarse, 310)
    with pytest.raises(StaleBaseError):
        ledger.store(fine, 299)
    now = ledger.entry("fine")
    assert now is not None
    assert now.base is not None
    assert (now.base.key, now.base.answer, now.replaces) == ("coarse", 310, ("coarse",))
    assert ledger.store(now, 299).answer == 299


def test_a_desk_draws_anew_where_the_coarser_answer_came_meanwhile(ledger: Ledger) -> None:
    """The count of the first try is lost with its noise; who asks sees one answer, that of the second."""

    class Meanwhile(MemorySource):
        """Records during whose first count somebody else stores the coarser answer."""

        def count(self, predicates: object) -> list[int]:
            """Give the true counts."""
            counted.append(1)
            if len(counted) == 1:
                ledger.store(coarse, 310)
            return super().count(predicates)  # type: ignore[arg-type]

    counted: list[int] = []
    desk = Desk(Meanwhile(RECORDS, SCHEMA), ledger, RICH)
    coarse, _ = ledger.reserve("coarse", *one_request(desk, "0.1"))
    finer = desk.release(WHERE, "1000")
    assert (finer.answer, finer.replaces, len(counted)) == (300, ("coarse",), 2)


def test_many_threads_top_up_the_last_of_a_budget(desk_of: DeskOf) -> None:
    """Each asks for a little more than the one before; together they are charged the highest price, once."""
    dataset = Dataset("survey", Fraction(1, 2))
    prices = [Fraction(number, 100) for number in range(1, 65)]

    def charged(price: Fraction) -> Fraction:
        try:
            return desk_of(dataset).release(WHERE, price).charged
        except BudgetError:
            return Fraction(0)

    with ThreadPoolExecutor(16) as pool:
        total = sum(pool.map(charged, reversed(prices)))
    ledger = desk_of().ledger
    assert (
        total == ledger.spent("survey") == max(entry.loss.epsilon or 0 for entry in ledger.entries()) <= Fraction(1, 2)
    )
    assert ledger.verify().broken is None


def one_request(desk: Desk, price: str) -> tuple[Request, Fraction]:
    """Give what asks for the count at a price, and the budget."""
    question = {"mechanism": "discrete Laplace", "scale": str(1 / Fraction(price)), "unit": None, "where": WHERE}
    text = json.dumps({**question, "version": desk.source.version}, sort_keys=True)
    return Request("survey", text, Fraction(price)), Fraction(10)


GOAL = {"within": "1/5", "confidence": "19/20", "at_most": "1"}
Forged = Callable[[Entry, Entry], dict[str, str | None]]


@pytest.mark.parametrize(
    ("forged", "why"),
    [
        (lambda coarse, _: debit(topped_up(coarse, Fraction(1)), 1), "tops up what asks something else, or what was"),
        (
            lambda _, fine: debit(replace(topped_up(fine, Fraction(1)), epsilon=Fraction(1, 2)), 1),
            "charges something else",
        ),
        (lambda _, fine: debit(replace(topped_up(fine, Fraction(1)), rho=Fraction(1, 9)), 1), "charges something else"),
        (
            lambda _, fine: debit(replace(topped_up(fine, Fraction(1)), dataset="other"), 0),
            "tops up what asks something",
        ),
        (
            lambda coarse, _: debit(replace(coarse.request, question="x", rho=Fraction(1)), 1),
            "is charged a difference, and",
        ),
        (
            lambda coarse, _: debit(replace(coarse.request, question=dearer(coarse.request)), 1),
            "is charged something else than the price that it states",
        ),
        (
            lambda _, fine: debit(topped_up(fine, Fraction(1), GOAL), 1),
            "rests on an answer that is not known, where one",
        ),
        (lambda coarse, _: answer_columns(coarse.key, 5, coarse.made), "is an answer to what was answered at a higher"),
    ],
    ids=["twice", "price", "rho", "dataset", "nothing", "stated", "reserve", "late"],
)
def test_a_forged_row_breaks_the_chain(desk_of: DeskOf, ledger: Ledger, forged: Forged, why: str) -> None:
    """A row that no ledger writes is detected, although its hash is right."""
    ledger.reserve("coarse", *one_request(desk_of(), "0.1"))
    debited, _ = ledger.reserve("fine", *one_request(desk_of(), "0.3"))
    if not why.startswith("rests"):
        ledger.store(debited, 3)
    coarse, fine = (ledger.entry(key) for key in ("coarse", "fine"))
    assert coarse is not None
    assert fine is not None
    with pytest.raises(LedgerError, match="is damaged"):
        ledger.transactions.write(lambda _, state: state.append(forged(coarse, fine)))
    state = ledger.transactions.known.draft()
    assert str(state.check_next(chained_row(state.head, forged(coarse, fine)))).startswith(why)


def dearer(request: Request) -> str:
    """Give the text of another question at a price of 1/2."""
    return json.dumps({**request.asked, "where": "other", "scale": "2", "price": {"epsilon": "0.5"}}, sort_keys=True)


def debit(request: Request, paid: int) -> dict[str, str | None]:
    """Give the row of a debit whose totals add up to what two debits before it have cost."""
    before = (Loss.from_epsilon(Fraction(1, 10)) + difference(Fraction(1, 10), Fraction(3, 10))) if paid else Loss()
    own = Loss.from_epsilon(Fraction(1, 10)) + difference(Fraction(1, 10), Fraction(3, 10))
    entry = Entry("forged", request, before + request.price, datetime.now(UTC), None, "analyst", own + request.price)
    return debit_columns(entry)


def test_who_asked_before_needs_no_purpose_whoever_topped_it_up(desk_of: DeskOf) -> None:
    """Else the refusal would tell that somebody else asked for more."""
    dataset = Dataset("survey", Fraction(10), needs_purpose=True)
    ana, ben = (desk_of(dataset, Analyst(name)) for name in ("ana", "ben"))
    ana.release(WHERE, "0.3", purpose="report")
    ben.release(WHERE, "0.4", purpose="care")
    with pytest.raises(PurposeError):
        ana.release(WHERE, "0.35")
    assert ana.release(WHERE, "0.2").charged == 0
