from pathlib import Path

import pytest

from noisycount.config.service import OidcConfig, is_safe_url
from tests.helpers.config_files import loaded, refusal

TEXT = """
[server.oidc]
issuer = "https://login.example.org"
audience = "noisycount"
[server.oidc.analysts.ana]
subject = "2482"
datasets = ["survey"]
"""


def described(folder: Path, text: str) -> OidcConfig:
    """Return the OpenID Connect settings of a configuration."""
    found = loaded(folder, text).service.oidc
    assert found is not None
    return found


def test_an_issuer_is_described_in_a_few_lines(tmp_path: Path) -> None:
    """Missing keys have their defaults: the claim `sub`, and the issuer's own key set."""
    said = described(tmp_path, TEXT)
    assert (said.issuer, said.audience) == ("https://login.example.org", "noisycount")
    assert (said.keys, said.claim) == (None, "sub")
    assert said.algorithms == ("RS256", "PS256", "ES256", "Ed25519")
    (ana,) = said.analysts.values()
    assert (ana.name, ana.subject, ana.role, ana.datasets) == (*("ana", "2482", "analyst"), ("survey",))


def test_keys_are_a_file_or_an_address(tmp_path: Path) -> None:
    """A relative file lies beside the configuration."""
    for keys, found in (("a.json", tmp_path / "a.json"), ("https://a.org/k", "https://a.org/k")):
        text = TEXT.replace("audience", f'keys = "{keys}"\naudience')
        assert described(tmp_path, text).keys == found


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('issuer = "https://login.example.org"', "", "issuer: is missing: add it, as tokens"),
        ('audience = "noisycount"', "", "audience: is missing: add it, as tokens"),
        ("https://login", "http://login", "must be an https:// address"),
        ("audience", 'keys = "http://a.org/k"\naudience', "must be a file, or an https:// address"),
        ("audience", 'keys = "https://a:b@a.org/k"\naudience', "that holds no password"),
        ("audience", 'algorithms = ["HS256"]\naudience', "'HS256' is no algorithm with a public"),
        ("audience", 'algorithms = ["none"]\naudience', "'none' is no algorithm with a public key"),
        ("audience", 'secret = "x"\naudience', "secret: unknown key"),
        ("subject", 'role = "boss"\nsubject', 'must be "owner", "analyst" or "officer"'),
        ('subject = "2482"', "", "subject: is missing"),
        ("datasets", 'colour = "red"\ndatasets', "colour: unknown key"),
        ("[server.oidc.analysts.ana]", '[server.oidc.analysts."a b"]', "a name consists of letters"),
        ("subject", 'subject = "2482"\n[server.oidc.analysts.ben]\nsubject', "is also that of ana"),
        (TEXT[TEXT.index("[server.oidc.analysts") :], "", "[server.oidc.analysts] NAME: is missing"),
    ],
)
def test_what_would_let_others_in_is_refused(tmp_path: Path, old: str, new: str, told: str) -> None:
    """A refusal is a single line with the key, the value and the remedy."""
    assert old in TEXT
    assert told in refusal(tmp_path, TEXT.replace(old, new, 1))


@pytest.mark.parametrize(
    ("address", "is_safe"),
    [
        *(("https://a.org", True), ("http://localhost:80/a", True), ("http://[::1]/", True)),
        *(("http://a.org", False), ("http://localhost.a.org", False), ("https://", False)),
        *(("https://a@b.org", False), ("file:///a", False), ("a", False), ("https://[a", False)),
    ],
)
def test_safe_addresses_are_told(address: str, *, is_safe: bool) -> None:
    """TLS, or no way to go at all."""
    assert is_safe_url(address) is is_safe
