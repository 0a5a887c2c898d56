"""The group of all commands, and how errors become messages and exit statuses.

Each command is imported only when it runs. `COMMANDS` lists them, and `main` runs the command line.
"""

import gc
import json
import os
import re
import sys
from collections import Counter
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import NoReturn

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, split_arg_string

from noisycount.display.documentation import TITLES
from noisycount.display.texts import REPLACING, replace_unencodable, replace_unprintable, without_passwords
from noisycount.errors import BudgetError, LedgerError, NoisyCountError, QueryError, SourceError, is_interruption


class CommandGroup(click.Group):
    """A group of commands that refuse a repeated option, because only its last value would count.

    Options that may be repeated (`multiple=True`) and flags are exempt.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command, after checking that it exists and no option is repeated."""
        if ctx.resilient_parsing:  # in completion the words are not complete yet
            return super().resolve_command(ctx, args)
        names = self.list_commands(ctx)
        if args[0] not in names and not args[0].startswith("-"):
            from noisycount.config.toml_table import name_suggestion  # noqa: PLC0415 - only needed for an error

            raise click.UsageError(f"No such command {args[0]!r}: {name_suggestion(args[0], names)}", ctx=ctx)
        name, command, words = super().resolve_command(ctx, args)
        parameters: list[click.Parameter] = []
        if command is not None and not isinstance(command, click.Group):
            ctx = click.Context(command, ctx, name, **command.context_settings)
            with suppress(click.UsageError):  # the command itself reports any other fault
                parameters = command.make_parser(ctx).parse_args(list(words))[2]
        for option, times in Counter(parameters).items():
            may_repeat = not isinstance(option, click.Option) or option.multiple or option.is_flag or option.count
            if times > 1 and not may_repeat:
                raise click.UsageError(
                    f"{option.opts[0]} is given {times} times: give it once, and run the command again for another",
                    ctx=ctx,
                )
        return name, command, words


COMMANDS = {
    "demo": "Answer one private query of a real health survey, end to end.",
    "init": "Write a commented noisycount.toml.",
    "check": "Show the owner what is in the records, and faults to correct.",
    "show": "Show what can be asked of a data set, and what was asked.",
    "count": "Count records that satisfy a condition, with noise and a budget.",
    "plan": "Choose ε from the accuracy that you need.",
    "risk": "Show what an answer reveals about one person.",
    "refine": "Estimate the true count from a noisy answer and a known rate.",
    "figures": "Draw the figures of the papers exactly, and judge their claims.",
    "ledger": "Show, verify, back up and export past queries and their prices.",
    "serve": "Serve a team by HTTP, for programs and browsers.",
    "copies": "Show or remove the copies of text files.",
    "doctor": "Test that the engine of a data set counts correctly.",
    "analysts": "Issue, list and revoke keys to a server.",
    "docs": "Open the documentation in the browser.",
}

# The page of the documentation that explains a command, which its help names.
_PAGES = {
    "demo": "start/install",
    "init": "how-to/your-own-file",
    "check": "how-to/your-own-file",
    "show": "start/analyst",
    "count": "how-to/tables",
    "plan": "how-to/epsilon",
    "risk": "how-to/disclosure",
    "refine": "how-to/refine",
    "figures": "papers",
    "ledger": "how-to/report",
    "serve": "how-to/production",
    "copies": "how-to/your-own-file",
    "doctor": "how-to/servers",
    "analysts": "how-to/keys",
}

# Files of the commands that have no file of their own name.
_FILES = {**dict.fromkeys(("show", "copies", "doctor", "init"), "datasets"), "analysts": "serve"}

# More objects than imports create. Collecting garbage among those takes a fifth of a command's time and frees nothing.
_MANY_OBJECTS = 300_000


class LazyGroup(CommandGroup):
    """A group with the names and one-line helps of all commands, which imports a command only when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - Click's signature
        """Return the names of the commands, in the order in which a new user needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - Click's signature
        """Import and return a command; None if none has this name. Its help ends with its page of the documentation."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name != "serve":  # a server runs long enough to need the usual collection
            gc.set_threshold(_MANY_OBJECTS)
        file = import_module(f"noisycount.cli.{_FILES.get(cmd_name, cmd_name)}")
        if "duckdb" not in sys.modules:  # DuckDB needs its objects collected when Python exits
            gc.freeze()
        command: click.Command = getattr(file, cmd_name)
        if page := _PAGES.get(cmd_name):
            reference = f"\b\nDocumentation: {TITLES[page]}\n  noisycount docs {page}"
            if reference not in (command.epilog or ""):  # the command may have been requested before
                command.epilog = "\n\n".join(filter(None, (command.epilog, reference)))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - the same
        """Write the section of the help that lists the commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names of commands, without importing them, and options."""
        names = [
            CompletionItem(name, help=summary) for name, summary in COMMANDS.items() if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command. An error of noisycount becomes a UsageError, an interrupt in a database call Ctrl-C."""
        try:
            return super().invoke(ctx)
        except QueryError as error:
            raise click.UsageError(error.spelled(option_spelling)) from error
        except (NoisyCountError, ValueError) as error:
            raise click.UsageError(str(error)) from error
        except RuntimeError as error:
            if not is_interruption(error):
                raise
            raise KeyboardInterrupt from None


def option_spelling(name: str, value: str) -> str:
    """Return a part of a query as an option of `count`."""
    option = "--where" if name == "wheres" else f"--{name.replace('_', '-')}"
    return f"{option} {value}" if value else option


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\b\nExample:\n"
    '  noisycount count survey.parquet --unit person --where "age >= 50" \\\n'
    "      --within 20% --at-most 0.5\n\n"
    "\b\nExit status of a refusal, which is one line, or one JSON object with --json:\n"
    "  2  what was typed or configured    4  the records\n"
    "  3  the budget                      5  the ledger\n\n"
    "\b\nCompletion of commands, data sets, columns and values (zsh_source for Zsh,\nfish_source for Fish):\n"
    '  eval "$(_NOISYCOUNT_COMPLETE=bash_source noisycount)"\n\n'
    "\b\nDocumentation, on this machine: noisycount docs",
)
@click.version_option(package_name="noisycount", message="%(package)s %(version)s")
def noisycount() -> None:
    """Private counts: count with exact noise, keep the privacy budget, and explain the answer."""


@add_completion_class
class QuotedBashComplete(BashComplete):
    """Completion in Bash of words with quotes, = or :.

    Bash breaks words at = and :, replaces only the last piece of a word, and inserts completions as if they were typed
    between open quotes. This class joins the pieces, and quotes only what Bash inserts.
    """

    source_template = BashComplete.source_template.replace("read type", "read -r type").replace(
        "COMPREPLY+=($value)", 'COMPREPLY+=("$value")\n            [[ $value == *= ]] && compopt -o nospace'
    )

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the complete words, and the partial word, each joined from its pieces."""
        pieces = os.environ["COMP_WORDS"].split("\n")[: int(os.environ["COMP_CWORD"]) + 1]
        joined = re.sub(r"\n(?=[=:])|(?<=[=:])\n", "", "\n".join(pieces[1:]))
        *words, partial = joined.split("\n")
        piece = "" if re.fullmatch("[=:]+", pieces[-1]) else pieces[-1]
        closed, self.quote = re.findall(r"""^((?:[^'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")*)(['"]?)""", piece)[0]
        prefix = partial.removesuffix(piece) + (closed if self.quote else "")
        self.prefix = "".join(split_arg_string(prefix))
        return ["".join(split_arg_string(word)) for word in words], "".join(split_arg_string(partial))

    def format_completion(self, item: CompletionItem) -> str:
        """Return the type of a completion, and the text that replaces the last piece, quoted for Bash."""
        value = item.value.removeprefix(self.prefix)
        special = {"'": "'", '"': r'["\\$`]'}.get(self.quote, r"""[\s"'\\$`()<>|&;*?!#]""")
        value = re.sub(special, lambda match: "'\\''" if self.quote == "'" else f"\\{match[0]}", value)
        return f"{item.type},{value}"


USAGE = 2  # exit status of every other error
STATUSES = {BudgetError: 3, SourceError: 4, LedgerError: 5}
_KINDS = {USAGE: "usage", 3: "budget", 4: "source", 5: "ledger"}


def status_of(error: BaseException | None) -> int:
    """Return the exit status for an error: that of its class in `STATUSES`, else 2.

    Example:
        >>> status_of(BudgetError("all is spent")), status_of(ValueError("no such column"))
        (3, 2)
    """
    return next((status for kind, status in STATUSES.items() if isinstance(error, kind)), USAGE)


def _print_refusal(message: str, status: int = USAGE) -> None:
    """Print an error to standard error: one line, or one JSON object if `--json` was given."""
    text = without_passwords(" ".join(message.split()))
    if "--json" in sys.argv[1:]:
        click.echo(json.dumps({"error": text, "kind": _KINDS[status], "status": status}), err=True)
        return
    line = f"error: {replace_unprintable(text)}"
    click.echo(replace_unencodable(line, getattr(sys.stderr, "encoding", None) or "utf-8"), err=True)


def main() -> NoReturn:
    """Run the command line and exit. Each error is one line on standard error, with its exit status."""
    # No command multiplies large matrices, and starting NumPy's threads takes longer than a whole `plan`.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):  # an answer may be paid for before a character cannot be encoded
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=REPLACING)
    try:
        sys.exit(noisycount.main(prog_name="noisycount", standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(USAGE)
    except click.ClickException as error:
        status = status_of(error.__cause__)
        _print_refusal(_help_message(error), status)
        sys.exit(status)
    except OSError as error:
        _print_refusal(
            f"{error.filename or 'output'} cannot be used ({error.strerror}): mend that and ask "
            "again; an answer that was paid for is kept"
        )
        sys.exit(USAGE)
    except click.Abort as error:
        click.echo(f"stopped: {_charge_text(error.__cause__)}", err=True)
        sys.exit(130)


class StoppedError(KeyboardInterrupt):
    """Ctrl-C in a command that may have charged a price. Its text states the charge."""


def _charge_text(error: BaseException | None) -> str:
    """Return a sentence about the charge of the interrupted command."""
    if isinstance(error, StoppedError):
        return str(error)
    if {"demo", "serve"} & {*sys.argv[1:]}:
        return "`noisycount ledger show` shows what was charged"
    return "nothing was charged"


def _help_message(error: click.ClickException) -> str:
    """Return the message of a Click error, with the command that shows the help; other messages are unchanged."""
    text, context, missing = error.format_message().rstrip(), getattr(error, "ctx", None), getattr(error, "param", None)
    if context is not None and isinstance(error, click.MissingParameter) and missing and missing.name == "source":
        names = ", ".join(item.value for item in missing.shell_complete(context, "")[1:])
        text = f"{text.rstrip('.')}: name {names or 'a data set of noisycount.toml'} or a file"
    return text if context is None else f"{text.rstrip('.')}; see `{context.command_path} --help`"
