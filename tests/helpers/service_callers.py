"""a service over a few records, its application, and those who call it."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from noisycount.config.config import Config, DatasetConfig
from noisycount.config.places import sqlite_url
from noisycount.config.service import ServiceConfig
from noisycount.ledger.budget import budget_of
from noisycount.service.app import application
from noisycount.service.auth import Auth, user_of
from noisycount.service.keys import Role, User
from noisycount.service.middleware import Write, write_line
from noisycount.service.state import ServiceState

__all__ = ["ANA", "BO", "OWNER", "Caller", "calling", "configured", "problem", "records", "serving"]

ANA = User("ana", Role.ANALYST, frozenset({"stay"}))
BO = User("bo", Role.ANALYST, frozenset({"stay"}))
OWNER = User("olga", Role.OWNER, None)
OFTEN = 1_000_000  # requests a minute, where nothing is said of them
LITERAL = "Zwitscherstadt"  # a word of the records that no log and no reply may hold


def records(folder: Path) -> Path:
    """Give a file of 1,317 persons, one row each."""
    path = folder / "stay.csv"
    if not path.exists():
        rows = (f"{i},{i % 90},{LITERAL if i % 3 else 'Bern'}" for i in range(1317))
        path.write_text("person,age,town\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def configured(folder: Path, budget: str = "2", **service: object) -> Config:
    """Give the configuration of one ledger in a folder, and of two data sets."""
    secret = folder / "secret.csv"
    secret.write_text("person,pay\n1,10\n2,20\n", encoding="utf-8")
    datasets = {
        "stay": DatasetConfig("stay", records(folder), unit="person", size=1317, budget=budget_of(budget)),
        "payroll": DatasetConfig("payroll", secret, unit="person"),
    }
    url = sqlite_url(folder / "ledger.db")
    return Config(None, url, datasets, service=ServiceConfig(**{"rate": OFTEN, **service}))


@dataclass(slots=True)
class Caller:
    """Somebody who calls an application in this process, with cookies of their own."""

    application: FastAPI  # what is called
    headers: Mapping[str, str] = field(default_factory=dict)  # of every request
    base: str = "http://127.0.0.1"  # the address of the application; https stands for a proxy that ends TLS
    cookies: httpx.Cookies = field(default_factory=httpx.Cookies)  # those that replies set; nothing is followed

    def request(self, method: str, path: str, **said: Any) -> httpx.Response:  # noqa: ANN401  (as httpx takes it)
        """Give the reply to a request."""
        return asyncio.run(self._request(method, path, said))

    def get(self, path: str, **said: Any) -> httpx.Response:  # noqa: ANN401  (the same)
        """Give the reply to a GET."""
        return self.request("GET", path, **said)

    def post(
        self,
        path: str,
        body: object = None,
        key: str | None = None,
        **said: Any,  # noqa: ANN401  (the same)
    ) -> httpx.Response:
        """Give the reply to a POST of JSON, or of what is said beside it."""
        json = {} if body is None else {"json": body}
        named = {} if key is None else {"headers": {"Idempotency-Key": key}}
        return self.request("POST", path, **json, **named, **said)

    def ask(self, body: object, key: str, dataset: str = "stay") -> httpx.Response:
        """Give the reply to a spend."""
        return self.post(f"/v1/datasets/{dataset}/releases", body, key)

    async def _request(self, method: str, path: str, said: dict[str, Any]) -> httpx.Response:
        transport = httpx.ASGITransport(self.application, raise_app_exceptions=False)
        async with httpx.AsyncClient(
            transport=transport,
            base_url=self.base,
            headers=self.headers,
            cookies=self.cookies,
            verify=False,  # noqa: S501 - there is no wire, and certificates take long to read
        ) as client:
            reply = await client.request(method, path, **said)
            self.cookies = client.cookies
            return reply


def problem(reply: httpx.Response) -> tuple[int, str]:
    """Give the status and the kind of a refusal, which is told in one line."""
    told = reply.json()
    assert (reply.headers["content-type"], told["status"]) == ("application/problem+json", reply.status_code)
    assert "\n" not in told["detail"]
    return reply.status_code, told["type"].removeprefix("urn:noisycount:")


@contextmanager
def serving(configuration: Config, *, slots: bool = False) -> Iterator[ServiceState]:
    """Give an open state, which is closed in the end."""
    state = ServiceState.open(configuration, slots=slots)
    try:
        yield state
    finally:
        assert state.close()


@dataclass(slots=True)
class _AnyKey:
    """Authentication that takes every key for that of one user; sessions are those of the service."""

    auth: Auth
    user: User

    async def bearer(self, credential: str) -> User:
        """Return the user."""
        del credential
        return self.user

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any member
        return getattr(self.auth, name)


def calling(state: ServiceState, user: User = ANA, write: Write = write_line) -> Caller:
    """Return a caller whom the application takes for a user, and whose requests it logs with a function."""
    made = application(state, write)
    made.dependency_overrides[user_of] = lambda: user
    made.state.auth = _AnyKey(made.state.auth, user)  # of spends, which have no dependencies
    return Caller(made, headers={"Authorization": "Bearer nc_any"})
