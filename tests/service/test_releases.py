import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import event, insert
from starlette.types import Receive, Scope, Send

from noisycount.ledger.chain import chained_row
from noisycount.ledger.entries import Head
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.storage import LEDGER
from noisycount.release.desk import Desk
from noisycount.service.questions import SpendRoute, asker_of_name, spends
from noisycount.service.state import ServiceState
from noisycount.tasks.opening import DatasetSession
from tests.helpers.service_callers import ANA, BO, OWNER, calling, configured, problem, serving
from tests.service.conftest import PATIENCE, Gate

COUNT = {"where": "age >= 65", "epsilon": "0.1"}
MANY = {"where": ["age >= 65", "town = 'Bern'"], "epsilon": "0.2"}
TABLE = {"by": "age:0,18,65", "epsilon": "0.3", "groups_per_unit": 1}
OTHER = {"where": "age < 3", "epsilon": "0.01"}
every_kind = pytest.mark.parametrize("body", [COUNT, MANY, TABLE], ids=["count", "many", "table"])


@every_kind
def test_same_key_and_body_give_the_same_bytes_for_ever(body: dict[str, Any], tmp_path: Path) -> None:
    """They do after other spends, after a restart, and where the records are gone."""
    configuration = configured(tmp_path)
    with serving(configuration) as state:
        caller = calling(state)
        first = caller.ask(body, "one")
        assert first.status_code == 201, first.text
        assert caller.ask(OTHER, "two").status_code == 201
        assert caller.ask(body, '"one"').content == first.content
    (tmp_path / "stay.csv").write_text("person,age,town\n1,1,Bern\n", encoding="utf-8")
    with serving(configuration) as state:
        again = calling(state).ask(body, "one")
        assert (again.status_code, again.content) == (201, first.content)
        assert calling(state).get(first.headers["location"]).content == first.content


@pytest.mark.thorough
@every_kind
def test_a_spend_is_two_commits(body: dict[str, Any], state: ServiceState) -> None:
    """Its debit; then its answer with its reply. What is asked again is read alone."""
    caller, commits = calling(state), list[object]()
    assert caller.ask(OTHER, "first").status_code == 201
    event.listen(state.ledger.transactions.writing, "commit", commits.append)
    told = caller.ask(body, "one")
    assert told.status_code == 201, told.text
    assert len(commits) == 2
    assert caller.ask(body, "one").content == told.content
    assert len(commits) == 2


@every_kind
def test_a_valid_spend_skips_the_dependencies_of_the_framework(
    body: dict[str, Any], state: ServiceState, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The framework reads a spend in any other form, and refuses it, by the same rules: the bytes are the same."""
    caller, framework = calling(state), list[str]()
    (route,) = spends.routes
    assert isinstance(route, SpendRoute)
    by_fastapi = route.by_fastapi

    async def seen(scope: Scope, receive: Receive, send: Send) -> None:
        framework.append(scope["path"])
        await by_fastapi(scope, receive, send)

    monkeypatch.setattr(route, "by_fastapi", seen)
    path, content = "/v1/datasets/stay/releases", json.dumps(body).encode()
    first = caller.post(path, body, "one")
    assert (first.status_code, framework) == (201, [])
    headers = {"Idempotency-Key": "one", "Content-Type": "application/json; charset=utf-8"}
    again = caller.request("POST", path, content=content, headers=headers)
    assert (again.status_code, again.content, len(framework)) == (201, first.content, 1)
    for wrong in ({"epsilon": 1}, {**body, "epsilom": "1"}, []):
        assert problem(caller.post(path, wrong, "two"))[0] == 422
    assert problem(caller.post(path, body, "a key")) == (422, "form")
    assert problem(caller.post(f"/v1/datasets/{'s' * 201}/releases", body, "two")) == (422, "form")
    assert len(framework) == 6


def test_a_key_names_one_request(state: ServiceState) -> None:
    """Another body, another confidence or another data set under it is refused, uncharged."""
    caller, owner = calling(state), calling(state, OWNER)
    assert caller.ask(COUNT, "one").status_code == 201
    assert caller.ask(COUNT, "free").json()["repeated"]
    for key in ("one", "free"):
        for other in ({**COUNT, "confidence": "99%"}, {**COUNT, "where": "age < 65"}, TABLE):
            assert problem(caller.ask(other, key)) == (422, "key-reuse")
    assert owner.ask(COUNT, "one").status_code == 201, "others have keys of their own"
    assert owner.ask({"where": "pay > 1", "epsilon": "0.1"}, "one", "payroll").status_code == 422
    assert float(caller.get("/v1/datasets/stay").json()["remaining"]) == 1.9


def test_a_key_names_one_request_of_all_processes(tmp_path: Path) -> None:
    """A process that has not read the reply of another gives its bytes, and refuses another body uncharged."""
    configuration = configured(tmp_path)
    with serving(configuration) as state, serving(configuration) as late_state:
        first, late = calling(state), calling(late_state)
        assert late.ask(OTHER, "other").status_code == 201
        told = {key: first.ask(COUNT, key) for key in ("one", "free")}
        assert (told["one"].status_code, told["free"].json()["repeated"]) == (201, True)
        spent = state.ledger.spent(configuration.datasets["stay"].account)
        assert late.ask(COUNT, "one").content == told["one"].content
        again = first.ask(MANY, "many")
        assert late.ask(MANY, "many").content == again.content
        for key in ("free", "many"):
            assert first.ask(COUNT, f"{key} too".replace(" ", "-")).status_code == 201
            assert problem(late.ask({**COUNT, "where": "age < 65"}, f"{key}-too")) == (422, "key-reuse")
        assert late.ask(COUNT, "free").content == told["free"].content
        paid = state.ledger.spent(configuration.datasets["stay"].account)
        assert paid - spent == Fraction(MANY["epsilon"])


def test_a_key_names_one_data_set(tmp_path: Path) -> None:
    """An idempotency key is refused for another data set, whether it was charged or free."""
    configuration = configured(tmp_path)
    source = tmp_path / "twin.csv"
    source.write_text("person,age,town\n1,70,Bern\n2,30,Chur\n", encoding="utf-8")
    stay = configuration.datasets["stay"]
    twin = replace(stay, name="twin", source=source, size=None, account="twin")
    both = {**configuration.datasets, "twin": twin}
    with serving(replace(configuration, datasets=both)) as state:
        owner = calling(state, OWNER)
        assert owner.ask(COUNT, "one").status_code == 201
        assert owner.ask(COUNT, "free").json()["repeated"]
        for key in ("one", "free"):
            assert problem(owner.ask(COUNT, key, "twin")) == (422, "key-reuse")
        assert owner.get("/v1/datasets/twin").json()["remaining"] == "2"
        assert owner.ask(COUNT, "two", "twin").json()["dataset"] == "twin"


def test_a_reply_names_no_coarser_answer_of_another(state: ServiceState) -> None:
    """A top-up of another's answer does not reveal whose it is, except to an owner."""
    ana, bo, owner = calling(state), calling(state, BO), calling(state, OWNER)
    assert ana.ask(COUNT, "secret").status_code == 201
    finer = bo.ask({**COUNT, "epsilon": "0.2"}, "other")
    assert (finer.json()["charged"], finer.json()["replaces"]) == ("0.1", ["of another analyst"])
    exported = bo.get("/ledger/export?form=json")
    assert not [text for text in (finer.text, exported.text) if "secret" in text]
    finest = ana.ask({**COUNT, "epsilon": "0.3"}, "mine").json()
    assert finest["replaces"] == ["of another analyst", "ana:secret"]
    assert owner.ask({**COUNT, "epsilon": "0.4"}, "all").json()["replaces"] == ["ana:mine", "bo:other", "ana:secret"]


def test_a_reply_names_the_first_request_of_its_asker_alone(state: ServiceState) -> None:
    """A repeat names the first key of the same analyst, and none of other analysts."""
    ana, bo = calling(state), calling(state, BO)
    first = ana.ask(COUNT, "one").json()
    again, other = ana.ask(COUNT, "two").json(), bo.ask(COUNT, "other")
    assert "first" not in first
    assert (again["first"], again["key"], again["repeated"]) == ("ana:one", "ana:two", True)
    assert (other.json()["key"], other.json()["answer"]) == ("bo:other", first["answer"])
    assert "first" not in other.json()
    assert "ana:" not in other.text


def test_a_reply_that_was_changed_is_given_to_nobody(state: ServiceState) -> None:
    """A changed reply is refused without a reason; the log and `verify` state it."""
    ana, bo = calling(state), calling(state, BO)
    first, told = (ana.ask(COUNT, key) for key in ("one", "two"))
    assert (first.status_code, told.status_code) == (201, 201)
    with state.ledger.transactions.writing.begin() as connection:
        connection.exec_driver_sql("UPDATE replies SET name = 'bo:one' WHERE name = 'ana:one'")
    for caller in (ana, bo):
        assert problem(caller.ask(COUNT, "one")) == (503, "ledger")
    assert problem(bo.get("/v1/releases/bo:one")) == (503, "ledger")
    assert ana.ask(COUNT, "two").content == told.content
    assert "of reply 'ana:one', which was changed or removed" in state.ledger.verify().why


@pytest.mark.thorough
@every_kind
def test_replies_of_an_older_service_are_given_as_they_were(body: dict[str, Any], tmp_path: Path) -> None:
    """Byte for byte, also those to a repeated question; and `verify` takes them for older ones."""
    configuration = configured(tmp_path)
    with serving(configuration) as state:
        ana, bo = calling(state), calling(state, BO)
        told = [ana.ask(body, "one"), ana.ask(body, "two"), bo.ask(body, "one")]
        assert [reply.status_code for reply in told] == [201] * 3
    forget_replies(tmp_path / "ledger.db")
    with serving(configuration) as state:
        ana, bo = calling(state), calling(state, BO)
        found = state.ledger.verify()
        assert (found.broken, found.older_replies) == (None, 3)
        again = [ana.ask(body, "one"), ana.ask(body, "two"), bo.ask(body, "one")]
        assert [reply.content for reply in again] == [reply.content for reply in told]
        assert ana.ask(OTHER, "three").status_code == 201
        found = state.ledger.verify()
        assert (found.broken, found.older_replies) == (None, 0)
        assert bo.ask(body, "one").content == told[2].content


def forget_replies(path: Path) -> None:
    """Write the rows of a ledger anew without those of replies, as an older service left it."""
    with Ledger.open(f"sqlite:///{path}") as ledger, ledger.transactions.writing.begin() as connection:
        rows, head = [dict(row) for row in ledger.rows()], Head()
        connection.exec_driver_sql("DROP TRIGGER ledger_refuses_delete")
        connection.exec_driver_sql("DELETE FROM ledger")
        for row in rows:
            if row["kind"] != "reply":
                made = chained_row(head, row)
                connection.execute(insert(LEDGER), made)
                head = Head(made["number"], made["hash"])


def test_a_spend_needs_a_key(state: ServiceState) -> None:
    """Without one, or with one that no header should have, nothing is charged; the refusal says what it is for."""
    caller = calling(state)
    for key in (None, "", "a b", "a:b", "x" * 101, '"half'):
        refused = caller.post("/v1/datasets/stay/releases", COUNT, key)
        words = "the header Idempotency-Key is missing: choose" if key is None else "must be 1 to 100 of the characters"
        assert (problem(refused), words in refused.json()["detail"]) == ((422, "form"), True)
    assert state.ledger.entries() == []
    assert caller.get("/v1/datasets/stay").json()["remaining"] == "2"


def test_two_requests_of_one_key_that_meet(state: ServiceState, gate: Gate) -> None:
    """The second is told to wait while the first is counted, and gets its bytes afterwards."""
    caller = calling(state)
    with gate.asked(caller, COUNT) as first:
        second = calling(state).ask(COUNT, "one")
        assert (problem(second), second.headers["retry-after"]) == ((409, "in-flight"), "5")
    told = first.result(PATIENCE)
    assert told.status_code == 201
    assert caller.ask(COUNT, "one").content == told.content


def test_a_request_waits_for_no_request_of_another(state: ServiceState, gate: Gate) -> None:
    """While a key of one analyst is worked on, the same key of another is answered."""
    gate.is_of_first = True
    with gate.asked(calling(state), COUNT) as first:
        assert calling(state, BO).ask({**COUNT, "where": "age < 65"}, "one").status_code == 201
    assert first.result(PATIENCE).status_code == 201


def test_two_processes_that_meet_give_one_reply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two states at one ledger that work on one key at once reply with the same bytes."""
    met = Barrier(2)
    desk = DatasetSession.desk

    def meeting(self: DatasetSession, *said: Any) -> Desk:  # noqa: ANN401 - as it is
        met.wait(60)
        return desk(self, *said)

    with serving(configured(tmp_path)) as one, serving(configured(tmp_path)) as other:
        callers = calling(one), calling(other)
        for caller in callers:
            assert caller.get("/v1/datasets/stay").status_code == 200
        monkeypatch.setattr(DatasetSession, "desk", meeting)
        with ThreadPoolExecutor(2) as threads:
            told = list(threads.map(lambda each: each.ask(COUNT, "a"), callers))
    assert [reply.status_code for reply in told] == [201, 201], [reply.text for reply in told]
    assert told[0].content == told[1].content
    assert told[0].json()["key"] == "ana:a"


def test_a_release_is_its_askers_and_the_owners(state: ServiceState) -> None:
    """Another analyst of the same data set, and one who lost it, are told that there is none."""
    reply = calling(state).ask(COUNT, "one")
    path = reply.headers["location"]
    assert calling(state, OWNER).get(path).content == reply.content
    absent = calling(state, BO).get("/v1/releases/ana:none")
    assert absent.status_code == 404
    assert calling(state, BO).get(path).content == absent.content
    gone = calling(state, type(ANA)("ana", ANA.role, frozenset())).get(path)
    assert (gone.status_code, gone.content) == (404, absent.content)


def test_an_answer_of_the_command_line_is_found(state: ServiceState) -> None:
    """It is there for who asked, and for an owner, as the ledger has it."""
    session = state.session(ANA, "stay")
    told = session.desk(state.analyst(ANA)).release("age >= 65", "0.1", key="by-hand")
    found = calling(state).get("/v1/releases/by-hand")
    assert found.status_code == 200
    assert (found.json()["answer"], found.json()["epsilon"]) == (told.answer, "0.1")
    assert calling(state, BO).get("/v1/releases/by-hand").status_code == 404


def test_budget_refuses_in_one_line(state: ServiceState) -> None:
    """More than the remaining budget is refused by the sentence of the command line, and charges nothing."""
    refused = calling(state).ask({**COUNT, "epsilon": "2.5"}, "one")
    assert problem(refused) == (403, "budget")
    assert "exceeds the 2 that is left" in refused.json()["detail"]
    assert calling(state).ask(COUNT, "one").json()["remaining"] == "1.9"


@pytest.mark.parametrize("name", ["ana", "urn:uuid:7", "https://issuer.example|ana"])
def test_the_owner_of_a_name_is_all_before_its_last_colon(name: str) -> None:
    """The subjects of tokens may hold colons; keys hold none."""
    assert asker_of_name(f"{name}:2026-11-22") == name


@every_kind
def test_a_kept_reply_is_refused_after_its_grant_was_revoked(body: dict[str, Any], state: ServiceState) -> None:
    """As a data set that is not there, under the key and body that it was given for; a new grant opens it again."""
    first = calling(state).ask(body, "one")
    assert first.status_code == 201, first.text
    unknown = calling(state).ask(body, "one", "nowhere")
    for grants in (frozenset[str](), frozenset({"payroll"})):
        revoked = calling(state, replace(ANA, grants=grants))
        reply = revoked.ask(body, "one")
        assert (reply.status_code, reply.content) == (404, unknown.content)
        assert revoked.get(first.headers["location"]).status_code == 404
    assert calling(state).ask(body, "one").content == first.content
