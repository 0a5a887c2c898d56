"""Former addresses of pages: each is still a page of the site, or redirects.json leads from it to one."""

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from urllib.parse import urldefrag

import pytest

from tests.test_docs import anchors

DOCS = Path(__file__).parents[2] / "docs"
SOURCES = {".md", ".ipynb"}

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the tests run outside the project's folder")


@pytest.fixture
def extension() -> Iterator[ModuleType]:
    """The extension that writes the redirect pages, imported as Sphinx does."""
    pytest.importorskip("sphinx")
    sys.path.insert(0, str(DOCS / "_extensions"))
    yield import_module("redirects")
    sys.path.remove(str(DOCS / "_extensions"))


def read_redirects() -> dict[str, str]:
    """Return the former addresses with their new ones, and refuse an address that stands there twice."""
    text = (DOCS / "redirects.json").read_text(encoding="utf-8")
    pairs: list[tuple[str, str]] = json.loads(text, object_pairs_hook=list)
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def source_of(address: str) -> Path | None:
    """Return the source of the page at an address, or None if the site has no such page."""
    sources = [(DOCS / address).with_suffix(suffix) for suffix in SOURCES]
    return next((source for source in sources if source.is_file()), None)


def dead_end(address: str, redirects: dict[str, str]) -> str | None:
    """Follow a former address; return the address that is no page or has no such heading, or that is a circle."""
    target, visited = address, set[str]()
    while (page := urldefrag(target).url) in redirects and source_of(page) is None:
        if page in visited:
            return target
        visited.add(page)
        target = redirects[page]
    page, heading = urldefrag(target)
    source = source_of(page)
    if source is None or (heading and heading not in anchors(source)):
        return target
    return None


def test_every_former_address_leads_to_a_page() -> None:
    """A reader who kept a link to the site of 0.2 still finds what it named."""
    redirects = read_redirects()
    former = (DOCS / "former_pages.txt").read_text(encoding="utf-8").split()
    assert len(former) == 86
    ends = {address: dead_end(address, redirects) for address in {*former, *redirects}}
    assert {address: end for address, end in ends.items() if end is not None} == {}


def test_no_page_is_redirected() -> None:
    """A redirect page would replace the page of the same address."""
    assert [address for address in read_redirects() if source_of(address) is not None] == []


def test_dead_ends_are_found() -> None:
    """A missing page, a missing heading, a circle; and a chain of redirects is none."""
    redirects = {
        "chain.html": "next.html",
        "next.html": "index.html",
        "gone.html": "no-such-page.html",
        "heading.html": "index.html#no-such-heading",
        "circle.html": "back.html",
        "back.html": "circle.html",
    }
    assert {address for address in redirects if dead_end(address, redirects)} == {
        "gone.html",
        "heading.html",
        "circle.html",
        "back.html",
    }
    assert dead_end("never-was.html", redirects) == "never-was.html"


def test_a_redirect_page_has_a_relative_link(extension: ModuleType) -> None:
    """It leads from its folder to the page, and to the heading."""
    page = extension.redirect_page("guides/deep/team.html", "how-to/keys.html#roles")
    assert 'content="0; url=../../how-to/keys.html#roles"' in page
    assert '<a href="../../how-to/keys.html#roles">' in page
    assert 'url=how-to/keys.html"' in extension.redirect_page("access.html", "how-to/keys.html")


def test_a_circle_of_redirects_is_refused(extension: ModuleType) -> None:
    """The site is not built; a chain ends at its last page."""
    final_address = extension.final_address
    assert final_address({"a.html": "b.html#x", "b.html": "c.html"}, "a.html") == "c.html"
    with pytest.raises(ValueError, match=r"a\.html → b\.html → a\.html is a circle"):
        final_address({"a.html": "b.html", "b.html": "a.html"}, "a.html")
