"""A place in a file of the census: the noisy measurements of its queries as one table."""

from collections.abc import Sequence
from math import prod
from pathlib import Path

import numpy as np

from noisycount.display.texts import ALL_KEYS, told_name
from noisycount.engines.duckdb.public import NoisyMeasurement, measured_places, measurements
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.tables.levels import TOTAL
from noisycount.query.schema import close_names
from noisycount.tasks.refine.published import PublishedLevel, PublishedTable
from noisycount.tasks.refine.query import RefineQuery

_SIZES = {"cenrace": 63, "hispanic": 2, "votingage": 2, "hhgq": 8, "hhinstlevels": 3, "sex": 2}
_DETAILED = ("hhgq", "votingage", "hispanic", "cenrace")
_FEW = 8


@frozen
class _Query:
    """One query of a place."""

    names: tuple[str, ...]  # what its cells differ in; none for the total
    measured: NoisyMeasurement  # its answers


def census_table(asked: RefineQuery, path: Path) -> PublishedTable:
    """One query of one place, with the queries that are sums of it."""
    if asked.noises:
        raise NoisyCountError(f"{asked.place} says the variance of its noise: leave --epsilon, --noise, --scale out")
    geocode = _geocode(asked, path)
    found = _distinct(measurements(path, geocode), geocode)
    if not found:
        places = ", ".join(measured_places(path, _FEW))
        raise NoisyCountError(f"--geocode {geocode!r} is not in the file: it has {places}, …")
    cells = _chosen(asked.query, found)
    names = cells.names or (cells.measured.query,)
    queries = [cells, *(each for each in found if _is_sum(each, cells))]
    return _table(queries, names, f"{cells.measured.query} of {geocode} in {told_name(path)}")


def _geocode(asked: RefineQuery, path: Path) -> str:
    """The code of the place: as it was typed, or the only one."""
    if asked.geocode is not None:
        return asked.geocode
    places = measured_places(path, 2)
    if len(places) == 1:
        return places[0]
    raise NoisyCountError(
        f"{asked.place} has several places: give --geocode, such as --geocode {places[0]}"
        if places
        else f"{asked.place} has no row: there is nothing to refine"
    )


def _distinct(measured: Sequence[NoisyMeasurement], geocode: str) -> list[_Query]:
    """The queries of a place, each once."""
    names = [each.query for each in measured]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise NoisyCountError(f"--geocode {geocode!r} has the query {twice!r} twice: keep the rows of one level")
    return [_Query(_differing(each), each) for each in measured]


def _differing(measured: NoisyMeasurement) -> tuple[str, ...]:
    """What the cells of a query differ in, where the number of its cells tells."""
    stem = measured.query.removesuffix("_dpq").strip()
    names = _DETAILED if stem == "detailed" else tuple(part.strip() for part in stem.split("*"))
    if len(measured.values) == 1:
        return ()
    is_known = all(name in _SIZES for name in names)
    if is_known and prod(_SIZES[name] for name in names) == len(measured.values):
        return names
    return (stem,)


def _chosen(query: str | None, found: Sequence[_Query]) -> _Query:
    """The query whose cells are refined."""
    names = [each.measured.query for each in found]
    several = [each for each in found if each.names]
    if query is None and len(several) == 1:
        return several[0]
    if query is None:
        raise NoisyCountError(f"--query is missing: give one of {close_names('', names)}")
    for each in found:
        if _plain(each.measured.query) == _plain(query):
            return each
    raise NoisyCountError(f"--query {query!r} was not measured: use {close_names(query, names)}")


def _plain(query: str) -> str:
    """A query without what is written in several ways."""
    return query.lower().removesuffix("_dpq").replace(" ", "")


def _is_sum(query: _Query, cells: _Query) -> bool:
    """Whether the answers of a query are sums of cells."""
    return set(query.names) < set(cells.names) and (bool(query.names) or _is_total(query))


def _is_total(query: _Query) -> bool:
    return _plain(query.measured.query) == TOTAL


def _table(queries: Sequence[_Query], names: tuple[str, ...], subject: str) -> PublishedTable:
    """Queries as levels of one table."""
    keys: list[tuple[str, ...]] = []
    levels: list[PublishedLevel] = []
    for query in queries:
        kept = tuple(range(len(names))) if query is queries[0] else _places(query.names, names)
        own = _keys(query, kept, len(names))
        rows = np.arange(len(keys), len(keys) + len(own))
        noise = DiscreteGaussian(query.measured.variance**0.5)
        levels.append(PublishedLevel(query.measured.query, rows, noise, kept))
        keys += own
    answers = np.concatenate([query.measured.values for query in queries])
    named = [level.name for level in levels for _ in level.rows]
    return PublishedTable(
        subject=subject,
        names=names,
        keys=keys,
        answers=answers.astype(np.float64),
        levels=tuple(levels),
        below=np.full(answers.size, np.nan),
        columns={
            **{name: [None if key[at] == ALL_KEYS else key[at] for key in keys] for at, name in enumerate(names)},
            "query": named,
            "answer": answers.tolist(),
        },
    )


def _places(own: Sequence[str], names: Sequence[str]) -> tuple[int, ...]:
    """The places of some names among all."""
    return tuple(at for at, name in enumerate(names) if name in own)


def _keys(query: _Query, kept: Sequence[int], width: int) -> list[tuple[str, ...]]:
    """The keys of the cells of a query: numbers from 1, in the order of its list."""
    sizes = [_SIZES[name] for name in query.names] if len(query.names) > 1 else [len(query.measured.values)]
    codes = np.indices(sizes).reshape(len(sizes), -1).T + 1
    found = []
    for code in codes.tolist():
        key = [ALL_KEYS] * width
        for at, number in zip(kept, code, strict=False):
            key[at] = str(number)
        found.append(tuple(key))
    return found
