"""Tests of `__main__.py` and `readers/options.py`."""

import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module
from importlib.metadata import version
from io import BytesIO, TextIOWrapper
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from noisycount import cli
from noisycount.cli.main import COMMANDS, STATUSES, QuotedBashComplete, main, noisycount
from noisycount.config.config import TEMPLATE, load_config
from noisycount.ledger.budget import PureBudget
from tests.helpers.commands import Refused, Run, configure

SCRIPT = Path(sys.executable).with_name("noisycount")


def test_every_command_of_the_folder_is_listed() -> None:
    """The static list of commands names those that the files of the folder have, each by its own name."""
    names = [module.name for module in pkgutil.iter_modules(cli.__path__) if module.name != "main"]
    found = [each for name in names for each in vars(import_module(f"{cli.__name__}.{name}")).items()]
    commands = [(name, each) for name, each in found if isinstance(each, click.Command)]
    inner = {id(part) for _, each in commands if isinstance(each, click.Group) for part in each.commands.values()}
    listed = [(name, each.name) for name, each in commands if id(each) not in inner]
    assert sorted(listed) == [(name, name) for name in sorted(COMMANDS)]


def test_help_lists_every_command_in_one_line(run: Run) -> None:
    """The help names each command with its summary on one line, and an example."""
    told = run("--help")
    assert (told.status, told.errors) == (0, "")
    lines = [" ".join(line.split()) for line in told.output.splitlines()]
    assert {f"{name} {summary}" for name, summary in COMMANDS.items()} <= set(lines)
    assert "Example:" in told.output


@pytest.mark.thorough
def test_the_package_can_be_run_as_a_module() -> None:
    """`python -m noisycount` is the command, also by the name that it has in help and refusals."""
    words = [sys.executable, "-m", "noisycount"]
    helped, refused = (
        subprocess.run([*words, *more], capture_output=True, text=True, check=False)  # noqa: S603 - our own words
        for more in (["plan", "--help"], ["plan", "--no-such-option"])
    )
    assert (helped.returncode, refused.returncode) == (0, 2)
    assert helped.stdout.startswith("Usage: noisycount plan ")
    assert refused.stderr.endswith("see `noisycount plan --help`\n")


BELOW = [*("ledger show", "ledger verify", "ledger export"), *("analysts add", "analysts revoke", "analysts list")]


@pytest.mark.parametrize("name", [*COMMANDS, *BELOW])
def test_every_command_explains_itself(run: Run, name: str) -> None:
    """The help of a command fits 80 columns and ends in an example of that very command."""
    told = run(*name.split(), "--help")
    assert (told.status, told.errors) == (0, "")
    assert max(map(len, told.output.splitlines())) <= 80
    assert re.search(rf"Example:\s+noisycount {name}\b", told.output)


@pytest.mark.parametrize("words", [(), ("ledger",), ("analysts",)])
def test_no_line_of_a_list_is_cut(run: Run, words: tuple[str, ...]) -> None:
    """Every command is described in a whole sentence."""
    _, listed = run(*words, "--help").output.split("Commands:\n")
    assert listed.count(".\n") >= 3
    assert "..." not in listed


@pytest.mark.parametrize("name", COMMANDS)
def test_the_two_helps_of_a_command_agree(run: Run, name: str) -> None:
    """The summary in the list is the first sentence of the command's own help."""
    own = run(name, "--help").words
    assert COMMANDS[name].rstrip(".").lower() in own.lower()


def test_version_is_that_of_the_package(run: Run) -> None:
    """`--version` is one line."""
    assert run("--version").output == f"noisycount {version('noisycount')}\n"


@pytest.mark.parametrize("words", [(), ("ledger",)])
def test_a_group_without_a_command_shows_its_help(run: Run, words: tuple[str, ...]) -> None:
    """Nothing was done, so the status says so, and the help goes to standard error."""
    told = run(*words)
    assert (told.status, told.output) == (2, "")
    assert told.errors.startswith("Usage: noisycount")


@pytest.mark.parametrize("words", [("cuont",), ("ledger", "shwo"), ("--frobnicate",)])
def test_an_unknown_word_leads_to_the_help(refused: Refused, words: tuple[str, ...]) -> None:
    """The message quotes the word and names the command whose help lists the right ones."""
    message = refused(*words)
    assert f"'{words[-1]}'" in message
    assert re.search(r"see `noisycount( ledger)? --help`$", message.strip())


@pytest.mark.parametrize(
    ("words", "meant"), [(("cuont",), "count"), (("ledger", "shwo"), "show"), (("hepl",), "known")]
)
def test_a_mistyped_command_is_guessed(refused: Refused, words: tuple[str, ...], meant: str) -> None:
    """The command that was meant, or all of them."""
    remedy = f"did you mean {meant}?" if meant != "known" else "known: demo, init, check, show, "
    assert f"No such command {words[-1]!r}: {remedy}" in refused(*words)


def test_a_source_that_is_missing_is_asked_for_by_name(run: Run, refused: Refused) -> None:
    """By the names of all that are configured."""
    assert "Missing argument 'SOURCE': name a data set of noisycount.toml or a file; see" in refused("show")
    run("init", "survey.parquet", "--unit", "person", "--name", "visits")
    assert "Missing argument 'SOURCE': name visits or a file; see `noisycount count --help`" in refused("count")


def options(command: click.Command, name: str) -> Iterator[tuple[tuple[str, ...], click.Option]]:
    """The words of every command in a group, with each of its options that takes a value."""
    context = click.Context(command)
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            assert below is not None
            yield from options(below, f"{name} {each}")
        return
    for option in command.params:
        if isinstance(option, click.Option) and not (option.is_flag or option.multiple):
            yield tuple(name.split()), option


OPTIONS = [(*words, option.opts[0]) for words, option in options(noisycount, "")]


@pytest.mark.parametrize("words", OPTIONS, ids=" ".join)
def test_no_option_silently_takes_the_last_value(refused: Refused, words: tuple[str, ...]) -> None:
    """Whatever takes one value refuses two, before anything is asked or written."""
    *command, option = words
    message = refused(*command, option, "1", f"{option}=2")
    assert f"{option} is given 2 times: give it once, and run the command again" in message
    assert message.endswith(f"; see `noisycount {' '.join(command)} --help`\n")


def test_a_question_is_never_dropped(refused: Refused) -> None:
    """Several are a table, a row each, in which none may stand twice."""
    words = ("count", "survey.parquet", "--epsilon", "0.1", "--unit", "row")
    where = ("--where", "age > 40", "--where", "age > 60", "--where", "age > 40")
    assert "where asks 'age > 40' twice: ask each question once" in refused(*words, *where)


@pytest.mark.parametrize(
    ("words", "status", "kind"),
    [
        (("--where", "age >"), 2, "usage"),
        (("--where", "age > 40", "--epsilon", "3"), 3, "budget"),
        (("--where", "age > 40", "--unit", "nobody"), 4, "source"),
        (("--where", "age > 40", "--config", "broken.toml"), 5, "ledger"),
    ],
)
def test_the_status_tells_what_refused(run: Run, here: Path, words: tuple[str, ...], status: int, kind: str) -> None:
    """2 for what was typed, 3 the budget, 4 the records, 5 the ledger; JSON says it too."""
    (here / "broken.toml").write_text('[ledger]\nurl = "sqlite:///survey.parquet"\n')
    price = () if "--epsilon" in words else ("--epsilon", "1")
    unit = () if "--unit" in words else ("--unit", "row")
    told = run("count", "survey.parquet", *words, *unit, *price)
    assert (told.status, told.output) == (status, "")
    also = run("count", "survey.parquet", *words, *unit, *price, "--json")
    assert (also.status, also.output, also.errors.count("\n")) == (status, "", 1)
    message = told.errors.removeprefix("error: ").strip()
    assert json.loads(also.errors) == {"error": message, "kind": kind, "status": status}


def completed(words: list[str], incomplete: str) -> list[tuple[str, str]]:
    """The kind and the text of each completion after some words."""
    shell = ShellComplete(noisycount, {}, "noisycount", "_NOISYCOUNT_COMPLETE")
    return [(item.type, item.value) for item in shell.get_completions(words, incomplete)]


@pytest.mark.parametrize(
    ("pieces", "meant"),
    [
        ("cou", ["count"]),
        ("count|survey|--where|hea", ["health"]),
        ("count|survey|--where|'health = ", ["health = '\\''poor'\\''", "health = '\\''a \"b\"'\\''"]),
        ("count|survey|--where|'health = '\\''po", ["poor'\\''"]),
        ('count|survey|--where|"health = ', ["health = 'poor'", "health = 'a \\\"b\\\"'"]),
        ('count|survey|--where|"age > 3 and \\"Si', ['age > 3 and \\"Size \\$\\"']),
        ("count|survey|--by|age,Si", ['age,\\"Size\\ \\$\\"']),
        ("count|survey|--keys|health|=", ["poor", 'a\\ \\"b\\"']),
        ("count|survey|--keys|health|=|poor,a", ['poor,a\\ \\"b\\"']),
        ("count|survey|--by|=|hea", ["health"]),
        ("count|survey|--keys|hea", ["health="]),
    ],
)
def test_bash_completes_within_quotes_and_behind_its_breaks(
    here: Path, monkeypatch: pytest.MonkeyPatch, pieces: str, meant: list[str]
) -> None:
    """Bash reads the completed piece of a word as the value that is meant."""
    kinds = 'kinds = { age = "integer", health = "text", "Size $" = "real" }'
    configure(here, f'unit = "row"\n{kinds}\nvalues = {{ health = ["poor", \'a "b"\'] }}')
    words = ["noisycount", *pieces.split("|")]
    monkeypatch.setenv("COMP_WORDS", "\n".join(words))
    monkeypatch.setenv("COMP_CWORD", f"{len(words) - 1}")
    shell = QuotedBashComplete(noisycount, {}, "noisycount", "_NOISYCOUNT_COMPLETE")
    assert shell.complete().splitlines() == [f"plain,{each}" for each in meant]


def test_bash_keeps_what_its_quotes_need() -> None:
    """The words of Click that are put right are still there."""
    source = QuotedBashComplete(noisycount, {}, "noisycount", "_NOISYCOUNT_COMPLETE").source()
    assert "read -r type value" in source
    assert 'COMPREPLY+=("$value")' in source
    assert source.count("[[ $value == *= ]] && compopt -o nospace") == 1


def test_a_shell_completes_commands_and_names(here: Path) -> None:
    """Commands, options, data sets of the configuration beside files, and analysts."""
    configure(here, "[analysts.alice]\n[analysts.bob]")
    assert completed([], "co") == [("plain", "count"), ("plain", "copies")]
    assert completed(["ledger"], "sh") == [("plain", "show")]
    assert completed(["count"], "su") == [("file", "su"), ("plain", "survey")]
    assert completed(["count"], "postgresql://ward@db/clinic#vis") == []
    assert completed(["show"], "") == [("file", ""), ("plain", "survey")]
    assert completed(["plan", "--dataset"], "s") == [("file", "s"), ("plain", "survey")]
    assert completed(["count", "survey", "--analyst"], "") == [("plain", "alice"), ("plain", "bob")]
    assert ("plain", "--dry-run") in completed(["count", "survey"], "--d")
    (here / "noisycount.toml").write_text("broken")
    assert completed(["count"], "su") == [("file", "su")]


VALUES = '[datasets.survey.values]\nhealth = ["poor", "fair", "good", "it\'s bad"]\nplan = [1, 11]\nage = "0 to 120"\n'


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("option", "incomplete", "meant"),
    [
        ("--where", "he", ["health"]),
        ("--where", "HE", ["health"]),
        ("--where", "age > 3 and (not h", ["age > 3 and (not health", "age > 3 and (not hospital_admissions"]),
        ("--where", "not med", ["not medical_spending"]),
        ("--where", "nu", ["number(health)"]),
        ("--where", "age > 3 and DAT", ["age > 3 and date(health)"]),
        ("--where", "number(he", ["number(health"]),
        ("--where", "co", ["coinsurance", "count("]),
        ("--where", "any(he", ["any(health"]),
        ("--where", "first(year where he", ["first(year where health"]),
        ("--where", "health h", []),
        ("--where", "health = ", [f"health = {value}" for value in ("'poor'", "'fair'", "'good'", "'it''s bad'")]),
        ("--where", "age = 3 and Health<>'P", ["age = 3 and Health<>'poor'"]),
        (
            "--where",
            "health = 'poor' or health not in ('fair', 'g",
            ["health = 'poor' or health not in ('fair', 'good'"],
        ),
        ("--where", "plan = 1", ["plan = 1", "plan = 11"]),
        ("--where", "age = 1", []),
        ("--by", "site,he", ["site,health"]),
        ("--keys", "health=poor,f", ["health=poor,fair"]),
        ("--keys", "pla", ["plan="]),
    ],
)
def test_a_shell_completes_columns_and_their_public_values(
    run: Run, here: Path, option: str, incomplete: str, meant: list[str]
) -> None:
    """Of the named data set, as the ledger has it written down; no record is read."""
    configure(here, f'unit = "person"\n{VALUES}')
    run("check", "survey")
    (here / "survey.parquet").write_bytes(b"no records")
    assert completed(["count", "survey", option], incomplete) == [("plain", text) for text in meant]


def test_a_shell_completes_what_a_configuration_says(here: Path) -> None:
    """Before anything is written down; what cannot be read completes nothing, and makes no ledger."""
    configure(here, f'unit = "person"\ncolumns = ["health", "plan"]\n{VALUES}')
    assert completed(["count", "survey", "--by"], "") == [("plain", "health"), ("plain", "plan")]
    assert completed(["count", "survey", "--where"], "health = 'p") == [("plain", "health = 'poor'")]
    assert completed(["count", "nowhere.csv", "--where"], "h") == []
    assert completed(["count", "--epsilon", "1", "survey", "--where"], "h") == [("plain", "health")]
    assert completed(["count", "--where"], "h") == []
    configure(here, '[datasets.survey.values]\nhealth = "poor"')
    assert completed(["count", "survey", "--where"], "h") == []
    assert not (here / "ledger.db").exists()


def test_the_help_tells_how_to_complete(run: Run) -> None:
    """And what each exit status means."""
    told = run("--help").output
    assert 'eval "$(_NOISYCOUNT_COMPLETE=bash_source noisycount)"' in told
    assert all(f"{status}  " in told for status in (2, *STATUSES.values()))


ENGINES = {"duckdb", "sqlglot", "sqlalchemy", "altair", "resvg_py"}
OF_NUMPY = {"numpy", "scipy", "rich", "noisycount.model", "noisycount.release"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        (["--help"], ENGINES | OF_NUMPY),
        (["refine", "107", "--size", "5912", "--rate", "1.7%", "--epsilon", "1"], {"scipy"}),
        (["plan", "--within", "20%", "--guess", "100"], {"scipy"}),
        (["risk", "--size", "1000", "--rate", "10%", "--price", "0.15"], {"scipy"}),
    ],
    ids=["help", "refine", "plan", "risk"],
)
def test_what_asks_no_records_imports_nothing_heavy(words: list[str], heavy: set[str]) -> None:
    """No engine, database, parser or chart; the help starts without NumPy, questions and Rich."""
    code = (
        "import sys; from noisycount.cli.main import noisycount\n"
        f"noisycount.main({words}, standalone_mode=False)\n"
        f"print('loaded', *sorted(set(sys.modules) & {ENGINES | heavy}))"
    )
    told = subprocess.run(  # noqa: S603  (our own interpreter and code)
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert told.stdout.splitlines()[-1] == "loaded"


@pytest.mark.thorough
def test_the_installed_command_answers(here: Path) -> None:
    """The script on the path counts, says so again for free, and refuses with status 2."""
    count = [SCRIPT, "count", "survey.parquet", "--unit", "row", "--where", "age > 40", "--epsilon"]
    answers = [
        subprocess.run([*count, "0.5"], cwd=here, check=True, capture_output=True, text=True)  # noqa: S603  (our own command)
        for _ in range(2)
    ]
    assert "charged 0.5; 1.5 of 2 left" in answers[0].stdout
    assert "charged nothing: this was asked before; 1.5 of 2 left" in answers[1].stdout
    refusal = subprocess.run([*count, "0"], cwd=here, check=False, capture_output=True, text=True)  # noqa: S603  (our own command)
    assert (refusal.returncode, refusal.stdout) == (2, "")
    assert refusal.stderr.startswith("error: ")


@pytest.mark.thorough
def test_a_count_that_misses_its_tick_is_told_at_a_later_one(here: Path) -> None:
    """It is charged once and printed, without any other text."""
    count = ("count", "survey.parquet", "--unit", "row", "--where", "age > 40", "--epsilon", "0.5")
    words = [SCRIPT, *count, "--slot", "0.001"]
    told = subprocess.run(words, cwd=here, check=False, capture_output=True, text=True)  # noqa: S603  (our own command)
    assert (told.returncode, told.stderr) == (0, "")
    assert "1.5 of 2 left" in told.stdout


@pytest.mark.thorough
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("encoding", ["ascii", "latin1", "cp1252"])
def test_a_stream_that_is_not_utf8_shows_every_digit(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that was paid for is told, with names for lost signs, and JSON is exact."""
    where = ("--where", "health <> '−'")
    count = ("count", "survey.parquet", "--unit", "row", *where, "--epsilon", "0.5")

    def told(*words: str) -> str:
        streams = [TextIOWrapper(BytesIO(), encoding=encoding) for _ in range(2)]
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["noisycount", *words])
            patch.setattr(sys, "stdout", streams[0])
            patch.setattr(sys, "stderr", streams[1])
            with pytest.raises(SystemExit) as end:
                main()
        for stream in streams:
            stream.seek(0)
        assert (end.value.code, streams[1].read()) == (0, "")
        return streams[0].read()

    answer = json.loads(told(*count, "--json"))
    assert answer["where"] == "health <> '−'"
    shown = f"{answer['answer']:,} "
    again = told(*count)
    assert re.search(rf"^answer +{shown}", again, re.MULTILINE)
    assert "epsilon = 0.5: a 50:50 guess" in again
    assert "?" not in again
    assert f" {shown}" in told("ledger", "show")
    (entry,) = json.loads(told("ledger", "show", "--json"))["entries"]
    assert entry["answer"] == answer["answer"]
    assert "The answer: " in told("demo")
    plan = told("plan", "--within", "20%", "--guess", "100")
    assert "discrete Laplace" in plan
    assert plan.count("o") - re.sub(r"^[ o]+$", "", plan, flags=re.MULTILINE).count("o") == 50
    assert "?" not in plan


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_answer_that_cannot_be_printed_is_one_line(here: Path) -> None:
    """If standard output is full, a single line states that paid answers are kept."""
    words = [SCRIPT, "plan", "--within", "20%", "--guess", "100"]
    with Path("/dev/full").open("w") as full:
        told = subprocess.run(  # noqa: S603  (our own command)
            words, cwd=here, check=False, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert told.returncode == 2
    assert told.stderr.count("\n") == 1
    assert "an answer that was paid for is kept" in told.stderr


def test_the_ledger_shows_every_debit(run: Run, here: Path) -> None:
    """Debits, answers and what is left, for people and for machines; budgets add up exactly."""
    configure(here, 'budget = "1"')
    prices = ["1/3", "0.1", "0.25"]
    answers = [
        run("count", "survey", "--where", f"year = {year}", "--epsilon", price, "--json").object
        for year, price in enumerate(prices, start=1)
    ]
    told = run("ledger", "show", "--json").object
    assert [entry["epsilon"] for entry in told["entries"]] == prices
    assert [entry["answer"] for entry in told["entries"]] == [each["answer"] for each in answers]
    (survey,) = told["datasets"]
    assert Fraction(survey["spent"]) == sum(map(Fraction, prices))
    assert Fraction(survey["spent"]) + Fraction(survey["remaining"]) == Fraction(survey["budget"])
    shown = run("ledger", "show").output
    for part in ("ledger: ledger.db", "survey", "41/60", "19/60", "year = 3", "1/3"):
        assert part in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_an_unused_ledger_is_not_made(run: Run, here: Path) -> None:
    """To show what was never asked says so, and makes no file."""
    configure(here)
    assert "nothing was asked yet" in run("ledger", "show").output
    told = run("ledger", "show", "--json").object
    assert told["entries"] == []
    assert told["datasets"] == [{"dataset": "survey", "budget": "2", "spent": "0", "spent_rho": "0", "remaining": "2"}]
    assert not (here / "ledger.db").exists()


def test_a_configuration_to_start_from(run: Run, here: Path) -> None:
    """`init` writes the commented template, which loads as it stands."""
    told = run("init")
    assert (told.status, told.errors) == (0, "")
    assert told.output.startswith("wrote noisycount.toml\n")
    assert (here / "noisycount.toml").read_text(encoding="utf-8") == TEMPLATE
    assert load_config(here / "noisycount.toml").datasets["survey"].budget == PureBudget(Fraction(2))


def test_init_takes_a_folder(run: Run, here: Path) -> None:
    """The folder is named, and must exist."""
    (here / "project").mkdir()
    assert "wrote project/noisycount.toml" in run("init", "project").output
    assert (here / "project" / "noisycount.toml").is_file()


def test_init_overwrites_nothing(run: Run, refused: Refused) -> None:
    """A second `init` is refused and the first file stays."""
    assert run("init").status == 0
    assert "noisycount.toml exists already: edit it, add a data set by --add, or remove" in refused("init")
    message = refused("init", "nowhere")
    assert re.search(r"nowhere/noisycount\.toml cannot be written \(No such file", message)
