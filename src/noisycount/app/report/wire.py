"""The report as JSON, every number exactly."""

from importlib.metadata import version
from typing import Any

from noisycount.app.config.config import Config
from noisycount.app.count.wire import NEIGHBOURS
from noisycount.app.ledger.wire import (
    account_objects,
    answer_object,
    price_object,
    repeat_objects,
    verification_object,
)
from noisycount.app.refine.tables.stored.rows import rows_member
from noisycount.app.report.priced import priced_for
from noisycount.app.report.released import CONFIDENCE, Released
from noisycount.app.report.report import DatasetReport, Report
from noisycount.release.budget.exact import exact_text, optional_text
from noisycount.release.budget.loss import Loss
from noisycount.shown.told import told_name

__all__ = ["release_object", "report_object"]

Object = dict[str, Any]


def report_object(report: Report, configuration: Config) -> Object:
    """All of a report; prices, sums and scales are exact decimals or fractions, as text."""
    place = configuration.ledger_file
    return {
        "made": report.made.isoformat(timespec="seconds"),
        "noisycount": version("noisycount"),
        **verification_object(configuration, report.found, report.known_head),
        "ledger": None if place is None else told_name(place),
        "rows": report.found.head.number,
        "confidence": CONFIDENCE,
        "datasets": [_dataset_object(each) for each in report.datasets],
        "analysts": account_objects("analyst", report.analysts),
    }


def _dataset_object(dataset: DatasetReport) -> Object:
    budget = dataset.account.budget
    return {
        "dataset": dataset.account.name,
        "unit": dataset.unit,
        "size": dataset.size,
        "neighbours": NEIGHBOURS[dataset.neighbours],
        "version": dataset.version,
        "budget": None if budget is None else budget.written,
        "why": dataset.why,
        "spent": _loss_object(dataset.account.spent),
        "spent_replaced": _loss_object(dataset.replaced),
        "odds": dataset.odds,
        "remaining": exact_text(dataset.left),
        "failed": {"number": len(dataset.failures), "spent": _loss_object(dataset.lost)},
        "releases": [release_object(each) for each in dataset.releases],
    }


def release_object(released: Released) -> Object:
    """A release; prices and scales are exact."""
    entry = released.entry
    return {
        "made": entry.made.isoformat(),
        "key": entry.key,
        "analyst": entry.analyst,
        "question": released.question,
        "purpose": entry.purpose,
        "repeats": repeat_objects(entry),
        "version": released.version,
        **price_object(entry),
        "neighbours": priced_for(released.priced),
        "failed": released.failed,
        **answer_object(entry),
        **rows_member(entry),
        "noise": [
            {"mechanism": noise.name, "scale": exact_text(noise.scale), "error": noise.error}
            for noise in released.noises
        ],
    }


def _loss_object(loss: Loss) -> Object:
    return {
        "epsilon": optional_text(loss.epsilon),
        "rho": exact_text(loss.rho),
        "delta": exact_text(loss.delta),
    }
