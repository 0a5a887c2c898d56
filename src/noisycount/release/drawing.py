"""Noisy draws: `draw_answer` counts the records once and returns the noisy answer.

No count leaves this module without noise.

No exact count is kept for a later query. A query with a kept count would take less time, and so reveal earlier queries.
An answer that tops up a stored one is drawn given that answer, so that both together lose no more than the new price.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from noisycount.engines.interface import Source
from noisycount.errors import SourceError
from noisycount.ledger.entries import Entry, Keys, TableAnswer
from noisycount.ledger.storage import unexpected_answer
from noisycount.model.gradual import finer_errors
from noisycount.model.noises.combined_gaussian import CombinedGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.predicate import Constant
from noisycount.query.schema import key_to_json
from noisycount.query.typed import MAX_CELLS
from noisycount.release.goal import AccuracyGoal, StoppingSchedule
from noisycount.release.noise_plan import TablePlan
from noisycount.release.publishing import stored_answer
from noisycount.release.query_plan import CellsPlan, CountPlan, HiddenKeysPlan, ListPlan, QueryPlan

Counts: TypeAlias = NDArray[np.int64]  # counts of one level
# noisy answer, and the ε at which it stopped; None: the price is fixed
Drawn: TypeAlias = tuple[int | TableAnswer, Fraction | None]
Coarser: TypeAlias = tuple[TablePlan, Sequence[Counts]]  # noise and counts of the answer that is topped up


def draw_answer(plan: QueryPlan, source: Source, base: Entry | None = None) -> Drawn:
    """Count the records once; return the noisy answer, and the ε at which it stopped (None if the price is fixed).

    If `base` is given, the answer tops up its stored answer.
    """
    coarser = None if base is None else _coarser_answer(plan, base)
    if plan.goal is not None:
        return _draw_until_accurate(plan, plan.goal, source, base, coarser)
    if isinstance(plan, HiddenKeysPlan):
        return _draw_hidden_keys(plan, source, base, coarser), None
    mechanism = plan.noise.levels[0].mechanism
    if isinstance(plan, CountPlan) and isinstance(mechanism, DiscreteLaplace) and coarser is None:
        (count,) = source.count(plan.predicates)
        return mechanism.release(count), None  # the faster sampler of a single draw
    levels = count_levels(plan, source)
    noisy = [_add_noise(plan.noise, level, counts, coarser) for level, counts in enumerate(levels)]
    return _answer_in_form(plan, noisy), None


def _answer_in_form(plan: QueryPlan, levels: Sequence[Counts]) -> int | TableAnswer:
    """Return the noisy counts as a ledger stores them: a single number for a count."""
    return int(levels[0][0]) if isinstance(plan, CountPlan) else TableAnswer.from_levels(levels, order=plan.order)


def count_levels(plan: QueryPlan, source: Source) -> Sequence[Counts]:
    """Return the counts of each level without noise, in the order of the ledger. Hidden keys have no such counts."""
    if isinstance(plan, ListPlan):
        predicates = plan.predicates
        return [np.array(source.count([predicates[place] for place in plan.sorted_indices]), dtype=np.int64)]
    canonical = cast("CellsPlan", plan).canonical
    return source.count_cells(cast("CellsPlan", plan).question.cell_question(canonical))


def _coarser_answer(plan: QueryPlan, base: Entry) -> Coarser:
    """Return the noise and the counts of the stored answer that is topped up."""
    stored = plan.at_price_of(base)
    answer = stored_answer(stored, base)
    if answer is None:
        raise unexpected_answer(base.key)
    return stored.noise, answer.levels


def _draw_until_accurate(
    plan: QueryPlan, goal: AccuracyGoal, source: Source, base: Entry | None, coarser: Coarser | None
) -> Drawn:
    """Draw answers at rising prices until they meet the accuracy goal or reach its largest price.

    Only the deciding level is drawn at each price. The other levels are drawn once, at the last price: this gives the
    same distribution.
    """
    stopping, exact_counts = StoppingSchedule(goal, plan.noise, base), count_levels(plan, source)
    place, noise, last = stopping.deciding_level, plan.noise, coarser
    levels = [np.zeros(len(counts), dtype=np.int64) for counts in exact_counts]
    for step, price in enumerate(stopping.prices):
        if step or coarser is None:
            noise = plan.at_price(price).noise
            levels[place] = _add_noise(noise, place, exact_counts[place], last)
            last = noise, levels
            if stopping.has_reached_goal(levels, step):
                break
    for other, counts in enumerate(exact_counts):
        if other != place:
            levels[other] = _add_noise(noise, other, counts, coarser)
    return _answer_in_form(plan, levels), price


def _add_noise(noise: TablePlan, place: int, counts: Counts, coarser: Coarser | None) -> Counts:
    """Return the counts of a level with noise.

    A top-up under Laplace noise is drawn from the distribution of the noise given the coarser answer. A top-up under
    Gaussian noise is an independent draw, which is combined with the earlier draws later.
    """
    mechanism = noise.levels[place].mechanism
    if isinstance(mechanism, CombinedGaussian):
        return counts + mechanism.newest.samples(len(counts))
    if coarser is None:
        return counts + mechanism.samples(len(counts))
    coarser_noise, coarser_levels = coarser
    errors = coarser_levels[place] - counts
    return counts + finer_errors(errors, coarser_noise.levels[place].mechanism.exact_scale, mechanism.exact_scale)


def _draw_hidden_keys(plan: HiddenKeysPlan, source: Source, base: Entry | None, coarser: Coarser | None) -> TableAnswer:
    """Draw the noisy counts, and return those that reach the threshold with their keys in order, and the total.

    A top-up shows exactly the keys of the answer that it tops up.
    """
    if base is not None and coarser is not None:
        return _refine_shown_keys(plan, source, cast("TableAnswer", base.answer).keys or [], coarser)
    assert plan.noise.threshold is not None  # noqa: S101 - the plan of hidden keys has one
    rows = []
    for batch in source.count_keys(plan.question.key_question()):
        counts = _add_noise(plan.noise, 0, batch.counts, None)
        shown_places = np.flatnonzero(counts >= plan.noise.threshold).tolist()
        rows += [(batch.keys[place], int(counts[place])) for place in shown_places]
        if len(rows) > MAX_CELLS:
            raise SourceError(f"more than {MAX_CELLS:,} keys are shown: group by fewer columns")
    rows.sort(key=lambda row: [(key is None, 0 if key is None else key) for key in row[0]])
    cells = np.array([count for _, count in rows], dtype=np.int64)
    keys = [[key_to_json(key) for key in row_keys] for row_keys, _ in rows]
    return TableAnswer.from_levels([cells, *_draw_totals(plan, source, None)], keys)


def _refine_shown_keys(plan: HiddenKeysPlan, source: Source, keys: Keys, coarser: Coarser) -> TableAnswer:
    """Draw more accurate counts of the keys that the earlier answer shows."""
    places = {tuple(key): place for place, key in enumerate(keys)}
    counts = np.zeros(len(keys), dtype=np.int64)
    for batch in source.count_keys(plan.question.key_question()):
        for key, count in zip(batch.keys, batch.counts.tolist(), strict=True):
            if (place := places.get(tuple(map(key_to_json, key)))) is not None:
                counts[place] = count
    return TableAnswer.from_levels(
        [_add_noise(plan.noise, 0, counts, coarser), *_draw_totals(plan, source, coarser)], keys
    )


def _draw_totals(plan: HiddenKeysPlan, source: Source, coarser: Coarser | None) -> Iterator[Counts]:
    """Yield the noisy total of all records that match, if the table has a total."""
    for place in range(1, len(plan.noise.levels)):
        total = source.count(plan.predicates or [Constant(value=True)])
        yield _add_noise(plan.noise, place, np.array(total, dtype=np.int64), coarser)
