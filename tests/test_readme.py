"""Promises of the README; its blocks are executed by `tests/test_docs.py`."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.helpers.transcripts import PROJECT, README, blocks_of, transcripts
from tests.release_trial.archives import ROOMS, ROOT_FILES

LONGEST = 150
OURS = "noisycount"
BY_NAME = re.compile(
    r"\b(?:install|inject|(?:uv|poetry) add|uvx|pipx run|download|--with|--from)"
    rf"(?: +-[-\w]+)* +['\"]?{OURS}(?![-\w./]|'s\b)|{OURS}\[[\w,]+\]"
)
"""What takes the package from a registry, where it is not: whoever has its name there is run."""

READ = {"", ".md", ".py", ".txt", ".toml", ".ipynb", ".service", ".cff", ".html", ".yml", ".yaml"}
LATEST = 900  # seconds for what somebody does first, on a busy machine
MAIN = {"demo", "plan", "count", "refine", "ledger", "serve"}

pytestmark = pytest.mark.skipif(not README.is_file(), reason="the tests run outside the project's folder")


def test_it_is_short() -> None:
    """It can be read in one sitting."""
    assert len(README.read_text(encoding="utf-8").splitlines()) <= LONGEST


def test_the_main_commands_are_shown() -> None:
    """Each main command has an example, which is run."""
    found = blocks_of(README, "console")
    commands = [command for block in found for command, _ in transcripts(block.text)]
    assert {command.split()[1] for command in commands} >= MAIN


def test_every_target_is_in_the_makefile() -> None:
    """`make demo` and `make test` stand in it, and make knows both."""
    targets = re.findall(r"(?:^|`)make (\w+)", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert targets[0] == "demo"
    assert "test" in targets
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


def test_a_wheel_that_is_named_is_that_of_the_release() -> None:
    """The page of installation names it by its version."""
    described = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    version = described["project"]["version"]
    text = (PROJECT / "docs/start/install.md").read_text(encoding="utf-8")
    assert re.findall(r"dist/noisycount-([\w.]+)-py3", text) == [version]


def registry_page() -> str:
    """Return README.md as the page of a package registry shows it, by the hook of `pyproject.toml`."""
    described = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    hook = described["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    page = "".join(
        part["text"] if "text" in part else (PROJECT / part["path"]).read_text(encoding="utf-8")
        for part in hook["fragments"]
    )
    for rule in hook["substitutions"]:
        page = re.sub(rule["pattern"], rule["replacement"], page)
    return page


def test_no_link_of_a_registry_page_is_broken() -> None:
    """It has no relative link and no picture, and every file that it names in place of them is packed."""
    page = registry_page()
    assert all(re.match("https://", link) for link in re.findall(r"\]\(([^)]*)\)", page))
    assert "![" not in page
    named = re.findall(r"\(`([\w./-]+)`\)", page)
    assert len(named) > 8
    for name in named:
        assert (PROJECT / name).is_file(), name
        assert name in ROOT_FILES or name.split("/")[0] in ROOMS, name


def files() -> list[Path]:
    """Return the readable files of the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],  # noqa: S607 - of the machine
        cwd=PROJECT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [path for line in listed.splitlines() if (path := PROJECT / line).is_file()]


cloned = pytest.mark.skipif(not (PROJECT / ".git").exists(), reason="the tests run in no clone")


@cloned
def test_nothing_is_installed_from_a_registry_by_our_name() -> None:
    """Neither a page, nor an error's remedy, nor a file of a deployment says so."""
    told = {
        f"{path.relative_to(PROJECT)}: {match[0]}"
        for path in files()
        if path.suffix in READ and path != Path(__file__)
        for match in BY_NAME.finditer(path.read_text(encoding="utf-8"))
    }
    assert told == set()


@pytest.mark.parametrize(
    ("told", "is_found"),
    [
        ("pip install 'noisycount[charts]'", True),
        ("install noisycount[postgres]", True),
        ("pip install noisycount", True),
        ("pip install --upgrade noisycount", True),
        ("uv tool install noisycount", True),
        ("pipx run noisycount demo", True),
        ("uvx noisycount demo", True),
        ("pip install '.[charts]'", False),
        ("pip install 'dist/noisycount-0.2.0-py3-none-any.whl[charts]'", False),
        ("install noisycount's extra charts: pip install '.[charts]'", False),
    ],
)
def test_an_install_by_name_is_found(told: str, *, is_found: bool) -> None:
    """However it is written; the sources and a wheel have a path."""
    assert bool(BY_NAME.search(told)) is is_found


@cloned
@pytest.mark.thorough(minutes=1)
def test_the_first_block_works_on_a_fresh_machine(tmp_path: Path) -> None:
    """In a copy of the repository, for somebody with a home, a Python and make, and no more."""
    clone, home = tmp_path / "clone", tmp_path / "home"
    home.mkdir()
    for path in files():
        place = clone / path.relative_to(PROJECT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    (block, *_) = blocks_of(README, "sh")
    registry = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    settings = Path.home() / ".config/pip/pip.conf"  # where the machine has its packages from
    if settings.is_file():
        registry.setdefault("PIP_CONFIG_FILE", str(settings))
    told = subprocess.run(  # noqa: S603 - our own page
        ["/bin/sh", "-e", "-c", block.text],
        cwd=clone,
        env={**registry, "HOME": str(home), "PATH": os.defpath, "LANG": "C.UTF-8"},
        check=False,
        capture_output=True,
        text=True,
        timeout=LATEST,
    )
    assert told.returncode == 0, told.stdout + told.stderr
    assert "3  The answer: " in told.stdout
    assert told.stdout.rstrip().splitlines()[-1].startswith("noisycount")
    assert (clone / "noisycount-demo/poor-health.svg").is_file()
