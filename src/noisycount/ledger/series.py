"""One question at rising prices: which answers belong together, and what the next one is charged.

The noise of a finer answer is drawn from its law given the coarser one (`model.gradual`), so that all of them together
are no more than the finest, and cost its price: docs/accuracy-first.md.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Entry, Request, asked_in, stated_loss
from noisycount.validation import exact_text, exact_value

_LAPLACE = "discrete Laplace"  # the name of the noise that can be made finer; to import it would load NumPy
_DESIGNS = 1024  # that are remembered: most answers of a ledger have one of a few prices
_OF_PRICE = {"scale", "scales", "replaces", "price", "within"}  # the parts of a question that differ with its price


@frozen
class Standing:
    """Where a request stands among those that ask the same at other prices."""

    # what it asks, without its price, as a SHA-256 in hexadecimal digits; of a question whose noise cannot be made
    # finer that of the request itself
    subject: str
    price: Fraction  # of its answer, with all that it replaces: in ε, or in ρ under Gaussian noise
    replaces: str | None = None  # the key of the debit that it tops up
    is_reserve: bool = False  # whether the price is the most that it may cost, until it is known where it stopped


def standing_of(request: Request) -> Standing:
    """Where a request stands: those of one data set, question, δ and design of its noise have one subject."""
    if request._standing is None:  # noqa: SLF001 - kept for here
        object.__setattr__(request, "_standing", _standing(request))
    return cast("Standing", request._standing)  # noqa: SLF001 - as before


def _standing(request: Request) -> Standing:
    asked = asked_in(request.question)
    loss = stated_loss(asked) or request.price
    if loss.epsilon is None or asked.get("mechanism") != _LAPLACE:
        return Standing(request.digest, loss.rho if loss.epsilon is None else loss.epsilon)
    with suppress(ValueError, TypeError, KeyError, AttributeError):
        kept = {name: of for name, of in asked.items() if name not in _OF_PRICE}
        if "table" in kept:
            kept["table"] = {name: of for name, of in kept["table"].items() if name != "threshold"}
        kept["design"] = [_design(scale, loss.epsilon) for scale in _scale_texts(asked)]
        parts = [request.dataset, kept, exact_text(loss.delta)]
        digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode("ascii")).hexdigest()
        return Standing(digest, loss.epsilon, asked.get("replaces"), "within" in asked)
    return Standing(request.digest, loss.epsilon)


def topped_up(entry: Entry, epsilon: Fraction, goal: dict[str, str] | None = None) -> Request:
    """The request of a finer answer at a higher price, or at most at that price; found keys stay as they are."""
    asked, paid = asked_in(entry.request.question), entry.loss
    assert paid.epsilon is not None  # noqa: S101 - only answers in ε have a finer one
    asked.pop("within", None)
    question = _priced({**asked, "replaces": entry.key, **({} if goal is None else {"within": goal})}, paid, epsilon)
    charged = difference(paid.epsilon, epsilon)
    return Request(entry.request.dataset, question, charged.epsilon, charged.rho)


def stopped_at(request: Request, epsilon: Fraction) -> Request:
    """A request that reserved its highest price, once it is known at which price its answers stopped.

    The rest of ε is given back. In ρ the highest price stays charged: all answers up to it are no more than the last
    one would have been.
    """
    asked = asked_in(request.question)
    reserved = stated_loss(asked) or request.price
    assert reserved.epsilon is not None  # noqa: S101 - only answers in ε are reserved
    assert request.epsilon is not None  # noqa: S101 - as before
    charged = request.epsilon - (reserved.epsilon - epsilon)
    return Request(request.dataset, _priced(asked, reserved, epsilon), charged, request.price.rho)


def _priced(asked: dict[str, Any], paid: Loss, epsilon: Fraction) -> str:
    """The text of a question at another price than the one that was paid."""
    scales = [exact_text(scale * (paid.epsilon or 0) / epsilon) for scale in scales_in(asked)]
    price = {"epsilon": exact_text(epsilon)} | ({"delta": exact_text(paid.delta)} if paid.delta else {})
    priced = {"scale": scales[0]} if "scale" in asked else {"scales": scales}
    return json.dumps({**asked, **priced, "price": price}, sort_keys=True)


def difference(paid: Fraction, epsilon: Fraction) -> Loss:
    """What a finer answer is charged where a coarser one was paid for: in ε the difference.

    In ρ it is charged as an answer of its own. Given the coarser one its loss can still be any between -ε and ε, less a
    constant: such a bounded range of 2ε has a ρ of ε²/2, and no less is proved (docs/accuracy-first.md).

    Source: M. Cesar and R. Rogers, Bounding, Concentrating, and Truncating: Unifying Privacy Loss Composition for
        Data Analytics (2021), for mechanisms of a bounded range.
    """
    return Loss(epsilon - paid, epsilon**2 / 2)


def covers(entry: Entry, request: Request) -> bool:
    """Whether the answer to a debit of the same subject is as good as one to a request, or better."""
    return standing_of(entry.request).price >= standing_of(request).price


def finest_of(entries: Iterable[Entry]) -> Entry | None:
    """The debit at the highest price of some that ask the same, of equals the first; None: there are none."""
    return max(entries, key=lambda entry: standing_of(entry.request).price, default=None)


def without_replaced(entries: Sequence[Entry]) -> list[Entry]:
    """Those of all debits that no finer one of them tops up: they tell all that any of them tells."""
    replaced = {key for entry in entries for key in entry.replaces}
    return [entry for entry in entries if entry.key not in replaced]


@lru_cache(maxsize=_DESIGNS)
def _design(scale: str, epsilon: Fraction) -> str:
    """The scale of a noise at an ε of 1, which is the same at all prices."""
    return exact_text(exact_value(scale) * epsilon)


def _scale_texts(asked: dict[str, Any]) -> list[str]:
    scales: list[str] = asked["scales"] if "scales" in asked else [asked["scale"]]
    return scales


def scales_in(asked: dict[str, Any]) -> list[Fraction]:
    """The scale of the noise of each level of counts, of the one of a count."""
    return list(map(exact_value, _scale_texts(asked)))
