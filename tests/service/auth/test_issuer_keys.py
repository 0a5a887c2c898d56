import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.error import HTTPError

import pytest

from noisycount.config.service import OidcConfig
from noisycount.errors import ConfigError
from noisycount.service.oidc import IssuerKeys, read_address
from tests.service.auth.conftest import ISSUER, Clock, issuer_key, key_set

WELL_KNOWN = f"{ISSUER}/.well-known/openid-configuration"
ADDRESS = "https://login.example.org/keys"


@dataclass(slots=True)
class Web:
    """An issuer that says where its keys are: addresses, what they hold, and which were asked."""

    pages: dict[str, bytes | Exception] = field(
        default_factory=lambda: {
            WELL_KNOWN: json.dumps({"issuer": ISSUER, "jwks_uri": ADDRESS}).encode(),
            ADDRESS: key_set(issuer_key()),
        }
    )
    asked: list[str] = field(default_factory=list)

    def __call__(self, address: str) -> bytes:
        """Return the content of an address."""
        self.asked.append(address)
        held = self.pages.get(address, OSError("no such address"))
        if isinstance(held, Exception):
            raise held
        return held


def config_of(keys: str | Path | None) -> OidcConfig:
    """A configuration whose keys are somewhere."""
    return OidcConfig(ISSUER, "noisycount", keys, ("RS256",), "sub", {})


def test_the_issuer_says_where_its_keys_are() -> None:
    """They are fetched once an hour, however many tokens come."""
    web, clock = Web(), Clock()
    keys = IssuerKeys(config_of(None), web, clock)
    assert [keys.key(name) is not None for name in ("k1", None, "k1")] == [True] * 3
    assert web.asked == [WELL_KNOWN, ADDRESS]
    clock.seconds += 3601
    assert keys.key("k1") is not None
    assert web.asked == [WELL_KNOWN, ADDRESS] * 2


def test_keys_of_the_issuer_come_and_go() -> None:
    """An unknown id has the keys fetched again, at most once a minute; one that was taken back goes within an hour."""
    web, clock = Web(), Clock()
    keys = IssuerKeys(config_of(ADDRESS), web, clock)
    assert keys.key("k1") is not None
    web.pages[ADDRESS] = key_set(issuer_key(), issuer_key(2))
    assert [keys.key(f"k{number}") for number in range(2, 102)] == [None] * 100
    assert len(web.asked) == 1
    clock.seconds += 60
    assert keys.key("k2") is not None
    assert [keys.key(f"k{number}") for number in range(3, 102)] == [None] * 99
    assert web.asked == [ADDRESS] * 2
    web.pages[ADDRESS] = key_set(issuer_key(2))
    clock.seconds += 3601
    assert (keys.key("k1"), keys.key("k2") is not None) == (None, True)


@pytest.mark.parametrize("failure", [OSError("down"), b"", b"[]", b'{"keys": 1}', b'{"keys": []}'])
def test_an_issuer_that_fails_is_trusted_for_a_day(failure: bytes | Exception) -> None:
    """Its keys stay as they are for so long; then no token can be checked, and none is taken."""
    web, clock = Web(), Clock()
    keys = IssuerKeys(config_of(ADDRESS), web, clock)
    assert keys.key("k1") is not None
    web.pages[ADDRESS] = failure
    for _ in range(23):
        clock.seconds += 3601
        assert keys.key("k1") is not None
    clock.seconds += 3601 * 2
    with pytest.raises(ConfigError, match="cannot be fetched"):
        keys.key("k1")
    web.pages[ADDRESS] = key_set(issuer_key())
    clock.seconds += 60
    assert keys.key("k1") is not None


@pytest.mark.parametrize(
    "said",
    [
        {"issuer": "https://evil.example", "jwks_uri": ADDRESS},
        {"issuer": ISSUER, "jwks_uri": "http://login.example.org/keys"},
        {"issuer": ISSUER, "jwks_uri": "file:///etc/passwd"},
        {"issuer": ISSUER},
        {"jwks_uri": ADDRESS},
        [],
    ],
)
def test_an_issuer_that_is_another_is_not_followed(said: object) -> None:
    """A document with another issuer, or with keys at an unsafe address, is refused."""
    web = Web()
    web.pages[WELL_KNOWN] = json.dumps(said).encode()
    with pytest.raises(ConfigError, match="cannot be fetched"):
        IssuerKeys(config_of(None), web).key("k1")
    assert web.asked == [WELL_KNOWN]


def test_a_file_is_read_as_it_is_now(tmp_path: Path) -> None:
    """A key that its owner takes out of it is not taken any more."""
    file = tmp_path / "keys.json"
    keys = IssuerKeys(config_of(file))
    with pytest.raises(ConfigError, match=r"keys\.json cannot be read .*: name a key set"):
        keys.key("k1")
    file.write_bytes(key_set(issuer_key()))
    assert keys.key("k1") is not None
    file.write_bytes(key_set(issuer_key(2)))
    assert (keys.key("k1"), keys.key("k2") is not None) == (None, True)
    file.write_text("broken")
    with pytest.raises(ConfigError, match="no JSON Web Key Set"):
        keys.key("k2")


def test_a_key_for_encryption_signs_nothing(tmp_path: Path) -> None:
    """A key set may hold others, which are left out."""
    file = tmp_path / "keys.json"
    said = json.loads(key_set(issuer_key(), issuer_key(2)))
    said["keys"][0]["use"] = "enc"
    said["keys"].append({"kty": "of tomorrow", "kid": "new"})
    file.write_text(json.dumps(said))
    keys = IssuerKeys(config_of(file))
    assert (keys.key("k1"), keys.key("new")) == (None, None)
    assert keys.key("k2") is not None


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Answer a path."""
        if self.path == "/away":
            self.send_response(302)
            self.send_header("Location", "/here")
            self.end_headers()
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"x" * (300_000 if self.path == "/much" else 3))

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def local_server() -> Iterator[str]:
    """A server on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_what_is_fetched_is_what_was_named() -> None:
    """No redirection, no other scheme, no other host without TLS, and not without an end."""
    with local_server() as address:
        assert read_address(f"{address}/here") == b"xxx"
        with pytest.raises(HTTPError, match="302") as caught:
            read_address(f"{address}/away")
        assert caught.value.closed
        with pytest.raises(ValueError, match="too large"):
            read_address(f"{address}/much")
    for unsafe in ("http://login.example.org/keys", "file:///etc/passwd", "ftp://127.0.0.1/"):
        with pytest.raises(ValueError, match="neither https nor on this machine"):
            read_address(unsafe)
