from pathlib import Path

import pytest

from tests.website.links import faults

GOOD = """<html><body id="top"><a href="sub/b.html#here">b</a> <a href="#top">up</a>
<a href="https://example.org/x">elsewhere</a><img src="data:image/png;base64,AAAA"></body></html>"""
OTHER = '<html><body><h1 id="here">b</h1><a href="../a.html">a</a></body></html>'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Two pages whose links are right."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.html").write_text(GOOD, encoding="utf-8")
    (tmp_path / "sub/b.html").write_text(OTHER, encoding="utf-8")
    return tmp_path


def test_right_links_are_right(site: Path) -> None:
    """Other pages, places on them, and addresses of others are no faults."""
    assert list(faults(site)) == []


@pytest.mark.parametrize(
    ("tag", "fault"),
    [
        ('<a href="c.html">', "a.html: c.html leads to no file"),
        ('<a href="../a.html">', "a.html: ../a.html leads to no file"),
        ('<a href="sub/b.html#there">', "a.html: sub/b.html#there leads to no place on that page"),
        ('<a href="#there">', "a.html: #there leads to no place on that page"),
        ('<img src="c.svg">', "a.html: c.svg leads to no file"),
        ('<script src="https://c.org/c.js">', "a.html: loads https://c.org/c.js from elsewhere"),
        ("<script>a()</script>", "a.html: has a script or a style in <script>"),
        ("<style></style>", "a.html: has a script or a style in <style>"),
        ('<p style="a: b">', "a.html: has a script or a style in <p>"),
        ('<link rel="stylesheet" href="//c.org/c">', "a.html: loads //c.org/c from elsewhere"),
    ],
)
def test_a_wrong_link_is_told(tmp_path: Path, tag: str, fault: str) -> None:
    """A fault is a single line with the page and the link."""
    (tmp_path / "site/sub").mkdir(parents=True)
    (tmp_path / "site/a.html").write_text(f"<html><body>{tag}</body></html>", encoding="utf-8")
    (tmp_path / "site/sub/b.html").write_text(OTHER, encoding="utf-8")
    (tmp_path / "a.html").write_text("beside the site", encoding="utf-8")
    assert list(faults(tmp_path / "site")) == [fault]
