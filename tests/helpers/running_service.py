"""A service in a thread of the tests, or as its owner starts it: real requests, on this host alone."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import uvicorn

from noisycount.config.config import Config, load_config
from noisycount.data import survey_path
from noisycount.service.app import application
from noisycount.service.keys import Keyring, Role, User
from noisycount.service.state import ServiceState
from tests.helpers.service_process import FOLLOW

_SECONDS_TO_START = 30
OFTEN = "[server]\nrate = 1000000\n"
SURVEY = f"""
[ledger]
url = "sqlite:///ledger.db"

[datasets.survey]
source = "{survey_path()}"
unit = "person"
size = 5912
columns = ["year", "site", "age", "female", "income", "health"]
"""
"""A configuration of the bundled survey, whose budget is to follow."""


@dataclass(frozen=True)
class Service:
    """A service that runs."""

    url: str  # where it is
    state: ServiceState  # what its requests share
    keys: dict[str, str]  # the keys of its users, by name


def configured(folder: Path, text: str) -> Config:
    """Give the configuration that a text says, in a folder of its own; tests may ask often."""
    path = folder / "noisycount.toml"
    path.write_text(f"{dedent(text)}\n{OFTEN}", encoding="utf-8")
    return load_config(path)


@contextmanager
def served(configuration: Config, *users: User) -> Iterator[Service]:
    """Serve a configuration without slots to users with keys, until the block ends."""
    keyring = Keyring.from_config(configuration)
    grants = {user.name: user.grants and sorted(user.grants) for user in users}
    keys = {user.name: keyring.issue(user.name, user.role, grants[user.name])[0].text for user in users}
    state = ServiceState.open(configuration, slots=False)
    server = uvicorn.Server(uvicorn.Config(application(state), log_config=None, lifespan="off", ws="none"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        deadline = time.monotonic() + _SECONDS_TO_START
        while not server.started and time.monotonic() < deadline:
            time.sleep(0.01)
        try:
            yield Service(url, state, keys)
        finally:
            server.should_exit = True
            thread.join(_SECONDS_TO_START)
            state.close()


_MAIN = "import sys; from noisycount.cli.main import main; sys.argv[0] = 'noisycount'; main()"


def typed(folder: Path, *words: str, status: int = 0) -> str:
    """Give what the command line tells an owner in a folder, who has no other; it ends as is said."""
    command = [sys.executable, "-c", _MAIN, *words]
    told = subprocess.run(command, cwd=folder, env=_of_owner(folder), capture_output=True, text=True, check=False)  # noqa: S603
    assert told.returncode == status, told.stderr
    return told.stdout


@contextmanager
def started(folder: Path) -> Iterator[str]:
    """Yield the address of an owner's service, while it runs."""
    command = [sys.executable, "-u", "-c", f"{FOLLOW}{_MAIN}", "serve", "--port", "0"]
    pipes: Any = dict.fromkeys(["stdin", "stdout", "stderr"], subprocess.PIPE)
    with subprocess.Popen(command, cwd=folder, env=_of_owner(folder), text=True, **pipes) as process:  # noqa: S603
        try:
            line = process.stdout.readline() if process.stdout else ""
            yield line.split()[1]
        finally:
            process.terminate()


def _of_owner(folder: Path) -> dict[str, str]:
    return {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "COLUMNS": "1000"}


OWNER = User("olga", Role.OWNER, None)
OFFICER = User("otto", Role.OFFICER, frozenset())
ANALYST = User("ana", Role.ANALYST, frozenset({"survey"}))
