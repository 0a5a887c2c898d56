"""The refusal of views in which one unit could change the rows of others, or whose rows change by themselves."""

from noisycount.engines.views.claim import UnitClaim
from noisycount.engines.views.definition import (
    BaseTable,
    Relations,
    UnprovenError,
    ViewDefinition,
    VolatileError,
    fold,
    require_steady,
)
from noisycount.engines.views.proof import Proof
from noisycount.errors import SourceError


def require_stable(relation: BaseTable | ViewDefinition, relations: Relations, dialect: str, claim: UnitClaim) -> None:
    """Raise SourceError if one unit could change rows of others, or if the same records could give other rows."""
    _require_steady(relation, relations, dialect)
    if isinstance(relation, BaseTable) or claim.vouched is not None or not claim.is_stated:
        return
    proof = Proof(dialect, relations, frozenset(fold(name, dialect) for name in claim.public_tables))
    try:
        _require_units(proof, relation, claim.unit)
    except UnprovenError as error:
        reason = str(error)
    else:
        return
    raise unproven_view(relation.name, claim.unit, reason)


def unproven_view(name: str, unit: str | None, reason: str) -> SourceError:
    """Return the refusal of a view of which it is not proved that each row is of one unit."""
    whose = "record" if unit is None else f"value of {unit!r}"
    return SourceError(
        f"{name!r} is a view, and that each of its rows comes from one {whose} is not proved: {reason}; name a table, "
        'list public_tables in noisycount.toml, or state there why it holds: vouched = "…"'
    )


def _require_steady(relation: BaseTable | ViewDefinition, relations: Relations, dialect: str) -> None:
    """Raise SourceError if the same records could give other rows."""
    try:
        require_steady(relation, relations, dialect)
    except UnprovenError as error:
        refusal = unreadable_view(relation.name, str(error))
    except VolatileError as error:
        refusal = SourceError(
            f"{relation.name!r} has {str(error)!r}, which may give other rows for the same records: "
            "make it a table that is stored"
        )
    else:
        return
    raise refusal


def unreadable_view(name: str, reason: str) -> SourceError:
    """Return the refusal of a view of which it is not known what it reads."""
    return SourceError(f"{name!r} is a view that cannot be judged: {reason}: make it a table that is stored")


def _require_units(proof: Proof, view: ViewDefinition, unit: str | None) -> None:
    """Raise UnprovenError if a row of a view may depend on several units."""
    try:
        rows = proof.rows(view)
    except RecursionError:
        raise UnprovenError("its definition is too deep to be read") from None
    if unit is None:
        if not rows.is_recordwise:
            raise UnprovenError("it joins, groups or repeats records, so one of them may change several rows")
    elif (name := fold(unit, proof.dialect)) not in rows.columns:
        raise UnprovenError(f"none of its columns is named {unit!r}")
    elif name not in rows.units:
        reason = next((proof.reasons[each] for each in rows.origins[name] if each in proof.reasons), None)
        raise UnprovenError(reason or f"{unit!r} is not one column of each table that it reads")
