# ruff: noqa: PLC0415, as each command loads what it needs alone
"""`noisycount check`, `init`, `show`, `copies` and `doctor`: what data sets are, before one is counted."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import click

from noisycount.cli.main import STATUSES
from noisycount.config.config import Config, DatasetConfig
from noisycount.config.file import FILE_NAME, TEMPLATE, default_config, find_config, load_config
from noisycount.config.places import PLAIN_NAME, Source, name_for, served_table_at
from noisycount.display.output import (
    output_encoding,
    print_drawing,
    print_facts,
    print_json,
    print_table,
    print_text,
    progress,
    seen_from_here,
    status,
)
from noisycount.display.texts import pasteable
from noisycount.engines.places import ServedTable, is_server
from noisycount.errors import ConfigError, SourceError
from noisycount.readers.options import config_option, flag, json_option, source_names, table_option, typed, unit_option

WRONG = 1  # the exit status of an engine that counts wrongly


@click.command(name="check", epilog="Example: noisycount check survey.csv --unit person")
@click.argument("source", shell_complete=source_names)
@unit_option
@table_option
@flag("--renew renews", "Forget what the ledger keeps of the columns, and write down what they are now.")
@config_option
@json_option
@click.pass_context
def check(  # noqa: PLR0913 - one argument an option
    ctx: click.Context,
    source: str,
    unit: str | None,
    table: str | None,
    configuration: Config,
    *,
    renews: bool,
    as_json: bool,
) -> None:
    """Show the owner what is in the records, and what does not fit.

    It shows facts about the data, cells and true counts. SOURCE is a file or a data set of
    noisycount.toml. For every column: its kind and why, how many cells are missing, how many do not
    fit the kind, three of them with their lines, and whether questions may use it; the texts of
    columns that have few of them; then what to write into noisycount.toml so that questions are
    answered. Where all fits and the unit is known, the ledger keeps what the columns are; the exit
    status is 4 where no question is answered.
    """
    from noisycount.tasks import check_display as display
    from noisycount.tasks.check import examined
    from noisycount.tasks.init import mending
    from noisycount.tasks.opening import dataset_asked

    with status("reading"):
        dataset = configuration.table_of(dataset_asked(configuration, source, unit), table)
        inspection = examined(dataset, configuration, renews=renews)
    if as_json:
        print_json(display.inspection_json(inspection))
    else:
        print_text(display.FOR_OWNERS)
        print_facts(display.inspection_facts(inspection))
        print_table(*display.column_table(inspection))
        if values := display.value_rows(inspection):
            print_table(display.VALUE_HEADER, values)
        for problem in display.problems(inspection):
            print_text(problem)
        if lines := mending(inspection):
            print_text(display.mending_words(inspection))
            print_text()
            print_drawing(pasteable(line, output_encoding()) for line in lines)
    if not inspection.fits:
        ctx.exit(STATUSES[SourceError])


def _parse_name(text: str) -> str:
    """A name that can be typed as it stands."""
    if PLAIN_NAME.fullmatch(text):
        return text
    raise ValueError(f"must be letters, digits, - and _, got {text!r}")


@click.command(name="init", epilog="\b\nExample:\n  noisycount init\n  noisycount init survey.csv --unit person")
@click.argument("place", metavar="[SOURCE]", default=".")
@unit_option
@typed("--name", _parse_name, "NAME", "What to call it; left out: as the file.")
@table_option
def init(place: str, unit: str | None, name: str | None, table: str | None) -> None:
    """Write a commented noisycount.toml.

    It goes into the current folder, and describes SOURCE, a file or the address of a table of a
    server: how it is read, its columns, and what their texts most likely stand for, each with the
    reason. No password is written. Left out, or where SOURCE is a folder, it is an example to be
    edited, in that folder.
    """
    folder = Path(place)
    if is_server(place):
        _describe(place, served_table_at(place), unit, name, table)
        return
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
    from noisycount.catalog.folder import Certificates
    from noisycount.tasks.check import examined_place, former_of
    from noisycount.tasks.check_display import unique_words, unit_words
    from noisycount.tasks.init import Draft

    path = Path(FILE_NAME)
    if path.exists() or path.is_symlink():
        raise _existing(path)
    above = find_config(path.absolute().parent)
    configuration = load_config(above) if above else default_config()
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
    draft = Draft(inspection, name or name_for(source), unit)
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
    other = find_config(path.parent)
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
    return ConfigError(f"{path} exists already: edit it, or remove it first")


@click.command(name="show", epilog="Example: noisycount show survey")
@click.argument("source", shell_complete=source_names)
@table_option
@config_option
@json_option
def show(source: str, table: str | None, configuration: Config, *, as_json: bool) -> None:
    """Show what may be asked of a data set, and what was.

    SOURCE is a file or a data set of noisycount.toml. Tells its columns with their kinds, what is
    counted, what is left of the budget, and every answer so far. No record is counted, nothing is
    charged.
    """
    from noisycount.tasks import show as task

    view = task.View.of(configuration.table_of(configuration.dataset(source), table), configuration)
    if as_json:
        print_json(task.view_json(view, configuration))
        return
    header, asked = task.entry_table(view)  # refused before anything is shown
    print_facts(task.view_facts(view, configuration))
    print_table(*task.column_table(view))
    if asked:
        print_table(header, asked)
        print_facts(task.table_hint(view))
    else:
        print_text("nothing was asked yet")


@click.command(name="copies", epilog="Example: noisycount copies survey --remove")
@click.argument("source", required=False, shell_complete=source_names)
@flag("--remove removes", "Remove them.")
@config_option
@json_option
def copies(source: str | None, configuration: Config, *, removes: bool, as_json: bool) -> None:
    """Show or remove the copies of texts that were read once.

    A CSV file is read once; a copy of what its texts stand for lies beside the ledger, readable by
    its owner alone, and later questions count that. SOURCE is a file or a data set of
    noisycount.toml; left out: the copies of all. The next question makes again what it needs.
    """
    from noisycount.tasks.backup import CopyFolder

    shelf = CopyFolder.of(source, configuration)
    removed = shelf.clear() if removes else None
    if as_json:
        print_json(shelf.to_dict(removed))
        return
    print_text(shelf.words(removed))
    if shelf.copies and not removes:
        print_table(*shelf.table)


@click.command(name="doctor", epilog="Example: noisycount doctor postgresql+psycopg://owner@db/clinic")
@click.argument("source", shell_complete=source_names)
@config_option
@json_option
@click.pass_context
def doctor(ctx: click.Context, source: str, configuration: Config, *, as_json: bool) -> None:
    """Test whether the engine that records are on counts as it should.

    SOURCE is the address of a server, with or without a table behind a #; a data set of
    noisycount.toml; or a file, whose engine is DuckDB. Made-up records go into temporary tables,
    which needs the right to make such tables (TEMPORARY of the database) and no other; no record
    of yours is read. Some thirty thousand answers are compared with what they are by definition.
    Where all are right, a certificate is kept beside the ledger, and data sets on such an engine
    can be counted; the exit status is 1 where one is wrong.
    """
    from noisycount.tasks.doctor import Diagnosis

    with progress("testing") as done:
        diagnosis = Diagnosis.of(source, configuration, lambda asked, of: done(asked / of))
    if as_json:
        print_json(diagnosis.to_dict())
    else:
        print_text(diagnosis.verdict)
        print_text()
        print_facts(diagnosis.facts)
        if diagnosis.examination.differences:
            print_table(*diagnosis.differences)
    if diagnosis.certificate is None:
        ctx.exit(WRONG)
