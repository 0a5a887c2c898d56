import re

import pytest
from starlette.requests import Request

from noisycount.service.keys import Role, User
from noisycount.service.pages.layout import PAGE_HEADERS, navigation, page, sentence, static_address, static_file

OWNER = User("olga", Role.OWNER, None)
OFFICER = User("otto", Role.OFFICER, frozenset())
ANA = User("<b>ana</b>", Role.ANALYST, frozenset())


def shown(user: User | None, path: str = "/ask") -> str:
    """Give the text of a page that says one sentence."""
    request = Request({"type": "http", "method": "GET", "path": path, "headers": [], "state": {}})
    reply = page(request, "refused.html", user, status=404, heading="No", words="<i>no</i>")
    assert reply.status_code == 404
    return bytes(reply.body).decode()


def test_ways_are_those_of_the_role() -> None:
    """Nobody unknown is led anywhere; owners and officers read the report, and officers ask nothing."""
    names = [[name for name, _ in navigation(user)] for user in (None, ANA, OWNER, OFFICER)]
    asking = ["Ask", "Explore", "Ledger"]
    assert names == [[], asking, [*asking, "Report"], ["Explore", "Ledger", "Report"]]


def test_place_is_marked() -> None:
    """The navigation says where one is, also on a page below it."""
    assert re.findall(r'href="(\S+)" aria-current="page"', shown(OWNER, "/ask/survey")) == ["/ask"]
    assert "aria-current" not in shown(OWNER, "/asking")


@pytest.mark.parametrize("words", ["only an owner may see this", "Only an owner may see this."])
def test_a_refusal_is_a_sentence(words: str) -> None:
    """It begins with a capital and ends with one full stop, as other words of a page do."""
    assert sentence(words) == "Only an owner may see this."


def test_values_are_escaped() -> None:
    """No name and no sentence becomes markup."""
    text = shown(ANA)
    assert "&lt;b&gt;ana&lt;/b&gt;" in text
    assert "&lt;i&gt;no&lt;/i&gt;" in text


def test_nothing_is_loaded_from_elsewhere() -> None:
    """Every address of the frame is of this host, and no style or script stands in it."""
    text = shown(OWNER)
    assert re.findall(r'(?:src|href|action)="(?![/#])', text) == []
    assert re.findall(r"<style|<script(?! src)| style=| on\w+=", text) == []


def test_policy_allows_this_host_alone() -> None:
    """A browser that obeys loads no script, style or picture of others, and frames nothing."""
    policy = dict(part.split(" ", 1) for part in PAGE_HEADERS["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert {policy[f"{kind}-src"] for kind in ("script", "style", "img")} == {"'self'"}
    assert PAGE_HEADERS["Cache-Control"] == "no-store"


@pytest.mark.parametrize("name", ["noisycount.css", "noisycount.js", "noisycount.svg"])
def test_files_are_kept_by_browsers(name: str) -> None:
    """The style, the script and the icon have addresses that tell their content."""
    reply, text = static_file(name), bytes(static_file(name).body).decode()
    assert reply.status_code == 200
    assert "immutable" in reply.headers["Cache-Control"]
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert static_address(name).startswith(f"/static/{name}?v=")


@pytest.mark.parametrize("name", ["layout.html", "../layout.py", "/etc/passwd", ""])
def test_no_other_file_is_there(name: str) -> None:
    """A file that is not listed is not found, wherever it is."""
    assert static_file(name).status_code == 404
