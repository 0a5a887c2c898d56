"""The group of all commands, each imported only when it runs, and how refusals end."""

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

from noisycount.display.texts import REPLACING, printable, without_passwords, writable
from noisycount.errors import BudgetError, LedgerError, NoisyCountError, SourceError, is_interruption


class CommandGroup(click.Group):
    """A group whose commands refuse an option that is given twice, of which only one could count.

    Options that may be given several times (`multiple=True`) and flags are exempt.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is named, once nothing in its words would be dropped."""
        if ctx.resilient_parsing:  # a shell completes words that are not all there yet
            return super().resolve_command(ctx, args)
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-"):
            from noisycount.config.toml_table import suggestion  # noqa: PLC0415  (only where one errs)

            raise click.UsageError(f"No such command {args[0]!r}: {suggestion(args[0], known)}", ctx=ctx)
        name, command, words = super().resolve_command(ctx, args)
        if command is not None and not isinstance(command, click.Group):
            _require_once(click.Context(command, ctx, name, **command.context_settings), words)
        return name, command, words


def _require_once(ctx: click.Context, words: list[str]) -> None:
    """The refusal of options that are given again; what cannot be read is told by the command."""
    given: list[click.Parameter] = []
    with suppress(click.UsageError):
        given = ctx.command.make_parser(ctx).parse_args(list(words))[2]
    for option, times in Counter(given).items():
        if isinstance(option, click.Option) and times > 1 and not (option.multiple or option.is_flag or option.count):
            raise click.UsageError(
                f"{option.opts[0]} is given {times} times: give it once, and run the command again for another", ctx=ctx
            )


COMMANDS = {
    "demo": "Ask one private question of a real health survey, start to end.",
    "init": "Write a commented noisycount.toml.",
    "check": "Show the owner what is in the records, and what to mend.",
    "show": "Show what may be asked of a data set, and what was.",
    "count": "Count what satisfies a question, with noise and a budget.",
    "plan": "Choose ε from the accuracy that you need.",
    "risk": "Tell what an answer reveals about one person.",
    "refine": "Estimate the true count from a noisy answer and a known rate.",
    "figures": "Draw the figures of the papers exactly, and judge their claims.",
    "ledger": "Show, verify, back up and export what was asked and what it cost.",
    "serve": "Serve a team by HTTP, for programs and browsers.",
    "copies": "Show or remove the copies of texts that were read once.",
    "doctor": "Test whether the engine that records are on counts as it should.",
    "analysts": "Give out, list and revoke the keys to a server.",
}

# Those that stand in the file of another.
_FILES = {**dict.fromkeys(("check", "show", "copies", "doctor", "init"), "datasets"), "analysts": "serve"}

# More than imports make, which stay: to look for garbage among them takes a fifth of a command.
_MANY_OBJECTS = 300_000


class LazyGroup(CommandGroup):
    """A group that knows its commands' names and one-line helps without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (Click's signature)
        """The commands in the order of a first reading."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  (Click's signature)
        """The command, from its file."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name != "serve":  # which lives long
            gc.set_threshold(_MANY_OBJECTS)
        file = import_module(f"noisycount.cli.{_FILES.get(cmd_name, cmd_name)}")
        if "duckdb" not in sys.modules:  # which wants its own objects collected at the end
            gc.freeze()
        command: click.Command = getattr(file, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  (the same)
        """The section with the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that begin so, none of which is imported for it, and options."""
        names = [CompletionItem(name, help=told) for name, told in COMMANDS.items() if name.startswith(incomplete)]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> object:
        """A run of a command; what noisycount refuses becomes an error of usage."""
        try:
            return super().invoke(ctx)
        except (NoisyCountError, ValueError) as error:
            raise click.UsageError(str(error)) from error
        except RuntimeError as error:
            if not is_interruption(error):
                raise
            raise KeyboardInterrupt from None


def _print_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:  # noqa: FBT001  (Click calls it so)
    if asked and not ctx.resilient_parsing:
        click.echo(f"noisycount {import_module('importlib.metadata').version('noisycount')}")
        ctx.exit()


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
    '  eval "$(_NOISYCOUNT_COMPLETE=bash_source noisycount)"',
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def noisycount() -> None:
    """Private counts: count, add exact noise, keep the budget, say what the answer means."""


@add_completion_class
class QuotedBashComplete(BashComplete):
    """Completion in Bash, which breaks words at = and :, and inserts what it is given between the quotes that are open.

    It puts completions in place of the last piece of a word alone, and reads what it inserts as if it was typed.
    """

    source_template = BashComplete.source_template.replace("read type", "read -r type").replace(
        "COMPREPLY+=($value)", 'COMPREPLY+=("$value")\n            [[ $value == *= ]] && compopt -o nospace'
    )

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before, and the one that is begun, each whole."""
        pieces = os.environ["COMP_WORDS"].split("\n")[: int(os.environ["COMP_CWORD"]) + 1]
        joined = re.sub(r"\n(?=[=:])|(?<=[=:])\n", "", "\n".join(pieces[1:]))
        *words, begun = joined.split("\n")
        piece = "" if re.fullmatch("[=:]+", pieces[-1]) else pieces[-1]
        closed, self.quote = re.findall(r"""^((?:[^'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")*)(['"]?)""", piece)[0]
        kept = begun.removesuffix(piece) + (closed if self.quote else "")
        self.kept = "".join(split_arg_string(kept))
        return ["".join(split_arg_string(word)) for word in words], "".join(split_arg_string(begun))

    def format_completion(self, item: CompletionItem) -> str:
        """The type and what takes the place of the last piece, with what its quotes need."""
        value = item.value.removeprefix(self.kept)
        special = {"'": "'", '"': r'["\\$`]'}.get(self.quote, r"""[\s"'\\$`()<>|&;*?!#]""")
        value = re.sub(special, lambda found: "'\\''" if self.quote == "'" else f"\\{found[0]}", value)
        return f"{item.type},{value}"


USAGE = 2  # of every refusal but those of a seam, a class before its parents.
STATUSES = {BudgetError: 3, SourceError: 4, LedgerError: 5}
_KINDS = {USAGE: "usage", 3: "budget", 4: "source", 5: "ledger"}


def status_of(error: BaseException | None) -> int:
    """The exit status of what went wrong.

    Example:
        >>> status_of(BudgetError("all is spent")), status_of(ValueError("no such column"))
        (3, 2)
    """
    return next((status for kind, status in STATUSES.items() if isinstance(error, kind)), USAGE)


def _print_refusal(refusal: str, status: int = USAGE) -> None:
    """A refusal as one line on standard error, or as one JSON object where JSON was asked for."""
    text = without_passwords(" ".join(refusal.split()))
    if "--json" in sys.argv[1:]:
        click.echo(json.dumps({"error": text, "kind": _KINDS[status], "status": status}), err=True)
        return
    line = f"error: {printable(text)}"
    click.echo(writable(line, getattr(sys.stderr, "encoding", None) or "utf-8"), err=True)


def main() -> NoReturn:
    """A run of the command line; every refusal is one line on standard error, with a status."""
    # No command multiplies large matrices, and NumPy's threads take longer to start than a plan.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _let_streams_replace()
    try:
        sys.exit(noisycount.main(prog_name="noisycount", standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(USAGE)
    except click.ClickException as error:
        status = status_of(error.__cause__)
        _print_refusal(_with_help(error), status)
        sys.exit(status)
    except OSError as error:
        _print_refusal(
            f"{error.filename or 'output'} cannot be used ({error.strerror}): mend that and ask "
            "again; an answer that was paid for is kept"
        )
        sys.exit(USAGE)
    except click.Abort as error:
        click.echo(f"stopped: {_charged_words(error.__cause__)}", err=True)
        sys.exit(130)


class StoppedError(KeyboardInterrupt):
    """Ctrl-C in a command that may have charged something, with what became of that."""


def _charged_words(error: BaseException | None) -> str:
    """Whether anything was charged when a command was stopped."""
    if isinstance(error, StoppedError):
        return str(error)
    if {"demo", "serve"} & {*sys.argv[1:]}:
        return "`noisycount ledger show` tells what was charged"
    return "nothing was charged"


def _let_streams_replace() -> None:
    """Streams that can write every character, as an answer was paid for by then."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=REPLACING)


def _with_help(error: click.ClickException) -> str:
    """The refusal; one of Click's own leads to the help."""
    text, context, missing = error.format_message().rstrip(), getattr(error, "ctx", None), getattr(error, "param", None)
    if context is not None and isinstance(error, click.MissingParameter) and missing and missing.name == "source":
        names = ", ".join(item.value for item in missing.shell_complete(context, "")[1:])
        text = f"{text.rstrip('.')}: name {names or 'a data set of noisycount.toml'} or a file"
    return text if context is None else f"{text.rstrip('.')}; see `{context.command_path} --help`"
