"""Readers for the tables of two publishers: the United States census and Wikimedia.

A census table is one query about one place, from a Parquet file of noisy measurements. A Wikimedia table is a text file
of page views.
"""

import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from math import prod
from pathlib import Path

import numpy as np

from noisycount.display.numbers import signed
from noisycount.display.texts import ALL_KEYS, redacted_name
from noisycount.engines.duckdb.public import NoisyMeasurement, measured_places, measurements
from noisycount.errors import NoisyCountError, SourceError
from noisycount.frozen import frozen
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.releases import wikimedia
from noisycount.model.tables.levels import TOTAL
from noisycount.query.close_names import close_names
from noisycount.tasks.refine.published import PublishedLevel, PublishedTable, RefineQuery, Rows

_SIZES = {"cenrace": 63, "hispanic": 2, "votingage": 2, "hhgq": 8, "hhinstlevels": 3, "sex": 2}
_DETAILED = ("hhgq", "votingage", "hispanic", "cenrace")
_MOST_PLACES = 8  # the largest number of places that an error names


@frozen
class _Query:
    """A query about one place, with its noisy answers."""

    names: tuple[str, ...]  # key columns of its cells; none for the total
    measured: NoisyMeasurement  # its noisy answers


def census_table(query: RefineQuery, path: Path) -> PublishedTable:
    """Return the cells of one census query about one place, with the queries that are sums of these cells."""
    if query.noises:
        raise NoisyCountError(f"{query.place} states the variance of its noise: leave --epsilon, --noise, --scale out")
    geocode = _code_of_place(query, path)
    queries = _queries_of_place(measurements(path, geocode), geocode)
    if not queries:
        places = ", ".join(measured_places(path, _MOST_PLACES))
        raise NoisyCountError(f"--geocode {geocode!r} is not in the file: it has {places}, …")
    cells = _select_query(query.query, queries)
    names = cells.names or (cells.measured.query,)
    levels = [cells, *(other for other in queries if _is_sum(other, cells))]
    return _published_table(levels, names, f"{cells.measured.query} of {geocode} in {redacted_name(path)}")


def _code_of_place(query: RefineQuery, path: Path) -> str:
    """Return the code of the place: that of --geocode, or the only one of the file.

    Raise NoisyCountError if the file has several places and no --geocode is given, or if it has no row.
    """
    if query.geocode is not None:
        return query.geocode
    places = measured_places(path, 2)
    if len(places) == 1:
        return places[0]
    raise NoisyCountError(
        f"{query.place} has several places: give --geocode, such as --geocode {places[0]}"
        if places
        else f"{query.place} has no row: there is nothing to refine"
    )


def _queries_of_place(measured: Sequence[NoisyMeasurement], geocode: str) -> list[_Query]:
    """Return the queries about a place. Raise NoisyCountError if a query occurs twice."""
    names = [measurement.query for measurement in measured]
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise NoisyCountError(f"--geocode {geocode!r} has the query {repeated!r} twice: keep the rows of one level")
    return [_Query(_key_columns(measurement), measurement) for measurement in measured]


def _key_columns(measured: NoisyMeasurement) -> tuple[str, ...]:
    """Return the key columns of a query: none for a total, its variables if the number of cells fits them.

    If the number of cells is not the product of the variables' sizes, the query has one key column with its own name.
    """
    stem = measured.query.removesuffix("_dpq").strip()
    names = _DETAILED if stem == "detailed" else tuple(part.strip() for part in stem.split("*"))
    if len(measured.values) == 1:
        return ()
    is_known = all(name in _SIZES for name in names)
    if is_known and prod(_SIZES[name] for name in names) == len(measured.values):
        return names
    return (stem,)


def _select_query(query: str | None, queries: Sequence[_Query]) -> _Query:
    """Return the query of --query, or the only one that is not a total. Raise NoisyCountError if there is none."""
    names = [candidate.measured.query for candidate in queries]
    queries_with_keys = [candidate for candidate in queries if candidate.names]
    if query is None and len(queries_with_keys) == 1:
        return queries_with_keys[0]
    if query is None:
        raise NoisyCountError(f"--query is missing: give one of {close_names('', names)}")
    for candidate in queries:
        if _normal_name(candidate.measured.query) == _normal_name(query):
            return candidate
    raise NoisyCountError(f"--query {query!r} was not measured: use {close_names(query, names)}")


def _normal_name(query: str) -> str:
    """Return the name of a query in lower case, without blanks and without the ending "_dpq"."""
    return query.lower().removesuffix("_dpq").replace(" ", "")


def _is_sum(query: _Query, cells: _Query) -> bool:
    """Return True if each answer of a query is a sum of cells of the other one."""
    is_total = _normal_name(query.measured.query) == TOTAL
    return set(query.names) < set(cells.names) and (bool(query.names) or is_total)


def _published_table(queries: Sequence[_Query], names: tuple[str, ...], subject: str) -> PublishedTable:
    """Return the table whose levels are the queries, the cells first.

    `names` are the key columns of the cells.
    """
    keys: list[tuple[str, ...]] = []
    levels: list[PublishedLevel] = []
    for query in queries:
        kept_columns = tuple(column for column, name in enumerate(names) if query is queries[0] or name in query.names)
        query_keys = _row_keys(query, kept_columns, len(names))
        rows = np.arange(len(keys), len(keys) + len(query_keys))
        noise = DiscreteGaussian(query.measured.variance**0.5)
        levels.append(PublishedLevel(query.measured.query, rows, noise, kept_columns))
        keys += query_keys
    answers = np.concatenate([query.measured.values for query in queries])
    level_names = [level.name for level in levels for _ in level.rows]
    return PublishedTable(
        subject=subject,
        names=names,
        keys=keys,
        answers=answers.astype(np.float64),
        levels=tuple(levels),
        below=np.full(answers.size, np.nan),
        columns={
            **{
                name: [None if key[column] == ALL_KEYS else key[column] for key in keys]
                for column, name in enumerate(names)
            },
            "query": level_names,
            "answer": answers.tolist(),
        },
    )


def _row_keys(query: _Query, kept_columns: Sequence[int], width: int) -> list[tuple[str, ...]]:
    """Return the keys of a query's cells, in row-major order: numbers from 1, or "all" in a column that it sums over.

    `kept_columns` are the columns that the query keeps; `width` is the number of all key columns.
    """
    sizes = [_SIZES[name] for name in query.names] if len(query.names) > 1 else [len(query.measured.values)]
    codes = np.indices(sizes).reshape(len(sizes), -1).T + 1
    keys = []
    for code in codes.tolist():
        texts = [ALL_KEYS] * width
        for column, number in zip(kept_columns, code, strict=False):
            texts[column] = str(number)
        keys.append(tuple(texts))
    return keys


_DAY = re.compile(r"(?<![0-9])([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?![0-9])")
_COLUMNS = (0, 1, 2)
_NEXT = "medium"
_FEW = 5  # the largest number of countries that a note names


def _page_levels(
    query: RefineQuery, codes: Sequence[str], answers: Rows
) -> tuple[tuple[PublishedLevel, ...], tuple[str, ...]]:
    """Return the rows as levels, one for each noise, and notes for the reader.

    If --noise is given once, all rows have that noise. Otherwise the noise follows from the day and the tier of the
    country; raise NoisyCountError if a count is below the threshold of its country.

    `codes` are the country codes of the rows, `answers` their counts, shape (rows,).
    """
    if len(query.noises) == 1:
        noise = query.noises[0]
        return (PublishedLevel("pages", np.arange(len(codes)), noise, _COLUMNS),), ()
    day = _day_of_views(query)
    distinct, code_of_row = np.unique(np.array(codes), return_inverse=True)
    releases = {code: wikimedia(day, query.tiers.get(code, "lower"), code) for code in distinct.tolist()}
    smallest_counts = {code: int(answers[code_of_row == index].min()) for index, code in enumerate(distinct.tolist())}
    for code, release in releases.items():
        if smallest_counts[code] < release.threshold:
            raise NoisyCountError(
                f"{query.place} has a count of {smallest_counts[code]} in {code}, but only counts of at least "
                f"{release.threshold} were published for {day}: check --day and --tier"
            )
    levels = tuple(
        PublishedLevel(
            f"from {signed(release.threshold)} on",
            np.flatnonzero([releases[distinct[index]] == release for index in code_of_row]),
            release.mechanism,
            _COLUMNS,
        )
        for release in dict.fromkeys(releases.values())
    )
    return levels, _tier_notes(query, day, smallest_counts)


def _day_of_views(query: RefineQuery) -> str:
    """Return the day of --day, or the day in the name of the file.

    Raise NoisyCountError if neither states it, or if --noise is given more than once.
    """
    if query.day is not None and not query.noises:
        return query.day
    match = None if query.file is None else _DAY.search(query.file.name)
    if match is None or query.noises:
        raise NoisyCountError(
            f"the noise of {query.place} depends on the day of its counts: give --day YYYY-MM-DD, or one --noise with "
            "its --scale"
        )
    year, month, day = map(int, match.groups())
    return f"{year:04d}-{month:02d}-{day:02d}"


def _tier_notes(query: RefineQuery, day: str, smallest_counts: dict[str, int]) -> tuple[str, ...]:
    """Return a note that names the countries whose counts all reach the threshold of the medium tier, if any.

    Such a country may be of a higher tier than "lower", with wider noise. Countries of --tier are not named.
    `smallest_counts` has the smallest count of each country.
    """
    try:
        threshold = wikimedia(day, _NEXT).threshold
    except ValueError:
        return ()
    suspicious_codes = [
        code for code, count in smallest_counts.items() if count >= threshold and code not in query.tiers
    ]
    if not suspicious_codes:
        return ()
    names = ", ".join(suspicious_codes[:_FEW]) + (", …" if len(suspicious_codes) > _FEW else "")
    note = (
        f"no count of {names} is below {threshold}: if their risk is medium or higher their noise "
        f"is wider; say so by --tier {_NEXT}={suspicious_codes[0]}"
    )
    return (note,)


_KEYS = ("country_code", "project", "page")

_NAMES = {  # column names by the number of columns before the count
    4: ("country", *_KEYS),
    5: ("country", "country_code", "project", "page_id", "page"),
    6: ("country", "country_code", "project", "page_id", "page", "qid"),
}

_ENDINGS = (".tsv", ".tsv.gz")
_COUNT = re.compile(r"[0-9]{1,15}")
_CODE = re.compile(r"[A-Z]{2}|--|")


def is_wikimedia(path: Path) -> bool:
    """Return True if the file is a table of Wikimedia page views.

    Its name must end in .tsv or .tsv.gz, and one of its first two lines must be a row of page views.
    """
    if not path.name.lower().endswith(_ENDINGS):
        return False
    with _open_lines(path) as lines:
        return any(map(_is_row_of_views, islice(lines, 2)))


def wikimedia_table(query: RefineQuery, path: Path) -> PublishedTable:
    """Return the rows of a file of page views, each with its noise.

    The noise follows from the day and the country, unless --noise is given once.
    """
    rows = list(_read_rows(path))
    columns: dict[str, list[str | None] | list[int]] = {
        name: [row[column] or None for row in rows] for column, name in enumerate(_NAMES[len(rows[0]) - 1])
    }
    answers = [int(row[-1]) for row in rows]
    columns["answer"] = answers
    levels, notes = _page_levels(query, [row[1] for row in rows], np.array(answers))
    texts = [[str(cell or "") for cell in columns[name]] for name in _KEYS]
    return PublishedTable(
        subject=f"page views in {redacted_name(path)}",
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


def _read_rows(path: Path) -> Iterator[list[str]]:
    """Yield the cells of each row, without a first line of column names.

    Raise SourceError if another line is no row of page views, or has another number of cells.
    """
    width = 0
    with _open_lines(path) as lines:
        for number, line in enumerate(lines, 1):
            if not _is_row_of_views(line) or width not in {0, line.count("\t")}:
                if number == 1:
                    continue
                raise SourceError(
                    f"line {number:,} of {str(path)!r} is no row of page views: country, its code, "
                    "project, page_id, page, qid and a count, with tabs between them"
                )
            width = line.count("\t")
            yield line.split("\t")


def _is_row_of_views(line: str) -> bool:
    """Return True if a line has 5 to 7 cells; the second is the code of a country, and the last is a count."""
    cells = line.split("\t")
    return (
        len(cells) - 1 in _NAMES and _CODE.fullmatch(cells[1]) is not None and _COUNT.fullmatch(cells[-1]) is not None
    )


@contextmanager
def _open_lines(path: Path) -> Iterator[Iterator[str]]:
    """Yield the lines of a text file, which may be compressed by gzip, without their line ends.

    Raise SourceError if the file cannot be read, or is not in UTF-8.
    """
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8", newline="\n") as lines:
            yield (line.rstrip("\r\n") for line in lines)
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or "broken"
        raise SourceError(f"{str(path)!r} cannot be read ({why}): check it") from None
    except UnicodeDecodeError:
        raise SourceError(f"{str(path)!r} is not in UTF-8: check that it is whole") from None
