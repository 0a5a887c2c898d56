"""The page of all commands, from their own helps: `python -m tests.commands_page`.

An option with the same text in several commands is described once, at the top of the page.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
from click.testing import CliRunner

from noisycount.cli.main import COMMANDS, noisycount

__all__ = ["PAGE", "names", "page"]

PAGE = Path(__file__).parents[1] / "docs/reference/commands.md"
_COLUMNS = "80"
_HEAD = """\
# Commands

With this page you look up what a command does and which options it has, as `--help` prints it. The line *Usage* is left
out if a command has no arguments. The line *Also* names options that several commands have:

* `-h, --help`: Show the help. Every command has it.
* `--config FILE`: Read this configuration file. Default: `noisycount.toml` here or in a folder above. Every command
  that uses a configuration has it.
SHARED
A `SOURCE` is a path, the address of a table, or the name of a data set of [noisycount.toml](configuration.md). The
[question language](language.md) defines conditions. See also [exit statuses](exit-codes.md) and [`--json`](json.md).
"""
_OF_ALL = {"-h, --help", "--config FILE"}
_OPTION = re.compile(r"^  (-\S.*\n(?: {8,}\S.*\n)*)", re.MULTILINE)
_OPTIONS = re.compile(r"^Options:\n((?:  -.*\n(?: {8,}\S.*\n)*)*)", re.MULTILINE)
_PLAIN_USAGE = re.compile(r"^Usage: [\w ]+ \[OPTIONS\](?: COMMAND \[ARGS\]\.\.\.)?\n\n")
_PARTS = re.compile(r"^Commands:\n(?:  .*\n)+", re.MULTILINE)
_DOCUMENTATION = re.compile(r"^  Documentation: .*\n +noisycount docs .*\n", re.MULTILINE)


def names() -> Iterator[str]:
    """Yield every command, and below a group its commands, as they are typed."""
    context = click.Context(noisycount)
    for name in COMMANDS:
        yield name
        command = noisycount.get_command(context, name)
        if isinstance(command, click.Group):
            yield from (f"{name} {inner}" for inner in command.list_commands(context))


def page() -> str:
    """Return the page as the code has it now."""
    shared = "".join(f"* `{name}`: {text}\n" for name, text in sorted(_shared_options()))
    return _HEAD.replace("SHARED\n", f"{shared}\n") + "".join(_section(name) for name in ("", *names()))


@cache
def _help(command: str) -> str:
    """Return what a command prints for `--help`; an empty name stands for all commands."""
    runner = CliRunner(env={"COLUMNS": _COLUMNS})
    result = runner.invoke(noisycount, [*command.split(), "--help"], prog_name="noisycount")
    return "".join(f"{line.rstrip()}\n" for line in result.output.splitlines())


def _option(block: str) -> tuple[str, str]:
    """Return an option with its value, and its text on one line."""
    name, text = re.split(r"  +|\n", block, maxsplit=1)
    return name, " ".join(text.split())


@cache
def _shared_options() -> frozenset[tuple[str, str]]:
    """Return the options that have the same text in several commands, except those of all commands."""
    numbers = Counter(_option(block) for command in names() for block in _OPTION.findall(_help(command)))
    return frozenset(option for option, number in numbers.items() if number > 1 and option[0] not in _OF_ALL)


def _own_options(options: re.Match[str]) -> str:
    """Return the options of a command without those at the top of the page, whose names follow."""
    blocks = {block: _option(block) for block in _OPTION.findall(options[1])}
    own = [f"  {block}" for block, option in blocks.items() if not _is_at_top(option)]
    shared = [name.split()[0] for name, text in blocks.values() if (name, text) in _shared_options()]
    return ("Options:\n" + "".join(own) if own else "") + (f"Also: {', '.join(shared)}\n" if shared else "")


def _is_at_top(option: tuple[str, str]) -> bool:
    """Return whether the top of the page describes an option."""
    return option in _shared_options() or option[0] in _OF_ALL


def _section(command: str) -> str:
    """Return the section of a command: its help, or that of all commands for an empty name."""
    level = "###" if " " in command else "##"
    text = _help(command)
    text = _OPTIONS.sub(_own_options, _PARTS.sub("", _DOCUMENTATION.sub("", text))) if command else text
    text = re.sub(r"\n{3,}", "\n\n", _PLAIN_USAGE.sub("", text) if command else text).rstrip()
    return f"\n{level} {command or 'noisycount'}\n\n```text\n{text}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
