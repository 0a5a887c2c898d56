import json

import pytest

from noisycount.service.oidc import decoded, is_of_login, json_object
from tests.service.auth.oidc.conftest import written


def test_a_part_is_read_as_it_was_written() -> None:
    """Of every length that base64url pads."""
    for length in range(9):
        part = {"a": "b" * length}
        assert json_object(decoded(written(part))) == part


@pytest.mark.parametrize("part", ["e!30", "e30=", " e30", "e30\n", "e3+/", "é"])
def test_what_is_no_base64url_is_no_part(part: str) -> None:
    """Nothing is left out of it and read on, whatever library checks the signature."""
    with pytest.raises(ValueError, match=r"base64"):
        json_object(decoded(part))


@pytest.mark.parametrize("text", ["[]", "1", "null", '"a"', "", "{", '{"a": 1, "a": 1}', "{}{}"])
def test_what_is_no_object_is_no_part(text: str) -> None:
    """Nor is one in which a member is said twice, with the same value even."""
    with pytest.raises(ValueError, match=r"JSON|twice|Expecting|Extra"):
        json_object(text.encode())


@pytest.mark.parametrize(
    "algorithm", ["none", "HS256", "ES256", "rs256", "", None, 1, True, ["RS256"], {"RS256": 1}]
)
def test_only_an_algorithm_of_the_owner_is_taken(algorithm: object) -> None:
    """Before a library sees the token: no other, no secret, none at all."""
    assert is_of_login({"alg": "RS256"}, ("RS256",))
    assert not is_of_login({"alg": algorithm}, ("RS256",))
    assert not is_of_login({}, ("RS256",))
    assert not is_of_login(json.loads('{"alg": "RS256", "crit": null}'), ("RS256",))
