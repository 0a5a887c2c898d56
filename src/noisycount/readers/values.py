"""Parsers of single values: one text that a person typed, sent or wrote in a form, one value.

Each parser raises a ValueError that begins with what the text must be. The caller puts the name of the option, JSON
member or form field before it. `options` uses these parsers for the command line.
"""

import math
import re
from fractions import Fraction
from typing import TYPE_CHECKING

from noisycount.ledger.entries import check_purpose
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.catalogue import NOISES, NoiseClass
from noisycount.model.sampling.scalar import check_range
from noisycount.release.reply_tick import ReplyTick
from noisycount.validation import LARGEST_WHOLE, exact_epsilon, parse_probability

if TYPE_CHECKING:
    from noisycount.readers.assumption import Rate


_GROUPED = re.compile(r"[±+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]*)?")
_ERROR = re.compile(r"[±+]?\s*([0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})")
_PLUS_MINUS = re.compile(r"±|\+/?-")
_SCALE = re.compile(r"([0-9]{1,20}(?:\.[0-9]{0,20})?(?:e[+-]?[0-9]{1,2})?)(?:/([0-9]{1,20}))?")
_WHOLE = re.compile(r"-?[0-9]{1,300}")

# Noise classes by the names that users type.
NOISE_KINDS: dict[str, NoiseClass] = {str(kind.name).lower().replace(" ", "-"): kind for kind in NOISES}


def parse_share(text: str) -> float:
    """Return the share in [0, 1] that a text states, or nan if it states none."""
    share = parse_probability(text)
    return math.nan if share is None else float(share)


def parse_number(text: str) -> float:
    """Return the number that a text states, or nan if it states none."""
    try:
        return float(drop_thousands(text))
    except ValueError:
        return math.nan


def drop_thousands(text: str) -> str:
    """Return the text of a number without its thousands separators, if each is followed by three digits.

    Example:
        >>> drop_thousands("1,012"), drop_thousands("0,125"), drop_thousands("1,5")
        ('1012', '0,125', '1,5')
    """
    return text.replace(",", "") if _GROUPED.fullmatch(text.strip()) else text


def parse_at_most(text: str) -> Fraction:
    """Return the largest ε that an answer may cost, such as `0.5`, exactly."""
    return exact_epsilon(text, "at_most")


def parse_rho(text: str) -> Fraction:
    """Return an exact ρ such as `0.1`."""
    return exact_epsilon(text, "rho")


def parse_budget(text: str) -> Fraction:
    """Return an exact budget in ε such as `2` or `1/3`."""
    return exact_epsilon(text, "budget")


def parse_guess(text: str) -> float:
    """Return a guess of a count: a number of records above 0, at most 2**53."""
    guess = parse_number(text)
    if 0 < guess <= LARGEST_WHOLE:
        return guess
    raise ValueError(f"must be a number of records above 0, such as 100, got {text!r}")


def parse_half_width(text: str) -> Fraction:
    """Return the half-width of an interval, a positive number of records such as `15`, `15.5` or `±15`."""
    match = _ERROR.fullmatch(drop_thousands(text).strip())
    error = Fraction(match[1]) if match else Fraction(0)
    if 0 < error <= LARGEST_WHOLE:
        return error
    remedy = ": for a share use --within" if "%" in text else ""
    raise ValueError(f"must be a number of records above 0, such as 15, got {text!r}{remedy}")


def parse_queries(text: str) -> int:
    """Return a number of answers from 1 to 2**53."""
    return _parse_whole(text, 1, LARGEST_WHOLE, "must be a whole number from 1 to 2**53, such as 10")


def parse_groups(text: str) -> int:
    """Return a contribution bound: a whole number of groups from 1."""
    return _parse_whole(text, 1, 10**9 - 1, "must be a whole number from 1, such as 1")


def parse_size(text: str) -> int:
    """Return a public number of records from 1 to 2**53."""
    return _parse_whole(text, 1, LARGEST_WHOLE, "must be a whole number of records from 1 to 2**53")


def parse_count(text: str) -> int:
    """Return a number of records from 0 to 2**53."""
    return _parse_whole(text, 0, LARGEST_WHOLE, "must be a whole number of records from 0 to 2**53")


def _parse_whole(text: str, smallest: int, largest: int, requirement: str) -> int:
    digits = drop_thousands(text)
    if _WHOLE.fullmatch(digits) and smallest <= int(digits) <= largest:
        return int(digits)
    raise ValueError(f"{requirement}, got {text!r}")


def parse_answer(text: str) -> float:
    """Return a noisy answer such as `107`, `-5` or `35.2`; it is an int if it is written without a decimal point."""
    number = drop_thousands(text.strip().replace("−", "-"))
    answer = parse_number(number)
    if math.isfinite(answer):
        return int(number) if _WHOLE.fullmatch(number) else answer
    raise ValueError(f"must be a finite number of records, got {number!r}")


def parse_scale(text: str) -> Fraction:
    """Return an exact noise scale in records such as `10`, `6.67` or `20/3`."""
    match = _SCALE.fullmatch(drop_thousands(text.strip().lower()))
    try:
        scale = Fraction(match[1]) / int(match[2] or 1) if match else Fraction(0)
        check_range(scale)
    except (ValueError, ZeroDivisionError):
        raise ValueError(
            f"must be a number of records from 2**-52 to 2**52, such as 10 or 20/3, got {text!r}"
        ) from None
    return scale


def parse_rate(text: str) -> "Rate":
    """Return a rate such as `30%` or `0.3`, with a standard deviation if one is given: `30%±2%`, `0.3+-0.02`."""
    mean, *deviations = (parse_share(part) for part in _PLUS_MINUS.split(text))
    if len(deviations) > 1 or not all(0 <= part <= 1 for part in (mean, *deviations)):
        example = "30%±2%" if deviations else "30%"
        raise ValueError(f"must lie between 0 and 1, such as {example}, got {text!r}")
    from noisycount.readers.assumption import Rate  # noqa: PLC0415 - loads the distributions

    return Rate(mean, *deviations)


def noise_of(kind: str, scale: Fraction | int) -> AdditiveNoise:
    """Return the noise of a kind and a scale in records. The kind may be the name in an answer.

    Example:
        >>> noise_of("discrete Laplace", Fraction(20, 3))
        DiscreteLaplace(scale=Fraction(20, 3))
    """
    noise_class = NOISE_KINDS.get(kind.lower().replace(" ", "-"))
    if noise_class is None:
        raise ValueError(f"noise must be one of {', '.join(NOISE_KINDS)}, got {kind[:40]!r}")
    return noise_class(scale)


def parse_columns(text: str) -> list[str]:
    """Return the column names in a text with commas between them."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ValueError(f"must name columns with commas between them, such as county,town, got {text!r}")
    return names


def parse_purpose(text: str) -> str:
    """Return the purpose of an answer, if it is one that the ledger can store."""
    check_purpose(text)
    return text


def parse_tick(text: str) -> ReplyTick:
    """Return the reply tick of a period in seconds from 0.001 to 3600."""
    try:
        return ReplyTick(parse_number(text))
    except ValueError:
        raise ValueError(f"must be from 0.001 to 3600 s, such as 1, got {text!r}") from None
