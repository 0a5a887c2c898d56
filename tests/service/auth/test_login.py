import re
from http.cookies import Morsel, SimpleCookie
from pathlib import Path

import httpx
import pytest

from noisycount.service.app import application
from noisycount.service.auth import (
    ATTEMPT_SECONDS,
    FORM_SECONDS,
    IDLE_SECONDS,
    LONGEST_SECONDS,
    MOST_ATTEMPTS,
    MOST_SESSIONS,
)
from noisycount.service.keys import Key
from tests.helpers.service_callers import Caller, configured, problem, serving
from tests.service.auth.conftest import Served

HOST = "http://desk.example.org"
TLS = "https://desk.example.org"
FROM_HERE = {"Origin": HOST}


def csrf_in(reply: httpx.Response) -> str:
    """The token of the first form of a page."""
    found = re.search(r'name="csrf" value="([^"]*)"', reply.text)
    assert found is not None
    return found[1]


def morsels(reply: httpx.Response) -> dict[str, Morsel[str]]:
    """The cookies that a reply sets, with their attributes."""
    cookie: SimpleCookie = SimpleCookie()
    for header in reply.headers.get_list("set-cookie"):
        cookie.load(header)
    return dict(cookie)


def attempt(client: Caller, key: str, onwards: str = "/ask") -> httpx.Response:
    """The reply to a key that is typed into the form; of a refusal the page that tells it."""
    fields = {"csrf": csrf_in(client.get("/login")), "key": key, "next": onwards}
    return told(client, client.post("/login", data=fields, headers={"Origin": client.base}))


def told(client: Caller, reply: httpx.Response) -> httpx.Response:
    """The page of the login that a refusal leads to; of another reply itself."""
    is_refused = reply.status_code == 303 and reply.headers["location"].startswith("/login?refused=")
    return client.get(reply.headers["location"]) if is_refused else reply


def log_in(served: Served, key: Key, base: str = HOST) -> Caller:
    """A browser with a session."""
    client = served.client(base=base)
    assert attempt(client, key.text).status_code == 303
    return client


def session_csrf(served: Served, client: Caller, cookie: str = "noisycount") -> str:
    """The token of the forms of a session."""
    said = client.cookies.get(cookie)
    assert said is not None
    session = served.auth.sessions.session(said)
    assert session is not None
    return session.csrf


def test_a_key_begins_a_session(served: Served) -> None:
    """The browser is led on, and is known from then on; the key is in no cookie and no address."""
    client, key = served.client(), served.key()
    reply = attempt(client, f" {key.text}\n", "/ask?data=survey")
    assert (reply.status_code, reply.headers["location"]) == (303, "/ask?data=survey")
    assert client.get("/v1/probe").json()["name"] == "ana"
    assert key.secret not in str(reply.headers) + str(client.cookies)
    again = client.get("/login?next=/explore")
    assert (again.status_code, again.headers["location"]) == (303, "/explore")


@pytest.mark.parametrize(("base", "prefix"), [(HOST, ""), (TLS, "__Host-")])
def test_cookies_are_for_this_server_alone(served: Served, base: str, prefix: str) -> None:
    """`HttpOnly; SameSite=Strict; Path=/`, of no domain, and by TLS alone where there is TLS."""
    client = served.client(base=base)
    set_ = morsels(client.get("/login")) | morsels(attempt(client, served.key().text))
    assert set(set_) == {f"{prefix}noisycount", f"{prefix}noisycount-login"}
    for cookie in set_.values():
        assert cookie["httponly"] is True
        assert cookie["samesite"].lower() == "strict"
        assert (cookie["path"], cookie["domain"]) == ("/", "")
        assert bool(cookie["secure"]) is (base == TLS)
    assert set_[f"{prefix}noisycount"]["expires"] == set_[f"{prefix}noisycount"]["max-age"] == ""
    assert len(set_[f"{prefix}noisycount"].value) == 43  # 256 bits


def test_a_cookie_is_kept_as_a_hash(served: Served) -> None:
    """The server's table of sessions contains no text that opens a session."""
    client = log_in(served, served.key())
    said = client.cookies.get("noisycount")
    assert said is not None
    assert said not in repr(served.auth.sessions._open)  # noqa: SLF001  (what is in memory)
    assert session_csrf(served, client) not in repr(served.auth)


def test_a_wrong_key_begins_none(served: Served) -> None:
    """The page says so without saying why, and what was typed is not told back."""
    revoked = served.key("out")
    served.keyring.revoke("out")
    replies = []
    for wrong in (Key.new().text, revoked.text, "<script>", ""):
        client = served.client()
        reply = attempt(client, wrong)
        assert reply.status_code == 403
        assert client.get("/v1/probe").status_code == 401
        assert "<script>" not in reply.text.replace('<script src="/static', "")
        replies.append(re.sub(r'name="csrf" value="[^"]*"', "", reply.text))
        assert not wrong or wrong not in reply.text
    assert len(set(replies)) == 1


def test_a_wrong_key_is_typed_again(served: Served) -> None:
    """The field has the focus."""
    assert 'aria-invalid="true" autofocus' in attempt(served.client(), "nc_wrong").text


def test_a_login_needs_its_own_form(served: Served) -> None:
    """Without a token, with another browser's, with no cookie, from elsewhere: no session."""
    key, client, other = served.key().text, served.client(), served.client()
    token, foreign = csrf_in(client.get("/login")), csrf_in(other.get("/login"))
    for sender, fields, headers in (
        (client, {}, FROM_HERE),
        (client, {"csrf": ""}, FROM_HERE),
        (client, {"csrf": foreign}, FROM_HERE),
        (served.client(), {"csrf": token}, FROM_HERE),
        (client, {"csrf": token}, {"Origin": "https://evil.example"}),
        (client, {"csrf": token}, {}),
    ):
        refused = sender.post("/login", data={"key": key, **fields}, headers=headers)
        reply = told(sender, refused)
        assert {"noisycount", "__Host-noisycount"}.isdisjoint(morsels(refused))
        assert (reply.status_code, "or not from this server" in reply.text) == (403, True)
        assert {"noisycount", "__Host-noisycount"}.isdisjoint(morsels(reply))
    reply = client.post("/login", data={"key": key, "csrf": token}, headers=FROM_HERE)
    assert (reply.status_code, reply.headers["location"]) == (303, "/")


def test_an_old_form_is_refused(served: Served) -> None:
    """A form lasts an hour, in two windows as well; the page that refuses it has a new one, which is taken."""
    key, client = served.key().text, served.client()
    token = csrf_in(client.get("/login"))
    assert csrf_in(client.get("/login")) == token
    served.clock.seconds += FORM_SECONDS
    reply = told(client, client.post("/login", data={"key": key, "csrf": token}, headers=FROM_HERE))
    assert reply.status_code == 403
    fields = {"key": key, "csrf": csrf_in(reply)}
    assert client.post("/login", data=fields, headers=FROM_HERE).headers["location"] == "/"


def test_a_session_is_never_one_that_was_there_before(served: Served) -> None:
    """A cookie that somebody planted means nothing."""
    client = served.client()
    client.cookies.set("noisycount", "planted")
    assert attempt(client, served.key().text).is_redirect
    assert client.cookies.get("noisycount", domain="desk.example.org") not in {None, "planted"}
    assert len(served.auth.sessions) == 1


def test_a_second_login_ends_the_first_session(served: Served) -> None:
    """A browser that logs in again, as somebody else, has one session, and the server too."""
    client, ben = log_in(served, served.key()), served.client()
    token = csrf_in(ben.get("/login"))
    ben.cookies.set("noisycount", str(client.cookies.get("noisycount")), "desk.example.org", "/")
    fields = {"csrf": token, "key": served.key("ben").text}
    assert ben.post("/login", data=fields, headers=FROM_HERE).is_redirect
    assert len(served.auth.sessions) == 1
    assert client.get("/v1/probe").status_code == 401
    assert ben.get("/v1/probe").json()["name"] == "ben"


def test_a_key_has_few_sessions(served: Served) -> None:
    """A new session above the limit ends the oldest; expired ones end before used ones."""
    sessions, last = served.auth.sessions, MOST_SESSIONS - 1
    used, *others = [sessions.begin("id", "ana") for _ in range(MOST_SESSIONS)]
    served.clock.seconds += IDLE_SECONDS - 1
    assert all(map(sessions.session, (used, others[0])))
    served.clock.seconds += 1
    assert len(sessions) == 2
    for _ in range(last - 1):
        sessions.begin("id", "ana")
    assert all(map(sessions.session, (used, others[0])))
    assert len(sessions) == MOST_SESSIONS
    sessions.begin("id", "ana")
    assert (sessions.session(used), len(sessions)) == (None, MOST_SESSIONS)
    sessions.begin("another id", "ana")
    assert sessions.session(others[0]) is not None


@pytest.mark.parametrize(
    "elsewhere",
    [
        *("https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example"),
        *("javascript:alert(1)", "/\tevil", "/\r\nSet-Cookie: a=b", "evil", ""),
    ],
)
def test_nobody_is_led_elsewhere(served: Served, elsewhere: str) -> None:
    """After a login one is on this server, whatever an address said."""
    reply = attempt(served.client(), served.key().text, elsewhere)
    assert (reply.status_code, reply.headers["location"]) == (303, "/")
    assert "a" not in morsels(reply)


def test_wrong_keys_are_slowed_down_and_right_ones_are_not(served: Served) -> None:
    """After ten a minute from one place wrong keys wait; the right key of a neighbour is let in all the while."""
    client, key = served.client(), served.key().text
    for _ in range(MOST_ATTEMPTS):
        assert attempt(client, Key.new().text).status_code == 403
        served.clock.seconds += 1
    refused = attempt(client, Key.new().text)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, str(int(ATTEMPT_SECONDS) - MOST_ATTEMPTS))
    assert "try again in 50 seconds" in refused.text
    assert served.auth.attempts.seconds_left("192.0.2.7") == 0
    assert attempt(served.client(), key).status_code == 303
    assert attempt(client, Key.new().text).status_code == 429
    served.clock.seconds += ATTEMPT_SECONDS - MOST_ATTEMPTS
    assert attempt(client, Key.new().text).status_code == 403
    assert attempt(client, Key.new().text).status_code == 429


@pytest.mark.parametrize(
    ("proxies", "forwarded", "status"),
    [
        ((), "192.0.2.{}", 429),
        (("203.0.113.0/24",), "192.0.2.{}", 429),
        (("127.0.0.1",), "192.0.2.{}", 403),
        (("127.0.0.1",), "192.0.2.{}, 198.51.100.7", 429),
        (("127.0.0.1", "198.51.100.7"), "192.0.2.{}, 198.51.100.7", 403),
    ],
)
def test_only_a_configured_proxy_tells_where_a_visitor_is(
    tmp_path: Path, proxies: tuple[str, ...], forwarded: str, status: int
) -> None:
    """Forwarded headers are ignored, except those that a configured proxy appended."""
    configuration = configured(tmp_path, proxies=proxies)
    with serving(configuration) as state:
        client = Caller(application(state), base=HOST)
        for number in range(MOST_ATTEMPTS + 1):
            client.headers = {"X-Forwarded-For": forwarded.format(number)}
            refused = attempt(client, Key.new().text)
        assert refused.status_code == status
        client.headers, client.cookies = {"X-Forwarded-Proto": "https"}, httpx.Cookies()
        cookies = morsels(client.get("/login")).values()
        assert [bool(cookie["secure"]) for cookie in cookies] == ["127.0.0.1" in proxies]


def test_places_are_told_apart_and_forgotten(served: Served) -> None:
    """A customer's IPv6 addresses are a single place, and only the latest places are remembered."""
    attempts = served.auth.attempts
    for number in range(MOST_ATTEMPTS):
        attempts.fail(f"2001:db8::{number:x}")
    assert attempts.seconds_left("2001:db8::ffff") == ATTEMPT_SECONDS
    assert attempts.seconds_left("2001:db8:0:1::1") == 0
    for number in range(10_000):
        attempts.fail(f"10.0.{number // 256}.{number % 256}")
    assert attempts.seconds_left("2001:db8::ffff") == 0


@pytest.mark.parametrize(
    ("step", "steps"), [(IDLE_SECONDS, 1), (IDLE_SECONDS - 1, int(LONGEST_SECONDS / (IDLE_SECONDS - 1)) + 1)]
)
def test_a_session_ends_by_itself(served: Served, step: float, steps: int) -> None:
    """After half an hour without use, and after twelve hours of use."""
    assert steps == 1 or (steps - 1) * step < LONGEST_SECONDS <= steps * step
    client = log_in(served, served.key())
    for _ in range(steps - 1):
        served.clock.seconds += step
        assert client.get("/v1/probe").status_code == 200
    served.clock.seconds += step
    assert client.get("/v1/probe").status_code == 401
    assert len(served.auth.sessions) == 0


def test_a_session_ends_with_its_key(served: Served) -> None:
    """A session ends at the next request after its key is revoked, and does not come back."""
    key = served.key()
    client, other = log_in(served, key), log_in(served, served.key("ben"))
    served.keyring.revoke(key.id)
    assert client.get("/v1/probe").status_code == 401
    assert other.get("/v1/probe").status_code == 200
    assert len(served.auth.sessions) == 1


def test_a_key_has_so_many_sessions_and_no_more(served: Served) -> None:
    """The oldest ends; a key that somebody logs in with for ever fills no memory."""
    key = served.key()
    first = log_in(served, key)
    for _ in range(20):
        assert first.get("/v1/probe").status_code == 200 or len(served.auth.sessions) == 20
        log_in(served, key)
    assert first.get("/v1/probe").status_code == 401
    assert len(served.auth.sessions) == 20


def test_logging_out_ends_the_session(served: Served) -> None:
    """On the server too: a cookie that was copied is worth nothing."""
    client = log_in(served, served.key())
    copied = httpx.Cookies(client.cookies)
    fields = {"csrf": session_csrf(served, client)}
    reply = client.post("/logout", data=fields, headers=FROM_HERE)
    assert (reply.status_code, reply.headers["location"]) == (303, "/login")
    assert morsels(reply)["noisycount"]["max-age"] == "0"
    client.cookies = copied
    assert client.get("/v1/probe").status_code == 401


def test_a_session_changes_nothing_without_its_token(served: Served) -> None:
    """Missing, empty, another session's, or of a session that ended: 403, and nothing is done."""
    client, other = log_in(served, served.key()), log_in(served, served.key("ben"))
    foreign = session_csrf(served, other)
    mine = session_csrf(served, client)
    for fields in ({}, {"csrf": ""}, {"csrf": foreign}, {"csrf": mine[:-1]}, {"csrf": "ü"}):
        for path in ("/v1/probe", "/logout"):
            assert is_forged(client.post(path, data=fields, headers=FROM_HERE))
    assert is_forged(client.post("/v1/probe", json={"csrf": mine}, headers=FROM_HERE))
    assert is_forged(client.post(f"/v1/probe?csrf={mine}", headers=FROM_HERE))
    files = {"csrf": ("name", mine.encode())}
    assert is_forged(client.post("/v1/probe", files=files, headers=FROM_HERE))
    good = client.post("/v1/probe", data={"csrf": mine}, headers=FROM_HERE)
    by_script = client.post("/v1/probe", headers={**FROM_HERE, "X-CSRF-Token": mine})
    assert (good.status_code, by_script.status_code) == (200, 200)


def test_a_token_ends_with_its_session(served: Served) -> None:
    """After another login the forms of the former session are strangers'."""
    key = served.key()
    client = log_in(served, key)
    old = session_csrf(served, client)
    client.post("/logout", data={"csrf": old}, headers=FROM_HERE)
    assert attempt(client, key.text).is_redirect
    assert session_csrf(served, client) != old
    assert is_forged(client.post("/v1/probe", data={"csrf": old}, headers=FROM_HERE))


def is_forged(reply: httpx.Response) -> bool:
    """Return True if a form was refused as cross-site."""
    return problem(reply) == (403, "forged")


def test_a_form_from_elsewhere_is_refused(served: Served) -> None:
    """Even with the right token, and also where nobody says where it is from; one from here is taken."""
    client = log_in(served, served.key())
    fields = {"csrf": session_csrf(served, client)}
    hosts = ("null", "https://evil.example", f"{HOST}.evil.example", f"{HOST}:8443", "ftp://desk.example.org")
    for headers in (
        *({"Origin": origin} for origin in (*hosts, "http://[desk")),
        *({}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "cross-site", "Origin": "null"}),
        {"Referer": f"{HOST}/ask"},
    ):
        assert is_forged(client.post("/v1/probe", data=fields, headers=headers)), headers
    for headers in (FROM_HERE, {"Origin": "null", "Sec-Fetch-Site": "same-origin"}):
        assert client.post("/v1/probe", data=fields, headers=headers).status_code == 200


def test_behind_tls_no_form_comes_from_where_there_is_none(served: Served) -> None:
    """Somebody on the way could have written a page of the same name by http."""
    client = log_in(served, served.key(), TLS)
    fields = {"csrf": session_csrf(served, client, "__Host-noisycount")}
    assert is_forged(client.post("/v1/probe", data=fields, headers={"Origin": HOST}))
    assert client.post("/v1/probe", data=fields, headers={"Origin": TLS}).status_code == 200


def test_people_are_led_to_the_login_and_back(served: Served) -> None:
    """A browser without a session sees the form, then what it asked for; a program sees 401."""
    browser = {"Accept": "text/html,*/*;q=0.8"}
    reply = served.client().post("/logout", headers=browser)
    assert (reply.status_code, reply.headers["location"]) == (303, "/login")
    assert served.client().post("/logout").status_code == 401
    assert served.client().get("/v1/probe", headers=browser).status_code == 401
    lost = served.client().get("/lost", headers=browser)
    assert (lost.status_code, "text/html" in lost.headers["content-type"]) == (404, True)
