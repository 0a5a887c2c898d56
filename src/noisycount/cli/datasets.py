# ruff: noqa: PLC0415 - each command imports only what it needs
"""`noisycount init`, `show`, `copies` and `doctor`: describe and test data sets before counting.

The commands print what the modules of `noisycount.tasks` compute. `_write_description` writes the configuration for a
source, and `_edit_configuration` edits an existing one.
"""

import os.path
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from difflib import unified_diff
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from noisycount.catalog.catalog import ROW
from noisycount.config.config import (
    FILE_NAME,
    TEMPLATE,
    Config,
    DatasetConfig,
    default_config,
    find_config,
    load_config,
)
from noisycount.config.places import PLAIN_NAME, Source, other_readers_warning, served_table_at, suggest_name
from noisycount.display import output
from noisycount.display.numbers import counted_noun
from noisycount.display.texts import escape_unencodable
from noisycount.engines.places import ServedTable, ServerPlace, files_of, is_server, is_several
from noisycount.errors import ConfigError, SourceError
from noisycount.frozen import frozen
from noisycount.readers.options import (
    common_options,
    complete_sources,
    fill,
    flag,
    table_option,
    unit_option,
    value_option,
)

if TYPE_CHECKING:
    from noisycount.engines.finding import Proposal
    from noisycount.tasks.check import EarlierAccount, Inspection


@frozen
class InitOptions:
    """Arguments and options of `init`."""

    place: str | None
    table_there: str | None  # the table as the second argument
    unit: str | None
    name: str | None
    table: str | None
    adds: bool
    takes_proposals: bool
    is_accepted: bool


WRONG = 1  # exit status if the engine counts wrongly


def _parse_name(text: str) -> str:
    """Return the text if it is a name that needs no quotes."""
    if PLAIN_NAME.fullmatch(text):
        return text
    raise ValueError(f"must be letters, digits, - and _, got {text!r}")


@click.command(
    name="init",
    epilog="\b\nExample:\n  noisycount init\n  noisycount init survey.parquet --unit person\n"
    "  noisycount init --add postgresql://reader@host/clinic visits --unit person",
)
@click.argument("place", metavar="[SOURCE]", required=False)
@click.argument("table_there", metavar="[TABLE]", required=False)
@unit_option
@value_option("--name", _parse_name, "NAME", "Name the data set. Default: the name of the file.")
@table_option
@flag("--add adds", "Add SOURCE to the existing noisycount.toml. The change is shown first.")
@flag("--accept takes_proposals", "Apply all proposals of `check`.")
@flag("--yes is_accepted", "Write the change of --add without asking.")
@fill(InitOptions)
def init(inputs: InitOptions) -> None:
    """Write a commented noisycount.toml.

    The file goes into the current folder and describes SOURCE: how it is read, its columns, and what their texts
    most likely mean, each with the reason. SOURCE is a file, a folder or a pattern of Parquet files, or the address
    of a server, with its TABLE. Without SOURCE, the file is an example to edit.

    With --unit, SOURCE can also be a folder, a database, a workbook or a server with several tables. They become
    one data set.
    """
    if inputs.table is not None and inputs.table_there is not None:
        raise click.UsageError(
            f"--table {inputs.table!r} and TABLE {inputs.table_there!r} both name a table: give one of them"
        )
    place, table = inputs.place, inputs.table or inputs.table_there
    folder = Path(place or ".")
    if place is not None and is_server(place) and table is None and "#" not in place and inputs.unit is not None:
        _write_configuration_of_tables(inputs, place)
        return
    if place is not None and is_server(place):
        address = place if table is None or "#" in place else f"{place}#{quote(table)}"
        table = table if "#" in place else None  # `_write_description` refuses a table besides that of the address
        _write_description(replace(inputs, place=address, table=table), address, served_table_at(address))
        return
    if (
        place is not None
        and table is None
        and folder.exists()
        and _write_configuration_of_tables(inputs, folder.resolve())
    ):
        return
    if place is not None and _is_place_of_records(folder):
        _write_description(replace(inputs, table=table), place, folder.resolve())
        return
    description_options = {
        "--unit": inputs.unit,
        "--name": inputs.name,
        "--table": table,
        "--add": inputs.adds,
        "--accept": inputs.takes_proposals,
    }
    for option, value in description_options.items():
        if value:
            text = option if value is True else f"{option} {value!r}"
            raise ConfigError(f"{text} describes a file: name the file as well")
    path = folder / FILE_NAME
    _write_new_file(path, TEMPLATE)
    output.print_text(f"wrote {path}")
    output.print_text("Edit it, then ask: noisycount count NAME --epsilon 0.1")


def _is_place_of_records(place: Path) -> bool:
    """Return True if the path means records: a file, or a folder with Parquet files."""
    if not place.is_dir():
        return bool(place.suffix) or is_several(place) or place.exists()
    try:
        return bool(files_of(place.absolute()))
    except SourceError:
        return False


def _write_description(inputs: InitOptions, place: str, source: Source) -> None:
    """Write a configuration for some records, and show what the owner must state or correct next."""
    from noisycount.tasks.check import find_earlier_account
    from noisycount.tasks.init import Draft

    configuration = _present_configuration(inputs)
    unit, table = inputs.unit, inputs.table
    name = _free_name(inputs, source, configuration)
    former_dataset = None
    with suppress(ConfigError):  # a source that is not configured, or only partly, has no earlier description
        dataset = configuration.choose_table(configuration.dataset(place), table)
        former_dataset = find_earlier_account(dataset, configuration)
    if unit is None and former_dataset is not None:
        unit = former_dataset.unit
    stated_dataset = DatasetConfig(str(source), source, unit=unit)
    configuration.choose_table(stated_dataset, table)  # raises an error for a table of a server
    stated_dataset = replace(stated_dataset, table=table)
    inspection, accepted_proposals = _check_records(
        stated_dataset, former_dataset, configuration, applies_proposals=inputs.takes_proposals
    )
    label = source if isinstance(source, ServedTable) else place
    if inputs.adds and configuration.path is not None:
        inspection = replace(inspection, folder=configuration.path.parent)
    draft = Draft(inspection, name, unit, accepted_proposals)
    content = f"{len(inspection.check.columns):,} columns of {label}"
    ledger = inspection.former.url if inspection.former is not None else None
    _write_section(inputs, name, draft.dataset_section, content, ledger)
    if accepted_proposals:
        output.print_text(f"took {counted_noun('proposal', len(accepted_proposals))} of `noisycount check`:")
        output.print_drawing(escape_unencodable(f"  {line}", output.output_encoding()) for line in draft.applied_lines)
    for effect in draft.effect_sentences:
        output.print_text(effect)
    _show_next_steps(inspection, draft.name, unit)


def _write_configuration_of_tables(inputs: InitOptions, place: Path | str) -> bool:
    """Write a configuration for the tables of a folder, a file or a server. Return False if the place is one table."""
    from noisycount.tasks.init_tables import Examined, find_places, group_section, join_tables, server_places

    if inputs.unit is None or inputs.unit == ROW:
        return False
    configuration = _present_configuration(inputs)

    @cache
    def examine_dataset(name: str, source: Path | ServedTable, table: str | None, unit: str | None) -> Examined:
        dataset = DatasetConfig(name, source, table=table, unit=unit)
        return _check_records(dataset, None, configuration, applies_proposals=inputs.takes_proposals)

    def examine(dataset: DatasetConfig) -> Examined:
        if not isinstance(dataset.source, Path | ServedTable):
            raise TypeError(f"dataset must have one table, got {dataset.source}")
        return examine_dataset(dataset.name, dataset.source, dataset.table, dataset.unit)

    ledger = configuration.ledger_file
    places = server_places(place) if isinstance(place, str) else find_places(place, examine, ledger)
    if not places:
        return False
    tables = join_tables(places, inputs.unit, examine)
    shown = ServerPlace.read_server(place).shown if isinstance(place, str) else output.shortest_path_text(place)
    name = _free_name(inputs, Path(shown.partition("?")[0]) if isinstance(place, str) else place, configuration)
    folder = configuration.path.parent if inputs.adds and configuration.path is not None else Path.cwd()
    section = group_section(name, inputs.unit, tables, folder)
    _write_section(inputs, name, section, f"{len(tables):,} tables of {shown}")
    if doubtful_names := [table.name for table in tables if table.doubt is not None]:
        output.print_text(f"Decide in it how {', '.join(doubtful_names)} can be used: the lines are comments.")
    output.print_text(f"Then see what is read, and how the tables join: noisycount check {name}")
    return True


def _present_configuration(inputs: InitOptions) -> Config:
    """Return the present configuration.

    Raise ConfigError if there is nothing to add to, or if a new file would replace another one.
    """
    existing = find_config(Path.cwd())
    if inputs.adds and existing is None:
        raise ConfigError(f"--add: there is no {FILE_NAME} here or above to add to: leave --add out")
    if not inputs.adds and os.path.lexists(FILE_NAME):
        raise _exists_error(Path(FILE_NAME))
    return load_config(existing) if existing else default_config()


def _write_section(inputs: InitOptions, name: str, section: str, content: str, ledger: str | None = None) -> None:
    """Append the section of a data set to the configuration or to a new one, and print what the data set has.

    `ledger` is the address of the ledger of a new configuration; None: a file beside it.
    """
    from noisycount.tasks.init import new_text

    existing = find_config(Path.cwd())
    if inputs.adds and existing is not None:
        _edit_configuration(existing, lambda text: f"{text.rstrip()}\n\n{section}", is_accepted=inputs.is_accepted)
        output.print_text(f"added {name} to {output.shortest_path_text(existing)}, with {content}")
    else:
        _write_new_file(Path(FILE_NAME), new_text(section, ledger))
        output.print_text(f"wrote {FILE_NAME}, with {content}")


def _free_name(inputs: InitOptions, source: Source, configuration: Config) -> str:
    """Return the name of a new data set. Raise ConfigError if the configuration has the name already."""
    name = inputs.name or suggest_name(source)
    if inputs.adds and name in configuration.datasets:
        raise ConfigError(f"{configuration.path} has a data set {name!r} already: give this one another by --name")
    return name


def _check_records(
    dataset: DatasetConfig, former: "EarlierAccount | None", configuration: Config, *, applies_proposals: bool
) -> tuple["Inspection", tuple["Proposal", ...]]:
    """Return the check of some records, and the proposals that it applied: none without `applies_proposals`."""
    from noisycount.catalog.folder import EngineCertificates
    from noisycount.tasks.check import examine_place
    from noisycount.tasks.init import accept_proposals

    with output.status("reading"):
        certificates = EngineCertificates(configuration.data_folder)
        if not applies_proposals:
            return examine_place(dataset, former, certificates), ()
        try:
            inspection = examine_place(dataset, former, certificates)
        except SourceError:  # the unit may be a column that exists only once the proposals are applied
            inspection = examine_place(replace(dataset, unit=None), former, certificates)
        return accept_proposals(inspection, certificates, dataset.unit)


def _show_next_steps(inspection: "Inspection", name: str, unit: str | None) -> None:
    """Show what the owner must state or correct before the first query."""
    from noisycount.engines.finding import Severity
    from noisycount.tasks.check_display import named_findings
    from noisycount.tasks.findings import findings_of

    if unit is None:
        output.print_text('State the privacy unit there: unit = "COLUMN" of persons, or unit = "row".')
    serious_findings = [
        finding
        for finding in findings_of(inspection)
        if finding.severity is not Severity.NOTE and finding.title != "the unit"
    ]
    if serious_findings:
        output.print_text(f"Look at {named_findings(serious_findings)}.")
    if words := other_readers_warning(inspection.dataset.source):
        output.print_text(f"{words}.")
    if unit is None or serious_findings:
        output.print_text(f"Then see what is read, and how to mend it: noisycount check {name}")
    else:
        output.print_text(f"Read it, then ask: noisycount count {name} --epsilon 0.1")


def _edit_configuration(path: Path, edit: Callable[[str], str], *, is_accepted: bool) -> None:
    """Show a change of the configuration file, ask for acceptance, and write it. Everything else in the file stays."""
    before = path.read_bytes()
    old_text = before.decode("utf-8-sig")
    new_text = edit(old_text)
    with output.draft(path) as temporary:
        temporary.touch(mode=0o600)  # the address may contain a password
        temporary.write_text(new_text, encoding="utf-8")
        temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        try:
            load_config(temporary)
        except ConfigError as error:
            fault = str(error).replace(str(temporary), str(path))
            raise ConfigError(f"nothing is written, because the new file would be invalid: {fault}") from None
        label = output.shortest_path_text(path)
        lines = unified_diff(old_text.splitlines(), new_text.splitlines(), label, f"{label}, then", lineterm="")
        output.print_drawing(escape_unencodable(line, output.output_encoding()) for line in lines)
        if not (is_accepted or click.confirm("\nWrite that?", err=True)):
            raise ConfigError(f"{label} was not changed, because you did not accept the change")
        if path.read_bytes() != before:
            raise ConfigError(f"{path} was changed by another process in the meantime: run the command again")


def _write_new_file(path: Path, text: str) -> None:
    """Write a new configuration file. Warn if it hides another one, and so its budgets, in a folder above."""
    hidden_file = find_config(path.parent)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise _exists_error(path) from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror}): name a folder") from None
    if hidden_file is not None:
        output.print_text(f"{output.shortest_path_text(hidden_file)} is not read in this folder any more")


def _exists_error(path: Path) -> ConfigError:
    return ConfigError(f"{path} exists already: edit it, add a data set by --add, or remove it first")


@click.command(name="show", epilog="Example: noisycount show survey")
@click.argument("source", shell_complete=complete_sources)
@table_option
@common_options
def show(source: str, table: str | None, configuration: Config, *, as_json: bool) -> None:
    """Show what can be asked of a data set, and what was asked.

    Shows the columns with their kinds, the privacy unit, the remaining budget, and all answers so far. Charges
    nothing.
    """
    from noisycount.tasks import show as task

    with output.status("reading"):
        view = task.View.for_owner(configuration.choose_table(configuration.dataset(source), table), configuration)
    if as_json:
        output.print_json(task.view_json(view, configuration))
        return
    header, entry_rows = task.entry_table(view)  # may raise, so it comes before the first output
    output.print_facts(task.view_facts(view, configuration))
    if view.tables:
        output.print_table(*task.table_of_tables(view))
    output.print_table(*task.column_table(view))
    if entry_rows:
        output.print_table(header, entry_rows)
        output.print_facts(task.table_hint(view))
    else:
        output.print_text("nothing was asked yet")


@click.command(name="copies", epilog="Example: noisycount copies survey --remove")
@click.argument("source", required=False, shell_complete=complete_sources)
@flag("--remove removes", "Remove the copies.")
@common_options
def copies(source: str | None, configuration: Config, *, removes: bool, as_json: bool) -> None:
    """Show or remove the copies of text files.

    Of a text file, a copy of its values is stored next to the ledger, readable by its owner alone. A query creates
    a missing copy again. Default: the copies of all data sets.
    """
    from noisycount.catalog.folder import remove_copies
    from noisycount.tasks.backup import CopyFolder

    folder = CopyFolder.find(source, configuration)
    removed_count = remove_copies(folder.copies) if removes else None
    if as_json:
        output.print_json(folder.to_dict(removed_count))
        return
    output.print_text(folder.words(removed_count))
    if folder.copies and not removes:
        output.print_table(*folder.table)


@click.command(
    name="doctor",
    epilog="\b\nExample:\n  noisycount doctor postgresql+psycopg://owner@db/clinic\n"
    "  noisycount doctor survey --tick --size 6000",
)
@click.argument("source", shell_complete=complete_sources)
@flag(
    "--tick finds_tick",
    "Measure the slot of [server], and write it if you accept.",
)
@value_option(
    "--size", click.IntRange(1), "N", "With --tick, measure with N made-up persons. Default: the public size of SOURCE."
)
@flag("--yes is_accepted", "With --tick, write the change without asking.")
@common_options
@click.pass_context
def doctor(  # noqa: PLR0913 - one argument per option
    ctx: click.Context,
    source: str,
    size: int | None,
    configuration: Config,
    *,
    finds_tick: bool,
    is_accepted: bool,
    as_json: bool,
) -> None:
    """Test that the engine of a data set counts correctly.

    SOURCE can be the address of a server. The test writes made-up records to temporary tables (right TEMPORARY of the
    database), and compares about thirty thousand answers with their definition. If all answers are right, it stores a
    certificate next to the ledger, and data sets on this engine can be counted. Otherwise the exit status is 1.

    With --tick it measures counts of made-up records, and proposes the slot of [server]: 4 times the longest
    duration, rounded up. Measure your largest data set on the machine that serves. With --json nothing is written.
    """
    if finds_tick:
        _measure_tick(source, size, configuration, is_accepted=is_accepted, as_json=as_json)
        return
    if size is not None or is_accepted:
        raise click.UsageError(f"{'--yes' if size is None else '--size'} is for --tick: add --tick")
    from noisycount.tasks.doctor import Diagnosis

    with output.progress("testing") as done:
        diagnosis = Diagnosis.make(source, configuration, lambda answered, total: done(answered / total))
    if as_json:
        output.print_json(diagnosis.to_dict())
    else:
        output.print_text(diagnosis.verdict)
        output.print_text()
        output.print_facts(diagnosis.facts)
        if diagnosis.examination.differences:
            output.print_table(*diagnosis.differences)
    if diagnosis.certificate is None:
        ctx.exit(WRONG)


def _measure_tick(source: str, size: int | None, configuration: Config, *, is_accepted: bool, as_json: bool) -> None:
    """Show the reply tick that made-up records need, and write it to the configuration if that is accepted."""
    from noisycount.tasks.doctor import TickTimes

    if as_json and is_accepted:
        raise click.UsageError("--json writes nothing: leave --yes out, or --json")
    with output.progress("timing") as done:
        times = TickTimes.measure(configuration.dataset(source), size, done)
    if as_json:
        output.print_json(times.to_dict())
        return
    output.print_facts(times.facts)
    if served_names := [name for name, dataset in configuration.datasets.items() if dataset.is_served]:
        output.print_text(
            f"Nor is any server or object store measured, as of {', '.join(served_names)}: one slot is for all data "
            "sets."
        )
    if configuration.path is None:
        output.print_text(f"There is no {FILE_NAME} to write it to.")
    elif configuration.service.slot == times.tick:
        output.print_text(f"slot = {times.tick:g} holds already: nothing is to be written.")
    else:
        _edit_configuration(configuration.path, times.with_slot_in, is_accepted=is_accepted)
        output.print_text(
            f"wrote slot = {times.tick:g} to {output.shortest_path_text(configuration.path)}; "
            "serve takes it when it starts again"
        )
