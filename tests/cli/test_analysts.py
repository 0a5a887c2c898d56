import re
import stat
from pathlib import Path

import pytest

from noisycount.config.config import load_config
from noisycount.service.keys import Keyring
from tests.cli.test_cli import completed
from tests.helpers.commands import Refused, Run, configure

KEY = re.compile(r"nc_[0-9a-f]{12}_[0-9a-f]{64}")
ADD = ("analysts", "add", "ana", "--data-set", "survey")


@pytest.fixture(autouse=True)
def configured(here: Path) -> Path:
    """A configuration with two data sets, and no analysts."""
    configure(here, '[datasets.payroll]\nsource = "payroll.csv"')
    return here


def test_a_key_is_shown_once_and_kept_as_a_hash(run: Run, here: Path) -> None:
    """No file beside the ledger, and no list, has the secret that `add` tells."""
    told = run(*ADD)
    (key,) = KEY.findall(told.output)
    secret = key.rpartition("_")[2]
    assert told.status == 0
    assert "The key is shown this once." in told.words
    files = [path for path in here.rglob("*") if path.is_file()]
    assert {"access.json", "access.secret"} <= {path.name for path in files}
    found = [path.read_bytes() for path in files]
    assert not [one for one in found if secret.encode() in one or bytes.fromhex(secret) in one]
    assert secret not in run("analysts", "list").output + run("analysts", "list", "--json").output


def test_a_service_that_nobody_can_enter_says_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below its address, which is the first that it tells; with a key there is nothing to say."""
    monkeypatch.setattr("noisycount.service.server.run", lambda _configuration, _place, ready, **_: ready())
    told = [run("serve", "--port", "0").words, run(*ADD).words and run("serve", "--port", "0").words]
    assert ["no key has been issued yet: `noisycount analysts add` issues one, also" in words for words in told] == [
        True,
        False,
    ]


def test_files_of_keys_are_the_owners_alone(run: Run, here: Path) -> None:
    """The keys, their secret and their lock are for nobody else to read; nor is their folder."""
    run(*ADD)
    folder = here / "ledger.db.data"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {"access.json": 0o600, "access.secret": 0o600, "access.lock": 0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_list_tells_what_an_owner_needs(run: Run) -> None:
    """Whose key opens what, since when and until when; the hash is nobody's business."""
    added = run(*ADD, "--json").object
    boss = run("analysts", "add", "boss", "--role", "owner", "--expires", "never", "--json").object
    assert (added["role"], added["datasets"], added["state"]) == ("analyst", ["survey"], "valid")
    assert (boss["role"], boss["datasets"], boss["expires"]) == ("owner", None, None)
    assert added["key"].startswith(f"nc_{added['id']}_")
    del added["key"], boss["key"]
    assert run("analysts", "list", "--json").object == {"keys": [added, boss]}
    assert set(added) == {*("id", "name", "role", "datasets", "made", "expires", "revoked", "state")}
    shown = run("analysts", "list").words
    assert all(word in shown for word in (added["id"], "ana", "analyst", "survey", "valid until"))
    assert all(word in shown for word in (boss["id"], "boss", "owner", "all"))


def test_an_officer_gets_a_key_for_no_data_set(run: Run) -> None:
    """The table says so, and what the key is for."""
    told = run("analysts", "add", "otto", "--role", "officer")
    assert re.search(r"^data sets +none$", told.output, re.MULTILINE)
    assert "anybody who has it can read as otto" in told.words
    (key,) = run("analysts", "list", "--json").object["keys"]
    assert (key["role"], key["datasets"]) == ("officer", [])


def test_who_has_no_key_yet_is_told_how(run: Run) -> None:
    """An empty list is no error, and names the next step."""
    assert run("analysts", "list").output.startswith("no key has been issued yet: `noisycount analysts add")
    assert run("analysts", "list", "--json").object == {"keys": []}


@pytest.mark.parametrize(("by", "left"), [("name", 0), ("id", 1)])
def test_one_key_or_all_of_somebody_are_revoked(run: Run, by: str, left: int) -> None:
    """An id ends one key, a name all; others stay, and a second time does nothing."""
    first, _ = run(*ADD, "--json").object, run(*ADD, "--json").object
    run("analysts", "add", "ben", "--data-set", "payroll")
    told = run("analysts", "revoke", first[by])
    assert told.output.startswith(f"revoked {2 - left} key")
    assert f"servers of this configuration refuse {'it' if left else 'them'} now" in told.words
    keys = run("analysts", "list", "--json").object["keys"]
    assert [key["name"] for key in keys if key["state"] == "valid"] == ["ana"] * left + ["ben"]
    again = run("analysts", "revoke", first[by], "--json")
    assert again.object == {"revoked": []}
    assert "no key of" in run("analysts", "revoke", first[by]).output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("ana", "--data-set", "surve"), "'surve' is not configured: did you mean survey?"),
        (("ana",), "--data-set is missing: name each data set that the key may use; configured: survey, payroll"),
        (("a b", "--data-set", "survey"), "'a b': a name consists of letters, digits, - and _: choose"),
        (("a" * 201, "--data-set", "survey"), "NAME must be 1 to 200 printable characters"),
        (("ana", "--role", "owner", "--data-set", "survey"), "an owner sees every data set: leave"),
        (("otto", "--role", "officer", "--data-set", "survey"), "an officer may query no data set: leave"),
        (("ana", "--role", "boss"), "'boss' is not one of 'owner', 'analyst', 'officer'"),
        (("ana", "--data-set", "survey", "--expires", "0d"), "such as 12h, 90d or 6w, or never"),
        (("ana", "--data-set", "survey", "--expires", "9999w"), "up to ten years"),
        (("ana", "--data-set", "survey", "--expires", "90"), "or never, got '90'"),
    ],
)
def test_what_makes_no_sense_is_refused(refused: Refused, words: tuple[str, ...], told: str) -> None:
    """A refusal is a single line with the typed value and the remedy; no key is made."""
    assert told in refused("analysts", "add", *words)


def test_where_analysts_are_configured_a_key_is_for_one_of_them(refused: Refused, run: Run, here: Path) -> None:
    """Nobody asks past the budgets of `[analysts]`; the remedy guesses who was meant."""
    configure(here, "[analysts.alice]\n[analysts.bob]")
    message = refused("analysts", "add", "alic", "--data-set", "survey")
    assert "'alic' is not among [analysts] of noisycount.toml: add [analysts.alic]" in message
    assert "(did you mean alice?)" in message
    assert run("analysts", "add", "alice", "--data-set", "survey").status == 0


def test_what_is_not_there_cannot_be_revoked(refused: Refused, run: Run) -> None:
    """The refusal names the nearest holder, and never the ids of others."""
    run(*ADD)
    message = refused("analysts", "revoke", "anna")
    assert "'anna' is neither the id of a key nor the name of its holder: did you mean ana?" in message


def test_a_shell_completes_holders_and_data_sets(run: Run, here: Path) -> None:
    """Data sets for a grant, analysts for a name, and holders and ids for what ends a key."""
    added = run(*ADD, "--json").object
    assert completed(["analysts", "add", "--data-set"], "") == [("plain", "survey"), ("plain", "payroll")]
    assert completed(["analysts", "revoke"], "") == [("plain", "ana"), ("plain", added["id"])]
    run("analysts", "revoke", "ana")
    assert completed(["analysts", "revoke"], "") == []
    configure(here, "[analysts.alice]")
    assert completed(["analysts", "add"], "al") == [("plain", "alice")]
    (here / "ledger.db.data/access.json").write_text("broken")
    assert completed(["analysts", "revoke"], "") == []


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"version": 2, "keys": []}', '{"version": 1, "keys": [{"id": 1}]}']
)
def test_damaged_keys_are_refused(run: Run, refused: Refused, here: Path, content: str) -> None:
    """A file that is not as it was written opens nothing and is not written over."""
    run(*ADD)
    (here / "ledger.db.data/access.json").write_text(content)
    for words in (ADD, ("analysts", "list"), ("analysts", "revoke", "ana")):
        assert "is damaged or of a later version: restore it" in refused(*words)


def test_keys_without_their_secret_are_refused(run: Run, refused: Refused, here: Path) -> None:
    """A new secret in its place would make every key wrong without a word."""
    run(*ADD)
    (here / "ledger.db.data/access.secret").unlink()
    assert "is missing or was changed, so that no key of" in refused(*ADD)


def test_a_ledger_on_a_server_has_its_keys_beside_the_configuration(run: Run, here: Path) -> None:
    """They lie where its copies of texts would."""
    configure(here, ledger="postgresql+psycopg://nobody@localhost/nowhere")
    assert run(*ADD).status == 0
    assert (here / "noisycount.data/access.json").is_file()
    assert Keyring.from_config(load_config(here / "noisycount.toml")).issued()[0].name == "ana"
