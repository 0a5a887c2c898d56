import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from fastapi import Depends, FastAPI
from joserfc import jwt
from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.jwk import Key as PublicKey

from noisycount.config.config import load_config
from noisycount.service.app import application
from noisycount.service.auth import Auth, FailedAttempts, LoginForm, Sessions, user_of
from noisycount.service.keys import Key, Keyring, Role, User
from noisycount.service.oidc import Tokens
from tests.helpers.commands import configure
from tests.helpers.service_callers import Caller, configured, serving


@dataclass(slots=True)
class Clock:
    """Seconds that pass when a test says so."""

    seconds: float = 1000.0

    def __call__(self) -> float:
        """The time."""
        return self.seconds


@dataclass(frozen=True, slots=True)
class Served:
    """An application with an auth, whose clock a test moves."""

    application: FastAPI
    auth: Auth
    clock: Clock
    keyring: Keyring

    def key(self, name: str = "ana", role: Role = Role.ANALYST) -> Key:
        """A new key for one data set, or for all."""
        datasets = None if role is Role.OWNER else ["stay"]
        return self.keyring.issue(name, role, datasets)[0]

    def client(self, key: Key | str | None = None, base: str = "http://desk.example.org") -> Caller:
        """Somebody with a key, or without."""
        shown = key.text if isinstance(key, Key) else key
        headers = {} if shown is None else {"Authorization": f"Bearer {shown}"}
        return Caller(self.application, headers, base)


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    """An application over two data sets, with a route that tells whom it found."""
    with serving(configured(tmp_path_factory.mktemp("probed"))) as state:
        made = application(state)

        @made.get("/v1/probe")
        @made.post("/v1/probe")
        async def probe(user: Annotated[User, Depends(user_of)]) -> dict[str, str]:
            return {"name": user.name, "role": user.role.value}

        yield made


@pytest.fixture
def served(probed: FastAPI, tmp_path: Path) -> Served:
    """The application with keys and sessions of the test's own."""
    clock, keyring = Clock(), Keyring(tmp_path / "keys")
    auth = Auth(keyring, None, Sessions(clock), FailedAttempts(clock), LoginForm(clock))
    probed.state.auth = auth
    return Served(probed, auth, clock, keyring)


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
    """Return the key set that an issuer publishes."""
    return json.dumps({"keys": [key.as_dict(private=False) for key in keys]}).encode()


def encoded(content: bytes) -> str:
    """Bytes as a part of a token."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def written(part: object) -> str:
    """A part of a token."""
    return encoded(json.dumps(part).encode())


def signed(head: str | bytes, said: str | bytes) -> str:
    """A token of any two texts, which the issuer signed with its first key."""
    texts = (part.encode() if isinstance(part, str) else part for part in (head, said))
    body = ".".join(encoded(text) for text in texts)
    key = issuer_key().get_op_key("sign")
    return f"{body}.{encoded(key.sign(body.encode(), PKCS1v15(), SHA256()))}"


def claims(**changed: Any) -> dict[str, Any]:  # noqa: ANN401  (any claim)
    """The claims of a good token; those that are None are left out."""
    usual = {"iss": ISSUER, "aud": "noisycount", "sub": "2482", "exp": int(NOW) + 300}
    return {name: said for name, said in (usual | changed).items() if said is not None}


def token(header: Mapping[str, Any] = MappingProxyType({}), key: PublicKey | None = None, **changed: Any) -> str:  # noqa: ANN401
    """A token that the issuer signed, or the holder of another key."""
    head = {name: said for name, said in {"alg": "RS256", "kid": "k1", **header}.items() if said is not None}
    return jwt.encode(head, claims(**changed), key or issuer_key(), [head["alg"]])


def tokens_in(folder: Path, *changes: tuple[str, str]) -> Tokens:
    """The tokens that a configuration takes at `NOW`, with some words of it changed, and its keys in a file."""
    text = OIDC
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    configure(folder, text)
    (folder / "keys.json").write_bytes(key_set(issuer_key(), *other_keys()))
    found = Auth.from_config(load_config(folder / "noisycount.toml")).tokens
    assert found is not None
    return replace(found, now=lambda: NOW)


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Tokens:
    """Give the tokens of an unchanged configuration."""
    return tokens_in(tmp_path_factory.mktemp("tokens"))
