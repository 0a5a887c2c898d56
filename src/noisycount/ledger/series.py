"""One question at rising prices: which answers belong together, and what the next one is charged.

Answers belong together only if they are about the same records, which `Standing.is_exact` decides. Then Laplace noise
of a finer answer is drawn from its distribution given the coarser one (`model.gradual`), so that all of them together
reveal no more than the finest, and cost its price. Under Gaussian noise an independent answer is drawn at the
difference of the prices, and the published answer combines all draws: see the page “Accuracy first”.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from math import floor
from typing import Any, cast

from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Entry, Request, stated_loss
from noisycount.model.concentrated import root_above
from noisycount.validation import exact_text, exact_value

# the names of the noises; to import them would load NumPy
_LAPLACE, _GAUSSIAN = "discrete Laplace", "discrete Gaussian"
_DESIGNS = 1024  # that are remembered: most answers of a ledger have one of a few prices
_OF_PRICE = {"scale", "scales", "replaces", "price", "within"}  # the parts of a question that differ with its price
EDITION = "edition"  # the part of a question about a server that holds the owner's edition, null if there is none
# a version that is a digest; older ledgers hold the size and the time of a file as well
_DIGEST = re.compile(r"(sha256:)?[0-9a-f]{64}")


@frozen
class Standing:
    """Identity of a question across prices: a digest without the price, the price, and the debit that it tops up."""

    # what it asks, without its price, as a SHA-256 in hexadecimal digits; of a question whose noise cannot be made
    # finer that of the request itself
    subject: str
    price: Fraction  # of its answer, with all that it replaces: in ε, or in ρ under Gaussian noise
    replaces: str | None = None  # the key of the debit that it tops up
    is_reserve: bool = False  # whether the price is the most that it may cost, until it is known where it stopped
    is_gaussian: bool = False  # whether what tops up another is a draw of its own, and is combined with it
    # True if its version says which records are counted, so that an answer may top up another of the same version
    is_exact: bool = False


def standing_of(request: Request) -> Standing:
    """Return the identity of a request: requests of one data set, question, δ and noise design share a subject."""
    kept = vars(request)
    if "standing" not in kept:
        kept["standing"] = _standing(request)
    return cast("Standing", kept["standing"])


def _standing(request: Request) -> Standing:
    asked = request.asked
    loss = stated_loss(asked) or request.price
    is_gaussian, price = loss.epsilon is None, loss.rho if loss.epsilon is None else loss.epsilon
    if asked.get("mechanism") != (_GAUSSIAN if is_gaussian else _LAPLACE):
        return Standing(request.digest, price)
    with suppress(ValueError, TypeError, KeyError, AttributeError):
        kept = {name: of for name, of in asked.items() if name not in _OF_PRICE}
        if "table" in kept:
            kept["table"] = {name: of for name, of in kept["table"].items() if name != "threshold"}
        if is_gaussian:
            kept["design"] = [_gaussian_design(scale, request.price.rho) for scale in _scale_texts(asked)]
        else:
            kept["design"] = [_design(scale, price) for scale in _scale_texts(asked)]
        parts = repr((request.dataset, kept, loss.delta.as_integer_ratio()))  # desks sort the parts of a question
        digest = hashlib.sha256(parts.encode()).hexdigest()
        is_exact = has_exact_version(asked)
        return Standing(digest, price, asked.get("replaces"), "within" in asked, is_gaussian, is_exact)
    return Standing(request.digest, price)


def has_exact_version(asked: Mapping[str, Any]) -> bool:
    """Return True if questions of the same version count the same records: it is a digest, or an edition names them."""
    is_live = asked.get(EDITION, "") is None
    return not is_live and _DIGEST.fullmatch(str(asked.get("version"))) is not None


def topped_up(entry: Entry, epsilon: Fraction, goal: dict[str, str] | None = None) -> Request:
    """Return the request of a top-up to a price, or to at most that price. Hidden keys that are shown stay."""
    asked, paid = {name: of for name, of in entry.request.asked.items() if name != "within"}, entry.loss
    if paid.epsilon is None:
        return _drawn_beside(entry, asked, epsilon)
    question = _priced({**asked, "replaces": entry.key, **({} if goal is None else {"within": goal})}, paid, epsilon)
    charged = difference(paid.epsilon, epsilon)
    return Request(entry.request.dataset, question, charged.epsilon, charged.rho)


def _drawn_beside(entry: Entry, asked: Mapping[str, Any], rho: Fraction) -> Request:
    """Return the request of an independent draw under Gaussian noise, at the difference of the prices in ρ."""
    paid, more = entry.request.price.rho, rho - entry.loss.rho
    scales = [exact_text(root_above(scale**2 * paid / more)) for scale in scales_in(asked)]
    price = {"rho": exact_text(rho)} | ({"delta": exact_text(entry.loss.delta)} if entry.loss.delta else {})
    question = {**asked, "scales": scales, "price": price, "replaces": entry.key}
    return Request(entry.request.dataset, json.dumps(question, sort_keys=True), None, more)


def stopped_at(request: Request, epsilon: Fraction) -> Request:
    """Return the request of a reserve at the price at which its answers stopped.

    The rest of ε is given back. In ρ the highest price stays charged: all answers up to it are no more than the last
    one would have been.
    """
    asked = request.asked
    reserved = stated_loss(asked) or request.price
    assert reserved.epsilon is not None  # noqa: S101 - only answers in ε are reserved
    assert request.epsilon is not None  # noqa: S101 - as before
    charged = request.epsilon - (reserved.epsilon - epsilon)
    return Request(request.dataset, _priced(asked, reserved, epsilon), charged, request.price.rho)


def _priced(asked: Mapping[str, Any], paid: Loss, epsilon: Fraction) -> str:
    """Return the text of a question at another price than the paid one."""
    scales = [exact_text(scale * (paid.epsilon or 0) / epsilon) for scale in scales_in(asked)]
    price = {"epsilon": exact_text(epsilon)} | ({"delta": exact_text(paid.delta)} if paid.delta else {})
    priced = {"scale": scales[0]} if "scale" in asked else {"scales": scales}
    return json.dumps({**asked, **priced, "price": price}, sort_keys=True)


def difference(paid: Fraction, price: Fraction, *, is_gaussian: bool = False) -> Loss:
    """Return the charge of a top-up: the difference of both prices, in ε, or in ρ under Gaussian noise.

    In ρ an answer in ε is charged as one of its own. Given the coarser one its loss can still be any between -ε and ε,
    less a constant: such a bounded range of 2ε has a ρ of ε²/2, and no less is proved (see the page “Accuracy first”).

    Source: M. Cesar and R. Rogers, Bounding, Concentrating, and Truncating: Unifying Privacy Loss Composition for
        Data Analytics (2021), for mechanisms of a bounded range.
    """
    return Loss.concentrated(price - paid) if is_gaussian else Loss(price - paid, price**2 / 2)


def covers(entry: Entry, request: Request) -> bool:
    """Return True if a debit of the same question has at least the price of a request."""
    return standing_of(entry.request).price >= standing_of(request).price


def finest_of(entries: Iterable[Entry]) -> Entry | None:
    """Return the debit at the highest price, of equal ones the first; None if there is none."""
    return max(entries, key=lambda entry: standing_of(entry.request).price, default=None)


def without_replaced(entries: Sequence[Entry]) -> list[Entry]:
    """Return the debits that no other one tops up. They reveal all that any of the debits reveals."""
    replaced = {key for entry in entries for key in entry.replaces}
    return [entry for entry in entries if entry.key not in replaced]


def parts_of(entry: Entry) -> list[Entry]:
    """Return the independent draws that an answer combines, the newest first; one under Laplace noise."""
    parts = [entry]
    while standing_of(entry.request).is_gaussian and parts[-1].base is not None:
        parts.append(parts[-1].base)
    return parts


@lru_cache(maxsize=_DESIGNS)
def _design(scale: str, epsilon: Fraction) -> str:
    """Return the scale of a noise at ε = 1, which is the same at all prices."""
    return exact_text(exact_value(scale) * epsilon)


@lru_cache(maxsize=_DESIGNS)
def _gaussian_design(scale: str, rho: Fraction) -> str:
    """Return 2ρσ² to one part in 8 to 16: σ is rounded up by less than 1e-6 of it, and no two designs are closer."""
    square = 2 * rho * exact_value(scale) ** 2
    power = square.numerator.bit_length() - square.denominator.bit_length()
    power -= square < Fraction(2) ** power
    return f"{floor(8 * square / Fraction(2) ** power + Fraction(3, 10))}*2^{power}"


def _scale_texts(asked: Mapping[str, Any]) -> list[str]:
    scales: list[str] = asked["scales"] if "scales" in asked else [asked["scale"]]
    return scales


def scales_in(asked: Mapping[str, Any]) -> list[Fraction]:
    """Return the scale of the noise of each level."""
    return list(map(exact_value, _scale_texts(asked)))
