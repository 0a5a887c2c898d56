"""The page of all commands, from their own helps: `python -m tests.commands_page`."""

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

What each command prints for `--help`, in a terminal of 80 columns. Refusals and their exit
statuses have [a page of their own](exit-codes.md), and so has [what `--json` prints](json.md). A
`SOURCE` is a path, the address of a table, or the name of a data set of
[noisycount.toml](configuration.md); the [question
language](language.md) defines what may follow `--where`.

| command | what it does |
| --- | --- |
"""


def names() -> Iterator[str]:
    """Every command, and below a group its commands, as they are typed."""
    context = click.Context(noisycount)
    for name in COMMANDS:
        yield name
        command = noisycount.get_command(context, name)
        if isinstance(command, click.Group):
            yield from (f"{name} {inner}" for inner in command.list_commands(context))


def page() -> str:
    """The page as the code has it now."""
    rows = "".join(f"| [`{name}`](#{name}) | {told} |\n" for name, told in COMMANDS.items())
    sections = "".join(_section(name) for name in ("", *names()))
    return f"{_HEAD}{rows}{sections}"


def _section(name: str) -> str:
    """Return the section of a command: its help, or that of all commands for an empty name."""
    level = "###" if " " in name else "##"
    runner = CliRunner(env={"COLUMNS": _COLUMNS})
    told = runner.invoke(noisycount, [*name.split(), "--help"], prog_name="noisycount")
    lines = [line.rstrip() for line in told.output.splitlines()]
    return "\n".join(["", f"{level} {name or 'noisycount'}", "", "```text", *lines, "```", ""])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
