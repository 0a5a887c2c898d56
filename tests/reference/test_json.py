import re
import shlex
from collections.abc import Iterator
from datetime import datetime, timedelta
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path

import click
import pytest

from noisycount.cli.main import COMMANDS, noisycount
from noisycount.engines.conformance.suite import examine, suite
from tests.commands_page import names
from tests.helpers.commands import Run
from tests.helpers.reference_pages import blocks, text

EXAMINED = "noisycount.engines.conformance.suite.examine"

PAGE = "json.md"
OF_THE_PAGE = {"Types", "Files of the examples"}  # sections that are no command

COUNT = "noisycount count survey --analyst ana"
MORE_EXAMPLES = {  # objects with fields that the example of the page lacks
    "plan": [
        "noisycount plan --error 15 --json",
    ],
    "plan --at-most": [
        "noisycount plan --within 20% --json",
    ],
    "count": [
        f"{COUNT} --where \"health = 'poor'\" --epsilon 0.05 --json",
        f"{COUNT} --where \"health = 'good'\" --within 20% --at-most 0.2 --json",
    ],
    "count --dry-run": [
        f"{COUNT} --where \"health = 'fair'\" --within 20% --at-most 0.2 --dry-run --json",
    ],
    "count --by": [
        f"{COUNT} --by year:1,2,3 --groups-per-unit 1 --cumulative --epsilon 1 --json",
        f"{COUNT} --by site --groups-per-unit 1 --epsilon 1 --delta 1e-7 --json",
        f'{COUNT} --where "age < 18" --where "age >= 50" --rho 0.01 --noise gaussian --json',
        f"{COUNT} --by health --keys health=good,fair --within 20% --at-most 0.2 --of largest --json",
    ],
    "count --by --dry-run": [
        f"{COUNT} --by health --keys health=good,poor --within 20% --at-most 0.2 --of 90%-of-cells --dry-run --json",
    ],
    "refine": [
        "noisycount refine 98.2 110.9 --size 5912 --noise gaussian --scale 10 --json",
        "noisycount refine 88 90 --size 5912 --epsilon 0.1 --epsilon 0.05 --json",
    ],
    "risk": [
        "noisycount risk --size 1000 --rate 10% --noise none --sample 100 --json",
    ],
    "copies": [
        "noisycount copies --remove --json",
    ],
}

NOT_ALWAYS = re.compile(r"(?:^|; |: )only (?:if|with|for)\b")
FIELD = re.compile(r"^( *)\* ((?:`[^`]+`(?:, )?)+) \*(.+?)\*(?:: (.*))?$")
SHAPE = re.compile(r"^( *)\* \[.+?\]\(#([\w-]+)\)")
PLURAL = re.compile(r"\b((?:object|text|integer|number|list|exact)s)\b")
LINK = re.compile(r"\[.+?\]\(#([\w-]+)\)")
Fields = dict[str, tuple[str, str]]


def parts_of_level(marks: str) -> Iterator[tuple[str, str]]:
    """Yield each heading of a level, such as "##", with the text up to the next one, in order."""
    starts = [*re.finditer(rf"^{marks} (.+)$", text(PAGE), re.MULTILINE), None]
    for start, following in pairwise(starts):
        assert start is not None
        yield start[1], text(PAGE)[start.end() : following and following.start()]


def sections() -> Iterator[tuple[str, str]]:
    """Yield the commands of the page, each with the text below its heading, in order."""
    yield from ((heading, part) for heading, part in parts_of_level("##") if heading not in OF_THE_PAGE)


def shape(anchor: str) -> Fields:
    """Return the fields of a section to which fields of several objects link."""
    (part,) = [part for heading, part in parts_of_level("###") if heading.lower().replace(" ", "-") == anchor]
    return fields(part.partition("\n## ")[0])


def commands(part: str) -> list[str]:
    """Return the examples below a heading, each as one line."""
    return re.sub(r" \\\n +", " ", "".join(blocks(part, "sh"))).splitlines()


def fields(part: str) -> Fields:
    """Return the fields of an object by their paths, each with its type and its meaning."""
    known: Fields = {}
    parents: list[str] = []
    for line in re.sub(r"\n +(?! *\*)", " ", part).splitlines():
        if match := SHAPE.match(line):
            prefix = _prefix(parents[: len(match[1]) // 2], known)
            _add(known, {f"{prefix}{name}": value for name, value in shape(match[2]).items()})
        elif match := FIELD.match(line):
            parents = parents[: len(match[1]) // 2]
            prefix = _prefix(parents, known)
            names = [f"{prefix}{name}" for name in match[2].replace("`", "").split(", ")]
            parents.append(names[0])
            link = LINK.search(match[3])
            type_ = LINK.sub("objects" if match[3].startswith("list of") else "object", match[3])
            type_ = PLURAL.sub(r"list of \1", type_.removeprefix("list of "))
            for name in names:
                _add(known, {name: (type_, match[4] or "")})
                below = shape(link[1]) if link else {}
                _add(known, {f"{_prefix([name], known)}{inner}": value for inner, value in below.items()})
    return known


def _prefix(parents: list[str], known: Fields) -> str:
    """Return the beginning of the paths of fields below the last of some fields."""
    if not parents:
        return ""
    return f"{parents[-1]}[]." if known[parents[-1]][0].startswith("list") else f"{parents[-1]}."


def _add(known: Fields, more: Fields) -> None:
    """Add fields, none of which is known yet."""
    assert not set(known) & set(more), set(known) & set(more)
    known |= more


def is_of(value: object, type_: str) -> bool:
    """Return True if a value has one of the types that the page states."""
    kind = type(value)
    if type_.startswith("list of "):
        inner = type_.removeprefix("list of ").removesuffix("s")
        return isinstance(value, list) and all(is_of(each, inner) for each in value)
    simple = {"null": (type(None),), "boolean": (bool,), "integer": (int,), "number": (int, float)}
    simple |= {"text": (str,), "object": (dict,), "list": (list,)}
    if type_ in simple:
        return kind in simple[type_]
    assert type_ in {"exact", "time"}, type_
    if kind is not str:
        return False
    try:
        return Fraction(str(value)) is not None if type_ == "exact" else _is_utc(str(value))
    except ValueError:
        return False


def _is_utc(value: str) -> bool:
    return datetime.fromisoformat(value).utcoffset() == timedelta(0)


def visited(value: object, known: Fields, path: str = "") -> Iterator[str]:
    """Yield the fields of the page that an object has; raise AssertionError if the page lacks one of them."""
    if isinstance(value, list):
        for each in value:
            yield from visited(each, known, f"{path}[]")
        return
    assert isinstance(value, dict)
    for key, inner in value.items():
        below = f"{path}.{key}".lstrip(".")
        name = below if _is_known(below, known) else f"{path}.COLUMN"
        assert _is_known(name, known), below
        if name in known:
            types = known[name][0].replace("?", " or null").split(" or ")
            assert any(is_of(inner, type_) for type_ in types), (below, inner, types)
            yield name
        if any(other.startswith((f"{name}.", f"{name}[]")) for other in known) and inner is not None:
            yield from visited(inner, known, name)


def _is_known(name: str, known: Fields) -> bool:
    return name in known or any(other.startswith((f"{name}.", f"{name}[]")) for other in known)


@pytest.fixture
def files(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of the page; the doctor asks a small part of its suite."""
    for language, name in re.findall(r"^```(\w+) (\S+)$", text(PAGE), re.MULTILINE):
        (here / name).write_text("\n".join(blocks(text(PAGE), f"{language} {name}")), "utf-8")
    monkeypatch.setattr(EXAMINED, partial(examine, exercises=suite(200)))


@pytest.mark.thorough
@pytest.mark.usefixtures("files")
def test_objects_have_the_fields_of_the_page(run: Run) -> None:
    """Every command of the page is run: each object has its fields, of its types, and no other.

    A field that is not in every object of a command says when it is.
    """
    for name, part in sections():
        known = fields(part)
        examples = [*commands(part), *MORE_EXAMPLES.get(name, [])]
        found = [set(visited(run(*shlex.split(command)[1:]).object, known)) for command in examples]
        assert set().union(*found) | _rare(known) == set(known), name
        for field, (_, what) in known.items():
            always = all(field in each or _is_below_nothing(field, each, known) for each in found)
            assert always or NOT_ALWAYS.search(what), (name, field)


def _rare(known: Fields) -> set[str]:
    """Return the fields that need not be in these objects: not always there, or in a list that can be empty."""
    empty = tuple(f"{name}[]." for name, (_, what) in known.items() if "can be empty" in what)
    return {name for name, (_, what) in known.items() if NOT_ALWAYS.search(what) or name.startswith(empty)}


def _is_below_nothing(field: str, found: set[str], known: Fields) -> bool:
    """Return True if a field is part of a null value or of an empty list."""
    parents = {field[: match.start()].removesuffix("[]") for match in re.finditer(r"\.", field)}
    nullable = {p for p in parents & found if re.search(r"null|list|\?", known[p][0])}
    return bool(nullable)


def test_every_command_with_json_stands_there() -> None:
    """No command that takes --json is left out, and no other stands there."""
    taking = set()
    for name in names():
        command: click.Command = noisycount
        for word in name.split():
            assert isinstance(command, click.Group)
            found = command.get_command(click.Context(command), word)
            assert found is not None
            command = found
        if any("--json" in option.opts for option in command.params):
            taking.add(name)
    document_reply = {re.sub(r" --.*", "", name) for name, _ in sections()}
    assert document_reply == taking
    assert {name for name in COMMANDS if name not in {each.split()[0] for each in taking}} == {"serve", "init", "docs"}


def test_examples_are_those_of_their_heading() -> None:
    """Under each heading stands one example of that command, with --json."""
    for name, part in sections():
        (example,) = commands(part)
        for command in [example, *MORE_EXAMPLES.get(name, [])]:
            assert command.startswith(f"noisycount {re.sub(r' --.*', '', name)} ")
            assert command.split().count("--json") == 1
        assert all(f" {option} " in example for option in re.findall(r"--[\w-]+", name))
    assert {name for name, _ in sections()} >= set(MORE_EXAMPLES)


def test_times_have_a_zone() -> None:
    """A time without one would be no time here."""
    assert is_of("2026-01-31T12:00:00+00:00", "time")
    assert not is_of("2026-01-31", "exact")
    assert not is_of("2026-01-31T12:00:00+02:00", "time")
