from pathlib import Path

import pytest

from tests.helpers.commands import Refused, Run

WORDS = ("--where", "age > 25", "--epsilon", "0.1")


@pytest.fixture
def visits(here: Path, run: Run) -> Path:
    """Two files of texts that were counted, each once."""
    text = ""
    for name in ("visits", "towns"):
        rows = "".join(f"{n},{20 + n}\n" for n in range(10))
        (here / f"{name}.csv").write_text(f"{name},age\n{rows}")
        text += f'[datasets.{name}]\nsource = "{name}.csv"\nunit = "{name}"\n'
    (here / "noisycount.toml").write_text(text)
    for name in ("visits", "towns"):
        assert run("count", name, *WORDS).status == 0
    return here / "visits.csv"


@pytest.mark.usefixtures("visits")
def test_copies_are_shown(run: Run, here: Path) -> None:
    """Whose they are, how large and how old, and where they lie."""
    told = run("copies", "--json").object
    assert (told["folder"], told["removed"]) == (str(here / "ledger.db.data"), None)
    assert sorted(copy["dataset"] for copy in told["copies"]) == ["towns", "visits"]
    for copy in told["copies"]:
        file = Path(copy["file"])
        assert (file.parent.name, file.stat().st_size) == ("ledger.db.data", copy["size"])
        assert file.stat().st_mode & 0o077 == 0
    shown = run("copies").words
    assert shown.startswith("2 copies in ledger.db.data, for the owner's eyes alone;")
    assert "│ visits │" in shown


def test_in_an_empty_home_the_next_question_makes_one(run: Run, refused: Refused, here: Path) -> None:
    """The first may be refused, which must leave nothing behind: where it is answered, the ledger is made after it."""
    (here / "visits.csv").write_text("visits,age\n1,20\n2,30\n")
    words = ("count", "visits.csv", "--unit", "visits", "--epsilon", "0.1")
    assert "names 'old'" in refused(*words, "--where", "old > 25")
    for asked, number in (("age > 25", 0), ("age > 25", 0), ("age > 26", 1)):
        assert run(*words, "--where", asked).status == 0
        assert len(run("copies", "--json").object["copies"]) == number


@pytest.mark.usefixtures("visits")
def test_copies_are_removed_and_made_again(run: Run, here: Path) -> None:
    """Of one data set or of all; what was paid for stays free, and answers stay the same."""
    paid = run("count", "visits", *WORDS, "--json").object
    told = run("copies", "visits", "--remove")
    assert told.output.startswith("removed 1 copy, ")
    (left,) = run("copies", "--json").object["copies"]
    assert left["dataset"] == "towns"
    assert run("copies", "visits").output.startswith("no copies; a question about a file of texts makes one")
    again = run("count", "visits", *WORDS, "--json").object
    assert (again["answer"], again["charged"]) == (paid["answer"], "0")
    assert run("count", "visits", "--where", "age > 3", "--epsilon", "1").status == 0
    assert run("copies", "--remove", "--json").object["removed"] == 2
    assert not list((here / "ledger.db.data").glob("*.parquet"))


@pytest.mark.usefixtures("visits")
def test_copies_that_are_nobodys_are_removed_too(run: Run, here: Path) -> None:
    """Their data set is unknown; other files stay."""
    folder = here / "ledger.db.data"
    (folder / f"{'0' * 16}-{'1' * 64}.parquet").write_text("old")
    (folder / "notes.txt").write_text("mine")
    assert "│ unknown  │ 3 B  " in run("copies").output
    assert run("copies", "--remove", "--json").object["removed"] == 3
    assert (folder / "notes.txt").read_text() == "mine"


def test_without_a_ledger_there_are_none(run: Run, refused: Refused, here: Path) -> None:
    """Nothing is made by looking; a data set must be there."""
    before = sorted(here.parent.rglob("*"))
    assert run("copies", "--json").object["copies"] == []
    assert run("copies", "--remove").output.startswith("removed 0 copies")
    assert sorted(here.parent.rglob("*")) == before
    assert "neither a file nor a data set" in refused("copies", "nothing")
