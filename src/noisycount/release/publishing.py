"""Queries in a ledger: the request that is charged for a query, and the published answer of a stored entry.

`ledger_forms` writes the JSON that `stored_question` reads without the records. `publish` builds the result of a query;
an entry may have been drawn at another price or for another goal than the query, and the result states those.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from noisycount.display.texts import redacted_name
from noisycount.engines.interface import Source
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Entry, Request, TableAnswer, asks_for_table
from noisycount.ledger.series import EDITION, FormerRequests, identity_of, parts_of
from noisycount.ledger.storage import unexpected_answer
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.combined_gaussian import CombinedGaussian
from noisycount.model.tables.levels import TableLabels, all_levels
from noisycount.query.predicate import Column, canonical_text
from noisycount.query.table import key_set_from_json, table_labels
from noisycount.release.dataset import RemainingBudget
from noisycount.release.goal import AccuracyGoal, StoppingSchedule
from noisycount.release.query_plan import (
    CellsPlan,
    CountPlan,
    GroupedPlan,
    ListPlan,
    QueryPlan,
    gaussian_noises,
    level_of_questions,
)
from noisycount.release.results import Release
from noisycount.release.table_release import Published, TableRelease
from noisycount.validation import exact_text

if TYPE_CHECKING:
    from noisycount.model.noises.laplace import DiscreteLaplace

# A request to a ledger, and the other forms in which the ledger may hold the same request.
Forms: TypeAlias = tuple[Request, Sequence[Request]]


def ledger_forms(plan: QueryPlan, dataset: str, source: Source) -> Forms:
    """Return the request of a query about records, and the former forms in which a ledger may hold it.

    Older ledgers hold a list of one condition as a table, a condition as the analyst wrote it, and the version of a
    file as its size and time, without an edition. If such a ledger has answers both to a count and to a list of it,
    each query gets its own answer.
    """
    price, goal = plan.loss, {} if plan.goal is None else {"within": plan.goal.to_json()}
    scales = [exact_text(level.mechanism.exact_scale) for level in plan.noise.levels]
    shared = {**goal, "unit": source.unit, "mechanism": plan.noise.levels[0].mechanism.name}
    versions: list[dict[str, str | None]] = [{"version": name} for name in (source.version, *source.former_versions)]
    if source.stated_edition is not None or not source.has_exact_version:
        versions.insert(0, {**versions[0], EDITION: source.stated_edition})

    def request(question: Mapping[str, object], version: Mapping[str, str | None]) -> Request:
        text = json.dumps({**question, **shared, **version}, sort_keys=True)
        return Request(dataset, text, price.epsilon, price.rho if price.epsilon is None else None, price.delta)

    if not (isinstance(plan, ListPlan) and plan.equals_count):
        table = {"table": plan.facts, "where": plan.where, "scales": scales}
        return request(table, versions[0]), FormerRequests(lambda: [request(table, version) for version in versions])
    wordings = dict.fromkeys((plan.texts[0], canonical_text(plan.asked[0])))
    counts: list[dict[str, object]] = [{"where": text, "scale": scales[0]} for text in wordings]

    def build_formers() -> list[Request]:
        former_counts = [request(count, version) for version in versions for count in counts]
        table = {"table": plan.facts, "where": None, "scales": scales}
        tables = [request(table, version) for version in versions]
        return [*former_counts, *tables] if isinstance(plan, CountPlan) else [*tables, *former_counts]

    present, *reworded = [request(count, versions[0]) for count in counts]
    return present, FormerRequests(build_formers, reworded)


def stored_answer(plan: QueryPlan, entry: Entry) -> TableAnswer | None:
    """Return the stored answer of an entry; None if it has another form than the query.

    The form is the number of counts of each level, and the presence of keys for hidden keys. A list of one condition
    also takes the answer of a count.
    """
    answer, sizes = entry.answer, [level.size for level in plan.noise.levels]
    if isinstance(plan, ListPlan) and plan.equals_count and not asks_for_table(entry):
        return TableAnswer.from_levels([[answer]]) if isinstance(answer, int) else None
    if not isinstance(answer, TableAnswer) or len(sizes) != len(answer.levels):
        return None
    fits = all(size in {None, len(counts)} for size, counts in zip(sizes, answer.levels, strict=True))
    return answer if fits and (answer.keys is None) == (plan.noise.threshold is None) else None


def publish(  # noqa: PLR0913 - the members of a result
    plan: QueryPlan, entry: Entry, charged: Loss, remains: RemainingBudget, *, source: Source, confidence: float
) -> Published:
    """Return the published answer of an entry.

    Args:
        plan: The plan of the query.
        entry: The entry, which has an answer.
        charged: The charge of this request for the answer.
        remains: The remaining budgets.
        source: The records.
        confidence: The confidence of the errors, if the price is fixed.

    Raises:
        LedgerError: The ledger holds an answer of another form.
    """
    stored = plan.at_price_of(entry)
    facts: dict[str, Any] = {
        "remaining": remains.remaining,
        "remains": remains,
        "dataset": redacted_name(entry.request.dataset),
        "key": entry.key,
        "unit": source.unit,
        "confidence": confidence,
        "unreadable_as_missing": unreadable_as_missing(plan.read_columns, source),
        "replaces": entry.replaces,
        "stopping": stopping_schedule(plan, entry),
    }
    with suppress(ValueError, TypeError, IndexError, OverflowError):
        if isinstance(stored, CountPlan) and isinstance(entry.answer, int) and not asks_for_table(entry):
            return build_result(stored, entry.answer, charged, **facts)
        entries = parts_of(entry)
        draws = [draw for part in entries if (draw := stored_answer(stored, part)) is not None]
        if len(draws) == len(entries) and all(draw.keys == draws[0].keys for draw in draws):
            answer = draws[0]
            if len(draws) > 1:
                answer = nearest_answer(gaussian_noises(entry), draws)
                facts["parts"] = tuple(fields_of_counts(stored, draw)["answers"] for draw in draws)
            return build_result(stored, answer, charged, **facts)
    raise unexpected_answer(entry.key)


def build_result(
    plan: QueryPlan,
    answer: int | TableAnswer,
    charged: Loss,
    stopping: StoppingSchedule | None = None,
    **facts: Any,  # noqa: ANN401 - other members of the result
) -> Published:
    """Build a published answer from its counts, its charge and its stopping rule."""
    if isinstance(plan, CountPlan):
        count = answer if isinstance(answer, int) else int(answer.levels[0][0])
        facts |= {} if stopping is None else stopping.release_fields(count)
        return Release(
            answer=count,
            epsilon=plan.loss.epsilon or Fraction(0),
            paid=charged,
            where=plan.texts[0],
            mechanism=cast("DiscreteLaplace", plan.noise.levels[0].mechanism),
            **facts,
        )
    counts = fields_of_counts(plan, cast("TableAnswer", answer))
    facts |= {} if stopping is None else stopping.table_fields(counts["answers"])
    return TableRelease(**counts, charged=charged, where=plan.where, **{"plan": plan.noise, **facts})


def fields_of_counts(plan: QueryPlan, answer: TableAnswer) -> dict[str, Any]:
    """Return the members of a `TableRelease` that state the counts in the order asked, with their keys."""
    if isinstance(plan, ListPlan):
        return {
            "answers": (answer.levels[0][plan.order],),
            "levels": (level_of_questions(len(plan.texts)),),
            "labels": TableLabels(("question",), (plan.texts,)),
            "is_additive": False,
        }
    question = cast("GroupedPlan", plan).question
    if isinstance(plan, CellsPlan) and question.keys is not None:
        return {
            "answers": plan.canonical.in_requested_order(answer.levels),
            "levels": question.levels(),
            "labels": table_labels(question.keys),
            "has_other": question.has_other,
            "is_additive": plan.noise.groups == 1,
            "is_cumulative": question.is_cumulative,
        }
    keys = key_set_from_json(question.parts, answer.keys or [])
    names = [part.column.name for part in question.parts]
    return {
        "answers": answer.levels,
        "levels": all_levels(keys.codes, names, question.margins),
        "labels": table_labels(keys, is_hidden=True),
        "is_additive": False,
    }


def stopping_schedule(plan: QueryPlan, stored_entry: Entry) -> StoppingSchedule | None:
    """Return the stopping rule of a stored answer, or that of the new goal if the stored answer already meets it.

    Return None if the price of the stored answer was fixed.
    """
    goal, base = AccuracyGoal.from_entry(stored_entry), stored_entry.base
    if goal is None:
        return None
    if plan.goal is not None and not goal.implies(plan.goal) and meets_goal(plan, stored_entry):
        goal, base = plan.goal, stored_entry
    return StoppingSchedule(goal, plan.at_price_of(stored_entry).noise, base)


def meets_goal(plan: QueryPlan, stored_entry: Entry) -> bool:
    """Return True if a stored answer meets the accuracy goal, so that it is given in place of a new one."""
    answer, paid = stored_answer(plan, stored_entry), identity_of(stored_entry.request).price
    if plan.goal is None or answer is None or paid >= plan.goal.at_most:
        return False
    stored = AccuracyGoal.from_entry(stored_entry)
    if stored is not None and stored.has_same_accuracy(plan.goal):
        return paid < stored.at_most
    return StoppingSchedule(plan.goal, plan.noise, stored_entry).has_reached_goal(answer.levels, 0)


def plan_of_debit(plan: QueryPlan, entry: Entry) -> QueryPlan:
    """Return the plan by which the answer of a debit is drawn, with the noise, price, goal and form of the debit.

    The debit of a list of one condition may be that of a count, and the other way round.
    """
    plan, goal = plan.at_price_of(entry), AccuracyGoal.from_entry(entry)
    if isinstance(plan, ListPlan) and plan.equals_count:
        form = ListPlan if asks_for_table(entry) else CountPlan
        return form(plan.predicates, plan.where, plan.noise, goal, plan.schema, plan.texts, plan.asked)
    return replace(plan, goal=goal)


def nearest_answer(noises: Sequence[DiscreteNoise | CombinedGaussian], parts: Sequence[TableAnswer]) -> TableAnswer:
    """Return the whole numbers nearest to the means of independent draws, weighted by their precisions."""
    levels = zip(noises, zip(*(part.levels for part in parts), strict=True), strict=True)
    nearest = [noise.nearest(counts) for noise, counts in levels if isinstance(noise, CombinedGaussian)]
    return TableAnswer.from_levels(nearest, parts[0].keys, parts[0].order)


def unreadable_as_missing(read: Iterable[Column], source: Source) -> tuple[str, ...]:
    """Return the columns of a query whose unreadable values count as missing, as the owner accepted."""
    names = {column.name for column in read} & {*source.accepted}
    return tuple(name for name in source.schema if name in names)
