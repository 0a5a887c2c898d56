"""What an entry of a ledger asks, in words."""

from typing import Any

from noisycount.errors import LedgerError
from noisycount.release.ledger.asked import asked_of
from noisycount.release.ledger.entries import Entry
from noisycount.release.ledger.table_answer import TableAnswer
from noisycount.shown.numbers import signed

__all__ = ["asked_object", "asked_words", "number_of"]

_FEW = 3  # questions that are all named


def asked_words(entry: Entry) -> str:
    """The predicate of a count; what a table is grouped by, or its questions.

    Raises:
        LedgerError: No command wrote the entry.
    """
    question = asked_of(entry)
    table, where = question.get("table"), question.get("where")
    if table is None and isinstance(where, str):
        return where
    if isinstance(table, dict) and _are_texts(table.get("questions")):
        return _questions_words(table["questions"])
    if isinstance(table, dict) and _are_texts(table.get("by")) and isinstance(where, str | None):
        kind = "rows" if question.get("unit") is None else "persons"
        matching = "" if where is None else f" where {where}"
        return f"{kind} by {' × '.join(table['by'])}{_size_words(entry, table)}{matching}"
    raise LedgerError(
        f"key {entry.key!r} of the ledger has a question that no noisycount wrote;"
        " `noisycount ledger export` shows it as it is"
    )


def asked_object(entry: Entry) -> dict[str, Any]:
    """The predicate, and of a table all but its keys, as JSON.

    Raises:
        LedgerError: No command wrote the entry.
    """
    asked_words(entry)
    question = asked_of(entry)
    told = {"where": question["where"]}
    if "table" in question:
        told["table"] = {name: of for name, of in question["table"].items() if name != "keys"}
    return told


def number_of(noun: str, number: int) -> str:
    """So many of a thing.

    Example:
        >>> number_of("count", 1), number_of("count", 1200)
        ('1 count', '1,200 counts')
    """
    return f"{signed(number)} {noun}{'' if number == 1 else 's'}"


def _questions_words(questions: list[str]) -> str:
    named = "; ".join(questions[: _FEW if len(questions) <= _FEW else 1])
    rest = "" if len(questions) <= _FEW else "; …"
    return f"{number_of('question', len(questions))}: {named}{rest}"


def _size_words(entry: Entry, table: dict[str, Any]) -> str:
    """How many cells the table has, where they are public and were answered."""
    if table.get("keys") is None:
        return " (hidden keys)"
    if not isinstance(entry.answer, TableAnswer):
        return ""
    return f" ({number_of('cell', len(entry.answer.levels[0]))})"


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value)
