import re
from pathlib import Path

import pytest

from noisycount.display.documentation import TITLES
from noisycount.service.app import application
from noisycount.service.pages import documentation, layout
from noisycount.service.pages.layout import PAGE_HEADERS
from noisycount.service.state import ServiceState
from noisycount.tasks import documentation as tasks_documentation
from tests.helpers.service_callers import Caller, calling, problem

FOLDER = Path(layout.__file__).parent / "templates"
FILES = {
    "index.html": ("<h1>Pages</h1>", "text/html; charset=utf-8"),
    "how-to/keys.html": ("<h1>Keys</h1>", "text/html; charset=utf-8"),
    "_static/a.js": ("", "text/javascript; charset=utf-8"),
    "_static/a.css": ("a {}", "text/css; charset=utf-8"),
    "_static/a.woff2": ("font", "font/woff2"),
    "_images/a.svg": ("<svg/>", "image/svg+xml"),
}


def use_files(monkeypatch: pytest.MonkeyPatch, files: dict[str, Path]) -> None:
    """Let the service find these files as its site."""
    for module in (documentation, tasks_documentation):
        monkeypatch.setattr(module, "site_files", lambda: files)


@pytest.fixture
def client(state: ServiceState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Caller:
    """A browser without a key, at a service with a site of a few files."""
    for name, (text, _) in FILES.items():
        path = tmp_path / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "secret.html").write_text("secret", encoding="utf-8")
    use_files(monkeypatch, {name: tmp_path / "site" / name for name in FILES})
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
    use_files(monkeypatch, {})
    reply = client.get("/docs/index.html")
    assert reply.status_code == 404
    assert "build it with `make docs`" in reply.text
    for address in ("/docs", "/docs/"):
        reply = client.get(address)
        assert reply.status_code == 200
        assert "<code>make docs</code>" in reply.text
        assert "How to read the documentation" not in reply.text


def test_every_page_names_the_page_that_explains_it() -> None:
    """Each template with a title has one; the documentation itself is in the footer."""
    templates = {path.name for path in FOLDER.glob("*.html") if 'extends "layout.html"' in path.read_text("utf-8")}
    assert set(layout._HELP) == templates  # noqa: SLF001
    assert set(layout._HELP.values()) <= set(TITLES)  # noqa: SLF001


def statuses_of_footer(client: Caller, path: str) -> dict[str, int]:
    """Return the status of the page behind each link in the footer of a page."""
    footer = client.get(path).text.partition("<footer")[2]
    return {address: client.get(address).status_code for address in re.findall(r'href="([^"]+)"', footer)}


def test_the_footer_links_to_that_page(client: Caller) -> None:
    """The login form has a link to the page of keys, and to the first page."""
    assert statuses_of_footer(client, "/login") == {"/docs/how-to/keys.html": 200, "/docs/index.html": 200}
    assert f'<a href="/docs/how-to/keys.html">{TITLES["how-to/keys"]}</a>' in client.get("/login").text


def test_without_a_site_the_footer_leads_to_no_missing_page(client: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the page by its title, and links to a page that states how to read it."""
    use_files(monkeypatch, {})
    assert statuses_of_footer(client, "/login") == {"/docs": 200}
    assert f"Help: “{TITLES['how-to/keys']}”" in client.get("/login").text


SPENT = {"where": "age >= 65", "epsilon": "2"}
TITLE = TITLES["how-to/epsilon"]
REFERENCES = [  # whether the site is built, and how HTTP and the pages name the page that explains budgets
    (True, f"({TITLE}: /docs/how-to/epsilon.html)", f'(<a href="/docs/how-to/epsilon.html">{TITLE}</a>)'),
    (False, f"({TITLE}: noisycount docs how-to/epsilon)", f"({TITLE}: noisycount docs how-to/epsilon)"),
]


@pytest.mark.parametrize(("is_built", "in_http", "in_page"), REFERENCES)
def test_a_spent_budget_names_the_page_that_explains_it(
    state: ServiceState, monkeypatch: pytest.MonkeyPatch, *, is_built: bool, in_http: str, in_page: str
) -> None:
    """The refusal in HTTP, the preview and the page of the data set name it, with a link if the site is built."""
    use_files(monkeypatch, {"index.html": Path(), "how-to/epsilon.html": Path()} if is_built else {})
    ana = calling(state)
    assert ana.ask({**SPENT, "epsilon": "1.5"}, "first").status_code == 201
    reply = ana.ask({**SPENT, "where": "age >= 66"}, "second")
    assert problem(reply) == (403, "budget")
    assert reply.json()["detail"].endswith(in_http)
    fields = {"column": "age", "operator": ">=", "low": "66", "goal": "epsilon", "epsilon": "2", "confidence": "95%"}
    assert f"or a wider ± {in_page}." in ana.request("POST", "/ask/stay", data={**fields, "preview": "1"}).text
    assert ana.ask({**SPENT, "where": "age >= 66", "epsilon": "0.5"}, "third").status_code == 201
    assert f"Ask the owner for a larger one {in_page}." in ana.get("/ask/stay").text


def test_a_text_of_a_user_becomes_no_other_link() -> None:
    """Only an address of the site becomes a link, and everything else is escaped."""
    for text in ("(a: //docs/x.html)", "(a: /docs/../x.html)", "(a: https://x/docs/x.html)", "(a: /docs/x.html"):
        assert layout.with_page_links(text) == text
    assert layout.with_page_links("(<b>: /docs/x.html)") == '(<a href="/docs/x.html">&lt;b&gt;</a>)'
