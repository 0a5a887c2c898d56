"""Gaussian noise at rising prices: the difference is charged, drawn by itself, and told combined with all before."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from math import sqrt
from types import ModuleType

import numpy as np
import pytest
from scipy import stats

import noisycount as nc
from noisycount.engines.memory import MemorySource
from noisycount.errors import BudgetError, LedgerError, ReuseError, SourceError
from noisycount.ledger import series
from noisycount.ledger.budget import ApproximateBudget, ConcentratedBudget, Loss
from noisycount.ledger.chain import chained_row, debit_columns
from noisycount.ledger.entries import Analyst, Entry, Request, TableAnswer
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.series import _GAUSSIAN as GAUSSIAN
from noisycount.ledger.series import _independent_draw as drawn_beside
from noisycount.ledger.series import parts_of, scales_in, topped_up
from noisycount.model.concentrated import root_above
from noisycount.model.noises.combined_gaussian import CombinedGaussian
from noisycount.release import publishing, query_plan
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from noisycount.release.noise_plan import LevelPlan
from noisycount.release.table_release import TableRelease
from noisycount.validation import exact_text
from tests.helpers.towns import RECORDS, SCHEMA, DeskOf, desks_of

KEYS = {"town": ["Bern", "Chur"]}
SURVEY = Dataset("survey", ConcentratedBudget(Fraction(10)))


@pytest.fixture
def desk_of(ledger: Ledger) -> DeskOf:
    """Return a function that opens desks of the records, for any analyst."""
    return desks_of(ledger, SURVEY)


def table(desk: Desk, rho: str | Fraction, **more: str) -> TableRelease:
    """Give the table of towns with its total under Gaussian noise."""
    return desk.release_table("town", KEYS, rho=rho, noise=nc.DiscreteGaussian, margins="total", **more)


def test_the_noise_has_its_name() -> None:
    """A ledger knows it by its name, as it loads no law of noise."""
    assert nc.DiscreteGaussian.name == GAUSSIAN


def test_a_chain_is_charged_its_highest_price(desk_of: DeskOf) -> None:
    """Of three prices the last; each answer says what it rests on, and a lower price gives the best for nothing."""
    desk = desk_of()
    chain = [table(desk, price) for price in ("0.1", "0.2", "0.4")]
    assert [each.charged for each in chain] == [Loss.concentrated(Fraction(n, 10)) for n in (1, 1, 2)]
    assert [each.price.rho for each in chain] == [Fraction(n, 10) for n in (1, 2, 4)]
    assert desk.ledger.paid("survey") == Loss.concentrated(Fraction(4, 10))
    assert [each.replaces for each in chain] == [(), (chain[0].key,), (chain[1].key, chain[0].key)]
    assert [len(each.parts) for each in chain] == [0, 2, 3]
    assert [part[1].tolist() for part in chain[2].parts[1:]] == [part[1].tolist() for part in chain[1].parts]
    assert chain[1].parts[1][0].tolist() == chain[0].answers[0].tolist()
    for price in ("0.3", "0.1", "0.4"):
        again = table(desk, price)
        assert again.repeated
        assert (again.key, again.rows, again.price) == (chain[2].key, chain[2].rows, chain[2].price)
    assert desk.ledger.verify().broken is None


def test_a_draw_has_the_noise_of_what_it_was_charged(desk_of: DeskOf) -> None:
    """Never that of the whole price, which would be charged too little; together they are as good as a fresh answer."""
    desk = desk_of()
    for price in ("0.1", "0.15", "0.45"):
        told = table(desk, price)
    fresh = table(desk_of(Dataset("other", SURVEY.budget)), "0.45")
    for combined, alone in zip(told.plan.levels, fresh.plan.levels, strict=True):
        noise = combined.mechanism
        assert isinstance(noise, CombinedGaussian)
        for loss, charged in zip(losses_of(combined), ("0.3", "0.05", "0.1"), strict=True):
            assert Fraction(charged) * (1 - Fraction(1, 10**5)) < loss <= Fraction(charged)
        assert noise.exact_scale == pytest.approx(alone.mechanism.exact_scale, rel=1e-5)
        assert alone.error() <= combined.error() <= alone.error() + 1
    assert float(told.plan.replacement_loss.rho) == pytest.approx(float(fresh.plan.replacement_loss.rho), rel=1e-5)
    assert told.odds == fresh.odds


def losses_of(level: LevelPlan) -> list[Fraction]:
    """Give the ρ that each draw of a level loses, over its share of the price: Δ/(2·s·σ²)."""
    noise = level.mechanism
    parts = noise.parts if isinstance(noise, CombinedGaussian) else (noise.exact_scale,)
    return [Fraction(level.sensitivity) / (2 * level.share * part**2) for part in parts]


def counted_twice(entry: Entry) -> list[Entry]:
    """Give the draws of an answer, and the first of them once more."""
    return [*parts_of(entry), parts_of(entry)[-1]]


def drawn_in_full(entry: Entry, asked: dict[str, object], rho: Fraction) -> Request:
    """Give the request of a draw at the whole price, charged the difference."""
    request = drawn_beside(entry, asked, rho)
    scales = [root_above(scale**2 * entry.loss.rho / rho) for scale in scales_in(asked)]
    question = {**json.loads(request.question), "scales": list(map(exact_text, scales))}
    return replace(request, question=json.dumps(question, sort_keys=True))


@pytest.mark.parametrize(
    ("modules", "name", "mutant"),
    [((publishing, query_plan), "parts_of", counted_twice), ((series,), "_independent_draw", drawn_in_full)],
    ids=["twice", "in full"],
)
def test_a_combination_of_more_than_was_paid_for_is_found(
    desk_of: DeskOf, monkeypatch: pytest.MonkeyPatch, modules: tuple[ModuleType, ...], name: str, mutant: object
) -> None:
    """Its draws lose together what it says that they cost; a base that counts twice, or a draw in full, lose more."""

    def is_paid_for(dataset: str) -> bool:
        desk = desk_of(Dataset(dataset, SURVEY.budget))
        told = [table(desk, price) for price in ("0.1", "0.15")][-1]
        return all(sum(losses_of(level)) <= told.price.rho for level in told.plan.levels)

    assert is_paid_for("right")
    for module in modules:
        monkeypatch.setattr(module, name, mutant)
    with suppress(LedgerError):  # that a noise is of another design may be found before
        assert not is_paid_for("wrong")


@pytest.mark.thorough
def test_errors_have_the_law_that_is_told(desk_of: DeskOf) -> None:
    """The newest draws are those of their own scale, and the means spread as the combination says."""
    wheres = [f"age < 50 and town <> '{number}'" for number in range(300)]
    desk = desk_of(Dataset("survey", ConcentratedBudget(Fraction(10**6))))
    for price in (1, 3, 4):
        told = desk.release_many(wheres, rho=price, noise=nc.DiscreteGaussian)
    noise = told.plan.levels[0].mechanism
    assert isinstance(noise, CombinedGaussian)
    assert [float(scale) for scale in noise.parts] == pytest.approx([sqrt(150), sqrt(75), sqrt(150)], abs=1e-4)
    for draws, scale in zip(
        [*(part[0] for part in told.parts), told.means[0]], [*noise.parts, noise.scale], strict=True
    ):
        spread = ((draws - 252) ** 2).sum() / float(scale) ** 2
        assert 1e-9 < stats.chi2.cdf(spread, 300) < 1 - 1e-9
    assert abs(stats.spearmanr(told.parts[0][0], told.parts[1][0]).statistic) < 0.35
    assert np.abs(told.answers[0] - told.means[0]).max() <= 0.5


def test_what_follows_from_all_is_what_follows_from_the_combination(desk_of: DeskOf) -> None:
    """No draw is counted twice, and none left out: the posterior is that of all draws side by side."""
    desk = desk_of()
    wheres = ["town = 'Bern'"]
    first, second, last = (
        desk.release_many(wheres, rho=price, noise=nc.DiscreteGaussian) for price in (".01", ".02", ".05")
    )
    prior = nc.Binomial(502, 0.6)
    noise = last.plan.levels[0].mechanism
    assert isinstance(noise, CombinedGaussian)
    draws = [int(part[0][0]) for part in last.parts]
    assert draws[2] == first.answers[0][0]
    side_by_side = nc.posterior(draws, prior, [nc.DiscreteGaussian(scale) for scale in noise.parts])
    together = nc.posterior(float(last.means[0][0]), prior, noise)
    counts = np.arange(503)
    assert together.pmf(counts) == pytest.approx(side_by_side.pmf(counts), rel=1e-9, abs=1e-300)
    of_table = nc.table_posterior(last, total=prior)
    assert of_table.mean[0] == pytest.approx(side_by_side.mean, rel=1e-7)
    of_all = nc.table_posterior([first, second, last, first], total=prior)
    assert (of_all.mean[0], of_all.low[0], of_all.high[0]) == (of_table.mean[0], of_table.low[0], of_table.high[0])
    with pytest.raises(ValueError, match="answers must be one table, or a table with those that it tops up, got 2"):
        nc.table_posterior([last, table(desk, "0.1")])


def test_estimates_from_all_levels_use_the_means(desk_of: DeskOf) -> None:
    """They add up, and rest on what was drawn, not on what was rounded."""
    desk = desk_of()
    table(desk, "0.1")
    told = table(desk, "0.3")
    assert told.combined is not None
    cells, total = told.combined
    assert cells.sum() == pytest.approx(total.sum())
    weights = [1 / level.mechanism.variance for level in told.plan.levels]
    off = told.means[1][0] - told.means[0].sum()
    assert total[0] == pytest.approx(told.means[1][0] - off * (1 / weights[1]) / (1 / weights[1] + 2 / weights[0]))


@pytest.mark.parametrize(
    "prices", [[{"rho": "0.1"}, {"rho": "1"}], [{"epsilon": 1, "delta": "1e-6"}, {"epsilon": 5, "delta": "1e-6"}]]
)
def test_hidden_keys_stay_as_they_were_found(ledger: Ledger, prices: list[dict[str, str]]) -> None:
    """The second draw is of the keys that are shown, and δ is charged once; another δ is another question."""
    budget = ApproximateBudget(Fraction(100), Fraction(1, 10**3), Fraction(1, 10**5))
    desk = Desk(MemorySource(RECORDS, SCHEMA), ledger, Dataset("towns", budget))

    def asked(delta: str = "1e-6", **price: str) -> TableRelease:
        return desk.release_table("town", noise=nc.DiscreteGaussian, margins="total", **{"delta": delta, **price})

    first, second = (asked(**price) for price in prices)
    assert second.charged == Loss.concentrated(second.price.rho - first.price.rho)
    assert second.price.delta == first.price.delta > 0
    assert second.plan.threshold == first.plan.threshold
    assert second.plan.surely_shown() == first.plan.surely_shown()
    assert [row.labels for row in second.rows] == [row.labels for row in first.rows]
    assert {row.labels for row in first.rows} == {("Bern",), ("Chur",), (None,)}
    assert asked(**{**prices[1], "delta": "2e-6"}).charged.delta > 0


def test_a_delta_that_only_tells_rho_is_no_other_question(desk_of: DeskOf) -> None:
    """ε and δ become ρ: the same table at another pair, or in ρ, is topped up."""
    desk = desk_of()
    first = desk.release_many(["age < 50"], "0.5", delta="1e-6", noise=nc.DiscreteGaussian)
    second = desk.release_many(["age < 50"], "0.5", delta="1e-4", noise=nc.DiscreteGaussian)
    third = desk.release_many(["age < 50"], rho="0.1", noise=nc.DiscreteGaussian)
    assert 0 < first.price.rho < second.price.rho < third.price.rho == desk.ledger.paid("survey").rho
    assert third.replaces == (second.key, first.key)


def test_an_analyst_is_charged_the_difference_too(desk_of: DeskOf) -> None:
    """Of the own budget as of the data set's; somebody else's answer is topped up like one's own."""
    own = ConcentratedBudget(Fraction(1, 2))
    ana, ben = (desk_of(analyst=Analyst(name, own)) for name in ("ana", "ben"))
    table(ana, "0.4")
    assert table(ana, "0.5").charged.rho == Fraction(1, 10)
    assert table(ben, "0.3").repeated
    assert table(ben, "0.75").charged.rho == Fraction(1, 4)
    with pytest.raises(BudgetError, match="exceeds what is left of the budget"):
        table(ana, "1")


def test_laplace_and_gaussian_noise_do_not_mix(desk_of: DeskOf) -> None:
    """A table under the one noise tops up none under the other."""
    desk = desk_of()
    table(desk, "0.1")
    assert desk.release_table("town", KEYS, epsilon=1, margins="total").replaces == ()
    assert table(desk, "0.2").charged.rho == Fraction(1, 10)


def test_a_key_names_one_answer(desk_of: DeskOf) -> None:
    """Under its key an answer stays what it is, after it was topped up too."""
    desk = desk_of()
    first = table(desk, "0.1", key="first")
    with pytest.raises(ReuseError, match=r"was used for this question at a lower price; choose another key"):
        table(desk, "0.2", key="first")
    table(desk, "0.2", key="second")
    again = table(desk, "0.1", key="first")
    assert (again.rows, again.price, again.parts) == (first.rows, first.price, ())


class Broken(MemorySource):
    """Records that can be counted once more when they are mended."""

    is_broken = True

    def count_cells(self, question: object) -> object:
        """Give no counts."""
        if self.is_broken:
            raise OSError
        return super().count_cells(question)  # type: ignore[arg-type]


@pytest.mark.parametrize("lost", [0, 1, 2], ids=["first", "second", "third"])
def test_a_debit_without_an_answer_is_answered_before_it_is_topped_up(ledger: Ledger, lost: int) -> None:
    """After a crash there is one answer a debit, whoever draws it, and each is in the combination once."""
    source = Broken(RECORDS, SCHEMA)
    desk = Desk(source, ledger, SURVEY)
    prices = ("0.1", "0.2", "0.4", "0.8")
    for number, price in enumerate(prices):
        source.is_broken = number == lost
        if source.is_broken:
            with pytest.raises(SourceError, match="the debit stays"):
                table(desk, price, key="lost")
        else:
            table(desk, price, key=price)
    entries = ledger.entries()
    assert [entry.answer is not None for entry in entries] == [True] * 4
    assert ledger.paid("survey") == Loss.concentrated(Fraction(8, 10))
    told = table(desk, "0.8")
    draws = [entry.answer.levels[0].tolist() for entry in reversed(entries)]  # type: ignore[union-attr]
    assert [sorted(part[0].tolist()) for part in told.parts] == list(map(sorted, draws))
    assert ledger.store(replace(entries[lost], answer=None), entries[3].answer or 0).answer == entries[lost].answer
    assert ledger.verify().broken is None


def test_debits_of_an_older_ledger_are_topped_up(desk_of: DeskOf, ledger: Ledger) -> None:
    """There two prices of one table are answers of their own: the finest is topped up, the other left out."""
    desk = desk_of()
    plans = {}
    for price in ("0.1", "0.2"):
        told = table(desk_of(Dataset(f"for {price}", SURVEY.budget)), price)
        entry = ledger.entry(told.key)
        assert entry is not None
        plans[price] = Request("survey", entry.request.question, None, Fraction(price))
    for price, request in plans.items():
        columns = debit_columns(entry_of(ledger, f"old {price}", request))
        ledger.transactions.write(lambda _, state, columns=columns: state.append(columns))
        debited = ledger.entry(f"old {price}")
        assert debited is not None
        ledger.store(debited, TableAnswer.from_levels([[200, 300], [500]]))
    told = table(desk, "0.5")
    assert (told.charged.rho, told.replaces, len(told.parts)) == (Fraction(3, 10), ("old 0.2",), 2)
    assert ledger.verify().broken is None


def entry_of(ledger: Ledger, key: str, request: Request) -> Entry:
    """Give the debit of a request, charged in full."""
    spent, own = (paid + request.price for paid in (ledger.paid("survey"), ledger.paid_by("analyst")))
    return Entry(key, request, spent, datetime.now(UTC), None, "analyst", own)


Forged = Callable[[Entry], Request]


@pytest.mark.parametrize(
    ("forged", "why"),
    [
        (lambda base: replace(topped_up(base, Fraction(1)), rho=Fraction(900_001, 10**6)), "charges something else"),
        (lambda base: replace(topped_up(base, Fraction(1)), rho=Fraction(1)), "tops up what asks something else"),
        (lambda base: other_noise(topped_up(base, Fraction(1))), "tops up what asks something else"),
        (lambda base: topped_up(base, Fraction(1)), "rests on an answer that is not known, and"),
    ],
    ids=["price", "whole", "noise", "unknown"],
)
def test_a_forged_row_breaks_the_chain(desk_of: DeskOf, ledger: Ledger, forged: Forged, why: str) -> None:
    """A row that no ledger writes is detected, although its hash is right."""
    told = table(desk_of(), "0.1")
    base = ledger.entry(told.key)
    assert base is not None
    if why.startswith("rests"):
        base, _ = ledger.reserve("open", replace(base.request, dataset="other"), SURVEY.budget)
    request = forged(base)
    state = ledger.transactions.known.draft()
    paid = [of + request.price for of in (state.datasets.get(request.dataset, Loss()), state.analysts["analyst"])]
    entry = Entry("forged", request, paid[0], datetime.now(UTC), None, "analyst", paid[1])
    row = chained_row(state.head, debit_columns(entry))
    assert str(state.check_next(row)).startswith(why)
    with pytest.raises(LedgerError, match="is damaged"):
        ledger.transactions.write(lambda _, state: state.append(debit_columns(entry)))


def other_noise(request: Request) -> Request:
    """Give the same with a third of the noise."""
    asked = json.loads(request.question)
    asked["scales"] = [str(Fraction(scale) / 3) for scale in asked["scales"]]
    return replace(request, question=json.dumps(asked, sort_keys=True))
