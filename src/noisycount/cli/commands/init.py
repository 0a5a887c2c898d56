"""`noisycount init`: a configuration to start from."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import click

from noisycount.config.config import DatasetConfig
from noisycount.config.file import FILE_NAME, TEMPLATE, find, load, without_file
from noisycount.config.places import NAME, Source, name_of, table_at
from noisycount.display.output import print_text, seen_from_here
from noisycount.engines.places import ServedTable, is_server
from noisycount.errors import ConfigError
from noisycount.readers.options import table_option, unit_option


def _as_name(_: click.Context, __: click.Parameter, name: str | None) -> str | None:
    """A name that can be typed as it stands."""
    if name is None or NAME.fullmatch(name):
        return name
    raise click.BadParameter(f"must be letters, digits, - and _, got {name!r}")


@click.command(name="init", epilog="\b\nExample:\n  noisycount init\n  noisycount init survey.csv --unit person")
@click.argument("place", metavar="[SOURCE]", default=".")
@unit_option
@click.option("--name", callback=_as_name, metavar="NAME", help="What to call it; left out: as the file.")
@table_option
def command(place: str, unit: str | None, name: str | None, table: str | None) -> None:
    """Write a commented noisycount.toml.

    It goes into the current folder, and describes SOURCE, a file or the address of a table of a
    server: how it is read, its columns, and what their texts most likely stand for, each with the
    reason. No password is written. Left out, or where SOURCE is a folder, it is an example to be
    edited, in that folder.
    """
    if is_server(place):
        _describe(place, table_at(place), unit, name, table)
        return
    folder = Path(place)
    if not folder.is_dir() and (folder.suffix or folder.exists()):
        _describe(place, folder.resolve(), unit, name, table)
        return
    for option, value in (("--unit", unit), ("--name", name), ("--table", table)):
        if value is not None:
            raise ConfigError(f"{option} {value!r} describes a file: name the file as well")
    path = folder / FILE_NAME
    _write(path, TEMPLATE)
    print_text(f"wrote {path}")
    print_text("Edit it, then ask: noisycount count NAME --where TEXT --epsilon 0.1")


def _describe(place: str, source: Source, unit: str | None, name: str | None, table: str | None) -> None:
    """Write what is known of some records, and tell what is left to say."""
    from noisycount.catalog.certificates import Certificates  # noqa: PLC0415 - the same
    from noisycount.tasks.check import examined_place, former_of  # noqa: PLC0415 - loads DuckDB
    from noisycount.tasks.check_display import unique_words, unit_words  # noqa: PLC0415 - the same
    from noisycount.tasks.init import Draft  # noqa: PLC0415 - the same

    path = Path(FILE_NAME)
    if path.exists() or path.is_symlink():
        raise _existing(path)
    above = find(path.absolute().parent)
    configuration = load(above) if above else without_file()
    former = None
    with suppress(ConfigError):  # what is not described yet, or in parts, has no account
        known = configuration.table_of(configuration.dataset(place), table)
        former = former_of(known, configuration)
    if unit is None and former is not None:
        unit = former.unit
    stated = DatasetConfig(str(source), source, unit=unit)
    configuration.table_of(stated, table)  # refuses one of a server
    inspection = examined_place(replace(stated, table=table), former, Certificates(configuration.data_folder))
    seen = source if isinstance(source, ServedTable) else place
    draft = Draft(inspection, name or name_of(source), unit)
    _write(path, draft.text)
    print_text(f"wrote {path}, with {len(inspection.check.columns):,} columns of {seen}")
    if unit is None:
        print_text('Say in it whose row each one is: unit = "COLUMN", or unit = "row".')
    if inspection.refused:
        names = ", ".join(column.name for column in inspection.refused)
        print_text(f"Cells of {names} do not fit: noisycount check {draft.name}")
    if inspection.without_unit:
        print_text(f"{unit_words(inspection)}: no question is answered until they are filled in or removed.")
    for column in inspection.nearly_unique:
        print_text(unique_words(column, inspection))
    print_text(f"Read it, then ask: noisycount count {draft.name} --where TEXT --epsilon 0.1")


def _write(path: Path, text: str) -> None:
    """Write a new file, and tell of another one whose budgets it puts out of reach."""
    other = find(path.parent)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise _existing(path) from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror}): name a folder") from None
    if other is not None:
        print_text(f"{seen_from_here(other)} is not read in this folder any more")


def _existing(path: Path) -> ConfigError:
    """The refusal of a configuration that is there already."""
    return ConfigError(f"{path} exists already: edit it, or remove it first")
