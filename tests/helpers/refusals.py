"""Refusals as text: what is said, and below it, indented, the calls of which it is said."""

import math
import re
from fractions import Fraction

import pytest

import noisycount as nc

NAMES = {"nc": nc, "inf": math.inf, "nan": math.nan, "Fraction": Fraction}


def refusals(table: str, **names: object) -> list[tuple[str, object, str]]:
    """The call, its value `it` and the words for each case; a call may be told for many values."""
    found: list[tuple[str, object, str]] = []
    said = ""
    for line in table.strip().splitlines():
        if not line.startswith(" "):
            said = line
            continue
        call, _, values = line.strip().partition(" for it in ")
        given = eval(values, NAMES | names) if values else [None]  # noqa: S307  (a line of ours)
        found += [(call, it, said) for it in given]
    return found


def assert_refused(call: str, it: object, said: str, **names: object) -> None:
    """A ValueError in one line that begins so; … stands for other words, $ for the end."""
    pattern = ".*".join(map(re.escape, said.removesuffix("$").split("…")))
    with pytest.raises(ValueError, match=f"^{pattern}{'$' * said.endswith('$')}") as refusal:
        eval(call, NAMES | names | {"it": it})  # noqa: S307  (a line of ours)
    assert "\n" not in str(refusal.value)
