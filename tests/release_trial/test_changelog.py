import shutil
from pathlib import Path

import pytest

from tests.release_trial.archives import PROJECT
from tests.release_trial.changelog import merge_sections, release

pytestmark = pytest.mark.skipif(not (PROJECT / "changes").is_dir(), reason="the tests run outside the project's folder")


def test_sections_of_one_version_are_one() -> None:
    """Each heading stands once, security first, with the earlier entries before the later ones."""
    earlier = "### Security\n\n- a\n\n### Fixed\n\n- b\n  and c\n"
    later = "### Added\n\n- d\n\n### Fixed\n\n- e\n"
    merged = merge_sections(earlier, later)
    assert merged == "### Security\n\n- a\n\n### Added\n\n- d\n\n### Fixed\n\n- b\n  and c\n- e\n"
    assert merge_sections("", merged) == merge_sections(merged, "") == merged


@pytest.mark.thorough
def test_late_changes_join_the_section_of_the_release(tmp_path: Path) -> None:
    """A second run keeps the first entries, and the version and the date stand in each file that states them."""
    pytest.importorskip("towncrier")
    for name in ("pyproject.toml", "CHANGELOG.md", "CITATION.cff"):
        shutil.copy(PROJECT / name, tmp_path / name)
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs/install.md"
    page.write_text("dist/noisycount-9.9.9.dev0-py3-none-any.whl[charts]", encoding="utf-8")
    changes = tmp_path / "changes"
    changes.mkdir()
    for number, text in enumerate(("`count` is faster.", "`count` is more exact.")):
        (changes / f"+{number}.changed.md").write_text(f"{text}\n", encoding="utf-8")
        release(tmp_path, "9.9.9", f"2030-01-0{number + 1}")
    text = (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    section = "## [9.9.9] - 2030-01-02\n\n### Changed\n\n- `count` is faster.\n- `count` is more exact.\n\n## ["
    assert section in text
    assert text.count("[9.9.9]") == 1
    assert list(changes.iterdir()) == []
    assert "\nversion: 9.9.9\ndate-released: 2030-01-02\n" in (tmp_path / "CITATION.cff").read_text(encoding="utf-8")
    assert '\nversion = "9.9.9"\n' in (tmp_path / "pyproject.toml").read_text(encoding="utf-8")
    assert page.read_text(encoding="utf-8") == "dist/noisycount-9.9.9-py3-none-any.whl[charts]"
