"""Outputs reveal content only through noise, and no path, in Python, commands and the service.

Each door is walked through twice, over records of which the second have one more, which matches no
question, with the noise off: so that every text must be the same.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import noisycount as nc
from noisycount.catalog.catalog import DatasetRecord
from noisycount.config.config import Config, DatasetConfig
from noisycount.config.places import sqlite_url
from noisycount.ledger.budget import budget_of
from noisycount.ledger.entries import Request
from noisycount.ledger.ledger import Ledger
from noisycount.release.desk import Desk
from noisycount.tasks.report.forms import FORMS
from tests.helpers.commands import Run
from tests.helpers.service_callers import ANA, OWNER, calling, serving

RECORDS = pl.DataFrame({"person": range(400), "age": [n % 90 for n in range(400)], "town": "Bern"})
ONE_MORE = pl.concat([RECORDS, pl.DataFrame({"person": [400], "age": [1], "town": ["Zug"]})])
OLD, OLDER = "age >= 65", "age >= 75"
TOWNS = {"town": ["Bern", "Genf"]}
SHORTEST = 6  # digits of a hash that would tell something

_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?")

Door = Callable[[pl.DataFrame, Path], Iterator[str]]


@pytest.fixture(autouse=True)
def _without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers are the true counts, which the two contents have in common."""
    monkeypatch.setattr(nc.DiscreteLaplace, "release", lambda _, count: count)
    monkeypatch.setattr(nc.DiscreteLaplace, "samples", lambda _, size: np.zeros(size, int))


def of_python(source: object, ledger: Path, name: str | None = None) -> Iterator[str]:
    """Yield the outputs of answers and refusals in Python: text, HTML, data, a chart."""
    with nc.open_desk(source, unit="person", ledger=ledger, name=name, budget="1") as desk:
        one = desk.release(OLD, "0.1", key="one")
        table = desk.release_table("town", TOWNS, epsilon="0.1", groups_per_unit=1, key="two")
        many = desk.release_many([OLD, OLDER], "0.1", key="three")
        refined = nc.posterior(one, nc.Binomial(5912, 0.1))
        for result in (desk, one, table, many, refined):
            yield f"{result!r} {result} {result._repr_html_()} {json.dumps(result.to_dict())}"
        for result in (one, table, many):
            yield result.dataset
        yield nc.chart(table).to_json()
        yield refused(lambda: desk.release(OLD, "7"))
        yield refused(lambda: desk.release("nothing = 1", "0.1"))
        yield refused(lambda: desk.release(OLD, "0.1", key="two"))


def refused(call: Callable[[], object]) -> str:
    """The words of a refusal."""
    with pytest.raises(nc.NoisyCountError) as refusal:
        call()
    return str(refusal.value)


def unnamed_frame(frame: pl.DataFrame, folder: Path) -> Iterator[str]:
    """A table in memory that nobody names."""
    yield from of_python(frame, folder / "ledger.db")


def named_frame(frame: pl.DataFrame, folder: Path) -> Iterator[str]:
    """Yield the outputs for a frame with a name."""
    yield from of_python(frame, folder / "ledger.db", "survey")


def file_by_path(frame: pl.DataFrame, folder: Path) -> Iterator[str]:
    """A file that nobody names, and one that changes while it is open."""
    frame.write_csv(folder / "records.csv")
    yield from of_python(folder / "records.csv", folder / "ledger.db")
    with nc.open_desk(folder / "records.csv", unit=None, ledger=folder / "ledger.db") as desk:
        (folder / "records.csv").write_text("person,age,town\n1,2,Bern\n")
        yield refused(lambda: desk.release(OLDER, "0.1"))


def service(frame: pl.DataFrame, folder: Path) -> Iterator[str]:
    """Yield all replies to an analyst and to an owner, with their headers, and all pages."""
    place = folder / "records.csv"
    frame.write_csv(place)
    dataset = DatasetConfig("stay", place, unit="person", account=str(place))
    configuration = Config(None, sqlite_url(folder / "ledger.db"), {"stay": dataset})
    other = Request(str(folder / "another.csv"), json.dumps({"where": OLD, "unit": None}), 1)
    with serving(configuration) as state:
        state.ledger.reserve("of a path", other, budget_of(10))
        for user in (ANA, OWNER):
            caller, begin = calling(state, user), "/v1/datasets"
            body: dict[str, Any] = {"where": OLD, "epsilon": "0.1"}
            table = {"by": "town", "keys": TOWNS, "groups_per_unit": 1, "epsilon": "0.1"}
            replies = [
                *(caller.ask(each, f"{n}") for n, each in enumerate((body, table))),
                caller.ask({**body, "epsilon": "7"}, "2"),
                caller.ask({**body, "where": "nothing = 1"}, "3"),
                *(caller.get(f"{begin}{end}") for end in ("", "/stay")),
                *(caller.post(f"{begin}/stay/{end}", body) for end in ("plan", "rehearsal")),
                *(caller.get(f"/v1/releases/{user.name}:{n}") for n in range(2)),
                *(caller.get(f"/{page}") for page in ("", "ask", "ask/stay", "ledger", "explore")),
                *(caller.get(f"/ledger/export?form={form}") for form in ("csv", "json")),
                *(caller.get(f"/releases/{user.name}:{n}") for n in range(2)),
            ]
            if user.reads_all:
                replies += [caller.get("/report"), caller.get("/ledger?check=1")]
                replies += [caller.get(f"/report/file?form={form}") for form in FORMS]
                replies += [caller.get("/ledger?dataset=another.csv")]
                assert "of a path" in caller.get("/ledger/export?dataset=another.csv").text
            for reply in replies:
                heads = {name: of for name, of in reply.headers.items() if name != "x-request-id"}
                yield f"{reply.url.path} {reply.status_code} {heads} {reply.text}"


@pytest.mark.few(1)
@pytest.mark.parametrize("door", [unnamed_frame, named_frame, file_by_path, service])
def test_what_is_told_is_that_of_other_contents(tmp_path: Path, door: Door) -> None:
    """And holds no piece of a hash of the content, and no path."""
    told = []
    for frame, name in ((RECORDS, "one"), (ONE_MORE, "other")):
        folder = tmp_path / name
        folder.mkdir()
        told.append(silent(door(frame, folder), folder / "ledger.db"))
    assert told[0] == told[1]


@pytest.mark.thorough
@pytest.mark.always
def test_what_commands_tell_is_that_of_other_contents(run: Run, here: Path) -> None:
    """Answers of a file by its path, in words and as JSON, their files, plans and reports."""
    told = []
    words = ("records.csv", "--unit", "person")
    table = ("--by", "town", "--keys", "town=Bern,Genf", "--groups-per-unit", "1")
    commands: list[tuple[str, ...]] = [
        ("count", *words, "--where", OLD, "--epsilon", "0.1"),
        ("count", *words, *table, "--epsilon", "0.1"),
        ("count", *words, "--where", OLDER, "--epsilon", "0.1", "--dry-run"),
        ("count", *words, "--where", OLDER, "--epsilon", "7"),
        ("plan", "--epsilon", "0.1", "--dataset", "records.csv"),
        ("plan", "--cells", "town=16", "--epsilon", "0.1", "--dataset", "records.csv"),
        ("risk", "--ledger", "records.csv", "--size", "5912", "--rate", "5%"),
    ]
    commands += [(*command, "--json") for command in commands]
    commands += [
        ("count", *words, *table, "--epsilon", "0.1", "--output", f"table.{ending}") for ending in ("csv", "json")
    ]
    commands += [("ledger", "report", "--format", form) for form in FORMS]
    ledger = here.parent / "home" / ".config" / "noisycount" / "ledger.db"
    for frame in (RECORDS, ONE_MORE):
        frame.write_csv(here / "records.csv")
        texts = [f"{run(*command)}" for command in commands]
        texts += [path.read_text() for path in sorted(here.glob("table.*"))]
        for path in here.glob("table.*"):
            path.unlink()
        assert sum("status=0" in text for text in texts) == len(commands) - 2
        told.append(silent(texts, ledger))
        ledger.unlink()
    assert told[0] == told[1]


def silent(texts: Iterable[str], place: Path) -> list[str]:
    """Texts that hold no path and no piece of what a ledger knows of contents.

    What is drawn at random for a ledger, and the time, is masked.
    """
    found = list(texts)
    with Ledger.open(sqlite_url(place)) as ledger:
        rows, described = ledger.rows(), ledger.descriptions()
    drawn = {row[name] for row in rows for name in ("key", "hash") if len(row[name] or "") >= 32}
    known = [DatasetRecord.read(text) for text in described.values()]
    hashes = [each.removeprefix("sha256:") for it in known for each in (it.content, it.version)]
    assert hashes
    masked = [_TIME.sub("then", reduce(lambda text, key: text.replace(key, "…"), drawn, text)) for text in found]
    for text in masked:
        assert not re.search(r"(?<![\w.<])(/(dev|home|root|tmp)|~)/", text)
        assert str(place.parent) not in text
        for digits in hashes:
            for start in range(len(digits) - SHORTEST + 1):
                assert digits[start : start + SHORTEST] not in text
    return masked


def test_a_frame_of_an_older_ledger_keeps_its_budget_and_tells_no_hash(tmp_path: Path) -> None:
    """0.2 called it by its content; what was spent and answered under that name stays."""
    place = tmp_path / "ledger.db"
    with nc.open_desk(RECORDS, unit="person", ledger=tmp_path / "other.db") as desk:
        desk.release(OLD, "0.5")
        version = desk.source.version
    with Ledger.open(sqlite_url(tmp_path / "other.db")) as ledger:
        (text,), (entry,) = ledger.descriptions().values(), ledger.entries()
    former = f"frame {version[:16]}"
    with Ledger.open(sqlite_url(place)) as ledger:
        ledger.describe(former, text)
        request = replace(entry.request, dataset=former)
        ledger.store(ledger.reserve("old", request, budget_of(2))[0], 867)
    with nc.open_desk(RECORDS, unit="person", ledger=place) as desk:
        again, more = desk.release(OLD, "0.5"), desk.release(OLDER, "0.5")
        assert (again.answer, again.charged, more.remaining) == (867, 0, 1)
        assert again.dataset == more.dataset == "frame"
        assert version[:SHORTEST] not in f"{desk!r} {desk.to_dict()} {refused(lambda: desk.release(OLD, 2))}"
    with Ledger.open(sqlite_url(place)) as ledger:
        assert {each.request.dataset for each in ledger.entries()} == {former}


@pytest.mark.thorough
def test_frames_without_a_name_are_numbered(tmp_path: Path) -> None:
    """Each content has one number and one budget, also of desks that are open at once."""

    def opened(frame: pl.DataFrame, *columns: str) -> Desk:
        return nc.open_desk(frame, unit="person", ledger=tmp_path / "ledger.db", columns=columns or None)

    desks = [opened(RECORDS), opened(ONE_MORE), opened(RECORDS, "age"), opened(ONE_MORE)]
    told = [desk.release(OLD, "0.5") for desk in desks]
    assert [each.dataset for each in told] == ["frame 1", "frame 2", "frame 1", "frame 2"]
    assert [each.charged for each in told] == [0.5, 0.5, 0, 0]
    assert opened(RECORDS[1:]).release(OLD, "0.5").dataset == "frame 3"
    named = nc.open_desk(RECORDS[2:], unit="person", ledger=tmp_path / "ledger.db", name="frame 4")
    assert named.release(OLD, "0.5").dataset == "frame 4"
    assert opened(RECORDS[3:]).release(OLD, "0.5").dataset == "frame 5"
