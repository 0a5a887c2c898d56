"""Tests of `service/pages/ask.py`."""

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from io import StringIO
from pathlib import Path

import pytest

from noisycount.config.config import DatasetConfig
from noisycount.ledger.budget import budget_of
from noisycount.ledger.entries import Analyst
from noisycount.ledger.transactions import Transactions
from noisycount.service.state import ServiceState
from tests.helpers.service_callers import ANA, BO, OWNER, calling, configured, serving

COUNT = {"column": "age", "operator": ">=", "low": "65", "high": "", "within": "20"}
TABLE = {
    "group": ["town", "age"],
    "split": ["", "0, 18, 65"],
    "keys": ["Zwitscherstadt, Bern, null", ""],
    "total": "on",
    "groups_per_unit": "1",
    "within": "60",
}
HIDDEN = {"group": "town", "split": "", "keys": "", "delta": "1e-6", "goal": "epsilon", "epsilon": "1"}
SURE = {"goal": "within", "confidence": "95%"}


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceState]:
    """Give a service that the tests of this file share."""
    with serving(configured(tmp_path_factory.mktemp("state"), budget="50")) as opened:
        yield opened


def posted(state: ServiceState, fields: dict[str, object], button: str = "preview") -> str:
    """Give the page that answers a form of ana's."""
    said = {**SURE, **fields, button: "1"}
    return unescape(calling(state).request("POST", "/ask/stay", data=said).text)


def hidden(page: str, name: str) -> str:
    """Give the value of a hidden field."""
    found = re.search(rf'<input type="hidden" name="{name}" value="(.*?)">', page, re.DOTALL)
    assert found is not None
    return found[1]


def paid(state: ServiceState, fields: dict[str, object], **more: str) -> tuple[str, str]:
    """Give the address of an answer, and its page."""
    page = posted(state, fields)
    sent = {"question": hidden(page, "question"), "key": hidden(page, "key"), **more}
    reply = calling(state).request("POST", "/ask/stay/spend", data=sent)
    assert reply.status_code == 303
    place = reply.headers["Location"]
    return place, unescape(calling(state).get(place).text)


def refined_rows(state: ServiceState, place: str) -> int:
    """Give of how many rows of a table the file has a refined count."""
    rows = csv.DictReader(StringIO(calling(state).get(f"{place}/file?form=csv").text))
    return sum(float(row["refined_low"]) <= float(row["refined"]) <= float(row["refined_high"]) for row in rows)


def test_way_begins_at_the_list(state: ServiceState) -> None:
    """A user sees their own data sets, and no other."""
    assert calling(state).get("/").headers["Location"] == "/ask"
    assert calling(state).get("/ask").headers["Location"] == "/ask/stay"
    assert "payroll" in calling(state, OWNER).get("/ask").text


@pytest.mark.parametrize("number", [0, 12, 300])
def test_a_long_list_is_found_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Names with what is left of each, by one look into the ledger; no file of theirs is opened, and none is there."""
    looks, look = [], Transactions.state
    monkeypatch.setattr(Transactions, "state", lambda self, connection: looks.append(1) or look(self, connection))
    absent = {f"set-{i}": DatasetConfig(f"set-{i}", tmp_path / "absent.csv") for i in range(number)}
    with serving(replace(configured(tmp_path), datasets=absent)) as state:
        page = calling(state, OWNER).get("/ask").text
        assert len(looks) <= 1
        assert page.count('<li><a href="/ask/set-') == page.count("left: at ε") == number
        assert ("Find one of 300" in page) is (number == 300)
        assert ("ask its owner" in page) is (number == 0)
        found = calling(state, OWNER).get("/ask?find=SET-29").text
        assert found.count('<li><a href="/ask/set-') == (11 if number == 300 else 0)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"within": "20%", "guess": "100"}, "Fifty possible answers if the count is 100"),
        ({"goal": "epsilon", "epsilon": "60"}, "exceeds the remaining budget: choose a lower ε"),
    ],
)
def test_preview_tells_what_is_to_come(state: ServiceState, fields: dict[str, object], words: str) -> None:
    """Answers around a public guess, and what is too dear: then there is no button."""
    page = posted(state, {**COUNT, **fields})
    assert words in page
    assert ("Ask and spend" in page) is ("epsilon" not in fields)


def test_preview_sends_what_it_showed(state: ServiceState) -> None:
    """The confirmation holds the exact price, so that nobody pays more than was shown."""
    page = posted(state, COUNT)
    assert json.loads(hidden(page, "question")) == {"where": "age >= 65", "epsilon": "0.15", "confidence": "95%"}
    assert "Ask and spend ε = 0.15" in page


@pytest.mark.thorough
def test_a_share_needs_no_guess(state: ServiceState) -> None:
    """Told are the most and what some counts cost; then how near it is, as a call, and what more costs."""
    share = {**COUNT, "low": "0", "within": "50%", "at_most": "8"}
    page = posted(state, share)
    assert "within ±50\N{NO-BREAK SPACE}% of the true count" in page
    assert re.search(
        r"At most ε = 8 would be charged: what is left pays for at least \d answers? like this one\.", page
    )
    assert re.search(r"on average 0\.0\d+ for a count of 100, [\d.]+ for 1,000", page)
    assert "Ask and spend at most ε = 8" in page
    said = {"where": "age >= 0", "within": "50%", "at_most": "8", "confidence": "95%"}
    assert json.loads(hidden(page, "question")) == said
    _, told = paid(state, share)
    assert re.search(r"It is within ±50\N{NO-BREAK SPACE}% of the count, and ε = [\d.]+ was enough", told)
    for words in ("--within 50%", "--at-most 8", "within='50%'", "at_most='8'", '"at_most": "8"'):
        assert words in told
        assert words in page
    assert "An answer of this accuracy is stored already: it is free." in posted(state, share)
    nearer = {**share, "within": "10%"}
    assert re.search(r"would be charged: you have [\d,]+ ±[\d,]+ at ε = [\d.]+; on average", posted(state, nearer))
    assert re.search(r"the coarser answer ana:[0-9a-f]{32}, which it tops up", paid(state, nearer)[1])


def test_a_capped_price_is_told(state: ServiceState) -> None:
    """The answer has the ± that it has."""
    _, told = paid(state, {**COUNT, "low": "1000", "within": "20%", "at_most": "0.5"})
    assert (
        "±20\N{NO-BREAK SPACE}% of the count would have cost more than ε = 0.5, at which the price was capped." in told
    )


def test_the_empty_form_offers_what_is_left(tmp_path: Path) -> None:
    """A half, or less where less is left, in three digits; more than is left is refused with a remedy."""
    with serving(configured(tmp_path, budget="0.75")) as state:
        for paying in ("0.5", "0.25"):
            page = calling(state).get("/ask/stay").text
            assert re.search(rf'name="at_most" [^>]*value="{paying}"', page)
            paid(state, {**COUNT, "goal": "epsilon", "epsilon": paying, "low": paying[-1]})
        page = posted(state, {**COUNT, "within": "20%", "at_most": "0.5"})
        assert "ε = 0.5 exceeds the remaining budget: choose a lower ε, or a wider ± (" in page


@pytest.mark.thorough
@pytest.mark.parametrize(("paying", "left"), [("0.75", "0"), ("0.7", "0.05")])
def test_a_spent_budget_offers_no_form(tmp_path: Path, paying: str, left: str) -> None:
    """A spent budget has a sentence in place of the form; a small remainder keeps the form."""
    with serving(configured(tmp_path, budget="0.75")) as state:
        _, answered = paid(state, {**COUNT, "goal": "epsilon", "epsilon": paying})
        assert ("Ask more of stay" in answered, "More accurate than" in answered) == (left != "0", left != "0")
        assert "enough for" not in answered
        pages = [calling(state, user).get(path).text for user in (ANA, BO, OWNER) for path in ("/ask/stay", "/ask")]
        for page in pages[::2]:
            assert f"<strong>{left} of 0.75 left</strong>" in page
            assert ("The budget of this data set is spent: no new question can be asked." in page) is (left == "0")
            assert ('<a href="/ledger">see them in the ledger</a>' in page) is (left == "0")
            assert ('aria-label="Question"' in page) is (left != "0")
            assert "0 such answers" not in page
        again = posted(state, {**COUNT, "goal": "epsilon", "epsilon": paying})
        assert "Show the answer again: free" in again
        finer = posted(state, {**COUNT, "goal": "epsilon", "epsilon": "0.75"})
        assert ("ε = 0.05 would be charged." in finer) is (left == "0.05")


def test_a_spent_quota_is_told_apart(tmp_path: Path) -> None:
    """The analyst whose own budget is spent learns that it is this one."""
    configuration = configured(tmp_path)
    analysts = {"ana": Analyst("ana", budget_of("0.2"))}
    with serving(replace(configuration, analysts=analysts)) as state:
        paid(state, {**COUNT, "goal": "epsilon", "epsilon": "0.2"})
        assert "Your own budget is spent: no new question can be asked." in calling(state).get("/ask/stay").text


def test_answer_is_there_for_its_asker_and_owners(state: ServiceState) -> None:
    """JointCounts are told what they are told of an answer that never was."""
    place, page = paid(state, COUNT)
    assert re.search(r"lies between <strong>[\d,−]+</strong> and <strong>[\d,−]+</strong> with 95", page)
    assert '--where "age >= 65"' in page or "--where 'age >= 65'" in page
    assert calling(state, OWNER).get(place).status_code == 200
    other, absent = (calling(state, BO).get(path) for path in (place, "/releases/ana:none"))
    assert (other.status_code, other.text) == (absent.status_code, absent.text)
    assert other.status_code == 404


def test_calls_say_what_the_answer_is_for_where_they_must(tmp_path: Path) -> None:
    """Copied calls of a data set that requires a purpose have one."""
    with serving(configured(tmp_path, purpose=True)) as state:
        page = posted(state, COUNT)
        assert '"purpose": "what the answer is for"' in page
        assert "--purpose 'what the answer is for'" in page
        assert "purpose" not in json.loads(hidden(page, "question"))


def test_table_is_told_as_it_was_asked(state: ServiceState) -> None:
    """Rows, refined rows, and the calls that ask the same again."""
    rehearsed = posted(state, TABLE, "rehearse")
    assert "The same table of made-up records" in rehearsed
    place, page = paid(state, TABLE)
    assert page.count('<svg class="chart spark') == 9
    assert '<div class="narrow"><svg' not in page  # ages are ranges, which are bars
    assert refined_rows(state, place) == 10
    assert "--by town,age:0,18,65" in page
    assert "--keys town=Zwitscherstadt,Bern,null" in page
    assert "--margins total" in page
    assert "--groups-per-unit 1" in page
    assert '<th scope="row">all 3 listed</th><td>all 3 listed</td>' in page


def test_an_answer_finds_its_data_set_by_its_account(tmp_path: Path) -> None:
    """Refined rows stand beside the answer also where the ledger books under another name."""
    configuration = configured(tmp_path)
    renamed = replace(configuration.datasets["stay"], account="the book of stays")
    datasets = {**configuration.datasets, "stay": renamed}
    with serving(replace(configuration, datasets=datasets)) as state:
        assert refined_rows(state, paid(state, TABLE)[0]) == 10


@pytest.mark.thorough
def test_own_repetition_is_shown_as_the_first(state: ServiceState) -> None:
    """A repeated table shows its refined rows again, for nothing."""
    paid(state, TABLE)
    place, page = paid(state, TABLE)
    assert "Free: it was asked before" in page
    assert refined_rows(state, place) == 10
    assert "--by town,age:0,18,65" in page


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"where": "wage > 3"}, "wage"),
        ({"where": "age >"}, "where"),
        ({**COUNT, "operator": "between", "low": "64", "high": "1"}, "age between 64 and 1: write the smaller end"),
        ({**COUNT, "where": "age < 9"}, "no record can satisfy"),
        ({"where": "true", "confidence": "200%"}, "confidence must lie"),
        ({"where": "x" * 30_000, "within": "20"}, "where"),
        ({"group": "town", "split": "", "keys": "", "within": "20"}, "keys of town are missing: list them"),
        ({"group": "age", "split": "", "keys": "1..99999999", "within": "20"}, "more than"),
        ({"where": "true", "goal": "epsilon", "epsilon": "99999999"}, "epsilon"),
        (HIDDEN, "state in how many hidden groups a person counts"),
        ({**HIDDEN, "groups_per_unit": "1"}, "is refused: a budget in ε alone pays for no hidden keys"),
        ({"group": "age", "split": "x, y", "keys": ""}, "edges of age must be numbers with commas between them"),
    ],
)
def test_refusal_stands_on_the_page(state: ServiceState, fields: dict[str, object], told: str) -> None:
    """A refusal of the question is shown above the form that was filled in."""
    page = posted(state, {"within": "20", **fields})
    assert 'role="alert"' in page
    alert = page.partition('role="alert"')[2].partition("</div>")[0]
    assert told in alert
    assert " --" not in alert


def test_broken_form_charges_nothing(state: ServiceState) -> None:
    """A confirmation that was changed by hand is refused in words."""
    before = len(state.ledger.entries())
    for question in ("", "{}", '{"where": 3}', "not json"):
        sent = {"question": question, "key": "0" * 32}
        reply = calling(state).request("POST", "/ask/stay/spend", data=sent)
        assert reply.status_code == 422
    assert len(state.ledger.entries()) == before


def test_what_is_paid_for_is_booked(state: ServiceState) -> None:
    """For who asked, with what it is for, which stands on its page; a key that no page made reaches no ledger."""
    place, page = paid(state, {**COUNT, "low": "8"}, key="../\x00", purpose="annual report")
    assert re.fullmatch(r"/releases/ana%3A[0-9a-f]{32}", place)
    assert "annual report" in page
    entry = state.ledger.entries()[-1]
    assert (entry.analyst, entry.purpose) == (ANA.name, "annual report")


def test_public_values_are_offered_and_asked_for(tmp_path: Path) -> None:
    """A list beside each field of the column; what is mistyped is refused there, and groups need no keys."""
    configuration = configured(tmp_path)
    values = {"town": ["Bern", "Zwitscherstadt"], "age": "0 to 120"}
    stay = replace(configuration.datasets["stay"], values=values)
    with serving(replace(configuration, datasets={"stay": stay})) as state:
        page = posted(state, {**COUNT, "column": "town", "operator": "=", "low": "bern"})
        assert '<datalist id="values-of-town"><option>Bern</option><option>Zwitscherstadt</option></datalist>' in page
        assert re.search(r'id="value-0" [^>]*list="values-of-town"[^>]*aria-invalid="true"', page)
        assert "did you mean 'Bern'?" in page.partition('role="alert"')[2]
        assert "integer, 0 to 120" in page
        table = posted(state, {"group": "town", "split": "", "keys": "", "within": "20", "groups_per_unit": "1"})
        assert "Each row would lie within" in table
