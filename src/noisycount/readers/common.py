"""For how long something holds, as people type it.

What people type for an option, and the value that it stands for.

What a shell completes: the names of a configuration, and files.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from noisycount.charts.chart import check_charts
from noisycount.config.config import Config
from noisycount.config.file import find, load, without_file
from noisycount.engines.places import is_server
from noisycount.errors import NoisyCountError
from noisycount.ledger.chain import Head
from noisycount.ledger.entries import check_purpose
from noisycount.ledger.exact import exact_epsilon
from noisycount.release.reply_tick import ReplyTick
from noisycount.validation import written_share

__all__ = [
    "Command",
    "analyst_names",
    "as_confidence",
    "as_epsilon",
    "as_guess",
    "as_head",
    "as_lifetime",
    "as_purpose",
    "as_slot",
    "as_within",
    "config_option",
    "dataset_names",
    "json_option",
    "key_names",
    "number",
    "plot_option",
    "share",
    "source_names",
    "ungrouped",
    "with_options",
]


_FORM = re.compile(r"([1-9][0-9]{0,5})([hdw])")


_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


_LONGEST = timedelta(days=3653)  # ten years, which calendars everywhere have


def as_lifetime(_: click.Context, __: click.Parameter, text: str | None) -> timedelta | None:
    """A lifetime such as `12h`, `90d` or `6w`; None for `never`."""
    if text is None or text == "never":
        return None
    match = _FORM.fullmatch(text)
    lifetime = None if match is None else int(match[1]) * _UNITS[match[2]]
    if lifetime is not None and lifetime <= _LONGEST:
        return lifetime
    raise click.BadParameter(
        f"must be hours, days or weeks up to ten years, such as 12h, 90d or 6w, or never, got "
        f"{text!r}"
    )


_GROUPED = re.compile(r"[±+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]*)?")


_LARGEST_GUESS = 2**53


Command = TypeVar("Command", bound=Callable[..., None])


def as_confidence(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """A confidence such as `95%` or `0.95`."""
    parsed = None if text is None else share(text)
    if parsed is None or 0 < parsed < 1:
        return parsed
    raise click.BadParameter(f"must lie strictly between 0 and 1, such as 95%, got {text!r}")


def as_within(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """A relative half-width such as `20%`, `0.2` or `±20 %`."""
    parsed = None if text is None else share(text)
    if parsed is None or 0 < parsed <= 1:
        return parsed
    raise click.BadParameter(f"must be above 0 and at most 100%, such as 20%, got {text!r}")


def as_epsilon(_: click.Context, __: click.Parameter, text: str | None) -> Fraction | None:
    """An exact ε such as `0.1` or `1/3`."""
    try:
        return None if text is None else exact_epsilon(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def as_head(_: click.Context, __: click.Parameter, text: str | None) -> Head | None:
    """A ledger's head such as `12:` and 64 hexadecimal digits."""
    try:
        return None if text is None else Head.read(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def as_guess(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """A positive number of records."""
    guess = None if text is None else number(text)
    if guess is None or 0 < guess <= _LARGEST_GUESS:
        return guess
    raise click.BadParameter(f"must be a number of records above 0, such as 100, got {text!r}")


def as_picture(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
    """A file for a picture, which can be drawn.

    Raises:
        NoisyCountError: The extra `charts` is not installed.
    """
    if path is None:
        return None
    if path.suffix.lower() not in {".svg", ".png"}:
        raise click.BadParameter(f"must end in .svg or .png, got {str(path)!r}")
    check_charts()
    return path


def plot_option(words: str) -> Callable[[Command], Command]:
    """`--plot`, the file of a picture.

    Args:
        words: What it draws, for the help.
    """
    return click.option(
        "--plot",
        type=click.Path(path_type=Path, dir_okay=False),
        callback=as_picture,
        metavar="FILE",
        help=f"{words} An older picture of that name is replaced.",
    )


def as_purpose(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    """What an answer is for."""
    try:
        check_purpose(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return text


def as_slot(_: click.Context, __: click.Parameter, text: str | None) -> ReplyTick | None:
    """A slot of some seconds."""
    try:
        return None if text is None else ReplyTick(number(text))
    except ValueError:
        message = f"must be from 0.001 to 3600 s, such as 1, got {text!r}"
        raise click.BadParameter(message) from None


def config_option(command: Command) -> Command:
    """The command with `--config`, which gives it a `Config` named `configuration`."""
    return click.option(
        "--config",
        "configuration",
        type=click.Path(path_type=Path),
        callback=_loaded,
        metavar="FILE",
        help="The configuration; left out: noisycount.toml here or in a folder above.",
    )(command)


def json_option(command: Command) -> Command:
    """The command with `--json`, which gives it a flag named `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON object, for machines.")(
        command
    )


def with_options(packed: Any, options: Sequence[Callable[[Any], Any]]) -> Any:  # noqa: ANN401 - a command
    """A command with more options, the first of them first in its help.

    Args:
        packed: The command.
        options: What Click makes of them.
    """
    for option in reversed(options):
        packed = option(packed)
    return packed


def share(text: str) -> float:
    """The share that a text stands for; nan for a text that is no share."""
    found = written_share(text)
    return math.nan if found is None else float(found)


def number(text: str) -> float:
    """The number that a text stands for; nan for a text that is no number."""
    try:
        return float(ungrouped(text))
    except ValueError:
        return math.nan


def ungrouped(text: str) -> str:
    """The text of a number of records without the separators of thousands that answers have.

    Example:
        >>> ungrouped("1,012"), ungrouped("0,125"), ungrouped("1,5")
        ('1012', '0,125', '1,5')
    """
    return text.replace(",", "") if _GROUPED.fullmatch(text.strip()) else text


def _loaded(_: click.Context, __: click.Parameter, path: Path | None) -> Config:
    """The configuration that is named or found; an empty one where there is none."""
    try:
        found = path or find(Path.cwd())
    except FileNotFoundError:
        raise click.UsageError("the current folder was removed: change to another") from None
    return load(found) if found else without_file()


def source_names(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The data sets that begin so, and files; nothing completes an address."""
    if is_server(incomplete):
        return []
    # A shell offers files only where no name fits, and forgets the names before a file.
    return [CompletionItem(incomplete, "file"), *_items(_config(ctx).datasets, incomplete)]


def analyst_names(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The analysts whose names begin so."""
    return _items(_config(ctx).analysts, incomplete)


def dataset_names(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The configured data sets whose names begin so."""
    return _items(_config(ctx).datasets, incomplete)


def key_names(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The holders of keys that are not revoked, and the ids of these keys, that begin so."""
    from noisycount.access.keyring import Keyring  # noqa: PLC0415  (only where one completes)

    with suppress(NoisyCountError):
        held = [key for key in Keyring.of(_config(ctx)).issued() if key.revoked is None]
        return _items(dict.fromkeys(word for k in held for word in (k.name, k.id)), incomplete)
    return []


def _items(names: Mapping[str, object], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _config(ctx: click.Context) -> Config:
    """The configuration of the words so far; an empty one where it cannot be read."""
    given = ctx.params.get("configuration")
    if isinstance(given, Config):
        return given
    with suppress(NoisyCountError, OSError):
        if found := find(Path.cwd()):
            return load(found)
    return without_file()
