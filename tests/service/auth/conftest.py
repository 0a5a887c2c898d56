from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import pytest
from fastapi import Depends, FastAPI

from noisycount.access.keyring import Keyring
from noisycount.access.keys import Key, Role, User
from noisycount.config.file import load
from noisycount.service.app import application
from noisycount.service.auth import Auth, owner_of, user_of
from noisycount.service.sessions import Attempts, LoginForm, Sessions
from noisycount.service.state import ServiceState
from tests.commands import configure
from tests.service.callers import Caller


@dataclass(slots=True)
class Clock:
    """Seconds that pass when a test says so."""

    seconds: float = 1000.0

    def __call__(self) -> float:
        """The time."""
        return self.seconds


@dataclass(frozen=True, slots=True)
class Served:
    """An application with a auth, whose clock a test moves."""

    application: FastAPI
    auth: Auth
    clock: Clock
    keyring: Keyring

    def key(self, name: str = "ana", role: Role = Role.ANALYST) -> Key:
        """A new key for the survey, or for all."""
        datasets = None if role is Role.OWNER else ["survey"]
        return self.keyring.issue(name, role, datasets)[0]

    def client(self, key: Key | str | None = None, base: str = "http://desk.example.org") -> Caller:
        """Somebody with a key, or without."""
        shown = key.text if isinstance(key, Key) else key
        headers = {} if shown is None else {"Authorization": f"Bearer {shown}"}
        return Caller(self.application, headers, base)


Serve = Callable[[], Served]


@pytest.fixture
def served(here: Path) -> Iterator[Served]:
    """The survey and a payroll, served."""
    configure(here, '[datasets.payroll]\nsource = "payroll.csv"')
    configuration = load(here / "noisycount.toml")
    state, clock = ServiceState.open(configuration), Clock()
    try:
        made = application(state)
        auth = replace(
            Auth.of(configuration),
            sessions=Sessions(clock),
            attempts=Attempts(clock),
            login_form=LoginForm(clock),
        )
        made.state.auth = auth
        add_probes(made)
        yield Served(made, auth, clock, auth.keyring)
    finally:
        state.close()


def add_probes(application: FastAPI) -> None:
    """Routes that tell what the auth found, whatever other routes there are."""

    @application.get("/v1/probe")
    @application.post("/v1/probe")
    async def probe(user: Annotated[User, Depends(user_of)]) -> dict[str, str]:
        return {"name": user.name, "role": user.role.value}

    @application.get("/v1/owners")
    async def owners(user: Annotated[User, Depends(owner_of)]) -> str:
        return user.name
