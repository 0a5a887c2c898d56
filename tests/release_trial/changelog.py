"""Make the tree a release: `python -m tests.release_trial.changelog VERSION`.

The files of `changes/` become the section of the version in CHANGELOG.md; a second run adds later files to it.
The version and the date are written to pyproject.toml and CITATION.cff, the version also to pages that name the wheel.
"""

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from tests.release_trial.archives import PROJECT

__all__ = ["merge_sections", "release"]

_HEADING = re.compile(r"^### (.+)$", re.MULTILINE)
_KINDS = ("Security", "Added", "Changed", "Removed", "Fixed")


def merge_sections(earlier: str, later: str) -> str:
    """Return the entries of two sections of one version under each heading once, those of the earlier section first."""
    parts = []
    for kind in _KINDS:
        entries = [_entries(section).get(kind, "") for section in (earlier, later)]
        if any(entries):
            joined = "\n".join(filter(None, entries))
            parts.append(f"### {kind}\n\n{joined}\n")
    return "\n".join(parts)


def release(project: Path, version: str, date: str) -> None:
    """Fold all changes of a project into the section of a version, and write the version and the date."""
    changelog = project / "CHANGELOG.md"
    before = changelog.read_text(encoding="utf-8")
    section = re.search(rf"^## \[{re.escape(version)}\] - \S+\n\n(.*?)(?=^## )", before, re.MULTILINE | re.DOTALL)
    earlier = section[1] if section else ""
    if section:
        changelog.write_text(before.replace(section[0], ""), encoding="utf-8")
    words = ["build", "--yes", "--version", version, "--date", date]
    subprocess.run([sys.executable, "-m", "towncrier", *words], cwd=project, check=True)  # noqa: S603 - our own words
    text = changelog.read_text(encoding="utf-8")
    heading = f"## [{version}] - {date}\n\n"
    start = text.index(heading) + len(heading)
    end = text.index("\n## [", start) + 1
    changelog.write_text(f"{text[:start]}{merge_sections(earlier, text[start:end])}\n{text[end:]}", encoding="utf-8")
    _write_version(project, version, date)


def _entries(section: str) -> dict[str, str]:
    """Return the entries of a section by their headings."""
    _, *parts = _HEADING.split(section)
    return {kind: text.strip("\n") for kind, text in zip(parts[::2], parts[1::2], strict=True)}


def _write_version(project: Path, version: str, date: str) -> None:
    described, cited = project / "pyproject.toml", project / "CITATION.cff"
    text = re.sub(r'^version = ".*"$', f'version = "{version}"', described.read_text("utf-8"), flags=re.MULTILINE)
    described.write_text(text, encoding="utf-8")
    text = re.sub(r"^date-released: .*\n", "", cited.read_text("utf-8"), flags=re.MULTILINE)
    text = re.sub(r"^version: .*$", f"version: {version}\ndate-released: {date}", text, flags=re.MULTILINE)
    cited.write_text(text, encoding="utf-8")
    for page in project.glob("docs/**/*.md"):
        text = page.read_text(encoding="utf-8")
        named = re.sub(r"noisycount-\d[\w.]*-py3-none-any\.whl", f"noisycount-{version}-py3-none-any.whl", text)
        if named != text:
            page.write_text(named, encoding="utf-8")


if __name__ == "__main__":
    release(PROJECT, sys.argv[1], datetime.now(UTC).date().isoformat())
