"""The listed cells of a table as rows that records are joined with."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    Integer,
    Select,
    and_,
    case,
    func,
    literal_column,
    select,
)

from noisycount.release.question.grouping import Part
from noisycount.release.question.keys import CellQuestion, KeySet
from noisycount.release.sources.expressions.keys import coded, is_text
from noisycount.release.sources.sql.dialect import Dialect, Expression

__all__ = ["with_cells"]


def with_cells(question: CellQuestion, asked: FromClause, dialect: Dialect) -> Select[Any]:
    """Rows of keys with the number of their cell as `cell`; missing: they are of none.

    Keys are looked up one by one and never missing: a missing one is found by itself.

    Args:
        question: Which cells there are.
        asked: Rows with keys as `k0`, `k1` and so on.
        dialect: What the server says in its own way.
    """
    keys = question.keys
    joined, places = asked, []
    for number, part in enumerate(keys.parts):
        joined, place = _looked_up(number, part, keys, joined, asked.c[f"k{number}"], dialect)
        places.append(place)
    if keys.is_grid:
        cell = _grid_cell(places, keys)
    else:
        joined, cell = _listed_cell(places, keys, joined, dialect)
    if question.has_other:
        cell = func.coalesce(cell, _whole(len(keys)))
    return select(*asked.c, cell.label("cell")).select_from(joined)


def _looked_up(  # noqa: PLR0913, PLR0917 - of one join
    number: int,
    part: Part,
    keys: KeySet,
    joined: FromClause,
    key: ColumnElement[Any],
    dialect: Dialect,
) -> tuple[FromClause, Expression]:
    """A join with the values of one part, and the place of the key among them, from 0 on."""
    type_ = dialect.text_type if is_text(part) else BigInteger()
    codes = {place: coded(value) for place, value in enumerate(keys.values[number])}
    nothing = next((place for place, value in codes.items() if value is None), None)
    held = {place: value for place, value in codes.items() if value is not None}
    values, places = (list(held.values()), type_), (list(held), Integer())
    listed = dialect.listed(f"l{number}", {"value": values, "code": places})
    value = dialect.text(listed.c.value) if is_text(part) else listed.c.value
    once = _once({"value": value}, listed.c.code).subquery(f"v{number}")
    joined = joined.outerjoin(once, key == once.c.value)
    if nothing is None:
        return joined, once.c.code
    return joined, case((key.is_(None), _whole(nothing)), else_=once.c.code)


def _once(keys: dict[str, ColumnElement[Any]], code: ColumnElement[Any]) -> Select[Any]:
    """Each of some keys with its code: so a server knows that a record is joined with one of them.

    PostgreSQL would else hash the records in place of the keys.
    """
    named = [key.label(name) for name, key in keys.items()]
    return select(*named, func.min(code).label("code")).group_by(*keys.values())


def _grid_cell(places: list[Expression], keys: KeySet) -> Expression:
    """The number of a cell of all combinations, the last part's keys following each other."""
    cell = _whole(0)
    for place, values in zip(places, keys.values, strict=True):
        cell = cell * _whole(len(values)) + place
    return cell


def _listed_cell(
    places: list[Expression], keys: KeySet, joined: FromClause, dialect: Dialect
) -> tuple[FromClause, Expression]:
    """A join with the places of the keys of each cell, and the number of that."""
    codes = {f"p{n}": (keys.codes[:, n].tolist(), Integer()) for n in range(len(places))}
    listed = dialect.listed("listed_cells", codes)
    once = _once({name: listed.c[name] for name in codes}, listed.c.place).subquery("cells")
    same = [once.c[f"p{n}"] == place for n, place in enumerate(places)]
    cell = once.c.code - literal_column("1", BigInteger)
    return joined.outerjoin(once, and_(*same)), cell


def _whole(number: int) -> Expression:
    return literal_column(str(number), BigInteger)
