"""JSON of an answer: a count or a table, published or previewed.

The commands with `--json` and the HTTP service use the same members for prices, levels and rows.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from noisycount.display.texts import redacted_name
from noisycount.ledger.budget import Loss, NeighbourRelation, amount_of
from noisycount.model.noises.combined_gaussian import CombinedGaussian
from noisycount.release.noise_plan import TablePlan
from noisycount.release.stored_question import StoredQuestion
from noisycount.release.table_release import TableRelease, TableRow
from noisycount.tasks.answer import Answer
from noisycount.tasks.answer_display import NEIGHBOURS, SUM_NAMES, errors_of_all, sums_so_far
from noisycount.validation import exact_text, optional_text

if TYPE_CHECKING:
    from fractions import Fraction


def answer_json(answer: Answer) -> dict[str, Any]:
    """Return an answer or a preview as JSON; budgets and scales are exact texts.

    The count lies from `low` to `high` with the confidence. They are the bounds of the interval, cut to 0 and to the
    public size. A key of a table is null for missing values, and if the level sums over its column; `sum_of`
    distinguishes the two.
    """
    release, plan, is_preview = answer.release, answer.plan, answer.release is None
    is_table = answer.query.is_table
    return {
        **({"dry_run": True} if is_preview else {}),
        **_counts(answer),
        "confidence": answer.confidence,
        "dataset": redacted_name(answer.dataset_name),
        **({"by": list(release.labels.names)} if isinstance(release, TableRelease) else {}),
        "where": plan.where,
        "meaning": plan.meaning,
        "unit": answer.unit,
        "unreadable_as_missing": list(answer.unreadable_as_missing),
        "neighbours": NEIGHBOURS[NeighbourRelation.of_size(answer.dataset.size)],
        **(_table_price(answer) if is_table else _count_price(answer)),
        "odds": answer.odds,
        **(
            {"cost": loss_json(answer.cost) if is_table else exact_text(amount_of(answer.charge))} if is_preview else {}
        ),
        "charged": _charged(answer),
        **answer.remains.object,
        **({"affordable": answer.affordable} if is_preview else {}),
        "analyst": answer.analyst.name,
        "repeated": answer.repeated,
        **({} if release is None else _kept(answer, release.key)),
        "hints": answer.hints,
    }


def _counts(answer: Answer) -> dict[str, Any]:
    """Return the members with the published counts; they are null in a preview."""
    if answer.query.is_table:
        if answer.release is None:
            return {"rows": None}
        told = {**answer.table.nearness}
        if "within" in told:
            told["within"] = exact_text(cast("Fraction", told["within"]))
        return {"rows": list(_rows(answer.table)), **told}
    if answer.release is None:
        return {"answer": None, "error": answer.error}
    low, high = answer.interval
    counted = {"answer": answer.count.answer, "error": answer.error, "low": low, "high": high}
    within = answer.count.within
    return counted if within is None else {**counted, "within": exact_text(within), "is_near": answer.count.is_near}


def _count_price(answer: Answer) -> dict[str, Any]:
    plan = answer.count_plan
    noise = {"mechanism": plan.mechanism.name, "scale": exact_text(plan.mechanism.scale)}
    return {**({} if answer.release is None else noise), "epsilon": exact_text(plan.epsilon), **_most(answer)}


def _table_price(answer: Answer) -> dict[str, Any]:
    plan, confidence = answer.noise, answer.confidence
    counts = None if answer.release is None else len(answer.table)
    return {
        "mechanism": plan.levels[0].mechanism.name,
        "price": loss_json(plan.loss),
        "levels": levels_json(plan, confidence, counts),
        "groups_per_unit": plan.groups,
        "threshold": plan.threshold,
        "surely_shown": plan.surely_shown(confidence),
        **_most(answer),
    }


def _most(answer: Answer) -> dict[str, str]:
    """Return the largest price of the preview of an accuracy goal; else no member."""
    goal = answer.plan.goal
    return {} if goal is None or answer.release is not None else {"at_most": exact_text(goal.at_most)}


def _charged(answer: Answer) -> Any:  # noqa: ANN401 - an object, or a text
    """Return the charge of a table in all currencies, and that of a count in the currency of the budget."""
    release = answer.release
    if isinstance(release, TableRelease):
        return loss_json(release.charged)
    return exact_text(release.charged) if release is not None else loss_json(Loss()) if answer.query.is_table else "0"


def _kept(answer: Answer, key: str) -> dict[str, Any]:
    """Return the members that identify the stored answer, and those that it replaces.

    `better` of a count is always null, because the most accurate answer is given.
    """
    ledger = None if answer.ledger is None else redacted_name(answer.ledger)
    kept = {"key": key, "ledger": ledger, "replaces": [] if answer.release is None else list(answer.release.replaces)}
    return kept if answer.query.is_table else {**kept, "better": None}


def _rows(release: TableRelease) -> Iterator[dict[str, Any]]:
    """Yield each count of a table as JSON.

    Optional members are the draws that it combines and their mean, the estimate from all levels, the sum so far with
    its standard error, and whether the count meets the accuracy goal.
    """
    estimates = release.combined
    best = [] if estimates is None else [each for level in estimates for each in level.tolist()]
    sums = sums_so_far(release)
    near = [is_near for level in release.near for is_near in level.tolist()]
    means = [each for level in release.means for each in level.tolist()]
    parts = [[each for level in part for each in level.tolist()] for part in release.parts]
    for place, row in enumerate(release.rows):
        told = row_json(release.labels.names, row)
        if parts:
            told |= {"mean": means[place], "parts": [part[place] for part in parts]}
        if best:
            told["combined"] = best[place]
        if place < len(sums):
            told |= dict(zip(SUM_NAMES, sums[place], strict=True))
        if near:
            told["is_near"] = near[place]
        yield told


def row_json(names: Sequence[str], row: TableRow, **beside: int | None) -> dict[str, Any]:
    """Return a row of a table as JSON. `beside` has more members, placed before its answer."""
    return {
        "level": row.level,
        "keys": dict(zip(names, row.labels, strict=True)),
        **beside,
        "answer": row.answer,
        "error": row.error,
        "error_of_all": row.error_of_all,
        **({} if row.sum_of is None else {"sum_of": row.sum_of}),
    }


def stored_rows_json(question: StoredQuestion) -> dict[str, Any]:
    """Return the confidence of a stored answer with its rows or its error, under the names of `count --json`.

    Return {} if there is no answer, or if no version of noisycount wrote the question.
    """
    release = question.release
    if release is None:
        return {}
    if question.is_table:
        rows = [row_json(release.labels.names, row) for row in release.rows]
        return {"confidence": release.confidence, "rows": rows}
    return {"confidence": release.confidence, "error": release.error_at(0, 0)}


def loss_json(loss: Loss) -> dict[str, str | None]:
    """Return a loss as JSON in ε, ρ and δ; ε is null if the loss has none."""
    return {
        "epsilon": optional_text(loss.epsilon),
        "rho": exact_text(loss.rho),
        "delta": exact_text(loss.delta),
    }


def levels_json(plan: TablePlan, confidence: float, counts: int | None = None) -> list[dict[str, Any]]:
    """Return the noise of each level as JSON: number of counts, errors, share of the price, sensitivity and scale.

    Args:
        plan: The noise of the table.
        confidence: The confidence of the errors.
        counts: The number of all counts of a published table; it is needed if the keys are hidden.
    """
    return [
        {
            "level": level.name,
            "counts": level.size,
            "error": level.error(confidence),
            "error_of_all": error_of_all,
            "share": exact_text(level.share),
            "sensitivity": level.sensitivity,
            "scale": exact_text(level.mechanism.exact_scale),
            **(
                {"scales": list(map(exact_text, of.parts))}
                if isinstance(of := level.mechanism, CombinedGaussian)
                else {}
            ),
        }
        for level, error_of_all in zip(plan.levels, errors_of_all(plan, confidence, counts), strict=True)
    ]
