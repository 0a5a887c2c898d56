"""The page of all commands, from their own helps: `python -m tests.commands_page`."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner

from noisycount.cli.main import COMMANDS, noisycount

__all__ = ["PAGE", "names", "page"]

PAGE = Path(__file__).parents[1] / "docs/reference/commands.md"
_COLUMNS = "80"
_HEAD = """\
# Commands

With this page you look up what a command does and which options it has. Each section is what the command prints for
`--help`, without two options:

* `-h`, `--help` shows the help of every command.
* `--config FILE` reads this configuration file. Default: `noisycount.toml` here or in a folder above. Every command
  that uses a configuration has it.

A `SOURCE` is a path, the address of a table, or the name of a data set of [noisycount.toml](configuration.md). The
[question language](language.md) defines conditions. See also [exit statuses](exit-codes.md) and [`--json`](json.md).
"""
_OPTION_OF_ALL = re.compile(r"^  (?:-h, --help|--config FILE) .*\n(?: {8,}\S.*\n)*", re.MULTILINE)
_NO_OPTIONS = re.compile(r"^Options:\n\n", re.MULTILINE)


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
    return _HEAD + "".join(_section(name) for name in ("", *names()))


def _section(name: str) -> str:
    """Return the section of a command: its help, or that of all commands for an empty name."""
    level = "###" if " " in name else "##"
    runner = CliRunner(env={"COLUMNS": _COLUMNS})
    result = runner.invoke(noisycount, [*name.split(), "--help"], prog_name="noisycount")
    text = "".join(f"{line.rstrip()}\n" for line in result.output.splitlines())
    text = _NO_OPTIONS.sub("", _OPTION_OF_ALL.sub("", text)) if name else text
    return f"\n{level} {name or 'noisycount'}\n\n```text\n{text.rstrip()}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
