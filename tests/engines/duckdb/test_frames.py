import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.engines.duckdb.frames import FrameSource
from noisycount.engines.memory import MemorySource
from noisycount.errors import SourceError
from noisycount.query.grouping import KeyQuestion, resolve_group_by
from noisycount.query.language import parse
from noisycount.query.predicate import Not, Predicate
from noisycount.query.schema import Kind
from tests.engines.test_sources import DIRTY_SCHEMA, PREDICATES, RECORDS
from tests.helpers.cases import examples
from tests.helpers.frames import FRAMES

Frame = object


def count(frame: Frame, *questions: str, **options: object) -> list[int]:
    """The true counts of a frame."""
    with FrameSource.open(frame, unit=options.pop("unit", None), **options) as source:
        return source.count([parse(question, source.schema) for question in questions])


def refusal(frame: Frame, **options: object) -> str:
    """Open a frame that must be refused, and return the message, which keeps no other error."""
    with pytest.raises(SourceError) as caught:
        FrameSource.open(frame, unit=options.pop("unit", None), **options)
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert str(caught.value).isprintable()
    return str(caught.value)


@pytest.mark.thorough
@pytest.mark.parametrize("library", FRAMES)
@given(RECORDS, st.lists(PREDICATES, min_size=1, max_size=6), st.sampled_from([None, "person"]))
@examples(30)
def test_frames_count_as_the_reference_does(
    library: str, records: list[Mapping[str, object]], predicates: list[Predicate], unit: str | None
) -> None:
    """Random predicates over dirty records count the same in a frame of each library."""
    questions = [*predicates, *map(Not, predicates)]
    known = records if library != "pandas" else [without_nan(record) for record in records]
    with (
        MemorySource(known, DIRTY_SCHEMA, unit) as reference,
        FrameSource.open(FRAMES[library](records, DIRTY_SCHEMA), unit=unit) as source,
    ):
        assert source.count(questions) == reference.count(questions)


@pytest.mark.thorough
@given(RECORDS, st.lists(PREDICATES, min_size=1, max_size=6))
@examples(25)
def test_categories_count_as_their_texts_do(records: list[Mapping[str, object]], predicates: list[Predicate]) -> None:
    """Categories of pandas and Polars, and dictionaries, are compared in the order of texts."""
    texts = [name for name, kind in DIRTY_SCHEMA.items() if kind is Kind.TEXT]
    plain = FRAMES["pandas"](records, DIRTY_SCHEMA)
    choices = pd.CategoricalDtype(sorted({*plain[texts].to_numpy().ravel()} - {np.nan})[::-1])
    table = FRAMES["arrow"](records, DIRTY_SCHEMA)
    frames = [
        plain.astype(dict.fromkeys(texts, choices)),
        pl.DataFrame(table).cast(dict.fromkeys(texts, pl.Categorical)),
        with_dictionaries(table),
        pa.concat_tables([with_dictionaries(table)[:3], with_dictionaries(table)[3:]]),
        pa.concat_tables([with_dictionaries(table[:3]), with_dictionaries(table[3:])]),
    ]
    known = [[without_nan(record) for record in records], *[records] * 4]
    for frame, expected in zip(frames, known, strict=True):
        with MemorySource(expected, DIRTY_SCHEMA) as reference, FrameSource.open(frame, unit=None) as source:
            assert source.count(predicates) == reference.count(predicates)


def with_dictionaries(table: pa.Table) -> pa.Table:
    """The table with its texts as dictionaries."""
    for place, field in enumerate(table.schema):
        if field.type == pa.string():
            table = table.set_column(place, field.name, table[field.name].dictionary_encode())
    return table


def without_nan(record: Mapping[str, object]) -> dict[str, object]:
    """The record as pandas means it, where NaN is a missing value."""
    return {name: None if value != value else value for name, value in record.items()}  # noqa: PLR0124 - NaN


@pytest.mark.parametrize(
    ("values", "question", "expected"),
    [
        (pa.array([1, 2, None], pa.uint64()), "x >= 2", 1),
        (pa.array([1, 2, None], pa.int8()), "x < 2.5", 2),
        (pa.array([1.5, None], pa.float32()), "x = 1.5", 1),
        (pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)), "x = 1.5", 1),
        (pa.array([Decimal("1.50"), None], pa.decimal64(10, 2)), "x = 1.5", 1),
        (pa.array(["a", "b", None], pa.large_string()), "x = 'a'", 1),
        (pa.array(["a" * 20, "b", None], pa.string_view()), "x like 'a%'", 1),
        (pa.array(["a", "b", "a", None]).dictionary_encode(), "x = 'a'", 2),
        (pa.array([1, 2, 1, None]).dictionary_encode(), "x = 1", 2),
        (pa.array([date(2020, 2, 29), None], pa.date64()), "x = '2020-02-29'", 1),
        (pa.array([datetime(2020, 1, 1), None], pa.timestamp("s")), "x = '2020-01-01'", 1),  # noqa: DTZ001
        (pa.array([-1, None]).cast(pa.timestamp("ns")), "x = '1969-12-31 23:59:59.999999'", 1),
        (pa.array([True, False, None]), "not x", 1),
        (pa.array([float("nan"), None]), "x > 1e308", 1),
    ],
    ids=lambda case: str(case.type) if isinstance(case, pa.Array) else "",
)
def test_types_of_arrow_count_as_what_they_stand_for(values: pa.Array, question: str, expected: int) -> None:
    """Of each type that a question can use, in one part and in several."""
    table = pa.table({"x": values})
    parts = pa.concat_tables([table[:1], table[1:1], table[1:]])
    assert count(table, question) == count(parts, question) == [expected]


def test_many_categories_count_as_few_do() -> None:
    """Also if they are many, and dictionaries with a text that is missing or twice."""
    for number in (1, 61, 62, 63, 300):
        texts = [f"t{n:03}" for n in range(number)]
        frame = pl.DataFrame({"x": pl.Series([*texts, None], dtype=pl.Enum(texts))})
        last = texts[-1]
        assert count(frame, f"x = '{last}'", f"x < '{last}'", "x = 'no'", "x is null") == [1, number - 1, 0, 1]
    odd = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None]), pa.array(["a", "a", None]))
    table = pa.table({"x": odd})
    assert count(table, "x = 'a'", "x is null", "not x = 'a'") == [2, 2, 0]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_moments_with_a_zone_are_read_in_utc(unit: str) -> None:
    """Noon in Berlin in winter is eleven o'clock, whatever the machine's own zone is."""
    noon = datetime(2020, 1, 31, 11, tzinfo=UTC)
    moments = pa.array([noon, None], pa.timestamp(unit, "Europe/Berlin"))
    for frame in (pa.table({"x": moments}), pd.DataFrame({"x": moments.to_pandas()})):
        assert count(frame, "x = '2020-01-31 11:00:00'", "x is null") == [1, 1]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Zurich", "+01:00", "America/New_York"])
@pytest.mark.parametrize("library", FRAMES)
def test_moments_with_a_zone_are_counted_beside_a_unit(library: str, zone: str) -> None:
    """By the day in UTC: half past eleven at night and ten past midnight are two days, in whatever zone."""
    moments = [datetime(2023, 12, 31, 23, 30, tzinfo=UTC), datetime(2024, 1, 1, 0, 10, tzinfo=UTC), None]
    last = [datetime(9999, 12, 31, 23, 59, tzinfo=UTC)] * 3
    zoned = {name: pa.array(cells, pa.timestamp("us", zone)) for name, cells in (("x", moments), ("last", last))}
    table = pa.table({"id": [1, 1, 2], **zoned})
    frame = {"arrow": lambda: table, "polars": lambda: pl.DataFrame(table), "pandas": table.to_pandas}[library]()
    days = ["x < '2024-01-01'", "x >= '2024-01-01'", "x >= '2024-01-02'", "x is null", "last >= '9999-12-31'"]
    assert count(frame, *days) == [1, 1, 0, 1, 3]
    assert count(frame, *days, unit="id") == [1, 1, 0, 1, 2]
    with FrameSource.open(frame, unit="id") as source:
        asked = KeyQuestion(resolve_group_by("x:month", source.schema, "id"), None)
        found = {key for each in source.count_keys(asked) for key in each.keys}
    assert found == {(12 * 2023 + 11,), (12 * 2024,), (None,)}


def test_cells_that_no_moment_stands_for_are_refused_at_opening() -> None:
    """Later they would tell that a record is there, after the debit."""
    far = pa.array([2**62]).cast(pa.timestamp("s", "UTC"))
    assert "cells in 'x' that cannot be read" in refusal(pa.table({"x": far}))


def test_missing_values_of_pandas_are_missing() -> None:
    """Whichever of NaN, NaT, None and NA stands for them in a column."""
    frame = pd.DataFrame(
        {
            "real": [1.5, np.nan],
            "integer": pd.array([1, None], dtype="Int64"),
            "masked": pd.array([1.5, None], dtype="Float64"),
            "flag": pd.array([True, None], dtype="boolean"),
            "text": pd.Series(["a", None], dtype="str"),
            "other": pd.Series(["a", None], dtype="string"),
            "object": pd.Series(["a", np.nan], dtype="object"),
            "day": pd.Series([date(2020, 1, 1), None], dtype="object"),
            "time": pd.to_datetime(["2020-01-01", None]),
            "category": pd.Categorical(["a", None]),
            "number": pd.Categorical([1, None]),
            "arrow": pd.array([1, None], dtype="int64[pyarrow]"),
        }
    )
    assert count(frame, *(f'"{name}" is null' for name in frame)) == [1] * len(frame.columns)
    assert count(frame, "number = 1 and \"object\" = 'a' and arrow = 1") == [1]


def test_an_index_is_a_column_where_it_has_a_name() -> None:
    """A frame that was filtered or set to an index keeps its persons, and gets no columns more."""
    frame = pd.DataFrame({"person": [1, 1, 2], "age": [31, 32, 29]})
    assert count(frame.set_index("person"), "age >= 30", unit="person") == [1]
    assert count(frame.set_index(["person", "age"]), "age >= 30", unit="person") == [1]
    with FrameSource.open(frame[frame.age > 30], unit=None) as source:
        assert list(source.schema) == ["person", "age"]


def test_what_is_written_into_a_frame_later_is_not_counted() -> None:
    """Every answer is about the records at opening, under their version."""
    frame = pd.DataFrame({"age": [1, 2, 3], "name": ["a", "b", "c"]})
    other = pl.DataFrame({"age": [1, 2, 3], "name": ["a", "b", "c"]})
    for changed in (frame, other):
        with FrameSource.open(changed, unit=None) as source:
            version = source.version
        with FrameSource.open(changed, unit=None) as source:
            if isinstance(changed, pd.DataFrame):
                changed.loc[0, "age"] = 9
                changed["name"] = "z"
                changed.pop("name")
            else:
                changed[0, "age"] = 9
                changed.insert_column(0, pl.Series("new", [0, 0, 0]))
            questions = ["age = 1", "age = 9", "name = 'z'", "true"]
            assert source.count([parse(text, source.schema) for text in questions]) == [1, 0, 0, 3]
            assert source.version == version
        with FrameSource.open(changed, unit=None) as source:
            assert source.version != version


def test_memory_of_pandas_is_shared_and_not_copied() -> None:
    """DuckDB reads the memory of the frame itself."""
    frame = pd.DataFrame({"age": np.arange(1000), "bmi": np.arange(1000) / 7})
    with FrameSource.open(frame, unit=None) as source:
        scanned = source.snapshot.frame[["age", "bmi"]]
        assert all(np.shares_memory(scanned[name], frame[name]) for name in frame)


def test_relations_and_readers_are_read_once() -> None:
    """A computed relation is copied, so that every count has the same records."""
    with duckdb.connect() as connection:
        relation = connection.sql("SELECT range AS x, random() AS y FROM range(1000)")
        with FrameSource.open(relation, unit=None) as source:
            connection.close()
            low = parse("y < 0.5", source.schema)
            assert source.count([low]) == source.count([low])
            assert source.count([parse("x >= 900", source.schema)]) == [100]
    table = pa.table({"x": [1, 2, 3]})
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    assert count(reader, "x >= 2", "x < 2") == [2, 1]


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        ([1, 2], "got list: convert it"),
        ({"a": [1]}, "got dict: convert it"),
        (pd.Series([1], name="a"), "got Series: convert it"),
        (pl.Series("a", [1]), "got Series: convert it"),
        (pl.LazyFrame({"a": [1]}), "collect() it"),
        (pd.DataFrame(), "has no columns"),
        (pl.DataFrame(), "has no columns"),
        (pd.DataFrame([[1, 2]]), "named by 0, not by a text: use frame.rename(columns=str)"),
        (pd.DataFrame({("a", "b"): [1]}), "named by ('a', 'b'), not by a text"),
        (pd.DataFrame({"a": [1]}, index=pd.Index([5], name=3)), "named by 3, not by a text"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "has the name 'a' twice"),
        (pd.DataFrame([[1, 2]], columns=["Age", "age"]), "has the name 'age' twice, apart from"),
        (pl.DataFrame({"Age": [1], "age": [2]}), "has the name 'age' twice, apart from case"),
        (pa.table([[1], [2]], names=["a", "a"]), "has the name 'a' twice"),
        (pa.table([[1], [2]], names=["", "a"]), "named by '': rename it"),
        (pa.table([[1]], names=["a\0b"]), "named by 'a\\x00b': rename it"),
        (pd.DataFrame({"a": pd.Series(["canary-7c1", 1], dtype=object)}), "'a' of the frame has"),
        (pd.DataFrame({"a": pd.Series([2**70, 1], dtype=object)}), "'a' of the frame has values"),
        (pd.DataFrame({"a": [1 + 2j]}), "'a' of the frame has values"),
    ],
)
def test_frames_that_cannot_be_counted_are_refused(frame: Frame, words: str) -> None:
    """Each in one line with a remedy, and without a cell."""
    message = refusal(frame)
    assert words in message
    assert "canary" not in message


def test_the_remedy_for_values_of_several_types_works() -> None:
    """Afterwards the column is one of texts."""
    frame = pd.DataFrame({"a": pd.Series(["x", 1, None], dtype=object)})
    assert "frame['a'] = frame['a'].astype('str')" in refusal(frame)
    frame["a"] = frame["a"].astype("str")
    assert count(frame, "a = '1'", "a is null") == [1, 1]


def test_columns_that_no_question_can_use_are_told_and_left_alone() -> None:
    """Nested and odd types keep no other column from being counted."""
    odd = {
        "nested": pa.array([[1], [2]]),
        "half": pa.array(np.array([1, 2], np.float16)),
        "wide": pa.array([Decimal(1), Decimal(2)], pa.decimal256(50, 2)),
        "nothing": pa.array([None, None]),
        "span": pa.array([timedelta(1), timedelta(2)]),
    }
    table = pa.table({**odd, "age": [1, 2]})
    for frame in (table, pl.DataFrame(table.drop_columns(["half", "wide"]))):
        with FrameSource.open(frame, unit=None) as source:
            assert list(source.schema) == ["age"]
            assert (
                set(source.schema.others) == {*frame.schema.names()} - {"age"}
                if isinstance(frame, pl.DataFrame)
                else set(odd)
            )
            assert source.count([parse("age >= 2", source.schema)]) == [1]
            assert len(source.version) == 64
            kinds = {column.name: column.kind for column in source.check().columns}
            assert kinds["age"] is Kind.INTEGER
            assert kinds["nested"] is None


def test_check_tells_what_is_missing() -> None:
    """For the owner: how many records there are, and cells of each column that say nothing."""
    frame = pl.DataFrame({"age": [1, None, 3], "name": [None, None, "a"]})
    with FrameSource.open(frame, unit=None) as source:
        check = source.check()
    assert (check.rows, check.units) == (3, None)
    assert {column.name: column.missing for column in check.columns} == {"age": 1, "name": 2}


@pytest.mark.parametrize("library", FRAMES)
def test_check_tells_how_many_persons_there_are(library: str) -> None:
    """By the unit, which is no column of questions, or by a column that is named."""
    records = [{"person": who, "age": age} for who, age in (("b", 1), ("b", 2), ("a", 1))]
    frame = FRAMES[library](records, {"person": Kind.TEXT, "age": Kind.INTEGER})
    with FrameSource.open(frame, unit="person") as source:
        assert (source.check().rows, source.check().units) == (3, 2)
    with FrameSource.open(frame, unit=None) as source:
        assert (source.check().units, source.check("person").units) == (None, 2)


@pytest.mark.parametrize("library", FRAMES)
def test_records_without_a_person_are_refused(library: str) -> None:
    """In every library, as in files."""
    frame = FRAMES[library]([{"person": "a"}, {"person": None}], {"person": Kind.TEXT})
    assert "unit column 'person' has missing values" in refusal(frame, unit="person")


@pytest.mark.parametrize(
    "attack",
    [
        *("SELECT * FROM read_text('{path}')", "COPY (SELECT 1) TO '{path}'", "ATTACH '{path}'"),
        *("SELECT * FROM secret", "SET enable_external_access = true", "INSTALL httpfs"),
    ],
)
def test_the_connection_reaches_nothing_but_the_frame(tmp_path: Path, attack: str) -> None:
    """No file, and no variable of Python that is called like a table."""
    secret = pl.DataFrame({"x": [1]})
    with FrameSource.open(pl.DataFrame({"age": [1]}), unit=None) as source:
        cursor = source.cursors.connection.cursor()
        with pytest.raises(duckdb.Error):
            cursor.execute(attack.format(path=tmp_path / "file"))
    assert secret.height == 1


def test_a_closed_frame_has_neither_counts_nor_a_version() -> None:
    """Also where they were never asked for."""
    source = FrameSource.open(pl.DataFrame({"age": [1]}), unit=None)
    source.close()
    for asked in (lambda: source.version, source.require_unchanged, source.check):
        with pytest.raises(SourceError, match="closed"):
            asked()


@pytest.mark.thorough
def test_pyarrow_is_needed_for_objects_of_python_only() -> None:
    """Polars, DuckDB and typed columns of pandas do without; else the extra is named."""
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import duckdb, pandas as pd, polars as pl\n"
        "from noisycount.errors import SourceError\n"
        "from noisycount.query.language import parse\n"
        "from noisycount.engines.duckdb.frames import FrameSource\n"
        "cells = {'a': [1, 2], 'b': ['x', 'y']}\n"
        "relation = duckdb.sql(\"SELECT * FROM (VALUES (1::BIGINT, 'x'), (2, 'y')) t(a, b)\")\n"
        "for frame in (pl.DataFrame(cells), pd.DataFrame(cells), relation):\n"
        "    with FrameSource.open(frame, unit=None) as source:\n"
        "        question = parse(\"a = 2 and b = 'y'\", source.schema)\n"
        "        print(source.count([question]), source.version)\n"
        "try: FrameSource.open(pd.DataFrame(cells, dtype=object), unit=None)\n"
        "except SourceError as error: print(error)\n"
    )
    done = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    *counts, message = done.stdout.splitlines()
    assert len(counts) == 3
    assert len(set(counts)) == 1
    assert counts[0].startswith("[1] ")
    assert "pip install '.[frames]'" in message


def test_parts_with_dictionaries_of_their_own_are_counted_by_their_texts() -> None:
    """The number of a text may be that of another text in another part."""
    parts = [pa.array(["Bern", "Ulm"]).dictionary_encode(), pa.array(["Ulm", "Ulm", "Bern", None]).dictionary_encode()]
    frame = pa.table({"town": pa.chunked_array(parts)})
    assert count(frame, "town = 'Bern'", "town = 'Ulm'", "town is null", "not town = 'Bern'") == [2, 3, 1, 3]


def test_texts_of_categories_that_change_after_the_opening_are_refused() -> None:
    """The version is a digest of the records at opening, with the texts of categories."""
    letters, ends = np.frombuffer(b"aabb", dtype="u1").copy(), np.array([0, 2, 4], "i4")
    texts = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(ends), pa.py_buffer(letters)])
    table = pa.table({"x": pa.DictionaryArray.from_arrays(pa.array([0] * 7 + [1] * 3), texts)})
    with FrameSource.open(table, unit=None) as source:
        letters[:] = np.frombuffer(b"bbaa", dtype="u1")
        with pytest.raises(SourceError, match="changed in place"):
            source.count([parse("x = 'aa'", source.schema)])


@pytest.mark.parametrize("change", ["numbers", "texts", "order"])
def test_categories_of_pandas_are_compared_by_their_numbers_and_texts(change: str) -> None:
    """A change after the opening is refused; other numbers of the same texts are none."""
    frame = pd.DataFrame({"x": pd.Categorical(["aa"] * 7 + ["bb"] * 3)})
    with FrameSource.open(frame, unit=None) as source:
        question = parse("x = 'aa'", source.schema)
        assert source.count([question]) == [7]
        kept = source.snapshot.frame["x"].array
        if change == "order":
            source.snapshot.frame["x"] = kept.reorder_categories(["bb", "aa"])
            assert source.count([question]) == [7]
            return
        if change == "numbers":
            kept._ndarray[:] = 1  # noqa: SLF001 - memory that another library may share
        else:
            source.snapshot.frame["x"] = kept.rename_categories(["cc", "bb"])
        with pytest.raises(SourceError, match="changed in place"):
            source.count([question])


def test_numbers_of_categories_of_arrow_that_change_are_refused() -> None:
    """Arrow shares the memory of arrays of NumPy."""
    numbers = np.array([0] * 7 + [1] * 3, np.int8)
    shared = pa.Array.from_buffers(pa.int8(), len(numbers), [None, pa.py_buffer(numbers)])
    table = pa.table({"x": pa.DictionaryArray.from_arrays(shared, pa.array(["aa", "bb"]))})
    with FrameSource.open(table, unit=None) as source:
        question = parse("x = 'aa'", source.schema)
        assert source.count([question]) == [7]
        numbers[:] = 1
        with pytest.raises(SourceError, match="changed in place"):
            source.count([question])


@pytest.mark.parametrize(
    ("units", "is_exact"),
    [
        (pa.array([10**18, 10**18 + 1], pa.timestamp("ns")), False),
        (pa.array([10**17, 10**17 + 1], pa.timestamp("s")), False),
        (pa.array([Decimal(10**25), Decimal(10**25 + 1)], pa.decimal128(38)), False),
        (pa.array([[1], [2]]), False),
        (pa.array(["a", "b"]), True),
        (pa.array(["a", "b"]).dictionary_encode(), True),
        (pa.array([1, 2], pa.uint64()), True),
        (pa.array([10**15, 10**15 + 1], pa.timestamp("us")), True),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else str(value),
)
def test_a_version_is_exact_if_it_tells_the_units_apart(units: pa.Array, *, is_exact: bool) -> None:
    """Else two tables of other persons could have one version, and a higher price is charged in full."""
    with FrameSource.open(pa.table({"person": units, "x": [1, 1]}), unit="person") as source:
        assert source.has_exact_version is is_exact
        assert source.count([parse("x = 1", source.schema)]) == [2]
    with FrameSource.open(pa.table({"person": units, "x": [1, 1]}), unit=None) as source:
        assert source.has_exact_version
