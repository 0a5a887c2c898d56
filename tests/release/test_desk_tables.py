import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import noisycount as nc
from noisycount.engines.memory import MemorySource
from noisycount.errors import BudgetError, LedgerError, PredicateError, SourceError
from noisycount.ledger.budget import ApproximateBudget, Budget, ConcentratedBudget, Loss, PureBudget
from noisycount.ledger.ledger import Ledger
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.query.grouping import CellQuestion, KeyCounts, KeyQuestion
from noisycount.query.schema import Kind
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from noisycount.release.table_release import TableRelease

SCHEMA = {"person": Kind.INTEGER, "town": Kind.TEXT, "poor": Kind.BOOLEAN, "age": Kind.INTEGER, "visit": Kind.DATE}
TOWNS = ["Bern", "Chur", "Genf", None]
RECORDS = [
    {
        "person": number // 3,
        "town": TOWNS[number * number % 4],
        "poor": (True, False, None)[number % 3],
        "age": number % 90,
        "visit": date(2026, 1 + number % 12, 1),
    }
    for number in range(900)
]
SURE = 1_000_000  # an ε of which the noise is 0 but once in e^(10^4) draws
BUDGETS: dict[str, Budget] = {
    "pure": PureBudget(Fraction(10)),
    "concentrated": ConcentratedBudget(Fraction(10)),
    "approximate": ApproximateBudget(Fraction(10), Fraction(1, 1000), Fraction(1, 2000)),
}


@pytest.fixture
def desk_of(ledger: Ledger) -> Callable[..., Desk]:
    """Give desks of the records, by rows or persons, under any budget."""

    def made(unit: str | None = None, budget: Budget | None = None, size: int | None = None) -> Desk:
        source = MemorySource(RECORDS, SCHEMA, unit=unit)
        name = f"survey by {unit} {size}"
        return Desk(source, ledger, Dataset(name, budget or PureBudget(Fraction(SURE)), size))

    return made


def exact(table: TableRelease) -> dict[tuple[object, ...], int]:
    """The counts of a table of hardly any noise, by level and labels."""
    return {(row.level, *row.labels): row.answer for row in table.rows}


def true_counts(key: Callable[[dict[str, Any]], object]) -> Counter[object]:
    """Count the records of each key."""
    return Counter(map(key, RECORDS))


def test_every_listed_key_has_its_count_and_absent_ones_have_0(desk_of: Callable[..., Desk]) -> None:
    """In the order in which they are listed, missing values where they are."""
    table = desk_of().release_table("town", {"town": ["Genf", None, "Sion", "Bern"]}, epsilon=SURE)
    true = true_counts(lambda record: record["town"])
    assert list(exact(table).items()) == [
        (("town", "Genf"), true["Genf"]),
        (("town", None), true[None]),
        (("town", "Sion"), 0),
        (("town", "Bern"), true["Bern"]),
    ]


def test_other_keys_are_one_row_if_asked(desk_of: Callable[..., Desk]) -> None:
    """Records outside the listed cells are in the last row, and in the total."""
    keys = {"town": ["Bern"], "poor": [True]}
    asked = {"other": True, "margins": ["total", "town"]}
    table = desk_of().release_table("town,poor", keys, epsilon=SURE, **asked)
    both = sum(record["town"] == "Bern" and record["poor"] is True for record in RECORDS)
    assert exact(table) == {
        ("town,poor", "Bern", True): both,
        ("other", None, None): len(RECORDS) - both,
        ("town", "Bern", None): both,
        ("total", None, None): len(RECORDS),
    }


def test_ranges_and_months_count_what_they_say(desk_of: Callable[..., Desk]) -> None:
    """With the predicate of the whole table."""
    table = desk_of().release_table(
        ["age:0,18,65", "visit:quarter"], {"visit": ["2026-Q1", "2026-Q4"]}, "poor", SURE, margins=["visit"]
    )
    found = exact(table)
    assert len(found) == 3 * 2 + 2
    assert found["age,visit", "18 to 64", "2026-Q1"] == sum(
        record["poor"] is True and 18 <= record["age"] < 65 and record["visit"].month <= 3 for record in RECORDS
    )
    assert found["visit", None, "2026-Q4"] == sum(
        record["poor"] is True and record["visit"].month >= 10 for record in RECORDS
    )


def test_persons_are_counted_once_in_every_cell_and_margin(desk_of: Callable[..., Desk]) -> None:
    """A person with rows in three cells is in three cells, and once in the total."""
    keys = {"poor": [True, False, None]}
    table = desk_of("person").release_table("poor", keys, epsilon=SURE, margins="total")
    persons = len({record["person"] for record in RECORDS})
    assert list(exact(table).values()) == [persons, persons, persons, persons]
    assert table.combined is None


def test_a_bound_leaves_each_person_in_so_many_cells(desk_of: Callable[..., Desk]) -> None:
    """The cells add up to the persons times the bound; other is a cell like others."""
    desk = desk_of("person")
    persons = len({record["person"] for record in RECORDS})
    for most, sums in ((1, persons), (2, 2 * persons), (3, 3 * persons)):
        asked = {"groups_per_unit": most, "other": True, "epsilon": SURE // 4}
        table = desk.release_table("poor", {"poor": [True, False]}, **asked)
        assert int(table.answers[0].sum()) == sums, most


def test_another_bound_of_values_of_persons_is_refused(desk_of: Callable[..., Desk]) -> None:
    """Each person has one value, so that a bound of three would charge for nothing."""
    with pytest.raises(PredicateError, match="groups_per_unit is 1 for a table by values of persons: leave it out"):
        desk_of("person").release_table("count(true):1,2,3", epsilon=1, groups_per_unit=3)
    table = desk_of("person").release_table("count(true):1,2,3", epsilon=SURE, groups_per_unit=1)
    assert list(exact(table).values()) == [0, 0, 300]


@pytest.mark.parametrize(
    ("unit", "size", "most", "moves"),
    [
        (None, None, None, (1, 1)),
        (None, 900, None, (2, 1)),
        ("person", None, None, (6, 1)),
        ("person", 300, None, (6, 1)),
        ("person", None, 2, (2, 1)),
        ("person", 300, 2, (4, 1)),
        ("person", 300, 5, (6, 1)),
    ],
)
def test_the_noise_is_that_of_all_cells_a_unit_can_move(
    desk_of: Callable[..., Desk], unit: str | None, size: int | None, most: int | None, moves: tuple[int, int]
) -> None:
    """Six cells and a total: twice as much where the size is public, g times for g groups."""
    keys = {"town": ["Bern", "Chur", "Genf"], "poor": [True, False]}
    table = desk_of(unit, size=size).release_table("town,poor", keys, epsilon=1, margins="total", groups_per_unit=most)
    assert tuple(level.sensitivity for level in table.plan.levels) == moves
    assert sum(level.share for level in table.plan.levels) == 1
    cost = sum(level.sensitivity / level.mechanism.exact_scale for level in table.plan.levels)
    assert cost == 1
    assert table.charged == Loss.from_epsilon(Fraction(1))


def test_many_questions_share_one_price(desk_of: Callable[..., Desk]) -> None:
    """Each of k has the noise of ε/k, as one unit can match all."""
    desk = desk_of()
    table = desk.release_many(["poor", "age < 18", "age < 65"], 3)
    assert [row.labels for row in table.rows] == [("poor",), ("age < 18",), ("age < 65",)]
    assert table.plan.levels[0].mechanism == nc.DiscreteLaplace(1)
    assert (table.charged, desk.remaining) == (Loss.from_epsilon(Fraction(3)), SURE - 3)
    sure = desk.release_many(["poor", "age < 18", "age < 65"], SURE - 3)
    assert sure.answers[0].tolist() == [
        sum(record["poor"] is True for record in RECORDS),
        sum(record["age"] < 18 for record in RECORDS),
        sum(record["age"] < 65 for record in RECORDS),
    ]


def test_the_same_table_is_free_in_any_order(desk_of: Callable[..., Desk]) -> None:
    """Keys, margins and questions in another order find the stored counts under their keys."""
    desk = desk_of()
    first = desk.release_table("town,poor", {"town": ["Bern", "Chur"]}, epsilon=1, margins=["total", "town"])
    again = desk.release_table(
        "town,poor", {"poor": [True, False], "town": ["Chur", "Bern"]}, epsilon="1", margins=["town", "total"]
    )
    assert (again.repeated, again.charged, again.key) == (True, Loss(), first.key)
    assert exact(again) == exact(first)
    assert [row.labels for row in again.rows] != [row.labels for row in first.rows]
    many = desk.release_many(["poor", "age < 18"], 1)
    turned = desk.release_many(["age<18", "poor"], 1)
    assert turned.repeated
    assert turned.answers[0].tolist() == many.answers[0].tolist()[::-1]


def test_another_table_is_another_price(desk_of: Callable[..., Desk]) -> None:
    """Whatever decides what is counted, or its noise, is in the request."""
    desk = desk_of("person", BUDGETS["approximate"])
    asked: dict[str, Any] = {"by": "town", "keys": ["Bern", "Chur"], "epsilon": "0.01", "groups_per_unit": 1}
    changes: list[dict[str, Any]] = [
        {},
        {"keys": ["Bern", "Genf"]},
        {"where": "poor"},
        {"epsilon": "0.02"},
        {"other": True},
        {"margins": ["total"]},
        {"groups_per_unit": 2},
        {"groups_per_unit": None},
        {"cumulative": True},
        {"keys": ["Chur", "Bern"], "cumulative": True},
        {"keys": None, "delta": "1e-6"},
        {"keys": None, "delta": "1e-7"},
        {"noise": nc.DiscreteGaussian, "delta": "1e-6"},
        {"noise": nc.DiscreteGaussian, "epsilon": None, "rho": "1e-4"},
        {"by": "age:0,18", "keys": None},
        {"by": "age:0,19", "keys": None},
        {"by": "visit:year", "keys": ["2026"]},
    ]
    tables = [desk.release_table(**{**asked, **change}) for change in changes]
    assert not any(table.repeated for table in tables)
    assert len({table.key for table in tables}) == len(changes)
    assert all(desk.release_table(**{**asked, **change}).repeated for change in changes)


def test_hidden_keys_show_those_of_many(desk_of: Callable[..., Desk]) -> None:
    """A key below the threshold is not shown, and one far above it is; sorted, with the total."""
    desk = desk_of(budget=ApproximateBudget(Fraction(SURE), Fraction(1, 2), Fraction(1, 4)))
    table = desk.release_table("town", None, None, 100, "1e-9", ["total"])
    true = true_counts(lambda record: record["town"])
    shown = [(("town", town), true[town]) for town in TOWNS if true[town]]
    assert list(exact(table).items()) == [*shown, (("total", None), len(RECORDS))]
    assert table.plan.threshold is not None
    assert table.price == Loss.from_epsilon(Fraction(100), Fraction(1, 10**9))
    alone = desk.release_table("town", None, "person = 7", 1, "1e-6")
    assert len(alone) == 0
    assert alone.rows == ()
    assert "town" in repr(alone)


def test_a_key_at_the_threshold_is_shown_and_the_total_is_of_what_matches(ledger: Ledger) -> None:
    """A key of two where noise is next to none, but no key of one; others do not match."""
    towns = [*["Bern"] * 3, *["Chur"] * 2, "Genf", *["Lugano"] * 9]
    records = [{"town": town, "age": 99 * (town == "Lugano")} for town in towns]
    source = MemorySource(records, {"town": Kind.TEXT, "age": Kind.INTEGER})
    budget = ApproximateBudget(Fraction(SURE), Fraction(1, 2), Fraction(1, 4))
    desk = Desk(source, ledger, Dataset("towns", budget))
    table = desk.release_table("town", None, "age < 50", SURE, "1e-9", ["total"])
    assert table.plan.threshold == 2
    told = [(row.labels, row.answer) for row in table.rows]
    assert told == [(("Bern",), 3), (("Chur",), 2), ((None,), 6)]


@pytest.mark.parametrize("noise", [nc.DiscreteLaplace, nc.DiscreteGaussian])
@pytest.mark.parametrize(
    "asked",
    [
        {"by": "town", "delta": "1e-6", "margins": "total"},
        {"by": "town,poor", "keys": {"town": TOWNS, "poor": [True, None]}, "margins": "all"},
        {"by": "age:0,18,65", "cumulative": True},
    ],
    ids=["hidden", "margins", "ranges"],
)
def test_every_count_has_the_noise_that_is_told_of_it(
    desk_of: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any], noise: type[DiscreteNoise]
) -> None:
    """If each noise is a thousand scales, every level is off by its own stated scale.

    So is the total beside hidden keys, whose noise is not that of the cells.
    """
    price = "epsilon" if noise is nc.DiscreteLaplace else "rho"

    def told(size: int | None, off: Callable[[DiscreteNoise], int]) -> TableRelease:
        """The table where every noise is what it is said to be."""
        monkeypatch.setattr(noise, "samples", lambda self, size: np.full(size, off(self)))
        return desk_of(size=size, budget=BUDGETS["approximate"]).release_table(noise=noise, **asked, **{price: "0.1"})

    true, table = told(None, lambda _: 0), told(900, off_by)
    scales = [off_by(level.mechanism) for level in table.plan.levels]
    for level, answers in enumerate(table.answers):
        assert (answers - true.answers[level] == scales[level]).all()
    assert len(set(scales)) > 1


def off_by(noise: DiscreteNoise) -> int:
    """Return the stand-in for a draw of a noise."""
    return round(1000 * noise.scale)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize(
    ("asked", "paying"),
    [
        ({"keys": ["Bern"], "epsilon": 1}, {"pure", "concentrated", "approximate"}),
        ({"keys": ["Bern"], "rho": 1, "noise": nc.DiscreteGaussian}, {"concentrated", "approximate"}),
        ({"epsilon": 1, "delta": "1e-6"}, {"approximate"}),
        ({"rho": 1, "delta": "1e-6", "noise": nc.DiscreteGaussian}, {"approximate"}),
    ],
)
def test_a_budget_pays_only_in_its_currencies(
    desk_of: Callable[..., Desk], budget: str, asked: dict[str, Any], paying: set[str]
) -> None:
    """Gaussian noise has no ε, and a δ needs a budget of one; the refusal charges nothing."""
    desk = desk_of(budget=BUDGETS[budget])
    left = desk.remaining
    if budget in paying:
        assert not desk.release_table("town", **asked).repeated
        return
    with pytest.raises(BudgetError) as refused:
        desk.release_table("town", **asked)
    assert "\n" not in str(refused.value)
    assert desk.remaining == left


def test_a_budget_that_pays_for_half_of_a_table_pays_for_none(desk_of: Callable[..., Desk], ledger: Ledger) -> None:
    """Nothing is charged and nothing is counted."""
    desk = desk_of(budget=PureBudget(Fraction(1)))
    with pytest.raises(BudgetError, match="exceeds"):
        desk.release_table("town", ["Bern", "Chur"], epsilon=2, margins="total")
    assert (desk.remaining, ledger.entries()) == (1, [])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"by": "person", "keys": [1]}, "the unit"),
        ({"by": "twon", "keys": ["a"]}, "'town'"),
        ({"by": "town"}, "keys of town are missing"),
        ({"by": "town", "keys": ["a", "a"]}, "twice"),
        ({"by": "town", "keys": [1]}, "write a text"),
        ({"by": "age:18,0"}, "rise"),
        ({"by": "town", "keys": ["a"], "margins": ["village"]}, "no margin"),
        ({"by": "town", "keys": ["a"], "where": "town ="}, "where"),
        ({"by": "town", "keys": ["a"], "where": "person = 1"}, "person"),
        ({"by": "town", "keys": [str(n) for n in range(1_000_001)]}, "1,000,001 cells"),
        ({"by": "town", "keys": ["a"], "groups_per_unit": 0}, "groups_per_unit"),
        ({"by": "town", "delta": "1e-6"}, "groups_per_unit is missing"),
        ({"by": "town", "keys": ["a"], "confidence": 1.0}, "confidence"),
        ({"by": "town", "keys": ["a"], "epsilon": 0}, "epsilon"),
    ],
)
def test_bad_input_is_one_line_and_charges_nothing(
    desk_of: Callable[..., Desk], ledger: Ledger, asked: dict[str, Any], words: str
) -> None:
    """It is refused before the records are looked at."""
    with pytest.raises((ValueError, PredicateError), match=words) as refused:
        desk_of("person").release_table(**{"epsilon": 1, **asked})
    assert "\n" not in str(refused.value)
    assert ledger.entries() == []


@pytest.mark.parametrize(
    ("wheres", "words"),
    [
        ([], "1 to 1,000"),
        ("poor", "must be a list"),
        (["poor"] * 1001, "1,001"),
        (["poor", "POOR"], "twice"),
        (["poor", "age <"], "where"),
    ],
)
def test_bad_questions_are_refused_together(
    desk_of: Callable[..., Desk], ledger: Ledger, wheres: Sequence[str], words: str
) -> None:
    """A single invalid question keeps the others of a list from being charged."""
    with pytest.raises(PredicateError, match=words):
        desk_of().release_many(wheres, 1)
    assert ledger.entries() == []


def test_a_key_of_another_table_is_refused(desk_of: Callable[..., Desk]) -> None:
    """Under one key there is one question for ever, and it is resumed under it."""
    desk = desk_of()
    first = desk.release_table("town", ["Bern"], epsilon=1, key="mine")
    assert desk.release_table("town", ["Bern"], epsilon=1, key="mine").key == first.key
    with pytest.raises(LedgerError, match="another question"):
        desk.release_table("town", ["Chur"], epsilon=1, key="mine")


class BrokenSource(MemorySource):
    """Records that cannot be counted, with a secret in what they say of it."""

    def count_cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        """Fail."""
        raise RuntimeError(f"the secret 8675309 {question}")

    def count_keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        """Give a batch, then fail."""
        yield KeyCounts([("8675309",)], np.array([1000]))
        raise RuntimeError(f"the secret 8675309 {question}")


@pytest.mark.parametrize("asked", [{"keys": ["Bern"]}, {"delta": "1e-6"}])
def test_what_goes_wrong_while_counting_is_withheld(ledger: Ledger, asked: dict[str, Any]) -> None:
    """The debit stays, and nothing of the records is in the refusal or behind it."""
    dataset = Dataset("survey", BUDGETS["approximate"])
    desk = Desk(BrokenSource(RECORDS, SCHEMA), ledger, dataset)
    with pytest.raises(SourceError, match="withheld") as refused:
        desk.release_table("town", epsilon=1, **asked)
    assert "8675309" not in repr(refused.getrepr(chain=True))
    assert refused.value.__cause__ is None
    assert len(ledger.entries()) == 1
    assert ledger.entries()[0].answer is None


def test_a_table_shows_itself(desk_of: Callable[..., Desk]) -> None:
    """On one line, as plain data, as columns."""
    table = desk_of().release_table("town", ["Bern", None], epsilon=1, margins="total")
    assert repr(table).startswith("TableRelease(by=")
    assert "\n" not in repr(table)
    assert len(repr(table)) <= 100
    told = json.loads(json.dumps(table.to_dict()))
    assert [row["level"] for row in told["rows"]] == ["town", "town", "total"]
    columns = table.columns
    assert columns["town"] == ["Bern", None, None]
    assert columns["answer"] == [row.answer for row in table.rows]
    assert len(table) == 3


def test_the_errors_of_all_rows_hold_together(desk_of: Callable[..., Desk]) -> None:
    """Each level's error is that of accuracy for all rows; larger than that of one row."""
    table = desk_of().release_table("age:0,18,65", epsilon=1, margins="total")
    for level, one, every in zip(table.plan.levels, table.errors, table.errors_of_all, strict=True):
        assert one == nc.accuracy(level.mechanism, 0.05) - 1
        assert every == nc.accuracy(level.mechanism, 0.05, queries=4) - 1
        assert one < every


def test_combined_counts_add_up(desk_of: Callable[..., Desk]) -> None:
    """Margins of combined estimates are the sums of their cells, and sums up to a cell rise so."""
    desk = desk_of()
    table = desk.release_table("town,poor", {"town": TOWNS}, epsilon=1, margins="all")
    assert table.combined is not None
    cells, town, poor, total = table.combined
    assert np.allclose(cells.reshape(4, 2).sum(axis=1), town)
    assert np.allclose(cells.reshape(4, 2).sum(axis=0), poor)
    assert np.allclose(cells.sum(), total)
    assert table.standard_errors is not None
    assert all(
        error.max() < level.mechanism.variance**0.5
        for error, level in zip(table.standard_errors, table.plan.levels, strict=True)
    )
    ranges = desk.release_table("age:0,10,20,30,40,50,60,70", epsilon=100, cumulative=True)
    assert ranges.cumulative is not None
    true = np.cumsum(np.histogram([r["age"] for r in RECORDS], [*range(0, 71, 10), 999])[0])
    assert np.abs(ranges.cumulative - true).max() <= 2
    assert ranges.rows[8].labels == ("0 to 9 … 10 to 19",)
