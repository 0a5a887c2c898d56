"""Records that change while their version stays: no answer rests on an earlier one, and each is charged in full."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

import noisycount as nc
from noisycount.engines.memory import MemorySource
from noisycount.errors import ConfigError, LedgerError, SourceError
from noisycount.ledger.budget import ApproximateBudget, ConcentratedBudget, Loss
from noisycount.ledger.chain import chained_row, debit_columns
from noisycount.ledger.entries import Entry, Request
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.series import has_exact_version, topped_up
from noisycount.query.schema import Kind
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from noisycount.release.results import Release
from noisycount.release.table_release import TableRelease

SCHEMA = {"town": Kind.TEXT}
WHERE = "town = 'Bern'"
BOTH = [WHERE, "town = 'Chur'"]
KEYS = {"town": ["Bern", "Chur"]}
RICH = Dataset("survey", Fraction(10**6))


class LiveSource(MemorySource):
    """Records of a server: they change, and their version does not."""

    __slots__ = ("fails", "owner_edition")

    def __init__(self, bern: int, edition: str | None = None) -> None:
        super().__init__([], SCHEMA)
        self.version, self.owner_edition, self.fails = "0" * 64, edition, False
        self.become(bern)

    def become(self, bern: int, chur: int = 50) -> None:
        """Change the records."""
        self._records = [{"town": "Bern"}] * bern + [{"town": "Chur"}] * chur

    @property
    def has_exact_version(self) -> bool:
        """True if the owner named an edition."""
        return self.owner_edition is not None

    @property
    def stated_edition(self) -> str | None:
        """Edition of the owner."""
        return self.owner_edition

    def require_unchanged(self) -> None:
        """Fail for a while."""
        if self.fails:
            raise SourceError("no")
        super().require_unchanged()


def release_count(desk: Desk, price: Any) -> Release:  # noqa: ANN401 - a price of any form
    """Ask for a count."""
    return desk.release(WHERE, price)


def release_list(desk: Desk, price: Any) -> TableRelease:  # noqa: ANN401 - as above
    """Ask for a list of two questions."""
    return desk.release_many(BOTH, price)


def release_table(desk: Desk, price: Any) -> TableRelease:  # noqa: ANN401 - as above
    """Ask for a table with its total."""
    return desk.release_table("town", KEYS, epsilon=price, margins="total")


def first_answer(release: Release | TableRelease) -> int:
    """Return the count of Bern."""
    return release.answer if isinstance(release, Release) else int(release.answers[0][0])


def charged_epsilon(release: Release | TableRelease) -> Fraction | None:
    """Return the ε that a call charged."""
    return release.charged if isinstance(release.charged, Fraction) else release.charged.epsilon


ASK = [release_count, release_list, release_table]


@pytest.mark.parametrize("ask", ASK)
def test_a_higher_price_is_charged_in_full(ledger: Ledger, ask: Callable[..., Any]) -> None:
    """The answer rests on no earlier one, and is about the records of now; the earlier price stays spent."""
    source = LiveSource(100)
    desk = Desk(source, ledger, RICH)
    first = ask(desk, 100)
    source.become(1000)
    second = ask(desk, 101)
    assert (first_answer(first), first_answer(second)) == (100, 1000)
    assert (charged_epsilon(second), second.replaces, ledger.spent("survey")) == (101, (), 201)
    assert all(entry.base is None and not entry.replaces for entry in ledger.entries())
    assert ledger.verify().broken is None


@pytest.mark.parametrize("ask", ASK)
def test_a_repeat_is_free(ledger: Ledger, ask: Callable[..., Any]) -> None:
    """At the same price or a lower one the best stored answer is given: it reveals nothing new."""
    source = LiveSource(100)
    desk = Desk(source, ledger, RICH)
    ask(desk, 50)
    source.become(1000)
    best = ask(desk, 100)
    source.become(7)
    for price in (50, 100, 75, "0.1"):
        again = ask(desk, price)
        assert (first_answer(again), charged_epsilon(again), again.key) == (first_answer(best), 0, best.key)
    assert ledger.spent("survey") == 150


@pytest.mark.thorough
def test_the_noise_of_the_second_answer_knows_nothing_of_the_first(ledger: Ledger) -> None:
    """Its error has the distribution of its own price, whatever the records were: 300 questions at once."""
    wheres = [f"town = 'Bern' and town <> '{number}'" for number in range(300)]
    source = LiveSource(40)
    desk = Desk(source, ledger, RICH)
    first = desk.release_many(wheres, 300 * Fraction(1, 5)).answers[0]
    source.become(0)
    second = desk.release_many(wheres, 300 * Fraction(2, 9)).answers[0]  # given Y₁ − x₂ it would be near 40
    noise, edges = stats.dlaplace(2 / 9), [-6, -3, -1, 0, 2, 5]
    seen = np.diff([0, *np.searchsorted(np.sort(second), edges, side="right"), 300])
    assert stats.chisquare(seen, 300 * np.diff([0, *noise.cdf(edges), 1])).pvalue > 1e-9
    assert abs(stats.spearmanr(first, second).statistic) < 0.35


def test_a_gaussian_answer_is_the_newest_draw_alone(ledger: Ledger) -> None:
    """Two draws about different records are not averaged."""
    source = LiveSource(100)
    desk = Desk(source, ledger, Dataset("survey", ConcentratedBudget(Fraction(1000))))
    ask = {"by": "town", "keys": KEYS, "noise": nc.DiscreteGaussian}
    desk.release_table(**ask, rho=50)
    source.become(1000)
    second = desk.release_table(**ask, rho=60)
    assert (second.parts, second.replaces, second.charged) == ((), (), Loss.concentrated(Fraction(60)))
    assert abs(int(second.answers[0][0]) - 1000) < 5
    assert ledger.paid("survey").rho == 110
    assert desk.release_table(**ask, rho=55).key == second.key


def test_hidden_keys_are_found_anew(ledger: Ledger) -> None:
    """They are the keys of the records of now, and δ is charged again."""
    dataset = Dataset("towns", ApproximateBudget(Fraction(1000), Fraction(1, 10**5), Fraction(1, 10**6)))
    source = LiveSource(300)
    desk = Desk(source, ledger, dataset)
    ask = {"by": "town", "delta": "1e-7"}
    assert [row.labels for row in desk.release_table(**ask, epsilon=10).rows] == [("Bern",), ("Chur",)]
    source.become(0, chur=90)
    second = desk.release_table(**ask, epsilon=20)
    assert [row.labels for row in second.rows] == [("Chur",)]
    assert second.charged == Loss.from_epsilon(Fraction(20), Fraction(1, 10**7))
    assert ledger.paid("towns").delta == Fraction(2, 10**7)


def goal_chain(desk: Desk, within: str, at_most: int = 2) -> Release:
    """Ask for a count within a share of itself."""
    return desk.release(WHERE, within=within, at_most=at_most)


@pytest.mark.thorough
@pytest.mark.always
def test_a_goal_starts_afresh(ledger: Ledger) -> None:
    """It rests on no answer that is known, and is charged all of the price at which it stops; a repeat is free."""
    source = LiveSource(100_000)
    desk = Desk(source, ledger, RICH)
    coarse = goal_chain(desk, "20%")
    source.become(2000)
    near = goal_chain(desk, "1%")
    assert abs(near.answer - 2000) <= 200 < coarse.answer
    assert (near.replaces, near.charged) == ((), near.epsilon)
    assert ledger.spent("survey") == coarse.epsilon + near.epsilon
    source.become(3)
    assert replace(goal_chain(desk, "1%"), paid=near.paid, remaining=near.remaining) == near
    assert ledger.verify().broken is None


@pytest.mark.thorough
@pytest.mark.always
def test_the_same_goal_is_free_after_a_dearer_answer(ledger: Ledger) -> None:
    """The answer that reached the goal is given, not the dearer one, which is about other records and missed it."""
    source = LiveSource(1000)
    desk = Desk(source, ledger, RICH)
    near = goal_chain(desk, "10%")
    source.become(0)
    release_count(desk, "0.9")
    assert near.epsilon < Fraction(9, 10)
    again = goal_chain(desk, "10%")
    assert (again.answer, again.charged, again.within) == (near.answer, 0, Fraction(1, 10))


def test_one_goal_counts_once(ledger: Ledger) -> None:
    """A chain of answers uses a single true count, even if the records change at each look."""

    class Moving(LiveSource):
        """Records that are others at every count."""

        def count(self, predicates: Any) -> list[int]:  # noqa: ANN401 - as it takes them
            """Give the true counts, and change."""
            found = super().count(predicates)
            counts.extend(found)
            self.become(found[0] + 50)
            return found

    counts: list[int] = []
    desk = Desk(Moving(40), ledger, RICH)
    goal_chain(desk, "1%", at_most=40)
    assert counts == [40]
    goal_chain(desk, "1%", at_most=41)
    assert counts == [40, 90]


def test_a_goal_that_was_lost_counts_anew(ledger: Ledger) -> None:
    """Nothing of the lost chain was published, so that the resumed one is a chain of its own, at one debit."""
    source = LiveSource(100)
    desk = Desk(source, ledger, RICH)
    broken = replace(desk, slot=None)
    source.fails = False

    def fail(_: object) -> list[int]:
        raise SourceError("no")

    counting, LiveSource.count = LiveSource.count, fail  # type: ignore[method-assign]
    try:
        with pytest.raises(SourceError):
            goal_chain(broken, "1%", at_most=40)
    finally:
        LiveSource.count = counting  # type: ignore[method-assign]
    source.become(5000)
    near = goal_chain(desk, "1%", at_most=40)
    assert abs(near.answer - 5000) <= 600  # wrong once in e^37 times
    (entry,) = ledger.entries()
    assert (entry.answer, ledger.spent("survey")) == (near.answer, near.epsilon)


def stored_without_edition(ledger: Ledger, price: str, answer: int, version: str = "0" * 64) -> Entry:
    """Store an answer as a release did that named no edition in its questions."""
    scale = str(1 / Fraction(price))
    question = {"mechanism": "discrete Laplace", "scale": scale, "unit": None, "where": WHERE, "version": version}
    request = Request("survey", json.dumps(question, sort_keys=True), Fraction(price))
    return ledger.store(ledger.reserve("older", request, Fraction(10))[0], answer)


def test_an_answer_of_an_older_ledger_is_repeated_and_not_topped_up(ledger: Ledger) -> None:
    """Its question is found again without the edition; an edition tops up an answer of the same edition."""
    older = stored_without_edition(ledger, "0.5", 99)
    live = Desk(LiveSource(1000), ledger, RICH)
    assert release_count(live, "0.4").answer == older.answer
    assert (release_count(live, 100).charged, release_count(live, 100).answer) == (100, 1000)
    promised = Desk(LiveSource(1000, "2026-11"), ledger, RICH)
    assert release_count(promised, "0.5").answer == older.answer
    assert release_count(promised, 1).charged == Fraction(1, 2)


def test_a_version_by_size_and_time_is_not_topped_up(ledger: Ledger) -> None:
    """A file can be rewritten with its size and its time."""

    class Former(MemorySource):
        """Records of a file that an older ledger knows by its size and time."""

        @property
        def former_versions(self) -> tuple[str, ...]:
            """Its size and time."""
            return ("77-1700000000000000000",)

    older = stored_without_edition(ledger, "0.5", 99, "77-1700000000000000000")
    desk = Desk(Former([{"town": "Bern"}] * 1000, SCHEMA), ledger, RICH)
    assert release_count(desk, "0.4").answer == older.answer
    anew = release_count(desk, 40)
    assert (anew.charged, anew.replaces, anew.answer) == (40, (), 1000)
    assert release_count(desk, 41).replaces == (anew.key,)  # the version of now is a digest


@pytest.mark.parametrize(
    ("asked", "is_exact"),
    [
        ({"version": "sha256:" + "0" * 64}, True),
        ({"version": "0" * 64}, True),
        ({"version": "0" * 64, "edition": "2026-11"}, True),
        ({"version": "0" * 64, "edition": None}, False),
        ({"version": "sha256:" + "0" * 64, "edition": None}, False),
        ({"version": "77-1700000000000000000"}, False),
        ({"version": "77-1700000000000000000 " + "0" * 64}, False),
        ({"version": "0" * 63}, False),
        ({"version": None}, False),
        ({}, False),
    ],
)
def test_the_question_says_whether_its_version_is_exact(asked: dict[str, Any], is_exact: bool) -> None:  # noqa: FBT001
    """It is a digest, alone or with an edition; not a size and a time, and not without an edition of a server."""
    assert has_exact_version(asked) is is_exact


def test_a_forged_top_up_breaks_the_chain(ledger: Ledger) -> None:
    """No ledger writes one whose question says that its records may have changed."""
    desk = Desk(LiveSource(100), ledger, RICH)
    release_count(desk, 1)
    (coarse,) = ledger.entries()
    request = topped_up(coarse, Fraction(2))
    paid = coarse.spent + request.price
    forged = debit_columns(Entry("forged", request, paid, ledger.clock(), None, coarse.analyst, paid))
    with pytest.raises(LedgerError, match="is damaged"):
        ledger.transactions.write(lambda _, state: state.append(forged))
    state = ledger.transactions.known.draft()
    assert state.check_next(chained_row(state.head, forged)) == "tops up an answer about records that may have changed"


def description(edition: str | None, **more: str) -> str:
    """Return the description of a data set with an edition."""
    return json.dumps({"unit": None, "columns": {}, **({} if edition is None else {"edition": edition}), **more})


def describe_all(ledger: Ledger, *texts: str) -> Iterator[str]:
    """Describe a data set several times, each in place of the one before."""
    former = None
    for text in texts:
        former = ledger.describe("survey", text, former)
        yield former


def test_an_edition_is_never_set_back(ledger: Ledger) -> None:
    """An edition that was followed by another, or by none, is refused; columns may change within one."""
    texts = [description("10"), description("10", table="visits"), description("11"), description(None)]
    assert list(describe_all(ledger, description(None), *texts)) == [description(None), *texts]
    for edition in ("10", "11"):
        with pytest.raises(ConfigError, match=f"edition '{edition}' was followed by another"):
            ledger.describe("survey", description(edition), description(None))
    assert ledger.describe("survey", description("12"), description(None)) == description("12")
    assert ledger.describe("other", description("10")) == description("10")
    assert ledger.verify().broken is None


def test_a_desk_of_an_older_edition_is_refused(ledger: Ledger) -> None:
    """It counts the records of now under the version of then: nothing is charged, also where it was asked before."""
    list(describe_all(ledger, description("10")))
    stale = Desk(LiveSource(100, "10"), ledger, RICH)
    release_count(stale, 1)
    assert release_count(stale, 2).charged == 1
    ledger.describe("survey", description("11"), description("10"))
    for price in (1, 3):
        with pytest.raises(ConfigError, match="edition '10' was followed by another"):
            release_count(stale, price)
    assert (ledger.spent("survey"), len(ledger.entries())) == (2, 2)


def arrow_table(ages: Any) -> pa.Table:  # noqa: ANN401 - an array of NumPy
    """Return a table of Arrow that reads the memory of an array."""
    return pa.table({"age": pa.array(ages)})


FRAMES = {
    "pandas": lambda ages: pd.DataFrame({"age": ages}, copy=False),
    "arrow": arrow_table,
    "polars": lambda ages: pl.from_arrow(arrow_table(ages)),
}


@pytest.mark.parametrize("frame_of", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("ask", ["count", "cells", "keys"])
def test_a_frame_that_is_changed_in_place_is_refused(tmp_path: Any, frame_of: Any, ask: str) -> None:  # noqa: ANN401
    """Its memory was written to behind its library's back: no answer is given about other records than those."""
    ages = np.arange(1000) // 500 * 500
    with nc.open_desk(
        frame_of(ages), unit="row", budget={"epsilon": "99", "delta": "1e-3"}, ledger=tmp_path / "l.db"
    ) as desk:

        def released(epsilon: int) -> Any:  # noqa: ANN401 - a count or a table
            if ask == "count":
                return desk.release("age >= 500", epsilon)
            keys = {} if ask == "cells" else {"delta": "1e-6"}
            return desk.release_table("age:0,500" if ask == "cells" else "age", epsilon=epsilon, **keys)

        released(10)
        ages[:] = 7
        with pytest.raises(SourceError, match="could not be counted"):
            released(20)
        with pytest.raises(SourceError, match="closed"):
            released(30)
        assert [entry.answer is None for entry in desk.ledger.entries()] == [False, True]


def test_a_frame_that_its_library_changes_is_counted_as_it_was(tmp_path: Any) -> None:  # noqa: ANN401 - a path
    """Pandas and Polars write into a copy then, so that a higher price is a top-up."""
    for number, frame in enumerate((pd.DataFrame({"age": range(100)}), pl.DataFrame({"age": range(100)}))):
        with nc.open_desk(frame, unit="row", budget="99", ledger=tmp_path / f"{number}.db") as desk:
            desk.release("age >= 50", 10)
            if isinstance(frame, pd.DataFrame):
                frame.loc[:, "age"] = 0
            else:
                frame[list(range(100)), "age"] = 0
            finer = desk.release("age >= 50", 40)
            assert (finer.answer, finer.charged) == (50, 30)
