"""Another account of this machine: `python -m tests.helpers.accounts` runs commands and requests as that account.

The account is a number without a name. The process begins as the superuser, who may read what Python imports wherever
that is, and is the other account from then on, before it reads the first command.
"""

import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from io import BytesIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

REQUIRED = "NOISYCOUNT_REQUIRES_ACCOUNTS"
COLLEAGUE = 54321
_PROJECT = Path(__file__).parents[2]


def as_colleague(folder: Path, home: Path, asked: Sequence[object]) -> list[dict[str, Any]]:
    """Run commands (lists of words) and requests (objects) as another account in a folder; return their results.

    Skipped where this account may not become another, or failed where it must.
    """
    prefix = _prefix()
    path = os.pathsep.join([str(_PROJECT / "src"), str(_PROJECT)])
    command = [
        *prefix,
        "env",
        f"PYTHONPATH={path}",
        sys.executable,
        "-m",
        "tests.helpers.accounts",
        str(folder),
        str(home),
    ]
    words = json.dumps(asked)
    told = subprocess.run(command, input=words, capture_output=True, text=True, check=False)  # noqa: S603 - our words
    assert told.returncode == 0, told.stderr
    found: list[dict[str, Any]] = json.loads(told.stdout)
    return found


def give_to_group(file: Path) -> None:
    """Make a file one of the other account's group."""
    subprocess.run([*_prefix(), "chgrp", str(COLLEAGUE), str(file)], check=True)  # noqa: S603 - our words


def _prefix() -> list[str]:
    """Return the words that make a command the superuser's."""
    if os.geteuid() == 0:
        return []
    sudo = shutil.which("sudo")
    may = sudo and subprocess.run([sudo, "--non-interactive", "true"], capture_output=True, check=False)  # noqa: S603
    if sudo and may and may.returncode == 0:
        return [sudo, "--non-interactive"]
    if os.environ.get(REQUIRED):
        pytest.fail(f"this account may not become another, though {REQUIRED} is set")
    pytest.skip("this account may not become another: run the tests as root, or where sudo asks for no password")


def _load() -> None:
    """Import what commands import when they run, which the other account may not be able to read."""
    import noisycount

    "host".encode("idna")

    for module in pkgutil.walk_packages(noisycount.__path__, "noisycount."):
        if not re.search("spark|papers|charts|analysis|service.pages|conformance[.]", module.name):
            import_module(module.name)
    with TemporaryDirectory() as name:
        os.environ.update(HOME=name, XDG_CONFIG_HOME=name)
        os.chdir(name)
        Path("a.csv").write_text("person,age\n1,2\n")
        for words in ("init a.csv --unit row", "count a --where true --epsilon 1", "show a", "check a", "ledger show"):
            assert not _run(words.split())["status"]
        os.chdir("/")


def _run(words: Sequence[str]) -> dict[str, Any]:
    """The end of a command, and what it said."""
    from noisycount.cli.main import main

    sys.argv = ["noisycount", *words]
    output, errors = (TextIOWrapper(BytesIO(), "utf-8") for _ in range(2))
    status = None
    with redirect_stdout(output), redirect_stderr(errors):
        try:
            main()
        except SystemExit as end:
            status = end.code
    texts = []
    for each in (output, errors):
        each.seek(0)
        texts.append(each.read())
    return {"status": status, "output": texts[0], "errors": texts[1]}


def _request(said: dict[str, Any]) -> dict[str, Any]:
    """The status and the body of a request."""
    body = None if said.get("body") is None else json.dumps(said["body"]).encode()
    request = Request(said["url"], body, said.get("headers", {}))  # noqa: S310 - http, of the tests
    try:
        with urlopen(request, timeout=60) as reply:  # noqa: S310 - as above
            return {"status": reply.status, "body": json.loads(reply.read())}
    except HTTPError as error:
        return {"status": error.code, "body": json.loads(error.read())}


def main() -> None:
    """Become the other account, and do what the standard input says."""
    folder, home = sys.argv[1:]
    asked = json.load(sys.stdin)
    _load()
    os.setgroups([])
    os.setresgid(COLLEAGUE, COLLEAGUE, COLLEAGUE)
    os.setresuid(COLLEAGUE, COLLEAGUE, COLLEAGUE)
    os.environ.update(HOME=home, XDG_CONFIG_HOME=home)
    os.chdir(folder)
    told = [_request(each) if isinstance(each, dict) else _run(each) for each in asked]
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()
