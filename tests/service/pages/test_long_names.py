"""Pages on a telephone of 360 pixels where every name is as long as names may be, and has no space to break at."""

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Page

from noisycount.service.keys import Role, User
from tests.helpers.browser import Window, window
from tests.helpers.running_service import Service, configured, served

PHONE = 360
LONG = "Donaudampfschifffahrtsgesellschaftskapitaenswitwenrente"
SET, COLUMN, OTHER, WORD = (f"{part}_{LONG}" for part in ("set", "column", "other", "word"))
ANALYST, OWNER = f"ana_{LONG}", f"olga_{LONG}"
CONFIGURATION = f"""
[ledger]
url = "sqlite:///ledger.db"

[datasets.{SET}]
source = "long.csv"
unit = "row"
budget = {{epsilon = "20", delta = "1e-5", for_keys = "1e-6"}}

[datasets.spent_{LONG}]
source = "other.csv"
unit = "row"
budget = "0.25"
"""
ASKED = (
    {"where": f"{COLUMN} = '{WORD}1'", "epsilon": "0.25"},
    {"where": [f"{COLUMN} = '{WORD}1'", f"{COLUMN} = '{WORD}2'"], "epsilon": "0.25"},
    {"by": [COLUMN], "delta": "1e-7", "epsilon": "1"},
    {"by": [COLUMN, OTHER], "delta": "1e-7", "epsilon": "2"},
    {"by": [COLUMN], "keys": {COLUMN: [f"{WORD}1", f"{WORD}2"]}, "epsilon": "0.5", "margins": ["total"]},
)


@pytest.fixture(scope="module")
def long_names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Give a service over records whose columns and values have long names."""
    folder = tmp_path_factory.mktemp("long")
    rows = "".join(f"{WORD}{number % 2 + 1},{WORD}{number % 3 + 1}\n" for number in range(600))
    for name, more in (("long.csv", ""), ("other.csv", f"{WORD}3,{WORD}3\n")):
        folder.joinpath(name).write_text(f"{COLUMN},{OTHER}\n{rows}{more}", encoding="utf-8")
    users = User(OWNER, Role.OWNER, None), User(ANALYST, Role.ANALYST, frozenset({SET, f"spent_{LONG}"}))
    with served(configured(folder, CONFIGURATION), *users) as running:
        yield running


def asked(service: Service, question: dict[str, object], dataset: str = SET) -> str:
    """Ask, and give the address of the answer."""
    reply = httpx.post(
        f"{service.url}/v1/datasets/{dataset}/releases",
        json={**question, "purpose": f"purpose_{LONG}"},
        headers={
            "Authorization": f"Bearer {service.keys[ANALYST]}",
            "Idempotency-Key": f"{dataset[:3]}-{ASKED.index(question)}-{LONG}",
        },
        timeout=60,
    )
    assert reply.status_code == 201, reply.text
    return f"/releases/{reply.json()['key']}"


def previewed(opened: Window, fill: dict[str, str], button: str) -> None:
    """Open the form of the data set, fill it in, and press a button."""
    opened.go(f"/ask/{SET}")
    for name in ("Write the condition", "Break down", "More about groups", "More options"):
        opened.page.get_by_text(name).first.click()
    for name, text in fill.items():
        opened.page.locator(f"[name={name}]").fill(text)
    opened.page.get_by_role("button", name=button).click()
    opened.page.wait_for_load_state()


def open_all(page: Page) -> None:
    """Unfold everything that can be unfolded."""
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")


@pytest.mark.thorough
def test_no_page_is_wider_than_a_telephone(chromium: Browser, long_names: Service) -> None:
    """Every page of an analyst and of an owner, with all of it unfolded, scrolls down alone."""
    places = [asked(long_names, question) for question in ASKED]
    asked(long_names, ASKED[0], f"spent_{LONG}")
    too_wide = {}

    def look(opened: Window, what: str) -> None:
        for _ in range(2):  # as it comes, and unfolded
            if (pixels := opened.overflow()) > 0:
                too_wide[what] = pixels
            open_all(opened.page)

    paths = ["/ask", f"/ask/{SET}", f"/ask/spent_{LONG}", "/explore", "/ledger", "/ledger?check=1", "/report"]
    for name in (ANALYST, OWNER):
        with window(chromium, long_names.url, PHONE) as opened:
            opened.log_in(long_names.keys[name])
            for path in [*paths, *places, *(f"{place}?within=1" for place in places), "/ask/absent", f"/{LONG}"]:
                opened.go(path)
                look(opened, f"{name[:4]} {path[:9]}{path[-12:]}")
            opened.go(f"/ask/{SET}")
            for button in ("Add a condition", "Add a column", "Preview: free"):
                open_all(opened.page)
                opened.page.get_by_role("button", name=button).first.click()
                look(opened, f"{name[:4]} {button}")
            for fill, button in (
                ({"where": f"{COLUMN} = '{WORD}1'"}, "Preview: free"),
                ({"where": f"{COLUMN} = '{WORD}1'", "within": "30"}, "Rehearse"),
                ({"where": f"{COLUMN} = '{WORD}1' and {LONG} = 1"}, "Preview: free"),
                ({"where": LONG * 5}, "Preview: free"),
            ):
                previewed(opened, fill, button)
                look(opened, f"{name[:4]} {button} {fill}")
    assert too_wide == {}
