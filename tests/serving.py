"""A service in a thread of the tests: real requests, on this host alone."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import uvicorn

from noisycount.config.config import Config
from noisycount.config.file import load_config
from noisycount.service.app import application
from noisycount.service.keys import Keyring, Role, User
from noisycount.service.state import ServiceState

_SECONDS_TO_START = 30
OFTEN = "[server]\nrate = 1000000\n"


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
    keyring = Keyring.of(configuration)
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


OWNER = User("olga", Role.OWNER, None)
ANALYST = User("ana", Role.ANALYST, frozenset({"survey"}))
