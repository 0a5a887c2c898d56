"""File formats of a report: HTML without scripts, Markdown, CSV, JSON, and drafts of entries for a registry.

The CSV has no cell that a spreadsheet would run as a formula. The JSON has every number exactly. The registry is the
public one of deployments of differential privacy; the owner must fill in the members of its entries that are null.
"""

import csv
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from html import escape
from importlib.metadata import version
from io import StringIO
from json import dumps, loads
from pathlib import Path
from string import Template
from typing import Any

from noisycount.config.config import Config
from noisycount.display.numbers import percent, plus_minus, rounded_up, scale_text, signed
from noisycount.display.texts import redacted_name
from noisycount.display.values import members
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import asks_for_table
from noisycount.ledger.price import approximate_loss, loss_words
from noisycount.release.stored_question import CONFIDENCE, StoredQuestion
from noisycount.release.table_release import TableRelease
from noisycount.tasks import ledger
from noisycount.tasks.answer_display import NEIGHBOURS, shown_rows
from noisycount.tasks.answer_json import loss_json, stored_rows_json
from noisycount.tasks.report import words
from noisycount.tasks.report.report import DatasetReport, Report
from noisycount.validation import exact_text

Rows = list[tuple[str, ...]]
_MOST = 200  # rows of one table that are shown; the JSON has all


def neighbours_of(question: StoredQuestion) -> str:
    """Return the neighbour relation for which a stored question was priced, in a word or two."""
    if not question.is_priced:
        return "not known"
    return "either" if question.relation is None else NEIGHBOURS[question.relation]


def annex_tables(report: Report) -> Iterator[tuple[str, tuple[str, ...], Rows]]:
    """Yield the title, the names of the columns and the rows of each table that was answered."""
    for dataset in report.datasets:
        for released in dataset.releases:
            release = released.release
            if release is not None and asks_for_table(released.entry) and len(release):
                time = f"{released.entry.made:%Y-%m-%d %H:%M} UTC"
                title = f"{dataset.account.name}: {released.title}, {time}"
                header = ("counts by", *release.labels.names, f"answer ({percent(release.confidence)})")
                yield title, header, _first_rows(release)


def _first_rows(release: TableRelease) -> Rows:
    """Return the first rows of a table, each with its error."""
    names = [row.level for row in release.rows[:_MOST]]
    rows_with_keys = zip(names, shown_rows(release, range(len(names))), strict=True)
    rows = [(name, *keys, f"{signed(answer)} {plus_minus(error)}") for name, (keys, answer, error, _) in rows_with_keys]
    if len(release) > _MOST:
        note = f"{len(release) - _MOST:,} more rows are in the JSON form"
        rows.append(("…", *("" for _ in release.labels.names), note))
    return rows


_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
_TO_FILL = "_" * 30
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def _report_markdown(report: Report, configuration: Config) -> str:
    """Return the report as Markdown: summary, guide and signature first, tables of cells last."""
    lines = [f"# {words.TITLE}", "", *_fact_lines(words.report_facts(report, configuration))]
    if summary := words.summary_rows(report):
        lines += ["", *_table(words.SUMMARY, summary)]
    lines += ["", f"## {words.GUIDE}", "", *_fact_lines(words.TERMS)]
    lines += ["", *(f"*{as_inline(note)}*  " for note in words.NOTES)]
    lines += ["", *(f"{name}: {as_inline(_TO_FILL)}  " for name in words.SIGNED)]
    for dataset in words.asked_datasets(report):
        lines += ["", f"## {as_inline(dataset.account.name)}", "", *_fact_lines(words.dataset_facts(dataset))]
        lines += ["", *_table(words.HEADER, [words.release_cells(release) for release in dataset.releases])]
    if unasked := words.datasets_without_release(report):
        lines += ["", f"## {words.UNASKED}", "", as_inline(unasked)]
    if report.analysts:
        lines += ["", "## Analysts", "", *_table(words.ANALYSTS, words.analyst_rows(report))]
    for title, header, rows in annex_tables(report):
        lines += ["", f"## {as_inline(title)}", "", *_table(header, rows)]
    return "\n".join(lines) + "\n"


def as_inline(text: str) -> str:
    r"""Escape a text for Markdown, so that none of it is read as markup.

    Example:
        >>> print(as_inline("a | b <b>*c*</b>"))
        a \| b &lt;b&gt;\*c\*&lt;/b&gt;
    """
    return _SPECIAL.sub(r"\\\1", text.translate(_ENTITIES)).replace("://", ":&#47;/")


def _fact_lines(facts: Sequence[tuple[str, str]]) -> Iterator[str]:
    return (f"- **{name}**: {as_inline(value)}" for name, value in facts)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(map(as_inline, header))} |"
    yield f"|{' --- |' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(map(as_inline, row))} |"


_STYLE = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
_PAGE = Template(Path(__file__).with_name("report.html").read_text(encoding="utf-8"))


def report_page(report: Report, configuration: Config) -> str:
    """Return the report as one HTML page, which can be printed on A4."""
    fragment = report_fragment(report, configuration)
    return _PAGE.substitute(title=words.TITLE, day=f"{report.made:%Y-%m-%d}", style=_STYLE, fragment=fragment)


def report_fragment(report: Report, configuration: Config) -> str:
    """Return the HTML of the report below its title, to be embedded in another page.

    In print, the first page has the summary, the guide and the signature. The tables of cells are an annex.
    """
    kind = words.notice_kind(report.verification, report.known_head)
    facts = words.report_facts(report, configuration)
    verified = next(value for name, value in facts if name == words.CHECKED)
    summary, unasked = words.summary_rows(report), words.datasets_without_release(report)
    analysts = _table_page("Analysts", "", words.ANALYSTS, words.analyst_rows(report), "analysts")
    parts = [
        f'<section class="first">\n<p class="notice {kind}">{escape(verified)}.</p>\n',
        _facts([fact for fact in facts if fact[0] != words.CHECKED]),
        _table_page("Summary", "", words.SUMMARY, summary, "summary") if summary else "",
        f'<div class="guide">\n<h2>{words.GUIDE}</h2>\n{_facts(words.TERMS)}',
        *(f"<p>{escape(note)}</p>\n" for note in words.NOTES),
        f"</div>\n{_facts([(name, '') for name in words.SIGNED], 'facts signed')}</section>\n",
        *map(_dataset_section, words.asked_datasets(report)),
        _section(words.UNASKED, f"<p>{escape(unasked)}.</p>\n") if unasked else "",
        _section("Analysts", analysts) if report.analysts else "",
        *(
            _section(title, _table_page(title, "", header, rows, "annex"))
            for title, header, rows in annex_tables(report)
        ),
    ]
    return "".join(parts)


def _dataset_section(dataset: DatasetReport) -> str:
    """Return the HTML section of a data set with its releases."""
    name = dataset.account.name
    rows = [words.release_cells(release) for release in dataset.releases]
    table = _table_page(f"Releases of {name}", "Releases, the oldest first", words.HEADER, rows, "releases")
    return _section(name, f"{_facts(words.dataset_facts(dataset))}{table}")


def _section(title: str, content: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{content}</section>\n"


def _facts(facts: Iterable[tuple[str, str]], kind: str = "facts") -> str:
    items = "".join(f"<dt>{escape(n)}</dt><dd>{escape(value)}</dd>\n" for n, value in facts)
    return f'<dl class="{kind}">\n{items}</dl>\n'


def _table_page(name: str, caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], kind: str) -> str:
    """Return an HTML table. `kind` is the CSS class that sets the widths of its columns in print."""
    head = "".join(f'<th scope="col">{escape(title)}</th>' for title in header)
    labels = [f'<td data-label="{escape(title)}">' for title in header]
    cells = (map("{}{}</td>".format, labels, map(escape, row)) for row in rows)
    body = "".join(f"<tr>{''.join(row)}</tr>\n" for row in cells)
    above = f"<caption>{escape(caption)}</caption>\n" if caption else ""
    return (
        f'<div class="wide" role="region" aria-label="{escape(name)}" tabindex="0">\n'
        f'<table class="stack {kind}">\n{above}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n'
        "</div>\n"
    )


_OF_DATASET = ("dataset", "unit", "neighbours")

_HEADER = (
    *("version", "made", "analyst", "question", "purpose"),
    *("answer", "error", "confidence", "mechanism", "scale", "epsilon", "rho", "delta", "status", "key"),
)

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%", *"\uff1d\uff0b\uff0d\uff20")


def _report_sheet(report: Report) -> str:
    """Return the releases of a report as CSV, with prices rounded up."""
    rows = []
    for dataset in report.datasets:
        dataset_cells = dataset.account.name, dataset.unit or "row"
        rows += [
            (*map(without_formula, (*dataset_cells, neighbours_of(released))), *_release_row(released))
            for released in dataset.releases
        ]
    return _sheet((*_OF_DATASET, *_HEADER), rows)


def releases_sheet(releases: Iterable[StoredQuestion]) -> str:
    """Return releases of any data sets as CSV, with prices rounded up."""
    rows = (
        (without_formula(redacted_name(released.entry.request.dataset)), *_release_row(released))
        for released in releases
    )
    return _sheet((_OF_DATASET[0], *_HEADER), rows)


def _sheet(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows((header, *rows))
    return text.getvalue()


def without_formula(cell: str) -> str:
    """Return a cell with an apostrophe before it if a spreadsheet would read it as a formula.

    Example:
        >>> without_formula("=cmd|' /C calc'!A0"), without_formula("age >= 65")
        ("'=cmd|' /C calc'!A0", 'age >= 65')
    """
    return f"'{cell}" if cell.lstrip().startswith(_FORMULA) else cell


def _release_row(released: StoredQuestion) -> list[object]:
    entry, release = released.entry, released.release
    mechanism = released.levels[0].mechanism if released.levels else None
    is_count = isinstance(entry.answer, int)
    texts = (
        *(released.version or "", f"{entry.made:%Y-%m-%dT%H:%M:%SZ}", entry.analyst),
        *(released.title, entry.purpose or ""),
    )
    price, charged = entry.request, entry.request.currency
    return [
        *map(without_formula, texts),
        entry.answer if is_count else without_formula(ledger.answer_words(entry)),
        "" if release is None else max(release.row_errors[0], default=""),
        "" if release is None else release.confidence,
        "" if mechanism is None else mechanism.name,
        "" if mechanism is None else scale_text(mechanism.exact_scale),
        *(rounded_up(charged[name]) if name in charged else "" for name in ("epsilon", "rho")),
        rounded_up(price.delta),
        "charged, never answered" if released.is_failed else "answered",
        without_formula(entry.key),
    ]


Object = dict[str, Any]


def _report_json(report: Report, configuration: Config) -> Object:
    """Return a report as JSON; prices, sums and scales are exact decimals or fractions, as text."""
    place = configuration.ledger_file
    return {
        "made": report.made.isoformat(timespec="seconds"),
        "noisycount": version("noisycount"),
        **ledger.verification_json(configuration, report.verification, report.known_head),
        "ledger": None if place is None else redacted_name(place),
        "rows": report.verification.head.number,
        "confidence": CONFIDENCE,
        "datasets": [_dataset_json(dataset) for dataset in report.datasets],
        "analysts": ledger.accounts_json("analyst", report.analysts),
    }


def _dataset_json(dataset: DatasetReport) -> Object:
    budget = dataset.account.budget
    return {
        "dataset": dataset.account.name,
        **members(dataset, "unit", "size"),
        "neighbours": NEIGHBOURS[dataset.neighbours],
        "version": dataset.version,
        "budget": None if budget is None else budget.written,
        "why": dataset.why,
        **members(dataset.claim, "public_tables", "vouched"),
        "spent": loss_json(dataset.account.spent),
        "spent_replaced": loss_json(dataset.replacement_loss),
        "odds": dataset.odds,
        "remaining": exact_text(dataset.left),
        "unproven_top_ups": [top_up.json for top_up in dataset.unproven],
        "failed": {"number": len(dataset.failures), "spent": loss_json(dataset.failed_loss)},
        "releases": [release_json(release) for release in dataset.releases],
    }


def release_json(released: StoredQuestion) -> Object:
    """Return a release as JSON; prices and scales are exact texts."""
    entry = released.entry
    return {
        **ledger.entry_json(entry),
        "question": released.title,
        "purpose": entry.purpose,
        "repeats": ledger.repeats_json(entry),
        "version": released.version,
        "neighbours": neighbours_of(released),
        "failed": released.is_failed,
        **stored_rows_json(released),
        "noise": [
            {
                "mechanism": level.mechanism.name,
                "scale": exact_text(level.mechanism.exact_scale),
                "error": level.error(released.confidence),
            }
            for level in (released.levels if released.release is None else released.release.plan.levels)
        ],
    }


# Members that all entries share.
_REGISTRY_ENTRY = Path(__file__).with_name("registry.json").read_text(encoding="utf-8")


def registry_json(report: Report) -> list[Object]:
    """Return an entry for each data set that has releases. Members that only its owner knows are null.

    The names are those of the registry's own entries and schema, which the page “Report, DPIA, registry entry” cites.
    """
    return [_registry_entry(dataset) for dataset in report.datasets if dataset.releases]


def _registry_entry(dataset: DatasetReport) -> Object:
    times = [released.entry.made for released in dataset.releases]
    number, first, last = len(times), f"{times[0]:%Y-%m-%d}", f"{times[-1]:%Y-%m-%d}"
    entry: Object = loads(_REGISTRY_ENTRY)
    deployment = entry["deployment"]
    deployment["product"] |= {
        "name": dataset.account.name,
        "intended_use": _stated_purposes(dataset),
        "description": f"Noisy counts: {number} of questions and tables.",
        "publication_date": first,
    }
    deployment["dp_flavor"] |= {
        "name": _privacy_flavor(dataset.total_loss),
        "unprotected_quantities": _unprotected_facts(dataset),
    }
    deployment["privacy_loss"] = _privacy_loss(dataset)
    deployment["model"] |= {
        "release_type": "One release" if number == 1 else "Many releases",
        "release_type_description": f"{number} from {first} to {last}; the budget never refreshes by itself.",
    }
    return entry


def _stated_purposes(dataset: DatasetReport) -> str | None:
    """Return the purposes that analysts stated for the answers; None if no purpose was stated."""
    purposes = dict.fromkeys(purpose for released in dataset.releases for purpose in released.entry.purposes if purpose)
    return "; ".join(purposes) or None


def _unprotected_facts(dataset: DatasetReport) -> list[str]:
    """Return sentences about the facts that the answers reveal without noise, or with a threshold."""
    facts = ["The names and the kinds of the columns."]
    if dataset.size is not None:
        facts.append(f"The number of {dataset.protected}s, {dataset.size}, is public.")
    if any(release.entry.request.delta for release in dataset.releases):
        facts.append(
            "Keys of tables that were read from the records: each is shown where its noisy count"
            " reaches a threshold, and a key of one unit alone with a probability of delta at most."
        )
    return facts


def _privacy_flavor(spent: Loss) -> str:
    if spent.delta:
        return "Custom" if spent.epsilon is None else "Approximate DP"
    return "Zero-concentrated DP" if spent.epsilon is None else "Pure DP"


def _privacy_loss(dataset: DatasetReport) -> Object:
    spent, unit = dataset.total_loss, dataset.protected
    column_text = "" if dataset.unit is None else f", identified by the column {dataset.unit}"
    now, more, others = words.neighbours_words(dataset).partition("; ")
    budget = dataset.account.budget
    budget_text = "" if budget is None else f", of a budget of {budget.text}"
    odds_text = "" if dataset.odds is None else f"; {dataset.odds}"
    why = "" if dataset.why is None else f" Why this budget: {dataset.why}"
    lower_bound = "" if dataset.is_intact else "at least "
    return {
        "privacy_unit": f"{unit.capitalize()}-level",
        "privacy_unit_description": f"Adjacent data sets differ by {now}{column_text}{more}{others}.",
        "privacy_parameters": _loss_parameters(spent, dataset.rho_delta),
        "privacy_parameters_description": (
            f"All answers so far: {lower_bound}{loss_words(spent)}{budget_text}{odds_text}.{why}"
        ),
    }


def _loss_parameters(spent: Loss, rho_delta: Fraction | None) -> dict[str, float]:
    """Return the parameters of a loss: ε, with δ if it is above 0; or ρ with the ε and δ that it implies."""
    if spent.epsilon is not None:
        parts = {"epsilon": _rounded_up(spent.epsilon)}
        return {**parts, "delta": _rounded_up(spent.delta)} if spent.delta else parts
    epsilon, delta = approximate_loss(spent, rho_delta)
    implied = {"epsilon": float(epsilon), "delta": _rounded_up(delta)}
    return {"rho": _rounded_up(spent.rho), **implied}


def _rounded_up(value: Fraction) -> float:
    """Return the smallest float whose decimal text is not below a rational number.

    Example:
        >>> _rounded_up(Fraction(1, 10**7)), _rounded_up(Fraction(1, 3))
        (1e-07, 0.33333333333333337)
    """
    nearest = float(value)
    return nearest if Fraction(repr(nearest)) >= value else math.nextafter(nearest, math.inf)


def _json(value: object) -> str:
    return f"{dumps(value, indent=2, ensure_ascii=False)}\n"


_WRITERS: dict[str, Callable[[Report, Config], str]] = {
    "html": report_page,
    "csv": lambda report, _: _report_sheet(report),
    "md": _report_markdown,
    "json": lambda report, configuration: _json(_report_json(report, configuration)),
    "registry": lambda report, _: _json(registry_json(report)),
}

FORMS = tuple(_WRITERS)  # names of the formats

# Media type of each format.
MEDIA = {
    "html": "text/html",
    "csv": "text/csv",
    "md": "text/markdown",
    "json": "application/json",
    "registry": "application/json",
}


def report_text(report: Report, configuration: Config, form: str) -> str:
    """Return a report in one of the formats `FORMS`."""
    return _WRITERS[form](report, configuration)
