import doctest
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Self

import pytest

from noisycount.app.cli import COMMANDS, main
from noisycount.app.config.file import load
from noisycount.app.server import serving
from noisycount.data import survey_path
from noisycount.release.budget.approximate import ApproximateBudget
from noisycount.release.budget.budgets import PureBudget
from noisycount.release.sources.conformance.suite import examined, suite

PROJECT = Path(__file__).parents[1]
README = PROJECT / "README.md"
PAGES = sorted([README, PROJECT / "CONTRIBUTING.md", *PROJECT.glob("docs/*.md")])
SHOWING = [README, PROJECT / "docs/tables.md", PROJECT / "docs/report.md"]
ELSEWHERE = {"source.py", "bench.py", "interface.py", "./.tmp"}  # in any room; where an engine ran
TEXT = README.read_text(encoding="utf-8") if README.is_file() else ""
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = r"−?\d+(?:[.,]\d+)*"
NOISY = [  # what is drawn, what follows from it, and the time; never an error, ε or a budget
    re.compile(pattern.replace("N", f"({NUMBER})"))
    for pattern in (
        r"^answer N ±\d+((?:, so at most \d+)?)$",
        r"^│ (\d{4}-\d\d-\d\d \d\d:\d\d) │ .* │ N(?: ±\d+)? │$",
        r"^│ .+ │ N ±\d+ │(?: N \(s\.e\. [\d.]+\) │)?$",
        r"^3 The answer: N ±.* within ±\d+ of N\. It cost",
        r"^4 A better estimate: N persons .* mean of N, a median of N, and N to N with 95 %",
        r"^date \(UTC\) (\d{4}-\d\d-\d\d)$",
        r"^answers compared N$",  # by some questions here, by all in sources/conformance/
        r"^suite ([0-9a-f]{64})$",
        r"^- \*\*made\*\*: (\d{4}-\d\d-\d\d \d\d:\d\d UTC)$",
        r"^- \*\*head\*\*: \d+:([0-9a-f]{64})$",
        r"^\| (\d{4}-\d\d-\d\d \d\d:\d\d) \| .* \| N ±\d+ \| .* \|$",
        r"^\| (\d{4}-\d\d-\d\d \d\d:\d\d) \| .* counts, each ±\d+ \| .* \|$",
        r"^key (nc_[0-9a-f]{12}_[0-9a-f]{64})$",
        r"^id ([0-9a-f]{12})$",
        r"^expires (\d{4}-\d\d-\d\d \d\d:\d\d UTC)$",
        r"revoke ([0-9a-f]{12})`",
        r"^revoked 1 key of \w+: ([0-9a-f]{12});",
    )
]

pytestmark = pytest.mark.skipif(not TEXT, reason="the tests run outside the project's folder")


def blocks(language: str, text: str = TEXT) -> list[str]:
    """The blocks of a language, in order; there is at least one."""
    found = [block for name, block in BLOCK.findall(text) if name == language]
    assert found
    return found


def transcripts(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a block, and what the README says that it prints."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, printed = re.split(r"(?<!\\)\n", part, maxsplit=1)
        yield command.replace("\\\n", " "), printed


def pieces(command: str, printed: str) -> list[str]:
    """The lines of an output, or the paragraphs of the demonstration, without noisy numbers."""
    between = "\n\n" if command == "noisycount demo" else "\n"
    printed = re.sub(r"^hint .*(?:\n .*)*", "", printed, flags=re.MULTILINE)  # the noise was rare
    found = [" ".join(piece.split()) for piece in printed.strip().split(between)]
    return list(map(masked, found))


def masked(piece: str) -> str:
    """A piece of an output with `#` for what is noisy in it."""
    for match in filter(None, (pattern.search(piece) for pattern in NOISY)):
        for group in reversed(range(1, match.re.groups + 1)):
            piece = f"{piece[: match.start(group)]}#{piece[match.end(group) :]}"
    return piece


def all_pieces(block: str) -> list[list[str]]:
    """The pieces of every output of a block."""
    return [pieces(command, printed) for command, printed in transcripts(block)]


@dataclass(frozen=True, slots=True)
class Told:
    """A place where a service would listen, so that one need not run for what it tells."""

    host: str
    port: int

    def getsockname(self) -> tuple[str, int]:
        """Give the place."""
        return self.host, self.port

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def output(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command of noisycount prints, run in this process, which has loaded all it needs."""
    words = shlex.split(command)
    assert words[0] == "noisycount"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", words)
        patch.setattr(serving, "listening", Told)
        patch.setattr(serving, "serve", lambda _, __, ready, **___: ready())
        with pytest.raises(SystemExit):
            main()
    told = capsys.readouterr()
    return told.out + told.err


@pytest.mark.parametrize("page", SHOWING, ids=lambda page: page.name)
def test_every_transcript_is_real(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run in order in a fresh clone, every command prints what stands below it, but for noise.

    The clone lies below the home of somebody with a terminal of 80 columns.
    """
    clone = tmp_path / "clone"
    survey = clone / "src/noisycount/data/rand_hie.parquet"
    survey.parent.mkdir(parents=True)
    shutil.copy(survey_path(), survey)
    environment = {"HOME": tmp_path, "XDG_CONFIG_HOME": tmp_path / ".config", "COLUMNS": 80}
    for name, value in environment.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(clone)
    few = partial(examined, asked=suite(200))
    monkeypatch.setattr("noisycount.release.certifying.examined", few)
    for language, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "csv":
            (clone / "visits.csv").write_text(block, encoding="utf-8")
        if language == "tsv":
            (clone / "towns.tsv").write_text(block, encoding="utf-8")
        if language == "toml":
            (clone / "noisycount.toml").write_text(block, encoding="utf-8")
        if language == "console":
            for command, printed in transcripts(block):
                assert pieces(command, output(command, capsys)) == pieces(command, printed)


@pytest.mark.parametrize(
    ("told", "other"),
    [
        ("±20 persons", "±21 persons"),
        ("within ±20", "within ±21"),
        ("It cost ε = 0.15", "It cost ε = 0.16"),
        ("1.85 of the budget of 2", "1.85 of the budget of 3"),
        ("1.85 of the", "1.86 of the"),
        ("becomes at most 54:46.", "becomes at most 55:45."),
        ("a chance of 1.7 %", "a chance of 1.8 %"),
        ("106 with 95 %", "106 with 96 %"),
        ("57 ±20", "57 ±2"),
        ("189 ±9", "189 ±19"),
        ("│ poor      │    90 ±12", "│ poor      │    92 ±2"),
        ("scale 2.11 for town,sex", "scale 2.2 for town,sex"),
        ("answer     107, with noise", "answer     108, with noise"),
        ("answer   the count, with Gaussian noise of scale 10", "answer   of scale 11"),
        ("age >= 60.0 │ 1/3 │ 189", "age >= 61.0 │ 1/3 │ 189"),
        ("age >= 60.0 │ 1/3 │ 189", "age >= 60.0 │ 1/4 │ 189"),
    ],
)
def test_a_figure_that_is_not_drawn_is_compared(told: str, other: str) -> None:
    """A wrong error, price or budget beside a noisy answer would be found."""
    shown, wrong = ("".join(blocks("console", text)) for text in (TEXT, TEXT.replace(told, other)))
    assert all_pieces(shown) != all_pieces(wrong)


@pytest.mark.parametrize(
    ("told", "other"),
    [
        ("3  The answer: 81 ±20", "3  The answer: −1,081 ±20"),
        ("±20 of 81", "±20 of −1,081"),
        ("4  A better estimate: 89.5", "4  A better estimate: 90.1"),
        ("mean of 89.5, a median of 89, and 77 to 106", "mean of 9.0, a median of 9, and 7 to 11"),
        ("57 ±20", "61 ±20"),
        ("│ poor      │    90 ±12", "│ poor      │    −1 ±12"),
        ("│ 2026-11-20 06:12 │", "│ 2027-01-02 10:10 │"),
        ("1/3 │ 189    │", "1/3 │ −19    │"),
    ],
)
def test_what_is_drawn_is_not_compared(told: str, other: str) -> None:
    """The answers and their time differ from run to run."""
    shown, redrawn = (
        "".join(blocks("console", text)) for text in (TEXT, TEXT.replace(told, other))
    )
    assert shown != redrawn
    assert all_pieces(shown) == all_pieces(redrawn)


def test_every_configuration_loads(tmp_path: Path) -> None:
    """Each block of TOML is a `noisycount.toml` that says what the text around it says."""
    loaded = []
    for block in blocks("toml"):
        path = tmp_path / "noisycount.toml"
        path.write_text(block, encoding="utf-8")
        loaded.append(load(path))
    plain, shared, served = loaded
    assert plain.ledger_file == tmp_path / "ledger.db"
    assert plain.datasets["survey"].budget == PureBudget(Fraction(1))
    assert shared.ledger_file is None
    assert shared.datasets["survey"].budget == ApproximateBudget(
        Fraction(2), Fraction(1, 10**6), Fraction(1, 2 * 10**6)
    )
    assert shared.analysts["alice"].budget == PureBudget(Fraction(1))
    assert (
        str(served.datasets["visits"].source) == "postgresql://db.example.org/clinic#public.visits"
    )


def test_every_example_is_real() -> None:
    """The Python blocks are sessions that give what they show."""
    session = doctest.DocTestParser().get_doctest("".join(blocks("python")), {}, "README", None, 0)
    assert session.examples
    assert doctest.DocTestRunner().run(session).failed == 0


def test_every_command_is_mentioned() -> None:
    """Who reads the README has seen each command at work, and no other."""
    commands = [command for block in blocks("console") for command, _ in transcripts(block)]
    assert {command.split()[1] for command in commands} == set(COMMANDS)


def test_every_target_is_in_the_makefile() -> None:
    """`make demo` and `make test` stand in the README, and make knows both."""
    targets = re.findall(r"^make (\w+)", "".join(blocks("sh")), re.MULTILINE)
    assert targets == ["demo", "test"]
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


def test_every_room_is_shown() -> None:
    """The tree of the README has the folders of the source on two levels, and no other."""
    (tree,) = blocks("text")
    source, shown, room = PROJECT / "src/noisycount", set(), ""
    for indent, name in re.findall(r"^(  |    )(\w+)/", tree, re.MULTILINE):
        room = name if indent == "  " else room
        shown.add(name if indent == "  " else f"{room}/{name}")
    folders = {path.parent.relative_to(source).as_posix() for path in source.rglob("__init__.py")}
    assert shown == {folder for folder in folders if folder.count("/") < 2} - {"."}


def lost(page: Path) -> list[str]:
    """The files and folders that a page links or names, and that are not there."""
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)[^)]*\)", text)
    paths = re.findall(r"`([\w./-]+\.(?:py|md|css)|[\w.-]*[a-z][\w.-]*/[\w./-]*|LICENSE)`", text)
    places = [PROJECT, *(PROJECT / "src/noisycount" / room for room in ("", "release"))]
    there = [link for link in links if (page.parent / link).exists()]
    there += [path for path in paths if any((place / path).exists() for place in places)]
    return sorted({*links, *paths} - {*there, *ELSEWHERE})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_is_named_exists(page: Path) -> None:
    """Links, pictures and paths of the pages lead somewhere."""
    assert lost(page) == []


def test_a_lost_file_is_found(tmp_path: Path) -> None:
    """Links and paths that lead nowhere are told, whatever they look like; others are not."""
    page = tmp_path / "page.md"
    page.write_text("`tests/conftest.py` `model/laws/` [a](page.md#b) [c](https://c.org/c.md)")
    assert lost(page) == []
    page.write_text("`conftest.py` `model/rules/` `tests/test_no.py` [a](no.md) ![b](c.svg)")
    assert lost(page) == ["c.svg", "conftest.py", "model/rules/", "no.md", "tests/test_no.py"]
