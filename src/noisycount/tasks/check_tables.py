"""Checks of a data set of several tables: each table, and persons and links of all tables together.

If everything fits, `examine_tables` stores the description of the records in the ledger.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace

from noisycount.catalog.sources import CheckedFiles
from noisycount.catalog.table_group import TableGroup
from noisycount.config.config import Config, DatasetConfig
from noisycount.display.numbers import number_of
from noisycount.engines.finding import Finding, Severity, by_severity
from noisycount.engines.table_checks import LinkCheck, TablesCheck
from noisycount.errors import ConfigError, SourceError
from noisycount.frozen import frozen
from noisycount.ledger.ledger import Ledger
from noisycount.tasks.check import Inspection, examine_table, same_unit
from noisycount.tasks.findings import find_answers_about_others, find_other_size, find_same_unit, findings_of
from noisycount.tasks.opening import catalog_of, existing_ledger, records_of


@frozen
class GroupInspection:
    """The content of several tables, and whether questions about them are answered."""

    dataset: DatasetConfig  # configuration by the owner
    group: TableGroup
    tables: Mapping[str, Inspection]  # check of each table
    numbers: TablesCheck | None = None  # persons and links of all tables; None: the tables cannot be joined
    refusal: str | None = None  # the reason why readable tables cannot be joined
    same_unit: tuple[str, ...] = ()  # other data sets whose privacy unit is a column of the same name
    answered_otherwise: int = 0  # number of answers about former records, or about records that were read differently

    @property
    def fits(self) -> bool:
        """True if questions are answered."""
        return self.refusal is None and all(inspection.fits for inspection in self.tables.values())

    @property
    def persons(self) -> int | None:
        """Number of persons who count; None if the tables cannot be joined."""
        if self.numbers is None:
            return None
        register = self.group.persons
        return self.numbers.persons if register is None else self.numbers.tables[register].persons

    @property
    def joint_findings(self) -> list[Finding]:
        """Findings about all tables together. The column of a finding is a table, or a column with its table."""
        return by_severity([finding for finder in _FINDERS for finding in finder(self)])

    @property
    def findings(self) -> list[Finding]:
        """Findings about all tables together, and about each table, with qualified names of columns."""
        of_tables = [
            replace(finding, column=name if finding.column is None else f"{name}.{finding.column}")
            for name, inspection in self.tables.items()
            for finding in findings_of(inspection)
        ]
        return by_severity([*self.joint_findings, *of_tables])


def examine_tables(dataset: DatasetConfig, configuration: Config, *, renews: bool = False) -> GroupInspection:
    """Check a data set of several tables. If everything fits, store its description in the ledger.

    Nothing is stored if column names look like values of a record, unless the ledger already describes the data set or
    the owner renews the description (`renews`).
    """
    group = dataset.source
    if not isinstance(group, TableGroup):
        raise TypeError(f"dataset must have several tables, got {group}")
    with ExitStack() as drafts:
        with existing_ledger(configuration) as ledger:
            catalog = catalog_of(ledger, configuration)
            catalog.unit(dataset.account, dataset.unit)
            is_described = dataset.account in catalog.written
            examined = {
                table.name: drafts.enter_context(examine_table(table, dataset, configuration, catalog, renews=renews))
                for table in group.tables
            }
        tables = {name: table for name, (table, _) in examined.items()}
        inspection = GroupInspection(dataset, group, tables, same_unit=same_unit(dataset, configuration))
        if not inspection.fits:
            return inspection
        is_in_doubt = any(table.check.names_like_values for table in tables.values())
        writes = is_described or renews or not is_in_doubt
        checked = {name: files for name, (_, files) in examined.items() if files is not None}
        try:
            numbers, others = _count_and_write_down(dataset, configuration, checked, renews=renews, writes=writes)
        except (ConfigError, SourceError) as error:
            return replace(inspection, refusal=str(error))
    return replace(inspection, numbers=numbers, answered_otherwise=others)


def _count_and_write_down(
    dataset: DatasetConfig,
    configuration: Config,
    checked: Mapping[str, CheckedFiles],
    *,
    renews: bool,
    writes: bool,
) -> tuple[TablesCheck, int]:
    """Return true numbers of persons and links, and the number of the ledger's answers about other records.

    If `writes` is true, the description of the tables is stored in the ledger.
    """
    with ExitStack() as opened:
        ledger = opened.enter_context(existing_ledger(configuration, makes=True))
        records = opened.enter_context(
            records_of(dataset, catalog_of(ledger, configuration, makes=True), checked, renews=renews)
        )
        numbers = records.check_tables()
        if not writes:
            return numbers, 0
        if ledger is None:
            configuration.make_ledger_folder()
            ledger = opened.enter_context(Ledger.open(configuration.ledger_url))
        records.write_down(ledger)
        return numbers, records.answered_otherwise(ledger.entries(records.name))


def _find_refusal(inspection: GroupInspection) -> Iterator[Finding]:
    """Yield a finding if the tables cannot be joined."""
    if inspection.refusal is not None:
        yield Finding(Severity.BLOCKS, "tables that cannot be joined", inspection.refusal)


def _find_absent_persons(inspection: GroupInspection) -> Iterator[Finding]:
    """Yield a finding for each table with persons who are not in a table that has a row of every person."""
    if inspection.numbers is None:
        return
    for name, table in inspection.numbers.tables.items():
        for register, number in table.absent.items():
            persons = number_of("person", number)
            if number and register == inspection.group.persons:
                text = (
                    f"{persons} of {name} {_is_or_are(number)} not in {register}, which persons names: no question "
                    "counts "
                    f"them. Add them to {register}, or leave persons out"
                )
                yield Finding(Severity.LOOK, "persons who do not count", text, name)
            elif number:
                text = (
                    f"{persons} of {name} {_is_or_are(number)} not in {register}: every value of {register} is missing"
                )
                yield Finding(Severity.LOOK, f"persons who are not in {register}", text, name)
        if table.persons and table.alone == table.persons and len(inspection.numbers.tables) > 1:
            text = (
                f"All {number_of('person', table.persons)} of {name} {_is_or_are(table.persons)} in no other table: "
                "check that its column of persons has the same ids as those of the other tables"
            )
            yield Finding(Severity.LOOK, "a table of other persons", text, name)


def _find_repeated_persons(inspection: GroupInspection) -> Iterator[Finding]:
    """Yield a finding for each table whose numbers of rows a person differ from what the owner states."""
    if inspection.numbers is None:
        return
    for facts in inspection.group.facts:
        table = inspection.numbers.tables.get(facts.name)
        if table is None:
            continue
        if facts.is_one_row_a_unit and table.repeated:
            text = (
                f"{number_of('person', table.repeated)} {'has' if table.repeated == 1 else 'have'} several rows, "
                "although one_row_a_unit = true: a condition on its columns then holds if it holds in some row. "
                "Correct the rows, or leave one_row_a_unit out"
            )
            yield Finding(Severity.LOOK, "persons with several rows", text, facts.name)
        elif not facts.is_one_row_a_unit and table.persons and not table.repeated:
            text = (
                "Every person has one row: if this is always so, state one_row_a_unit = true, and questions may name "
                f"columns of {facts.name} without any(...)"
            )
            yield Finding(Severity.NOTE, "one row a person", text, facts.name)


def _find_broken_links(inspection: GroupInspection) -> Iterator[Finding]:
    """Yield findings about the rows of a link that lead to nobody, to several persons, or to no explanation."""
    for link in () if inspection.numbers is None else inspection.numbers.links:
        if link.is_lookup:
            yield from _find_unexplained_rows(link)
        else:
            yield from _find_unowned_rows(link)


def _find_unexplained_rows(link: LinkCheck) -> Iterator[Finding]:
    """Yield a finding if a look-up lacks values."""
    if link.unmatched:
        text = (
            f"{number_of('row', link.unmatched)} {'has' if link.unmatched == 1 else 'have'} "
            f"{number_of('value', link.unmatched_values)} that look-up {link.target} lacks: the columns of "
            f"{link.target} are missing in them. Add the values to {link.target} if they are public"
        )
        yield Finding(Severity.LOOK, "values without an explanation", text, f"{link.table}.{link.column}")


def _find_unowned_rows(link: LinkCheck) -> Iterator[Finding]:
    """Yield findings about rows of a linked table without a person, or with several."""
    column = f"{link.table}.{link.column}"
    if lost := link.missing + link.unmatched:
        text = (
            f"{number_of('row', lost)} {'leads' if lost == 1 else 'lead'} to nobody, and so {_is_or_are(lost)} in no "
            "count: "
            f"{link.missing:,} without a value, {link.unmatched:,} with {number_of('value', link.unmatched_values)} "
            f"that {link.target} lacks"
        )
        yield Finding(Severity.LOOK, "rows without a person", text, column, lost)
    if link.shared:
        text = (
            f"{number_of('row', link.shared)} {'leads' if link.shared == 1 else 'lead'} to several persons, by "
            f"{number_of('value', link.shared_values)} that several persons have in {link.target}: such a row counts "
            "for each of them"
        )
        yield Finding(Severity.LOOK, "rows of several persons", text, column, link.shared)


def _find_other_size(inspection: GroupInspection) -> Iterator[Finding]:
    """Yield a finding if the stated size is not the number of persons."""
    if inspection.persons is not None:
        yield from find_other_size(inspection.dataset.size, inspection.persons, inspection.dataset.unit)


def _find_same_unit(inspection: GroupInspection) -> Iterator[Finding]:
    """Yield a finding if other data sets may be about the same persons."""
    return find_same_unit(inspection.same_unit, inspection.dataset.unit)


def _find_answers_about_others(inspection: GroupInspection) -> Iterator[Finding]:
    """Yield a finding if the ledger has answers about other records."""
    return find_answers_about_others(inspection.answered_otherwise)


_FINDERS: tuple[Callable[[GroupInspection], Iterator[Finding]], ...] = (
    _find_refusal,
    _find_absent_persons,
    _find_repeated_persons,
    _find_broken_links,
    _find_other_size,
    _find_same_unit,
    _find_answers_about_others,
)


def _is_or_are(number: int) -> str:
    return "is" if number == 1 else "are"
