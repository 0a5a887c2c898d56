"""Requests of `docs/how-to/r.md` are made by another client, and its lines for reticulate are run as Python."""

import re
from pathlib import Path
from typing import Any

import pytest

import noisycount as nc
from noisycount.config.config import load_config
from noisycount.service.errors import PROBLEMS
from noisycount.service.keys import Role, User
from tests.helpers.service_callers import calling, serving
from tests.helpers.transcripts import PROJECT, blocks_of

PAGE = PROJECT / "docs/how-to/r.md"
BLOCKS = [block.text for block in blocks_of(PAGE, "r")] if PAGE.is_file() else []
CONFIGURATION = """
[datasets.survey]
source = "survey.parquet"
unit = "person"
"""
ANALYST = User("bo", Role.ANALYST, frozenset({"survey"}))

pytestmark = pytest.mark.skipif(not BLOCKS, reason="the tests run outside the project's folder")


def members(block: str) -> dict[str, Any]:
    """Return the object that `req_body_json` makes of the one list of a block."""
    (listed,) = re.findall(r"list\((.*?)\)(?:\)|$)", block, re.MULTILINE)
    pairs = re.findall(r'(\w+) = ("[^"]*"|\d+)', listed)
    return {name: value.strip('"') if value.startswith('"') else int(value) for name, value in pairs}


def test_requests_of_the_page_are_answered(here: Path) -> None:
    """A plan is free, and a release has the members that the page reads; so has each row of the table."""
    (here / "noisycount.toml").write_text(CONFIGURATION, encoding="utf-8")
    single, table = (block for block in BLOCKS if "releases" in block)
    with serving(load_config(here / "noisycount.toml")) as state:
        caller = calling(state, ANALYST)
        path = re.findall(r"https://[\w.]+(/\S+)\"", single)[0]
        assert caller.get(path).status_code == 200
        assert caller.post(f"{path}/plan", members(single)).status_code == 200
        for block in (single, table):
            (key,) = re.findall(r'"Idempotency-Key" = "([^"]+)"', block)
            reply = caller.post(f"{path}/releases", members(block), key)
            assert reply.status_code == 201, reply.text
            assert set(re.findall(r"\b(?:answer|table)\$(\w+)", block)) <= set(reply.json())
            assert caller.post(f"{path}/releases", members(block), key).content == reply.content


def test_statuses_that_are_repeated_are_those_of_the_service() -> None:
    """The page repeats every request that the service asks to repeat, and no other."""
    (statuses,) = re.findall(r"%in% c\(([\d, ]+)\)", BLOCKS[0])
    repeated = {problem.status for problem in PROBLEMS.values() if problem.again or problem.name == "rate"}
    assert sorted(map(int, statuses.split(", "))) == sorted(repeated)


@pytest.mark.thorough
def test_lines_for_reticulate_run_as_python(here: Path) -> None:
    """Names, arguments and attributes exist, and the estimate is a number."""
    lines = "\n".join(block for block in BLOCKS if "nc$" in block).replace("library(reticulate)", "")
    code = re.sub(r"\b(\d+)L\b", r"\1", lines.replace(" <- ", " = ").replace("$", "."))
    values: dict[str, Any] = {"import_": lambda _: nc}
    exec(compile(code.replace('import("', 'import_("'), str(PAGE), "exec"), values)  # noqa: S102 - our page
    assert (here / "ledger.db").is_file()
    assert 1600 < values["estimate"].mean < 1800
