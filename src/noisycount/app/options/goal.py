"""What people type to `noisycount plan`, and the value that it stands for."""

import re
from fractions import Fraction

import click

from noisycount.app.options.common import ungrouped
from noisycount.model.validation import LARGEST_WHOLE
from noisycount.release.budget.exact import exact_epsilon

__all__ = ["as_budget", "as_error", "as_queries"]

_ERROR = re.compile(r"[±+]?\s*([0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})")
_WHOLE = re.compile(r"[0-9]{1,20}")


def as_error(_: click.Context, __: click.Parameter, text: str | None) -> Fraction | None:
    """A positive number of records such as `15`, `15.5` or `±15`."""
    if text is None:
        return None
    match = _ERROR.fullmatch(ungrouped(text).strip())
    error = Fraction(match[1]) if match else Fraction(0)
    if 0 < error <= LARGEST_WHOLE:
        return error
    remedy = ": for a share use --within" if "%" in text else ""
    raise click.BadParameter(
        f"must be a number of records above 0, such as 15, got {text!r}{remedy}"
    )


def as_queries(_: click.Context, __: click.Parameter, text: str) -> int:
    """A number of answers, at least 1."""
    digits = ungrouped(text)
    if _WHOLE.fullmatch(digits) and 0 < int(digits) <= LARGEST_WHOLE:
        return int(digits)
    raise click.BadParameter(f"must be a whole number from 1 to 2**53, such as 10, got {text!r}")


def as_budget(_: click.Context, __: click.Parameter, text: str | None) -> Fraction | None:
    """An exact budget such as `2` or `1/3`."""
    try:
        return None if text is None else exact_epsilon(text, "budget")
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
