"""`noisycount init`: a configuration to start from."""

from pathlib import Path

import click

from noisycount.app.config.file import FILE_NAME, TEMPLATE
from noisycount.app.terminal.printing import print_text
from noisycount.errors import ConfigError

__all__ = ["command"]


@click.command(name="init", epilog="Example: noisycount init")
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
def command(folder: Path) -> None:
    """Write a commented noisycount.toml into FOLDER (left out: this one)."""
    path = folder / FILE_NAME
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(TEMPLATE)
    except FileExistsError:
        raise ConfigError(f"{path} exists already: edit it, or remove it first") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror}): name a folder") from None
    print_text(f"wrote {path}")
    print_text("Edit it, then ask: noisycount count NAME --where TEXT --epsilon 0.1")
