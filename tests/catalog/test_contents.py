import gzip
import hashlib
import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from noisycount.catalog import contents as module
from noisycount.catalog.catalog import Catalog, DatasetRecord, DatasetSettings
from noisycount.catalog.contents import Contents
from noisycount.engines.formats import FileFormat
from noisycount.engines.places import files_of
from noisycount.errors import ConfigError, SourceError

OLD = 1_000_000_000  # seconds: long before any test


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file that was written long ago."""
    path = tmp_path / "records.csv"
    path.write_text("age\n31\n")
    os.utime(path, (OLD, OLD))
    return path


def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all changes so far be long ago: a file's inode is changed by the clock of the disk."""
    monkeypatch.setattr(module, "_CLOCK_TICK", -10.0)


def test_a_file_is_known_by_what_it_holds(file: Path) -> None:
    """The hash is that of its bytes, wherever it lies."""
    expected = hashlib.sha256(b"age\n31\n").hexdigest()
    assert Contents().read_files((file,)).digest == expected
    moved = file.rename(file.with_name("moved.csv"))
    assert Contents().read_files((moved,)).digest == expected


@pytest.mark.parametrize("name", ["a.csv", "a.TSV", "a.csv.gz"])
def test_first_lines_that_older_releases_misread_are_another_reading(tmp_path: Path, name: str) -> None:
    """Older releases left rows of such files out: no answer of theirs is repeated, and the budget stays one."""
    texts = {
        b'"age\nin years",town\n31,Bern\n': True,
        b'"age",town\n31,"Be\nrn"\n': False,
        b"sep=,\r\nage,town\n31,Bern\n": True,
        b"sep=,\r\nage,town\r\n31,Bern\r\n": False,
    }
    for text, is_corrected in texts.items():
        file = tmp_path / name
        file.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        content = Contents().read_files((file,))
        assert content.digest == hashlib.sha256(file.read_bytes()).hexdigest()
        assert (content.reading_correction is not None) == is_corrected
        old = DatasetRecord(None, {}, content.digest, form=FileFormat())
        new = replace(old, correction=content.reading_correction)
        assert (new.version != old.version, new.reading_digest != old.reading_digest) == (is_corrected, is_corrected)
        assert DatasetRecord.read(new.text) == new
        with pytest.raises(ConfigError, match="a second name would be a second budget"):
            Catalog({"old": old}).name_of(DatasetSettings("new"), content.digest)
    parquet = tmp_path / "a.parquet"
    parquet.write_bytes(b'"\n')
    assert Contents().read_files((parquet,)).reading_correction is None


def test_what_an_older_release_remembered_is_read_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It digested some files in another way."""
    settled(monkeypatch)
    contents = Contents(file.parent / "data")
    first = contents.read_files((file,))
    remembered = file.parent / "data" / "contents.json"
    place, [rows, _] = json.loads(remembered.read_bytes()).popitem()
    state = rows[0][1]
    older = hashlib.sha256(json.dumps([place, [state], "00", 2]).encode()).hexdigest()
    remembered.write_text(json.dumps({place: [[state], "00", older]}))
    assert rows[0][3] == contents.read_files((file,)).digest == first.digest


def test_a_file_is_read_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless its size or one of its times is another, what was found is remembered."""
    settled(monkeypatch)
    contents = Contents(file.parent / "data")
    first = contents.read_files((file,))
    with monkeypatch.context() as patch:
        patch.delattr(hashlib, "file_digest")
        assert contents.read_files((file,)) == first
        os.utime(file, (OLD, OLD + 1))
        with pytest.raises(AttributeError):
            contents.read_files((file,))
    assert contents.read_files((file,)).digest == first.digest
    file.write_text("age\n32\n")
    os.utime(file, (OLD, OLD))  # the time at which its inode changed tells it
    assert contents.read_files((file,)).digest != first.digest


def test_what_was_just_written_is_read_again(file: Path) -> None:
    """Within two seconds two writings may have one time."""
    contents = Contents(file.parent / "data")
    file.write_text("age\n33\n")
    contents.read_files((file,))
    assert not (file.parent / "data" / "contents.json").exists()


def test_what_is_remembered_is_the_owners_alone(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder and its file; and what else stands there is no harm."""
    settled(monkeypatch)
    folder = file.parent / "data"
    folder.mkdir(mode=0o755)
    (folder / "contents.json").write_text("[")
    digest = Contents(folder).read_files((file,)).digest
    assert folder.stat().st_mode & 0o777 == 0o700
    remembered = folder / "contents.json"
    assert remembered.stat().st_mode & 0o777 == 0o600
    assert [found[0][0][3] for found in json.loads(remembered.read_bytes()).values()] == [digest]


def test_no_byte_of_what_is_remembered_makes_other_records(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A digest that was changed would make a question a new one, to be paid and answered again."""
    settled(monkeypatch)
    contents = Contents(file.parent / "data")
    first, remembered = contents.read_files((file,)), file.parent / "data" / "contents.json"
    content = remembered.read_bytes()
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1
        remembered.write_bytes(changed)
        assert contents.read_files((file,)) == first
    remembered.write_text(json.dumps({str(file): 5, "other": [[], "digest"]}), encoding="ascii")
    assert contents.read_files((file,)) == first


def test_the_oldest_are_forgotten(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many places are remembered, and no more."""
    settled(monkeypatch)
    monkeypatch.setattr(module, "_MAX_PLACES", 3)
    contents = Contents(file.parent / "data")
    for number in range(6):
        other = file.with_name(f"{number}.csv")
        other.write_text(str(number))
        contents.read_files((other,))
    known = json.loads((file.parent / "data" / "contents.json").read_bytes())
    assert [Path(place).stem for place in known] == ["2", "3", "4", "5"]


def test_several_files_are_one_content(tmp_path: Path) -> None:
    """In whatever order and under whatever names; another one more is another content."""
    for name, text in (("a.parquet", "1"), ("b.pq", "2"), ("c.txt", "3")):
        (tmp_path / name).write_text(text)
    both = Contents().read_files(files_of(tmp_path))
    assert [path.name for path in both.files] == ["a.parquet", "b.pq"]
    (tmp_path / "a.parquet").rename(tmp_path / "z.parquet")
    assert Contents().read_files(files_of(tmp_path)).digest == both.digest
    assert Contents().read_files(files_of(tmp_path / "*.parquet")).digest != both.digest
    (tmp_path / "b.pq").unlink()
    with pytest.raises(SourceError, match="cannot be read any more"):
        both.require_same()


def test_the_keys_of_folders_are_content(tmp_path: Path) -> None:
    """Equal files under another `year=` folder are other records; other folder names change nothing."""
    file = tmp_path / "visits" / "year=2024" / "0.parquet"
    file.parent.mkdir(parents=True)
    file.write_text("1")
    os.utime(file, (1, 1))
    contents = Contents(tmp_path / "data")
    plain = hashlib.sha256(b"1").hexdigest()
    keyed = contents.at(tmp_path / "visits").digest
    assert contents.at(file).digest == contents.at(file.parent).digest == plain != keyed
    assert contents.at(tmp_path / "visits" / "*" / "*.parquet").digest == keyed
    file.parent.rename(file.parent.with_name("year=2025"))
    assert contents.at(tmp_path / "visits").digest not in {plain, keyed}


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """No file, an empty folder, one that went."""
    with pytest.raises(SourceError, match="does not exist"):
        files_of(tmp_path / "nowhere.csv")
    with pytest.raises(SourceError, match="contains no Parquet file"):
        files_of(tmp_path)
    with pytest.raises(SourceError, match="cannot be read any more"):
        Contents().read_files((tmp_path / "gone.csv",))


def test_a_change_while_it_is_hashed_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hash would be of no state that the file ever had."""
    digest = hashlib.file_digest

    def changing(*words: object) -> object:
        time.sleep(0.01)
        file.write_text("age\n99,\n")
        return digest(*words)  # type: ignore[arg-type]  # as it is called

    monkeypatch.setattr(hashlib, "file_digest", changing)
    with pytest.raises(SourceError, match="changed while it was open"):
        Contents().read_files((file,))
