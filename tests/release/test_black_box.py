from fractions import Fraction
from functools import partial
from hashlib import shake_256
from itertools import count
from pathlib import Path

import pytest

from noisycount.engines.memory import MemorySource
from noisycount.ledger.ledger import Ledger
from noisycount.model.noises import additive as noise
from noisycount.model.sampling.scalar import RandomIntegers, discrete_laplace
from noisycount.query.schema import Kind
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from tests.helpers.black_box import MUTANTS, ROWS, audited_bulk, audited_desk, audited_noise

ONE, TENTH = Fraction(1), Fraction(1, 10)


@pytest.mark.thorough
def test_a_whole_desk_passes_the_audit() -> None:
    """Answers about neighbouring files differ by no more than ε, and have the stated law; `audits` has ε = 0.1 too."""
    verdict = audited_desk(ONE, 1200)
    assert verdict.passed
    assert verdict.shown > 0.5 * verdict.claimed


@pytest.mark.thorough
@pytest.mark.few(1)
@pytest.mark.parametrize("mutant", [ROWS, "one more", "two zeros"])
def test_a_whole_desk_with_a_fault_fails_the_audit(mutant: str) -> None:
    """A sensitivity of 2 where 1 is claimed, and noise that is off by one, are found in lists of answers."""
    verdict = audited_desk(ONE, 1600, mutant, at_once=200)
    assert not verdict.passed
    assert verdict.private == (mutant == "one more")


@pytest.mark.thorough
@pytest.mark.parametrize("epsilon", [ONE, TENTH])
def test_single_draws_pass_the_audit(epsilon: Fraction) -> None:
    """The audit that follows fails for the mutants, not for the number of draws."""
    verdict = audited_noise(epsilon, 120_000)
    assert verdict.passed
    assert verdict.shown > 0.93 * verdict.claimed


FAULTS = [(mutant, epsilon) for mutant in MUTANTS for epsilon in (ONE, TENTH)]
FAULTS.remove(("rounded floats", TENTH))  # which only millions of draws tell from the stated law


@pytest.mark.thorough
@pytest.mark.parametrize(("mutant", "epsilon"), FAULTS)
def test_single_draws_with_a_fault_fail_the_audit(mutant: str, epsilon: Fraction) -> None:
    """Noise for 1.02·ε, of floats, off by one in its place, its size or its zero."""
    assert not audited_noise(epsilon, 120_000 if mutant == "ε·1.02" else 20_000, mutant).passed


@pytest.mark.thorough
@pytest.mark.parametrize("epsilon", [ONE, TENTH])
def test_bulk_draws_pass_the_audit_and_those_of_another_price_fail(epsilon: Fraction) -> None:
    """Two percent are found."""
    assert audited_bulk(epsilon, 1_000_000).passed
    for factor in (Fraction(102, 100), Fraction(98, 100)):
        assert not audited_bulk(epsilon, 1_000_000, drawn=factor * epsilon).passed


@pytest.mark.parametrize("epsilon", [Fraction(text) for text in ("1", "0.1", "7/3", "1/1000", "0.123456789")])
def test_an_answer_is_the_count_and_one_draw_of_the_exact_sampler(
    epsilon: Fraction, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same random bytes the desk's noise is the sampler's at 1/ε, draw for draw."""
    source = MemorySource([{"age": age} for age in range(20)], {"age": Kind.INTEGER})
    expected, answers = [], []
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        desk = Desk(source, ledger, Dataset("survey", Fraction(10**6)))
        for number in range(20):
            monkeypatch.setattr(noise, "RandomIntegers", partial(replayed, number))
            answers.append(desk.release(f"age >= {number}", epsilon).answer)
            expected.append(20 - number + discrete_laplace(1 / epsilon, replayed(number)))
    assert answers == expected
    assert len({answer + number for number, answer in enumerate(answers)}) > 1


def replayed(seed: int) -> RandomIntegers:
    """Random integers that are the same for the same seed."""
    turns = count()
    return RandomIntegers(lambda size: shake_256(f"{seed} {next(turns)}".encode()).digest(size))
