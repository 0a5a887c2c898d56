"""Texts of a request, read as the options of the command line are."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from noisycount.errors import NoisyCountError

__all__ = ["said"]

Value = TypeVar("Value")
Text = TypeVar("Text", str, list[str])


def said(name: str, read: Callable[[Any, Any, Text], Value | None], text: Text) -> Value:
    """The value that a text, or several, stand for.

    Args:
        name: Of the member, for the refusal.
        read: The callback of an option.
        text: What was sent.

    Raises:
        NoisyCountError: It stands for none.

    Example:
        >>> from noisycount.app.options.common import as_confidence
        >>> said("confidence", as_confidence, "95%")
        0.95
    """
    try:
        value = read(None, None, text)
    except click.BadParameter as error:
        raise NoisyCountError(f"{name} {error.message}") from None
    if value is None:
        raise NoisyCountError(f"{name} is missing: give it")
    return value
