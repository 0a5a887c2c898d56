"""The inventory of a release: its packages with hashes, for pip, and as a bill of materials of CycloneDX.

Both come from one resolution for every system and every Python that noisycount is for.
"""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.release_trial.archives import PROJECT
from tests.release_trial.steps import TrialError

__all__ = ["check_inventory", "direct_packages", "pinned_packages", "write_inventory"]

_GROUPS = re.compile(r"^\[dependency-groups\]\n.*?(?=^\[)", re.MULTILINE | re.DOTALL)


def write_inventory(folder: Path, version: str) -> tuple[Path, Path]:
    """Write the hashed requirements and the bill of materials of all extras, and return their paths."""
    requirements = folder / f"noisycount-{version}-requirements.txt"
    materials = folder / f"noisycount-{version}.cdx.json"
    with TemporaryDirectory() as name:
        project = Path(name)
        described = (PROJECT / "pyproject.toml").read_text(encoding="utf-8")
        (project / "pyproject.toml").write_text(_GROUPS.sub("", described), encoding="utf-8")
        _uv("lock", cwd=project)
        export = ("export", "--frozen", "--all-extras", "--no-header")
        _uv(*export, "--no-emit-project", "--format", "requirements.txt", "--output-file", "all.txt", cwd=project)
        _uv(*export, "--preview-features", "sbom-export", "--format", "cyclonedx1.5", "-o", "all.json", cwd=project)
        shutil.move(project / "all.txt", requirements)
        shutil.move(project / "all.json", materials)
    return requirements, materials


def check_inventory(requirements: Path, materials: Path) -> None:
    """Check that both have every package of pyproject.toml, agree on all versions, and that pip accepts the hashes."""
    pinned = pinned_packages(requirements)
    bill = json.loads(materials.read_text(encoding="utf-8"))
    listed = {(each["name"], each["version"]) for each in bill["components"]}
    if bill["bomFormat"] != "CycloneDX" or listed != {(name, version) for name, version, _ in pinned}:
        raise TrialError(f"{materials.name} lists other packages than {requirements.name}")
    if missing := direct_packages() - {name for name, _, _ in pinned}:
        raise TrialError(f"{requirements.name} lacks {', '.join(sorted(missing))}")
    if unhashed := [name for name, _, hashes in pinned if not hashes]:
        raise TrialError(f"{requirements.name} has no hash of {', '.join(unhashed)}")
    with TemporaryDirectory() as folder:
        _uv("venv", "env", cwd=Path(folder))
        place = ("--python", "env/bin/python", "--require-hashes", "--requirement", str(requirements))
        _uv("pip", "install", "--dry-run", *place, cwd=Path(folder))


def pinned_packages(requirements: Path) -> set[tuple[str, str, int]]:
    """Return the packages of a file of requirements, each with its version and the number of its hashes."""
    text = requirements.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    matches = [re.match(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^ ;]+)", line) for line in lines]
    if odd := [line for line, match in zip(lines, matches, strict=True) if match is None]:
        raise TrialError(f"{requirements.name} has a line without a version: {odd[0][:60]}")
    return {
        (match[1].lower(), match[2], line.count("--hash=sha256:"))
        for line, match in zip(lines, matches, strict=True)
        if match is not None
    }


def direct_packages(*extras: str) -> set[str]:
    """Return the packages that pyproject.toml names: those of every installation, and of some extras or of all."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    named = [*project["dependencies"], *(each for extra in extras or optional for each in optional[extra])]
    return {re.split(r"[\[<>=~; ]", each)[0].lower() for each in named}


def _uv(*words: str, cwd: Path) -> None:
    command = [sys.executable, "-m", "uv", "--quiet", "--no-python-downloads", *words]
    done = subprocess.run(command, cwd=cwd, check=False, capture_output=True, text=True)  # noqa: S603 - our own words
    if done.returncode:
        raise TrialError(f"uv {' '.join(words)}: {done.stderr}")
