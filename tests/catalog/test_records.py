import os
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pytest

from noisycount.catalog.catalog import DatasetRecord
from noisycount.catalog.folder import Copies
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.formats import ColumnFormat
from noisycount.engines.interface import Source
from noisycount.errors import ConfigError, LedgerError, SourceError
from noisycount.ledger.ledger import Ledger
from noisycount.model.tables.levels import Level
from noisycount.query.grouping import CellQuestion, EachValue, KeyQuestion
from noisycount.query.language import parse
from noisycount.query.predicate import Column
from noisycount.query.schema import Kind
from tests.catalog.conftest import EXACTLY, SURVEY, Asked, Opened
from tests.helpers.random_tables import grid

OLD = "age >= 65"


def test_kinds_are_written_down_once(survey: Path, asked: Asked, ledger: Ledger) -> None:
    """The kinds that the first desk stored stay, whatever kinds later records would suggest."""
    assert asked(survey, unit="person").columns == {"age": Kind.INTEGER, "town": Kind.TEXT}
    written = DatasetRecord.read(ledger.descriptions()["survey"])
    assert written.unit == "person"
    assert written.columns["age"] == ColumnFormat(Kind.INTEGER)
    survey.write_text(SURVEY.replace("70", "old").replace("31", "young").replace("32", "young"))
    desk = asked(survey, unit="person")
    assert desk.columns == {"age": Kind.INTEGER, "town": Kind.TEXT}
    with pytest.raises(SourceError, match="answers nothing, as cells of 'age' do not fit"):
        desk.release("town = 'Ulm'", EXACTLY)
    assert ledger.spent("survey") == 0


def test_what_does_not_fit_is_accepted_in_writing(survey: Path, asked: Asked, ledger: Ledger) -> None:
    """Then, and only then, questions are answered, and say so where they read that column."""
    survey.write_text(SURVEY + "4,many,Ulm\n" + "".join(f"{n},20,Bonn\n" for n in range(5, 30)))
    with pytest.raises(SourceError, match="answers nothing"):
        asked(survey, unit="person").release(OLD, EXACTLY)
    accepted = {"age": ColumnFormat(Kind.INTEGER, accepts_unreadable=True)}
    desk = asked(survey, unit="person", kinds=accepted)
    release, other = desk.release(OLD, EXACTLY), desk.release("town = 'Ulm'", EXACTLY)
    assert (release.answer, release.unreadable_as_missing) == (1, ("age",))
    assert (other.answer, other.unreadable_as_missing) == (3, ())
    assert desk.release("age is null", EXACTLY).answer == 2
    with pytest.raises(SourceError, match="answers nothing"):
        asked(survey, kinds={"age": ColumnFormat(Kind.INTEGER)}).release("age > 1", EXACTLY)
    assert ledger.spent("survey") == 3 * 40


def test_the_same_content_is_the_same_data(survey: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """A touched, moved or copied file is answered free of charge, and is not even opened."""
    first = asked(survey, name=str(survey), is_path=True, unit="person").release(OLD, "1")
    os.utime(survey, (1, 1))
    moved = survey.with_name("renamed.csv")
    survey.rename(moved)
    copied = Path(shutil.copy(moved, survey.with_name("copied.csv")))
    monkeypatch.delattr(DuckDBSource, "open_unprepared")
    monkeypatch.delattr(DuckDBSource, "of_copy")
    for place in (moved, copied):
        again = asked(place, name=str(place), is_path=True).release(OLD, "1")
        assert (again.answer, again.charged, again.dataset) == (first.answer, 0, survey.name)


def test_changed_records_are_charged_again(survey: Path, asked: Asked) -> None:
    """Under the same name and budget, read anew."""
    first = asked(survey, unit="person").release(OLD, EXACTLY)
    survey.write_text(SURVEY + "4,90,Ulm\n")
    second = asked(survey).release(OLD, EXACTLY)
    assert (first.answer, second.answer, second.charged) == (1, 2, 40)


def test_a_second_name_is_no_second_budget(survey: Path, opened: Opened, asked: Asked) -> None:
    """Equal records under another name are refused, whatever their settings."""
    asked(survey, unit="person")
    other = Path(shutil.copy(survey, survey.with_name("other.csv")))
    with pytest.raises(ConfigError, match='account = "survey"'):
        opened(other, name="mine", unit="person")
    asked(other, unit="person")
    other.write_text(SURVEY + "4,90,Ulm\n")
    asked(other, name="mine", unit="person")
    shutil.copy(survey, other)
    asked(survey)
    with pytest.raises(ConfigError, match="second name would be a second budget"):
        opened(other, name="mine")


def test_the_unit_is_said_once(survey: Path, opened: Opened, asked: Asked, ledger: Ledger) -> None:
    """It must be said, is kept, and no other is taken: rows and persons share no budget."""
    with pytest.raises(ConfigError, match="state the privacy unit once"):
        opened(survey)
    assert asked(survey, unit="person").source.unit == "person"
    assert asked(survey).source.unit == "person"
    for other in ("row", "town"):
        with pytest.raises(ConfigError, match="counts distinct 'person' ever since"):
            opened(survey, unit=other)
    survey.write_text(SURVEY.replace("70", "71"))
    with pytest.raises(ConfigError, match="counts distinct 'person' ever since"):
        opened(survey, unit="row")
    text = ledger.descriptions()["survey"]
    with pytest.raises(LedgerError, match="another unit"):
        ledger.describe("survey", text.replace('"unit": "person"', '"unit": null'), text)


def test_rows_that_were_counted_before_stay_the_unit(
    survey: Path, opened: Opened, asked: Asked, ledger: Ledger
) -> None:
    """A ledger in which nothing is written down knows the unit by its answers."""
    with DuckDBSource.open(survey) as source:
        asked(survey, name="other", unit="row")
        desk = asked(survey, name="other")
        type(desk)(source, ledger, type(desk.dataset)("survey", desk.dataset.budget)).release("age > 1", "1")
    survey.write_text(SURVEY.replace("70", "71"))
    with pytest.raises(ConfigError, match="counts rows ever since"):
        opened(survey, unit="person")
    assert opened(survey).unit is None


def test_a_column_named_row_is_no_unit(tmp_path: Path, opened: Opened) -> None:
    """`row` means every row; a column of that name could be meant."""
    path = tmp_path / "rows.csv"
    path.write_text("row,age\n1,2\n")
    with pytest.raises(ConfigError, match=r"a column 'row', .* rename it"):
        opened(path, unit="row")


def test_texts_are_copied_once(survey: Path, asked: Asked, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy is its owner's alone and gives the same counts; one that is damaged is made anew."""
    assert asked(survey, unit="person").release(OLD, EXACTLY).answer == 1
    (copy,) = Copies(folder).all(["survey"])
    assert (copy.dataset, copy.size) == ("survey", copy.path.stat().st_size)
    assert (folder.stat().st_mode & 0o777, copy.path.stat().st_mode & 0o777) == (0o700, 0o600)
    with monkeypatch.context() as patch:
        patch.delattr(DuckDBSource, "open_unprepared")
        assert asked(survey).release("age > 31", EXACTLY).answer == 2
        assert asked(survey).release("town = 'Köln'", EXACTLY).answer == 1
    copy.path.write_bytes(b"PAR1" + b"\0" * 100)
    assert asked(survey).release("age >= 31", EXACTLY).answer == 2
    assert Copies(folder).remove("survey") == 1
    assert asked(survey).release("age < 50", EXACTLY).answer == 1
    assert len(list(Copies(folder).all())) == 1


def test_a_copy_that_is_removed_meanwhile_is_made_again(survey: Path, asked: Asked, folder: Path) -> None:
    """No question is charged that could then not be counted."""
    asked(survey, unit="person").release(OLD, EXACTLY)
    desk = asked(survey)
    assert desk.release("age > 31", EXACTLY).answer == 2
    assert Copies(folder).remove("survey") == 1
    assert desk.release("age > 30", EXACTLY).answer == 2
    assert len(list(Copies(folder).all())) == 1


def test_processes_that_copy_at_once_leave_each_other_alone(
    survey: Path, opened: Opened, asked: Asked, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first copy stays, as it may be counted now, and so does a draft that is being written; an old one goes."""
    opened(survey, unit="person")
    (copy,) = Copies(folder).all(["survey"])
    made = copy.path.stat().st_ino
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: 0)
        draft = Copies(folder).draft("survey")
    draft.write_bytes(b"half")
    opened(survey, unit="person")  # as another process that found no description either
    assert (copy.path.stat().st_ino, draft.exists()) == (made, True)
    os.utime(draft, (0, 0))
    survey.write_text(SURVEY.replace("70", "71"))
    asked(survey, unit="person").release(OLD, "1")
    assert (copy.path.exists(), draft.exists()) == (False, False)
    draft.write_bytes(b"half")
    assert Copies(folder).remove("survey") == 2


def test_records_are_known_by_all_that_they_ever_were(survey: Path, opened: Opened, asked: Asked) -> None:
    """An older copy has the budget of what became of it, also after kinds were renewed."""
    asked(survey, unit="person")
    old = Path(shutil.copy(survey, survey.with_name("old.csv")))
    for number, renews in enumerate((False, True)):
        survey.write_text(f"{SURVEY}{number + 4},90,Ulm\n")
        asked(survey, renews=renews)
    assert opened(old, name=str(old), is_path=True).name == "survey"
    with pytest.raises(ConfigError, match="second name would be a second budget"):
        opened(old, name="old", unit="person")
    shutil.copy(old, survey)
    asked(survey)
    assert opened(old, name=str(old), is_path=True).name == "survey"


def test_older_copies_go(survey: Path, asked: Asked, folder: Path) -> None:
    """Of each data set the copy of its newest content is kept, and no other."""
    for ages in ("70", "71", "72"):
        survey.write_text(SURVEY.replace("70", ages))
        asked(survey, unit="person").release(OLD, "1")
    assert len(list(Copies(folder).all())) == 1
    assert not [path for path in folder.iterdir() if path.suffix not in {".parquet", ".json"}]


def test_without_a_place_for_copies_texts_are_read_again(survey: Path, asked: Asked, folder: Path) -> None:
    """A file in place of the folder of copies costs time, but no answer."""
    folder.write_text("in the way")
    assert asked(survey, unit="person").release(OLD, EXACTLY).answer == 1
    assert asked(survey).release("age > 31", EXACTLY).answer == 2


def test_records_that_change_while_they_are_read_are_refused(
    survey: Path, opened: Opened, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No copy of them is kept under the hash of what was there before."""
    read = DuckDBSource.open_unprepared

    def found(*words: object, **names: object) -> DuckDBSource:
        source = read(*words, **names)  # type: ignore[arg-type]  # as it is called
        survey.write_text(SURVEY.replace("70", "71"))
        return source

    monkeypatch.setattr(DuckDBSource, "open_unprepared", found)
    with pytest.raises(SourceError, match="changed while it was open"):
        opened(survey, unit="person")
    assert list(Copies(folder).all(["survey"])) == []


def test_a_typed_file_keeps_its_kinds(tmp_path: Path, asked: Asked, folder: Path) -> None:
    """A column of another type, or none, keeps the whole data set from answering."""
    path = tmp_path / "typed.parquet"
    duckdb.sql("SELECT 1 AS person, 70 AS age, 'Ulm' AS town").write_parquet(str(path))
    assert asked(path, unit="person").release(OLD, EXACTLY).answer == 1
    assert list(Copies(folder).all()) == []
    for changed, found in (("'70' AS age, 'Ulm' AS town", "text"), ("'Ulm' AS town", "missing")):
        duckdb.sql(f"SELECT 1 AS person, {changed}").write_parquet(str(path))
        with pytest.raises(SourceError, match=f"is {found} now, but integer in .*: restore the column, or"):
            asked(path).release("town = 'Ulm'", EXACTLY)
    duckdb.sql("SELECT 1 AS person, '70' AS age, 'Ulm' AS town").write_parquet(str(path))
    assert asked(path, renews=True).columns == {"age": Kind.TEXT, "town": Kind.TEXT}
    assert asked(path).release("age = '70'", EXACTLY).answer == 1


def test_a_file_that_joins_a_folder_changes_its_records(tmp_path: Path, asked: Asked) -> None:
    """Nothing is counted under the version of the files that were there before."""
    data = tmp_path / "data"
    data.mkdir()
    records = duckdb.sql("SELECT 1 AS person, 70 AS age")
    records.write_parquet(str(data / "a.parquet"))
    asked(data, unit="person").release(OLD, EXACTLY)
    desk = asked(data)
    duckdb.sql("SELECT 2 AS person, 71 AS age").write_parquet(str(data / "b.parquet"))
    with pytest.raises(SourceError, match="changed while it was open"):
        desk.release("age > 70", EXACTLY)
    assert asked(data).release("age > 70", EXACTLY).answer == 1


def test_new_columns_wait_for_their_owner(survey: Path, asked: Asked) -> None:
    """A column that was not there is nothing that a question can use, until it is written down."""
    asked(survey, unit="person")
    survey.write_text(SURVEY.replace("\n", ",1\n").replace("town,1", "town,children"))
    assert list(asked(survey).columns) == ["age", "town"]
    assert list(asked(survey, renews=True).columns) == ["age", "town", "children"]
    assert list(asked(survey).columns) == ["age", "town", "children"]


def test_an_older_ledger_stays_free(
    tmp_path: Path, asked: Asked, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that was bought when files were known by size and time is not charged again."""
    path = tmp_path / "typed.parquet"
    duckdb.sql("SELECT 1 AS person, 70 AS age").write_parquet(str(path))
    desk = asked(path, unit="person")
    monkeypatch.setattr(DuckDBSource, "has_exact_version", True)  # older questions hold no edition
    with DuckDBSource.open(path, unit="person") as source:
        first = type(desk)(source, ledger, desk.dataset).release(OLD, "1")
    again = asked(path).release(OLD, "1")
    assert (again.answer, again.charged) == (first.answer, 0)


def test_a_form_of_a_later_version_is_told(ledger: Ledger, opened: Opened, survey: Path) -> None:
    """A description with an unknown member is refused."""
    ledger.describe("survey", '{"unit": "person", "columns": {}, "scent": "rose"}')
    with pytest.raises(LedgerError, match="a later version of noisycount described"):
        opened(survey)


TOWN = EachValue(Column("town", Kind.TEXT))
COUNTS: dict[str, Callable[[Source], object]] = {
    "count": lambda source: source.count([parse(OLD, source.schema)]),
    "count_cells": lambda source: source.count_cells(
        CellQuestion(grid([TOWN], [["Ulm"]]), None, (Level("cells", np.array([0], np.int32), 1),))
    ),
    "count_keys": lambda source: list(source.count_keys(KeyQuestion([TOWN], None))),
}


@pytest.mark.parametrize("method", COUNTS)
def test_records_that_change_during_a_count_give_no_count(
    survey: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """The copy of their texts does not change with them; so the file is looked at again after each kind of count."""
    asked(survey, unit="person").release(OLD, EXACTLY)
    source, counted = asked(survey).source, getattr(DuckDBSource, method)

    def counting(*words: object) -> object:
        result = counted(*words)
        result = list(result) if method == "count_keys" else result
        survey.write_text(SURVEY.replace("70", "71"))
        return result

    monkeypatch.setattr(DuckDBSource, method, counting)
    with pytest.raises(SourceError, match="changed while it was open: open it again"):
        COUNTS[method](source)


def test_another_table_under_the_same_name_is_another_content(tmp_path: Path, asked: Asked) -> None:
    """An answer about one table of a file is no answer about the other."""
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE seen AS SELECT 70 AS age FROM range(3)")
        database.execute("CREATE TABLE staff AS SELECT 70 AS age FROM range(5)")
    answers = [asked(path, unit="row", table=table).release(OLD, EXACTLY) for table in ("seen", "staff", "seen")]
    assert [(each.answer, bool(each.charged)) for each in answers] == [(3, True), (5, True), (3, False)]


def test_a_unit_may_change_its_kind(tmp_path: Path, asked: Asked) -> None:
    """Persons are counted, whatever their numbers or names are."""
    path = tmp_path / "visits.parquet"
    for persons, expected in ((("1", "2"), 2), (("'a'", "'b'", "'c'"), 3)):
        rows = ", ".join(f"({person}, 70)" for person in persons)
        duckdb.sql(f"SELECT * FROM (VALUES {rows}) AS t(person, age)").write_parquet(str(path))  # noqa: S608 - ours
        assert asked(path, unit="person").release(OLD, EXACTLY).answer == expected
