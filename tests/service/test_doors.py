"""A query has one meaning: Python, the command, HTTP and the form accept and refuse it for the same reasons."""

import html
import json
import random
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from starlette.datastructures import FormData

from noisycount.cli.main import main, option_spelling
from noisycount.errors import NoisyCountError, QueryError, Spelling
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.query import Query
from noisycount.query.typed import parse_by
from noisycount.release.desk import Desk
from noisycount.service.errors import member_spelling
from noisycount.service.pages.form import AskForm, label_spelling
from tests.helpers.service_callers import ANA, Caller, calling, configured, records, serving

# Each part of a query, as Python has it, with the values that a combination may have.
PARTS: Mapping[str, tuple[Any, ...]] = {
    "wheres": ((), ("age >= 65",), ("age >= 65", "age >= 18")),
    "by": (None, ("town",), ("age:0,18",), ("town", "age:0,18")),
    "keys": (None, {"town": ["Bern", "Genf"]}),
    "margins": ((), ("total",), ("town",)),
    "other": (False, True),
    "groups_per_unit": (None, 1, 2),
    "cumulative": (False, True),
    "noise": (None, DiscreteLaplace, DiscreteGaussian),
    "epsilon": ("0.1", None),
    "rho": (None, "0.01"),
    "delta": (None, "1e-6"),
    "within": (None, "20%"),
    "at_most": (None, "0.5"),
    "guess": (None, 100),
    "of": (None, "largest", "total"),
}
# A combination changes few parts of a query that is accepted, so that each rule is met alone.
ACCEPTED: tuple[dict[str, Any], ...] = (
    {"wheres": ("age >= 65",), "epsilon": "0.1"},
    {"by": ("town",), "keys": {"town": ["Bern", "Genf"]}, "groups_per_unit": 1, "epsilon": "0.1"},
    {"by": ("town",), "delta": "1e-6", "groups_per_unit": 1, "epsilon": "0.1"},
    {"by": ("town",), "keys": {"town": ["Bern", "Genf"]}, "groups_per_unit": 1, "within": "20%", "guess": 100},
    {"by": ("age:0,18",), "within": "20%", "at_most": "0.5", "of": "largest"},
)


def combinations(number: int, seed: str) -> Iterator[dict[str, Any]]:
    """Yield accepted queries, and as many as that with up to three parts changed at random."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    yield from ACCEPTED
    for _ in range(number):
        parts = dict(chance.choice(ACCEPTED))
        for name in chance.sample(sorted(PARTS), chance.randint(1, 3)):
            parts[name] = chance.choice(PARTS[name])
        yield parts


def query_of(parts: dict[str, Any]) -> Query:
    """Return the query of some parts."""
    by = parse_by(parts["by"]) if parts.get("by") else None
    wheres = parts.get("wheres", ())
    return Query(**{**parts, "by": by, "is_list": len(wheres) > 1})


def options_of(parts: dict[str, Any]) -> list[str]:
    """Return the options of `count` for some parts."""
    options = [word for where in parts.get("wheres", ()) for word in ("--where", where)]
    for name, value in parts.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            options.append(option)
        elif name == "keys" and value is not None:
            options += [option, f"town={','.join(value['town'])}"]
        elif name == "noise" and value is not None:
            options += [option, "gaussian" if value is DiscreteGaussian else "laplace"]
        elif name in {"by", "margins"} and value:
            options += [option, ",".join(value)]
        elif name != "wheres" and value:
            options += [option, str(value)]
    return options


def body_of(parts: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a request for some parts."""
    body = {name: value for name, value in parts.items() if value}
    body |= {name: list(body[name]) for name in ("by", "margins") if name in body}
    if wheres := body.pop("wheres", ()):
        body["where"] = wheres[0] if len(wheres) == 1 else list(wheres)
    if noise := body.get("noise"):
        body["noise"] = "gaussian" if noise is DiscreteGaussian else "laplace"
    return body


def refusal(desk: Desk, parts: dict[str, Any]) -> Exception | None:
    """Return the error with which Python refuses some parts; None if it accepts them."""
    try:
        desk.plan(query_of(parts))
    except (NoisyCountError, ValueError) as error:
        return error
    return None


def spelled(error: Exception, spelling: Spelling) -> str:
    """Return the message of an error as a surface spells it."""
    return error.spelled(spelling) if isinstance(error, QueryError) else str(error)


@pytest.fixture
def doors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Caller, Desk]]:
    """Give a service and a desk about the same records, in a folder whose configuration the command reads."""
    configuration = configured(tmp_path)
    text = f'[ledger]\nurl = "{configuration.ledger_url}"\n[datasets.stay]\nsource = "{records(tmp_path)}"\n'
    (tmp_path / "noisycount.toml").write_text(f'{text}unit = "person"\nsize = 1317\nbudget = "2"\n', "utf-8")
    monkeypatch.chdir(tmp_path)
    with serving(configuration) as state:
        yield calling(state), state.session(ANA, "stay").desk(state.analyst(ANA))


def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Return the status of a command, and the line with which it refuses, or its output."""
    capsys.readouterr()  # lines that the service wrote
    monkeypatch.setattr(sys, "argv", ["noisycount", *words])
    with pytest.raises(SystemExit) as end:
        main()
    captured = capsys.readouterr()
    return int(end.value.code or 0), " ".join((captured.err or captured.out).split())


def check_doors(
    doors: tuple[Caller, Desk],
    parts: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> bool:
    """Assert that all doors agree with `Desk.plan` about some parts; return True if they are accepted."""
    caller, desk = doors
    error = refusal(desk, parts)
    status, line = command(monkeypatch, capsys, "count", "stay", *options_of(parts), "--dry-run", "--json")
    reply = caller.post("/v1/datasets/stay/plan", body_of(parts))
    told = json.loads(line)
    if error is None:
        assert (status, reply.status_code) == (0, 200), (parts, line, reply.text)
        names = ("price", "epsilon", "cost", "levels", "at_most", "threshold")
        assert [told.get(name) for name in names] == [reply.json().get(name) for name in names]
        return True
    assert (status, told["error"]) == (2, spelled(error, option_spelling)), parts
    assert (reply.status_code, reply.json()["detail"]) == (422, spelled(error, member_spelling)), parts
    with pytest.raises(type(error)) as refused:
        desk.answer(query_of(parts))
    assert str(refused.value) == str(error)
    return False


@pytest.mark.thorough
def test_every_door_has_the_same_reason(
    doors: tuple[Caller, Desk], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever parts a query has; and nothing is charged for a refusal."""
    agreed = [check_doors(doors, parts, monkeypatch, capsys) for parts in combinations(60, "doors")]
    assert 15 < sum(agreed) < len(agreed) - 20
    assert doors[1].ledger.entries() == []


@pytest.mark.parametrize(
    "parts",
    [
        {**ACCEPTED[1], "within": "20%", "guess": 100, "epsilon": None},
        {**ACCEPTED[1], "delta": "1e-6"},
        {**ACCEPTED[0], "guess": 100},
        {**ACCEPTED[2], "groups_per_unit": None},
        {**ACCEPTED[4], "of": "total"},
    ],
)
def test_a_query_is_accepted_or_refused_at_every_door(
    doors: tuple[Caller, Desk],
    parts: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The first was priced by the command, and refused by Python."""
    is_accepted = check_doors(doors, parts, monkeypatch, capsys)
    assert is_accepted is ("within" in parts and parts.get("guess") == 100)


def test_a_table_within_a_share_of_a_guess_is_answered_for_the_price_of_its_preview(
    doors: tuple[Caller, Desk], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """ε = 0.3 where the size is public, as one person in the place of another moves two counts."""
    parts = ACCEPTED[3]
    _, line = command(monkeypatch, capsys, "count", "stay", *options_of(parts), "--dry-run")
    answer = doors[1].answer(query_of(parts))
    assert f"price {answer.charged.text} would be charged" in line
    assert answer.row_errors == ([20, 20],)


FORMS = [
    ([("group", "town"), ("split", ""), ("keys", "")], "keys-0"),
    ([("group", "age"), ("split", "0,18"), ("keys", ""), ("delta", "1e-6")], "delta"),
    ([("group", "town"), ("split", ""), ("keys", ""), ("delta", "1e-6")], "groups_per_unit"),
    ([("group", "town"), ("split", ""), ("keys", ""), ("delta", "1e-6"), ("groups_per_unit", "1"), ("other", "1")],
     ""),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "field"), FORMS)
def test_the_form_has_the_same_reason_with_its_labels(
    doors: tuple[Caller, Desk], fields: list[tuple[str, str]], field: str
) -> None:
    """It leads to the field that is meant, and names no option."""
    caller, desk = doors
    sent = [("goal", "epsilon"), ("epsilon", "0.1"), ("confidence", "95%"), *fields]
    form = AskForm.from_fields(FormData(sent))
    with pytest.raises(QueryError) as refused:
        desk.plan(form.query(desk.columns))
    error = form.error_of(refused.value)
    assert (error.field, str(error)) == (field, refused.value.spelled(label_spelling))
    page = posted(caller, sent)
    assert str(error) in page
    assert " --" not in str(error)


def posted(caller: Caller, sent: list[tuple[str, str]]) -> str:
    """Return the text of the page that answers a form."""
    body = {name: [value for other, value in sent if other == name] for name, _ in sent}
    reply = caller.request("POST", "/ask/stay", data=body)
    assert reply.status_code == 422
    return html.unescape(re.sub(r"\s+", " ", reply.text))
