"""What a shell completes: the names of a configuration, and files."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from noisycount.app.config.config import Config
from noisycount.app.config.file import find, load, without_file
from noisycount.errors import NoisyCountError
from noisycount.release.sources.servers import is_server

__all__ = ["analyst_names", "dataset_names", "key_names", "source_names"]


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
    from noisycount.app.access.keyring import Keyring  # noqa: PLC0415  (only where one completes)

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
