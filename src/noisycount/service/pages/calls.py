"""The same question as a call of the command line, of Python and of curl, without any key."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from noisycount.display.numbers import percent
from noisycount.ledger.entries import Entry, asked_of
from noisycount.model.tables.levels import Label
from noisycount.query.grouping import Edges, Part
from noisycount.query.predicate import written_name
from noisycount.query.query import items
from noisycount.query.schema import Kind
from noisycount.query.table import parts_of
from noisycount.readers.values import parse_share
from noisycount.validation import exact_text


def body_of(entry: Entry, columns: Mapping[str, Kind], confidence: float | None) -> dict[str, Any] | None:
    """The body of a request for the answer that the ledger has; None for what no form asks."""
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


def with_purpose(body: Mapping[str, Any], purpose: str, *, wants: bool) -> dict[str, Any]:
    """What a program sends, with what the answer is for where the owner wants it said."""
    said = purpose or ("what the answer is for" if wants else "")
    return {**body, "purpose": said} if said else dict(body)


def _is_callable(table: Mapping[str, Any]) -> bool:
    """Whether it is a list, or every combination of keys was asked, or nobody listed any."""
    if "questions" in table:
        return True
    names = [name for margin in table["margins"] for name in margin]
    return (table["keys"] is None or "grid" in table["keys"]) and not any(
        sign in name for name in names for sign in ",*"
    )


def _table(table: Mapping[str, Any], columns: Mapping[str, Kind], unit: str | None) -> dict[str, Any]:
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
    return [part.label(part.column.kind.key(key)) for key in stored]


_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(?: [A-Za-z0-9_-]+)*")
_WORDS = {"null", "true", "false"}
_SHELL = re.compile(r'["$`\\!\n]')


def calls_of(dataset: str, body: Mapping[str, Any], address: str, analyst: str | None = None) -> list[tuple[str, str]]:
    r"""What to copy, each with its name.

    Args:
        dataset: The name of the data set.
        body: What is asked, as a program sends it.
        address: Where the service is, such as `https://counts.example`.
        analyst: Who asks, where the owner has named those who may; a service knows it by the key.

    Example:
        >>> body = {"where": "health = 'poor'", "epsilon": "0.1"}
        >>> print(calls_of("survey", body, "https://counts.example")[0][1])
        noisycount count survey \
            --where "health = 'poor'" \
            --epsilon 0.1
    """
    return [
        ("Command line", _command(dataset, body, analyst)),
        ("Python", _python(dataset, body, analyst)),
        ("curl", _curl(dataset, body, address)),
    ]


def _command(dataset: str, body: Mapping[str, Any], analyst: str | None) -> str:
    """The command of somebody who has the records."""
    said = dict(body) if analyst is None else {**body, "analyst": analyst}
    options = (words for name, value in said.items() for words in _options(name, value))
    return " \\\n    ".join([f"noisycount count {_quoted(dataset)}", *options])


def _options(name: str, value: Any) -> Iterator[str]:  # noqa: ANN401 - whatever JSON has
    """What stands on the command line for a member of the body."""
    option = f"--{name.replace('_', '-')}"
    if value is True:
        yield option
    elif name == "keys":
        for column, listed in value.items():
            yield f"{option} {_quoted(f'{written_name(column)}={_listed(listed)}')}"
    elif name in {"by", "margins"}:
        yield f"{option} {_quoted(','.join(value))}"
    else:
        for each in value if isinstance(value, list) else [value]:
            yield f"{option} {_quoted(_number(each))}"


def _python(dataset: str, body: Mapping[str, Any], analyst: str | None) -> str:
    """The call of somebody who has the records."""
    said = dict(body)
    call = "release_table" if "by" in said else "release"
    if "by" in said:
        said["by"] = [item.text for text in said["by"] for item in items(text)]
    elif isinstance(said["where"], list):
        call, said = "release_many", {"wheres": said.pop("where"), **said}
    if "confidence" in said:
        said["confidence"] = parse_share(said["confidence"])
    inside = ",\n    ".join(f"{name}={value!r}" for name, value in said.items())
    who = "" if analyst is None else f", analyst={analyst!r}"
    return f"import noisycount as nc\n\ndesk = nc.open_desk({dataset!r}{who})\nprint(desk.{call}(\n    {inside},\n))"


def _curl(dataset: str, body: Mapping[str, Any], address: str) -> str:
    """The call of anybody who has a key to the service."""
    place = shlex.quote(f"{address}/v1/datasets/{quote(dataset, safe='')}/releases")
    sent = json.dumps(body, ensure_ascii=False, indent=2)
    return (
        f"curl {place} \\\n"
        '    -H "Authorization: Bearer $NOISYCOUNT_KEY" \\\n'
        '    -H "Idempotency-Key: $(uuidgen)" \\\n'
        "    -H 'Content-Type: application/json' \\\n"
        f"    --data-binary @- <<'JSON'\n{sent}\nJSON"
    )


def _listed(keys: list[Label]) -> str:
    """Keys as the command line has them."""
    return ",".join("null" if key is None else _key(key) for key in keys)


def _key(key: int | str | bool) -> str:  # noqa: FBT001 - a key may be true
    """A key; a text in quotes where it could be read as anything else."""
    if isinstance(key, bool):
        return str(key).lower()
    if isinstance(key, int) or (_PLAIN.fullmatch(key) and key.lower() not in _WORDS):
        return str(key)
    escaped = key.replace("'", "''")
    return f"'{escaped}'"


def _quoted(text: str) -> str:
    """A word of a shell; in double quotes where it has single ones and nothing for a shell."""
    return f'"{text}"' if "'" in text and not _SHELL.search(text) else shlex.quote(text)


def _number(value: object) -> str:
    """A value of an option; a whole number without a point."""
    return value if isinstance(value, str) else str(value).removesuffix(".0")
