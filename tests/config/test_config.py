import os
import re
import tomllib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from fractions import Fraction
from pathlib import Path

import pytest

from noisycount.config import config as config_module
from noisycount.config.config import (
    DATASET_KEYS,
    DEFAULT_BUDGET,
    FILE_NAME,
    TEMPLATE,
    Config,
    DatasetConfig,
    default_config,
    find_config,
    load_config,
)
from noisycount.config.places import SERVER_KEYS
from noisycount.config.service import ServiceConfig
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.errors import ConfigError
from noisycount.ledger.budget import PureBudget
from noisycount.query.schema import Kind
from tests.helpers.config_files import loaded, refusal, write

SURVEY = '[datasets.survey]\nsource = "data/survey.csv"\n'


@pytest.fixture
def configured(tmp_path: Path) -> Config:
    """A configuration whose one data set exists, with ε = 1/3 to spend."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "survey.csv").write_text("age\n3\n")
    (tmp_path / "other.csv").write_text("age\n4\n")
    return loaded(tmp_path, SURVEY + 'budget = "1/3"\n')


def test_every_key_is_read(tmp_path: Path) -> None:
    """Each key of a data set is read exactly, with absolute paths."""
    text = SURVEY + (
        'unit = "person"\nsize = 5912\ncolumns = ["age", "health"]\ntable = "visits"\n'
        'budget = "0.3"\naccount = "old"\nencoding = "cp1252"\ndelimiter = "\\t"\nskip = 0\n'
        'kinds = { age = "integer", born = { kind = "date", missing = ["k.A."] } }\n'
    )
    found = loaded(tmp_path, text)
    assert found.path == tmp_path / FILE_NAME
    assert found.datasets == {
        "survey": DatasetConfig(
            name="survey",
            source=tmp_path / "data" / "survey.csv",
            unit="person",
            size=5912,
            columns=("age", "health"),
            table="visits",
            kinds={"age": ColumnFormat(Kind.INTEGER), "born": ColumnFormat(Kind.DATE, missing=("k.A.",))},
            form=FileFormat("cp1252", "\t", 0),
            account="old",
            budget=Fraction(3, 10),
        )
    }


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    """Only the source is needed: every row is a unit, and ε = 2 may be spent."""
    dataset = loaded(tmp_path, SURVEY).datasets["survey"]
    assert dataset == DatasetConfig("survey", tmp_path / "data" / "survey.csv", unit="row")
    assert dataset.budget == PureBudget(Fraction(2))
    assert (dataset.size, dataset.columns, dataset.table) == (None, None, None)
    assert (dataset.kinds, dataset.form, dataset.account) == (None, FileFormat(), "survey")


def test_rows_are_a_unit_that_is_named(tmp_path: Path) -> None:
    """`unit = "row"` says what no unit says."""
    stated, untold = (loaded(tmp_path, SURVEY + line) for line in ('unit = "row"', ""))
    assert stated.datasets == untold.datasets


def test_whole_budget_needs_no_quotes(tmp_path: Path) -> None:
    """A whole number is exact as TOML writes it."""
    assert loaded(tmp_path, SURVEY + "budget = 3").datasets["survey"].budget == PureBudget(Fraction(3))


def test_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    """A file saved by an editor that puts a mark in front loads all the same."""
    path = tmp_path / FILE_NAME
    path.write_bytes(b"\xef\xbb\xbf" + SURVEY.encode())
    assert list(load_config(path).datasets) == ["survey"]


def test_data_sets_cannot_be_changed(configured: Config) -> None:
    """A budget cannot be raised behind the ledger's back."""
    with pytest.raises(TypeError):
        configured.datasets["survey"] = DatasetConfig("survey", Path("/x"))  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[ledgr]", ": ledgr: unknown table; did you mean ledger?"),
        ("colour = 1", ": colour: unknown key; known: ledger, datasets"),
        ("datasets = 3", ": datasets = 3: must be a table: write [datasets]"),
        ("[datasets]\nsurvey = 1", ": [datasets] survey = 1: must be a table: write [datasets.s"),
        ("[ledger]\nulr = 1", ": [ledger] ulr: unknown key; did you mean url?"),
        ("[ledger]\nurl = 3", ": [ledger] url = 3: must be a text in quotes"),
        (SURVEY + "budgte = 1", ": [datasets.survey] budgte: unknown key; did you mean budget?"),
        ("[datasets.survey]", ": [datasets.survey] source: is missing: add the file"),
        ("[datasets.survey]\nsource = 3", ": [datasets.survey] source = 3: must be a text"),
        ('[datasets.survey]\nsource = ""', ': [datasets.survey] source = "": must be a text'),
        (SURVEY + "budget = 0.3", ' budget = 0.3: is not exact: write it in quotes, budget = "0.3'),
        (SURVEY + 'budget = "-1"', ": [datasets.survey] budget must be "),
        (SURVEY + 'budget = "1e999"', "got '1e999'"),
        (SURVEY + "budget = 0", ": [datasets.survey] budget must be "),
        (SURVEY + "budget = true", ": [datasets.survey] budget must be "),
        (SURVEY + 'budget = ["2"]', ": [datasets.survey] budget must be "),
        (SURVEY + "size = -5", ": [datasets.survey] size = -5: must be a whole number above 0"),
        (SURVEY + "size = 0", " size = 0: must be a whole number above 0"),
        (SURVEY + "size = true", " size = true: must be a whole number above 0"),
        (SURVEY + "size = 10.0", " size = 10.0: must be a whole number above 0"),
        (SURVEY + 'size = "10"', ' size = "10": must be a whole number above 0, without quotes'),
        (SURVEY + "columns = []", " columns = []: must be a list of texts"),
        (SURVEY + 'columns = "age"', ' columns = "age": must be a list of texts'),
        (SURVEY + 'columns = ["age", 1]', ' columns = ["age", 1]: must be a list of texts'),
        (SURVEY + 'columns = ["a", "a"]', ' columns = ["a", "a"]: repeats an entry'),
        (SURVEY + "unit = 1979-05-27", ' unit = "1979-05-27": must be a text in quotes'),
        (SURVEY + "table = false", " table = false: must be a text in quotes"),
        (f"{SURVEY}unit = [{'1,' * 99}]", "1, 1,...: must be a text in quotes"),
        (SURVEY + 'kinds = "text"', ' kinds = "text": must be a table: write [datasets.survey.kinds]'),
        (SURVEY + "kinds = {a = 'int'}", '.kinds] a = "int": is no kind: write one of integer, real'),
        (SURVEY + "kinds = {a = 3}", ".kinds] a = 3: is no kind: write one of integer, real"),
        (SURVEY + "kinds = {a = ['date']}", '.kinds] a = ["date"]: is no kind: write one of integer'),
        (SURVEY + "kinds = {a = {}}", ".kinds] a = {}: kind must be one of integer, real"),
        (
            SURVEY + "kinds = {a = {kind = 'date', decimal = ','}}",
            '.kinds] a = {"kind": "date", "decimal": ","}: decimal belongs to a column of kind',
        ),
        (SURVEY + "kinds = {a = {kind = 'real', decimals = 2}}", "'decimals' is no part of a column's format"),
        (SURVEY + "encoding = 8", " encoding = 8: must be a text in quotes"),
        (SURVEY + 'encoding = "cp0"', ' encoding = "cp0": encoding must be one that Python knows'),
        (SURVEY + 'delimiter = ";;"', ' delimiter = ";;": delimiter must be one character'),
        (SURVEY + 'skip = "2"', ' skip = "2": must be a whole number, without quotes'),
        (SURVEY + "skip = true", " skip = true: must be a whole number, without quotes"),
        (SURVEY + "skip = -1", " skip = -1: skip must be from 0 to 1000 lines"),
        (SURVEY + 'account = "a\\nb"', ": [datasets.survey] account must be 1 to 200 printable"),
        (
            SURVEY + '[datasets.b]\nsource = "b"\naccount = "survey"',
            ": [datasets.survey] and [datasets.b] have one account, 'survey', in the ledger: give",
        ),
        ('[datasets."a/b"]', ": [datasets.'a/b']: a name consists of letters, digits, - and _"),
        ('[datasets."a\\nb"]', ": [datasets.'a\\nb']: a name consists of letters, digits, - and _"),
        ("[ledger]\nurl =", "at end of document"),
        ("[ledger]\n\nurl = x\n", "at line 3, column 7"),
        (f"x = {'9' * 5000}", " has a number that is too long, or brackets that are nested too deeply"),
        (f"x = {'[' * 5000}", " has a number that is too long, or brackets that are nested too deeply"),
    ],
)
def test_mistake_is_named_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    """Every mistake names file, table, key, value and remedy."""
    assert message in refusal(tmp_path, text)


def test_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """A missing file, a folder and a file of another encoding have different refusals."""
    with pytest.raises(ConfigError, match=r"cannot be read \(No such file.*`noisycount init`"):
        load_config(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match=r"cannot be read \("):
        load_config(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"# \xe9")
    with pytest.raises(ConfigError, match="not UTF-8 text"):
        load_config(tmp_path / "latin.toml")


def test_relative_ledger_lies_beside_the_configuration(tmp_path: Path) -> None:
    """The ledger does not move with the folder that a command is run in."""
    for text in (SURVEY, "", "[ledger]", '[ledger]\nurl = "sqlite:///ledger.db"'):
        found = loaded(tmp_path, text)
        assert found.ledger_url == f"sqlite:///{tmp_path}/ledger.db"
        assert found.ledger_file == tmp_path / "ledger.db"


def test_absolute_ledger_stays(tmp_path: Path) -> None:
    """An absolute SQLite file, with options, and a server keep their addresses."""
    for url in ("sqlite:////var/ledger.db?timeout=5", "postgresql+psycopg://user@host/name"):
        assert loaded(tmp_path, f'[ledger]\nurl = "{url}"').ledger_url == url


def test_ledger_on_a_server_has_no_file(tmp_path: Path) -> None:
    """Only SQLite keeps the ledger in a file."""
    found = loaded(tmp_path, '[ledger]\nurl = "postgresql://host/name"')
    assert found.ledger_file is None
    found.make_ledger_folder()


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///", "sqlite:///:memory:", "ledger.db", "mysql://me:secret@host/x"]
)
def test_ledger_that_would_not_last_is_refused(tmp_path: Path, url: str) -> None:
    """A ledger in memory forgets what was spent; and no message repeats a password."""
    message = refusal(tmp_path, f'[ledger]\nurl = "{url}"')
    assert message.startswith(": [ledger] url: is no address of a lasting ledger: write")
    assert "secret" not in message


def test_configuration_is_found_in_the_nearest_folder(tmp_path: Path) -> None:
    """The folder itself comes first, then the nearest above it."""
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    outer = write(tmp_path, "")
    assert find_config(deep) == outer
    inner = write(tmp_path / "a", "")
    assert find_config(deep) == inner
    assert find_config(tmp_path) == outer


@pytest.mark.parametrize(
    "make",
    [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("nowhere"), lambda path: path.symlink_to(path.name)],
    ids=["folder", "pipe", "dangling link", "link to itself"],
)
def test_what_is_no_file_of_that_name_is_not_passed_over(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """It may stand for a disk not mounted: another configuration has another budget."""
    write(tmp_path, "")
    inner = tmp_path / "inner"
    (inner / "deep").mkdir(parents=True)
    make(inner / FILE_NAME)
    for start in (inner, inner / "deep"):
        with pytest.raises(
            ConfigError, match=r"inner/noisycount\.toml is a folder, a pipe or a broken link, not a file: [^\n]+\Z"
        ):
            find_config(start)


def test_a_link_to_a_configuration_is_followed(tmp_path: Path) -> None:
    """A symbolic link to a configuration file counts as a configuration."""
    outer = write(tmp_path, "")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / FILE_NAME).symlink_to(outer)
    assert find_config(inner) == inner / FILE_NAME


def test_no_configuration_is_found_without_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No such file in any folder above is None."""
    monkeypatch.setattr(config_module, "FILE_NAME", f"{tmp_path.name}.toml")
    assert find_config(tmp_path) is None


def test_name_means_its_data_set(configured: Config) -> None:
    """A configured name is that data set, whatever files there are."""
    assert configured.dataset("survey") is configured.datasets["survey"]


def test_path_cannot_slip_past_a_budget(configured: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every way to write the configured file, links included, is the configured data set."""
    file = tmp_path / "data" / "survey.csv"
    (tmp_path / "soft.csv").symlink_to(file)
    os.link(file, tmp_path / "hard.csv")
    monkeypatch.chdir(tmp_path)
    for spelling in (file, "data/survey.csv", "./data/../data/survey.csv", "soft.csv", "hard.csv"):
        assert configured.dataset(str(spelling)) is configured.datasets["survey"]


def test_other_file_is_its_own_data_set(configured: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that nobody configured is booked under its resolved path, with the default ε."""
    monkeypatch.chdir(tmp_path / "data")
    expected = DatasetConfig(str(tmp_path / "other.csv"), tmp_path / "other.csv")
    assert configured.dataset("../other.csv") == expected
    assert expected.budget == DEFAULT_BUDGET


def test_missing_file_of_one_data_set_leaves_the_others(tmp_path: Path) -> None:
    """A configured file that is gone does not keep another file from being counted."""
    (tmp_path / "other.csv").write_text("age\n4\n")
    found = loaded(tmp_path, SURVEY)
    assert found.dataset(str(tmp_path / "other.csv")).name == str(tmp_path / "other.csv")


def test_file_of_several_data_sets_needs_a_name(configured: Config, tmp_path: Path) -> None:
    """Which budget pays must be said where one file has two."""
    file = tmp_path / "data" / "survey.csv"
    both = Config(None, "", {name: DatasetConfig(name, file) for name in ("first", "second")})
    with pytest.raises(ConfigError, match="several data sets: name first, second"):
        both.dataset(str(file))
    assert configured.dataset(str(file)).name == "survey"


@pytest.mark.parametrize("source", ["survay", "none.csv", "", "x" * 5000, "a\0b", "*.none", "*\0"])
def test_source_that_is_nothing_names_what_there_is(configured: Config, source: str) -> None:
    """Neither a name nor a file: the message names the data sets."""
    with pytest.raises(ConfigError, match=r"neither a file nor a data set: .*survey") as caught:
        configured.dataset(source)
    assert "\n" not in str(caught.value)


def test_without_file_the_user_has_a_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration: no data sets, and a ledger in the user's own folder, made on demand."""
    folder = tmp_path / "home" / "settings"
    monkeypatch.setattr("click.get_app_dir", lambda name: str(folder / name))
    default = default_config()
    assert (default.path, dict(default.datasets)) == (None, {})
    assert default.ledger_file == folder / "noisycount" / "ledger.db"
    assert not folder.exists()
    default.make_ledger_folder()
    default.make_ledger_folder()
    assert (folder / "noisycount").stat().st_mode & 0o777 == 0o700


def test_configured_folder_is_never_made(tmp_path: Path) -> None:
    """A ledger's folder that is missing may be a disk not mounted: no new ledger replaces it."""
    found = loaded(tmp_path, '[ledger]\nurl = "sqlite:///disk/ledger.db"')
    found.make_ledger_folder()
    assert not (tmp_path / "disk").exists()


def test_ledger_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    """A file in the way is one line with the folder and the remedy."""
    (tmp_path / "file").write_text("")
    blocked = Config(None, f"sqlite:///{tmp_path}/file/ledger.db", {})
    with pytest.raises(ConfigError, match=r"file cannot be made .*`noisycount init`"):
        blocked.make_ledger_folder()


def test_template_loads_as_it_stands(tmp_path: Path) -> None:
    """The file that `noisycount init` writes is a valid configuration."""
    found = loaded(tmp_path, TEMPLATE)
    assert found.datasets["survey"].unit == "person"
    assert found.ledger_file == tmp_path / "ledger.db"


def test_template_mentions_every_key(tmp_path: Path) -> None:
    """With its commented settings switched on, the template uses every key there is."""
    text = re.sub(r"^# (?=[\w.]+ = |\[datasets|\[server)", "", TEMPLATE, flags=re.MULTILINE)
    loaded(tmp_path, text)
    written = tomllib.loads(text)
    survey, visits, clinic = (set(written["datasets"][name]) for name in ("survey", "visits", "clinic"))
    assert survey | visits | clinic | {"tables"} == set(DATASET_KEYS)
    assert visits == {"source", *SERVER_KEYS}
    assert set(written["ledger"]) == {"url", "head"}
    assert set(written["server"]) == {part.name for part in fields(ServiceConfig)}


@pytest.mark.parametrize("link", ["loop", "loop/survey.csv"])
def test_source_that_leads_to_itself_is_refused(tmp_path: Path, link: str) -> None:
    """A circle of links is one line, whatever Python says of it."""
    (tmp_path / "loop").symlink_to("loop")
    message = refusal(tmp_path, f'[datasets.survey]\nsource = "{link}"')
    assert message == (f': [datasets.survey] source = "{link}": is a link to itself: name the file')


def test_source_with_a_nul_is_refused(tmp_path: Path) -> None:
    """No file has such a name."""
    message = refusal(tmp_path, '[datasets.survey]\nsource = "a\\u0000b"')
    assert message.endswith('"a\\u0000b": is no path of a file: leave the NUL character out')


def test_configuration_that_leads_to_itself_is_refused(tmp_path: Path) -> None:
    """It is named as a file that cannot be read."""
    (tmp_path / "loop.toml").symlink_to("loop.toml")
    with pytest.raises(ConfigError, match=r"loop\.toml cannot be read \(Too many"):
        load_config(tmp_path / "loop.toml")


def test_ledger_in_a_folder_that_is_not_utf8_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its address could not be written; the user's own folder is no exception."""
    folder = tmp_path / os.fsdecode(b"bad\xff")
    with suppress(OSError):  # some file systems have no such names, but a message all the same
        folder.mkdir()
        write(folder, SURVEY)
        with pytest.raises(ConfigError, match="has a path that is not UTF-8: rename its folder"):
            load_config(folder / FILE_NAME)
    monkeypatch.setattr("click.get_app_dir", lambda _: str(folder))
    with pytest.raises(ConfigError, match=r"bad.udcff/ledger\.db' has a path that is not UTF-8"):
        default_config()


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """A folder of two Parquet files, one of them a year below."""
    for place in ("visits/2025/a.parquet", "visits/b.pq"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(place)
    (tmp_path / "visits" / "notes.txt").write_text("none")
    return tmp_path / "visits"


@pytest.mark.parametrize("place", ["visits", "./visits/", "visits/**/*.p*", "link"])
def test_folders_and_patterns_are_data_sets(visits: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By whatever path or pattern their very files are named, they are the configured data set."""
    (visits.parent / "link").symlink_to(visits)
    monkeypatch.chdir(visits.parent)
    found = loaded(visits.parent, '[datasets.all]\nsource = "visits"')
    assert found.dataset(place) is found.datasets["all"]
    named = Config(None, "", {}).dataset(place)
    assert (named.name, named.source) == (str(Path(place).resolve()), Path(place).resolve())


@pytest.mark.parametrize("place", ["visits/b.pq", "visits/2025", "visits/*.pq", "."])
def test_a_part_of_a_data_set_has_no_budget_of_its_own(
    visits: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some files of a folder that is configured, beside others too, are paid for by its budget."""
    (visits.parent / "other.parquet").write_text("other")
    monkeypatch.chdir(visits.parent)
    found = loaded(visits.parent, '[datasets.all]\nsource = "visits"')
    with pytest.raises(ConfigError, match=r"has files of data set 'all', .*: name all"):
        found.dataset(place)
    text = f'[datasets.all]\nsource = "visits"\n[datasets.part]\nsource = "{place}"'
    assert "are the same records" in refusal(visits.parent, text)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('source = "data/survey.csv"', 'source = "data/../data/survey.csv"'),
        ('source = "data/survey.csv"', 'source = "hard.csv"'),
        ('source = "missing.csv"', 'source = "missing.csv"'),
        ('source = "data/survey.csv"', 'source = "data/survey.csv"\ntable = "visits"'),
        ('source = "a.db"\ntable = "visits"', 'source = "a.db"\ntable = "visits"'),
    ],
)
def test_one_set_of_records_has_one_budget(configured: Config, tmp_path: Path, first: str, second: str) -> None:
    """Two data sets of one file and one table are refused; the message names both."""
    os.link(configured.datasets["survey"].source, tmp_path / "hard.csv")
    text = f"[datasets.one]\n{first}\n[datasets.three]\nsource = 'b'\n[datasets.two]\n{second}\n"
    message = refusal(tmp_path, text)
    assert message.startswith(": [datasets.one] and [datasets.two] are the same records, '")
    assert message.endswith("with a budget each: keep one of them")


def test_tables_of_one_file_are_data_sets_of_their_own(tmp_path: Path) -> None:
    """A DuckDB file may hold the records of different persons."""
    text = "".join(f"[datasets.{name}]\nsource = 'a.db'\ntable = '{name}'\n" for name in "ab")
    assert list(loaded(tmp_path, text).datasets) == ["a", "b"]


def test_data_set_refuses_what_no_file_says(tmp_path: Path) -> None:
    """The values are checked where they are kept, too."""
    with pytest.raises(ConfigError, match=r"absolute path, got data\.csv"):
        DatasetConfig("survey", Path("data.csv"))
    with pytest.raises(ConfigError, match="size must be above 0, got 0"):
        DatasetConfig("survey", tmp_path, size=0)
    with pytest.raises(ConfigError, match=r"budget must be a decimal .*, got 0"):
        DatasetConfig("survey", tmp_path, budget=Fraction(0))


def test_files_of_one_size_and_time_are_different_files(configured: Config, tmp_path: Path) -> None:
    """A file is known by its place on the disk: a link to it is that file, and its twin is not."""
    survey, twin = tmp_path / "data" / "survey.csv", tmp_path / "other.csv"
    for path in (survey, twin):
        os.utime(path, ns=(10**18, 10**18))
    assert survey.stat().st_size == twin.stat().st_size
    (tmp_path / "link.csv").symlink_to(survey)
    assert configured.dataset(str(tmp_path / "link.csv")).name == "survey"
    assert configured.dataset(str(twin)).name == str(twin)
