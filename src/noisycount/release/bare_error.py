"""Errors without what they know of how they arose."""

from typing import TypeVar

__all__ = ["bare"]

Error = TypeVar("Error", bound=BaseException)


def bare(error: Error) -> Error:
    """An error without its traceback, its cause and its context.

    Frames hold local values, and the errors of an engine the values of a statement: counts and
    answers that must not leave with a refusal.

    Example:
        >>> error = ValueError("no")
        >>> error.__context__ = KeyError("a cell")
        >>> bare(error).__context__ is None
        True
    """
    error.__traceback__ = error.__cause__ = error.__context__ = None
    return error
