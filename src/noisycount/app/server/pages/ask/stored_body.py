"""What a ledger keeps of a question, as a program would send it again."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from noisycount.release.budget.exact import exact_text
from noisycount.release.ledger.asked import asked_of
from noisycount.release.ledger.entries import Entry
from noisycount.release.question.grouping import Edges, Part
from noisycount.release.question.schema import Kind
from noisycount.release.tables.parts import parts_of
from noisycount.shown.numbers import percent

__all__ = ["body_of"]


def body_of(
    entry: Entry, columns: Mapping[str, Kind], confidence: float | None
) -> dict[str, Any] | None:
    """The body of a request for the same answer; None for what no form asks.

    Args:
        entry: As the ledger has it.
        columns: What questions may use.
        confidence: With which errors were stated.
    """
    question, epsilon = asked_of(entry), entry.request.epsilon
    table = question.get("table")
    if epsilon is None or (table is not None and not _is_grid(table)):
        return None
    body: dict[str, Any] = {} if question["where"] is None else {"where": question["where"]}
    if table is not None:
        body |= _table(table, parts_of(table["by"], columns, question["unit"]))
    body["epsilon"] = exact_text(epsilon)
    if table is not None and entry.request.delta:
        body["delta"] = exact_text(entry.request.delta)
    sure = {} if confidence is None else {"confidence": percent(confidence).replace(" ", "")}
    return body | sure


def _is_grid(table: Mapping[str, Any]) -> bool:
    """Whether every combination of keys was asked, or nobody listed any."""
    keys = table.get("keys")
    return "by" in table and not table.get("cumulative") and (keys is None or "grid" in keys)


def _table(table: Mapping[str, Any], parts: tuple[Part, ...]) -> dict[str, Any]:
    """The groups, their keys and margins."""
    grid = [None] * len(parts) if table["keys"] is None else table["keys"]["grid"]
    keys = {part.column.name: _keys(part, of) for part, of in zip(parts, grid, strict=True)}
    said = {
        "by": [part.text for part in parts],
        "keys": {name: listed for name, listed in keys.items() if listed is not None},
        "other": table["other"],
        "margins": ["*".join(margin) or "total" for margin in table["margins"]],
        "groups_per_unit": table["groups_per_unit"],
    }
    return {name: value for name, value in said.items() if value}


def _keys(part: Part, stored: list[Any] | None) -> list[Any] | None:
    """The keys as one types them; None where they follow from the part."""
    if stored is None or tuple(stored) == part.implied:
        return None
    if isinstance(part, Edges) and None in stored:
        return [None]
    return [_label(part, key) for key in stored]


def _label(part: Part, key: Any) -> Any:  # noqa: ANN401 - a key in the types of JSON
    """A key as `Part.checked` reads it again."""
    is_day = isinstance(key, str) and part.column.kind is Kind.DATE
    return part.label(date.fromisoformat(key) if is_day else key)
