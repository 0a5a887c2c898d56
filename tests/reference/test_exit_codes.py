import inspect
import json
import shlex
from pathlib import Path

import pytest

from noisycount import errors
from noisycount.cli import check, datasets, ledger
from noisycount.cli.main import _KINDS, STATUSES, status_of
from tests.helpers.commands import Run
from tests.helpers.reference_pages import blocks, rows, text

PAGE = "exit-codes.md"

EXAMPLES = [
    (status, command)
    for status, _, command in rows(text(PAGE), "status", "means", "for example")
    if command.startswith("noisycount ") and "SOURCE" not in command
]


def test_page_has_every_status() -> None:
    """The statuses of the page are those that the code can end with."""
    found = [int(row[0]) for row in rows(text(PAGE), "status", "means", "for example")]
    assert found == [0, datasets.WRONG, 2, *sorted(STATUSES.values()), 130]


def test_examples_end_with_their_status(run: Run, here: Path) -> None:
    """The commands of the page end as stated, one after the other; a refusal with --json is the object of the page."""
    (here / "broken.parquet").write_bytes((here / "survey.parquet").read_bytes()[:1000])
    fields = rows(text(PAGE), "field", "type", "what it is")
    assert len(EXAMPLES) == 5
    for status, command in EXAMPLES:
        words = shlex.split(command)[1:]
        told = run(*words)
        assert told.status == int(status), command
        if told.status:
            assert (told.output, told.errors[:7]) == ("", "error: ")
        if words[:2] == ["ledger", "verify"]:  # which prints its object in place of a refusal
            assert json.loads(run(*words, "--json").output)["intact"] is False
        elif told.status:
            refusal = json.loads(run(*words, "--json").errors)
            assert list(refusal) == [field for field, _, _ in fields]
            assert refusal["status"] == int(status)
            assert f"`{refusal['kind']}`" in fields[1][2]


def test_example_of_the_object_is_one(run: Run) -> None:
    """The object that the page shows is what a budget refuses."""
    (shown,) = map(json.loads, blocks(text(PAGE), "json"))
    words = shlex.split(dict(EXAMPLES)["3"])[1:]
    refusal = json.loads(run(*words, "--json").errors)
    name = refusal["error"].split("'")[1]
    assert refusal | {"error": refusal["error"].replace(name, "survey")} == shown


def test_classes_are_those_of_the_code() -> None:
    """Every exception stands there once, with its parent, its status and its kind."""
    found = rows(text(PAGE), "class", "is a", "status", "kind", "raised where")
    classes = [name for name in errors.__all__ if isinstance(getattr(errors, name), type)]
    assert sorted(row[0] for row in found) == sorted(classes)
    for name, parent, status, kind, _ in found:
        one = getattr(errors, name)
        assert one.__base__.__name__ == parent
        assert status_of(one("")) == int(status)
        assert _KINDS[int(status)] == kind


def test_commands_that_say_more_are_all() -> None:
    """No other command ends with a status of its own."""
    assert inspect.getsource(check).count(".exit(STATUSES[SourceError])") == 1
    assert inspect.getsource(datasets).count(".exit(WRONG)") == 1
    assert inspect.getsource(ledger).count("_BROKEN)") == 2


@pytest.mark.parametrize("words", [(), ("ledger",), ("analysts",)])
def test_groups_without_a_command_show_their_help(run: Run, words: tuple[str, ...]) -> None:
    """The help goes to standard error, and the status is 2."""
    told = run(*words)
    assert (told.status, told.output, told.errors[:6]) == (2, "", "Usage:")
