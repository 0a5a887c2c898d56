"""Text of a report that all its formats share: facts, table cells and explanations.

Numbers are rounded so that no risk and no error is understated.
"""

import tomllib
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from noisycount.config.config import Config
from noisycount.display.numbers import counted_noun, percent, plus_minus, scale_text
from noisycount.display.output import Facts
from noisycount.ledger.budget import NeighbourRelation
from noisycount.ledger.entries import Head, TableAnswer
from noisycount.ledger.price import loss_words
from noisycount.ledger.verification import Verification
from noisycount.release.dataset import AvailableBudget
from noisycount.release.stored_question import CONFIDENCE, StoredQuestion
from noisycount.tasks.answer_display import NEIGHBOURS, ledger_words
from noisycount.tasks.ledger import Account, answer_words, intact_words
from noisycount.tasks.report.report import DatasetReport, Report, unproven_words

TITLE = "Report on private counts"
CHECKED = "checked"  # name of the fact about the verification of the ledger

# Columns of a table of releases.
HEADER = ("when (UTC)", "who asked", "question", "what for", "answer", "noise", "price")

# Notes and explanations of terms for the reader.
_GUIDE = tomllib.loads(Path(__file__).with_name("guide.toml").read_text(encoding="utf-8"))
NOTES = tuple(note.format(confidence=percent(CONFIDENCE)) for note in _GUIDE["notes"])
TERMS = tuple(_GUIDE["terms"].items())

SIGNED = ("Controller", "Date", "Signature")  # lines that are filled in by hand
SUMMARY = ("data set", "releases", "spent of the budget", "meaning")  # columns of the summary
UNASKED = "Nothing was asked yet"  # title of the list of data sets without a release
GUIDE = "How to read this"
ANALYSTS = ("analyst", "budget", "spent", "left")  # columns of a table of analysts

_CHANGES = {NeighbourRelation.ADD_REMOVE: "adding or removing", NeighbourRelation.REPLACEMENT: "replacing"}

_NOTHING_LEFT = "nothing, until the ledger is restored"


def verified_words(verification: Verification, known_head: Head | None) -> str:
    """Return the result of the verification of a ledger, in words."""
    if verification.broken is None:
        return intact_words(verification, known_head)
    return (
        f"NOT VERIFIED: row {verification.broken} {verification.why}. This report covers the rows before it;"
        " nothing may be counted until the ledger is restored from a copy that holds every debit"
    )


def notice_kind(verification: Verification, known_head: Head | None) -> str:
    """Return the CSS class of the notice with `verified_words`.

    It is "refused" for a broken ledger, "good" if the rows were compared with a known head, and else "note".
    """
    if verification.broken is not None:
        return "refused"
    return "note" if known_head is None or not verification.head.number else "good"


def report_facts(report: Report, configuration: Config) -> Facts:
    """Return the facts of the ledger: name, time of the report, result of the verification, and head."""
    return [
        ("ledger", ledger_words(configuration.ledger_file)),
        ("made", f"{report.made:%Y-%m-%d %H:%M} UTC"),
        (CHECKED, verified_words(report.verification, report.known_head)),
        *([("head", str(report.verification.head))] if report.is_verified else []),
    ]


_FIRST = 8  # data sets of the summary, so that it fits on the first page


def asked_datasets(report: Report) -> list[DatasetReport]:
    """Return the data sets that have releases."""
    return [dataset for dataset in report.datasets if dataset.releases]


def summary_rows(report: Report) -> list[tuple[str, ...]]:
    """Return a row for each of the first data sets with releases, with the columns of `SUMMARY`."""
    datasets, rows = asked_datasets(report), list[tuple[str, ...]]()
    for dataset in datasets[:_FIRST]:
        name, budget, spent, _ = account_cells(dataset.account)
        number = counted_noun("release", len(dataset.releases))
        spent = spent if dataset.is_intact else f"at least {spent}"
        rows.append((name, number, f"{spent} of {budget}", dataset.odds or "not known"))
    if len(datasets) > _FIRST:
        rows.append(("…", f"{len(datasets) - _FIRST:,} more data sets stand below", "", ""))
    return rows


def datasets_without_release(report: Report) -> str:
    """Return the number and the names of the data sets without a release; empty if there are none."""
    names = [dataset.account.name for dataset in report.datasets if not dataset.releases]
    return f"{counted_noun('data set', len(names))}: {', '.join(names)}" if names else ""


def dataset_facts(dataset: DatasetReport) -> Facts:
    """Return the facts of a data set: privacy unit, neighbours, version, budget, total loss and failures."""
    account = dataset.account
    _, budget, spent, remaining = account_cells(account)
    unit = "each row" if dataset.unit is None else f"each person, by the column {dataset.unit}"
    size = "" if dataset.size is None else f" ({dataset.size:,}, which is public)"
    if dataset.unproven:
        spent = f"{spent} as charged, {loss_words(dataset.total_loss)} is proved"
    elif dataset.replacement_loss != account.spent:
        spent = f"{spent} as charged, {loss_words(dataset.replacement_loss)} for replacement"
    if dataset.total_loss != account.spent:
        remaining = f"{remaining}, by what was charged"
    return [
        ("unit", f"{unit}{size}"),
        *dataset.claim.facts,
        ("neighbours", neighbours_words(dataset)),
        ("version", _version_words(dataset)),
        ("budget", budget),
        *([] if dataset.why is None else [("why", dataset.why)]),
        ("spent", spent if dataset.is_intact else f"at least {spent}"),
        *([] if dataset.odds is None else [("meaning", dataset.odds)]),
        ("left", remaining if dataset.is_intact else _NOTHING_LEFT),
        *([] if dataset.whole_budget_odds is None else [("if all is spent", dataset.whole_budget_odds)]),
        *_failure_facts(dataset),
        *(("unproven", line) for line in unproven_words(dataset.unproven)),
    ]


def neighbours_words(dataset: DatasetReport) -> str:
    """Return the neighbour relation, and the number of releases that were priced for the other one, in words."""
    now = f"{_CHANGES[dataset.neighbours]} one {dataset.protected}"
    other_releases = dataset.differently_priced
    if not other_releases:
        return now
    relation = other_releases[0].relation
    assert relation is not None  # noqa: S101 - by `differently_priced`
    are = "was" if len(other_releases) == 1 else "were"
    sentence = f"{now}; {counted_noun('release', len(other_releases))} {are} priced for {NEIGHBOURS[relation]}"
    return sentence if dataset.size is None else f"{sentence}, and revealed more than was charged"


def analyst_rows(report: Report) -> list[tuple[str, ...]]:
    """Return a row for each analyst, with the columns of `ANALYSTS`."""
    rows = map(account_cells, report.analysts)
    if report.is_verified:
        return list(rows)
    return [(*row[:2], f"at least {row[2]}", _NOTHING_LEFT) for row in rows]


def account_cells(account: Account) -> tuple[str, str, str, str]:
    """Return name, budget, spent loss and remaining budget of an account, as texts."""
    if account.budget is None or account.left is None:
        return account.name, "none", loss_words(account.spent), "no budget of its own"
    text = account.budget.text
    budget = f"ε = {text}" if account.in_epsilon else text
    return (account.name, budget, loss_words(account.spent), AvailableBudget(account.budget, account.spent).words)


def _version_words(dataset: DatasetReport) -> str:
    if dataset.version is None:
        return "not written down"
    version = dataset.version
    return version if dataset.is_current else f"{version}; some releases are of other versions"


def _failure_facts(dataset: DatasetReport) -> Facts:
    number = len(dataset.failures)
    if not number:
        return []
    loss_text = f"{counted_noun('spend', number)} without an answer, {loss_words(dataset.failed_loss)}"
    return [("failed", f"{loss_text}: charged for ever; to ask the same again costs nothing more")]


def release_cells(released: StoredQuestion) -> tuple[str, ...]:
    """Return the row of a release, with the columns of `HEADER`."""
    entry = released.entry
    return (
        f"{entry.made:%Y-%m-%d %H:%M}",
        ", then ".join(entry.askers),
        released.title,
        "; ".join(dict.fromkeys(purpose or "not stated" for purpose in entry.purposes)),
        answer_cell(released),
        _noise_words(released),
        _price_words(released),
    )


def _price_words(released: StoredQuestion) -> str:
    """Return the charge of a release, with the neighbour relation if the price depends on it."""
    price, relation = loss_words(released.entry.request.price), released.relation
    return price if relation is None else f"{price}, for {NEIGHBOURS[relation]}"


def answer_cell(released: StoredQuestion) -> str:
    """Return the answer with its error, and the confidence of the error if it is not 95 %."""
    if released.is_failed:
        return "none: charged, never answered"
    words, release = answer_words(released.entry), released.release
    if release is None:
        return words
    sure = "" if release.confidence == CONFIDENCE else f" ({percent(release.confidence)})"
    if not isinstance(released.entry.answer, TableAnswer):
        return f"{words} {plus_minus(release.error_at(0, 0))}{sure}"
    cells, *sums = [[*dict.fromkeys(level)] for level in release.row_errors]
    if not cells:
        return words
    words = f"{words}, each {_error_range_text(cells)}"
    return f"{words}, sums {_error_range_text([*chain(*sums)])}{sure}" if sums else f"{words}{sure}"


def _error_range_text(errors: Sequence[int]) -> str:
    """Return the smallest and the largest of some errors as a range."""
    smallest, largest = plus_minus(min(errors)), plus_minus(max(errors))
    return smallest if smallest == largest else f"{smallest} to {largest}"


def _noise_words(released: StoredQuestion) -> str:
    """Return the name of the noise, and its scale or the range of its scales, rounded down."""
    if not released.levels:
        return "not known"
    scales = sorted({level.mechanism.exact_scale for level in released.levels})
    scale_range = " to ".join(dict.fromkeys((scale_text(scales[0]), scale_text(scales[-1]))))
    return f"{released.levels[0].mechanism.name}, scale {scale_range}"
