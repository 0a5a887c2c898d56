from pathlib import Path

import pytest

from noisycount.app.config.file import load
from noisycount.app.server.guard.oidc.tokens import Tokens
from tests.test_readme import BLOCK, output, pieces, transcripts

PAGE = Path(__file__).parents[1] / "docs/access.md"
TEXT = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""

pytestmark = pytest.mark.skipif(not TEXT, reason="the tests run outside the project's folder")


def test_the_page_is_executed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its commands print what they show, and its configuration takes tokens as it says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    blocks = BLOCK.findall(TEXT)
    (described,) = (block for language, block in blocks if language == "toml")
    (tmp_path / "noisycount.toml").write_text(described, encoding="utf-8")
    tokens = Tokens.of(load(tmp_path / "noisycount.toml"))
    assert tokens is not None
    roles = {each.name: (str(each.role), each.grants) for each in tokens.visitors.values()}
    assert roles == {"ana": ("analyst", {"survey"}), "olga": ("owner", None)}
    shown = [
        each for language, block in blocks if language == "console" for each in transcripts(block)
    ]
    assert len(shown) == 3
    for command, printed in shown:
        assert pieces(command, output(command, capsys)) == pieces(command, printed)
