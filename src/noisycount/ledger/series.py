"""Top-ups: the same question at rising prices, and the charge of each more accurate answer.

An answer may top up another only if both are about the same records (`QueryIdentity.is_exact`). Under Laplace noise,
the noise of the more accurate answer is drawn from its distribution given the coarser answer (`model.gradual`). So all
answers together reveal no more than the most accurate one, and cost its price. Under Gaussian noise, an independent
answer is drawn at the difference of the prices, and the published answer combines all draws: see the page “Accuracy
first”.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property, lru_cache
from math import floor
from typing import Any

from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Entry, Request
from noisycount.model.concentrated import root_above
from noisycount.validation import exact_text, exact_value

# names of the noises; importing them from their modules would load NumPy
_LAPLACE, _GAUSSIAN = "discrete Laplace", "discrete Gaussian"
_DESIGNS = 1024  # noise designs in each cache: most answers of a ledger have one of a few prices
_OF_PRICE = {"scale", "scales", "replaces", "price", "within"}  # parts of a question that differ with its price
EDITION = "edition"  # part of a question about a database server: the edition that the owner named, or null
# a version that is a digest of the records; in older ledgers a version may be the size and time of a file
_DIGEST = re.compile(r"(sha256:)?[0-9a-f]{64}")


@frozen
class QueryIdentity:
    """Identity of a question across prices: a digest without the price, the price, and the debit that it tops up."""

    # SHA-256 of the question without its price, in hexadecimal digits; if its noise allows no top-up, the digest of the
    # request itself
    subject: str
    price: Fraction  # price of the answer together with those that it tops up: in ε, or in ρ under Gaussian noise
    replaces: str | None = None  # key of the debit that it tops up
    is_reserve: bool = False  # True if the question has an accuracy goal: the price is a maximum until its answers stop
    is_gaussian: bool = False  # True under Gaussian noise: a top-up is an independent draw, combined with those below
    # True if the version names exactly the records that are counted, so that an answer may top up another one of it
    is_exact: bool = False


def identity_of(request: Request) -> QueryIdentity:
    """Return the identity of a request: requests of one data set, question, δ and noise design share a subject.

    It is computed once, and kept with the request.
    """
    known: QueryIdentity | None = vars(request).get("identity")
    if known is not None:
        return known
    asked, loss = request.asked, request.loss
    is_gaussian, price = loss.epsilon is None, loss.rho if loss.epsilon is None else loss.epsilon
    identity = QueryIdentity(request.digest, price)
    if asked.get("mechanism") == (_GAUSSIAN if is_gaussian else _LAPLACE):
        with suppress(ValueError, TypeError, KeyError, AttributeError):
            subject = {name: value for name, value in asked.items() if name not in _OF_PRICE}
            if "table" in subject:
                subject["table"] = {name: value for name, value in subject["table"].items() if name != "threshold"}
            scales = asked["scales"] if "scales" in asked else [asked["scale"]]
            design, amount = (_gaussian_design, request.price.rho) if is_gaussian else (_relative_scale, price)
            subject["design"] = [design(scale, amount) for scale in scales]
            parts = repr((request.dataset, subject, loss.delta.as_integer_ratio()))  # sorted in a stored question
            digest, is_exact = hashlib.sha256(parts.encode()).hexdigest(), has_exact_version(asked)
            identity = QueryIdentity(digest, price, asked.get("replaces"), "within" in asked, is_gaussian, is_exact)
    vars(request)["identity"] = identity
    return identity


class FormerRequests(Sequence[Request]):
    """Forms in which an older ledger may hold a request, the present form included; built when they are first needed.

    They differ from the present form in the version of the records, or are a list of one condition: see
    `LedgerState.forms`. Those that differ only in the wording of the condition are `reworded`.
    """

    def __init__(self, build: Callable[[], Sequence[Request]], reworded: Sequence[Request] = ()) -> None:
        self._build, self.reworded = build, reworded

    @cached_property
    def _requests(self) -> Sequence[Request]:
        return self._build()

    def __getitem__(self, place: Any) -> Any:  # noqa: ANN401 - a request, or several for a slice
        return self._requests[place]

    def __len__(self) -> int:
        return len(self._requests)


def has_exact_version(asked: Mapping[str, Any]) -> bool:
    """Return True if two questions with the same version count the same records.

    The version must be a digest. If the question is about a database server, it must also name an edition.
    """
    is_live = asked.get(EDITION, "") is None
    return not is_live and _DIGEST.fullmatch(str(asked.get("version"))) is not None


def topped_up(entry: Entry, epsilon: Fraction, goal: dict[str, str] | None = None) -> Request:
    """Return the request of a top-up of an answer to a total price, in ε or, under Gaussian noise, in ρ.

    If a goal is given, the price is the largest that the top-up may reach.
    """
    asked, paid = {name: value for name, value in entry.request.asked.items() if name != "within"}, entry.loss
    if paid.epsilon is None:
        return _independent_draw(entry, asked, epsilon)
    question = _question_at_price(
        {**asked, "replaces": entry.key, **({} if goal is None else {"within": goal})}, paid, epsilon
    )
    charged = difference(paid.epsilon, epsilon)
    return Request(entry.request.dataset, question, charged.epsilon, charged.rho)


def _independent_draw(entry: Entry, asked: Mapping[str, Any], rho: Fraction) -> Request:
    """Return the request of an independent draw under Gaussian noise, at the difference of the prices in ρ."""
    paid, more = entry.request.price.rho, rho - entry.loss.rho
    scales = [exact_text(root_above(scale**2 * paid / more)) for scale in scales_in(asked)]
    price = {"rho": exact_text(rho)} | ({"delta": exact_text(entry.loss.delta)} if entry.loss.delta else {})
    question = {**asked, "scales": scales, "price": price, "replaces": entry.key}
    return Request(entry.request.dataset, json.dumps(question, sort_keys=True), None, more)


def request_at_stop(request: Request, epsilon: Fraction) -> Request:
    """Return the request of a reserve at the total price ε at which its answers stopped.

    The unused part of the reserved ε is refunded. In ρ the whole reserve stays charged: the answers up to the stopping
    price lose no more than the last answer of the reserve would have.
    """
    asked = request.asked
    reserved = request.loss
    assert reserved.epsilon is not None  # noqa: S101 - only answers in ε are reserved
    assert request.epsilon is not None  # noqa: S101 - as before
    charged = request.epsilon - (reserved.epsilon - epsilon)
    return Request(request.dataset, _question_at_price(asked, reserved, epsilon), charged, request.price.rho)


def _question_at_price(asked: Mapping[str, Any], paid: Loss, epsilon: Fraction) -> str:
    """Return the text of a question at another price than the paid one."""
    scales = [exact_text(scale * (paid.epsilon or 0) / epsilon) for scale in scales_in(asked)]
    price = {"epsilon": exact_text(epsilon)} | ({"delta": exact_text(paid.delta)} if paid.delta else {})
    priced = {"scale": scales[0]} if "scale" in asked else {"scales": scales}
    return json.dumps({**asked, **priced, "price": price}, sort_keys=True)


def difference(paid: Fraction, price: Fraction, *, is_gaussian: bool = False) -> Loss:
    """Return the charge of a top-up: the difference of both prices, in ε, or in ρ under Gaussian noise.

    Under Laplace noise, the ρ of a top-up to ε is that of a whole answer, ε²/2. Given the coarser answer, the privacy
    loss of the top-up can still take any value between −ε and ε, up to a constant. A mechanism of bounded range 2ε has
    ρ = ε²/2, and no smaller ρ is proved: see the page “Accuracy first”.

    Source: M. Cesar and R. Rogers, Bounding, Concentrating, and Truncating: Unifying Privacy Loss Composition for
        Data Analytics (2021), for mechanisms of a bounded range.
    """
    return Loss.concentrated(price - paid) if is_gaussian else Loss(price - paid, price**2 / 2)


def covers(entry: Entry, request: Request) -> bool:
    """Return True if the price of a debit is at least that of a request for the same question."""
    return identity_of(entry.request).price >= identity_of(request).price


def highest_priced_entry(entries: Iterable[Entry]) -> Entry | None:
    """Return the debit at the highest price, of equal ones the first; None if there is none."""
    return max(entries, key=lambda entry: identity_of(entry.request).price, default=None)


def without_replaced(entries: Sequence[Entry]) -> list[Entry]:
    """Return the debits that no other debit tops up. Together they reveal all that any of the debits reveals."""
    replaced = {key for entry in entries for key in entry.replaces}
    return [entry for entry in entries if entry.key not in replaced]


def parts_of(entry: Entry) -> list[Entry]:
    """Return the debits whose independent draws an answer combines, newest first; under Laplace noise only its own."""
    parts = [entry]
    while identity_of(entry.request).is_gaussian and parts[-1].base is not None:
        parts.append(parts[-1].base)
    return parts


@lru_cache(maxsize=_DESIGNS)
def _relative_scale(scale: str, epsilon: Fraction) -> str:
    """Return the exact text of scale × ε: the scale of the same noise at ε = 1, equal at all prices."""
    return exact_text(exact_value(scale) * epsilon)


@lru_cache(maxsize=_DESIGNS)
def _gaussian_design(scale: str, rho: Fraction) -> str:
    """Return 2ρσ² as text, rounded to one part in 8 to 16: it identifies the design of the noise at all prices.

    The value varies slightly with ρ, as σ is rounded up by less than 1e-6 of its value. No two designs are so close
    that the rounding of this text confuses them.
    """
    square = 2 * rho * exact_value(scale) ** 2
    power = square.numerator.bit_length() - square.denominator.bit_length()
    power -= square < Fraction(2) ** power
    return f"{floor(8 * square / Fraction(2) ** power + Fraction(3, 10))}*2^{power}"


def scales_in(asked: Mapping[str, Any]) -> list[Fraction]:
    """Return the scale of the noise of each level."""
    return list(map(exact_value, asked["scales"] if "scales" in asked else [asked["scale"]]))
