"""A day of Wikimedia's page views: noisy counts of pages by country, from a threshold on."""

import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np

from noisycount.app.refine.tables.asked import AskedTable
from noisycount.app.refine.tables.page_noises import published_pages
from noisycount.app.refine.tables.published import PublishedTable
from noisycount.errors import SourceError
from noisycount.shown.told import told_name

__all__ = ["is_wikimedia", "wikimedia_table"]

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
    """Whether one of the first two lines of a file is a row: a country's code, a count at the end.

    Raises:
        SourceError: It cannot be read.
    """
    if not path.name.lower().endswith(_ENDINGS):
        return False
    with _opened(path) as lines:
        return any(map(_is_row, islice(lines, 2)))


def wikimedia_table(asked: AskedTable, path: Path) -> PublishedTable:
    """The rows of a file, each with the noise of its day and its country.

    Args:
        asked: The noise.
        path: A .tsv or .tsv.gz file: country, its code, project, page_id, page, qid and views.

    Raises:
        SourceError: A row has another form.
        NoisyCountError: Nobody says the noise.
    """
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
        len(cells) - 1 in _NAMES
        and _CODE.fullmatch(cells[1]) is not None
        and _COUNT.fullmatch(cells[-1]) is not None
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
