import logging

import pytest

from noisycount.service.keys import Key
from tests.helpers.service_callers import problem
from tests.service.auth.conftest import Served
from tests.service.auth.test_login import log_in


def test_a_key_says_who_asks(served: Served) -> None:
    """By name and role; the scheme may be written in any case."""
    key = served.key()
    assert served.client(key).get("/v1/probe").json() == {"name": "ana", "role": "analyst"}
    told = served.client().get("/v1/probe", headers={"Authorization": f"bearer  {key.text} "})
    assert told.status_code == 200


def test_nobody_is_nobody(served: Served) -> None:
    """A request without a key is told how to bring one, in the form of RFC 9457 and RFC 6750."""
    reply = served.client().get("/v1/probe")
    assert problem(reply) == (401, "unauthenticated")
    assert reply.headers["www-authenticate"] == 'Bearer realm="noisycount"'


def test_no_wrong_key_is_told_from_another(served: Served) -> None:
    """Unknown, malformed, expired, revoked, of another secret: the very same bytes."""
    good, out = served.key(), served.key("out")
    served.keyring.revoke("out")
    shown = ["", "x", "nc_", Key.new().text, out.text, Key(good.id, "0" * 64).text, "a.b.c"]
    replies = [served.client(each).get("/v1/probe") for each in shown]
    replies.append(served.client().get("/v1/probe"))
    assert {(reply.status_code, reply.content) for reply in replies} == {(401, replies[0].content)}
    told = [{n: said for n, said in r.headers.items() if n != "x-request-id"} for r in replies]
    assert told == [told[0]] * len(told)


def test_a_key_is_taken_from_one_header_alone(served: Served) -> None:
    """No address, form, cookie, other scheme or name of a user lets anybody in."""
    key = served.key().text
    client = served.client()
    ways = [
        client.get(f"/v1/probe?key={key}"),
        client.get(f"/v1/probe?access_token={key}"),
        client.get("/v1/probe", headers={"X-API-Key": key, "user-name": "ana"}),
        client.get("/v1/probe", headers={"Cookie": f"noisycount={key}"}),
        client.get("/v1/probe", headers={"Authorization": key}),
        client.get("/v1/probe", headers={"Authorization": f"Basic {key}"}),
        client.post("/v1/probe", data={"access_token": key, "key": key}),
    ]
    assert [reply.status_code for reply in ways] == [401] * len(ways)


def test_a_revoked_key_ends_at_once(served: Served) -> None:
    """The next request is refused, without a restart; the other key of its holder goes on."""
    key, other = served.key(), served.key()
    clients = [served.client(each) for each in (key, other)]
    assert [client.get("/v1/probe").status_code for client in clients] == [200, 200]
    served.keyring.revoke(key.id)
    assert [client.get("/v1/probe").status_code for client in clients] == [401, 200]


def test_who_shows_a_header_is_judged_by_it_alone(served: Served) -> None:
    """No session makes a wrong key good; a right one, which no other site can send, posts without a form."""
    client, key = log_in(served, served.key()), served.key()
    assert client.get("/v1/probe").status_code == 200
    assert client.get("/v1/probe", headers={"Authorization": f"Bearer {Key.new().text}"}).status_code == 401
    assert served.client(key).post("/v1/probe", headers={"Origin": "http://evil.example"}).status_code == 200


def test_unreadable_keys_let_nobody_in(served: Served) -> None:
    """A damaged file is the owner's business: 503, and its path is told nobody."""
    key = served.key()
    served.keyring.path.write_text("{")
    reply = served.client(key).get("/v1/probe")
    assert problem(reply) == (503, "unchecked")
    assert "access.json" not in reply.text


def test_keys_are_in_no_log(
    served: Served, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Right and wrong ones, in headers, forms and addresses; nor in a file, nor on the terminal."""
    caplog.set_level(logging.DEBUG)
    key, wrong = served.key(), Key.new()
    log_in(served, key)
    for each in (key, wrong):
        served.client(each).get("/v1/probe")
        served.client().post("/login", data={"key": each.text, "csrf": "x"})
        served.client().get("/v1/probe", headers={"Authorization": f"Basic {each.text}"})
        for place in (f"/login?next=/{each.text}", f"/{each.text}", f"/v1/releases/{each.text}"):
            served.client(each).get(place)
    told, ours = capfd.readouterr(), (r for r in caplog.records if r.name != "httpx")
    logged = " ".join(record.getMessage() for record in ours)
    assert '"route": "/v1/releases/{id}"' in told.out + told.err
    ledger = served.application.state.service.configuration.ledger_file
    places = [path for folder in (served.keyring.folder, ledger.parent) for path in folder.rglob("*")]
    files = b"".join(path.read_bytes() for path in places if path.is_file())
    for each in (key, wrong):
        assert each.secret not in logged + told.out + told.err
        assert each.secret.encode() not in files
