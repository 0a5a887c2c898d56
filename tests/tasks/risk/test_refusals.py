from pathlib import Path

import pytest

from tests.commands import Refused

RECORDS = ("--size", "1000", "--rate", "10%")
NOISE = ("--noise", "laplace", "--scale", "3")


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ((*RECORDS,), "give one of --price 0.15, --key KEY, --noise none"),
        ((*RECORDS, "--noise", "laplace"), "a kind of --noise with its --scale, such as --noise"),
        ((*RECORDS, "--noise", "none", "--scale", "3"), "--noise none, or a kind of"),
        ((*RECORDS, *NOISE, "--price", "1"), "give one of --price 0.15, --key KEY"),
        ((*RECORDS, "--price", "1", "--key", "a"), "give either --price or --key, not both"),
        ((*RECORDS, "--key", "a"), "--key 'a': a key must begin with 6 of its characters or more"),
        ((*RECORDS, "--key", "abcdef"), "--key 'abcdef': the ledger has no such key"),
        ((*RECORDS, "--noise", "cauchy", "--scale", "3"), "is not one of 'laplace', 'gaussian'"),
        ((*RECORDS, "--noise", "laplace", "--scale", "0"), "such as 10 or 20/3, got '0'"),
        ((*NOISE, "--size", "9"), "give either --size and --rate, such as --size 5912"),
        ((*NOISE, *RECORDS, "--strata", "s.csv"), "give either --size and --rate, such as"),
        ((*RECORDS, *NOISE, "--epsilon", "0"), "between 1e-9 and 1e6, got '0'"),
        ((*RECORDS, *NOISE, "--epsilon", "-1"), "between 1e-9 and 1e6, got '-1'"),
        ((*RECORDS, *NOISE, "--sample", "1001"), "--sample 1001 exceeds the 1000 records there"),
        ((*RECORDS, *NOISE, "--sample", "0"), "'--sample': must be a whole number of records from"),
        ((*RECORDS, *NOISE, "--known", "1000"), "leaves nobody to protect among 1000 records: g"),
        ((*RECORDS, *NOISE, "--known", "0"), "'--known': must be a whole number of records from 1"),
        ((*RECORDS, *NOISE, "--known-positives", "3"), "--known-positives needs --known: say of"),
        (
            (*RECORDS, *NOISE, "--known", "9", "--known-positives", "10"),
            "--known-positives 10 exceeds --known 9: give at most that many",
        ),
        ((*RECORDS, *NOISE, "--known", "9", "--known-positives", "-1"), "records from 0 to 2**53"),
        ((*RECORDS, *NOISE, "--plot", "p.pdf"), "must end in .svg or .png, got 'p.pdf'"),
        ((*RECORDS, *NOISE, "--plot", "no/p.svg"), "'no/p.svg' cannot be written (No such"),
    ],
)
def test_a_risk_is_asked_for_in_one_way(refused: Refused, words: tuple[str, ...], remedy: str) -> None:
    """One line says what is wrong and what to give."""
    assert remedy in refused("risk", *words)


@pytest.mark.parametrize("rate", ["0", "100%", "1"])
def test_a_certain_property_is_refused(refused: Refused, rate: str) -> None:
    """What every record has, or none, cannot be hidden."""
    message = refused("risk", "--size", "1000", "--rate", rate, *NOISE)
    assert "makes the property certain, and nothing about it can be hidden" in message


def test_groups_that_are_all_certain_are_refused(refused: Refused, here: Path) -> None:
    """Records of a certain group have no neighbours; they are as if known."""
    (here / "s.csv").write_text("size,rate\n60,0\n40,1\n")
    assert "a certain property has no neighbours" in refused("risk", "--strata", "s.csv", *NOISE)


def test_known_records_of_groups_are_refused(refused: Refused, here: Path) -> None:
    """It is not told whose they are."""
    (here / "s.csv").write_text("size,rate\n60,0.2\n40,0.5\n")
    message = refused("risk", "--strata", "s.csv", *NOISE, "--known", "10")
    assert "--known needs --size and --rate: with --strata it is not told whose" in message
