import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from noisycount.config.config import load_config
from noisycount.errors import ConfigError
from noisycount.service.keys import User
from noisycount.service.state import ServiceState
from tests.helpers.service_callers import BO, OWNER, Caller, calling, configured, problem, serving

PAGE = {"Accept": "text/html"}
BUDGETS = (*("remaining", "budget", "dataset_remaining", "dataset_budget"), *("quota_remaining", "quota"))


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Give an analyst at a service that is asked for nothing which it charges."""
    with serving(configured(tmp_path_factory.mktemp("state"))) as state:
        yield calling(state)


def test_the_service_is_there_for_everybody(caller: Caller) -> None:
    """Nobody needs a key for that, as the test of all routes has it."""
    reply = caller.get("/healthz")
    assert (reply.status_code, reply.json()) == (200, {"status": "ok"})
    assert reply.headers["cache-control"] == "no-store"


def test_a_data_set_says_what_may_be_asked_and_what_is_left(caller: Caller) -> None:
    """Columns with kinds, unit, public size, budget, and how many such answers it pays for."""
    told = caller.get("/v1/datasets/stay", params={"epsilon": "0.15"}).json()
    assert told["columns"] == {"age": "integer", "town": "text"}
    assert (told["unit"], told["size"], told["remaining"], told["affordable"]) == (*("person", 1317, "2"), 13)
    assert told["budget_words"].endswith("it pays for 13 such answers")
    assert "ledger" not in told, "where it lies is an owner's business"


def test_what_is_left_is_left_to_the_asker(tmp_path: Path) -> None:
    """An analyst with a budget of their own sees the smaller of both, and what it pays for."""
    text = (
        '[ledger]\nurl = "sqlite:///ledger.db"\n[datasets.stay]\nsource = "stay.csv"\n'
        'unit = "person"\nbudget = "1.4"\n[analysts.ana]\nbudget = "0.5"\n'
    )
    configured(tmp_path)
    (tmp_path / "noisycount.toml").write_text(text, encoding="utf-8")
    with serving(load_config(tmp_path / "noisycount.toml")) as state:
        caller = calling(state)
        told = caller.get("/v1/datasets/stay").json()
        assert (told["remaining"], told["budget"]) == ("0.5", "0.5")
        refused = caller.ask({"where": "age = 1", "epsilon": "0.6"}, "one")
        assert refused.status_code == 403
        body = {"where": "age = 1", "epsilon": "0.4"}
        table = {"by": "town", "keys": {"town": ["Bern"]}, "epsilon": "0.1", "groups_per_unit": 1}
        replies = [
            caller.ask(body, "two").json(),
            caller.get("/v1/datasets/stay").json(),
            caller.post("/v1/datasets/stay/plan", body).json(),
            caller.post("/v1/datasets/stay/plan", table).json(),
        ]
        words = "1 of 1.4 left, and of your own quota 0.1 of 0.5 left: at ε = 0.1 both pay for 1 such answer"
        assert replies[1]["budget_words"] == words
        assert words in caller.get("/ask/stay", headers=PAGE).text
        assert {tuple(reply[name] for name in BUDGETS) for reply in replies} == {
            ("0.1", "0.5", "1", "1.4", "0.1", "0.5")
        }
        reply = caller.ask(table, "three").json()
        assert [reply[name] for name in BUDGETS] == ["0", "0.5", "0.9", "1.4", "0", "0.5"]
        page = caller.get("/ledger", headers=PAGE).text
        assert "you, over all data sets" in page
        assert "ε = 0.5" in page


def test_public_values_are_told_and_kept_to(tmp_path: Path) -> None:
    """Without a charge for what is mistyped; a table needs no keys, and the number of all no question."""
    configured(tmp_path)
    text = (
        '[ledger]\nurl = "sqlite:///ledger.db"\n[datasets.stay]\nsource = "stay.csv"\nunit = "person"\n'
        '[datasets.stay.values]\ntown = ["Zürich", "Bern"]\nage = "0 to 120"\n[analysts.ana]\n'
    )
    (tmp_path / "noisycount.toml").write_text(text, encoding="utf-8")
    with serving(load_config(tmp_path / "noisycount.toml")) as state:
        caller = calling(state)
        assert caller.get("/v1/datasets/stay").json()["values"] == {
            "town": {"listed": ["Zürich", "Bern"], "low": None, "high": None},
            "age": {"listed": None, "low": 0, "high": 120},
        }
        wrong = [{"where": "town = 'zurich'"}, {"by": "town", "keys": {"town": ["zurich"]}, "groups_per_unit": 1}]
        for place, body in enumerate(wrong):
            refused = caller.ask({**body, "epsilon": "1"}, f"wrong{place}")
            assert refused.status_code == 422
            assert "none of the public values of town: did you mean 'Zürich'?" in refused.text
        table = caller.ask({"by": "town", "epsilon": "1", "groups_per_unit": 1}, "one").json()
        assert [row["keys"]["town"] for row in table["rows"]] == ["Zürich", "Bern"]
        told = caller.ask({"epsilon": "1"}, "two").json()
        assert (told["where"], told["charged"], told["remaining"]) == ("true", "1", "0")


def test_without_a_quota_the_budget_is_that_of_the_data_set(state: ServiceState) -> None:
    """Its rest is what the next answer may cost."""
    told = calling(state).ask({"where": "age = 1", "epsilon": "0.5"}, "one").json()
    assert [told[name] for name in BUDGETS] == ["1.5", "2", "1.5", "2", None, None]


def test_a_plan_is_free_and_says_what_an_answer_would(state: ServiceState) -> None:
    """Error, odds, price, meaning; a repeated question is told to be free."""
    caller, body = calling(state), {"where": "age >= 65", "within": "20%", "guess": 100}
    plan = caller.post("/v1/datasets/stay/plan", body).json()
    answer = caller.ask(body, "one").json()
    for name in ("error", "epsilon", "odds", "meaning", "where", "unit", "confidence"):
        assert plan[name] == answer[name]
    assert (plan["charged"], plan["affordable_answers"], plan["repeated"]) == ("0", 13, False)
    again = caller.post("/v1/datasets/stay/plan", body).json()
    assert (again["repeated"], again["cost"], again["remaining"]) == (True, "0", "1.85")


def test_a_table_is_planned_and_rehearsed(state: ServiceState) -> None:
    """Its price, its errors and made-up rows cost nothing."""
    body = {"by": "town", "keys": {"town": ["Bern", None]}, "epsilon": "1", "groups_per_unit": 1}
    caller = calling(state)
    plan = caller.post("/v1/datasets/stay/plan", body).json()
    assert (plan["cost"]["epsilon"], plan["affordable_answers"]) == ("1", 2)
    rehearsed = caller.post("/v1/datasets/stay/rehearsal", body).json()
    assert [row["keys"]["town"] for row in rehearsed["rows"]] == ["Bern", None]
    told = caller.ask(body, "one").json()
    assert [row["keys"]["town"] for row in told["rows"]] == ["Bern", None]
    assert (told["remaining"], told["levels"]) == ("1", plan["levels"])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            {"where": "age >= 65"},
            'give one price: epsilon, or within with at_most or guess, such as "within": "20%" and',
        ),
        ({"where": "age >= 65", "epsilon": "1", "guess": 5}, "guess belongs to within: leave it out"),
        ({"where": "age >= 65", "epsilon": "1", "within": ""}, "body.within: String should have at least 1 character"),
        ({"where": "age >= 65", "epsilon": "0.1234567890123456789"}, "epsilon must be"),
        ({"where": "age >= 65", "epsilon": "1", "confidence": "200%"}, "confidence must lie"),
        ({"where": "age >= 65", "within": "-3", "guess": 5}, "within must be above 0"),
        ({"where": "age >= 65", "epsilon": 0.17}, 'epsilon must be a text: write the number in quotes, "0.17"'),
        ({"where": "age >= 65", "epsilon": 10**100}, "body.epsilon"),
        ({"where": "age >= 65", "epsilon": True}, "body.epsilon: Input should be a valid string"),
        (
            {"where": "age >= 65", "epsilon": "1", "wher": "x"},
            "'wher' is no member of this body: leave it out, or correct its name",
        ),
        ({"where": "agee >= 65", "epsilon": "1"}, "where names 'agee', which is no column"),
        ({"where": "age >=", "epsilon": "1"}, "where"),
        ({"by": "town,town", "epsilon": "1"}, "by names 'town' twice"),
        ({"by": "", "epsilon": "1"}, "body.by"),
        ({"by": "town", "epsilon": "1"}, "keys of town are missing"),
        ({"where": "age = 1", "epsilon": "1", "other": True}, "other belongs to a table: add by"),
        ([], "body"),
    ],
    ids=str,
)
def test_a_wrong_question_is_refused_in_one_line(caller: Caller, body: object, words: str) -> None:
    """The refusal names what was wrong and the remedy, as the command line does."""
    for route in ("plan", "rehearsal", "releases"):
        refused = caller.post(f"/v1/datasets/stay/{route}", body, "one")
        assert problem(refused)[0] == 422, refused.text
        assert words in refused.json()["detail"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"where": "age >= 65", "epsilon": "0.1", "epsilon": "1"}', "a member occurs twice"),
        (b'{"where": "age >= 65", "epsilon": "0.1", "keys": {"a": [], "a": []}}', "occurs twice"),
        (b'{"where": "age >= 65", "within": "20%", "guess": NaN}', "NaN is not a number"),
        (b'{"where": "age >= 65", "within": "20%", "guess": -Infinity}', "Infinity is no"),
        (b'{"where": "age >= 65", "guess": ' + b"9" * 5000 + b"}", "more than 400 digits"),
        ('{"where": "age >= 65", "epsilon": "0.1"}'.encode("utf-16"), "it is not UTF-8"),
        ('{"where": "town = \'Zürich\'", "epsilon": "0.1"}'.encode("latin-1"), "it is not UTF-8"),
        (b'\xef\xbb\xbf{"where": "age >= 65", "epsilon": "0.1"}', "BOM"),
        (b'{"where": "age >= 65", "epsilon": "0.1"', "Expecting"),
    ],
    ids=str,
)
def test_a_body_that_can_be_read_in_two_ways_is_refused(caller: Caller, body: bytes, words: str) -> None:
    """No proxy and no log can see another question, or another price, than the one charged."""
    headers = {"Idempotency-Key": "one", "Content-Type": "application/json"}
    for path in (*(f"datasets/stay/{route}" for route in ("plan", "rehearsal", "releases")), "refine", "risk"):
        refused = caller.request("POST", f"/v1/{path}", content=body, headers=headers)
        assert (refused.status_code, refused.json()["title"]) == (400, "No JSON"), refused.text
        assert words in refused.json()["detail"]
    assert caller.get("/v1/datasets/stay").json()["remaining"] == "2"


@pytest.mark.thorough
def test_the_meaning_of_an_answer_is_computed(caller: Caller) -> None:
    """Refining and risk are those of the command line: the document has an example of each, which its test computes."""
    flat = {"answers": [7, 9], "size": 20, "noise": "gaussian", "scale": "3"}
    assert caller.post("/v1/refine", flat).json()["flat"]
    priced, none = {"size": 1000, "rate": "10%"}, {"noise": "none", "sample": 100, "known": 40}
    for more, adversaries in (({"price": "0.15"}, 2), (none, 3)):
        assert len(caller.post("/v1/risk", {**priced, **more}).json()["adversaries"]) == adversaries


def test_as_many_answers_as_the_document_admits_are_refined(caller: Caller) -> None:
    """A thousand, of a count about which nothing is known."""
    refined = caller.post("/v1/refine", {"answers": [1, 4] * 500, "size": 2**53, "epsilon": "0.1"})
    assert refined.status_code == 200, refined.text
    assert refined.json()["mean"] == pytest.approx(2.5, abs=1e-6)


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("refine", {"answers": [1], "size": 5}, "give either epsilon, or both noise and scale"),
        ("refine", {"answers": [1], "size": 5, "noise": "beige", "scale": "1"}, "noise must be one of"),
        ("refine", {"answers": [0.5], "size": 5, "epsilon": "1"}, "answer"),
        ("refine", {"answers": [1], "size": 5, "epsilon": "1", "rate": "7"}, "rate must lie"),
        ("risk", {"rate": "10%"}, "size is missing from the body: add it"),
        ("risk", {"size": 5, "rate": "10%"}, "give one of price"),
        ("risk", {"size": 5, "rate": "100%", "price": "1"}, '"rate": "100%" makes the property certain'),
        ("risk", {"size": 5, "rate": "10%", "price": "1", "known": 5}, '"known": 5 covers all of the 5 records'),
        ("risk", {"size": 5, "rate": "10%", "price": "1", "sample": 6}, '"sample": 6 exceeds the number of records'),
        ("risk", {"size": 5, "rate": "10%", "price": "1", "known_positives": 2}, "known_positives needs known: give"),
        (
            "risk",
            {"size": 5, "rate": "10%", "price": "1", "known": 2, "known_positives": 3},
            '"known_positives": 3 exceeds "known": 2: give at most',
        ),
    ],
)
def test_a_wrong_setting_is_refused(caller: Caller, path: str, body: object, words: str) -> None:
    """In one line, as the command line does."""
    refused = caller.post(f"/v1/{path}", body)
    assert (problem(refused)[0], words in refused.json()["detail"]) == (422, True), refused.text


def test_what_has_no_route_is_a_problem_too(caller: Caller) -> None:
    """Also a method that a route has not."""
    assert [problem(caller.get(f"/v1/{path}")) for path in ("nowhere", "refine")] == [(404, "route"), (405, "route")]


def test_records_that_change_are_asked_as_they_are_now(state: ServiceState, tmp_path: Path) -> None:
    """A file that was written anew is opened anew, under the same budget."""
    caller = calling(state)
    assert caller.ask({"where": "age >= 65", "epsilon": "0.5"}, "one").status_code == 201
    (tmp_path / "stay.csv").write_text("person,age,town\n1,70,Bern\n2,3,Bern\n", encoding="utf-8")
    told = caller.ask({"where": "age >= 65", "epsilon": "0.5"}, "two").json()
    assert (told["repeated"], told["remaining"]) == (False, "1")


def test_records_that_are_gone_are_an_owners_business(state: ServiceState, tmp_path: Path) -> None:
    """The asker is not told where they were; the debit of an answer before them stays."""
    (tmp_path / "stay.csv").unlink()
    refused = calling(state).get("/v1/datasets/stay")
    assert problem(refused) == (503, "records")
    assert "stay.csv" not in refused.text


OTHERS = {
    "count": ({"where": "age >= 65"}, {"where": "age >= 66"}),
    "several": ({"where": ["age >= 65", "town = 'Bern'"]}, {"where": ["age >= 65", "town = 'Chur'"]}),
    "list of one": ({"where": ["age >= 65"]}, {"where": ["age >= 66"]}),
    "table": (
        {"by": "age:0,65", "margins": ["total"], "groups_per_unit": 1},
        {"by": "age:0,66", "margins": ["total"], "groups_per_unit": 1},
    ),
}


def seen_by(state: ServiceState, user: User, bodies: Sequence[dict[str, Any]]) -> list[str]:
    """Give all that a user is told who looks, and asks for what is not paid for."""
    caller = calling(state, user)
    told = [caller.post("/v1/datasets/stay/plan", body).text for body in bodies]
    for place, body in enumerate(bodies):
        sent = {"question": json.dumps(body), "key": f"{place:032x}"}
        for reply in (caller.ask(body, f"try-{place}"), caller.request("POST", "/ask/stay/spend", data=sent)):
            assert reply.status_code == 403
            told.append(reply.text)
    for body in bodies:
        typed = {"goal": "epsilon", "epsilon": body["epsilon"], "confidence": "95%"}
        if isinstance(body.get("where"), str):
            typed["where"] = body["where"]
        if "by" in body:
            column, split = body["by"].split(":")
            typed |= {"group": column, "split": split, "keys": "", "total": "on"}
            typed["groups_per_unit"] = "1"
        told.append(caller.request("POST", "/ask/stay", data=typed).text)
    paths = ("/v1/datasets", "/v1/datasets/stay", "/ask/stay", "/ask/stay", "/ledger", "/ledger/export")
    told += [caller.get(path).text for path in paths]
    return [re.sub(r'name="(csrf|key)" value="[^"]*"', "", text) for text in told]


@pytest.mark.thorough
@pytest.mark.few(1)
@pytest.mark.parametrize("kind", OTHERS)
def test_what_only_others_asked_is_told_as_what_nobody_asked(tmp_path: Path, kind: str) -> None:
    """No preview, plan, page, price or refused spend tells which question another analyst has paid for."""
    bodies = [{**body, "epsilon": "0.25"} for body in OTHERS[kind]]
    told = []
    for place, body in enumerate(bodies):
        folder = tmp_path / f"{place}"
        folder.mkdir()
        with serving(configured(folder, budget="0.4")) as state:
            assert calling(state).ask(body, "hers").status_code == 201
            told.append(seen_by(state, BO, bodies))
            hers = calling(state).post("/v1/datasets/stay/plan", body).json()
            owners = calling(state, OWNER).post("/v1/datasets/stay/plan", body).json()
            assert hers["repeated"]
            assert owners["repeated"]
    assert told[0] == told[1]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", OTHERS)
def test_who_really_asks_what_others_asked_leaves_a_trace(state: ServiceState, kind: str) -> None:
    """The answer is free, and the ledger has it, for owners alone; from then on it is theirs."""
    ana, bo = calling(state), calling(state, BO)
    body = {**OTHERS[kind][0], "epsilon": "0.25", "purpose": "hers"}
    first = ana.ask(body, "hers").json()
    hers = [ana.get(path).text for path in ("/ledger/export?form=json", "/ledger/export")]
    assert bo.post("/v1/datasets/stay/plan", body).json()["repeated"] is False
    again = bo.ask({**body, "purpose": "his"}, "his").json()
    assert (again["repeated"], again.get("answer")) == (True, first.get("answer"))
    assert again.get("rows") == first.get("rows")
    bo.ask({**body, "purpose": "his again"}, "later")
    (entry,) = state.ledger.entries()
    told = [(each.analyst, each.purpose) for each in entry.repeats]
    assert (entry.analyst, told) == ("ana", [("bo", "his")])
    assert bo.post("/v1/datasets/stay/plan", body).json()["repeated"] is True
    assert [ana.get(path).text for path in ("/ledger/export?form=json", "/ledger/export")] == hers
    shown = calling(state, OWNER).get("/ledger").text
    assert "ana, then bo" in shown
    assert "ana, then bo" not in ana.get("/ledger").text
    assert state.ledger.verify().broken is None


def test_a_service_may_want_a_purpose(tmp_path: Path) -> None:
    """Of every spend, whatever the data set says; else who gives none would find out what others have asked."""
    with serving(configured(tmp_path, purpose=True)) as state:
        ana, bo, body = calling(state), calling(state, BO), {"where": "age >= 65", "epsilon": "0.1"}
        refused = ana.ask(body, "first")
        assert refused.json()["detail"].startswith("purpose is missing: state what the answer is for")
        assert state.ledger.entries() == []
        assert ana.ask({**body, "purpose": "a report"}, "second").status_code == 201
        assert [entry.purpose for entry in state.ledger.entries()] == ["a report"]
        for where in ("age >= 65", "age>66"):
            again = bo.ask({**body, "where": where}, where[-2:])
            assert (again.status_code, again.json()["detail"]) == (422, refused.json()["detail"])
        assert ana.ask(body, "third").json()["repeated"]


def test_the_setting_is_a_truth(tmp_path: Path) -> None:
    """Left out: none is wanted."""
    path = tmp_path / "noisycount.toml"
    for text, wanted in (("", False), ("purpose = true", True), ("purpose = false", False)):
        path.write_text(f"[server]\n{text}\n", encoding="utf-8")
        assert load_config(path).service.purpose is wanted
    path.write_text('[server]\npurpose = "yes"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="must be true or false"):
        load_config(path)


def test_a_reply_does_not_say_where_the_ledger_is(tmp_path: Path) -> None:
    """Neither a member nor a path of it is in what an analyst gets, at once or later."""
    with serving(configured(tmp_path)) as state:
        caller = calling(state)
        first = caller.ask({"where": "age >= 65", "epsilon": "0.1"}, "one")
        for reply in (first, caller.get(first.headers["location"])):
            assert "answer" in reply.json()
            assert "ledger" not in reply.json()
            assert str(tmp_path) not in reply.text
