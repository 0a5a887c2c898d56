from pathlib import Path

import pytest

from noisycount.config.config import DatasetConfig
from noisycount.engines.places import SECONDS, ServedTable, ServerPlace
from noisycount.errors import ConfigError
from tests.helpers.config_files import loaded, refusal

CANARY = "canary-7c1"
URL = f"postgresql+psycopg://ward:{CANARY}@db/clinic"
VISITS = f'[datasets.visits]\nsource = "{URL}#visits"\n'
LAKE = '[datasets.lake]\nsource = "s3://bucket/visits/*.parquet"\n'
SHOWN = "postgresql://db/clinic#visits"


def test_every_key_of_a_table_is_read(tmp_path: Path) -> None:
    """Its place, its time, whether indexes may be used, and its edition; the password is kept."""
    said = 'unit = "person"\ntimeout = 2.5\nindexes = true\nedition = "2026-11"\ncolumns = ["age"]\n'
    dataset = loaded(tmp_path, VISITS + said).datasets["visits"]
    place = ServerPlace.read(f"{URL}#visits")
    assert dataset.source == ServedTable(place, "2026-11", seconds=2.5, uses_indexes=True)
    assert (dataset.unit, dataset.columns, dataset.is_served) == ("person", ("age",), True)
    assert isinstance(dataset.source, ServedTable)
    assert CANARY in dataset.source.place.url
    assert CANARY not in repr(dataset)


def test_what_is_left_out_of_a_table(tmp_path: Path) -> None:
    """Ten minutes, no indexes and no edition."""
    source = loaded(tmp_path, VISITS).datasets["visits"].source
    assert source == ServedTable(ServerPlace.read(f"{URL}#visits"), None, SECONDS)
    assert SECONDS == 600


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (VISITS + "timeout = 0", ": [datasets.visits] timeout = 0: must be a number of seconds"),
        (VISITS + "timeout = nan", " timeout = NaN: must be a number of seconds above 0, at most"),
        (VISITS + "timeout = true", " timeout = true: must be a number of seconds above 0"),
        (VISITS + "timeout = 1e9", " timeout = 1000000000.0: must be a number of seconds above"),
        (VISITS + 'indexes = "yes"', ' indexes = "yes": must be true or false, without quotes'),
        (VISITS + 'edition = ""', ' edition = "": must be a text in quotes'),
        (VISITS + 'edition = "\\u001b"', "edition must be 1 to 200 printable characters, got "),
        (VISITS + 'table = "visits"', ": is named behind the # of a server's address: leave ta"),
        (
            VISITS + 'kinds = { a = "text" }',
            "Only nan can be stated, and ids are compared as they are: leave kinds out",
        ),
        (VISITS + "skip = 1", ": [datasets.visits] skip = 1: applies to files only: leave skip out"),
        (f'[datasets.visits]\nsource = "{URL}"', "source: 'postgresql://db/clinic' names no table"),
        (f'[datasets.visits]\nsource = "{URL}@{CANARY}#t"', "with %40 for an @ in a password"),
        (f'[datasets.visits]\nsource = ["{URL}#t"]', "ward:…@db/clinic#t"),
        (f'[datasets]\nvisits = "{URL}#t"', "ward:…@db/clinic#t"),
        (LAKE + "indexes = true", "indexes = true: applies to servers only: l"),
        (
            LAKE + 'kinds = { a = "text" }',
            ": are those that the Parquet files state. Only nan can be stated: leave kinds out",
        ),
        ('[datasets.a]\nsource = "s3://"', "source: the address of the files cannot be read: wr"),
        (
            f'{LAKE}[datasets.b]\nsource = "s3a://bucket/visits/"',
            "[datasets.lake] and [datasets.b] are the same records, 's3://bucket/visits/*.parquet'",
        ),
        ('[datasets.a]\nsource = "a.csv"\ntimeout = 1', "timeout = 1: applies to tables of servers"),
        ('[datasets.a]\nsource = "a.csv"\nindexes = true', "indexes = true: applies to tables of servers"),
        ('[datasets.a]\nsource = "a.csv"\nedition = "1"', 'edition = "1": applies to tables of servers'),
        (
            f'{VISITS}[datasets.b]\nsource = "postgresql://other@DB:5432/clinic#public.visits"',
            f"visits] and [datasets.b] are the same records, '{SHOWN}', with a budget each: keep",
        ),
    ],
)
def test_mistakes_about_a_table(tmp_path: Path, text: str, message: str) -> None:
    """A refusal is a single line without the password."""
    found = refusal(tmp_path, text)
    assert message in found
    assert CANARY not in found


def test_an_address_is_a_data_set_of_its_own(tmp_path: Path) -> None:
    """It is called by what is shown of it, under the usual budget."""
    dataset = loaded(tmp_path, "").dataset(f"{URL}#visits")
    assert dataset == DatasetConfig(SHOWN, ServedTable(ServerPlace.read(f"{URL}#visits")))
    assert (dataset.account, dataset.is_path, str(dataset.source)) == (SHOWN, True, SHOWN)


def test_an_address_of_a_configured_table_is_that_data_set(tmp_path: Path) -> None:
    """Nobody gets another budget by writing its address in another way."""
    configuration = loaded(tmp_path, VISITS)
    for address in ("postgresql://eve@db:5432/clinic#public.visits", f"{URL}#visits"):
        assert configuration.dataset(address) == configuration.datasets["visits"]
    assert configuration.dataset(f"{URL}#staff").name == "postgresql://db/clinic#staff"


def test_an_address_without_a_table(tmp_path: Path) -> None:
    """It is refused as what was typed is, without its password."""
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, VISITS).dataset(URL)
    assert str(caught.value).startswith("SOURCE: 'postgresql://db/clinic' names no table: write it")


def test_a_mistyped_address_is_refused_without_its_password(tmp_path: Path) -> None:
    """A text that is no address is not taken for a file, and its password is not shown."""
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, VISITS).dataset(f"9{URL}#visits")
    assert CANARY not in str(caught.value)
    assert "is neither a file nor a data set" in str(caught.value)


def test_files_that_a_cluster_reads_are_the_files(tmp_path: Path) -> None:
    """A folder of Parquet has one budget, whoever reads it."""
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "a.parquet").touch()
    address = f"spark://local#{tmp_path}/lake"
    both = f'[datasets.a]\nsource = "lake"\n[datasets.b]\nsource = "{address}"\n'
    assert "[datasets.a] and [datasets.b] are the same records" in refusal(tmp_path, both)
    configuration = loaded(tmp_path, '[datasets.a]\nsource = "lake"\n')
    assert configuration.dataset(address) == configuration.datasets["a"]
