from pathlib import Path

import pytest

from noisycount.catalog.catalog import DatasetRecord
from noisycount.config.file import load
from noisycount.ledger.ledger import Ledger
from tests.commands import Run
from tests.tasks.check.test_check import column, found

ROWS = "".join(f"{n},{20 + n},{n}.5\n" for n in range(10))


@pytest.fixture
def visits(here: Path) -> Path:
    """A file of texts that is configured, and was never asked."""
    path = here / "visits.csv"
    path.write_text(f"person,age,cost\n{ROWS}")
    text = '[datasets.visits]\nsource = "visits.csv"\nunit = "person"\n'
    (here / "noisycount.toml").write_text(text)
    return path


def written(folder: Path) -> dict[str, DatasetRecord]:
    """What the ledger has written down."""
    with Ledger.open(load(folder / "noisycount.toml").ledger_url, create=False) as ledger:
        return {name: DatasetRecord.read(text) for name, text in ledger.descriptions().items()}


def test_what_an_owner_saw_is_written_down(run: Run, visits: Path) -> None:
    """Once all fits; later cells change no kind, and are told as what does not fit."""
    assert run("check", "visits", "--json").object["fits"]
    (kinds,) = (each.columns for each in written(visits.parent).values())
    assert {name: form.kind.value for name, form in kinds.items()} == {
        "person": "text",
        "age": "integer",
        "cost": "real",
    }
    visits.write_text(f"person,age,cost\n{ROWS}" + "11,old,2\n" * 90)
    told = found(run("check", "visits", "--json"))
    assert (told["fits"], told["changed"]) == (False, False)
    age = column(told, "age")
    assert (age["kind"], age["unreadable"], age["reason"]) == ("integer", 90, "the ledger has it so")
    assert column(told, "person")["reason"] == "it names the person"


def test_what_does_not_fit_is_not_written_down(run: Run, visits: Path) -> None:
    """No ledger is made for it."""
    visits.write_text(f"person,age,cost\n{ROWS}11,old,2\n")
    assert not found(run("check", "visits", "--json"))["fits"]
    assert not (visits.parent / "ledger.db").exists()


def test_a_check_of_a_path_without_a_unit_writes_nothing(run: Run, visits: Path) -> None:
    """Whose rows these are is for the first question to say."""
    (visits.parent / "noisycount.toml").unlink()
    before = sorted(visits.parent.parent.rglob("*"))
    told = run("check", "visits.csv")
    assert told.status == 0
    assert told.words.endswith(
        "Questions are answered once the first one says whose rows these are: --unit COLUMN, or --unit row."
    )
    assert sorted(visits.parent.parent.rglob("*")) == before


def test_a_unit_that_was_said_is_known(run: Run, visits: Path) -> None:
    """Of a file, by its first answer."""
    (visits.parent / "noisycount.toml").unlink()
    words = ("--unit", "person", "--where", "age > 30", "--epsilon", "1")
    assert run("count", "visits.csv", *words).status == 0
    told = run("check", "visits.csv", "--json").object
    assert (told["unit"], told["fits"]) == ("person", True)
    assert "counts distinct values of person" in run("check", "visits.csv").words


def test_other_columns_are_written_down_when_the_owner_says_so(run: Run, visits: Path) -> None:
    """A column that is gone is told, and `--renew` forgets it."""
    run("check", "visits")
    visits.write_text("person,years,cost\n" + ROWS.replace(".5", ""))
    for words in (("check", "visits"), ("check", "visits", "--json")):
        told = run(*words)
        assert told.status == 4
    assert found(told)["changed"]
    assert "let `noisycount check --renew` write down these" in found(told)["problems"][0]
    renewed = run("check", "visits", "--renew", "--json").object
    assert (renewed["changed"], renewed["fits"]) == (False, True)
    assert run("check", "visits", "--json").object["fits"]
    (kinds,) = (each.columns for each in written(visits.parent).values())
    assert [*kinds] == ["person", "years", "cost"]
    words = ("--where", "years > 25", "--epsilon", "1", "--json")
    assert run("count", "visits", *words).object["dataset"] == "visits"


@pytest.mark.parametrize("by_init", [False, True])
def test_what_was_paid_for_stays_paid_for_when_a_file_gets_a_name(run: Run, visits: Path, *, by_init: bool) -> None:
    """What is to be written names the ledger and the account of the file's first answers."""
    (visits.parent / "noisycount.toml").unlink()
    words = ("--where", "age > 25", "--epsilon", "0.5", "--json")
    paid = run("count", "visits.csv", "--unit", "person", *words).object
    visits.write_text(f"person,age,cost\n{ROWS}11,old,2\n")
    if by_init:
        run("init", "visits.csv")  # whose unit was said
        text = (visits.parent / "noisycount.toml").read_text()
        text = text.replace('age = "integer"  ', 'age = { kind = "integer", unreadable = "missing" }#')
    else:
        text = found(run("check", "visits.csv", "--json"))["mend"]
    (visits.parent / "noisycount.toml").write_text(text)
    told = run("count", "visits", *words).object
    assert (told["ledger"], told["remaining"]) == (paid["ledger"], "1")
    assert told["unreadable_as_missing"] == ["age"]
    visits.write_text(f"person,age,cost\n{ROWS}")
    assert run("count", "visits", *words).object["answer"] == paid["answer"]


def test_answers_about_texts_that_were_read_otherwise_are_told(run: Run, here: Path) -> None:
    """A corrected encoding asks the records anew, and the check says that older answers stay."""
    (here / "towns.csv").write_bytes("person,town\n1,Köln\n2,Köln\n".encode("cp1252"))
    text = '[datasets.towns]\nsource = "towns.csv"\nunit = "person"\nencoding = "{}"\n'
    asked = ("count", "towns", "--where", "town = 'Köln'", "--epsilon", "40", "--json")
    toml = here / "noisycount.toml"
    answers = []
    for encoding, others in (("cp437", 0), ("cp1252", 1)):
        toml.write_text(text.format(encoding) + 'budget = "200"\n')
        assert run("check", "towns", "--json").object["answered_otherwise"] == others
        answers.append(run(*asked).object["answer"])
    assert answers == [0, 2]
    told = run("check", "towns").words
    assert "1 answer in the ledger is about other records, or about these as they were" in told
