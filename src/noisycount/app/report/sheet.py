"""The report as CSV: one row a release, safe to open in a spreadsheet."""

import csv
from collections.abc import Iterable, Iterator
from io import StringIO

from noisycount.app.ledger.words import answer_words
from noisycount.app.report.priced import priced_for
from noisycount.app.report.released import Released
from noisycount.app.report.report import DatasetReport, Report
from noisycount.shown.rounding import rounded_up
from noisycount.shown.told import told_name

__all__ = ["as_text", "releases_sheet", "report_sheet"]

_OF_DATASET = ("dataset", "unit", "neighbours")
_HEADER = (
    *("version", "made", "analyst", "question", "purpose"),
    *("answer", "error_95", "mechanism", "scale", "epsilon", "rho", "delta", "status", "key"),
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%", *"\uff1d\uff0b\uff0d\uff20")


def report_sheet(report: Report) -> str:
    """The releases of a report, with prices rounded up."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*_OF_DATASET, *_HEADER))
    for dataset in report.datasets:
        writer.writerows((*_told_of(dataset, each), *_row(each)) for each in dataset.releases)
    return text.getvalue()


def releases_sheet(releases: Iterable[Released]) -> str:
    """Releases of whatever data sets, with prices rounded up."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((_OF_DATASET[0], *_HEADER))
    writer.writerows(
        (as_text(told_name(each.entry.request.dataset)), *_row(each)) for each in releases
    )
    return text.getvalue()


def as_text(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula.

    Example:
        >>> as_text("=cmd|' /C calc'!A0"), as_text("age >= 65")
        ("'=cmd|' /C calc'!A0", 'age >= 65')
    """
    return f"'{cell}" if cell.lstrip().startswith(_FORMULA) else cell


def _told_of(dataset: DatasetReport, released: Released) -> Iterator[str]:
    told = (dataset.account.name, dataset.unit or "row", priced_for(released.priced))
    return map(as_text, told)


def _row(released: Released) -> list[object]:
    entry, noises = released.entry, released.noises
    is_count = isinstance(entry.answer, int)
    texts = (
        *(released.version or "", f"{entry.made:%Y-%m-%dT%H:%M:%SZ}", entry.analyst),
        *(released.question, entry.purpose or ""),
    )
    price = entry.request
    return [
        *map(as_text, texts),
        entry.answer if is_count else as_text(answer_words(entry)),
        noises[0].error if noises else "",
        noises[0].name if noises else "",
        rounded_up(noises[0].scale) if noises else "",
        *("" if each is None else rounded_up(each) for each in (price.epsilon, price.rho)),
        rounded_up(price.delta),
        "charged, never answered" if released.failed else "answered",
        as_text(entry.key),
    ]
