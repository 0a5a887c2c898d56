from pathlib import Path

import pytest

from noisycount.display.documentation import TITLES
from noisycount.service.app import application
from noisycount.service.pages import documentation, layout
from noisycount.service.pages.layout import PAGE_HEADERS
from noisycount.service.state import ServiceState
from tests.helpers.service_callers import Caller

FOLDER = Path(layout.__file__).parent / "templates"
FILES = {
    "index.html": ("<h1>Pages</h1>", "text/html; charset=utf-8"),
    "how-to/keys.html": ("<h1>Keys</h1>", "text/html; charset=utf-8"),
    "_static/a.js": ("", "text/javascript; charset=utf-8"),
    "_static/a.css": ("a {}", "text/css; charset=utf-8"),
    "_static/a.woff2": ("font", "font/woff2"),
    "_images/a.svg": ("<svg/>", "image/svg+xml"),
}


@pytest.fixture
def client(state: ServiceState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Caller:
    """A browser without a key, at a service with a site of a few files."""
    for name, (text, _) in FILES.items():
        path = tmp_path / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "secret.html").write_text("secret", encoding="utf-8")
    monkeypatch.setattr(documentation, "site_files", lambda: {name: tmp_path / "site" / name for name in FILES})
    return Caller(application(state, lambda _: None))


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_the_site_is_served_to_everybody(client: Caller, name: str) -> None:
    """It has the policy of all pages; caches may keep it for a while, as it shows no data set."""
    reply = client.get(f"/docs/{name}")
    assert (reply.status_code, reply.text, reply.headers["Content-Type"]) == (200, *FILES[name])
    policies = {header: text for header, text in PAGE_HEADERS.items() if header != "Cache-Control"}
    assert {header: reply.headers[header] for header in policies} == policies
    assert reply.headers["Cache-Control"] == "public, max-age=600"


@pytest.mark.parametrize("address", ["/docs", "/docs/"])
def test_the_folder_leads_to_the_first_page(client: Caller, address: str) -> None:
    """Links of the first page are relative to the folder."""
    reply = client.get(address)
    assert (reply.status_code, reply.headers["Location"]) == (303, "/docs/index.html")


@pytest.mark.parametrize("name", ["no-such.html", "../secret.html", "%2e%2e/secret.html", "how-to", "/etc/passwd"])
def test_no_other_file_is_served(client: Caller, name: str) -> None:
    """A page says so, with the address of the first page."""
    reply = client.get(f"/docs/{name}", headers={"Accept": "text/html"})
    assert reply.status_code == 404
    assert "secret" not in reply.text
    assert "root:" not in reply.text


def test_a_site_that_is_not_built_is_named(client: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of a development version names the command that builds the site."""
    monkeypatch.setattr(documentation, "site_files", dict)
    reply = client.get("/docs/index.html")
    assert reply.status_code == 404
    assert "build it with `make docs`" in reply.text


def test_every_page_names_the_page_that_explains_it() -> None:
    """Each template with a title has one; the documentation itself is in the footer."""
    templates = {path.name for path in FOLDER.glob("*.html") if 'extends "layout.html"' in path.read_text("utf-8")}
    assert set(layout._HELP) == templates  # noqa: SLF001
    assert set(layout._HELP.values()) <= set(TITLES)  # noqa: SLF001


def test_the_footer_links_to_that_page(client: Caller) -> None:
    """The login form has a link to the page of keys."""
    assert f'<a href="/docs/how-to/keys.html">{TITLES["how-to/keys"]}</a>' in client.get("/login").text
