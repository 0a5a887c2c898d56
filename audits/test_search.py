"""A standing search: 20,000 settings of all public functions, none of them false, foreign or slow.

`NOISYCOUNT_SEED`, printed at the top of a run, repeats it.
"""

import time
from collections.abc import Callable

import pytest
from tests.helpers.cases import seed

from audits.search import FORMAT, finding, settings
from audits.searched import SEARCHED, SHARES

NUMBER = 20_000
PARTS = 40


@pytest.mark.parametrize("part", range(PARTS))
def test_no_setting_is_false_foreign_or_slow(part: int, tell: Callable[[str], None]) -> None:
    """Against references in balls; refusals name what they refuse; none is slow.

    Slow is what takes 10 s of processor time. What is found is printed as a program that can be
    pasted.
    """
    length = NUMBER // PARTS
    places = range(part * length, (part + 1) * length)
    started, found = time.perf_counter(), []
    for name, setting in settings(SEARCHED, places, seed(), SHARES):
        if (fault := finding(name, setting)) is not None:
            found.append(f"{fault.kind}: {FORMAT.format(fault.line)}  # {name}: {fault.what}")
    seconds = time.perf_counter() - started
    tell(f"search, part {part + 1} of {PARTS}: {len(found)} found, {seconds:.0f} s")
    assert not found, "\n".join(found)
