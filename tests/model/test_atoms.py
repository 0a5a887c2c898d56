import math

import pytest

import noisycount as nc


def test_rates_of_atoms_add_up() -> None:
    """Whatever makes them, and each question has the rate of its predicate."""
    rates = [0.1, 0.25, 0.5]
    for make in (nc.Atoms.independent, nc.Atoms.disjoint, nc.Atoms.nested):
        atoms = make(100, rates)
        assert math.fsum(atoms.rates) == pytest.approx(1, abs=1e-15)
        found = [atoms.rate(question) for question in atoms.questions]
        assert found == pytest.approx(rates, abs=1e-15)


def test_patterns_join_atoms_that_no_question_parts() -> None:
    """And leave out those that no record is in."""
    atoms = nc.Atoms(10, [0.25, 0.5, 0, 0.25], [{0}, {0, 2}])
    assert atoms.patterns(atoms.questions) == {(1, 1): 0.25, (0, 0): 0.75}


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (
            lambda: nc.Atoms(10, [0.5, 0.4]),
            r"rates of atoms must add up to 1, got 0\.9 from 2: add",
        ),
        (lambda: nc.Atoms(10, [1.5, -0.5]), "rates must be a probability"),
        (lambda: nc.Atoms(10, [[0.5, 0.5]]), "rates must be one row of numbers, got shape"),
        (lambda: nc.Atoms(10, ["a"]), "rates must be numbers"),  # type: ignore[list-item]
        (lambda: nc.Atoms(-1, [1.0]), "size must be a whole number"),
        (lambda: nc.Atoms(10, [0.5, 0.5], [{2}]), "question must hold .* from 0 to 1, got 2"),
        (lambda: nc.Atoms(10, [0.5, 0.5], [{True}]), "question must hold .*, got True"),
        (lambda: nc.Atoms(10, [0.5, 0.5], [0]), "question must be a set of numbers"),  # type: ignore[list-item]
        (lambda: nc.Atoms.disjoint(10, [0.6, 0.6]), "rates of disjoint predicates .* at most 1"),
        (lambda: nc.Atoms.nested(10, [0.6, 0.5]), "rates of nested predicates must not fall"),
        (lambda: nc.Atoms.independent(10, [0.5] * 17), "rates must be at most 16"),
        (lambda: nc.Atoms.independent(10, []), "rates must hold that of one predicate at least"),
    ],
)
def test_what_is_no_atoms_is_refused_on_one_line(make, told: str) -> None:  # noqa: ANN001
    """With the argument, its value and the remedy."""
    with pytest.raises(ValueError, match=f"^{told}") as refusal:
        make()
    assert "\n" not in str(refusal.value)
