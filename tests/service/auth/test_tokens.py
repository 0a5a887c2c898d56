import hmac
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc.jwk import OctKey, RSAKey

from noisycount.config.config import load_config
from noisycount.errors import ConfigError
from noisycount.service.auth import Auth
from noisycount.service.keys import Role
from noisycount.service.oidc import Tokens, decode_part, is_of_login, json_object
from tests.helpers.commands import configure
from tests.service.auth.conftest import (
    ISSUER,
    NOW,
    claims,
    encoded,
    issuer_key,
    key_set,
    other_keys,
    signed,
    token,
    tokens_in,
    written,
)


def test_a_token_says_who_comes(tokens: Tokens) -> None:
    """By the subject, as the owner wrote it down: the name, the role and the data sets."""
    ana, boss = tokens.user(token()), tokens.user(token(sub="1"))
    assert ana is not None
    assert boss is not None
    assert (ana.name, ana.role, ana.grants) == ("ana", Role.ANALYST, frozenset({"survey"}))
    assert (boss.name, boss.role, boss.grants) == ("boss", Role.OWNER, None)


@pytest.mark.parametrize(("number", "algorithm"), [(0, "ES256"), (1, "Ed25519")])
def test_every_family_of_keys_is_taken(tokens: Tokens, number: int, algorithm: str) -> None:
    """Elliptic curves as well as RSA, each under its own key."""
    key = other_keys()[number]
    assert tokens.user(token({"alg": algorithm, "kid": key.kid}, key)) is not None


OTHERS: dict[str, list[object]] = {
    "aud": [
        *("another", ["another", "noisycounts"], [], None, {"noisycount": 1}, True),
        *(["noisycount", 1], ["noisycount", ["another"]], [["noisycount"]]),
    ],
    "iss": [
        *("https://evil.example", f"{ISSUER}/", [ISSUER], ["https://evil.example", ISSUER], {ISSUER: 1}),
        *(ISSUER.upper(), f" {ISSUER}", True, "", None),
    ],
    "exp": [
        *(int(NOW) - 31, None, "tomorrow", True, -1, [int(NOW) + 300]),
        *(math.nan, math.inf, 10**15, 10**400, 1e300),
    ],
    "nbf": [int(NOW) + 31, "now", False, math.nan, -math.inf, -(10**400)],
    "iat": [int(NOW) + 31, False, math.nan, "before"],
    "sub": ["2483", "ana", ["2482"], 2482, True, {"2482": 1}, "", None],
}


@pytest.mark.parametrize(
    "changed",
    [{claim: value} for claim, values in OTHERS.items() for value in values],
    ids=lambda changed: str(changed)[:60],
)
def test_a_token_for_others_lets_nobody_in(tokens: Tokens, changed: dict[str, Any]) -> None:
    """Another audience or issuer, over, not begun, from the future, of an unknown subject."""
    assert tokens.user(token(**changed)) is None


def test_clocks_may_differ_by_half_a_minute(tokens: Tokens) -> None:
    """And an audience may be one of several."""
    said = token(exp=int(NOW) - 29, nbf=int(NOW) + 29, aud=["other", "noisycount"])
    assert tokens.user(said) is not None


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_a_public_key_is_no_shared_secret(tokens: Tokens, algorithm: str) -> None:
    """A token signed by HMAC with any form of the public key as the secret is refused."""
    key = issuer_key()
    pem, members = key.as_pem(private=False), key.as_dict(private=False)
    forms = [pem, pem.strip(), json.dumps(members).encode(), key_set(key, *other_keys()), str(members["n"]).encode()]
    body = f"{written({'alg': algorithm, 'kid': 'k1'})}.{written(claims())}"
    for secret in forms:
        made = hmac.digest(secret, body.encode(), f"sha{algorithm[2:]}")
        assert tokens.user(f"{body}.{encoded(made)}") is None


def test_a_shared_secret_among_the_keys_is_none_of_them(tmp_path: Path) -> None:
    """A symmetric key in a key set is ignored, and a token signed with it is refused."""
    tokens, secret = tokens_in(tmp_path), OctKey.generate_key(256, {"kid": "shared"})
    said = json.loads(key_set(issuer_key()))
    said["keys"].append(secret.as_dict(private=True))
    (tmp_path / "keys.json").write_text(json.dumps(said))
    assert tokens.user(token({"alg": "HS256", "kid": "shared"}, secret)) is None
    assert tokens.keys.key("shared") is None
    assert tokens.user(token()) is not None


def test_a_token_brings_no_key_of_its_own(tokens: Tokens) -> None:
    """`jwk`, `jku`, `x5u` and `x5c` in a header are what whoever made it says."""
    mine = RSAKey.generate_key(2048, {"kid": "k1"})
    public = mine.as_dict(private=False)
    addresses = ({"jku": "https://evil.example/keys.json"}, {"x5u": "https://evil.example/keys.pem"})
    for head in ({"jwk": public}, *addresses, {"kid": "mine", "jwk": public}, {}):
        assert tokens.user(token(head, mine)) is None


@pytest.mark.parametrize("kid", ["k2", "", "../../etc/passwd", "ec", None, 1, ["k1"], {"k1": 1}])
def test_an_unknown_key_lets_nobody_in(tokens: Tokens, kid: object) -> None:
    """Another id, another family's, no id where there are several keys, an id that is no text."""
    body = f"{written({'alg': 'RS256', 'kid': kid})}.{written(claims())}"
    assert tokens.user(f"{body}.{token().rpartition('.')[2]}") is None
    if isinstance(kid, str | None) and kid != "ec":  # the right key, under no name or another's
        assert tokens.user(token({"kid": kid})) is None


def test_a_token_of_one_key_may_leave_its_id_out(tmp_path: Path) -> None:
    """A token without a key id is accepted if the issuer has a single key."""
    tokens = tokens_in(tmp_path)
    (tmp_path / "keys.json").write_bytes(key_set(issuer_key()))
    assert tokens.user(token({"kid": None})) is not None


def test_an_algorithm_that_was_not_chosen_is_refused(tmp_path: Path) -> None:
    """The owner's list holds, though the key could do more."""
    tokens = tokens_in(tmp_path, ('keys = "keys.json"', 'keys = "keys.json"\nalgorithms = ["ES256"]'))
    assert tokens.user(token()) is None
    assert tokens.user(token({"alg": "ES256", "kid": "ec"}, other_keys()[0])) is not None


@pytest.mark.parametrize("part", [0, 1, 2])
def test_a_changed_token_lets_nobody_in(tokens: Tokens, part: int) -> None:
    """Any character of any part, and any part left out or added."""
    parts = token().split(".")
    for place in range(0, len(parts[part]) - 1, 7):  # the last character may carry unused bits
        other = "A" if parts[part][place] != "A" else "B"
        changed = [*parts]
        changed[part] = parts[part][:place] + other + parts[part][place + 1 :]
        assert tokens.user(".".join(changed)) is None
    assert tokens.user(".".join(parts[:part] + parts[part + 1 :])) is None
    assert tokens.user(".".join([*parts, parts[part]])) is None


HEAD = '{"alg": "RS256", "kid": "k1"}'
CLAIMS = json.dumps(claims())
UNSIGNED = ["none", "None", "NONE", "nOnE", ""]
HEADS: list[dict[str, object]] = [  # a notice of a logout is no login; what must be understood and is not is refused
    *({"typ": kind} for kind in ("logout+jwt", "secevent+jwt", ["jwt"], None)),
    *({"crit": names} for names in (["exp"], ["alg"], [])),
    *({"crit": ["b64"], "b64": truth} for truth in (False, True)),
    *({"b64": False}, {"cty": "JWT"}, {"alg": ["RS256"]}, {"alg": "rs256"}),
]
TWO_READINGS: dict[str, tuple[str | bytes, str | bytes]] = {
    "two subjects": (HEAD, CLAIMS.replace('"sub": "2482"', '"sub": "1", "sub": "2482"')),
    "two issuers": (HEAD, CLAIMS.replace('"iss":', '"iss": "https://evil.example", "iss":')),
    "two streets": (HEAD, CLAIMS.replace("{", '{"address": {"street": 1, "street": 2}, ', 1)),
    "two algorithms": (HEAD.replace('"alg"', '"alg": "none", "alg"'), CLAIMS),
    "two key ids": (HEAD.replace('"kid"', '"kid": "k2", "kid"'), CLAIMS),
    "NaN": (HEAD, CLAIMS.replace("{", '{"age": NaN, ', 1)),
    "infinity": (HEAD, CLAIMS.replace("{", '{"age": -Infinity, ', 1)),
    "null": (HEAD, CLAIMS.replace("{", '{"nbf": null, ', 1)),
    "a number that is read as infinity": (HEAD, CLAIMS.replace("{", '{"iat": -1e999, ', 1)),
    "claims in UTF-16": (HEAD, CLAIMS.encode("utf-16")),
    "a header in UTF-16": (HEAD.encode("utf-16"), CLAIMS),
    "a mark of the encoding": (HEAD, b"\xef\xbb\xbf" + CLAIMS.encode()),
    "no text": (HEAD, CLAIMS.encode() + b"\xff"),
    "a list": (HEAD, f"[{CLAIMS}]"),
    "two objects": (HEAD, f"{CLAIMS}{CLAIMS}"),
    "a text": (HEAD, json.dumps(CLAIMS)),
    "a list for a header": (f"[{HEAD}]", CLAIMS),
    "a token in a token": (HEAD, signed(HEAD, CLAIMS)),
}
REFUSED = {
    **{
        f"alg {name!r}, {signature!r}": f"{written({**json.loads(HEAD), 'alg': name})}.{written(claims())}.{signature}"
        for name in UNSIGNED
        for signature in ("", "AAAA")
    },
    **{str(head): signed(json.dumps({**json.loads(HEAD), **head}), CLAIMS) for head in HEADS},
    **{name: signed(*parts) for name, parts in TWO_READINGS.items()},
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_token_of_a_login_lets_nobody_in(tokens: Tokens, case: str) -> None:
    """Not signed, for something else, or what two readers could take for two things."""
    assert tokens.user(signed(HEAD, CLAIMS)) is not None
    assert tokens.user(REFUSED[case]) is None


def test_an_address_that_nobody_verified_is_nobodys(tmp_path: Path) -> None:
    """An e-mail address that the issuer marks as unverified identifies nobody."""
    tokens = tokens_in(
        tmp_path,
        ('audience = "noisycount"', 'audience = "noisycount"\nclaim = "email"'),
        ('subject = "2482"', 'subject = "ana@example.org"'),
    )
    for verified, comes in ((None, True), (True, True), (False, False), ("false", False)):
        said = token(email="ana@example.org", email_verified=verified)
        assert (tokens.user(said) is not None) == comes
    assert tokens.user(token(email="ana@example.org", sub=["2482"])) is None


@given(text=st.text(max_size=80) | st.from_regex(r"[\w-]{0,20}\.[\w-]{0,20}\.[\w-]{0,20}"))
def test_no_text_makes_it_stumble(tokens: Tokens, text: str) -> None:
    """Whatever is shown is a token or is none."""
    assert tokens.user(text) is None


@given(
    head=st.dictionaries(
        st.sampled_from(["alg", "kid", "typ", "crit", "b64", "x5c", "jwk"]),
        st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.text()),
    ),
    said=st.none() | st.integers() | st.lists(st.integers()) | st.dictionaries(st.text(), st.none()),
)
def test_no_header_makes_it_stumble(tokens: Tokens, head: dict[str, Any], said: object) -> None:
    """Whatever parts a token has, of whatever types."""
    assert tokens.user(f"{written(head)}.{written(said)}.AAAA") is None


def test_a_token_of_any_length_is_refused_soon(tokens: Tokens) -> None:
    """A megabyte is not even looked at, nor one of the issuer's own that is too long."""
    assert tokens.user("a." * 500_000) is None
    assert tokens.user(token(groups="x" * 5_000)) is not None
    assert tokens.user(token(groups="x" * 20_000)) is None


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[server.oidc.analysts.ana]", "[server.oidc.analysts.anna]", "did you mean ana?"),
        ('["survey"]', '["surve"]', "'surve' is not configured: did you mean survey?"),
        ('datasets = ["survey"]', "", "--data-set is missing"),
        ('role = "owner"', 'role = "owner"\ndatasets = ["survey"]', "an owner sees every data set"),
        ('role = "owner"', 'role = "officer"\ndatasets = ["survey"]', "an officer may query no data set"),
    ],
)
def test_who_may_come_is_checked_at_the_start(tmp_path: Path, old: str, new: str, told: str) -> None:
    """A name without a budget, an unknown data set: the service does not begin."""
    with pytest.raises(ConfigError) as refused:
        tokens_in(tmp_path, (old, new))
    assert told in str(refused.value)


def test_without_a_configuration_there_are_no_tokens(tmp_path: Path) -> None:
    """Nobody's tokens are taken where no issuer is named."""
    configure(tmp_path)
    assert Auth.from_config(load_config(tmp_path / "noisycount.toml")).tokens is None


def test_a_part_is_read_as_it_was_written() -> None:
    """Of every length that base64url pads."""
    for length in range(9):
        part = {"a": "b" * length}
        assert json_object(decode_part(written(part))) == part


@pytest.mark.parametrize("part", ["e!30", "e30=", " e30", "e30\n", "e3+/", "é"])
def test_what_is_no_base64url_is_no_part(part: str) -> None:
    """Nothing is left out of it and read on, whatever library checks the signature."""
    with pytest.raises(ValueError, match=r"base64"):
        json_object(decode_part(part))


@pytest.mark.parametrize("text", ["[]", "1", "null", '"a"', "", "{", '{"a": 1, "a": 1}', "{}{}"])
def test_what_is_no_object_is_no_part(text: str) -> None:
    """Nor is one in which a member is said twice, with the same value even."""
    with pytest.raises(ValueError, match=r"JSON|twice|Expecting|Extra"):
        json_object(text.encode())


@pytest.mark.parametrize("algorithm", ["none", "HS256", "ES256", "rs256", "", None, 1, True, ["RS256"], {"RS256": 1}])
def test_only_an_algorithm_of_the_owner_is_taken(algorithm: object) -> None:
    """Before a library sees the token: no other, no secret, none at all."""
    assert is_of_login({"alg": "RS256"}, ("RS256",))
    assert not is_of_login({"alg": algorithm}, ("RS256",))
    assert not is_of_login({}, ("RS256",))
    assert not is_of_login(json.loads('{"alg": "RS256", "crit": null}'), ("RS256",))
