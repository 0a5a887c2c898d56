"""The same question as a call of the command line, of Python and of curl, without any key."""

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from noisycount.app.table.keys import Value

__all__ = ["calls_of"]

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_ -]*")
_WORDS = {"null", "true", "false"}
_SHELL = re.compile(r'["$`\\!\n]')


def calls_of(dataset: str, body: Mapping[str, Any], address: str) -> list[tuple[str, str]]:
    r"""What to copy, each with its name.

    Args:
        dataset: The name of the data set.
        body: What is asked, as a program sends it.
        address: Where the service is, such as `https://counts.example`.

    Example:
        >>> body = {"where": "health = 'poor'", "epsilon": "0.1"}
        >>> print(calls_of("survey", body, "https://counts.example")[0][1])
        noisycount count survey \
            --where "health = 'poor'" \
            --epsilon 0.1
    """
    return [
        ("Command line", _command(dataset, body)),
        ("Python", _python(dataset, body)),
        ("curl", _curl(dataset, body, address)),
    ]


def _command(dataset: str, body: Mapping[str, Any]) -> str:
    """The command of somebody who has the records."""
    words = [f"noisycount count {_quoted(dataset)}"]
    for name, value in body.items():
        option = f"--{name.replace('_', '-')}"
        if name == "keys":
            texts = (f"{column}={_listed(listed)}" for column, listed in value.items())
            words += [f"{option} {_quoted(text)}" for text in texts]
        elif value is True:
            words.append(option)
        elif name in {"by", "margins"}:
            words.append(f"{option} {_quoted(','.join(value))}")
        else:
            words.append(f"{option} {_quoted(_number(value))}")
    return " \\\n    ".join(words)


def _python(dataset: str, body: Mapping[str, Any]) -> str:
    """The call of somebody who has the records."""
    is_table = "by" in body
    said = {name: value for name, value in body.items() if name != "confidence"}
    confidence = body.get("confidence")
    arguments = [f"{name}={value!r}" for name, value in said.items()]
    if confidence is not None:
        arguments.append(f"confidence={float(confidence.rstrip('% ')) / 100:.12g}")
    call = "release_table" if is_table else "release"
    inside = ",\n    ".join(arguments)
    return (
        "import noisycount as nc\n\n"
        f"desk = nc.open_desk({dataset!r}, unit=None)\n"
        f"print(desk.{call}(\n    {inside},\n))"
    )


def _curl(dataset: str, body: Mapping[str, Any], address: str) -> str:
    """The call of anybody who has a key to the service."""
    place = shlex.quote(f"{address}/v1/datasets/{quote(dataset)}/releases")
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
