import re
import tomllib
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import pytest

from noisycount.config.config import TEMPLATE, Config, load_config
from noisycount.config.service import ALGORITHMS, ServiceConfig
from noisycount.config.tables import GROUP_KEYS
from noisycount.engines.formats import ColumnFormat, date_pattern
from noisycount.errors import ConfigError
from noisycount.query.schema import KINDS
from tests.helpers.reference_pages import blocks, rows, section, text

PAGE = "configuration.md"

HEADING = ("line", "default", "meaning")
SURVEY = '[datasets.survey]\nsource = "survey.parquet"\n'
CLINIC = '[datasets.clinic]\nunit = "patient"\n'
SERVER = '[datasets.survey]\nsource = "postgresql://host/clinic#visits"\n'
OIDC = '[server.oidc]\nissuer = "https://login.example.org"\naudience = "noisycount"\n'
ANA = '[server.oidc.analysts.ana]\nsubject = "1"\n'
TEXTS = '[datasets.survey]\nsource = "survey.csv"\n'
BASES = {  # what a file needs before a table, its heading, and what it needs in it
    "ledger": ("[ledger]\n", ""),
    "datasets.NAME": ("[datasets.survey]\n", 'source = "survey.parquet"\n'),
    "datasets.NAME.tables.NAME": (
        f'{CLINIC}tables.patients.source = "patients.csv"\n[datasets.clinic.tables.visits]\n',
        'source = "visits.csv"\n',
    ),
    "kinds": (f"{TEXTS}[datasets.survey.kinds.cost]\n", 'kind = "text"\n'),
    "budgets": (f"{SURVEY}[datasets.survey.budget]\n", ""),
    "analysts.NAME": ("[analysts.ana]\n", ""),
    "server": ("[server]\n", ""),
    "server.oidc": ("[server.oidc]\n", 'issuer = "https://a.example"\naudience = "a"\nanalysts.ana.subject = "1"\n'),
    "server.oidc.analysts.NAME": (f"{OIDC}[server.oidc.analysts.ana]\n", 'subject = "1"\n'),
}
BESIDE = {
    ("datasets.NAME", "tables"): 'unit = "patient"',
    ("datasets.NAME", "persons"): 'unit = "patient"\ntables.patients.source = "patients.csv"',
    ("datasets.NAME.tables.NAME", "key"): 'through = "patients.visit_id"',
    ("datasets.NAME.tables.NAME", "public"): 'on = "patients.ward_id"',
    ("datasets.NAME.tables.NAME", "on"): "public = true",
    ("kinds", "decimal"): 'kind = "real"',
    **{("kinds", part): 'kind = "real"' for part in ("thousands", "symbols", "brackets", "minus_behind", "nan")},
    ("kinds", "date_format"): 'kind = "date"',
    ("kinds", "true"): 'kind = "boolean"\nfalse = ["nein"]',
    ("kinds", "false"): 'kind = "boolean"\ntrue = ["ja"]',
    ("budgets", "epsilon"): 'delta = "1e-6"',
    ("budgets", "delta"): 'epsilon = "2"',
    ("budgets", "for_keys"): 'epsilon = "2"\ndelta = "1e-6"',
    ("server", "oidc"): 'oidc.issuer = "https://a.example"\noidc.analysts.ana.subject = "1"',
}
OF_ALL_TABLES = {*GROUP_KEYS, "size", "account", "budget", "why", "purpose"}
OF_SERVERS = ("timeout", "indexes", "edition")


class Key(NamedTuple):
    """A key of a table, as the page describes it."""

    name: str
    line: str  # an example
    default: str
    meaning: str


def keys(table: str) -> list[Key]:
    """Return the keys of a table."""
    part = section(PAGE, table)
    return [Key(re.split(r"\W", row[0])[0], *row) for row in rows(part.partition("\n### ")[0], *HEADING)]


CASES = [(table, row) for table in BASES for row in keys(table)]


def loaded(folder: Path, content: str) -> Config:
    """The configuration that a text says."""
    path = folder / "noisycount.toml"
    path.write_text(content, encoding="utf-8")
    return load_config(path)


def refusal(folder: Path, content: str) -> str:
    """Return the refusal of a configuration, without the name of the file."""
    with pytest.raises(ConfigError) as caught:
        loaded(folder, content)
    return str(caught.value).removeprefix(f"{folder / 'noisycount.toml'}: ")


def based(table: str, key: str, line: str) -> str:
    """A file that loads, with a line in a table of it."""
    before, needed = BASES[table]
    also = BESIDE.get((table, key), "")
    if key in OF_SERVERS:
        also = 'source = "postgresql://host/clinic#visits"'
    said = {*tomllib.loads(line), *tomllib.loads(also)} | ({"source"} if key in GROUP_KEYS else set())
    kept = [each for each in needed.splitlines() if not said & {*tomllib.loads(each)}]
    return before + "\n".join([*kept, also, line, ""])


@pytest.mark.parametrize("table", BASES)
def test_keys_are_those_that_the_loader_knows(tmp_path: Path, table: str) -> None:
    """The loader names all keys of a table where it is given another one."""
    told = refusal(tmp_path, based(table, "", "zzzzzzzz = 1"))
    known = re.search(r"(?:unknown key; known: |a column's format: use )(.+)$", told)
    assert known is not None, told
    also = {"kind", "unreadable"} if table == "kinds" else set()
    listed = [row.name for row in keys(table)]
    if table == "datasets.NAME.tables.NAME":
        listed += {row.name for row in keys("datasets.NAME")} - {*listed, *OF_ALL_TABLES}
    assert sorted(listed) == sorted({*known[1].split(", "), *also})


def test_tables_are_those_that_the_loader_knows(tmp_path: Path) -> None:
    """The page lists exactly the top-level tables that the loader accepts."""
    known = refusal(tmp_path, "zzzzzzzz = 1\n").rpartition("known: ")[2].split(", ")
    tables = [re.split(r"\W", row[0].strip("["))[0] for row in rows(text(PAGE), "table", "content")]
    assert tables == known


@pytest.mark.parametrize(("table", "row"), CASES, ids=[f"{t}-{row.name}" for t, row in CASES])
def test_examples_load(tmp_path: Path, table: str, row: Key) -> None:
    """The line of each key can stand in its table; with a value of another type it cannot."""
    key, line = row.name, row.line
    assert loaded(tmp_path, based(table, key, line))
    name = line.partition(" = ")[0]
    assert refusal(tmp_path, based(table, key, f"{name} = [[]]"))


TYPED = [(table, row) for table, row in CASES if row.meaning.startswith("*")]


@pytest.mark.parametrize(("table", "row"), TYPED, ids=[f"{t}-{row.name}" for t, row in TYPED])
def test_types_are_those_of_the_examples(table: str, row: Key) -> None:
    """If a value has one of several types, the page names them, and its example has one."""
    assert table in BASES
    value = next(iter(tomllib.loads(row.line).values()))
    names = {str: "text", bool: "boolean", int: "integer", float: "real", dict: "table"}
    types = re.split(r", | or ", row.meaning.split("*")[1])
    assert len(types) > 1
    assert (names.get(type(value)) or "list of texts") in types


def test_defaults_of_the_service_are_those_of_the_code() -> None:
    """Each key of `[server]`, with what holds without it."""
    usual = ServiceConfig()
    said = {row.name: row.default for row in keys("server") if row.name != "oidc"}
    assert set(said) == {each.name for each in fields(ServiceConfig)} - {"oidc"}
    for key, default in said.items():
        value = tomllib.loads(f"value = {default}")["value"]
        value = tuple(value) if isinstance(value, list) else value
        assert (type(value), value) == (type(getattr(usual, key)), getattr(usual, key))


def test_defaults_of_a_data_set_and_the_ledger(tmp_path: Path) -> None:
    """A file that says next to nothing says what the page tells."""
    found = loaded(tmp_path, SURVEY)
    survey = found.datasets["survey"]
    said = {row.name: row.default for table in ("ledger", "datasets.NAME") for row in keys(table)}
    assert found.ledger_url == f"sqlite:///{tmp_path / tomllib.loads('a = ' + said['url'])['a'][10:]}"
    assert (found.known_head, survey.size, survey.columns) == (None, None, None)
    assert (f'"{survey.unit}"', survey.account) == (said["unit"], "survey")
    assert f'"{survey.budget.written}"' == said["budget"]
    assert (survey.needs_purpose, found.analysts) == (False, {})
    served = loaded(tmp_path, SERVER).datasets["survey"].source
    assert not isinstance(served, Path)
    assert (str(served.seconds), served.uses_indexes, served.edition) == (
        *(said["timeout"], said["indexes"] != "false", None),
    )


def test_defaults_of_tokens(tmp_path: Path) -> None:
    """Algorithms, claim and role, and the algorithms that there are."""
    found = loaded(tmp_path, f"{OIDC}{ANA}").service.oidc
    assert found is not None
    said = {row.name: row[2:4] for t in ("server.oidc", "server.oidc.analysts.NAME") for row in keys(t)}
    assert list(found.algorithms) == tomllib.loads(f"a = {said['algorithms'][0]}")["a"]
    assert re.findall(r"\w+", said["algorithms"][1]) == list(ALGORITHMS)
    assert (f'"{found.claim}"', found.keys) == (said["claim"][0], None)
    (ana,) = found.analysts.values()
    assert (f'"{ana.role}"', ana.datasets) == (said["role"][0], ())


def test_kinds_and_directives_are_those_of_the_code() -> None:
    """The kinds of columns, and the directives of their dates."""
    said = {row.name: row.meaning for row in keys("kinds")}
    assert re.findall(r'"(\w+)"', said["kind"]) == [*KINDS]
    for directive in re.findall(r"%\w", said["date_format"]):
        assert date_pattern(directive)
    assert set(ColumnFormat.__slots__) - {"accepts_unreadable"} == set(said) - {"unreadable"}


@pytest.mark.parametrize("content", blocks(text(PAGE), "toml noisycount.toml"))
def test_files_of_the_page_load(tmp_path: Path, content: str) -> None:
    """Every file that the page shows can be used as it stands."""
    assert loaded(tmp_path, content).datasets


REFUSALS = [
    (
        "datasets.survey",
        "budget = 0.3",
        '[datasets.survey] budget = 0.3: is not exact: write it in quotes, budget = "0.3"',
    ),
    (
        "datasets.survey",
        "timeout = 60",
        "[datasets.survey] timeout = 60: applies to tables of servers only: leave timeout out",
    ),
    (
        "datasets.survey",
        'purpose = "maybe"',
        '[datasets.survey] purpose = "maybe": must be "required", or be left out',
    ),
    ("ledger", 'url = "sqlite://"', '[ledger] url: is no address of a lasting ledger: write "sqlite:///ledger.db"'),
    ("server", "rate = 0", "[server] rate = 0: must be a whole number above 0, without quotes, or be left out"),
]


@pytest.mark.parametrize(("table", "line", "message"), REFUSALS)
def test_a_wrong_line_is_refused_with_its_fault(tmp_path: Path, table: str, line: str, message: str) -> None:
    """Each line is refused in these words."""
    name = "datasets.NAME" if table.startswith("datasets") else table
    assert refusal(tmp_path, based(name, "", line)) == message


def test_budgets_are_exact(tmp_path: Path) -> None:
    """A text, an integer and a table are what they say."""
    for written, epsilon in (('"1/3"', Fraction(1, 3)), ("1", Fraction(1))):
        budget = loaded(tmp_path, f"{SURVEY}budget = {written}\n").datasets["survey"].budget
        assert Fraction(str(budget.written)) == epsilon
    half = loaded(tmp_path, SURVEY + 'budget = { epsilon = "2", delta = "1e-6" }\n')
    assert "5e-07 of it for keys" in half.datasets["survey"].budget.text


def test_every_key_of_the_template_is_on_the_page() -> None:
    """Whatever `noisycount init` writes, also behind a mark of a comment, stands here."""
    said = {row.name for table in BASES for row in keys(table)} | {"ledger", "datasets", "analysts"}
    said |= {"patients", "visits", "labs", "notes", "wards"}  # names of tables
    found = set(re.findall(r"(?m)^(?:# *)?(\w+)(?:\.\w+)* = ", TEMPLATE))
    assert len(found) > 15
    assert found <= said
