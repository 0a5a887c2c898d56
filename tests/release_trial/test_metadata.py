import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from packaging.version import Version

import noisycount as nc
from tests.release_trial.pythons import VERSIONS

PROJECT = Path(__file__).parents[2]
FILES = [PROJECT / name for name in ("pyproject.toml", "CITATION.cff", "CHANGELOG.md")]
REQUIREMENT = re.compile(r"([a-z0-9-]+)(?:\[.*\])?(?:[>~]=)([0-9.]+)")

pytestmark = pytest.mark.skipif(
    not all(file.is_file() for file in FILES), reason="the tests run outside the project's folder"
)


@pytest.fixture(scope="module", name="stated")
def what_the_project_states() -> dict:
    """Read `pyproject.toml`."""
    return tomllib.loads(FILES[0].read_text(encoding="utf-8"))


@pytest.fixture(scope="module", name="cited")
def how_it_is_cited() -> dict:
    """Read `CITATION.cff`."""
    return yaml.safe_load(FILES[1].read_text(encoding="utf-8"))


def test_a_citation_has_what_its_format_needs(cited: dict) -> None:
    """Version 1.2 of the Citation File Format: the keys without which nothing can be cited."""
    assert cited["cff-version"] == "1.2.0"
    assert cited["type"] == "software"
    assert cited["message"]
    assert [set(author) for author in cited["authors"]] == [{"name"}]
    assert set(cited) - {"date-released"} == {
        *("cff-version", "message", "title", "abstract", "type", "authors", "version"),
        *("license", "keywords", "references"),
    }


def test_the_papers_can_be_cited(cited: dict) -> None:
    """Each has what the format needs of a reference, and the link that the page of papers has."""
    page = (PROJECT / "docs/papers.md").read_text(encoding="utf-8")
    linked = re.findall(r"\]\((https://(?:arxiv|doi)[^)]*)\)", page)
    links = [each.get("url") or f"https://doi.org/{each['doi']}" for each in cited["references"]]
    assert sorted(links) == sorted(linked)
    for each in cited["references"]:
        assert {"type", "title", "authors", "year"} <= set(each)
        assert all({"given-names", "family-names"} == set(author) for author in each["authors"])


def test_the_package_tells_its_version() -> None:
    """As Python libraries do: that of what is installed."""
    assert nc.__version__ == version("noisycount")


def test_a_release_has_one_version_and_one_date(stated: dict, cited: dict) -> None:
    """The project and its citation agree with the newest release, or both name a development version after it."""
    project = stated["project"]
    changes = FILES[2].read_text(encoding="utf-8")
    newest = re.search(r"^## \[(\d.+)\] - (.+)$", changes, re.MULTILINE)
    assert newest is not None
    code_license, _, font_license = project["license"].partition(" AND ")
    assert (project["name"], code_license) == (cited["title"], cited["license"])
    assert font_license == "OFL-1.1"
    assert project["version"] == cited["version"]
    if Version(project["version"]).is_devrelease:
        assert Version(project["version"]) > Version(newest[1])
        assert "date-released" not in cited
    else:
        assert project["version"] == newest[1]
        assert str(cited["date-released"]) == newest[2]


def test_a_tree_with_unreleased_changes_is_no_release(stated: dict) -> None:
    """Ledgers of a changed tree are not those of the release before, so the tree must not have its version."""
    is_changed = "## [Unreleased]" in FILES[2].read_text(encoding="utf-8") or any(PROJECT.glob("changes/+*.md"))
    assert Version(stated["project"]["version"]).is_devrelease is is_changed


def test_a_release_is_for_the_pythons_on_which_it_is_tried(stated: dict) -> None:
    """The classifiers name each, and the lowest is the lowest that is allowed."""
    language = "Programming Language :: Python :: "
    named = [each.removeprefix(language) for each in stated["project"]["classifiers"]]
    assert [version for version in named if re.fullmatch(r"3\.\d+", version)] == VERSIONS
    assert stated["project"]["requires-python"] == f">={VERSIONS[0]}"


def test_what_the_tests_need_is_no_older_than_what_is_installed(stated: dict) -> None:
    """A package of an extra has the same lower bound in the group for development."""
    extras = stated["project"]["optional-dependencies"].values()
    needed = bounds([*stated["project"]["dependencies"], *(each for some in extras for each in some)])
    developed = bounds(stated["dependency-groups"]["dev"])
    assert needed.keys() & developed.keys() > {"fastapi", "pyspark"}
    assert {name: developed[name] for name in needed.keys() & developed.keys()} == {
        name: needed[name] for name in needed.keys() & developed.keys()
    }


def bounds(requirements: list[str]) -> dict[str, str]:
    """Give the lowest version of each package."""
    matches = [REQUIREMENT.match(requirement) for requirement in requirements]
    return {match[1]: match[2] for match in matches if match is not None}
