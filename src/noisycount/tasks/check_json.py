"""The result of a check as JSON.

The members follow the structure of the screen in `check_display`.
"""

from typing import Any

from noisycount.engines.check import ColumnCheck
from noisycount.engines.finding import Finding
from noisycount.tasks.check import Inspection
from noisycount.tasks.check_display import FOR_OWNERS, finding_words, verdict
from noisycount.tasks.findings import findings_of, proposal_lines, value_lines


def inspection_json(inspection: Inspection) -> dict[str, Any]:
    """Return the content of the records and the findings as JSON; `mend` holds lines for noisycount.toml."""
    dataset, check = inspection.dataset, inspection.check
    form, findings = check.form, findings_of(inspection)
    return {
        "about": FOR_OWNERS,
        "dataset": dataset.name,
        "source": str(dataset.source),
        "unit": inspection.unit,
        "public_tables": list(dataset.public_tables),
        "vouched": dataset.vouched,
        "rows": check.rows,
        "persons": inspection.persons,
        "median_rows": check.persons and check.persons.median_rows,
        "largest_rows": check.persons and check.persons.largest_rows,
        "partial_columns": list(check.persons.partial) if check.persons else [],
        "same_unit": list(inspection.same_unit),
        "encoding": form and form.encoding,
        "delimiter": form and form.delimiter,
        "skip": form and form.skip,
        "letters": list(check.letters),
        "lines_without_unit": list(check.without_unit),
        "sparse_line": check.sparse_line,
        "rows_below_names": check.rows_below_names,
        "rows_by_rule": [
            {"rule": each.kind, "rows": each.rows, "lines": list(each.lines)} for each in check.rows_by_rule
        ],
        "fits": inspection.fits,
        "changed": inspection.is_changed,
        "answered_otherwise": inspection.answered_otherwise,
        "columns": [_column(inspection, column) for column in check.columns],
        "problems": [finding_words(inspection, finding) for finding in findings],
        "verdict": verdict(inspection, findings),
        "findings": [_finding(inspection, finding) for finding in findings],
        "mend": "\n".join(proposal_lines(inspection)),
        "propose": "\n".join(value_lines(inspection)),
    }


def _column(inspection: Inspection, column: ColumnCheck) -> dict[str, Any]:
    why = inspection.why_unused(column)
    return {
        "name": column.name,
        "kind": column.kind and column.kind.value,
        "type": column.type,
        "form": column.form and column.form.parts,
        "missing": column.missing,
        "unreadable": column.unreadable,
        "examples": list(column.examples),
        "lines": list(column.lines),
        "values": [{"value": value, "rows": rows} for value, rows in column.values],
        "usable": why is None,
        "why_not": why,
        "reason": column.reason,
    }


def _finding(inspection: Inspection, finding: Finding) -> dict[str, Any]:
    """Return a finding as JSON, with the lines for noisycount.toml that it proposes."""
    statement = inspection.check.statement
    return {
        "severity": finding.severity.value,
        "column": finding.column,
        "title": finding.title,
        "text": finding_words(inspection, finding),
        "rows": finding.rows,
        "lines": list(finding.lines),
        "proposals": [{"table": each.table, "line": statement(each)} for each in finding.proposals],
        "choices": [{"table": each.table, "line": statement(each)} for each in finding.choices],
    }
