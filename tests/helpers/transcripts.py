"""Blocks of the pages, output of their commands, and the random parts of that output."""

import doctest
import re
import shlex
import shutil
import sys
import textwrap
import webbrowser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import Self

import pytest

from noisycount.cli.main import main
from noisycount.data import survey_path
from noisycount.engines.conformance.suite import examine, suite
from noisycount.service import server
from noisycount.tasks import documentation

PROJECT = Path(__file__).parents[2]
README = PROJECT / "README.md"
BUILT = PROJECT / "docs/_build"
FENCE = re.compile(r"^( *)(`{3,})([^\n`]*)\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)
SESSIONS = {"python", "pycon"}
NUMBER = r"[−-]?\d+(?:[.,]\d+)*"
DRAWN = r"(?<![0-9a-f.])(?:[0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{12})(?![0-9a-f])"
ANYWHERE = re.compile(rf"\b\d{{4}}-\d\d-\d\d \d\d:\d\d\b|{DRAWN}")
"""A time, and what is drawn as a key, an id or a hash; never an error, ε or a budget."""

NOISY = [  # what is drawn, and what follows from it
    re.compile(pattern.replace("N", f"({NUMBER})"))
    for pattern in (
        r"^answer N ±\d+((?:, so at most \d+)?)$",
        r"^│ .*# │ .* │ N(?: ±\d+)? │$",
        r"^│ # │ .* │ N(?: ±\d+)? │ (?!#)[^│]* │$",  # and what it is for
        r"^│ .+ │ N ±\d+ │(?: N \(s\.e\. [\d.]+\) │)?$",
        r"^3 The answer: N ±.* within ±\d+ of N\. It cost",
        r"^4 A better estimate: N persons .* mean of N, a median of N, and N to N with 95 %",
        r"^date \(UTC\) (\d{4}-\d\d-\d\d)$",
        r"^expires (\d{4}-\d\d-\d\d)",
        r"^answers compared N$",  # by some questions here, by all in sources/conformance/
        r"^\| # \| .* \| N ±\d+ \| .* \|$",
        r"^\| .+ \| N ±\d+ \|$",
        r'^"(?:answer|low|high)": N,?$',
        r'^"(?:made|ledger)": "(.*)",?$',
        r'^"dataset": "(/.*)",?$',
    )
]
FOLLOWS = [  # from the answer of the ledger that `refine --key` takes
    re.compile(pattern.replace("N", f"({NUMBER})"))
    for pattern in (r"^answer N,", r"^(?:mean|median) N\b", r"^interval N to N\b", r"^deviation N,")
]


STOPPED = [  # from where the answers of `--at-most` stopped, there and in what is left of a budget afterwards
    re.compile(pattern.replace("N", f"({NUMBER})"))
    for pattern in (
        r"^answer \S+ ±N",
        r"^noise discrete Laplace, scale (.*)$",
        r"^privacy ε = N: a 50:50 guess about one person becomes at most (\d+:\d+)$",
        r"^all answers so far, ε = N: ",
        r"^the records becomes at most (\d+:\d+); a guess about the group of a person$",
        r"^known to be in them, at most (\d+:\d+)$",
        r"^budget charged N; ",
        r"\bN of [\d.]+ left$",
        r"^│ survey │ [\d.]+ │ N │ N │$",
        r"^│ # │ survey │ .* │ N │ \S+ │ .* │$",
        r"^error: epsilon N exceeds the N that is left",
        r"^2 Ask .* scale ([^)]*)\) drawn",
        r"^3 The answer: \S+ ±N persons .* within ±N of \S+ It cost ε = N; N of the budget .* at most (\d+:\d+)\.$",
    )
]


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code of a page: `name` is the file that it is, `line` where it begins."""

    language: str
    name: str
    text: str
    line: int

    @property
    def is_session(self) -> bool:
        """True if the block is a session of Python."""
        return self.language in SESSIONS and ">>> " in self.text


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


def pages() -> list[Path]:
    """Return the paths of the pages that people read: those of the root, and `docs/`."""
    door = (PROJECT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY"))
    inside = (path for path in PROJECT.glob("docs/**/*.md") if BUILT not in path.parents)
    return sorted(path for path in (*door, *inside) if path.is_file())


def page_name(page: Path) -> str:
    """Return the path of a page in the project."""
    return page.relative_to(PROJECT).as_posix()


def blocks(text: str) -> list[Block]:
    """The blocks of a page, in order."""
    found = []
    for match in FENCE.finditer(text):
        language, name, *_ = [*match[3].split(), "", ""]
        line = text.count("\n", 0, match.start(4))
        found.append(Block(language, name, textwrap.dedent(match[4]), line))
    return found


def blocks_of(page: Path, language: str) -> list[Block]:
    """The blocks of a language of a page."""
    text = page.read_text(encoding="utf-8")
    return [block for block in blocks(text) if block.language == language]


def transcripts(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a block, and what the page says that it prints."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, printed = re.split(r"(?<!\\)\n", part, maxsplit=1)
        yield command.replace("\\\n", " "), printed


def is_stopped(command: str) -> bool:
    """Return True if a command asks for answers whose stopping time is random."""
    return ("--at-most" in command and "--dry-run" not in command) or command == "noisycount demo"


def pieces(command: str, printed: str, *, after_a_stop: bool = False) -> list[str]:
    """The lines of an output, or the paragraphs of the demonstration, without noisy numbers."""
    between = "\n\n" if command == "noisycount demo" else "\n"
    printed = re.sub(r"^hint .*(?:\n .*)*", "", printed, flags=re.MULTILINE)  # the noise was rare
    found = [" ".join(piece.split()) for piece in printed.strip().split(between)]
    others = [*FOLLOWS] * ("--key" in command) + [*STOPPED] * (after_a_stop or is_stopped(command))
    return [masked(piece, others) for piece in found]


def as_far(actual: list[str], shown: list[str]) -> tuple[list[str], list[str]]:
    """An output and what is shown of it, as far as `…` in a line of its own, if there is one."""
    if shown[-1:] != ["…"]:
        return actual, shown
    return actual[: len(shown) - 1], shown[:-1]


def masked(piece: str, others: Sequence[re.Pattern[str]] = ()) -> str:
    """A piece of an output with `#` for what is noisy in it."""
    if piece[:1] in {*"┏┡├└"}:  # as wide as what stands in the table
        return re.sub(r"[━─]+", "━", piece)
    piece = ANYWHERE.sub("#", piece)
    for pattern in (*NOISY, *others):
        if match := pattern.search(piece):
            for group in reversed(range(1, match.re.groups + 1)):
                piece = f"{piece[: match.start(group)]}#{piece[match.end(group) :]}"
    return piece


def output(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a noisycount command in this process, and return its output and errors."""
    words = shlex.split(command)
    assert words[0] == "noisycount", f"only noisycount is run in a console block, not {words[0]}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", words)
        patch.setattr(server, "listening_socket", Told)
        patch.setattr(server, "run", lambda _, __, ready, **___: ready())
        if words[1] == "docs":
            use_site(patch, write_site(Path.cwd() / "site"))
        with pytest.raises(SystemExit):
            main()
    told = capsys.readouterr()
    return told.out + told.err


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody who copies a page, block by block, in a fresh folder that holds the survey."""

    folder: Path
    capsys: pytest.CaptureFixture[str]
    session: dict[str, object]
    drawn: dict[str, str]  # keys, ids and hashes as they are shown, and as they were drawn here
    stopped: list[str]  # the commands that asked for answers which stop by chance

    @classmethod
    def fresh(cls, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Self:
        """Return a reader with a fresh home, a clone below it, and a terminal of 80 columns."""
        clone = home / "clone"
        survey = clone / "src/noisycount/data/rand_hie.parquet"
        survey.parent.mkdir(parents=True)
        shutil.copy(survey_path(), survey)
        environment = {"HOME": home, "XDG_CONFIG_HOME": home / ".config", "COLUMNS": 80}
        for name, value in environment.items():
            monkeypatch.setenv(name, str(value))
        monkeypatch.chdir(clone)
        few = partial(examine, exercises=suite(200))
        monkeypatch.setattr("noisycount.engines.conformance.suite.examine", few)
        return cls(clone, capsys, {"__name__": "__main__"}, {}, [])

    def copy(self, block: Block) -> None:
        """Do what a block shows, and find what it shows."""
        if block.name:
            path = self.folder / block.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.here(block.text), encoding="utf-8")
        if block.language == "console":
            for command, printed in transcripts(block.text):
                self.run(command, printed)
        if block.is_session:
            told = failures(block, self.session)
            assert told == "", told

    def here(self, shown: str) -> str:
        """Return the shown text with the keys, ids and hashes that were drawn in this run."""
        for printed, drawn in self.drawn.items():
            shown = shown.replace(printed, drawn)
        return shown

    def run(self, command: str, printed: str) -> None:
        """Run a command, and compare what it prints with what is shown."""
        actual = output(self.here(command), self.capsys)
        after = self.stopped
        found, shown = as_far(*(pieces(command, each, after_a_stop=bool(after)) for each in (actual, printed)))
        assert found == shown, f"of {command}"
        self.stopped.extend([command] * is_stopped(command))
        self.drawn.update(zip(secrets(printed), secrets(actual), strict=False))


def write_site(folder: Path) -> Path:
    """Write a site with an empty page for each page of the documentation, as `make docs` would name it."""
    for source in (PROJECT / "docs").rglob("*.md"):
        if BUILT not in source.parents:
            page = folder / source.relative_to(PROJECT / "docs").with_suffix(".html")
            page.parent.mkdir(parents=True, exist_ok=True)
            title = source.read_text(encoding="utf-8").partition("# ")[2].partition("\n")[0]
            page.write_text(f"<title>{escape(title)} &#8212; noisycount</title>", encoding="utf-8")
    return folder


def use_site(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let this process take its documentation from a folder, and open no browser."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    patch.setattr(documentation, "site_files", lambda: files)
    patch.setattr(webbrowser, "open", lambda _: False)


def secrets(printed: str) -> list[str]:
    """The keys, ids and hashes of an output, each once."""
    return list(dict.fromkeys(re.findall(DRAWN, printed)))


def failures(block: Block, session: dict[str, object]) -> str:
    """Run a session of Python, and return the differences from its block."""
    parsed = doctest.DocTestParser().get_doctest(block.text, session, "page", "page", block.line)
    parsed.globs = session
    told: list[str] = []
    doctest.DocTestRunner(verbose=False).run(parsed, out=told.append, clear_globs=False)
    return "".join(told)


def said(words: str) -> bool:
    """Return True if a page contains these words, or if there are no pages."""
    found = pages()
    return not found or any(words in page.read_text(encoding="utf-8") for page in found)
