"""The reply to a question depends on the owner's acts and on the schema, never on a single cell."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.catalog.catalog import Catalog, DatasetRecord, DatasetSettings
from noisycount.catalog.contents import Contents
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.engines.places import files_of
from noisycount.errors import NoisyCountError
from noisycount.ledger.budget import budget_of
from noisycount.ledger.ledger import Ledger
from noisycount.query.query import Query
from noisycount.query.schema import Kind
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from noisycount.release.records import Records
from tests.helpers.cases import examples

NAME = "survey"
KINDS = {
    "person": ColumnFormat(Kind.TEXT),
    "age": ColumnFormat(Kind.INTEGER),
    "cost": ColumnFormat(Kind.REAL, decimal=",", accepts_unreadable=True),
    "smoker": ColumnFormat(Kind.BOOLEAN, true=("ja",), false=("nein",)),
    "joined": ColumnFormat(Kind.DATE),
    "town": ColumnFormat(Kind.TEXT),
}
FORM = FileFormat("utf-8", ";", 0)
CELLS = ["", "7", "70", "1,5", "ja", "nein", "2024-02-29", "2023-02-29", "Ulm", "k.A.", "0x10", "∞"]
QUESTIONS = [
    *("age >= 65", "age = 'old'", "cost > 1", "cost = 'x'", "smoker", "not smoker"),
    *("joined < '2025-01-01'", "joined = 3", "town like 'U%'", "town > 5", "nobody = 1"),
    *("age = cost", "age = town", "person = '1'", "age is null", "true"),
    *("town >= '100'", "number(town) >= 5", "date(town) is null", "number(joined) = 1"),
]
rows = st.lists(st.tuples(*[st.sampled_from(CELLS) for _ in range(5)]), max_size=6)
one_unreadable = st.sampled_from([False, True])


def written(place: Path) -> DatasetRecord:
    """Return the stored description of a file, as its owner confirmed it."""
    return DatasetRecord("person", KINDS, Contents().read_files(files_of(place)).digest, form=FORM)


def parsed(records: Records, where: str) -> str:
    """Return the meaning of a question, or the text of its refusal."""
    try:
        query = Query(wheres=[where], epsilon=1)
        return str(records.plan(query, is_replacement=False).meaning)
    except NoisyCountError as error:
        return f"refused: {error}"


def told(folder: Path) -> list[str]:
    """Return the analyst's view of each reply, without the answer itself."""
    place = folder / "records.csv"
    with Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        ledger.describe(NAME, written(place).text)
        stated = DatasetSettings(NAME, form=FORM)
        with Records.open(place, stated, Catalog.from_ledger(ledger, folder / "data")) as records:
            desk = records.desk(ledger, Dataset(NAME, budget_of(1000)))
            return [reply(desk, where) for where in QUESTIONS]


def reply(desk: Desk, where: str) -> str:
    """Return the public parts of a release, or the text of the refusal."""
    try:
        release = desk.release(where, "1/2")
    except NoisyCountError as error:
        return f"refused: {error}"
    return f"{release.where} {release.charged} {release.unreadable_as_missing}"


def write(place: Path, cells: list[tuple[str, ...]]) -> None:
    """A file of these cells, each row another person."""
    lines = [";".join(KINDS), *(f"{n};{';'.join(row)}" for n, row in enumerate(cells))]
    place.write_text("\n".join([*lines, ""]), encoding="utf-8")


@examples(300)
@given(rows)
def test_what_a_question_means_depends_on_no_cell(cells: list[tuple[str, ...]]) -> None:
    """Over an empty file of the same columns every question means, or is refused, the same."""
    with tempfile.TemporaryDirectory() as name:
        full, empty = Path(name, "full.csv"), Path(name, "empty.csv")
        write(full, cells)
        write(empty, [])
        found = []
        for place in (full, empty):
            catalog = Catalog({NAME: written(place)})
            with Records.open(place, DatasetSettings(NAME, form=FORM), catalog) as records:
                found.append([parsed(records, where) for where in QUESTIONS])
    assert found[0] == found[1]


@pytest.mark.thorough
@pytest.mark.always
@examples(40)
@given(rows)
def test_a_data_set_answers_all_questions_or_none(cells: list[tuple[str, ...]]) -> None:
    """A cell that does not fit refuses every question in the same words, whatever column it reads."""
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name, kind) for kind in ("full", "empty")]
        for folder, records in zip(folders, (cells, []), strict=True):
            folder.mkdir()
            write(folder / "records.csv", records)
        full, empty = map(told, folders)
    meant = [text for text, other in zip(full, empty, strict=True) if "refused" not in other]
    refusals = {text.partition("records.csv")[2] for text in meant if "refused" in text}
    if refusals:
        assert all("answers nothing, as cells of" in text for text in meant)
        assert len(refusals) == 1
    else:
        assert full == empty
