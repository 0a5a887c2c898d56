"""The version of records: the same bytes that are read in another way are other records."""

import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

from noisycount.catalog import catalog
from noisycount.catalog.catalog import DatasetRecord
from noisycount.catalog.contents import Contents
from noisycount.catalog.folder import Copies
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.engines.places import files_of
from noisycount.ledger.ledger import Ledger
from noisycount.query.schema import Kind
from tests.catalog.conftest import EXACTLY, Asked

FORM = FileFormat("utf-8", ",", 0)
OTHERS = {
    "encoding": FileFormat("cp1252", ",", 0),
    "delimiter": FileFormat("utf-8", ";", 0),
    "skip": FileFormat("utf-8", ",", 1),
    "header": replace(FORM, header=False),
    "names": replace(FORM, names=((2, "ward"),)),
    "skip_rows_after_header": replace(FORM, skip_rows_after_header=1),
    "drop_empty_rows": replace(FORM, drop_empty_rows=True),
    "drop_rows_like_header": replace(FORM, drop_rows_like_header=True),
    "comment": replace(FORM, comment=("#",)),
    "footer": replace(FORM, footer=("Total",)),
    "drop_rows_where": FileFormat.from_parts({**FORM.parts, "drop_rows_where": {"sex": "Both sexes"}}),
    "ragged": replace(FORM, ragged="pad"),
    "quote": replace(FORM, quote=""),
}
"""Forms that differ from it in one part."""
WORDS = ColumnFormat(Kind.BOOLEAN, true=("ja",), false=("nein",))
TEXT, REAL = ColumnFormat(Kind.TEXT), ColumnFormat(Kind.REAL)
OLD = "age >= 65"
OLDER = (
    '{"unit": "person", "columns": {"age": {"kind": "integer"}}, "content": "00", "others": {}, '
    '"table": null, "form": {"encoding": "utf-8", "delimiter": ",", "skip": 0}, "earlier": []}'
)
"""What a release wrote down whose versions left out the form of the file."""
VERSION = "sha256:8b4e67f37073b1d787be70d599c1bd4736c98f1e2f0acca7daea6cf01cf4f180"
"""What its version was then."""


@pytest.mark.parametrize("part", [field.name for field in fields(FileFormat)])
def test_the_version_covers_each_part_of_the_form_of_a_file(part: str) -> None:
    """Read otherwise, the same bytes are other records, and have another copy."""
    written = DatasetRecord(None, {}, "00", form=FORM)
    other = replace(written, form=OTHERS[part])
    assert other.version != written.version
    assert other.reading_digest != written.reading_digest


@pytest.mark.parametrize("part", [field.name for field in fields(FileFormat)])
def test_each_part_of_the_form_of_a_file_is_written_down(part: str) -> None:
    """Another process reads the file by the same rules; what changes nothing changes no version."""
    written = DatasetRecord(None, {}, "00", form=OTHERS[part])
    assert DatasetRecord.read(written.text) == written
    usual = replace(FORM, header=True, drop_empty_rows=False, drop_rows_like_header=False, footer=(), comment=())
    usual = replace(usual, drop_rows_where=(), quote='"')
    assert DatasetRecord(None, {}, "00", form=usual).version == DatasetRecord(None, {}, "00", form=FORM).version


def test_an_encoding_has_one_version_under_all_its_names() -> None:
    """A name that Python takes for the same is no other way to read a file."""
    forms = [replace(FORM, encoding=name) for name in ("cp1252", "windows-1252", "CP1252")]
    assert len({DatasetRecord(None, {}, "00", form=form).version for form in forms}) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (REAL, ColumnFormat(Kind.INTEGER)),
        (REAL, ColumnFormat(Kind.REAL, decimal=",")),
        (ColumnFormat(Kind.DATE), ColumnFormat(Kind.DATE, date_format="%d.%m.%Y")),
        (ColumnFormat(Kind.BOOLEAN), WORDS),
        (WORDS, replace(WORDS, true=("wahr",))),
        (WORDS, replace(WORDS, false=("falsch",))),
        (TEXT, replace(TEXT, missing=("k.A.",))),
        (TEXT, replace(TEXT, trim=True)),
    ],
)
def test_the_version_covers_what_cells_stand_for(first: ColumnFormat, second: ColumnFormat) -> None:
    """Each part of the form of a column that changes a value changes the version."""
    assert len({DatasetRecord(None, {"x": form}, "00").version for form in (first, second)}) == 2


@pytest.mark.parametrize(
    ("date_format", "accepts", "is_anew"),
    [
        ("%d %b %Y", True, True),
        ("%d.%m.%Y %H:%M", True, True),
        ("%Y%m%d", True, True),
        ("%d.%m.%Y", True, False),
        ("%m/%d/%Y,%I:%M%p", True, False),
        ("%d %b %Y", False, False),
        ("%Y%m%d", False, False),
    ],
)
def test_dates_that_an_older_release_missed_are_counted_anew(
    monkeypatch: pytest.MonkeyPatch, date_format: str, *, accepts: bool, is_anew: bool
) -> None:
    """Date forms that older releases read otherwise have a new version if unreadable cells are missing.

    A file whose cells all fit has the values that it had. One that no longer fits is refused, and its copy is not read.
    """
    form = ColumnFormat(Kind.DATE, date_format=date_format, accepts_unreadable=accepts)
    records = [DatasetRecord(None, {"x": form}, "00") for _ in range(2)]
    present = records[0].version

    def older_marks(stated: str) -> dict[str, str]:
        return {"words": "in ten languages"} if re.search("%[aAbBpz]", stated) else {}

    monkeypatch.setattr(catalog, "_date_marks", older_marks)
    assert (records[1].version != present) is is_anew


@pytest.mark.parametrize(
    ("text", "wrong", "right", "question", "expected"),
    [
        ("person,town\n1,Köln\n2,Köln\n", FileFormat("cp437"), FileFormat("cp1252"), "town = 'Köln'", (0, 2)),
        ("person,town\nperson,town\n1,Ulm\n", FileFormat(skip=0), FileFormat(skip=1), "town = 'town'", (1, 0)),
        ("person,town\nTotal,1\n1,Ulm\n", FileFormat(footer=()), FileFormat(footer=("Total",)), "true", (2, 1)),
    ],
)
def test_a_corrected_form_is_counted_and_charged_anew(  # noqa: PLR0913 - one argument a part
    *,
    text: str,
    wrong: FileFormat,
    right: FileFormat,
    question: str,
    expected: tuple[int, int],
    tmp_path: Path,
    asked: Asked,
    folder: Path,
) -> None:
    """An answer about texts that were read wrongly is given no more, nor is their copy read."""
    path = tmp_path / "towns.csv"
    path.write_bytes(text.encode("cp1252"))
    found = []
    for form in (wrong, right, wrong):
        found.append(asked(path, unit="person", form=form).release(question, EXACTLY))
        assert len(list(Copies(folder).all())) == 1
    assert [each.answer for each in found] == [*expected, expected[0]]
    assert [bool(each.charged) for each in found] == [True, True, False]


def test_the_version_of_an_older_release_is_kept_to_the_letter() -> None:
    """A description by an older release keeps its text and its version."""
    written = DatasetRecord.read(OLDER)
    assert (written.text, written.version) == (OLDER, VERSION)
    other = replace(written, form=replace(FORM, encoding="cp1252"))
    assert DatasetRecord.read(other.text) == other
    assert other.version != VERSION


def test_answers_of_an_older_release_stay_free_until_the_form_changes(
    survey: Path, asked: Asked, ledger: Ledger
) -> None:
    """Read as it was, a file has the version that it had; and `--renew` ends that."""
    columns = {"person": TEXT, "age": ColumnFormat(Kind.INTEGER), "town": TEXT}
    digest = Contents().read_files(files_of(survey)).digest
    older = DatasetRecord("person", columns, digest, form=FORM, legacy_form=FORM)
    ledger.describe("survey", older.text)
    first = asked(survey).release(OLD, EXACTLY)
    assert f'"version": "{older.version}"' in ledger.entries("survey")[0].request.question
    others = [
        asked(survey, form=FileFormat("cp1252")).release(OLD, EXACTLY),
        asked(survey, form=FORM).release(OLD, EXACTLY),
        asked(survey, renews=True).release(OLD, EXACTLY),
        asked(survey).release(OLD, EXACTLY),
    ]
    assert [bool(one.charged) for one in (first, *others)] == [True, True, False, True, False]


def test_answers_of_an_older_release_stay_free_if_columns_are_described_anew(
    survey: Path, asked: Asked, ledger: Ledger
) -> None:
    """A column that the older release did not know makes no other version of the form."""
    columns = {"person": TEXT, "age": ColumnFormat(Kind.INTEGER)}
    older = DatasetRecord(
        "person", columns, Contents().read_files(files_of(survey)).digest, form=FORM, legacy_form=FORM
    )
    ledger.describe("survey", older.text)
    desk = asked(survey, columns=["age", "town"])
    assert set(desk.columns) == {"age", "town"}
    written = DatasetRecord.read(ledger.descriptions()["survey"])
    assert (written.legacy_form, set(written.columns)) == (FORM, {"person", "age", "town"})
