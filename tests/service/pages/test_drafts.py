"""Drafts of forms: Back and Reload show the same page, and a login or a refusal keeps the text."""

import re
from html import unescape

import httpx
import pytest
from playwright.sync_api import Browser

from noisycount.service import auth
from noisycount.service.auth import IDLE_SECONDS, LONGEST_SECONDS
from noisycount.service.drafts import MOST_CHARACTERS, MOST_DRAFTS, Drafts
from tests.helpers.browser import NARROW, window
from tests.helpers.running_service import Service
from tests.helpers.service_callers import Caller
from tests.service.auth.conftest import Served, probed, served
from tests.service.auth.test_login import HOST, attempt, log_in, session_csrf
from tests.service.pages.test_ask_page import answer, condition, preview, spends

__all__ = ["probed", "served"]

HIDDEN = "Wollerau"  # a word of a question that no address may have
COUNT = {"column": "age", "operator": ">=", "low": "65", "high": "", "goal": "epsilon", "epsilon": "0.01"}
COUNT |= {"confidence": "95%", "preview": "1"}


def sent(
    served: Served, client: Caller, fields: dict[str, str], path: str = "/ask/stay", csrf: str = ""
) -> httpx.Response:
    """Send a form of a page as a browser does."""
    said = {"csrf": csrf or session_csrf(served, client), **fields}
    return client.post(path, data=said, headers={"Origin": HOST, "Accept": "text/html"})


def shown(client: Caller, path: str) -> str:
    """Give the page at an address."""
    return unescape(client.get(path, headers={"Accept": "text/html"}).text)


def hidden(page: str, name: str) -> str:
    """Give the value of a hidden field of the confirmation."""
    found = re.search(rf'aria-label="Confirm".*?name="{name}" value="(.*?)">', page, re.DOTALL)
    assert found is not None, page
    return found[1]


def test_a_form_is_shown_at_an_address_of_its_own(served: Served) -> None:
    """Loaded again and again it is the same page with the same key; the address has no word of the question."""
    client = log_in(served, served.key())
    reply = sent(served, client, {**COUNT, "where": f"town <> '{HIDDEN}'"})
    assert reply.status_code == 303
    place = reply.headers["location"]
    assert re.fullmatch(r"/ask/stay\?draft=[0-9a-f]{16}", place)
    first, again = shown(client, place), shown(client, place)
    assert first == again
    assert f"town <> '{HIDDEN}'" in first
    assert "Ask and spend ε = 0.01" in first


def test_what_is_paid_for_is_paid_for_once(served: Served) -> None:
    """The page of the preview, loaded again after the answer, has the key of the answer."""
    client = log_in(served, served.key("payer"))
    place = sent(served, client, {**COUNT, "low": "71"}).headers["location"]
    page = shown(client, place)
    confirmed = {"key": hidden(page, "key"), "question": hidden(page, "question")}
    answers = {sent(served, client, confirmed, "/ask/stay/spend").headers["location"] for _ in range(2)}
    assert answers == {f"/releases/payer%3A{confirmed['key']}"}
    back = shown(client, place)
    assert (hidden(back, "key"), "the same answer is free" in back) == (confirmed["key"], True)


@pytest.mark.parametrize("part", ["form", "confirmation", "confirmation of an answer's page"])
def test_a_login_keeps_the_question(served: Served, part: str) -> None:
    """A session that has ended keeps what is sent; after the login of the same analyst it is shown as it was."""
    client = log_in(served, served.key())
    csrf, path, fields = session_csrf(served, client), "/ask/stay", dict(COUNT)
    if part != "form":
        page = shown(client, sent(served, client, COUNT).headers["location"])
        path, fields = "/ask/stay/spend", {name: hidden(page, name) for name in ("key", "question")}
        fields |= {"purpose": "a report"}
    if "page" in part:
        fields["key"] = "0" * 32
    served.clock.seconds += IDLE_SECONDS
    reply = sent(served, client, fields, path, csrf)
    assert reply.status_code == 303
    login = reply.headers["location"]
    assert login.startswith("/login?next=%2Fask%2Fstay%3Fdraft%3D")
    assert "Log in to continue: your question is kept." in shown(client, login)
    assert "your question is kept" not in shown(client, "/login?next=/ledger")
    onwards = unescape(re.findall(r'name="next" value="(.*?)"', shown(client, login))[0])
    assert attempt(client, served.key().text, onwards).headers["location"] == onwards
    page = shown(client, onwards)
    assert "Ask and spend ε = 0.01" in page
    assert part == "form" or (hidden(page, "key"), 'value="a report"' in page) == (fields["key"], True)
    assert ('value="65"' in page) is ("page" not in part)


@pytest.mark.parametrize("name", ["ben", "ana"])
def test_a_draft_is_of_one_analyst_in_one_browser(served: Served, name: str) -> None:
    """Neither another analyst in the same browser nor the same analyst in another browser has it."""
    client = log_in(served, served.key())
    csrf = session_csrf(served, client)
    served.clock.seconds += IDLE_SECONDS
    place = sent(served, client, {**COUNT, "where": f"town <> '{HIDDEN}'"}, csrf=csrf).headers["location"]
    onwards = re.sub("%3F", "?", place.partition("next=")[2]).replace("%2F", "/").replace("%3D", "=")
    other = client if name == "ben" else served.client(base=HOST)
    assert attempt(other, served.key(name).text, onwards).headers["location"] == onwards
    page = shown(other, onwards)
    assert HIDDEN not in page
    assert "This question is no longer stored: ask it again." in page


def test_a_draft_ends(served: Served) -> None:
    """With the logout, with its key, and half a day after its session was used; a forged form is never kept."""
    for ends in ("logout", "key", "time", "forged"):
        key = served.key(f"user-{ends}")
        client = log_in(served, key)
        csrf = session_csrf(served, client)
        if ends == "logout":
            sent(served, client, {}, "/logout")
        elif ends == "key":
            served.keyring.revoke(key.id)
        served.clock.seconds += LONGEST_SECONDS if ends == "time" else IDLE_SECONDS if ends == "forged" else 0
        reply = sent(served, client, COUNT, csrf="x" if ends == "forged" else csrf)
        assert (reply.status_code, reply.headers.get("location")) == (
            (403, None) if ends == "forged" else (303, "/login")
        )


def test_a_refusal_keeps_the_question(served: Served) -> None:
    """A refusal by the budget is shown on the page of the question, however often it is loaded."""
    client = log_in(served, served.key())
    page = shown(client, sent(served, client, COUNT).headers["location"])
    asked = hidden(page, "question").replace("0.01", "1000")
    reply = sent(served, client, {"key": hidden(page, "key"), "question": asked, "purpose": ""}, "/ask/stay/spend")
    assert reply.status_code == 303
    page = shown(client, reply.headers["location"])
    assert "Epsilon 1000 exceeds the" in page
    assert "Ask and spend ε = 0.01" in page


def test_a_session_keeps_few_drafts() -> None:
    """The newest ones, of so many characters together; the newest whatever its length."""
    drafts = Drafts()
    names = [drafts.keep([("where", str(number))]) for number in range(MOST_DRAFTS + 3)]
    assert [drafts.draft(name) is None for name in names] == [True] * 3 + [False] * MOST_DRAFTS
    half = drafts.keep([("where", "x" * (MOST_CHARACTERS // 2))])
    assert drafts.draft(half) is not None
    most = drafts.keep([("where", "x" * MOST_CHARACTERS)])
    assert [drafts.draft(half), len(drafts)] == [None, 1]
    assert drafts.draft(most) is not None


@pytest.mark.thorough
@pytest.mark.parametrize("scripts", [True, False])
def test_back_and_reload_show_a_page(chromium: Browser, service: Service, *, scripts: bool) -> None:
    """From the answer back to the preview, the form and on again: each is a page, and nothing is charged twice."""
    with window(chromium, service.url, NARROW, scripts=scripts) as opened:
        opened.log_in(service.keys["ana"])
        opened.go("/ask/survey")
        condition(opened, "age", f"{43 + scripts}")
        preview(opened)
        before = spends(service)
        found = answer(opened)
        assert spends(service) == before + 1
        for step in (opened.page.go_back, opened.page.reload):
            step()
            opened.page.get_by_role("heading", name="Preview").wait_for()
        assert opened.page.get_by_text("An answer of this accuracy is stored already: it is free.").is_visible()
        opened.page.get_by_role("button", name="Show the answer again").click()
        opened.page.get_by_role("heading", name="Answer").wait_for()
        assert opened.page.locator(".answer").inner_text() == found
        for step in (opened.page.go_back, opened.page.go_back, opened.page.go_forward):
            step()
            assert opened.page.locator("h1").inner_text().startswith("Ask survey")
        assert spends(service) == before + 1


@pytest.mark.thorough
def test_a_person_logs_in_again_and_goes_on(
    chromium: Browser, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session ends while the form is filled in: nothing has to be typed again, and the answer is charged once."""
    with window(chromium, service.url) as opened:
        opened.log_in(service.keys["ana"])
        opened.go("/ask/survey")
        condition(opened, "age", "47")
        with monkeypatch.context() as patched:
            patched.setattr(auth, "IDLE_SECONDS", 0.0)
            opened.page.get_by_role("button", name="Preview: free").click()
            opened.page.get_by_text("Log in to continue: your question is kept.").wait_for()
            assert opened.violations() == []
        opened.page.get_by_label("Your key").fill(service.keys["ana"])
        opened.page.get_by_role("button", name="Log in").click()
        opened.page.get_by_role("heading", name="Preview").wait_for()
        assert opened.page.get_by_label("Value of age").input_value() == "47"
        before = spends(service)
        answer(opened)
        opened.page.go_back()
        opened.page.get_by_role("heading", name="Preview").wait_for()
        assert spends(service) == before + 1


@pytest.mark.thorough
def test_back_after_a_mistyped_key_shows_a_page(chromium: Browser, service: Service) -> None:
    """The refusal has an address of its own, which leads on once the right key was given."""
    with window(chromium, service.url) as opened:
        opened.go("/ask/survey")
        for key, words in (("nc_mistyped", "The key is not valid"), (service.keys["ana"], "Ask survey")):
            opened.page.get_by_label("Your key").fill(key)
            opened.page.get_by_role("button", name="Log in").click()
            opened.page.get_by_text(words).first.wait_for()
        opened.page.go_back()
        assert opened.page.locator("h1").inner_text() == "Ask survey"
