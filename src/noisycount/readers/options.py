"""Options that several commands have, what a shell completes of them, and the type of them all."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from noisycount.charts.chart import check_charts
from noisycount.config.config import Config
from noisycount.config.file import default_config, find_config, load_config
from noisycount.engines.places import is_server
from noisycount.errors import NoisyCountError

if TYPE_CHECKING:
    from noisycount.readers.assumption import Assumed, Rate


Command = TypeVar("Command", bound=Callable[..., None])


class Parsed(click.ParamType[Any]):
    """The type of an option whose text a reader of `values` reads."""

    def __init__(self, read: Callable[[str], object]) -> None:
        self.name, self.read = read.__name__.removeprefix("parse_"), read

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        """The value of the text; what has a value already keeps it."""
        if not isinstance(value, str):
            return value
        try:
            return self.read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def typed(
    names: str,
    read: Callable[[str], object] | click.ParamType[Any],
    metavar: str,
    words: str,
    **settings: Any,  # noqa: ANN401 - more that an option of Click has
) -> Callable[[Command], Command]:
    """An option, and the argument's name if it has another, whose text a reader reads; with words for the help."""
    kind = read if isinstance(read, click.ParamType) else Parsed(read)
    shown = "default" in settings
    return click.option(*names.split(), type=kind, metavar=metavar, help=words, show_default=shown, **settings)


def repeated(
    names: str,
    read: Callable[[Sequence[str]], Any],
    metavar: str,
    words: str,
    **settings: Any,  # noqa: ANN401 - more that an option of Click has
) -> Callable[[Command], Command]:
    """An option that may be given several times, whose texts a reader reads together."""

    def value(_: click.Context, __: click.Parameter, texts: Sequence[str]) -> Any:  # noqa: ANN401 - as it reads them
        try:
            return read(texts)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return click.option(*names.split(), multiple=True, callback=value, metavar=metavar, help=words, **settings)


def flag(names: str, words: str) -> Callable[[Command], Command]:
    """An option without a value."""
    return click.option(*names.split(), is_flag=True, help=words)


FILE = click.Path(path_type=Path, dir_okay=False)
json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object, for machines.")
table_option = click.option("--table", metavar="NAME", help="Which table, view or sheet, where a file has several.")
unit_option = click.option(
    "--unit",
    metavar="COLUMN|row",
    help="The column that says whose row it is, or row: each row is another person. It must be "
    "said once; the ledger keeps it.",
)


def _loaded(_: click.Context, __: click.Parameter, path: Path | None) -> Config:
    """The configuration that is named or found; an empty one where there is none."""
    try:
        found = path or find_config(Path.cwd())
    except FileNotFoundError:
        raise click.UsageError("the current folder was removed: change to another") from None
    return load_config(found) if found else default_config()


config_option = click.option(
    "--config",
    "configuration",
    type=click.Path(path_type=Path),
    callback=_loaded,
    metavar="FILE",
    help="The configuration; left out: noisycount.toml here or in a folder above.",
)


def common_options(command: Command) -> Command:
    """The command with `--config` and `--json`."""
    return config_option(json_option(command))


def plot_option(words: str) -> Callable[[Command], Command]:
    """`--plot`, the file of a picture, with words on what it draws for the help."""
    told = f"{words} An older picture of that name is replaced."
    return click.option("--plot", type=FILE, callback=_drawable, metavar="FILE", help=told)


def _drawable(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
    """A file for a picture, which can be drawn."""
    if path is None:
        return None
    if path.suffix.lower() not in {".svg", ".png"}:
        raise click.BadParameter(f"must end in .svg or .png, got {str(path)!r}")
    check_charts()
    return path


def population_options(command: Command) -> Command:
    """The command with `--size`, `--rate` and `--strata`, of which `assumed_of_options` is made."""
    from noisycount.readers.values import parse_rate, parse_size  # noqa: PLC0415  (loads NumPy)

    strata = typed("--strata", FILE, "FILE", "Or: groups of records, in a table with the columns size and rate.")
    words = "and the chance that each counts: 30%, or 30%±2% if it has that standard deviation."
    rate = typed("--rate", parse_rate, "P", words)
    return typed("--size", parse_size, "N", "How many records there are,")(rate(strata(command)))


def assumed_of_options(
    size: int | None, rate: "Rate | None", strata: Path | None, *, is_flat_allowed: bool = False
) -> "Assumed":
    """What is known about the count before its answer; nothing but the size, if that may be."""
    from noisycount.readers.assumption import Assumed  # noqa: PLC0415  (loads the laws)

    if rate is not None and size is not None and strata is None:
        return Assumed.of_rate(size, rate)
    if rate is None and strata is not None:
        from noisycount.readers.assumption import assumed_of_file  # noqa: PLC0415  (loads DuckDB)

        return assumed_of_file(strata, size)
    if is_flat_allowed and rate is None and size is not None:
        return Assumed.of_size(size)
    if is_flat_allowed:
        raise click.UsageError(
            "give either --size, and --rate if it is known, such as --size 5912 --rate 1.7%, or --strata FILE"
        )
    if size is not None and rate is None:
        raise click.UsageError("give --rate too, the chance that each record counts, such as --rate 1.7%")
    raise click.UsageError("give either --size and --rate, such as --size 5912 --rate 1.7%, or --strata FILE")


def source_names(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The data sets that begin so, and files; nothing completes an address."""
    if is_server(incomplete):
        return []
    # A shell offers files only where no name fits, and forgets the names before a file.
    return [CompletionItem(incomplete, "file"), *completions(configuration_so_far(ctx).datasets, incomplete)]


def analyst_names(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The analysts whose names begin so."""
    return completions(configuration_so_far(ctx).analysts, incomplete)


def dataset_names(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The configured data sets whose names begin so."""
    return completions(configuration_so_far(ctx).datasets, incomplete)


def completions(names: Mapping[str, object], incomplete: str) -> list[CompletionItem]:
    """The names that begin so."""
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def configuration_so_far(ctx: click.Context) -> Config:
    """The configuration of the words so far; an empty one where it cannot be read."""
    given = ctx.params.get("configuration")
    if isinstance(given, Config):
        return given
    with suppress(NoisyCountError, OSError):
        if found := find_config(Path.cwd()):
            return load_config(found)
    return default_config()
