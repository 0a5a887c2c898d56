"""The tick that the doctor finds: from made-up records alone, and written only with the owner's word."""

import io
import sys
from pathlib import Path

import pytest

from noisycount.config.config import load_config
from noisycount.errors import ConfigError
from noisycount.tasks import doctor
from noisycount.tasks.doctor import GRID, SAFETY, TickTimes
from tests.helpers.commands import Refused, Run

SURVEY = '[datasets.survey]\nsource = "not-there.parquet"\nunit = "person"\nsize = 40\n'
SLOW = TickTimes(40, (0.2, 0.3, 0.49), 0.1)


@pytest.fixture
def configured(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data set whose file is not there; fewer questions are asked of made-up records."""
    monkeypatch.setattr(doctor, "QUESTIONS", doctor.QUESTIONS[-3:])
    (here / "noisycount.toml").write_text(SURVEY)
    return here / "noisycount.toml"


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that needs two seconds."""
    monkeypatch.setattr(TickTimes, "measure", lambda *_: SLOW)


def test_no_record_is_looked_at_and_nothing_is_left(run: Run, configured: Path) -> None:
    """The file need not be there; a size may be given; neither a ledger nor a copy is made."""
    told = run("doctor", "survey", "--tick", "--json").object
    assert told["size"] == 40
    assert len(told["counts"]) == 2
    assert told["counts"] == sorted(told["counts"])
    assert told["tick"] >= SAFETY * max(told["table"], *told["counts"]) - 1e-3
    assert run("doctor", "survey", "--tick", "--json", "--size", "41").object["size"] == 41
    assert configured.read_text() == SURVEY
    assert sorted(path.name for path in configured.parent.iterdir()) == ["noisycount.toml", "survey.parquet"]


@pytest.mark.parametrize("slowest", [1e-6, 0.025, 0.0251, 0.0625, 0.1, 0.125, 0.126, 0.49, 0.51, 1.3, 5, 30, 249])
def test_tick_is_the_first_that_is_long_enough(slowest: float) -> None:
    """Whichever question was the slowest."""
    for times in (TickTimes(1, (1e-9, slowest), 1e-9), TickTimes(1, (1e-9,), slowest)):
        assert times.tick == min(each for each in GRID if each >= SAFETY * slowest)


def test_times_beyond_the_grid_are_refused() -> None:
    """No shorter tick is proposed in place of one that is long enough."""
    assert list(GRID) == sorted(set(GRID))
    with pytest.raises(ConfigError, match="for which no tick is long enough"):
        _ = TickTimes(1, (251.0,), 0.1).tick


def test_made_up_records_are_always_the_same(tmp_path: Path) -> None:
    """They depend on the size alone."""
    for name in "ab":
        doctor.write_made_up_persons(tmp_path / name, 9)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert len((tmp_path / "a").read_text().splitlines()) == 1 + 2 * 9


@pytest.mark.usefixtures("slow")
def test_nothing_is_written_without_a_yes(run: Run, configured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The change is shown as a diff first."""
    for answer in ("n\n", "\n", ""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
        told = run("doctor", "survey", "--tick")
        assert told.status != 0
        assert "+slot = 2" in told.output
        assert configured.read_text() == SURVEY
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert run("doctor", "survey", "--tick").status == 0
    assert load_config(configured).service.slot == 2
    again = run("doctor", "survey", "--tick")
    assert (again.status, "slot = 2 holds already" in again.output) == (0, True)


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(
    ("server", "then"),
    [
        ("", "\n[server]\nslot = 2\n"),
        ("[server]  # ours\nrate = 7\n", "[server]  # ours\nslot = 2\nrate = 7\n"),
        ("[server]", "[server]\nslot = 2\n"),
        ("[server]\nrate = 7\nslot=0.1 # guessed\n", "[server]\nrate = 7\nslot = 2 # guessed\n"),
        ("[server]\n[analysts.ana]\nbudget = '1'\n", "[server]\nslot = 2\n[analysts.ana]\nbudget = '1'\n"),
    ],
)
def test_the_rest_of_the_file_stays_as_it_is(run: Run, configured: Path, server: str, then: str) -> None:
    """Only the slot changes, wherever the table stands."""
    configured.write_text(SURVEY + server)
    assert run("doctor", "survey", "--tick", "--yes").status == 0
    assert configured.read_text() == SURVEY + then
    assert load_config(configured).service.slot == 2


@pytest.mark.usefixtures("slow")
def test_data_sets_on_servers_are_named(run: Run, configured: Path) -> None:
    """The tick is theirs too, and they were not timed."""
    assert "Nor is any server" not in run("doctor", "survey", "--tick", "--yes").output
    more = '[datasets.visits]\nsource = "postgresql+psycopg://reader@host/clinic#visits"\n'
    more += '[datasets.lake]\nunit = "id"\n[datasets.lake.tables]\na = { source = "s3://bucket/a/*.parquet" }\n'
    configured.write_text(SURVEY + more)
    assert "Nor is any server or object store measured, as of visits, lake" in run("doctor", "survey", "--tick").words


@pytest.mark.usefixtures("slow")
def test_what_cannot_be_changed_line_by_line_is_left_alone(run: Run, configured: Path) -> None:
    """Another form of the same table."""
    configured.write_text(text := f"server.slot = 0.1\n{SURVEY}")
    told = run("doctor", "survey", "--tick", "--yes")
    assert told.status != 0
    assert "nothing is written, because the new file" in told.errors
    assert configured.read_text() == text


def test_what_cannot_be_timed_is_refused(run: Run, refused: Refused, configured: Path) -> None:
    """A size is never counted, and a server is not guessed at."""
    configured.write_text(SURVEY.replace("size = 40\n", ""))
    assert "--tick needs the number of units, as no size is public: give --size N" in refused(
        "doctor", "survey", "--tick"
    )
    configured.write_text('[datasets.visits]\nsource = "postgresql+psycopg://reader@host/clinic#visits"\nsize = 40\n')
    assert "measures made-up files on this machine, and cannot measure a server" in refused(
        "doctor", "visits", "--tick"
    )
    lake = (
        '[datasets.lake]\nunit = "id"\nsize = 40\n[datasets.lake.tables]\na = { source = "s3://bucket/a/*.parquet" }\n'
    )
    configured.write_text(configured.read_text() + lake)
    assert "cannot measure a server or an object store" in refused("doctor", "lake", "--tick")
    assert "--size is for --tick" in refused("doctor", "visits", "--size", "4")
    assert "--yes is for --tick" in refused("doctor", "visits", "--yes")
    assert "--json writes nothing" in run("doctor", "visits", "--tick", "--json", "--yes").errors
