"""An answer in words, and as JSON: a count or a table, published or previewed."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from noisycount.display.numbers import approximately, percent, plus_minus, signed
from noisycount.display.output import Facts
from noisycount.display.texts import redacted_name
from noisycount.frozen import frozen
from noisycount.ledger.budget import Budget, Loss, NeighbourRelation
from noisycount.ledger.entries import ANALYST, Analyst
from noisycount.release.dataset import next_words
from noisycount.release.results import TablePlan, TableRelease
from noisycount.tasks.answer import Answer
from noisycount.validation import exact_text

NEIGHBOURS = {NeighbourRelation.ADD_REMOVE: "adding or removing", NeighbourRelation.REPLACEMENT: "replacement"}


def count_facts(answer: Answer) -> Facts:
    """A private count in words, or what it would cost and give, and what to do better."""
    plan, sure = answer.count_plan, f"with {percent(answer.confidence)} confidence"
    near = plus_minus(answer.error)
    if answer.release is None:
        told = [("answer", f"would be within {near} of the true count {sure}")]
    else:
        told = [
            ("answer", f"{signed(answer.count.answer)} {near}{_bound(answer)}"),
            ("", f"{sure} the true count lies that near"),
        ]
    scale = approximately(plan.mechanism.scale)
    return [
        ("question", f"{plan.where}  ({plan.meaning})"),
        ("data set", counted(_dataset(answer), answer.unit)),
        *told,
        *(("", words) for words in accepted(answer.unreadable_as_missing)),
        ("noise", f"{plan.mechanism.name}, scale {scale}"),
        ("privacy", f"ε = {exact_text(plan.epsilon)}: {answer.odds}"),
        *_payment(answer),
        *(("hint", hint) for hint in answer.hints),
    ]


def _payment(answer: Answer) -> Facts:
    remaining = left(answer.remains.remaining, answer.dataset.budget, answer.analyst)
    if answer.release is None:
        return [("price", _price(answer)), ("budget", f"charged nothing: this was a dry run; {remaining}")]
    paid = exact_text(answer.count.charged) + account(answer.analyst)
    if answer.repeated:
        paid = "nothing: this was asked before"
    return [("budget", f"charged {paid}; {remaining}"), ("ledger", ledger_words(answer))]


def account(analyst: Analyst) -> str:
    """To whom an answer is charged, where that needs to be said."""
    return "" if analyst.name == ANALYST else f" to {analyst.name}"


def ledger_words(answer: Answer) -> str:
    """Where an answer is kept."""
    return redacted_name(answer.ledger) if answer.ledger else "on a server"


def _price(answer: Answer) -> str:
    """What a count would be charged, or that it would be refused."""
    if answer.repeated:
        return "nothing: this was asked before, and is answered free of charge"
    price = exact_text(answer.count_plan.epsilon)
    if answer.affordable:
        return f"{price} would be charged"
    return f"{price} exceeds what is left: it would be refused"


def _dataset(answer: Answer) -> str:
    return answer.dataset.name if answer.release is None else answer.release.dataset


def accepted(columns: Sequence[str]) -> Iterator[str]:
    """That cells which do not fit were taken for missing, as their owner accepted."""
    if columns:
        yield f"cells of {' and '.join(columns)} that could not be read count as missing"


def _bound(answer: Answer) -> str:
    """What the interval says where a part of it lies below 0 or above all."""
    low, high = answer.interval
    if answer.count.answer < answer.error:
        return f", so at most {signed(high)}"
    size = answer.dataset.size
    is_cut = size is not None and answer.count.answer + answer.error > size
    return f", so at least {signed(low)}" if is_cut else ""


def counted(dataset: str, unit: str | None) -> str:
    """Whose records are counted, by what."""
    by = f"distinct values of {unit}" if unit else "rows"
    return f"{redacted_name(dataset)}, counting {by}"


def left(largest: Fraction, budget: Budget, analyst: Analyst = Analyst()) -> str:  # noqa: B008 - frozen
    """What one more question may cost, of which budget."""
    own = analyst.budget
    if own is None and budget.is_a_sum:
        return f"{approximately(largest)} of {budget.text} left"
    budgets = budget.text if own is None else f"{budget.text}, and {analyst.name}'s own {own.text}"
    return f"{next_words(largest)} (budget {budgets})"


def answer_json(answer: Answer) -> dict[str, Any]:
    """An answer, or what it would cost and give; budgets and scales are exact texts.

    The count lies from `low` to `high` with the confidence, as it lies within ±error of the answer,
    not below 0 and not above the public size. A key of a table is null where the level sums over
    it, and for missing values; `sum_of` tells which.
    """
    release, plan, is_preview = answer.release, answer.plan, answer.release is None
    is_table = answer.query.is_table
    charged = Loss() if release is None else release.charged
    return {
        **({"dry_run": True} if is_preview else {}),
        **_counts(answer),
        "confidence": answer.confidence,
        "dataset": redacted_name(_dataset(answer)),
        **({"by": list(release.labels.names)} if isinstance(release, TableRelease) else {}),
        "where": plan.where,
        "meaning": plan.meaning,
        "unit": answer.unit,
        "unreadable_as_missing": list(answer.unreadable_as_missing),
        "neighbours": NEIGHBOURS[NeighbourRelation.of_size(answer.dataset.size)],
        **(_table_price(answer) if is_table else _count_price(answer)),
        "odds": answer.odds,
        **({"cost": _paid(answer.cost, is_table=is_table)} if is_preview else {}),
        "charged": _paid(charged, is_table=is_table),
        **answer.remains.object,
        **({"affordable": answer.affordable} if is_preview else {}),
        "analyst": answer.analyst.name,
        "repeated": answer.repeated,
        **({} if release is None else _kept(answer, release.key)),
        "hints": answer.hints,
    }


def _counts(answer: Answer) -> dict[str, Any]:
    """What was published; null in a preview."""
    if answer.query.is_table:
        return {"rows": None if answer.release is None else list(_rows(answer.table))}
    if answer.release is None:
        return {"answer": None, "error": answer.error}
    low, high = answer.interval
    return {"answer": answer.count.answer, "error": answer.error, "low": low, "high": high}


def _count_price(answer: Answer) -> dict[str, Any]:
    plan = answer.count_plan
    noise = {"mechanism": plan.mechanism.name, "scale": exact_text(plan.mechanism.scale)}
    return {**({} if answer.release is None else noise), "epsilon": exact_text(plan.epsilon)}


def _table_price(answer: Answer) -> dict[str, Any]:
    plan, confidence = answer.noise, answer.confidence
    counts = None if answer.release is None else len(answer.table)
    return {
        "mechanism": plan.levels[0].mechanism.name,
        "price": loss_json(plan.loss),
        "levels": levels_json(shown_levels(plan, confidence, counts)),
        "groups_per_unit": plan.groups,
        "threshold": plan.threshold,
        "surely_shown": plan.surely_shown(confidence),
    }


def _paid(loss: Loss | Fraction, *, is_table: bool) -> Any:  # noqa: ANN401 - an object, or a text
    """A charge: that of a count is told in ε alone."""
    if isinstance(loss, Fraction):
        return exact_text(loss)
    return loss_json(loss) if is_table else exact_text(loss.epsilon or Fraction(0))


def _kept(answer: Answer, key: str) -> dict[str, Any]:
    """Where the answer is kept, and of a count a stored one with less noise."""
    kept = {"key": key, "ledger": None if answer.ledger is None else redacted_name(answer.ledger)}
    if answer.query.is_table:
        return kept
    better = answer.better and {
        "answer": answer.better.answer,
        "error": answer.better.error(answer.confidence),
        "epsilon": exact_text(answer.better.epsilon),
        "key": answer.better.key,
    }
    return {**kept, "better": better}


def _rows(release: TableRelease) -> Iterator[dict[str, Any]]:
    """Every count; with the best estimate from all levels, where there is one."""
    names, estimates = release.labels.names, release.combined
    best = [] if estimates is None else [each for level in estimates for each in level.tolist()]
    sums = [] if release.cumulative is None else release.cumulative.tolist()
    for place, row in enumerate(release.rows):
        told = {
            "level": row.level,
            "keys": dict(zip(names, row.labels, strict=True)),
            "answer": row.answer,
            "error": row.error,
            "error_of_all": row.error_of_all,
        }
        if row.sum_of is not None:
            told["sum_of"] = row.sum_of
        if best:
            told["combined"] = best[place]
        if place < len(sums):
            told["sum_so_far"] = sums[place]
        yield told


def loss_json(loss: Loss) -> dict[str, str | None]:
    """A price in all its currencies; ε is null where there is none."""
    return {
        "epsilon": None if loss.epsilon is None else exact_text(loss.epsilon),
        "rho": exact_text(loss.rho),
        "delta": exact_text(loss.delta),
    }


@frozen
class ShownLevel:
    """One level of a table."""

    name: str  # what its counts are by
    counts: int | None  # how many there are; None: only the records know
    error: int  # one lies within ±error with the confidence
    error_of_all: int | None  # all of the table do within these; None where nobody knows how many there are
    share: Fraction  # of the price
    sensitivity: int  # by how much one unit moves all of them together
    mechanism: str  # the name of the noise
    scale: Fraction  # of the noise, in units


def shown_levels(plan: TablePlan, confidence: float, counts: int | None = None) -> list[ShownLevel]:
    """The levels of a table."""
    is_known = plan.size is not None or counts is not None
    together: Sequence[int | None] = plan.errors_of_all(confidence, counts) if is_known else [None] * len(plan.levels)
    return [
        ShownLevel(
            name=level.name,
            counts=level.size,
            error=level.error(confidence),
            error_of_all=error_of_all,
            share=level.share,
            sensitivity=level.sensitivity,
            mechanism=level.mechanism.name,
            scale=level.mechanism.exact_scale,
        )
        for level, error_of_all in zip(plan.levels, together, strict=True)
    ]


def levels_json(levels: Sequence[ShownLevel]) -> list[dict[str, Any]]:
    """What each level costs and how far off it is."""
    return [
        {
            "level": level.name,
            "counts": level.counts,
            "error": level.error,
            "error_of_all": level.error_of_all,
            "share": exact_text(level.share),
            "sensitivity": level.sensitivity,
            "scale": exact_text(level.scale),
        }
        for level in levels
    ]
