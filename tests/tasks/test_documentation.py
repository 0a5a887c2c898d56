"""Tests of `tasks/documentation.py` and of the command in `cli/docs.py`."""

import re
import webbrowser
from pathlib import Path

import pytest

from noisycount.cli.main import _PAGES, COMMANDS
from noisycount.display.documentation import TITLES
from noisycount.tasks import documentation
from noisycount.tasks.documentation import NOT_BUILT, site_files
from tests.helpers.commands import Refused, Run

PACKAGE = Path(documentation.__file__).parents[1]
DOCS = Path(__file__).parents[2] / "docs"
PAGE = "<html><head><title>Keys &amp; roles &#8212; noisycount 1.0</title></head></html>"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses that a browser would open."""
    addresses: list[str] = []
    monkeypatch.setattr(webbrowser, "open", addresses.append)
    return addresses


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A built site of two pages, a style and the state of Sphinx."""
    site = tmp_path / "a site"
    files = {"index.html": PAGE, "how-to/keys.html": PAGE, "_static/a.css": "", ".doctrees/index": ""}
    for name, text in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text, encoding="utf-8")
    use_folders(monkeypatch, site)
    return site


def use_folders(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    """Look for the site in these folders."""
    monkeypatch.setattr(documentation, "_FOLDERS", folders)
    monkeypatch.setattr(documentation, "site_files", site_files.__wrapped__)


@pytest.mark.usefixtures("site")
def test_the_first_page_is_opened(run: Run, opened: list[str]) -> None:
    """Its address is printed too, for a machine without a browser; a blank in it is escaped."""
    told = run("docs")
    assert (told.status, told.errors, told.output.split("\n")[0]) == (0, "", "page     Keys & roles")
    (address,) = opened
    assert address in "".join(told.output.split())
    assert address.startswith("file:///")
    assert address.endswith("/a%20site/index.html")


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("name", ["how-to/keys", "how-to/keys.html", "how-to/keys#roles", "how-to/keys.html#roles"])
def test_a_page_is_opened_by_its_address(run: Run, opened: list[str], name: str) -> None:
    """With its ending or without, and at a heading."""
    assert run("docs", name).status == 0
    assert opened[0].endswith("how-to/keys.html" + ("#roles" if "#" in name else ""))


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("name", ["how-to/key", "_static/a", "../index", ".doctrees/index"])
def test_a_page_that_is_none_is_refused(refused: Refused, opened: list[str], name: str) -> None:
    """The refusal names a page, and nothing is opened."""
    assert "is no page of the documentation: " in refused("docs", name)
    assert opened == []


def test_a_site_that_is_not_built_is_refused(
    refused: Refused, opened: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The refusal is one line with the command that builds the site."""
    use_folders(monkeypatch, tmp_path)
    assert refused("docs") == f"error: {NOT_BUILT}\n"
    assert opened == []


def test_the_site_of_the_package_comes_first(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The site of a checkout is used if the package has none; the state of Sphinx is left out."""
    use_folders(monkeypatch, tmp_path / "none", site)
    assert set(documentation.site_files()) == {"index.html", "how-to/keys.html", "_static/a.css"}


@pytest.mark.skipif(not DOCS.is_dir(), reason="the tests run outside the project's folder")
def test_pages_are_named_by_their_titles() -> None:
    """Each page that a help text or a page of the service names is there, and has that title."""
    pages = {name: DOCS / f"{name}.md" for name in TITLES}
    headings = {name: page.read_text(encoding="utf-8").split("\n")[0] for name, page in pages.items() if page.is_file()}
    assert headings == {name: f"# {title}" for name, title in TITLES.items()}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_help_of_a_command_names_its_page(run: Run, name: str) -> None:
    """By its title and the command that opens it."""
    for _ in range(2):  # the reference is added once
        assert run(name, "--help").output.count("Documentation: ") == (name in _PAGES)
    assert set(_PAGES.values()) <= set(TITLES)


def test_errors_name_pages_by_their_titles() -> None:
    """Each address of a page in the source stands behind its title."""
    texts = [
        path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py") if path.name not in {"main.py", "docs.py"}
    ]
    named = [match for text in texts for match in re.finditer(r"\(([^()]+): noisycount docs ([\w/-]+)\)", text)]
    assert {match[2] for match in named} >= {"start/install", "how-to/servers"}
    assert [match[0] for match in named if TITLES.get(match[2]) != match[1]] == []
