"""Options that several commands share, their types, and their completion in a shell.

`value_option`, `repeatable_option` and `flag` make an option. The parsers of the option values are in `values`.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
from click.shell_completion import CompletionItem

from noisycount.config.config import Config, default_config, find_config, load_config
from noisycount.engines.places import is_server
from noisycount.errors import NoisyCountError

if TYPE_CHECKING:
    from noisycount.readers.assumption import Assumed, Rate

    OptionType = click.ParamType[Any]
else:
    OptionType = click.ParamType  # which takes no argument in Click 8.2 and 8.3


Command = TypeVar("Command", bound=Callable[..., None])


class ParsedText(OptionType):
    """An option type that parses its text with a function of `values`."""

    def __init__(self, parse: Callable[[str], object]) -> None:
        self.name, self.parse = parse.__name__.removeprefix("parse_"), parse

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        """Return the parsed text. A value that is no text is already parsed, and is returned unchanged."""
        if not isinstance(value, str):
            return value
        try:
            return self.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def value_option(
    names: str,
    read: Callable[[str], object] | OptionType,
    metavar: str,
    words: str,
    **settings: Any,  # noqa: ANN401 - further settings of a Click option
) -> Callable[[Command], Command]:
    """Return a decorator that adds an option with a value. `read` parses it, `words` is its help.

    `names` is the option, followed by the parameter name if that differs.
    """
    kind = read if isinstance(read, click.ParamType) else ParsedText(read)
    has_default = "default" in settings
    return click.option(*names.split(), type=kind, metavar=metavar, help=words, show_default=has_default, **settings)


def repeatable_option(
    names: str,
    read: Callable[[Sequence[str]], Any],
    metavar: str,
    words: str,
    **settings: Any,  # noqa: ANN401 - further settings of a Click option
) -> Callable[[Command], Command]:
    """Return a decorator that adds an option that may be repeated. `read` parses all of its texts together."""

    def value(_: click.Context, __: click.Parameter, texts: Sequence[str]) -> Any:  # noqa: ANN401 - what `read` returns
        try:
            return read(texts)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return click.option(*names.split(), multiple=True, callback=value, metavar=metavar, help=words, **settings)


def flag(names: str, words: str) -> Callable[[Command], Command]:
    """Return a decorator that adds an option without a value."""
    return click.option(*names.split(), is_flag=True, help=words)


def fill(options: type) -> Callable[[Command], Command]:
    """Return a decorator that passes the values of several options to a command as one object.

    `options` is a dataclass. Values whose names are fields of `options` become one object, the first argument of the
    command. All other values are passed unchanged.
    """
    names = [field.name for field in fields(options)]

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(*objects: object, **values: object) -> None:
            command(options(**{name: values.pop(name) for name in names}), *objects, **values)

        return cast("Command", run)

    return decorate


FILE = click.Path(path_type=Path, dir_okay=False)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
table_option = click.option("--table", metavar="NAME", help="Choose a table, view or sheet of a file that has several.")
unit_option = click.option(
    "--unit",
    metavar="COLUMN|row",
    help="State the privacy unit: the column that identifies a person, or row if each row is another person. "
    "Required once; the ledger stores it.",
)


def _load_configuration(_: click.Context, __: click.Parameter, path: Path | None) -> Config:
    """Return the given configuration, or the nearest `noisycount.toml`, or an empty one if there is none."""
    try:
        file = path or find_config(Path.cwd())
    except FileNotFoundError:
        raise click.UsageError("the current folder was removed: change to another") from None
    return load_config(file) if file else default_config()


config_option = click.option(
    "--config",
    "configuration",
    type=click.Path(path_type=Path),
    callback=_load_configuration,
    metavar="FILE",
    help="Read this configuration file. Default: noisycount.toml here or in a folder above.",
)


def common_options(command: Command) -> Command:
    """Add `--config` and `--json` to a command."""
    return config_option(json_option(command))


def plot_option(words: str) -> Callable[[Command], Command]:
    """Return a decorator that adds `--plot FILE`. `words` begins its help with what the picture shows."""
    text = f"{words} as .svg or .png, in place of an older file."
    return click.option("--plot", type=FILE, callback=_check_picture_file, metavar="FILE", help=text)


def _check_picture_file(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
    """Return the path if it ends in .svg, or in .png and the package for PNG files is installed, else raise."""
    if path is None:
        return None
    if path.suffix.lower() not in {".svg", ".png"}:
        raise click.BadParameter(f"must end in .svg or .png, got {str(path)!r}")
    if path.suffix.lower() == ".png":
        from noisycount.charts.png import check_png  # noqa: PLC0415 - for pictures alone

        check_png()
    return path


def population_options(command: Command) -> Command:
    """Add `--size`, `--rate` and `--strata` to a command, for `assumed_of_options`."""
    from noisycount.readers.values import parse_rate, parse_size  # noqa: PLC0415 - loads NumPy

    strata = value_option(
        "--strata",
        FILE,
        "FILE",
        "Read groups of records from a table with the columns size and rate, in place of --size and --rate.",
    )
    words = "State the probability that a person or row is counted: 30%, or 30%±2% with a standard deviation."
    rate = value_option("--rate", parse_rate, "P", words)
    return value_option("--size", parse_size, "N", "State the number of records.")(rate(strata(command)))


def assumed_of_options(
    size: int | None, rate: "Rate | None", strata: Path | None, *, is_flat_allowed: bool = False
) -> "Assumed":
    """Return the assumption that `--size`, `--rate` and `--strata` state. Raises UsageError if they do not fit.

    `is_flat_allowed` permits a size without a rate.
    """
    from noisycount.readers.assumption import Assumed  # noqa: PLC0415 - loads the distributions

    if rate is not None and size is not None and strata is None:
        return Assumed.from_rate(size, rate)
    if rate is None and strata is not None:
        from noisycount.readers.assumption import read_groups  # noqa: PLC0415 - loads DuckDB

        return read_groups(strata, size)
    if is_flat_allowed and rate is None and size is not None:
        return Assumed.from_size(size)
    if is_flat_allowed:
        raise click.UsageError(
            "give either --size, and --rate if it is known, such as --size 5912 --rate 1.7%, or --strata FILE"
        )
    if size is not None and rate is None:
        raise click.UsageError("give --rate too, the chance that each person or row is counted, such as --rate 1.7%")
    raise click.UsageError("give either --size and --rate, such as --size 5912 --rate 1.7%, or --strata FILE")


def complete_sources(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the names of data sets, and files. The address of a server has no completion."""
    if is_server(incomplete):
        return []
    # The file item comes first: a shell drops names that stand before it, and offers files only if no name fits.
    return [CompletionItem(incomplete, "file"), *completions(configuration_so_far(ctx).datasets, incomplete)]


def complete_analysts(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the names of analysts."""
    return completions(configuration_so_far(ctx).analysts, incomplete)


def complete_datasets(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the names of configured data sets."""
    return completions(configuration_so_far(ctx).datasets, incomplete)


def completions(names: Mapping[str, object], incomplete: str) -> list[CompletionItem]:
    """Return a completion item for each name that begins with `incomplete`."""
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def configuration_so_far(ctx: click.Context) -> Config:
    """Return the configuration of a command line that is being completed, or an empty one if it is unreadable."""
    configuration = ctx.params.get("configuration")
    if isinstance(configuration, Config):
        return configuration
    with suppress(NoisyCountError, OSError):
        if path := find_config(Path.cwd()):
            return load_config(path)
    return default_config()
