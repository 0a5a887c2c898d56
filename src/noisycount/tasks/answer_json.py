"""JSON of an answer: a count or a table, published or previewed.

The commands with `--json` and the HTTP service use the same members for prices, levels and rows.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from numpy.typing import NDArray

from noisycount.display.texts import redacted_name
from noisycount.ledger.budget import Loss, NeighbourRelation, amount_of
from noisycount.model.noises.combined_gaussian import CombinedGaussian
from noisycount.release.noise_plan import TablePlan
from noisycount.release.results import Release
from noisycount.release.stored_question import StoredQuestion
from noisycount.release.table_release import TableRelease, TableRow
from noisycount.tasks.answer import Answer, PricedQuery, count_interval
from noisycount.tasks.answer_display import NEIGHBOURS, SUM_NAMES, simultaneous_errors, sums_so_far
from noisycount.tasks.preview import AnswerPreview
from noisycount.validation import exact_text, optional_text


def answer_json(answer: Answer) -> dict[str, Any]:
    """Return a published answer as JSON; budgets and scales are exact texts.

    The count lies from `low` to `high` with the confidence. They are the bounds of the interval, cut to 0 and to the
    public size. A key of a table is null for missing values, and if the level sums over its column; `sum_of`
    distinguishes the two. `better` of a count is always null, because the most accurate answer is given.
    """
    release = answer.release
    columns: dict[str, Any] = {}
    stored: dict[str, Any] = {
        "key": release.key,
        "ledger": None if answer.ledger is None else redacted_name(answer.ledger),
        "replaces": list(release.replaces),
    }
    if isinstance(release, Release):
        low, high = count_interval(release, answer.dataset.size)
        counts: dict[str, Any] = {"answer": release.answer, "error": release.error, "low": low, "high": high}
        if release.within is not None:
            counts |= {"within": exact_text(release.within), "is_near": release.is_near}
        noise = release.mechanism
        price: dict[str, Any] = {
            "mechanism": noise.name,
            "scale": exact_text(noise.scale),
            "epsilon": exact_text(release.epsilon),
        }
        charged: Any = exact_text(release.charged)
        stored["better"] = None
    else:
        counts = {"rows": list(_rows_json(release)), **release.goal_facts}
        if "within" in counts:
            counts["within"] = exact_text(counts["within"])
        columns = {"by": list(release.labels.names)}
        price = _table_price(answer, len(release))
        charged = loss_json(release.charged)
    return {
        **counts,
        "confidence": answer.confidence,
        "dataset": redacted_name(answer.dataset_name),
        **columns,
        **_meaning_members(answer),
        **price,
        "odds": answer.odds,
        "charged": charged,
        **answer.remains.object,
        "analyst": answer.analyst.name,
        "repeated": answer.repeated,
        **stored,
        "hints": answer.hints,
    }


def preview_json(preview: AnswerPreview) -> dict[str, Any]:
    """Return a preview as JSON, under the names of `answer_json`; the counts are null."""
    goal = preview.plan.goal
    cost: Any
    charged: Any
    if preview.query.is_table:
        counts: dict[str, Any] = {"rows": None}
        price, cost, charged = _table_price(preview), loss_json(preview.cost), loss_json(Loss())
    else:
        counts = {"answer": None, "error": preview.error}
        price = {"epsilon": optional_text(preview.plan.loss.epsilon)}
        cost, charged = exact_text(amount_of(preview.charge)), "0"
    return {
        "dry_run": True,
        **counts,
        "confidence": preview.confidence,
        "dataset": redacted_name(preview.dataset_name),
        **_meaning_members(preview),
        **price,
        **({} if goal is None else {"at_most": exact_text(goal.at_most)}),
        "odds": preview.odds,
        "cost": cost,
        "charged": charged,
        **preview.remains.object,
        "affordable": preview.affordable,
        "analyst": preview.analyst.name,
        "repeated": preview.repeated,
        "hints": preview.hints,
    }


def _meaning_members(priced: PricedQuery) -> dict[str, Any]:
    """Return the members that state what is counted."""
    return {
        "where": priced.plan.where,
        "meaning": priced.plan.meaning,
        "unit": priced.unit,
        "unreadable_as_missing": list(priced.unreadable_as_missing),
        "neighbours": NEIGHBOURS[NeighbourRelation.of_size(priced.dataset.size)],
    }


def _table_price(priced: PricedQuery, counts: int | None = None) -> dict[str, Any]:
    """Return the members that state the price and the noise of a table. `counts` is the number of published counts."""
    noise = priced.noise
    return {
        "mechanism": noise.levels[0].mechanism.name,
        "price": loss_json(noise.loss),
        "levels": levels_json(noise, priced.confidence, counts),
        "groups_per_unit": noise.groups,
        "threshold": noise.threshold,
        "surely_shown": noise.surely_shown(priced.confidence),
    }


def _rows_json(release: TableRelease) -> Iterator[dict[str, Any]]:
    """Yield each count of a table as JSON.

    Optional members are the draws that it combines and their mean, the estimate from all levels, the sum so far with
    its standard error, and a boolean that states if it meets the accuracy goal.
    """
    sums = sums_so_far(release)
    columns: dict[str, list[Any]] = {}
    if release.parts:
        columns["mean"] = flat_levels(release.means)
        columns["parts"] = [list(draws) for draws in zip(*map(flat_levels, release.parts), strict=True)]
    if release.combined is not None:
        columns["combined"] = flat_levels(release.combined)
    near = flat_levels(release.near)
    for place, row in enumerate(release.rows):
        members = row_json(release.labels.names, row) | {name: column[place] for name, column in columns.items()}
        if place < len(sums):
            members |= dict(zip(SUM_NAMES, sums[place], strict=True))
        if near:
            members["is_near"] = near[place]
        yield members


def flat_levels(levels: Iterable[NDArray[Any]]) -> list[Any]:
    """Return the values of all levels of a table in one list."""
    return [value for level in levels for value in level.tolist()]


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
        for level, error_of_all in zip(plan.levels, simultaneous_errors(plan, confidence, counts), strict=True)
    ]
