import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from fastapi import Depends, FastAPI
from joserfc import jwt
from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.jwk import Key as PublicKey

from noisycount.config.file import load_config
from noisycount.service.app import application
from noisycount.service.auth import Attempts, Auth, LoginForm, Sessions, owner_of, user_of
from noisycount.service.keys import Key, Keyring, Role, User
from noisycount.service.oidc import Tokens
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
    configuration = load_config(here / "noisycount.toml")
    state, clock = ServiceState.open(configuration), Clock()
    try:
        made = application(state)
        auth = replace(
            Auth.of(configuration), sessions=Sessions(clock), attempts=Attempts(clock), login_form=LoginForm(clock)
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


ISSUER = "https://login.example.org/clinic"
NOW = 1_800_000_000.0
OIDC = f"""
[analysts.ana]
[analysts.boss]
[server.oidc]
issuer = "{ISSUER}"
audience = "noisycount"
keys = "keys.json"
[server.oidc.analysts.ana]
subject = "2482"
datasets = ["survey"]
[server.oidc.analysts.boss]
subject = "1"
role = "owner"
"""


@cache
def issuer_key(number: int = 1) -> RSAKey:
    """A key of the issuer, with which it signs."""
    return RSAKey.generate_key(2048, {"kid": f"k{number}", "use": "sig", "alg": "RS256"})


@cache
def other_keys() -> tuple[PublicKey, ...]:
    """Keys of other families."""
    elliptic = ECKey.generate_key("P-256", {"kid": "ec"})
    return elliptic, OKPKey.generate_key("Ed25519", {"kid": "ed"})


def key_set(*keys: PublicKey) -> bytes:
    """What an issuer gives out of its keys."""
    return json.dumps({"keys": [key.as_dict(private=False) for key in keys]}).encode()


def encoded(content: bytes) -> str:
    """Bytes as a part of a token."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def written(part: object) -> str:
    """A part of a token."""
    return encoded(json.dumps(part).encode())


def signed(head: str | bytes, claims: str | bytes) -> str:
    """A token of any two texts, which the issuer signed with its first key."""
    texts = (part.encode() if isinstance(part, str) else part for part in (head, claims))
    body = ".".join(encoded(text) for text in texts)
    key = issuer_key().get_op_key("sign")
    return f"{body}.{encoded(key.sign(body.encode(), PKCS1v15(), SHA256()))}"


@dataclass(frozen=True, slots=True)
class Issuer:
    """What an issuer signs."""

    def claims(self, **changed: Any) -> dict[str, Any]:  # noqa: ANN401  (any claim)
        """The claims of a good token; those that are None are left out."""
        usual = {"iss": ISSUER, "aud": "noisycount", "sub": "2482", "exp": int(NOW) + 300}
        return {name: said for name, said in (usual | changed).items() if said is not None}

    def token(self, header: dict[str, Any] | None = None, **changed: Any) -> str:  # noqa: ANN401
        """A token that the issuer signed."""
        head = {"alg": "RS256", "kid": "k1"} | (header or {})
        return jwt.encode(head, self.claims(**changed), issuer_key(), [head["alg"]])


@pytest.fixture
def issuer() -> Issuer:
    """The issuer of the configuration."""
    return Issuer()


Configured = Callable[..., Tokens]


@pytest.fixture
def configured_tokens(here: Path) -> Configured:
    """Give the tokens that a configuration takes, with some words of it changed, at `NOW`."""

    def tokens(*changes: tuple[str, str]) -> Tokens:
        text = OIDC
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        configure(here, text)
        (here / "keys.json").write_bytes(key_set(issuer_key(), *other_keys()))
        found = Auth.of(load_config(here / "noisycount.toml")).tokens
        assert found is not None
        return Tokens(found.config, found.users, found.keys, now=lambda: NOW)

    return tokens


@pytest.fixture
def tokens(configured_tokens: Configured) -> Tokens:
    """The tokens of an issuer whose keys are in a file."""
    return configured_tokens()
