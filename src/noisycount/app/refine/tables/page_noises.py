"""The noise of page views: what was typed, or what is known of their day and countries."""

import re
from collections.abc import Sequence

import numpy as np

from noisycount.app.refine.tables.asked import AskedTable
from noisycount.app.refine.tables.published import PublishedLevel, Rows
from noisycount.errors import NoisyCountError
from noisycount.model.releases.page_views import PageViews, wikimedia
from noisycount.shown.numbers import signed

__all__ = ["published_pages"]

_DAY = re.compile(r"(?<![0-9])([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?![0-9])")
_COLUMNS = (0, 1, 2)
_NEXT = "medium"
_FEW = 5  # countries that are named


def published_pages(
    asked: AskedTable, codes: Sequence[str], answers: Rows
) -> tuple[tuple[PublishedLevel, ...], tuple[str, ...]]:
    """The rows by their noise, and what a reader should know of it.

    Args:
        asked: The noise, or the day and the tiers of countries.
        codes: The code of the country of each row.
        answers: The noisy count of each row.

    Raises:
        NoisyCountError: Nobody says the noise, or a count is below the threshold of its day.
        ValueError: No file covers the day.
    """
    if len(asked.noises) == 1:
        noise = asked.noises[0]
        return (PublishedLevel("pages", np.arange(len(codes)), noise, _COLUMNS),), ()
    day = _day(asked)
    distinct, places = np.unique(np.array(codes), return_inverse=True)
    releases = {code: _release(day, code, asked) for code in distinct.tolist()}
    least = {code: int(answers[places == at].min()) for at, code in enumerate(distinct.tolist())}
    for code, release in releases.items():
        if least[code] < release.threshold:
            raise NoisyCountError(
                f"{asked.place} has a count of {least[code]} in {code}, and of {day} only those "
                f"from {release.threshold} on were published: check --day and --tier"
            )
    levels = tuple(
        PublishedLevel(
            f"from {signed(release.threshold)} on",
            np.flatnonzero([releases[distinct[at]] == release for at in places]),
            release.mechanism,
            _COLUMNS,
        )
        for release in dict.fromkeys(releases.values())
    )
    return levels, _notes(asked, day, least)


def _day(asked: AskedTable) -> str:
    """The day as it was typed, or as the name of the file says it."""
    if asked.day is not None and not asked.noises:
        return asked.day
    found = None if asked.file is None else _DAY.search(asked.file.name)
    if found is None or asked.noises:
        raise NoisyCountError(
            f"{asked.place} does not say its day: give --day, or its one --noise and --scale"
        )
    year, month, day = map(int, found.groups())
    return f"{year:04d}-{month:02d}-{day:02d}"


def _release(day: str, code: str, asked: AskedTable) -> PageViews:
    """How the counts of a country were published that day."""
    return wikimedia(day, asked.tiers.get(code, "lower"), code)


def _notes(asked: AskedTable, day: str, least: dict[str, int]) -> tuple[str, ...]:
    """Which countries may be of another tier, as all their counts are large."""
    try:
        threshold = wikimedia(day, _NEXT).threshold
    except ValueError:
        return ()
    odd = [code for code, count in least.items() if count >= threshold and code not in asked.tiers]
    if not odd:
        return ()
    named = ", ".join(odd[:_FEW]) + (", …" if len(odd) > _FEW else "")
    note = (
        f"no count of {named} is below {threshold}: if their risk is medium or higher their noise "
        f"is wider; say so by --tier {_NEXT}={odd[0]}"
    )
    return (note,)
