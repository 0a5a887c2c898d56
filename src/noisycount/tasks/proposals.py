"""The lines of `noisycount.toml` that findings about records propose to their owner."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from noisycount.config.places import name_for
from noisycount.display.texts import toml_key, toml_value
from noisycount.engines.finding import Finding, Proposal, Severity
from noisycount.engines.formats import FileFormat
from noisycount.release.records import UTF
from noisycount.tasks.check import Inspection
from noisycount.tasks.findings import findings_of

_UNIT = '# unit = "COLUMN" with the column that identifies a person, or unit = "row"'
_OR, _ONE = "# or:", "# keep one of these lines, without its #:"  # before choices
_REASONS = {
    "encoding": "the file is not in UTF-8",
    "delimiter": "the mark between cells",
    "quote": "the mark around cells",
    "skip": "lines before the names of the columns",
    "header": "no line names the columns",
    "names": "names by the positions of columns",
    "skip_rows_after_header": "rows below the names that are not records",
    **dict.fromkeys(
        ("drop_empty_rows", "drop_rows_like_header", "comment", "footer", "drop_rows_where"),
        "such rows are not records",
    ),
}


def proposal_lines(inspection: Inspection) -> list[str]:
    """Return the lines that mend all findings which propose something; none if no finding does.

    Of a data set that is not configured they are a table that can be pasted as it stands.
    """
    findings = [each for each in findings_of(inspection) if each.severity is not Severity.NOTE]
    if not any(each.proposals or each.choices for each in findings):
        return []
    return [*_dataset_lines(inspection, findings), *_kind_lines(inspection, findings)]


def value_lines(inspection: Inspection) -> list[str]:
    """Return lists of texts that may be public values, for their owner to say which everybody knows."""
    choices = [choice for each in findings_of(inspection) for choice in each.choices if choice.table == "values"]
    if not choices:
        return []
    header = f"{'# under ' if inspection.dataset.values else ''}[datasets.{_name(inspection)}.values]"
    return [header, *map(inspection.check.statement, choices)]


def form_lines(form: FileFormat, faults: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what is to be stated of how the texts of a file are found, each line with its reason.

    `faults`: those of the file, by the parts of the form that mend them.
    """
    usual: dict[str, list[object]] = {"encoding": [*UTF], "delimiter": [",", None], "skip": [0, None]}
    for part, value in form.parts.items():
        if value not in usual.get(part, []):
            yield form.line(part), faults.get(part) or _REASONS.get(part, "as it was read")


def _dataset_lines(inspection: Inspection, findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the lines of the table of the data set, with the choices as comments behind them."""
    proposed = _statements(inspection, (proposal for each in findings for proposal in each.proposals))
    for finding in findings:
        if lines := _statements(inspection, finding.choices):
            proposed += [_OR if finding.proposals else _ONE, *(f"# {line}" for line in lines)]
    if inspection.is_configured:
        yield from [f"# under [datasets.{_name(inspection)}]", *proposed] if proposed else []
        return
    dataset, former = inspection.dataset, inspection.former
    if former is not None and former.url is not None:
        yield from ("[ledger]", f"url = {toml_value(former.url)}")
    yield f"[datasets.{_name(inspection)}]"
    yield f"source = {toml_value(inspection.source)}"
    if former is not None:
        yield f"account = {toml_value(former.account)}"
    yield f"unit = {toml_value(dataset.unit)}" if dataset.unit else _UNIT
    if dataset.table is not None:
        yield f"table = {toml_value(dataset.table)}"
    keys = {line.partition(" =")[0] for line in proposed}
    form, faults = inspection.check.form, inspection.check.faults
    form_statements = [] if form is None else [line for line, _ in form_lines(form, faults)]
    yield from (line for line in form_statements if line.partition(" =")[0] not in keys)
    yield from proposed


def _statements(inspection: Inspection, proposals: Iterable[Proposal]) -> list[str]:
    """Return the lines of the proposals about the table of the data set itself; of several about one key the last."""
    last = {proposal.key: proposal for proposal in proposals if not proposal.table}
    return [inspection.check.statement(proposal) for proposal in last.values()]


def _kind_lines(inspection: Inspection, findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the lines of the table `kinds`, with the choices as comments behind them."""
    check = inspection.check
    forms = check.proposed_forms(proposal for finding in findings for proposal in finding.proposals)
    choices = {
        finding.column: finding for finding in findings if any(each.table == "kinds" for each in finding.choices)
    }
    names = dict.fromkeys([*forms, *choices])
    if names:
        is_stated = inspection.dataset.kinds is not None
        place = "# under [{}], in place of what it says of these columns" if is_stated else "[{}]"
        yield place.format(f"datasets.{_name(inspection)}.kinds")
    for name in names:
        if name in forms:
            yield forms[name].line(name)
        if name in choices:
            yield _OR if name in forms else _ONE
            yield from (f"# {check.statement(choice)}" for choice in choices[name].choices)


def _name(inspection: Inspection) -> str:
    dataset = inspection.dataset
    return toml_key(dataset.name if inspection.is_configured else name_for(dataset.source))
