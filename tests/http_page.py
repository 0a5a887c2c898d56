"""The second half of the page of HTTP, from the OpenAPI document: `python -m tests.http_page`.

The text above the heading *Routes* is written by hand.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.helpers.service_callers import calling, configured, serving

__all__ = ["PAGE", "openapi_document", "operations", "page"]

PAGE = Path(__file__).parents[1] / "docs/reference/http.md"
_FIRST_HEADING = "## Routes\n"
_REFUSALS = """\
## Refusals

A refusal is `application/problem+json` (RFC 9457) with four members: `type`, `title`, `status`, and `detail`, one line
with the fault and the remedy. `type` is `urn:noisycount:` and one of these names:
"""
_COMMANDS = {"RefineRequest": "refine", "RiskRequest": "risk"}
"""Bodies whose members are described as options of a command, and that command."""

_TYPES = {"string": "text"}
_PLURALS = {"text": "texts", "number": "numbers"}


def openapi_document() -> dict[str, Any]:
    """Return the document that the service replies to `GET /openapi.json`."""
    with TemporaryDirectory() as folder, serving(configured(Path(folder))) as state:
        return dict(calling(state).get("/openapi.json").json())


def operations(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the operations of the document by method and path, in the order of paths."""
    return {
        f"{method.upper()} {path}": operation
        for path, methods in sorted(document["paths"].items())
        for method, operation in methods.items()
    }


def page() -> str:
    """Return the page with its second half as the document has it now."""
    document = openapi_document()
    parts = (_routes(document), _parameters(document), _bodies(document), _refusals(document))
    by_hand = PAGE.read_text(encoding="utf-8").partition(_FIRST_HEADING)[0]
    return by_hand + "\n".join("".join(part) for part in parts)


def _routes(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield a table with a row for each route: its body, purpose and reply."""
    yield f"{_FIRST_HEADING}\n| request | purpose | reply |\n| --- | --- | --- |\n"
    for route, operation in operations(document).items():
        body = _body_name(operation)
        with_body = f" with a [{body}](#{body.lower()})" if body else ""
        status, reply = next((s, reply) for s, reply in operation["responses"].items() if s < "300")
        yield f"| `{route}`{with_body} | {operation['description']} | {status}: {reply['description']} |\n"


def _body_name(operation: Mapping[str, Any]) -> str:
    """Return the name of the schema of an operation's body; empty if it has none."""
    content = operation.get("requestBody", {}).get("content", {})
    return str(content["application/json"]["schema"]["$ref"].rpartition("/")[2]) if content else ""


def _parameters(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield an item for each parameter, with the routes that have it."""
    routes: dict[str, list[str]] = {}
    for route, operation in operations(document).items():
        for parameter in operation.get("parameters", []):
            kind = "header" if parameter["in"] == "header" else f"in the {parameter['in']}"
            needed = "" if parameter["in"] == "path" else ", required" if parameter["required"] else ""
            default = parameter["schema"].get("default")
            text = parameter["description"] + (f" Default: `{default}`." if default else "")
            routes.setdefault(f"`{parameter['name']}` *{kind}{needed}*: {text}", []).append(route)
    yield "## Parameters\n\n"
    for text, having in routes.items():
        yield f"* {text}" + (f" Only of `{having[0]}`.\n" if len(having) == 1 and "{id}" not in having[0] else "\n")


def _bodies(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield a section for each body: its members with their types, and for a question also with their meanings."""
    yield "## Bodies\n"
    for name, schema in document["components"]["schemas"].items():
        yield f"\n### {name}\n\n{schema['description']}"
        members = list(_members(schema))
        if command := _COMMANDS.get(name):
            listed = ", ".join(f"`{member}` *{type_}*" for member, type_, _ in members)
            yield f" The options of [{command}](commands.md#{command}) explain these members:\n\n{listed}.\n"
        else:
            yield "\n\n" + "".join(f"* `{member}` *{type_}*: {text}\n" for member, type_, text in members)
        example = schema["example"] if "example" in schema else schema["examples"][-1]
        yield f"\n```json\n{json.dumps(example, ensure_ascii=False)}\n```\n"


def _members(schema: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield each member of a body with its type and its meaning."""
    for member, value in schema["properties"].items():
        needed = ", required" if member in schema.get("required", []) else ""
        default = value.get("default") or ""
        text = value["description"] + (f" Default: `{json.dumps(default)}`." if default else "")
        yield member, f"{_type(value)}{needed}", text


def _type(schema: Mapping[str, Any]) -> str:
    """Return a type with the range of its numbers, in the words of the page."""
    kinds = list(_alternatives(schema))
    words = list(dict.fromkeys(map(_single_type, kinds)))
    return " or ".join(words).removeprefix("integer or ") + _range({**kinds[-1], **schema})


def _alternatives(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schemas of which a value has one, with the limits of the schemas around them, except null."""
    if "anyOf" not in schema:
        yield dict(schema)
        return
    limits = {key: value for key, value in schema.items() if key != "anyOf"}
    for kind in schema["anyOf"]:
        if kind.get("type") != "null":
            yield from ({**limits, **inner} for inner in _alternatives(kind))


def _single_type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if schema["type"] == "array":
        return f"list of {_PLURALS[_type(schema['items']).partition(',')[0]]}"
    return str(_TYPES.get(schema["type"], schema["type"]))


def _range(schema: Mapping[str, Any]) -> str:
    """Return the range of a number, such as ", 1 to 1000"; empty for other values."""
    low, high = (schema.get(names[0], schema.get(names[1])) for names in (("minimum", "ge"), ("maximum", "le")))
    above = schema.get("exclusiveMinimum", schema.get("gt"))
    if above is not None:
        return f" above {above}"
    return "" if high is None else f", {int(low or 0)} to {int(high)}"


def _refusals(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield an item for each status of a refusal, with its causes, and the routes if not all can reply with it."""
    yield f"{_REFUSALS}\n"
    every_route = operations(document)
    refusals = {s: reply for each in every_route.values() for s, reply in each["responses"].items() if s >= "400"}
    for status, reply in sorted(refusals.items()):
        having = [route for route, operation in every_route.items() if status in operation["responses"]]
        lacking = [f"`{route}`" for route in every_route if route not in having]
        only = (
            f" Only of `{having[0]}`." if len(having) == 1 else f" Not of {' and '.join(lacking)}." if lacking else ""
        )
        yield f"* **{status}** {reply['description']}{only}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
