from pathlib import Path

import pytest

from noisycount.config.config import load_config
from noisycount.service.auth import Auth
from tests.helpers.transcripts import PROJECT, blocks_of

PAGE = PROJECT / "docs/how-to/keys.md"

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the tests run outside the project's folder")


def test_the_configuration_takes_tokens_as_the_page_says(tmp_path: Path) -> None:
    """Two subjects of an issuer, with their roles and data sets."""
    (described,) = (each for each in blocks_of(PAGE, "toml") if "[server.oidc]" in each.text)
    (tmp_path / "noisycount.toml").write_text(described.text, encoding="utf-8")
    tokens = Auth.from_config(load_config(tmp_path / "noisycount.toml")).tokens
    assert tokens is not None
    roles = {each.name: (str(each.role), each.grants) for each in tokens.users.values()}
    assert roles == {"ana": ("analyst", {"survey"}), "olga": ("owner", None)}
