"""Plans of queries: their meaning, noise and price, the noisy draw, and the published result.

A plan writes the request that a ledger stores (also in the forms of older ledgers), draws the noisy counts, and builds
the published answer from a stored entry. Here are the plans of a count and of a list; `table_plan` has those of tables
by keys.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from noisycount.display.texts import redacted_name
from noisycount.engines.interface import Source
from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Entry, Request, TableAnswer, asks_for_table
from noisycount.ledger.series import EDITION, parts_of, scales_in, standing_of
from noisycount.ledger.storage import unexpected_answer
from noisycount.model.gradual import finer_errors
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.combined_gaussian import CombinedGaussian
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.tables.levels import Level, TableLabels
from noisycount.query.english import english
from noisycount.query.impossible import Public, impossible_hints
from noisycount.query.normal_form import ParsedPredicate
from noisycount.query.predicate import Column, Predicate, canonical_text, columns
from noisycount.query.query import ALL
from noisycount.query.schema import Kind
from noisycount.release.dataset import RemainingBudget
from noisycount.release.goal import Goal, Stopping
from noisycount.release.noise_plan import TablePlan
from noisycount.release.results import Release
from noisycount.release.table_release import Published, TableRelease
from noisycount.release.text_orders import text_order_refusals
from noisycount.validation import exact_text

# A request to a ledger, and the other forms in which the ledger may hold the same request.
Forms: TypeAlias = tuple[Request, Sequence[Request]]
# Name of the data set, unit, versions (the present one first), edition, and True if the version is exact.
RecordsIdentity: TypeAlias = tuple[str, str | None, tuple[str, ...], tuple[str | None, bool]]
Coarser: TypeAlias = tuple[TablePlan, Sequence[NDArray[np.int64]]]  # noise and counts of the answer that is topped up


class QueryPlan(ABC):
    """A query with its meaning for records, its noise and its price."""

    noise: TablePlan  # noise and price, level by level; a count has one level with one cell
    # accuracy goal, whose largest price is that of the noise; None: the price is fixed
    goal: Goal | None

    @property
    def loss(self) -> Loss:
        """Price of all answers."""
        return self.noise.price.loss

    @property
    @abstractmethod
    def condition(self) -> Predicate | None:
        """Condition of a count, or of all cells of a table; None: all records, or the conditions of a list."""

    @property
    def predicates(self) -> Sequence[Predicate]:
        """All conditions of the query."""
        return [] if self.condition is None else [self.condition]

    @property
    def read(self) -> set[Column]:
        """Columns that the query reads."""
        return {column for each in self.predicates for column in columns(each)}

    @cached_property
    def where(self) -> str | None:
        """Canonical text of the condition."""
        return None if self.condition is None else canonical_text(self.condition)

    @property
    def meaning(self) -> str | None:
        """The condition in English."""
        return None if self.condition is None else english(self.condition)

    @cached_property
    def order_refusals(self) -> list[str]:
        """Reasons why the query is refused, as it orders texts as if they were numbers or dates."""
        about_texts = [each for each in self.predicates if any(column.kind is Kind.TEXT for column in columns(each))]
        return text_order_refusals(about_texts) if about_texts else []

    def impossible_reasons(self, public: Public) -> list[str]:
        """Return the reasons why no record can match the query, from its text and the public values. Reads no data."""
        return impossible_hints(self.predicates, public)

    def require_possible(self, public: Public, is_paid: Callable[[], bool]) -> list[str]:
        """Return the reasons against a query that is paid for; raise PredicateError if an unpaid one has any."""
        orders, impossible = self.order_refusals, self.impossible_reasons(public)
        if (orders or impossible) and not is_paid():
            raise PredicateError("; ".join(orders) or f"no record can match: {'; '.join(impossible)}")
        return [*orders, *impossible]

    @property
    def words(self) -> str:
        """The condition in the language and in English."""
        return "all records" if self.where in {None, ALL} else f"{self.where}  ({self.meaning})"

    @property
    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Members of a stored question that identify a table."""

    @property
    def order(self) -> NDArray[np.int64] | None:
        """Index in the stored answer of each count of the first level, in the order asked; None if keys are hidden."""
        return None

    def outcome(self, source: Source, base: Entry | None = None) -> tuple[TableAnswer, Fraction | None]:
        """Count the records once, and return the noisy answer with the ε at which it stopped; None at a fixed price.

        Only the deciding level is drawn at each price until it is accurate enough. The other levels are drawn once, at
        the last price: this gives the same distribution.
        """
        if self.goal is None:
            return self.drawn(source, base), None
        stopping, coarser = Stopping(self.goal, self.noise, base), self.coarser(base)
        counts, place = self._counts(source), stopping.place
        levels = [np.zeros(len(of), dtype=np.int64) for of in counts]
        plan = self
        for step, price in enumerate(stopping.prices):
            if step or coarser is None:
                last = coarser if plan is self else (plan.noise, levels)
                plan = self.at_price(price)
                levels[place] = plan._noisy(place, counts[place], last)  # noqa: SLF001 - same class
                if stopping.stops(levels, step):
                    break
        for other, of in enumerate(counts):
            if other != place:
                levels[other] = plan._noisy(other, of, coarser)  # noqa: SLF001 - same class
        return TableAnswer.of(levels, order=self.order), price

    def at_price(self, epsilon: Fraction) -> Self:
        """Return this plan at another price."""
        factor = (self.loss.epsilon or 0) / epsilon
        scales = [level.mechanism.exact_scale * factor for level in self.noise.levels]
        return replace(self, noise=self.noise.at(epsilon, scales))  # type: ignore[type-var]

    def stopping(self, known: Entry) -> Stopping | None:
        """Return the stopping rule of a stored answer, or that of the new goal if the stored answer already meets it.

        Return None if the price of the stored answer was fixed.
        """
        if "within" not in known.request.asked:
            return None
        goal, base = cast("Goal", Goal.stored(known)), known.base
        if self.goal is not None and not goal.promises(self.goal) and self.is_met(known):
            goal, base = self.goal, known
        return Stopping(goal, self.at(known).noise, base)

    def is_met(self, known: Entry) -> bool:
        """Return True if a stored answer meets the accuracy goal, so that it is given in place of a new one."""
        answer, paid = self.stored(known), standing_of(known.request).price
        if self.goal is None or answer is None or paid >= self.goal.at_most:
            return False
        stored = Goal.stored(known)
        if stored is not None and stored.is_as(self.goal):
            return paid < stored.at_most
        return Stopping(self.goal, self.noise, known).stops(answer.levels, 0)

    def requests(self, dataset: str, source: Source) -> Forms:
        """Return the request for a ledger, and the forms in which the ledger may hold it.

        They are cached for each version of the records, as every step of a release needs them.
        """
        known: dict[RecordsIdentity, Forms] = vars(self).setdefault("_known_requests", {})
        edition = source.edition, source.has_exact_version
        records: RecordsIdentity = dataset, source.unit, (source.version, *source.former_versions), edition
        if records not in known:
            known[records] = self._forms(records)
        return known[records]

    def _forms(self, records: RecordsIdentity) -> Forms:
        """Return the request for records, and that for each former version of them."""
        scales = [exact_text(level.mechanism.exact_scale) for level in self.noise.levels]
        request, *formers = self._requests(records, table=self.facts, where=self.where, scales=scales)
        return request, formers

    def _requests(self, records: RecordsIdentity, **parts: object) -> list[Request]:
        """Return the request for each version of the records, the newest first."""
        dataset, unit, known, (edition, is_exact) = records
        mechanism, price = self.noise.levels[0].mechanism.name, self.loss
        rho = price.rho if price.epsilon is None else None
        goal = {} if self.goal is None else {"within": self.goal.json}
        asked = {**parts, **goal, "unit": unit, "mechanism": mechanism}
        versions: list[dict[str, str | None]] = [{"version": version} for version in known]
        if edition is not None or not is_exact:  # requests of older ledgers have no edition
            versions.insert(0, {**versions[0], EDITION: edition})
        texts = [json.dumps({**asked, **version}, sort_keys=True) for version in versions]
        return [Request(dataset, text, price.epsilon, rho, price.delta) for text in texts]

    def _counts(self, source: Source) -> Sequence[NDArray[np.int64]]:
        """Count the records for each level, without noise."""
        raise NotImplementedError

    def counted(self, source: Source) -> TableAnswer | None:
        """Return the counts of made-up records without noise; None if keys are hidden."""
        return TableAnswer.of(self._counts(source))

    def at(self, entry: Entry) -> Self:
        """Return this plan at the price and noise of a stored answer, whose price may exceed that of the query."""
        loss = entry.loss
        if loss == self.loss and not entry.replaces:
            return self
        asked = entry.request.asked
        threshold = None if self.noise.threshold is None else asked["table"]["threshold"]
        if (epsilon := loss.epsilon) is None:
            noise = self.noise.of_noises(loss, gaussian_noises(entry), threshold)
            return replace(self, noise=noise)  # type: ignore[type-var]
        noise = replace(self.noise.at(epsilon, scales_in(asked), threshold), is_refined=bool(entry.replaces))
        return replace(self, noise=noise)  # type: ignore[type-var]

    def as_released(self, release: Published) -> Self:
        """Return this plan at the price and noise of a published answer."""
        if isinstance(release, TableRelease):
            return replace(self, noise=release.plan)  # type: ignore[type-var]
        scale = release.mechanism.exact_scale
        return replace(self, noise=self.noise.at(release.epsilon, [scale]))  # type: ignore[type-var]

    def drawn(self, source: Source, base: Entry | None = None) -> TableAnswer:
        """Draw a noisy count for each node of each level. A top-up of `base` is drawn given the answer of `base`."""
        counts = self._counts(source)
        coarser = self.coarser(base)
        noisy = [self._noisy(level, count, coarser) for level, count in enumerate(counts)]
        return TableAnswer.of(noisy, order=self.order)

    def coarser(self, base: Entry | None) -> "Coarser | None":
        """Return the noise and the counts of the answer that is topped up, if there is one."""
        if base is None:
            return None
        plan = self.at(base)
        answer = plan.stored(base)
        if answer is None:
            raise unexpected_answer(base.key)
        return plan.noise, answer.levels

    def _noisy(self, place: int, counts: NDArray[np.int64], coarser: "Coarser | None") -> NDArray[np.int64]:
        """Return the counts of a level with noise.

        A top-up under Laplace noise is drawn from the distribution of the noise given the coarser answer. A top-up
        under Gaussian noise is an independent draw.
        """
        fine = self.noise.levels[place].mechanism
        if isinstance(fine, CombinedGaussian):  # an independent draw, combined with the earlier ones later
            return counts + fine.newest.samples(len(counts))
        if coarser is None:
            return counts + fine.samples(len(counts))
        plan, levels = coarser
        errors = levels[place] - counts
        return counts + finer_errors(errors, plan.levels[place].mechanism.exact_scale, fine.exact_scale)

    def stored(self, entry: Entry) -> TableAnswer | None:
        """Return the stored answer of an entry; None if it has another form than this query.

        The form is the number of counts of each level, and the presence of keys for hidden keys.
        """
        sizes, answer = [level.size for level in self.noise.levels], entry.answer
        if not isinstance(answer, TableAnswer) or len(sizes) != len(answer.levels):
            return None
        fits = all(size in {None, len(of)} for size, of in zip(sizes, answer.levels, strict=True))
        return answer if fits and (answer.keys is None) == (self.noise.threshold is None) else None

    @abstractmethod
    def shown(self, answer: TableAnswer) -> dict[str, Any]:
        """Return the members of a `TableRelease` that state the counts, their order and their keys."""

    def result(
        self,
        answer: TableAnswer,
        charged: Loss,
        stopping: Stopping | None = None,
        **told: Any,  # noqa: ANN401
    ) -> Published:
        """Build the published table from its counts, charge and stopping rule."""
        shown = self.shown(answer)
        near = {} if stopping is None else stopping.of_table(shown["answers"])
        return TableRelease(**shown, charged=charged, where=self.where, **{"plan": self.noise, **told, **near})

    def published(
        self, entry: Entry, charged: Loss, remains: RemainingBudget, source: Source, confidence: float
    ) -> Published:
        """Return the published answer of an entry.

        Args:
            entry: The entry, which has an answer.
            charged: The charge of this request for it.
            remains: The remaining budgets.
            source: The records.
            confidence: The confidence of the errors, if the price is fixed.

        Raises:
            LedgerError: The ledger holds an answer of another form.
        """
        plan = self.at(entry)
        facts: dict[str, Any] = {
            "remaining": remains.remaining,
            "remains": remains,
            "dataset": redacted_name(entry.request.dataset),
            "key": entry.key,
            "unit": source.unit,
            "confidence": confidence,
            "unreadable_as_missing": unreadable_as_missing(self.read, source),
            "replaces": entry.replaces,
            "stopping": self.stopping(entry),
        }
        with suppress(ValueError, TypeError, IndexError, OverflowError):
            entries = parts_of(entry)
            draws = [draw for draw in map(plan.stored, entries) if draw is not None]
            if len(draws) == len(entries) and all(draw.keys == draws[0].keys for draw in draws):
                answer = draws[0]
                if len(draws) > 1:
                    answer = nearest_answer(gaussian_noises(entry), draws)
                    facts["parts"] = tuple(plan.shown(draw)["answers"] for draw in draws)
                return plan.result(answer, charged, **facts)
        raise unexpected_answer(entry.key)


@frozen(slots=False)
class ListPlan(QueryPlan):
    """A list of conditions. A list of one condition under Laplace noise has the same answer as a count."""

    readings: Sequence[ParsedPredicate]  # parsed conditions in the order asked
    texts: tuple[str, ...]  # their canonical texts
    noise: TablePlan  # noise of the only level; one unit can match all conditions
    goal: Goal | None = None

    @property
    def condition(self) -> Predicate | None:
        """None, as the labels of a list state its conditions."""
        return None

    @property
    def predicates(self) -> Sequence[Predicate]:
        """Normal form of each condition."""
        return [reading.normal for reading in self.readings]

    @property
    def is_one(self) -> bool:
        """True if it is one condition under Laplace noise, so that a count has the same answer."""
        return len(self.texts) == 1 and self.loss.epsilon is not None

    @property
    def sorted_places(self) -> list[int]:
        """Indices of the conditions, sorted by their texts: the order in which the ledger stores them."""
        return sorted(range(len(self.texts)), key=self.texts.__getitem__)

    @property
    def order(self) -> NDArray[np.int64]:
        """Index in the stored answer of each condition."""
        return np.argsort(self.sorted_places)

    @property
    def facts(self) -> dict[str, Any]:
        """Texts of the conditions, sorted."""
        return {"questions": sorted(self.texts)}

    def _forms(self, records: RecordsIdentity) -> Forms:
        """Return the request for records, and all forms in which the ledger may hold it.

        Older ledgers hold a list of one condition as a table, a condition as the analyst wrote it, and the version of a
        file as its size and time. If such a ledger has answers both to a count and to a list of it, each query gets its
        own answer.
        """
        if not self.is_one:
            return super()._forms(records)
        scale = exact_text(self.noise.levels[0].mechanism.exact_scale)
        wordings = dict.fromkeys((self.texts[0], canonical_text(self.readings[0].asked)))
        of_wordings = [self._requests(records, where=text, scale=scale) for text in wordings]
        alone = [request for of_version in zip(*of_wordings, strict=True) for request in of_version]
        listed = self._requests(records, table=self.facts, where=None, scales=[scale])
        return alone[0], [*alone, *listed] if isinstance(self, CountPlan) else [*listed, *alone]

    def _counts(self, source: Source) -> Sequence[NDArray[np.int64]]:
        predicates = self.predicates
        return [np.array(source.count([predicates[place] for place in self.sorted_places]), dtype=np.int64)]

    def stored(self, entry: Entry) -> TableAnswer | None:
        """Return the stored counts; for one condition, also those of an entry for a count."""
        if not self.is_one or asks_for_table(entry):
            return super().stored(entry)
        return TableAnswer.of([[entry.answer]]) if isinstance(entry.answer, int) else None

    def shown(self, answer: TableAnswer) -> dict[str, Any]:
        """Return the counts in the order in which the conditions were asked."""
        return {
            "answers": (answer.levels[0][self.order],),
            "levels": (level_of_questions(len(self.texts)),),
            "labels": TableLabels(("question",), (self.texts,)),
            "is_additive": False,
        }


class CountPlan(ListPlan):
    """One condition under Laplace noise, whose answer is published as a single count."""

    @property
    def condition(self) -> Predicate:
        """Normal form of the condition."""
        return self.readings[0].normal

    @property
    def epsilon(self) -> Fraction:
        """Price of the count, in ε."""
        return cast("Fraction", self.loss.epsilon)

    @property
    def mechanism(self) -> DiscreteLaplace:
        """Noise of the count."""
        return cast("DiscreteLaplace", self.noise.levels[0].mechanism)

    def drawn(self, source: Source, base: Entry | None = None) -> TableAnswer:
        """Draw the noisy count, with the faster sampler of a single draw."""
        if base is not None:
            return super().drawn(source, base)
        (count,) = source.count(self.predicates)
        return TableAnswer.of([[self.mechanism.release(count)]])

    def result(
        self,
        answer: TableAnswer,
        charged: Loss,
        stopping: Stopping | None = None,
        **told: Any,  # noqa: ANN401
    ) -> Release:
        """Build the published count."""
        count = int(answer.levels[0][0])
        return Release(
            answer=count,
            epsilon=self.epsilon,
            paid=charged,
            where=self.texts[0],
            mechanism=self.mechanism,
            **{**told, **({} if stopping is None else stopping.of_count(count))},
        )


def plan_of_debit(plan: QueryPlan, entry: Entry) -> QueryPlan:
    """Return the plan by which the answer of a debit is drawn, with the noise, price and goal of the debit."""
    if isinstance(plan, ListPlan) and plan.is_one:
        plan = CountPlan(plan.readings, plan.texts, plan.noise)
    goal = Goal.stored(entry) if "within" in entry.request.asked else None
    return replace(plan.at(entry), goal=goal)  # type: ignore[type-var]


def gaussian_noises(entry: Entry) -> list[DiscreteNoise | CombinedGaussian]:
    """Return the noise of each level of an answer under Gaussian noise, combined over all of its draws."""
    scales = zip(*(scales_in(part.request.asked) for part in parts_of(entry)), strict=True)
    return [CombinedGaussian.of(each) if len(each) > 1 else DiscreteGaussian(*each) for each in scales]


def nearest_answer(noises: Sequence[DiscreteNoise | CombinedGaussian], parts: Sequence[TableAnswer]) -> TableAnswer:
    """Return the whole numbers nearest to the means of independent draws, weighted by their precisions."""
    levels = zip(noises, zip(*(part.levels for part in parts), strict=True), strict=True)
    nearest = [noise.nearest(of) for noise, of in levels if isinstance(noise, CombinedGaussian)]
    return TableAnswer.of(nearest, parts[0].keys, parts[0].order)


def level_of_questions(number: int) -> Level:
    """Return the one level of a list of conditions."""
    nodes = np.arange(number, dtype=np.int32)
    return Level("questions", nodes, number, nodes[:, np.newaxis])


def unreadable_as_missing(read: Iterable[Column], source: Source) -> tuple[str, ...]:
    """Return the columns of a query whose unreadable values count as missing, as the owner accepted."""
    names = {column.name for column in read} & {*source.accepted}
    return tuple(name for name in source.schema if name in names)
