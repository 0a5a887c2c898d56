import csv
import json
import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import httpx
import pytest

from noisycount.service.keys import Role, User
from noisycount.service.pages.ledger import AT_ONCE
from noisycount.service.state import ServiceState
from noisycount.tasks.report.report import report_on
from tests.helpers.ledgers import change
from tests.helpers.report_ledgers import HOSTILE, NAMES, configured, filled
from tests.helpers.service_callers import calling, serving

DEBITS = 131
OWNER = User("olga", Role.OWNER, None)
ANA = User("analyst 1", Role.ANALYST, frozenset({"visits"}))


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceState]:
    """A service with a long ledger."""
    configuration = configured(tmp_path_factory.mktemp("state"))
    filled(configuration, DEBITS)
    with serving(configuration) as state:
        yield state


def page(state: ServiceState, path: str, user: User = OWNER) -> httpx.Response:
    """The page that a user gets."""
    return calling(state, user).get(path, headers={"Accept": "text/html"})


def rows(reply: httpx.Response) -> list[str]:
    """The rows of the last table of a page."""
    assert reply.status_code == 200
    _, _, table = reply.text.partition('<caption class="unseen">Entries, the newest first')
    table, _, _ = table.partition("</table>")
    return re.findall(r"<tr><th scope=\"row\">.*?</tr>", table)


@pytest.mark.thorough
def test_an_owner_pages_through_all(state: ServiceState) -> None:
    """The newest first, each entry once."""
    pages = [rows(page(state, f"/ledger?page={number}")) for number in (1, 2, 3, 4)]
    assert [len(each) for each in pages] == [AT_ONCE, AT_ONCE, DEBITS - 2 * AT_ONCE, 0]
    assert f"{DEBITS} entries, the newest first; page 1 of 3" in page(state, "/ledger").text
    assert f"page={2}" in page(state, "/ledger").text
    assert "age &gt;= 65 130" in pages[0][0]
    for label in ("answer", "noise", "price", "who asked"):
        assert f'<td data-label="{label}">' in pages[0][0]
    places = re.findall(r'<a href="(/releases/[^"]+)">', "".join(pages[0]))
    shown = [page(state, place).text for place in places]
    assert all("lies between" in each or '<table class="bars">' in each for each in shown)
    assert all("about one person" in each and "discrete" in each for each in shown)
    assert page(state, "/releases/key 0").status_code == 200  # charged, never answered
    assert len(places) + sum("never answered" in row for row in pages[0]) == AT_ONCE


@pytest.mark.thorough
def test_filters_are_those_of_the_form(state: ServiceState) -> None:
    """By data set, by who asked and by day; a day that is none is told and left out."""
    shown = rows(page(state, "/ledger?dataset=survey&analyst=analyst+2"))
    assert len(shown) == sum(n % 2 == 0 and n % 3 == 2 for n in range(DEBITS))
    assert rows(page(state, "/ledger?until=2020-01-01")) == []
    wrong = page(state, "/ledger?since=2026-13-99")
    assert "left out: 2026-13-99" in wrong.text
    assert len(rows(wrong)) == AT_ONCE
    for odd in ("page=0", "page=-1", "page=%E2%91%A0", "page=9999999", "dataset=%00"):
        assert page(state, f"/ledger?{odd}").status_code == 200


@pytest.mark.thorough
def test_an_analyst_sees_their_own_entries_alone(state: ServiceState) -> None:
    """Of data sets that were granted, whatever the address says; no other name is on the page."""
    own = sum(n % 2 == 1 and n % 3 == 1 for n in range(DEBITS))
    for query in ("", "?analyst=analyst+2", "?dataset=visits", "?check=1"):
        reply = page(state, f"/ledger{query}", ANA)
        assert f"{own} entries" in reply.text
        assert not re.search(r"survey|analyst [02]|[0-9a-f]{64}|NOT VERIFIED", reply.text)
    for query in ("?dataset=survey", "?dataset=absent"):
        assert "No entry matches." in page(state, f"/ledger{query}", ANA).text
    told = json.loads(page(state, "/ledger/export?form=json&analyst=analyst+2", ANA).text)
    assert {(each["analyst"], each["dataset"]) for each in told} == {("analyst 1", "visits")}
    assert len(told) == own


@pytest.mark.thorough
def test_an_export_is_what_the_filters_let_through(state: ServiceState) -> None:
    """Each entry once, as a file that runs nothing."""
    reply = page(state, "/ledger/export?form=csv&dataset=visits")
    assert reply.headers["content-disposition"].startswith('attachment; filename="noisycount-led')
    found = list(csv.DictReader(StringIO(reply.text)))
    assert {row["dataset"] for row in found} == {"visits"}
    assert len(found) == sum(n % 2 for n in range(DEBITS))
    assert any(row["purpose"] == f"'{HOSTILE}" for row in found)
    told = json.loads(page(state, "/ledger/export?form=json").text)
    assert len(told) == DEBITS
    assert {each["dataset"] for each in told} == set(NAMES)
    assert page(state, "/ledger/export?form=exe").status_code == 422


def test_words_of_others_are_text(state: ServiceState) -> None:
    """A question and a purpose that are HTML run nothing."""
    for path in ("/ledger?page=3", "/report"):
        text = page(state, path).text
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert(1)" in text


def test_an_empty_ledger_leads_to_the_first_question(tmp_path: Path) -> None:
    """It says what to do, to whoever looks."""
    with serving(configured(tmp_path)) as state:
        for user in (OWNER, ANA):
            assert '<a href="/ask">Ask the first question</a>' in page(state, "/ledger", user).text
        assert "Show all" in page(state, "/ledger?since=2026-01-01").text


@pytest.mark.parametrize("form", ["html", "csv", "md", "json", "registry"])
def test_the_report_is_a_file_in_every_form(state: ServiceState, form: str) -> None:
    """For owners alone; each form is what the command writes."""
    reply = page(state, f"/report/file?form={form}")
    assert reply.status_code == 200
    assert "attachment" in reply.headers["content-disposition"]
    assert "survey" in reply.text
    assert page(state, f"/report/file?form={form}", ANA).status_code == 403


@pytest.mark.thorough
def test_the_report_in_its_frame_says_the_same(state: ServiceState) -> None:
    """The sentences of the file stand on the page."""
    text = page(state, "/report").text
    for dataset in report_on(state.ledger, state.configuration).datasets:
        assert dataset.odds in text
    assert page(state, "/report", ANA).status_code == 403


@pytest.mark.thorough
def test_a_broken_chain_is_told(tmp_path: Path) -> None:
    """By a check of every row, by the report, and at once where the service reads it first."""
    configuration = configured(tmp_path)
    filled(configuration, 12)
    with serving(configuration) as state:
        for path in ("/ledger?check=1", "/report"):
            told = page(state, path).text
            assert "consistent in themselves" in told
            assert "notice note" in told
            assert "notice good" not in told
        change(state.ledger, "UPDATE ledger SET answer = '1' WHERE number = 4")
        for path in ("/ledger?check=1", "/report"):
            assert "NOT VERIFIED: row 4 " in page(state, path).text
    with serving(configuration) as state:
        assert "NOT VERIFIED: row 4 of the ledger is damaged; restore it" in page(state, "/ledger").text
