"""A group of commands, all of which take each option once."""

from collections import Counter
from contextlib import suppress

import click

__all__ = ["CommandGroup"]


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
        if args[0] not in self.list_commands(ctx) and not args[0].startswith("-"):
            raise click.UsageError(_unknown(args[0], self.list_commands(ctx)), ctx=ctx)
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
        if isinstance(option, click.Option) and times > 1 and not _may_repeat(option):
            raise click.UsageError(
                f"{option.opts[0]} is given {times} times: give it once, and run the command "
                "again for another",
                ctx=ctx,
            )


def _may_repeat(option: click.Option) -> bool:
    """Whether nothing is lost where an option is repeated."""
    return option.multiple or option.is_flag or option.count


def _unknown(name: str, known: list[str]) -> str:
    """The refusal of a name that no command has."""
    from noisycount.app.config.toml_table import suggestion  # noqa: PLC0415  (only where one errs)

    return f"No such command {name!r}: {suggestion(name, known)}"
