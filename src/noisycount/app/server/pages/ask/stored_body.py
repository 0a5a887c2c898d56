"""What a ledger keeps of a question, as a program would send it again."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from noisycount.release.budget.exact import exact_text
from noisycount.release.ledger.asked import asked_of
from noisycount.release.ledger.entries import Entry
from noisycount.release.question.grouping import Edges, Part
from noisycount.release.question.schema import Kind
from noisycount.release.question.text import written_name
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
    if epsilon is None or (table is not None and not _is_callable(table)):
        return None
    body: dict[str, Any] = {} if question["where"] is None else {"where": question["where"]}
    if table is not None:
        listed = table.get("questions")
        body |= {"where": listed} if listed else _table(table, columns, question["unit"])
    body["epsilon"] = exact_text(epsilon)
    if table is not None and entry.request.delta:
        body["delta"] = exact_text(entry.request.delta)
    sure = {} if confidence is None else {"confidence": percent(confidence).replace(" ", "")}
    return body | sure


def _is_callable(table: Mapping[str, Any]) -> bool:
    """Whether it is a list, or every combination of keys was asked, or nobody listed any."""
    if "questions" in table:
        return True
    names = [name for margin in table["margins"] for name in margin]
    return (table["keys"] is None or "grid" in table["keys"]) and not any(
        sign in name for name in names for sign in ",*"
    )


def _table(
    table: Mapping[str, Any], columns: Mapping[str, Kind], unit: str | None
) -> dict[str, Any]:
    """The groups, their keys and margins."""
    parts = [part for text in table["by"] for part in parts_of([text], columns, unit)]
    grid = [None] * len(parts) if table["keys"] is None else table["keys"]["grid"]
    keys = {part.column.name: _keys(part, of) for part, of in zip(parts, grid, strict=True)}
    said = {
        "by": [_written(part) for part in parts],
        "keys": {name: listed for name, listed in keys.items() if listed is not None},
        "other": table["other"],
        "margins": ["*".join(margin) or "total" for margin in table["margins"]],
        "groups_per_unit": table["groups_per_unit"],
        "cumulative": table["cumulative"],
    }
    return {name: value for name, value in said.items() if value}


def _written(part: Part) -> str:
    """A part as one types it in a list, with quotes around a name that needs them."""
    name = part.column.name
    return f"{written_name(name)}{part.text.removeprefix(name)}"


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
