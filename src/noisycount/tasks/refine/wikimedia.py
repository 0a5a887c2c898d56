"""A day of Wikimedia's page views: noisy counts of pages by country, from a threshold on."""

import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np

from noisycount.display.numbers import signed
from noisycount.display.texts import told_name
from noisycount.errors import NoisyCountError, SourceError
from noisycount.model.releases import PageViews, wikimedia
from noisycount.tasks.refine.published import PublishedLevel, PublishedTable, Rows
from noisycount.tasks.refine.query import RefineQuery

_DAY = re.compile(r"(?<![0-9])([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?![0-9])")
_COLUMNS = (0, 1, 2)
_NEXT = "medium"
_FEW = 5  # countries that are named


def published_pages(
    asked: RefineQuery, codes: Sequence[str], answers: Rows
) -> tuple[tuple[PublishedLevel, ...], tuple[str, ...]]:
    """The rows by their noise, and what a reader should know of it."""
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


def _day(asked: RefineQuery) -> str:
    """The day as it was typed, or as the name of the file says it."""
    if asked.day is not None and not asked.noises:
        return asked.day
    found = None if asked.file is None else _DAY.search(asked.file.name)
    if found is None or asked.noises:
        raise NoisyCountError(f"{asked.place} does not say its day: give --day, or its one --noise and --scale")
    year, month, day = map(int, found.groups())
    return f"{year:04d}-{month:02d}-{day:02d}"


def _release(day: str, code: str, asked: RefineQuery) -> PageViews:
    """How the counts of a country were published that day."""
    return wikimedia(day, asked.tiers.get(code, "lower"), code)


def _notes(asked: RefineQuery, day: str, least: dict[str, int]) -> tuple[str, ...]:
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


_KEYS = ("country_code", "project", "page")

_NAMES = {  # by the number of columns before the count
    4: ("country", *_KEYS),
    5: ("country", "country_code", "project", "page_id", "page"),
    6: ("country", "country_code", "project", "page_id", "page", "qid"),
}

_ENDINGS = (".tsv", ".tsv.gz")
_COUNT = re.compile(r"[0-9]{1,15}")
_CODE = re.compile(r"[A-Z]{2}|--|")


def is_wikimedia(path: Path) -> bool:
    """Whether one of the first two lines is a row: a country's code, and a count at the end."""
    if not path.name.lower().endswith(_ENDINGS):
        return False
    with _opened(path) as lines:
        return any(map(_is_row, islice(lines, 2)))


def wikimedia_table(asked: RefineQuery, path: Path) -> PublishedTable:
    """The rows of a file, each with the noise of its day and its country."""
    rows = list(_rows(path))
    columns: dict[str, list[str | None] | list[int]] = {
        name: [row[at] or None for row in rows] for at, name in enumerate(_NAMES[len(rows[0]) - 1])
    }
    answers = [int(row[-1]) for row in rows]
    columns["answer"] = answers
    levels, notes = published_pages(asked, [row[1] for row in rows], np.array(answers))
    texts = [[str(cell or "") for cell in columns[name]] for name in _KEYS]
    return PublishedTable(
        subject=f"page views in {told_name(path)}",
        names=_KEYS,
        keys=list(zip(*texts, strict=True)),
        answers=np.array(answers, dtype=np.float64),
        levels=levels,
        below=np.full(len(rows), np.nan),
        columns=columns,
        is_selected=True,
        notes=notes,
        unit="page views",
    )


def _rows(path: Path) -> Iterator[list[str]]:
    """The cells of each row; a first line of names is left out."""
    width = 0
    with _opened(path) as lines:
        for number, line in enumerate(lines, 1):
            if not _is_row(line) or width not in {0, line.count("\t")}:
                if number == 1:
                    continue
                raise SourceError(
                    f"line {number:,} of {str(path)!r} is no row of page views: country, its code, "
                    "project, page_id, page, qid and a count, with tabs between them"
                )
            width = line.count("\t")
            yield line.split("\t")


def _is_row(line: str) -> bool:
    """Whether a line has the code of a country second, and a count last."""
    cells = line.split("\t")
    return (
        len(cells) - 1 in _NAMES and _CODE.fullmatch(cells[1]) is not None and _COUNT.fullmatch(cells[-1]) is not None
    )


@contextmanager
def _opened(path: Path) -> Iterator[Iterator[str]]:
    """The lines of a file of texts without their ends, which may be packed."""
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8", newline="\n") as lines:
            yield (line.rstrip("\r\n") for line in lines)
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or "broken"
        raise SourceError(f"{str(path)!r} cannot be read ({why}): check it") from None
    except UnicodeDecodeError:
        raise SourceError(f"{str(path)!r} is not in UTF-8: check that it is whole") from None
