"""Top-ups of older ledgers that may rest on answers about other records: `ledger verify` and the report name them."""

import json
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from noisycount.catalog.catalog import DatasetRecord
from noisycount.config.config import load_config
from noisycount.ledger.entries import Request
from noisycount.ledger.ledger import Ledger
from noisycount.tasks.report.report import UnprovenTopUp, unproven_top_ups
from tests.helpers.commands import Run
from tests.model.test_gradual import conditional, laplace

ADDRESS = "postgresql+psycopg://owner@db/clinic#public.visits"
TOML = f"""
[datasets.visits]
source = "{ADDRESS}"
unit = "row"

[datasets.survey]
source = "survey.parquet"
unit = "row"
"""
DIGEST = "sha256:" + "1" * 64


def question(price: str, **parts: object) -> str:
    """Return a count as an older desk asked it."""
    scale = str(1 / Fraction(price))
    asked = {"mechanism": "discrete Laplace", "scale": scale, "unit": None, "where": "age > 3", "version": DIGEST}
    return json.dumps({**asked, **parts}, sort_keys=True)


def buy(ledger: Ledger, dataset: str, prices: tuple[str, ...], **parts: object) -> None:
    """Store answers at rising prices, each a top-up of the one before."""
    for number, price in enumerate(prices):
        request = Request(dataset, question(price, **parts), Fraction(price))
        entry, _ = ledger.reserve(f"{dataset} {number} {'where' in parts}", request, Fraction(100))
        ledger.store(entry, 100 + number)


@pytest.fixture
def configured(here: Path) -> Path:
    """Give the file of a configuration with a table of a server and a file."""
    file = here / "noisycount.toml"
    file.write_text(TOML, encoding="utf-8")
    return file


def found_in(configured: Path, *series: tuple[str, tuple[str, ...], dict[str, object]]) -> list[UnprovenTopUp]:
    """Return what is found in a ledger of some series."""
    with Ledger.open(f"sqlite:///{configured.parent}/ledger.db") as ledger:
        for dataset, prices, parts in series:
            buy(ledger, dataset, prices, **parts)
        return unproven_top_ups(ledger.rows(), load_config(configured))


def test_a_chain_about_a_server_has_the_bound_of_the_proof(configured: Path) -> None:
    """2(ε₁ + ε₂) + ε₃ for the third; each is proved for the sum of two prices, and was charged their difference."""
    second, third = found_in(configured, ("visits", ("0.1", "0.25", "0.6"), {}))
    assert (second.proved_epsilon, third.proved_epsilon) == (Fraction(45, 100), Fraction(13, 10))
    assert (second.possible_excess, third.possible_excess) == (Fraction(1, 5), Fraction(1, 2))
    assert third.possible_excess + third.entry.request.epsilon == Fraction(85, 100)
    assert "ε = 0.6 in all was charged, and only ε = 1.3 is proved" in third.words


@pytest.mark.parametrize(
    ("dataset", "parts", "number"),
    [
        ("visits", {}, 1),
        ("postgresql://db/clinic#visits", {}, 1),
        ("s3://bucket/visits/*.parquet", {}, 1),
        ("survey", {}, 0),
        ("survey", {"version": "1" * 64}, 0),
        ("visits", {"edition": "2026-11"}, 0),
    ],
)
def test_only_top_ups_without_an_exact_version_are_named(
    configured: Path, dataset: str, parts: dict[str, object], number: int
) -> None:
    """Of servers and object stores; not of files, of tables in memory, or of an edition."""
    assert len(found_in(configured, (dataset, ("0.1", "0.2"), parts))) == number


def test_an_edition_that_was_described_is_a_promise(configured: Path) -> None:
    """An older question does not state it, but its version is that of the description with the edition."""
    described = {"unit": None, "columns": {}, "content": "00", "form": None, "edition": "2026-10"}
    with Ledger.open(f"sqlite:///{configured.parent}/ledger.db") as ledger:
        ledger.describe("visits", json.dumps(described))
    version = DatasetRecord.read(json.dumps(described)).version
    assert found_in(configured, ("visits", ("0.1", "0.2"), {"version": version})) == []
    (other,) = found_in(configured, ("visits", ("0.1", "0.2"), {"where": "age > 4"}))
    assert other.proved_epsilon == Fraction(4, 10)


def test_verify_and_the_report_name_them(run: Run, configured: Path) -> None:
    """In words and as JSON, with the bound, which the meaning of the report uses."""
    found_in(configured, ("visits", ("0.5", "0.6"), {}), ("survey", ("0.5", "0.6"), {}))
    told = run("ledger", "verify").words
    assert "1 top-up may rest on answers about other records" in told
    assert "ε = 0.6 in all was charged, and only ε = 1.6 is proved" in told
    key = "visits 1 False"
    named = [{"key": key, "dataset": "visits", "proved_epsilon": "1.6"}]
    assert run("ledger", "verify", "--json").object["unproven_top_ups"] == named
    assert "ε = 0.6 as charged, ε = 1.6 is proved" in run("ledger", "report").words
    report = {each["dataset"]: each for each in run("ledger", "report", "--json").object["datasets"]}
    assert (report["visits"]["unproven_top_ups"], report["survey"]["unproven_top_ups"]) == (named, [])
    assert "at most 84:16" in report["visits"]["odds"]  # e^1.6 to 1
    assert "at most 65:35" in report["survey"]["odds"]


def test_a_ledger_without_them_is_silent(run: Run, configured: Path) -> None:
    """Nothing is said, and the list is empty."""
    found_in(configured, ("survey", ("0.5", "0.6"), {}))
    assert "other records" not in run("ledger", "verify").words
    assert run("ledger", "verify", "--json").object["unproven_top_ups"] == []


def test_verify_reads_the_rows_once_if_no_debit_is_a_top_up(
    run: Run, configured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a top-up needs a second reading of all rows, and their entries."""
    with Ledger.open(f"sqlite:///{configured.parent}/ledger.db") as ledger, monkeypatch.context() as patched:
        buy(ledger, "visits", ("0.5",))
        assert not ledger.has_top_up()
        patched.delattr(Ledger, "rows")
        assert run("ledger", "verify", "--json").object["unproven_top_ups"] == []
        buy(ledger, "visits", ("0.5", "0.6"))
        assert ledger.has_top_up()
    assert len(run("ledger", "verify", "--json").object["unproven_top_ups"]) == 1


COARSE, FINE = Fraction(1, 2), Fraction(1, 3)  # e^-ε₁ and e^-ε₂
COUNTS = [(0, 0), (3, 1), (1, 3), (5, 0), (2, 1)]


def chance(answers: tuple[int, int], counts: tuple[int, int]) -> Fraction:
    """Return the probability of two answers, the second drawn given the first as if both were about its records."""
    (coarse, fine), (first, second) = answers, counts
    return laplace(coarse - first, COARSE) * conditional(fine - second, coarse - second, COARSE, FINE)


@pytest.mark.thorough
@pytest.mark.always
@pytest.mark.parametrize("counts", COUNTS)
def test_the_bound_is_that_of_the_joint_distribution(counts: tuple[int, int]) -> None:
    """Exactly, in rationals: 2ε₁ + ε₂ where the counts differ, ε₂ where they are one, ε₁ + ε₂ for a newcomer."""
    first, second = counts
    answers = list(product(range(-3, 10), repeat=2))

    def worst(moved: tuple[int, int]) -> Fraction:
        other = (first + moved[0], second + moved[1])
        ratios = [chance(each, counts) / chance(each, other) for each in answers]
        return max(max(ratio, 1 / ratio) for ratio in ratios)

    differ = first != second
    assert worst((1, 1)) == (1 / (COARSE**2 * FINE) if differ else 1 / FINE)
    assert worst((0, 1)) == 1 / (COARSE * FINE)
    assert abs(sum(chance(each, counts) for each in product(range(-40, 50), repeat=2)) - 1) < Fraction(1, 10**10)
