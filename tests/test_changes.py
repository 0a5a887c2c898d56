"""Files in `changes/`, from which the changelog of a release is made."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
FOLDER = PROJECT / "changes"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the tests run outside the project's folder")


def types() -> list[str]:
    """Return the types of changes."""
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["towncrier"]
    return [kind["directory"] for kind in settings["type"]]


def test_every_change_has_a_type_and_a_sentence() -> None:
    """Files have a name of the stated form, and a text that ends as a sentence."""
    form = re.compile(rf"\+[a-z0-9-]+\.({'|'.join(types())})\.md")
    files = [path for path in FOLDER.iterdir() if path.name != "README.md"]
    assert [path.name for path in files if not form.fullmatch(path.name)] == []
    assert [
        path.name for path in files if not path.read_text(encoding="utf-8").rstrip().endswith((".", "|", "`"))
    ] == []


def test_the_page_explains_every_type() -> None:
    """The table has each type once."""
    assert re.findall(r"^\| `(\w+)` \|", (FOLDER / "README.md").read_text(encoding="utf-8"), re.MULTILINE) == types()


@pytest.mark.thorough
def test_changes_become_the_section_of_a_release(tmp_path: Path) -> None:
    """The new section stands above the older ones, by type, and the files are gone."""
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(PROJECT / name, tmp_path / name)
    changes = tmp_path / "changes"
    changes.mkdir()
    (changes / "+faster.changed.md").write_text("`count` is faster.\n", encoding="utf-8")
    (changes / "+leak.security.md").write_text("No answer leaks.\n", encoding="utf-8")
    words = ["build", "--yes", "--version", "9.9.9", "--date", "2030-01-02"]
    subprocess.run([sys.executable, "-m", "towncrier", *words], cwd=tmp_path, check=True)  # noqa: S603 - our own words
    section = "## [9.9.9] - 2030-01-02\n\n### Security\n\n- No answer leaks.\n\n### Changed\n\n- `count` is faster.\n"
    text = (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    assert text.index(section) < text.index("## [0.2.0]")
    assert [path.name for path in changes.iterdir()] == []
