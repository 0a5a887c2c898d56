"""The same question as a call of the command line, of Python and of curl, without any key."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from noisycount.app.options.common import share
from noisycount.app.table.keys import Value
from noisycount.app.table.typed import items
from noisycount.release.question.text import written_name

__all__ = ["calls_of"]

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(?: [A-Za-z0-9_-]+)*")
_WORDS = {"null", "true", "false"}
_SHELL = re.compile(r'["$`\\!\n]')


def calls_of(
    dataset: str, body: Mapping[str, Any], address: str, analyst: str | None = None
) -> list[tuple[str, str]]:
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
        said["confidence"] = share(said["confidence"])
    inside = ",\n    ".join(f"{name}={value!r}" for name, value in said.items())
    who = "" if analyst is None else f", analyst={analyst!r}"
    return (
        "import noisycount as nc\n\n"
        f"desk = nc.open_desk({dataset!r}{who})\n"
        f"print(desk.{call}(\n    {inside},\n))"
    )


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


def _listed(keys: list[Value]) -> str:
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
