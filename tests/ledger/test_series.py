"""Identity of a question across prices, and charges of top-ups. `tests/release/test_top_up.py` has their answers."""

import json
from fractions import Fraction

import pytest

from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Entry, Request
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.series import (
    covers,
    difference,
    has_exact_version,
    highest_priced_entry,
    identity_of,
    request_at_stop,
    topped_up,
    without_replaced,
)

VERSION = "sha256:" + "0" * 64


def request(epsilon: Fraction, where: str = "age > 40", version: str = VERSION, dataset: str = "survey") -> Request:
    """Return the request of a count with discrete Laplace noise."""
    parts = {"mechanism": "discrete Laplace", "scale": str(1 / epsilon), "version": version, "where": where}
    return Request(dataset, json.dumps(parts, sort_keys=True), epsilon)


def debit(ledger: Ledger, key: str, of: Request) -> Entry:
    """Charge a request, and return its entry."""
    return ledger.reserve(key, of, Fraction(10))[0]


def test_one_question_at_two_prices_has_one_subject() -> None:
    """The price and the scale are no part of the subject; the price is stated beside it."""
    low, high = (identity_of(request(Fraction(price))) for price in ("1/10", "3/10"))
    assert low.subject == high.subject
    assert (low.price, high.price) == (Fraction(1, 10), Fraction(3, 10))


@pytest.mark.parametrize("change", [{"where": "age > 50"}, {"version": "sha256:" + "1" * 64}, {"dataset": "census"}])
def test_other_questions_records_and_data_sets_have_other_subjects(change: dict[str, str]) -> None:
    """A top-up is only of the same question about the same records."""
    assert identity_of(request(Fraction(1), **change)).subject != identity_of(request(Fraction(1))).subject


def test_a_question_of_another_form_stands_alone() -> None:
    """A question without a known noise has its own digest as its subject, at every price."""
    one, other = (Request("survey", "a question", Fraction(price)) for price in (1, 2))
    assert identity_of(one).subject == one.digest != identity_of(other).subject


@pytest.mark.parametrize(
    ("asked", "is_exact"),
    [
        ({"version": VERSION}, True),
        ({"version": "0" * 64}, True),
        ({"version": "1024 bytes of Monday"}, False),
        ({}, False),
        ({"version": VERSION, "edition": "2026-11"}, True),
        ({"version": VERSION, "edition": None}, False),
    ],
)
def test_a_version_is_exact_if_it_is_a_digest_of_fixed_records(asked: dict[str, object], *, is_exact: bool) -> None:
    """A size and a time are no digest, and a server without an edition may change."""
    assert has_exact_version(asked) is is_exact


def test_a_top_up_is_charged_the_difference(ledger: Ledger) -> None:
    """A top-up keeps the subject, names the debit that it tops up, and costs the difference in ε."""
    base = debit(ledger, "coarse", request(Fraction(1, 10)))
    finer = topped_up(base, Fraction(3, 10))
    identity = identity_of(finer)
    assert (identity.subject, identity.replaces) == (identity_of(base.request).subject, "coarse")
    assert (identity.price, finer.price.epsilon) == (Fraction(3, 10), Fraction(1, 5))


def test_a_reserve_that_stopped_early_is_charged_less(ledger: Ledger) -> None:
    """The unused ε of a reserve is refunded; its ρ stays charged."""
    goal = {"within": "0.2", "confidence": "0.95", "at_most": "1"}
    reserve = topped_up(debit(ledger, "coarse", request(Fraction(1, 10))), Fraction(1), goal)
    stopped = request_at_stop(reserve, Fraction(1, 2))
    assert identity_of(reserve).is_reserve
    assert (reserve.price.epsilon, stopped.price.epsilon) == (Fraction(9, 10), Fraction(2, 5))
    assert stopped.price.rho == reserve.price.rho


def test_a_difference_in_rho_is_that_of_a_whole_answer() -> None:
    """Laplace noise costs ε²/2 again, and Gaussian noise the difference of both ρ."""
    paid, price = Fraction(1, 10), Fraction(3, 10)
    assert difference(paid, price) == Loss(Fraction(1, 5), price**2 / 2)
    assert difference(paid, price, is_gaussian=True) == Loss.concentrated(Fraction(1, 5))


def test_the_finest_debit_covers_the_others(ledger: Ledger) -> None:
    """The debit at the highest price covers every lower price, and a replaced debit is left out."""
    coarse = debit(ledger, "coarse", request(Fraction(1, 10)))
    fine = debit(ledger, "fine", topped_up(coarse, Fraction(3, 10)))
    assert highest_priced_entry([coarse, fine]) is fine
    assert highest_priced_entry([]) is None
    assert covers(fine, coarse.request)
    assert not covers(coarse, fine.request)
    assert without_replaced([coarse, fine]) == [fine]
