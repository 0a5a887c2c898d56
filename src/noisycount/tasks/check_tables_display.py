"""The screen of a check of several tables - what concerns all tables, then each table - and its JSON.

Both may show true counts, and are meant for the owner only.
"""

from typing import Any

from noisycount.display.numbers import signed
from noisycount.display.output import Facts, Table, align_right, seen_from_here
from noisycount.display.values import members
from noisycount.engines.finding import Finding
from noisycount.engines.table_checks import LinkCheck
from noisycount.engines.table_facts import TableFacts
from noisycount.query.table_columns import qualified_name
from noisycount.tasks.check_display import ACTIONS, FOR_OWNERS, finding_json, inspection_json, verdict
from noisycount.tasks.check_tables import GroupInspection


def group_facts(inspection: GroupInspection) -> Facts:
    """Return the name, the privacy unit and the persons of a data set of several tables as facts."""
    dataset, register = inspection.dataset, inspection.group.persons
    facts = [("data set", seen_from_here(dataset.name)), ("counts", f"distinct values of {dataset.unit}")]
    if inspection.persons is not None:
        where = "in all tables together" if register is None else f"in {register}, which persons names"
        facts.append(("persons", f"{signed(inspection.persons)} {where}"))
    return facts


def table_of_tables(inspection: GroupInspection) -> Table:
    """Return a table with a row for each table: its rows, its persons, and how it is joined."""
    numbers = [_numbers(inspection, facts) for facts in inspection.group.facts]
    rows, persons, alone = (align_right([row[place] for row in numbers]) for place in range(3))
    joins = [join_words(facts) for facts in inspection.group.facts]
    names = [facts.name for facts in inspection.group.facts]
    return ("table", "rows", "persons", "in no other table", "joined by"), [
        *zip(names, rows, persons, alone, joins, strict=True)
    ]


def _numbers(inspection: GroupInspection, facts: TableFacts) -> tuple[str, str, str]:
    """Return the numbers of rows, of persons, and of persons in no other table; a number that is unknown is empty."""
    rows = signed(inspection.tables[facts.name].check.rows)
    table = None if inspection.numbers is None else inspection.numbers.tables.get(facts.name)
    return (rows, "", "") if table is None else (rows, signed(table.persons), signed(table.alone))


def join_words(facts: TableFacts) -> str:
    """Return how the rows of a table have their persons, in a few words.

    Example:
        >>> from noisycount.engines.table_facts import Link
        >>> join_words(TableFacts("notes", through=Link("visits", "visit_id", "visit_id")))
        'notes.visit_id = visits.visit_id'
    """
    if facts.on is not None:
        return f"public look-up, {_link_words(facts)}"
    if facts.through is not None:
        return _link_words(facts)
    return f"{facts.unit}, one row a person" if facts.is_one_row_a_unit else str(facts.unit)


def _link_words(facts: TableFacts) -> str:
    """Return the equation of a table's link."""
    (link,) = facts.links
    return f"{qualified_name(f'{facts.name}.{link.key}')} = {qualified_name(f'{link.table}.{link.column}')}"


def joint_finding_table(inspection: GroupInspection) -> Table:
    """Return a table with a row for each finding about all tables together."""
    rows = [
        (ACTIONS[finding.severity], finding.column or "", f"{finding.text}.") for finding in inspection.joint_findings
    ]
    return ("", "table", "finding"), rows


def group_verdict(inspection: GroupInspection) -> str:
    """Return a sentence that states if questions are answered, and what the owner should look at."""
    return verdict(inspection.findings, is_unit_stated=True)


def group_json(inspection: GroupInspection) -> dict[str, Any]:
    """Return the content of several tables and the findings about them as JSON."""
    dataset = inspection.dataset
    return {
        "about": FOR_OWNERS,
        "dataset": dataset.name,
        "source": str(dataset.source),
        "unit": dataset.unit,
        "persons_table": inspection.group.persons,
        "persons": inspection.persons,
        "same_unit": list(inspection.same_unit),
        "fits": inspection.fits,
        "answered_otherwise": inspection.answered_otherwise,
        "tables": {facts.name: _table_json(inspection, facts) for facts in inspection.group.facts},
        "links": [] if inspection.numbers is None else [_link_json(link) for link in inspection.numbers.links],
        "problems": [f"{finding.text}." for finding in inspection.joint_findings],
        "verdict": group_verdict(inspection),
        "findings": [_joint_finding_json(finding) for finding in inspection.joint_findings],
    }


def _joint_finding_json(finding: Finding) -> dict[str, Any]:
    """Return a finding about all tables as JSON. It proposes no lines."""
    return finding_json(finding, f"{finding.text}.", str)


def _table_json(inspection: GroupInspection, facts: TableFacts) -> dict[str, Any]:
    """Return a table as JSON, with the persons whom it has in common with the others."""
    table = None if inspection.numbers is None else inspection.numbers.tables.get(facts.name)
    common = None if table is None else members(table, "persons", "alone", "repeated", "absent")
    return {
        **inspection_json(inspection.tables[facts.name]),
        "is_public": facts.on is not None,
        "one_row_a_unit": facts.is_one_row_a_unit,
        "joined_by": join_words(facts),
        "joint": common,
    }


def _link_json(link: LinkCheck) -> dict[str, Any]:
    """Return the numbers of a link as JSON."""
    names = ("table", "column", "target", "is_lookup", "rows", "missing")
    return members(link, *names, "unmatched", "unmatched_values", "shared", "shared_values")
