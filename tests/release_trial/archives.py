"""The two files of a release: how they are built, and what they hold."""

import hashlib
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

from tests.release_trial.steps import TrialError

__all__ = ["PROJECT", "built", "check_sdist", "check_wheel", "remade", "same", "wheel_of"]

PROJECT = Path(__file__).parents[2]
ROOT_FILES = {
    *("README.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "SECURITY.md"),
    *("LICENSE", "Makefile", "pyproject.toml"),
}
ROOMS = ["src", "tests", "benchmarks", "audits", "docs", "deploy"]
INSTALLED = {
    *(".py", ".typed", ".parquet", ".toml", ".csv", ".json", ".md"),
    *(".html", ".css", ".js", ".svg"),
    *(".ttf", ".txt"),  # the font of PNG pictures and its licence
}
SITE, INSTALLED_SITE = "docs/_build/html", "noisycount/site"
METADATA = {
    *("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"),
    "licenses/src/noisycount/charts/fonts/OFL.txt",
}


def built(folder: Path) -> tuple[Path, Path]:
    """Build the wheel and the sdist of the project in a folder, where they replace older ones."""
    for old in [*folder.glob("noisycount-*.whl"), *folder.glob("noisycount-*.tar.gz")]:
        old.unlink()
    _build(PROJECT, "wheel", "sdist", folder=folder)
    (wheel,), (sdist,) = folder.glob("noisycount-*.whl"), folder.glob("noisycount-*.tar.gz")
    return wheel, sdist


def remade(sdist: Path, folder: Path) -> Path:
    """Build the wheel from what an sdist holds."""
    with tarfile.open(sdist) as packed:
        packed.extractall(folder, filter="data")
    (unpacked,) = folder.iterdir()
    _build(unpacked, "wheel", folder=folder / "dist")
    (wheel,) = (folder / "dist").iterdir()
    return wheel


def wheel_of(package: str, folder: Path) -> Path:
    """The newest wheel of another package, which pip makes if it has not made it before."""
    words = ["wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), package]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, capture_output=True)  # noqa: S603
    (wheel,) = folder.iterdir()
    return wheel


def check_wheel(wheel: Path) -> None:
    """Check that the wheel has every file of `src/` and of the site, its description, and nothing else."""
    described = "-".join(wheel.name.split("-")[:2]) + ".dist-info"
    package = {name for name in _tracked("src") if not name.endswith("/.gitignore")}
    expected = {Path(name).relative_to("src").as_posix() for name in package}
    expected |= {f"{described}/{name}" for name in METADATA}
    expected |= {f"{INSTALLED_SITE}/{name}" for name in _site()}
    with ZipFile(wheel) as packed:
        _compare(wheel, set(packed.namelist()), expected)
        description = packed.read(f"{described}/METADATA").decode()
    if lost := set(re.findall(r"\]\((?!https://)([^)]*)\)", description)):
        raise TrialError(f"the description of {wheel.name} has links that a registry cannot follow: {_some(lost)}")
    if odd := {name for name in package if Path(name).suffix not in INSTALLED}:
        raise TrialError(f"{wheel.name} holds files of an unknown kind: {_some(odd)}")


def check_sdist(sdist: Path) -> None:
    """Check that the source archive has all files to test, measure and document the release."""
    expected = ROOT_FILES | {"PKG-INFO", ".gitignore"} | _tracked(*ROOMS) | {f"{SITE}/{name}" for name in _site()}
    with tarfile.open(sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    _compare(sdist, names, expected)


def same(one: Path, other: Path) -> bool:
    """Return True if two files have equal bytes."""
    first, second = (hashlib.sha256(path.read_bytes()).digest() for path in (one, other))
    return first == second


def _build(project: Path, *targets: str, folder: Path) -> None:
    words = [word for target in targets for word in ("--target", target)]
    subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-m", "hatchling", "build", *words, "--directory", str(folder)],
        cwd=project,
        check=True,
        capture_output=True,
    )


def _site() -> set[str]:
    """Return the files of the built site, without the state of Sphinx."""
    site = PROJECT / SITE
    names = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    if "index.html" not in names:
        raise TrialError("the site of the documentation is not built: run `make docs` first")
    return {name for name in names if not name.startswith(".")}


def _tracked(*rooms: str) -> set[str]:
    """Return the files of some folders that git tracks, or would track."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *rooms]
    listed = subprocess.run(words, cwd=PROJECT, check=True, capture_output=True, text=True)  # noqa: S603
    return {name for name in listed.stdout.splitlines() if (PROJECT / name).exists()}


def _compare(archive: Path, names: set[str], expected: set[str]) -> None:
    if missing := expected - names:
        raise TrialError(f"{archive.name} lacks {_some(missing)}")
    if more := names - expected:
        raise TrialError(f"{archive.name} should not hold {_some(more)}")


def _some(names: set[str]) -> str:
    shown = sorted(names)[:5]
    return ", ".join(shown) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
