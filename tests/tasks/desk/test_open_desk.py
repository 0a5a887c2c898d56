"""Tests of `tasks/open_desk.py`."""

import os
import shutil
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import noisycount as nc
from noisycount.errors import BudgetError, ConfigError, LedgerError, PredicateError, SourceError
from noisycount.ledger.budget import budget_of
from noisycount.ledger.ledger import Ledger
from tests.helpers.commands import Refused, Run, configure

POOR = "health = 'poor'"
FRAME = pl.DataFrame({"person": [1, 1, 2, 3], "age": [71, 72, 66, 40]})
OTHERWISE = {"size": 7, "name": "mine", "columns": ["age"], "values": {"age": "0 to 9"}}  # than the owner says


def test_a_file_is_counted_under_the_ledger_of_the_command_line(run: Run, here: Path) -> None:
    """Python and the command line share a budget and an answer."""
    with nc.open_desk("survey.parquet", unit="person", ledger="my.db") as desk:
        first = desk.release(POOR, "0.1")
        assert first.dataset == "survey.parquet"
        assert (desk.remaining, "health" in desk.columns) == (Fraction("1.9"), True)
    (here / "noisycount.toml").write_text('[ledger]\nurl = "sqlite:///my.db"\n')
    told = run("count", "survey.parquet", "--where", POOR, "--epsilon", "0.1", "--json").object
    assert (told["answer"], told["charged"], told["unit"]) == (first.answer, "0", "person")
    with nc.open_desk(Path("survey.parquet"), unit=None) as desk:
        assert desk.release(POOR, "0.1").charged == 0


def test_a_configured_data_set_says_the_rest(here: Path) -> None:
    """Its unit, budget and columns; whoever says otherwise is refused by name."""
    configure(here, 'unit = "person"\nsize = 5912\nbudget = "1"\ncolumns = ["age", "health"]')
    with nc.open_desk("survey", unit="person") as desk:
        assert list(desk.columns) == ["age", "health"]
        assert (desk.dataset.budget, desk.dataset.size) == (budget_of(1), 5912)
        assert desk.to_dict()["size"] == 5912
    with nc.open_desk("survey") as desk:
        assert desk.dataset.budget == budget_of(1)
    for what, value, why in (
        ("budget", 3, "^budget '3': data set 'survey' has '1', as its owner configured it: leave"),
        *((what, value, f"^{what} .* as its owner configured it: leave") for what, value in OTHERWISE.items()),
        ("unit", "row", "^unit 'row': .* 'person', as its owner.* leave unit out$"),
        ("table", "x", "^table 'x': .*; leave table out$"),
        ("analyst", "ana", "^analyst 'ana' is not configured: leave analyst out, as the configuration names no"),
    ):
        with pytest.raises(ConfigError, match=why):
            nc.open_desk("survey", **{what: value})
    with pytest.raises(ConfigError, match="state the privacy unit once"):
        nc.open_desk(FRAME)
    with pytest.raises(ConfigError, match="neither a file nor a data set"):
        nc.open_desk("nowhere", unit="row")


def test_an_analyst_is_wanted_where_the_command_wants_one(run: Run, refused: Refused, here: Path) -> None:
    """Of every source, in the words of the command; their own budget binds, the ledger has them."""
    configure(here, 'unit = "person"\n[analysts.alice]\nbudget = "0.3"\n[analysts.bob]')
    for source in ("survey", "survey.parquet"):
        for said in (None, "alic", ""):
            words = [] if said is None else ["--analyst", said]
            told = refused("count", source, "--where", POOR, "--epsilon", "0.1", *words)
            with pytest.raises(ConfigError) as error:
                nc.open_desk(source, analyst=said)
            assert told == f"error: --{error.value}\n"
    with pytest.raises(ConfigError, match=r"^analyst is missing: name the analyst who asks, one of alice, bob"):
        nc.open_desk(FRAME, unit="person")
    with nc.open_desk("survey", analyst="alice") as desk:
        assert (desk.remaining, desk.analyst.name) == (Fraction(3, 10), "alice")
        first = desk.release(POOR, "0.1")
        with pytest.raises(BudgetError, match=r"budget 0\.3 of analyst 'alice'"):
            desk.release("age > 40", "0.25")
    with nc.open_desk("survey", analyst="bob") as desk:
        again = desk.release(POOR, "0.1")
        assert (again.answer, again.repeated) == (first.answer, True)
    with nc.open_desk(FRAME, unit="person", name="visits", analyst="alice") as desk:
        assert desk.release("age > 40", "0.2").remaining == 0
    told = run("ledger", "show", "--json").object
    assert [each["analyst"] for each in told["analysts"]] == ["alice", "bob"]
    assert [entry["analyst"] for entry in told["entries"]] == ["alice", "alice"]
    report = run("ledger", "report", "--format", "json").object
    assert [each["analyst"] for each in report["analysts"]] == ["alice", "bob"]


def test_nothing_else_is_asked_at_the_budget_of_a_configured_data_set(here: Path) -> None:
    """A frame, or a file, of its name would be asked under another budget, for all columns."""
    configure(here, 'unit = "person"\nbudget = "0.1"\ncolumns = ["age"]\naccount = "old"')
    frame = pl.read_parquet("survey.parquet")
    frame.write_parquet("again.parquet", compression="gzip")
    for source in (frame, "again.parquet"):
        with pytest.raises(ConfigError, match=r"^name 'old' is that of data set 'survey', as its"):
            nc.open_desk(source, unit="person", name="old", budget="50")
    with nc.open_desk("survey", name="old") as desk:
        assert (desk.remaining, list(desk.columns)) == (Fraction(1, 10), ["age"])


def test_a_configured_data_set_is_asked_under_its_own_ledger(here: Path) -> None:
    """Another would have the whole budget again; and the head that its owner wrote down is held."""
    configure(here, 'unit = "person"\nbudget = "0.5"')
    with nc.open_desk("survey", ledger=here / "ledger.db") as desk:
        desk.release(POOR, "0.1")
        head = str(desk.ledger.verify().head)
    for source in ("survey", "survey.parquet"):
        for other in ("other.db", "sqlite:///other.db", "postgresql://ward:secret@db/clinic"):
            with pytest.raises(ConfigError, match=r"^ledger '.*': data set 'survey' has") as error:
                nc.open_desk(source, ledger=other)
            assert "secret" not in str(error.value)
    assert not (here / "other.db").exists()
    shutil.copy("ledger.db", "older.db")
    with nc.open_desk("survey") as desk:
        desk.release(POOR, "0.2")
        newest = str(desk.ledger.verify().head)
    assert newest != head
    configure(here, 'unit = "person"')
    text = (here / "noisycount.toml").read_text("utf-8")
    (here / "noisycount.toml").write_text(text.replace('db"\n', f'db"\nhead = "{newest}"\n'), "utf-8")
    shutil.copy("older.db", "ledger.db")
    for ledger in (None, "ledger.db", f"sqlite:///{here}/ledger.db"):
        with pytest.raises(LedgerError, match="it is an older copy, or another ledger"):
            nc.open_desk("survey", ledger=ledger)


def test_a_path_has_what_is_said_of_it(here: Path) -> None:
    """A name, a budget, a size and the columns that questions may use."""
    words = {"name": "mine", "budget": "1/2", "size": 5912, "columns": ["age"]}
    with nc.open_desk(here / "survey.parquet", unit="person", ledger=here / "l.db", **words) as desk:
        release = desk.release("age > 40", Fraction(1, 4))
        assert (release.dataset, release.remaining) == ("mine", Fraction(1, 4))
        assert list(desk.columns) == ["age"]
    with Ledger.open(f"sqlite:///{here}/l.db") as ledger:
        assert [*ledger.descriptions()] == ["mine"]


def test_a_frame_is_known_by_its_content(here: Path) -> None:
    """Whatever it is called by, and whichever unit is said, it has one budget."""
    with nc.open_desk(FRAME, unit="person", ledger="l.db") as desk:
        release = desk.release("age >= 65", 1)
        assert release.dataset == desk.dataset.name
        assert desk.dataset.name.startswith("frame ")
    with nc.open_desk(FRAME.clone(), unit="person", ledger="l.db") as desk:
        assert desk.release("age >= 65", 1).charged == 0
    with (
        nc.open_desk(FRAME, unit="person", ledger="l.db", name="mine") as desk,
        pytest.raises(ConfigError, match="second name would be a second budget"),
    ):
        desk.release("age > 65", 1)
    with (
        nc.open_desk(FRAME, unit="row", ledger="l.db") as desk,
        pytest.raises(ConfigError, match="counts distinct 'person' ever since"),
    ):
        desk.release("age > 65", 1)
    assert sorted(path.name for path in here.iterdir() if path.suffix == ".db") == ["l.db"]


def test_a_named_frame_keeps_its_unit_and_kinds(here: Path) -> None:
    """Its next content is under the same budget, if its columns are of the same kinds."""
    url = f"sqlite:///{here}/l.db"
    with nc.open_desk(FRAME, unit="person", ledger=url, name="visits") as desk:
        assert desk.release("age >= 65", 1).remaining == 1
    more = pl.concat([FRAME, pl.DataFrame({"person": [4], "age": [90]})])
    with nc.open_desk(more, unit=None, ledger=url, name="visits") as desk:
        assert desk.release("age >= 65", "1/2").remaining == Fraction(1, 2)
    with pytest.raises(ConfigError, match="counts distinct 'person' ever since"):
        nc.open_desk(more, unit="row", ledger=url, name="visits")
    texts = FRAME.cast({"age": pl.String})
    with (
        nc.open_desk(texts, unit=None, ledger=url, name="visits") as desk,
        pytest.raises(SourceError, match="is text now, but integer in the description"),
    ):
        desk.release("age = '71'", "1/2")


TOWNS = pl.DataFrame({"person": [1, 2, 3], "town": ["Köln", "Bonn", "Köln"], "age": [71, 66, 40]})
PUBLIC = {"town": ("Bonn", "Köln", "Ulm"), "age": "0 to 120"}


@pytest.mark.parametrize("is_file", [False, True], ids=["frame", "file"])
def test_public_values_are_groups_and_refuse_others(here: Path, *, is_file: bool) -> None:
    """A table by them needs no keys, and is the same question as with these; others are charged nothing."""
    TOWNS.write_csv(here / "towns.csv")
    source = "towns.csv" if is_file else TOWNS
    with nc.open_desk(source, unit="person", ledger="my.db", values=PUBLIC) as desk:
        table = desk.release_table("town", epsilon="1/2", groups_per_unit=1)
        assert [row.labels for row in table.rows] == [("Bonn",), ("Köln",), ("Ulm",)]
        listed = desk.release_table("town", {"town": ["Bonn", "Köln", "Ulm"]}, epsilon="1/2", groups_per_unit=1)
        assert listed.repeated
        for where, why in (("town = 'Koln'", "did you mean 'Köln'"), ("age > 130", "no record can match")):
            with pytest.raises(PredicateError, match=why):
                desk.release(where, "1/2")
        assert desk.remaining == Fraction(3, 2)
    for wrong, why in (({"tow": ["a"]}, "tow.* is no column"), ({"town": "0 to 9"}, "is of kind text")):
        with pytest.raises(ConfigError, match=why):
            nc.open_desk(source, unit="person", ledger="my.db", values=wrong)


def test_what_is_said_wrongly_is_refused(here: Path) -> None:
    """By name, before anything is charged."""
    with pytest.raises(ConfigError, match="state the privacy unit once"):
        nc.open_desk(FRAME, unit=None, ledger="l.db")
    with pytest.raises(ConfigError, match="a frame has no tables: leave it out"):
        nc.open_desk(FRAME, unit="row", ledger="l.db", table="visits")
    with pytest.raises(ValueError, match="size must be a whole number above 0, got 0"):
        nc.open_desk(FRAME, unit="row", ledger="l.db", size=0)
    with pytest.raises(SourceError, match="unit names 'persn'"):
        nc.open_desk(FRAME, unit="persn", ledger="l.db")
    with pytest.raises(LedgerError, match="ledger must be a file"):
        nc.open_desk(FRAME, unit="row", ledger="mysql://user@host/name")
    assert not os.path.exists(here / "noisycount.toml")  # noqa: PTH110 - nothing is configured


def test_the_ledger_is_that_of_the_user_where_nobody_names_one(here: Path, tmp_path: Path) -> None:
    """As the command line has it."""
    with nc.open_desk("survey.parquet", unit="person") as desk:
        desk.release(POOR, "0.1")
    assert (tmp_path / "home" / ".config" / "noisycount" / "ledger.db").is_file()
    assert here.is_dir()


FRAME_OF_300 = pl.DataFrame({"person": [n // 3 for n in range(300)], "age": [n % 90 for n in range(300)]})


def test_the_same_records_are_one_data_set_whichever_library_holds_them(tmp_path: Path) -> None:
    """Frames of all libraries share a budget; a changed cell is another data set."""
    FRAME_OF_300.write_parquet(tmp_path / "saved.parquet")
    same = (
        FRAME_OF_300,
        FRAME_OF_300.to_arrow(),
        FRAME_OF_300.to_pandas(),
        FRAME_OF_300.to_pandas().set_index("person"),
    )
    charged, answers = [], list[int]()
    other = FRAME_OF_300.with_columns(age=pl.Series([1, *FRAME_OF_300["age"][1:]]))
    for frame in (*same, pl.read_parquet(tmp_path / "saved.parquet"), other):
        with nc.open_desk(frame, unit="person", ledger=tmp_path / "ledger.db") as desk:
            release = desk.release("age >= 65", "0.5")
        charged.append(release.charged)
        answers.append(release.answer)
    assert charged == [0.5, 0, 0, 0, 0, 0.5]
    assert len(set(answers[:-1])) == 1
