from pathlib import Path

import polars as pl
import pytest

import noisycount as nc

FRAME = pl.DataFrame({"person": [n // 3 for n in range(300)], "age": [n % 90 for n in range(300)]})


def test_the_same_records_are_one_data_set_whichever_library_holds_them(tmp_path: Path) -> None:
    """One budget, and what was answered once is free in all of them."""
    FRAME.write_parquet(tmp_path / "saved.parquet")
    same = (FRAME, FRAME.to_arrow(), FRAME.to_pandas(), FRAME.to_pandas().set_index("person"))
    charged, answers = [], set()
    for frame in (*same, pl.read_parquet(tmp_path / "saved.parquet")):
        with nc.open_desk(frame, unit="person", ledger=tmp_path / "ledger.db") as desk:
            release = desk.release("age >= 65", "0.5")
        charged.append(release.charged)
        answers.add(release.answer)
    assert charged == [0.5, 0, 0, 0, 0]
    assert len(answers) == 1


def test_other_records_are_another_data_set(tmp_path: Path) -> None:
    """One changed cell is enough."""
    other = FRAME.with_columns(age=pl.Series([1, *FRAME["age"][1:]]))
    for frame in (FRAME, other):
        with nc.open_desk(frame, unit="person", ledger=tmp_path / "ledger.db") as desk:
            assert desk.release("age >= 65", "0.5").charged == 0.5


def test_persons_of_a_frame_are_no_rows(tmp_path: Path) -> None:
    """The unit that was said at the first answer stays."""
    with nc.open_desk(FRAME, unit="person", ledger=tmp_path / "ledger.db") as desk:
        desk.release("age >= 65", "0.5")
    with (
        nc.open_desk(FRAME, unit="row", ledger=tmp_path / "ledger.db") as desk,
        pytest.raises(nc.NoisyCountError, match="person"),
    ):
        desk.release("age >= 65", "0.5")
