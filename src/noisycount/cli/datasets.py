# ruff: noqa: PLC0415, as each command loads what it needs alone
"""`noisycount check`, `init`, `show`, `copies` and `doctor`: what data sets are, before one is counted."""

import os.path
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from noisycount.cli.main import STATUSES
from noisycount.config.config import Config, DatasetConfig
from noisycount.config.file import FILE_NAME, TEMPLATE, default_config, find_config, load_config
from noisycount.config.places import PLAIN_NAME, Source, name_for, readers_words, served_table_at
from noisycount.display import output
from noisycount.display.numbers import number_of
from noisycount.display.texts import pasteable
from noisycount.engines.places import ServedTable, files_of, is_server, is_several
from noisycount.errors import ConfigError, SourceError
from noisycount.readers.options import common_options, flag, source_names, table_option, typed, unit_option

if TYPE_CHECKING:
    from noisycount.tasks.check import Inspection

WRONG = 1  # the exit status of an engine that counts wrongly


@click.command(name="check", epilog="Example: noisycount check survey.parquet --unit person")
@click.argument("source", shell_complete=source_names)
@unit_option
@table_option
@flag("--renew renews", "Forget what the ledger keeps of the columns, and write down what they are now.")
@common_options
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
    """Show the owner what is in the records, and what to mend.

    It shows facts about the data, cells and true counts. SOURCE is a file or a data set of noisycount.toml. The first
    line says if questions are answered. A table shows each column: its kind, how many cells are missing, how many do
    not fit the kind, and its commonest texts; of more than 40 columns it shows those with findings first. A second
    table shows the findings, with lines of the file. At the end stand the lines for noisycount.toml that mend them;
    `noisycount init SOURCE --accept` takes them all. If all fits and the unit is stated, the ledger keeps what the
    columns are. The exit status is 4 if no question is answered.
    """
    from noisycount.tasks import check_display as display
    from noisycount.tasks.check import examined
    from noisycount.tasks.check_json import inspection_json
    from noisycount.tasks.findings import findings_of
    from noisycount.tasks.opening import dataset_asked
    from noisycount.tasks.proposals import proposal_lines, value_lines

    with output.status("reading"):
        dataset = configuration.table_of(dataset_asked(configuration, source, unit), table)
        inspection = examined(dataset, configuration, renews=renews)
    if as_json:
        output.print_json(inspection_json(inspection))
    else:
        findings = findings_of(inspection)
        output.print_text(display.FOR_OWNERS)
        output.print_text()
        output.print_text(display.verdict(inspection, findings), bold=True)
        output.print_text()
        output.print_facts(display.inspection_facts(inspection))
        output.print_table(*display.column_table(inspection, findings))
        header, rows = display.finding_table(inspection, findings)
        if rows:
            output.print_table(header, rows)
        proposed = display.proposal_words(inspection), proposal_lines(inspection)
        for words, lines in (proposed, (display.PUBLIC_VALUES, value_lines(inspection))):
            if lines:
                output.print_text(f"{words}\n")
                output.print_drawing(pasteable(line, output.output_encoding()) for line in lines)
    if not inspection.fits:
        ctx.exit(STATUSES[SourceError])


def _parse_name(text: str) -> str:
    """A name that can be typed as it stands."""
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
@typed("--name", _parse_name, "NAME", "What to call it; left out: as the file.")
@table_option
@flag("--add adds", "Add SOURCE to the noisycount.toml that there is, here or above; the change is shown first.")
@flag("--accept takes_proposals", "Take every proposal of `check`, and check the records again as they are read then.")
@flag("--yes is_accepted", "Accept that change without being asked.")
def init(  # noqa: PLR0913 - one argument an option
    place: str | None,
    table_there: str | None,
    unit: str | None,
    name: str | None,
    table: str | None,
    *,
    adds: bool,
    takes_proposals: bool,
    is_accepted: bool,
) -> None:
    """Write a commented noisycount.toml.

    It goes into the current folder, and describes SOURCE: a file, a folder or a pattern of Parquet
    files, whose folders may be named by columns (year=2024), or the address of a server, with its
    TABLE: how it is read, its columns, and what their texts most likely stand for, each with the reason. No password is
    written. Left out, or where SOURCE is a folder without Parquet files, it is an example to be edited, in that folder.
    """
    if table is not None and table_there is not None:
        raise click.UsageError(f"--table {table!r} and TABLE {table_there!r} both name a table: give one of them")
    table = table or table_there
    folder = Path(place or ".")
    if place is not None and is_server(place):
        address = place if table is None or "#" in place else f"{place}#{quote(table)}"
        table = table if "#" in place else None  # which is refused beside that of the address
        source: Source = served_table_at(address)
        _describe(address, source, unit, name, table, adds=adds, takes=takes_proposals, is_accepted=is_accepted)
        return
    if place is not None and _is_described(folder):
        source = folder.resolve()
        _describe(place, source, unit, name, table, adds=adds, takes=takes_proposals, is_accepted=is_accepted)
        return
    described = {"--unit": unit, "--name": name, "--table": table, "--add": adds, "--accept": takes_proposals}
    for option, value in described.items():
        if value:
            said = option if value is True else f"{option} {value!r}"
            raise ConfigError(f"{said} describes a file: name the file as well")
    path = folder / FILE_NAME
    _write(path, TEMPLATE)
    output.print_text(f"wrote {path}")
    output.print_text("Edit it, then ask: noisycount count NAME --epsilon 0.1")


def _is_described(place: Path) -> bool:
    """Whether a path is meant to be one of records: a folder is where it has Parquet files."""
    if not place.is_dir():
        return bool(place.suffix) or is_several(place) or place.exists()
    try:
        return bool(files_of(place.absolute()))
    except SourceError:
        return False


def _describe(  # noqa: PLR0913 - one argument an option
    place: str,
    source: Source,
    unit: str | None,
    name: str | None,
    table: str | None,
    *,
    adds: bool,
    takes: bool,
    is_accepted: bool,
) -> None:
    """Write a configuration of some records, and show what their owner has to state or mend."""
    from noisycount.catalog.folder import Certificates
    from noisycount.tasks.check import examined_place, former_of
    from noisycount.tasks.init import Draft, accept_proposals

    path, above = Path(FILE_NAME), find_config(Path.cwd())
    if adds and above is None:
        raise ConfigError(f"--add: there is no {FILE_NAME} here or above to add to: leave --add out")
    if not adds and os.path.lexists(path):
        raise _existing(path)
    configuration = load_config(above) if above else default_config()
    name = name or name_for(source)
    if adds and name in configuration.datasets:
        raise ConfigError(f"{above} has a data set {name!r} already: give this one another by --name")
    former = None
    with suppress(ConfigError):  # what is not described yet, or in parts, has no account
        known = configuration.table_of(configuration.dataset(place), table)
        former = former_of(known, configuration)
    if unit is None and former is not None:
        unit = former.unit
    stated = DatasetConfig(str(source), source, unit=unit)
    configuration.table_of(stated, table)  # refuses one of a server
    with output.status("reading"):
        kept = Certificates(configuration.data_folder)
        try:
            inspection = examined_place(replace(stated, table=table), former, kept)
        except SourceError:
            if not takes:
                raise
            # the unit may be a column of the file as proposals read it
            inspection = examined_place(replace(stated, table=table, unit=None), former, kept)
        inspection, taken = accept_proposals(inspection, kept, unit) if takes else (inspection, ())
    seen = source if isinstance(source, ServedTable) else place
    if adds and configuration.path is not None:
        draft = Draft(replace(inspection, folder=configuration.path.parent), name, unit, taken)
        path = configuration.path
        _change(path, draft.added_to, is_accepted=is_accepted)
        output.print_text(
            f"added {name} to {output.seen_from_here(path)}, with {len(inspection.check.columns):,} columns of {seen}"
        )
    else:
        draft = Draft(inspection, name, unit, taken)
        _write(path, draft.text)
        output.print_text(f"wrote {path}, with {len(inspection.check.columns):,} columns of {seen}")
    if taken:
        output.print_text(f"took {number_of('proposal', len(taken))} of `noisycount check`:")
        output.print_drawing(pasteable(f"  {line}", output.output_encoding()) for line in draft.taken_lines)
    _show_next_steps(inspection, draft.name, unit)


def _show_next_steps(inspection: "Inspection", name: str, unit: str | None) -> None:
    """Show what an owner has to state or mend before anybody asks."""
    from noisycount.engines.finding import Severity
    from noisycount.tasks.check_display import named_findings
    from noisycount.tasks.findings import findings_of

    if unit is None:
        output.print_text('Say in it whose row each one is: unit = "COLUMN", or unit = "row".')
    serious = [
        each for each in findings_of(inspection) if each.severity is not Severity.NOTE and each.title != "the unit"
    ]
    if serious:
        output.print_text(f"Look at {named_findings(serious)}.")
    if words := readers_words(inspection.dataset.source):
        output.print_text(f"{words}.")
    if unit is None or serious:
        output.print_text(f"Then see what is read, and how to mend it: noisycount check {name}")
    else:
        output.print_text(f"Read it, then ask: noisycount count {name} --epsilon 0.1")


def _change(path: Path, changed: Callable[[str], str], *, is_accepted: bool) -> None:
    """Change a configuration, once the change was shown and accepted; all that it says else stays."""
    before = path.read_bytes()
    old = before.decode("utf-8-sig")
    new = changed(old)
    with output.draft(path) as part:
        part.touch(mode=0o600)  # an address may hold a password
        part.write_text(new, encoding="utf-8")
        part.chmod(stat.S_IMODE(path.stat().st_mode))
        try:
            load_config(part)
        except ConfigError as error:
            raise ConfigError(f"nothing is written, as then {str(error).replace(str(part), str(path))}") from None
        shown = output.seen_from_here(path)
        lines = unified_diff(old.splitlines(), new.splitlines(), shown, f"{shown}, then", lineterm="")
        output.print_drawing(pasteable(line, output.output_encoding()) for line in lines)
        if not (is_accepted or click.confirm("\nWrite that?", err=True)):
            raise ConfigError(f"{shown} is as it was, as you did not accept the change")
        if path.read_bytes() != before:
            raise ConfigError(f"{path} was changed by somebody else meanwhile: run the command again")


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
        output.print_text(f"{output.seen_from_here(other)} is not read in this folder any more")


def _existing(path: Path) -> ConfigError:
    return ConfigError(f"{path} exists already: edit it, add a data set by --add, or remove it first")


@click.command(name="show", epilog="Example: noisycount show survey")
@click.argument("source", shell_complete=source_names)
@table_option
@common_options
def show(source: str, table: str | None, configuration: Config, *, as_json: bool) -> None:
    """Show what may be asked of a data set, and what was.

    SOURCE is a file or a data set of noisycount.toml. Tells its columns with their kinds, what is counted, what is left
    of the budget, and every answer so far. No record is counted, nothing is charged.
    """
    from noisycount.tasks import show as task

    with output.status("reading"):
        view = task.View.of(configuration.table_of(configuration.dataset(source), table), configuration)
    if as_json:
        output.print_json(task.view_json(view, configuration))
        return
    header, asked = task.entry_table(view)  # refused before anything is shown
    output.print_facts(task.view_facts(view, configuration))
    output.print_table(*task.column_table(view))
    if asked:
        output.print_table(header, asked)
        output.print_facts(task.table_hint(view))
    else:
        output.print_text("nothing was asked yet")


@click.command(name="copies", epilog="Example: noisycount copies survey --remove")
@click.argument("source", required=False, shell_complete=source_names)
@flag("--remove removes", "Remove them.")
@common_options
def copies(source: str | None, configuration: Config, *, removes: bool, as_json: bool) -> None:
    """Show or remove the copies of texts that were read once.

    A CSV file is read once; a copy of what its texts stand for lies beside the ledger, readable by
    its owner alone, and later questions count that. SOURCE is a file or a data set of
    noisycount.toml; left out: the copies of all. The next question makes again what it needs.
    """
    from noisycount.catalog.folder import discard
    from noisycount.tasks.backup import CopyFolder

    shelf = CopyFolder.of(source, configuration)
    removed = discard(shelf.copies) if removes else None
    if as_json:
        output.print_json(shelf.to_dict(removed))
        return
    output.print_text(shelf.words(removed))
    if shelf.copies and not removes:
        output.print_table(*shelf.table)


@click.command(
    name="doctor",
    epilog="\b\nExample:\n  noisycount doctor postgresql+psycopg://owner@db/clinic\n"
    "  noisycount doctor survey --tick --size 6000",
)
@click.argument("source", shell_complete=source_names)
@flag(
    "--tick finds_tick",
    "Find the slot of [server] in place of testing the engine; written once the change is accepted.",
)
@typed("--size", click.IntRange(1), "N", "With --tick, so many persons; left out: the public size of SOURCE.")
@flag("--yes is_accepted", "With --tick, accept the change without being asked.")
@common_options
@click.pass_context
def doctor(  # noqa: PLR0913 - one argument an option
    ctx: click.Context,
    source: str,
    size: int | None,
    configuration: Config,
    *,
    finds_tick: bool,
    is_accepted: bool,
    as_json: bool,
) -> None:
    """Test whether the engine that records are on counts as it should.

    SOURCE is the address of a server, with or without a table behind a #; a data set of noisycount.toml; or a file,
    whose engine is DuckDB. Made-up records go into temporary tables, which needs the right to make such tables
    (TEMPORARY of the database) and no other; no record of yours is read. Some thirty thousand answers are compared with
    what they are by definition. Where all are right, a certificate is kept beside the ledger, and data sets on such an
    engine can be counted; the exit status is 1 where one is wrong.

    With --tick it measures how long twenty counts and a table take over made-up records, and
    proposes the slot of [server]: 4 times the slowest, rounded up. Find it for your largest data
    set, on the machine that serves. With --json nothing is written.
    """
    if finds_tick:
        _find_tick(source, size, configuration, is_accepted=is_accepted, as_json=as_json)
        return
    if size is not None or is_accepted:
        raise click.UsageError(f"{'--yes' if size is None else '--size'} is for --tick: add --tick")
    from noisycount.tasks.doctor import Diagnosis

    with output.progress("testing") as done:
        diagnosis = Diagnosis.of(source, configuration, lambda asked, of: done(asked / of))
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


def _find_tick(source: str, size: int | None, configuration: Config, *, is_accepted: bool, as_json: bool) -> None:
    """Show the tick that made-up records need, and write it down once that is accepted."""
    from noisycount.tasks.doctor import TickTimes

    if as_json and is_accepted:
        raise click.UsageError("--json writes nothing: leave --yes out, or --json")
    with output.progress("timing") as done:
        times = TickTimes.of(configuration.dataset(source), size, done)
    if as_json:
        output.print_json(times.to_dict())
        return
    output.print_facts(times.facts)
    if served := [name for name, each in configuration.datasets.items() if each.is_served]:
        output.print_text(f"Nor is any server measured, as of {', '.join(served)}: one slot is for all data sets.")
    if configuration.path is None:
        output.print_text(f"There is no {FILE_NAME} to write it to.")
    elif configuration.service.slot == times.tick:
        output.print_text(f"slot = {times.tick:g} holds already: nothing is to be written.")
    else:
        _change(configuration.path, times.written_to, is_accepted=is_accepted)
        output.print_text(
            f"wrote slot = {times.tick:g} to {output.seen_from_here(configuration.path)}; "
            "serve takes it when it starts again"
        )
