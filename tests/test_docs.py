"""Whatever the pages show is executed, and whatever they name is there."""

import json
import math
import re
import shlex
import tomllib
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import click
import numpy as np
import pytest

from noisycount import DiscreteGaussian, DiscreteLaplace
from noisycount.cli.main import COMMANDS, noisycount
from noisycount.config.config import load_config
from noisycount.ledger.budget import budget_from
from noisycount.model.tables.combined import prefix_errors
from noisycount.model.tables.levels import cell_level, range_levels, shares
from noisycount.query.query import Query
from noisycount.query.schema import Kind
from noisycount.release.dataset import AvailableBudget
from noisycount.release.query_plan import plan_of
from tests.helpers.transcripts import BUILT, PROJECT, Reader, blocks, blocks_of, page_name, pages, transcripts

PAGES = pages() if (PROJECT / "docs").is_dir() else []
DOCS = PROJECT / "docs"
LLMS = DOCS / "llms.txt"
HOUSE = PROJECT / "docs/contributing.md"
WITH_A_SERVER = {
    "docs/how-to/servers.md": "tests/test_servers_page.py",
    "docs/how-to/upgrade.md": "tests/test_upgrade_page.py",
}
"""Pages whose commands need a server or a ledger, and the test that runs them with it."""

SLOW = {
    "docs/start/python.md",
    "docs/how-to/troubleshooting.md",
    "docs/how-to/disclosure.md",
    "docs/how-to/tables.md",
    "docs/how-to/persons.md",
    "docs/mathematics/posteriors.md",
}
"""Pages that take about a second or more, which a fast run leaves out."""

ELSEWHERE = {"source.py", "under_test.py", "interface.py", "./.tmp"}  # in any room; where an engine ran
ROOMS = [PROJECT, PROJECT / "src/noisycount"]
PATH = re.compile(r"`([\w./-]+\.(?:py|md|css)|[\w.-]*[a-z][\w.-]*/[\w./-]*|LICENSE)`")
LINK = re.compile(r"\]\((?!\w+:)([^()\s#]*)(?:#([^()\s]*))?[^()]*\)")

every_page = pytest.mark.parametrize("page", PAGES, ids=page_name)
pytestmark = pytest.mark.skipif(not PAGES, reason="the tests run outside the project's folder")


def runs(page: Path) -> bool:
    """Return True if a page has a block that is executed here."""
    found = blocks(page.read_text(encoding="utf-8"))
    return any(block.name or block.is_session or block.language == "console" for block in found)


def _marked(page: Path) -> object:
    return pytest.param(page, marks=pytest.mark.thorough if page_name(page) in SLOW else ())


@pytest.mark.parametrize("page", [*map(_marked, filter(runs, PAGES))], ids=page_name)
def test_the_page_is_executed(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Copied in order in a fresh clone, each block gives what stands there, but for noise."""
    reader = Reader.fresh(tmp_path, monkeypatch, capsys)
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language != "console" or page_name(page) not in WITH_A_SERVER:
            reader.copy(block)


def test_pages_with_servers_have_a_test_of_their_own() -> None:
    """Which names the page."""
    for page, test in WITH_A_SERVER.items():
        assert page in (PROJECT / test).read_text(encoding="utf-8")


@every_page
def test_every_configuration_is_one(page: Path, tmp_path: Path) -> None:
    """Each block that is `noisycount.toml` loads; each other one of TOML or JSON can be read."""
    for block in blocks_of(page, "toml"):
        tomllib.loads(block.text)
        if block.name == "noisycount.toml":
            (tmp_path / block.name).write_text(block.text, encoding="utf-8")
            load_config(tmp_path / block.name)
    for block in blocks_of(page, "json"):
        if block.name:
            json.loads(block.text)


def typed(page: Path) -> Iterator[list[str]]:
    """The words of each command of noisycount that a page shows and does not run."""
    for block in blocks_of(page, "sh"):
        for line in block.text.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["noisycount"]:
                yield words[1:]


def command_of(words: list[str]) -> click.Command:
    """The command that words of a line begin with, or its part."""
    command = noisycount.get_command(click.Context(noisycount), words[0])
    assert command is not None
    if isinstance(command, click.Group) and len(words) > 1:
        return command.commands.get(words[1], command)
    return command


@every_page
def test_commands_that_are_not_run_are_commands(page: Path) -> None:
    """Each is there, and has the options that stand with it."""
    for words in typed(page):
        if words[0].startswith("-"):
            continue
        assert words[0] in COMMANDS
        known = {name for each in command_of(words).params for name in each.opts} | {"--help"}
        assert {word.split("=")[0] for word in words if word.startswith("--")} <= known


def test_every_command_is_shown() -> None:
    """The pages show each command at work."""
    shown = [block for page in PAGES for block in blocks_of(page, "console")]
    commands = [command for block in shown for command, _ in transcripts(block.text)]
    assert {command.split()[1] for command in commands} >= set(COMMANDS)


def test_every_extra_is_told() -> None:
    """The table of the page of installation has those of the package, and no other."""
    described = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    table = (DOCS / "start/install.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert told == sorted(described["project"]["optional-dependencies"])


def test_every_room_is_shown() -> None:
    """The tree of the house has the folders of the source on two levels, and no other."""
    trees = [block.text for block in blocks_of(HOUSE, "text") if "src/noisycount/" in block.text]
    (tree,) = trees
    source, shown, room = PROJECT / "src/noisycount", set(), ""
    for indent, name in re.findall(r"^(  |    )(\w+)/", tree, re.MULTILINE):
        room = name if indent == "  " else room
        shown.add(name if indent == "  " else f"{room}/{name}")
    folders = {path.parent.relative_to(source).as_posix() for path in source.rglob("__init__.py")}
    assert shown == {folder for folder in folders if folder.count("/") < 2} - {"."}


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    text = page.read_text(encoding="utf-8")
    for block in blocks(text):
        text = text.replace(block.text, "\n") if block.language != "{note}" else text
    return text


def anchors(page: Path) -> set[str]:
    """Return the names of a page's headings, as GitHub and Sphinx write them."""
    found = re.findall(r"^#+ +(.*?) *$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def is_there(page: Path, link: str, anchor: str) -> bool:
    """Return True if the target of a link exists."""
    target = page.parent / link if link else page
    if anchor and target.suffix == ".md" and target.is_file():
        return anchor in anchors(target)
    return target.exists()


def is_ours(path: str) -> bool:
    """Return True if a path looks like a path of this project, unlike `application/json`."""
    first, _, rest = path.partition("/")
    return not rest or path.endswith("/") or any((place / first).exists() for place in ROOMS)


def lost(page: Path) -> list[str]:
    """The files, folders and headings that a page links or names, and that are not there.

    A test without its folder lies in a folder that is named, or beside a file that is.
    """
    text = prose(page)
    links = [f"{link}#{at}" if at else link for link, at in LINK.findall(text)]
    gone = {each for each in links if not is_there(page, *f"{each}#".split("#")[:2])}
    made = {block.name for block in blocks(page.read_text(encoding="utf-8"))}
    paths = {path for path in PATH.findall(text) if is_ours(path)} - ELSEWHERE - made
    named = {PROJECT / path for path in paths if "/" in path}
    beside = {path if path.is_dir() else path.parent for path in named}
    for path in paths:
        places = [*ROOMS, *(beside if path.startswith("test_") else ())]
        gone |= set() if any((place / path).exists() for place in places) else {path}
    return sorted(gone)


@pytest.mark.parametrize("page", [*PAGES, PROJECT / "audits/README.md"], ids=page_name)
def test_every_file_that_is_named_exists(page: Path) -> None:
    """Links, pictures and paths of the pages lead somewhere."""
    assert lost(page) == []


def test_a_lost_file_is_found(tmp_path: Path) -> None:
    """Links and paths that lead nowhere are reported, and no others."""
    page = tmp_path / "page.md"
    page.write_text(
        "# A `b`, c\n`tests/conftest.py` `model/laws/` `text/html` [a](page.md#a-b-c) [c](https://c.org/c.md)"
    )
    assert lost(page) == []
    page.write_text("`test_slot.py` and `test_no.py` beside `tests/release/test_desk.py`")
    assert lost(page) == ["test_no.py"]
    page.write_text("`conftest.py` `model/rules/` `tests/test_no.py` [a](no.md) ![b](c.svg) [b](#b)")
    assert lost(page) == ["#b", "c.svg", "conftest.py", "model/rules/", "no.md", "tests/test_no.py"]


def test_llms_txt_has_every_page_of_the_site_once() -> None:
    """Each with a line of its own, at the address that it has on the site."""
    text = LLMS.read_text(encoding="utf-8")
    listed = re.findall(r"^- \[[^\]]+\]\(([^)]+)\): \S", text, re.MULTILINE)
    assert listed == re.findall(r"\]\(([^)]+)\)", text)
    sources = [path for path in DOCS.rglob("*.*") if path.suffix in {".md", ".ipynb"}]
    site = {path.relative_to(DOCS) for path in sources if BUILT not in path.parents}
    assert sorted(listed) == sorted(path.with_suffix(".html").as_posix() for path in site)
    assert text.startswith("# noisycount\n\n> ")


def test_every_page_has_a_place_in_the_list_of_pages() -> None:
    """The lists of `docs/index.md`, and lists in other pages, name each page once, and no page that is not there."""
    listed = [
        (page.parent / entry).resolve()
        for page in PAGES
        for block in blocks(page.read_text(encoding="utf-8"))
        if block.language == "{toctree}"
        for entry in block.text.split("\n\n", 1)[-1].split()
        if not entry.startswith(":")
    ]
    sources = [path for path in DOCS.rglob("*.*") if path.suffix in {".md", ".ipynb"} and BUILT not in path.parents]
    site = {path.with_suffix("") for path in sources} - {DOCS / "index"}
    assert sorted(listed) == sorted(site)


def told_rows(text: str, mark: str) -> dict[tuple[str, ...], set[str]]:
    """The answers of a page's tables by their keys, of those on the screen or of a report."""
    found: dict[tuple[str, ...], set[str]] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip(f"{mark} ").split(mark)]
        places = [n for n, cell in enumerate(cells) if re.fullmatch(r"[−-]?[\d,]+ ±\d+", cell)]
        if line.startswith(mark) and len(places) == 1:
            keys = cells[1 if mark == "|" else 0 : places[0]]
            found.setdefault(tuple(keys), set()).add(cells[places[0]])
    return found


def disputed(text: str) -> list[str]:
    """Return the differences between a report on a page and the answers above it."""
    screen, report = told_rows(text, "│"), told_rows(text, "|")
    wrong = [
        f"{keys}: {told} in the report, {screen[keys]} on the screen"
        for keys, told in report.items()
        if keys in screen and not told & screen[keys]
    ]
    answers = set(re.findall(r"^answer +(\S+ ±\d+)", text, re.MULTILINE))
    for block in blocks(text):
        made = re.search(r"\*\*made\*\*: (\S+ \S+) UTC", block.text)
        rows = re.findall(r"^\| (\d{4}-\S+ \d\d:\d\d) \|.*", block.text, re.MULTILINE)
        wrong += [f"a row of {row} in a report of {made[1]}" for row in rows if made and row > made[1]]
        single = re.findall(r"^\| \d{4}-\S+ \S+ \|.*\| (\S+ ±\d+) \|", block.text, re.MULTILINE)
        wrong += [f"{one} is no answer of the page" for one in single if {one} - answers and answers]
    return wrong


@every_page
def test_a_report_tells_the_answers_of_its_page(page: Path) -> None:
    """A report shows the answers of its page, and none before it was given."""
    assert disputed(page.read_text(encoding="utf-8")) == []


def test_a_report_that_tells_something_else_is_found() -> None:
    """Another count, another single answer, a row that is later than its report."""
    screen = "```text\nanswer  96 ±9\n│ 0 to 17 │ 2,444 ±6 │\n```\n"
    report = (
        "```text\n- **made**: 2026-01-02 10:00 UTC\n| 2026-01-02 09:59 | a | b | 96 ±9 | c |\n"
        "| age | 0 to 17 | 2,444 ±6 |\n```\n"
    )
    assert disputed(screen + report) == []
    assert len(disputed(screen + report.replace("2,444", "2,445"))) == 1
    assert len(disputed(screen + report.replace("96", "97"))) == 1
    assert len(disputed(screen + report.replace("09:59", "10:01"))) == 1


def read_page(name: str) -> str:
    """The text of a page, in one line."""
    return " ".join((DOCS / name).read_text(encoding="utf-8").split())


def sums_of_cells(cells: int, noise: type[DiscreteLaplace | DiscreteGaussian]) -> list[str]:
    """The root mean squared error of sums of the first cells: from rows alone, and as shared."""

    def variances(parts: list[float]) -> list[float]:
        return [1 / part if noise is DiscreteGaussian else 2 / part**2 for part in parts]

    levels = cell_level(np.arange(cells)[:, None], ["age"]), *range_levels(cells)
    ours = [float(part) for part in shares(levels, [1] * len(levels), noise)]
    rows = np.sqrt(variances([1.0])[0] * np.arange(1, cells + 1))
    both = (rows, prefix_errors(cells, variances(ours)))
    return [f"{math.sqrt(float(np.mean(np.square(errors)))):#.3g}" for errors in both]


def test_the_errors_of_sums_are_those_of_the_product() -> None:
    """At its own shares, under both noises; under Laplace noise sums of 64 rows are better added up, of 128 not."""
    told = read_page("how-to/tables.md")
    for name, noise in (("Gaussian", DiscreteGaussian), ("Laplace", DiscreteLaplace)):
        rows, ours = sums_of_cells(2048, noise)
        assert f"| {name} | {ours} | {rows} |" in told
    small = [sums_of_cells(cells, DiscreteLaplace) for cells in (64, 128)]
    assert [float(rows) > float(ours) for rows, ours in small] == [False, True]


def test_the_answers_that_a_budget_pays_for_are_those_of_the_product() -> None:
    """At ε = 0.01, with the part for keys that a budget has by itself, and without one."""
    parts = {"epsilon": "2", "delta": "1e-6"}
    budgets = [budget_from(budget) for budget in (parts, {**parts, "for_keys": "0"}, "2")]
    default, all_of_it, pure = (AvailableBudget(budget).affordable(Fraction("0.01")) for budget in budgets)
    ledger = read_page("mathematics/accounting.md")
    assert f"{all_of_it:,} fit a budget of" in ledger
    assert f"{default:,} fit. The sum of ε pays for {pure}." in ledger
    choice = read_page("how-to/epsilon.md")
    assert f"{default:,} answers at 0.01, where a budget of ε = 2 alone pays for {pure}" in choice
    mixed, single = (AvailableBudget(budget).affordable(Fraction("0.05")) for budget in (budgets[0], budgets[2]))
    assert f"pays for {mixed} answers at 0.05, where ε = 2 alone pays for {single}" in choice


def test_the_noise_beside_hidden_keys_is_that_of_the_page() -> None:
    """It is g / ε where a person comes or goes; twice as much where their number is public."""
    query = Query(by="town", epsilon=Fraction(1, 2), delta=Fraction(1, 10**6), groups_per_unit=3)
    for is_replacement, scale in ((False, 6), (True, 12)):
        plan = plan_of(query, {"town": Kind.TEXT}, "person", is_replacement=is_replacement)
        assert [level.mechanism.exact_scale for level in plan.noise.levels] == [scale]
    assert "the scale $g/\\varepsilon$, or $2g/\\varepsilon$ where their number is public" in (
        read_page("mathematics/accounting.md")
    )


def test_every_audit_is_named_to_the_auditor() -> None:
    """In one of the tables of attacks, or above them."""
    text = (PROJECT / "audits/README.md").read_text(encoding="utf-8")
    files = {path.name for path in (PROJECT / "audits").glob("test_*.py")}
    assert {name for name in files if f"`audits/{name}" not in text} == set()
