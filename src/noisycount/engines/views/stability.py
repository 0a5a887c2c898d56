"""The refusal of views in which one unit could change the rows of others, or whose rows change by themselves.

The parser of definitions is loaded only for a view, or for a table with generated columns.
"""

from typing import TYPE_CHECKING

from noisycount.engines.views.relations import (
    BaseTable,
    Relations,
    UnitClaim,
    UnprovenError,
    ViewDefinition,
    VolatileError,
    fold,
    unproven_view_error,
    unreadable_view_error,
)
from noisycount.errors import SourceError

if TYPE_CHECKING:
    from noisycount.engines.views.proof import Proof


def require_stable(relation: BaseTable | ViewDefinition, relations: Relations, dialect: str, claim: UnitClaim) -> None:
    """Raise SourceError if one unit could change rows of others, or if the same records could give other rows."""
    if isinstance(relation, BaseTable) and not relation.computed:
        return
    _require_steady(relation, relations, dialect)
    if isinstance(relation, BaseTable) or claim.vouched is not None or not claim.is_stated:
        return
    from noisycount.engines.views.proof import Proof  # noqa: PLC0415 - loads the parser

    proof = Proof(dialect, relations, frozenset(fold(name, dialect) for name in claim.public_tables))
    try:
        _require_units(proof, relation, claim.unit)
    except UnprovenError as error:
        reason = str(error)
    else:
        return
    raise unproven_view_error(relation.name, claim.unit, reason)


def _require_steady(relation: BaseTable | ViewDefinition, relations: Relations, dialect: str) -> None:
    """Raise SourceError if the same records could give other rows."""
    from noisycount.engines.views.definition import require_steady  # noqa: PLC0415 - loads the parser

    try:
        require_steady(relation, relations, dialect)
    except UnprovenError as error:
        refusal = unreadable_view_error(relation.name, str(error))
    except VolatileError as error:
        refusal = SourceError(
            f"{relation.name!r} has {str(error)!r}, which may give other rows for the same records: "
            "make it a table that is stored"
        )
    else:
        return
    raise refusal


def _require_units(proof: "Proof", view: ViewDefinition, unit: str | None) -> None:
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
        reason = next((proof.reasons[origin] for origin in rows.origins[name] if origin in proof.reasons), None)
        raise UnprovenError(reason or f"{unit!r} is not one column of each table that it reads")
