"""For how long something holds, as people type it."""

import re
from datetime import timedelta

import click

__all__ = ["as_lifetime"]

_FORM = re.compile(r"([1-9][0-9]{0,5})([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_LONGEST = timedelta(days=3653)  # ten years, which calendars everywhere have


def as_lifetime(_: click.Context, __: click.Parameter, text: str | None) -> timedelta | None:
    """A lifetime such as `12h`, `90d` or `6w`; None for `never`."""
    if text is None or text == "never":
        return None
    match = _FORM.fullmatch(text)
    lifetime = None if match is None else int(match[1]) * _UNITS[match[2]]
    if lifetime is not None and lifetime <= _LONGEST:
        return lifetime
    raise click.BadParameter(
        f"must be hours, days or weeks up to ten years, such as 12h, 90d or 6w, or never, got "
        f"{text!r}"
    )
