from pathlib import Path

import pytest

from noisycount.catalog.folder import Copies
from noisycount.display.output import check_regular
from noisycount.engines.places import is_several
from noisycount.errors import SourceError
from noisycount.validation import stat_or_none

LONG = "x" * 300
"""A name that no disk holds, for whichever account."""


def test_what_is_not_there_has_no_state(tmp_path: Path) -> None:
    """Neither has what would lie in a file; a file and a folder have one."""
    file = tmp_path / "visits.csv"
    file.write_text("person")
    assert stat_or_none(tmp_path / "no.csv") is None
    assert stat_or_none(file / "no.csv") is None
    assert [each is None for each in map(stat_or_none, (file, tmp_path))] == [False, False]


def test_what_cannot_be_looked_for_is_not_said_to_be_absent(tmp_path: Path) -> None:
    """On no Python; neither where a file would be written, nor among copies of private texts."""
    for looked in (stat_or_none, check_regular):
        with pytest.raises(OSError, match="File name too long"):
            looked(tmp_path / LONG)
    with pytest.raises(SourceError, match="cannot be read: File name too long"):
        list(Copies(tmp_path / LONG).all())


def test_a_pattern_that_cannot_be_looked_for_is_read_as_one_file(tmp_path: Path) -> None:
    """Which is then refused by its path and permissions."""
    assert is_several(tmp_path / "*.parquet")
    assert not is_several(tmp_path / f"{LONG}*.parquet")
