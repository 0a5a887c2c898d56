"""`Desk` answers queries: it reserves the price, counts, adds noise, stores the answer and returns it.

`table_plan` gives a query its meaning, the ledger charges, `drawing` counts, and `publishing` builds the result.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias, cast

from noisycount import errors
from noisycount.display.values import Shown
from noisycount.engines.check import Check
from noisycount.engines.findings import with_findings
from noisycount.engines.interface import Closeable, Source
from noisycount.frozen import frozen
from noisycount.ledger.chain import unused_reserve
from noisycount.ledger.entries import Analyst, Entry, TableAnswer
from noisycount.ledger.ledger import Ledger, StaleBaseError
from noisycount.ledger.series import covers, highest_priced_entry, request_at_stop
from noisycount.ledger.transactions import AttachedWrite
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.query import ALL, Query
from noisycount.query.schema import Kind
from noisycount.query.typed import Keys
from noisycount.release.dataset import Dataset, RemainingBudget
from noisycount.release.drawing import Drawn, draw_answer
from noisycount.release.publishing import Forms, ledger_forms, meets_goal, plan_of_debit, publish
from noisycount.release.query_plan import QueryPlan, plan_of
from noisycount.release.reply_tick import ReplyTick
from noisycount.release.results import Release
from noisycount.release.table_release import Published, TableRelease
from noisycount.validation import RationalLike

# Function from a release to a write that is committed together with it.
Attach: TypeAlias = Callable[[Any], AttachedWrite]
_PAID = "the debit stays, and to ask the same again costs nothing more"


@frozen(repr=False)
class Desk(Shown, Closeable):
    """Desk that answers queries about one data set; the only caller of `Source.count`.

    `nc.open_desk` opens one. As a context manager it closes the records and the ledger.

    Args:
        source: The records.
        ledger: The ledger, which stores charges and answers.
        dataset: The name and the budget of the records.
        slot: The ticks at which a new answer is stored and returned, or its failure raised. None: at once, so that the
            duration can reveal something about the records.
        analyst: The analyst who asks, with a budget over all data sets.
        attach: Function that makes a write from a new answer, for the same transaction. None: there is no such write.

    Raises:
        ValueError: The data set, the slot or the analyst is of another class.

    Example:
        >>> import tempfile
        >>> import noisycount as nc
        >>> import polars as pl
        >>> survey = pl.DataFrame({"person": range(600), "age": [20 + n % 60 for n in range(600)]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with nc.open_desk(survey, unit="person", ledger=f"{folder}/ledger.db") as desk:
        ...         answer = desk.release("age >= 50", "1/2")
        ...         again = desk.release("AGE >= 50", 0.5)
        >>> again.answer == answer.answer, answer.charged, again.charged, again.remaining
        (True, Fraction(1, 2), Fraction(0, 1), Fraction(3, 2))
    """

    source: Source
    ledger: Ledger
    dataset: Dataset
    slot: ReplyTick | None = None
    analyst: Analyst = Analyst()
    attach: Attach | None = None

    def __post_init__(self) -> None:
        kinds = {"dataset": Dataset, "analyst": Analyst, "slot": ReplyTick | None}
        for name, kind in kinds.items():
            if not isinstance(getattr(self, name), kind):
                shown_value = repr(getattr(self, name))[:80]
                message = f"{name} must be of the class of that name, got {shown_value}"
                raise ValueError(message)  # noqa: TRY004 - every unusable value is a ValueError

    @property
    def columns(self) -> dict[str, Kind]:
        """Columns that queries may use, with their kinds."""
        return dict(self.source.schema)

    def check(self) -> Check:
        """Return the findings about the records. They are for the owner only, as they reveal facts about the data.

        Raises:
            SourceError: The records cannot be read.
        """
        return with_findings(self.source.check(), self.source.unit)

    def close(self) -> None:
        """Close the records and the ledger."""
        self.source.close()
        self.ledger.close()

    @property
    def remaining(self) -> Fraction:
        """Largest ε of one more answer, for which both budgets must pay.

        Raises:
            LedgerError: The ledger cannot be read.
        """
        return self._remaining_budget().remaining

    def release(  # noqa: PLR0913 - price and goals have several forms
        self,
        where: str = ALL,
        epsilon: RationalLike | None = None,
        *,
        within: str | float | Fraction | None = None,
        error: float | Fraction | None = None,
        guess: float | Fraction | None = None,
        confidence: float = 0.95,
        key: str | None = None,
        purpose: str | None = None,
        at_most: RationalLike | None = None,
    ) -> Release:
        """Return the private count of the units with at least one matching record.

        The ledger charges the price before the records are read, and keeps the charge even if the count fails. A
        repeated question at the same price or a lower one returns the most accurate answer that the analyst has, and
        costs nothing. At a higher price it costs the difference: the new answer is drawn given the earlier one, which
        it `replaces`. If another analyst has already paid for the answer, it is free for an analyst who could pay for
        it. A key names one answer for ever.

        Args:
            where: A condition in the predicate language. Default: all records.
            epsilon: The price, in units of privacy loss; the scale of the noise is 1/epsilon. An exact number, its
                text ("0.1", "1/3"), or a float, which is read as the decimal number that Python prints.
            within: In place of a price: the accuracy as a share of the count ("20%" or 0.2). Prices rise up to
                `at_most`, and the answer becomes more accurate, until it is accurate enough. The interval then
                holds with the confidence, for every count, and only the last price is charged (see the page “Accuracy
                first”). With a guess: a share of the guess, at the price that `noisycount plan` computes.
            error: The accuracy in units, in place of a price.
            guess: With `within`: a public guess of the count, never the true count.
            at_most: With `within` and no guess: the largest price, which is reserved until the answer is stored.
            confidence: The probability that the count lies within the `error` of the release.
            key: A name for the request. Default: a random name.
            purpose: The purpose of the answer, in at most 200 characters; the ledger stores it. A question for another
                purpose is the same question.

        Raises:
            ValueError: The price, the accuracy, `key` or `purpose` is out of range; nothing was charged.
            PurposeError: The purpose is missing, and the owner requires one; nothing was charged.
            PredicateError: The condition is outside the language, or no record can match it; nothing was charged.
            BudgetError: The price exceeds the remaining budget; nothing was charged.
            LedgerError: The key belongs to another question, or the ledger cannot be used, and nothing was charged; or
                the answer could not be stored, and the charge stays.
            SourceError: The records are closed or have changed, and nothing was charged; or they could not be counted,
                and the charge stays.
        """
        query = Query(
            wheres=[where],
            epsilon=epsilon,
            within=within,
            error=error,
            at_most=at_most,
            guess=guess,
            confidence=confidence,
        )
        return cast("Release", self.answer(query, key, purpose))

    def release_many(  # noqa: PLR0913 - each one has its own meaning
        self,
        wheres: Sequence[str],
        epsilon: RationalLike | None = None,
        *,
        rho: RationalLike | None = None,
        delta: RationalLike | None = None,
        noise: type[DiscreteNoise] = DiscreteLaplace,
        confidence: float = 0.95,
        key: str | None = None,
        purpose: str | None = None,
        within: str | float | Fraction | None = None,
        at_most: RationalLike | None = None,
    ) -> TableRelease:
        """Return the private counts of several conditions, from one scan, at one price for all.

        One unit can match all of k conditions. So each count has the Laplace noise of an answer at ε/k, or Gaussian
        noise of σ = √(k/(2ρ)).

        Args:
            wheres: Conditions in the predicate language, each once.
            epsilon: The price of all, as for `release`.
            rho: The price of all under Gaussian noise.
            delta: With `epsilon`, in place of `rho`.
            noise: The class of the noise: `DiscreteLaplace` or `DiscreteGaussian`.
            confidence: The probability of each stated error, in (0, 1).
            key: As for `release`.
            purpose: As for `release`.
            within: In place of a price, as for `release`. The price rises in steps until every count is that accurate,
                so the smallest count decides. Separate releases stop one by one.
            at_most: With `within`: the largest price of all.

        Raises:
            ValueError: A price or the confidence is out of range; nothing was charged.
            NoisyCountError: As for `release`.

        Source: C. Canonne, G. Kamath and T. Steinke, The Discrete Gaussian for Differential Privacy (2020), Theorem 14;
        the ρ of (ε, δ) by Corollary 13.
        """
        query = Query(
            wheres=wheres,
            is_list=True,
            epsilon=epsilon,
            rho=rho,
            delta=delta,
            noise=noise,
            confidence=confidence,
            within=within,
            at_most=at_most,
        )
        return cast("TableRelease", self.answer(query, key, purpose))

    def release_table(  # noqa: PLR0913, PLR0917 - each one has its own meaning
        self,
        by: str | Sequence[str],
        keys: Keys | None = None,
        where: str | None = None,
        epsilon: RationalLike | None = None,
        delta: RationalLike | None = None,
        margins: str | Sequence[str | Sequence[str]] = (),
        *,
        rho: RationalLike | None = None,
        noise: type[DiscreteNoise] = DiscreteLaplace,
        other: bool = False,
        groups_per_unit: int | None = None,
        cumulative: bool = False,
        confidence: float = 0.95,
        key: str | None = None,
        purpose: str | None = None,
        within: str | float | Fraction | None = None,
        at_most: RationalLike | None = None,
        of: str | None = None,
    ) -> TableRelease:
        """Return the private counts of units by their keys, from one scan, at one price for all.

        The L1 sensitivity of a level with N keys is Δ = min(N, g) if a unit is added or removed. It is min(N, 2g) if a
        unit replaces another, as is assumed if the size is public. g is 1 for rows and `groups_per_unit` for persons;
        without it, a person may be in all cells. A level with the share s of the price has Laplace noise of scale
        Δ/(s·ε) or Gaussian noise of σ = √(Δ/(2·s·ρ)).

        Args:
            by: Columns: "town,sex" or ["town", "age:0,18,65", "visit:month"]. Numbers are grouped by edges, the last
                range without end, dates by month, quarter or year.
            keys: The keys of each column by its name, every combination of which is a cell; or the keys of each cell.
                None stands for missing values. If keys are left out and a delta is given, they are hidden: only keys
                whose noisy count reaches a threshold are shown.
            where: The condition of all cells. Default: all records.
            epsilon: The price of the whole table, as for `release`.
            delta: With hidden keys: the largest probability that a key of one unit alone is shown. With Gaussian noise
                and `epsilon`: the δ of the price, in place of `rho`.
            margins: Sums that are counted with their own noise, each for a share of the price: "total", a column, or
                several columns joined by "*"; "all" for all sums.
            rho: The price under Gaussian noise.
            noise: The class of the noise: `DiscreteLaplace` or `DiscreteGaussian`.
            other: True to count the units with other keys as one more cell.
            groups_per_unit: Contribution bound: the number of cells in which a person counts, chosen by a keyed hash.
            cumulative: True to count ranges of cells too, for accurate sums up to each cell.
            confidence: The probability of each stated error, in (0, 1).
            key: As for `release`.
            purpose: As for `release`.
            within: In place of a price, as for `release`. The price rises in steps until the counts that `of`
                names are that accurate; the result states which counts are, and the error of the others.
            at_most: With `within`: the largest price of the table.
            of: With `within`: "largest", the largest cell; "total", if margins have the total; or "90%-of-cells", cells
                that make up that share of the answers.

        Raises:
            ValueError: A price or the confidence is out of range; nothing was charged.
            PredicateError: A column, a key or a margin is invalid, or they do not go together; nothing was charged.
            NoisyCountError: As for `release`.

        Source: as for `release_many`; shares: Proposition 3.3 of the page “Accuracy”; keys: Theorem 6.3 of the
            page “Accounting and partition selection”.

        Example:
            >>> import tempfile
            >>> import noisycount as nc
            >>> import polars as pl
            >>> survey = pl.DataFrame({"town": ["Bern"] * 300 + ["Genf"] * 200})
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     with nc.open_desk(survey, unit="row", ledger=f"{folder}/ledger.db") as desk:
            ...         table = desk.release_table("town", {"town": ["Bern", "Chur"]}, epsilon=1)
            >>> [row.labels for row in table.rows], table.errors, table.remaining
            ([('Bern',), ('Chur',)], (3,), Fraction(1, 1))
        """
        query = Query(
            wheres=() if where is None else [where],
            by=by,
            keys=keys,
            epsilon=epsilon,
            delta=delta,
            margins=margins,
            rho=rho,
            noise=noise,
            other=other,
            groups_per_unit=groups_per_unit,
            cumulative=cumulative,
            confidence=confidence,
            within=within,
            at_most=at_most,
            of=of,
        )
        return cast("TableRelease", self.answer(query, key, purpose))

    def plan(self, query: Query) -> QueryPlan:
        """Return the meaning of a query for these records, with its noise and its price. Reads and charges nothing.

        Raises:
            QueryError: Parts of the query do not go together.
            PredicateError: A condition, a column or a key is outside the language.
            ValueError: A price or the confidence is out of range.
        """
        is_replacement = self.dataset.size is not None
        return plan_of(query, self.source.schema, self.source.unit, is_replacement=is_replacement)

    def answer(
        self, query: Query, key: str | None = None, purpose: str | None = None, plan: QueryPlan | None = None
    ) -> Published:
        """Answer a query: a table, or one count if it has one condition. See `release` for charges and errors.

        Args:
            query: The query.
            key: As for `release`. The default is random because a digest of the request would depend on the content of
                the records.
            purpose: The purpose of the answer.
            plan: The result of `plan` for this query, if it is known already.
        """
        source, dataset = self.source, self.dataset
        plan = plan or self.plan(query)
        source.require_unchanged()
        asked_forms = ledger_forms(plan, dataset.name, source)
        forms = asked_forms if plan.goal is None else self._forms_of_accurate_answer(plan, asked_forms, self.analyst)
        plan.require_possible(lambda: self._has_paid(forms))
        if purpose is None and dataset.needs_purpose and not self._has_paid(forms, answered=True):
            raise errors.PurposeError(
                "purpose is missing: state what the answer is for, such as 'quarterly report', because the"
                f" owner of data set {dataset.shown_name!r} requires it; nothing was charged"
            )
        request, formers = forms
        if plan.goal is not None and forms is asked_forms:
            # an answer that another analyst paid for is given only if this analyst could pay for it too
            self.ledger.require_payable(request, dataset.budget, self.analyst, formers)
            request, formers = self._forms_of_accurate_answer(plan, asked_forms, None)
        entry, charged = self.ledger.reserve(
            secrets.token_hex(16) if key is None else key,
            request,
            dataset.budget,
            self.analyst,
            formers,
            purpose=purpose,
            asked=asked_forms[0],
            prepare=lambda: source.prepare({column.name for column in plan.read_columns}),
        )
        spent = dataset.budget, entry.spent, self.analyst, entry.analyst_spent  # debits state it
        remains = RemainingBudget.from_spending(*spent) if charged else self._remaining_budget()
        published = partial(publish, plan, charged=charged, remains=remains, source=source, confidence=query.confidence)
        if entry.answer is not None:
            return published(entry)
        debited_plan = plan_of_debit(plan, entry)
        if not charged and (debited_plan.goal is not None or not covers(entry, request)):
            # a debit without an answer, of any analyst: its stopping price decides the price of this query
            replace(self, attach=None)._draw_and_store(entry, debited_plan, published)  # noqa: SLF001 - a copy of this desk
            return self.answer(query, None if key == entry.key else key, purpose, plan)
        return self._draw_and_store(entry, debited_plan, published)

    def _facts(self) -> dict[str, object]:
        return {**self._key_facts(), "remaining": self.remaining, "analyst": self.analyst.name}

    def _key_facts(self) -> dict[str, object]:
        """Return the facts for the repr, without reading the ledger."""
        return {
            "dataset": self.dataset.shown_name,
            "unit": self.source.unit,
            **({} if self.dataset.size is None else {"size": self.dataset.size}),
            "budget": self.dataset.budget.written,
            "columns": list(self.source.schema),
        }

    def _remaining_budget(self, refund: Fraction = Fraction(0)) -> RemainingBudget:
        """Return the remaining budgets, once a part of a reserve, in ε, is refunded."""
        return RemainingBudget.in_ledger(self.ledger, self.dataset.name, self.dataset.budget, self.analyst, refund)

    def _forms_of_accurate_answer(self, plan: QueryPlan, forms: Forms, analyst: Analyst | None) -> Forms:
        """Return the request for a stored answer that meets the accuracy goal, else the request that was asked.

        If an analyst is given, only the answers that this analyst may know are considered.
        """
        entries = self.ledger.entries_asking(*forms, analyst)
        known = highest_priced_entry(entry for entry in entries if entry.answer is not None)
        if known is None or not meets_goal(plan, known):
            return forms
        return ledger_forms(plan.at_price_of(known), self.dataset.name, self.source)

    def _has_paid(self, forms: Forms, *, answered: bool = False) -> bool:
        """Return True if this analyst has paid for an answer that covers a request and, if `answered`, is stored.

        Debits of other analysts make no difference. Otherwise an analyst could detect them without paying.
        """
        entries = self.ledger.entries_asking(*forms, self.analyst)
        return any(covers(entry, forms[0]) and not (answered and entry.answer is None) for entry in entries)

    def _draw_and_store(self, entry: Entry, plan: QueryPlan, publish: "partial[Published]") -> Published:
        """Draw and store the answer of an entry, and return it with the remaining budget.

        If the answer cannot be stored, it is not returned. Otherwise a caller could provoke failures and collect
        several answers for one price.
        """
        try:
            while True:
                try:
                    return self._store_answer(entry, *self._draw_answer(plan, entry.base), publish)
                except StaleBaseError:  # another thread answered the entry below: draw again, given that answer
                    entry = cast("Entry", self.ledger.entry(entry.key))
        except errors.SourceError as error:
            refusal: errors.NoisyCountError = errors.without_traceback(error)
        except errors.LedgerError as error:
            refusal = errors.LedgerError(f"{error}; {_PAID}")
        except Exception:  # noqa: BLE001 - any message could contain the answer
            refusal = errors.LedgerError(
                f"the answer could not be stored; the reason is withheld, as it may hold the answer; {_PAID}"
            )
        except BaseException as interruption:
            errors.without_traceback(interruption)
            raise
        raise refusal

    def _store_answer(
        self, entry: Entry, answer: int | TableAnswer, stopped: Fraction | None, publish: "partial[Published]"
    ) -> Published:
        """Store the noisy answer, and return the result.

        This has a frame of its own so that a traceback raised by the caller cannot contain the answer. A reply that is
        stored with the answer is made before the write. It states the charge less the refunded part of a reserve.
        """
        attached = result = None
        if self.attach is not None:
            request = entry.request if stopped is None else request_at_stop(entry.request, stopped)
            result = self._refund_and_publish(entry, replace(entry, answer=answer, request=request), publish)
            attached = self.attach(result)
        stored = self.ledger.store(entry, answer, attached, stopped)
        if result is not None and attached is not None and attached.is_written:
            return result
        return self._refund_and_publish(entry, stored, publish, is_stored=True)

    def _refund_and_publish(
        self, entry: Entry, stored: Entry, publish: "partial[Published]", *, is_stored: bool = False
    ) -> Published:
        """Return the result. If the answer used less ε than was reserved, deduct the difference from the charge.

        If another process answered the entry first, that answer decides the stopping price, and this draw is dropped.
        """
        refund = unused_reserve(entry.request, stored.request) if stored.key == entry.key else Fraction(0)
        if not refund:
            return publish(stored)
        charged = publish.keywords["charged"]
        remains = self._remaining_budget(Fraction(0) if is_stored else refund)
        return publish(stored, charged=charged and charged.after_refund(refund), remains=remains)

    def _draw_answer(self, plan: QueryPlan, base: Entry | None) -> Drawn:
        """Return the noisy answer at its reply tick. Raises SourceError without a cause, which could reveal a count."""
        draw = partial(_result_or_none, partial(draw_answer, plan, self.source, base))
        answer = draw() if self.slot is None else self.slot.hold_until_tick(draw)
        if answer is None:
            raise errors.SourceError(
                f"data set {self.dataset.shown_name!r} could not be counted; the reason is withheld, as it"
                " may quote a record; the debit stays: check that the records can be read within the time limit,"
                " then ask again, which costs nothing more unless the records have changed"
            )
        return answer


def _result_or_none(draw: Callable[[], Drawn]) -> Drawn | None:
    """Return the noisy answer, or None if drawing fails, as the text of an error could contain a count."""
    try:
        return draw()
    except Exception as error:  # noqa: BLE001 - its text could hold a count
        is_stopped = errors.is_interruption(error)
    except BaseException as interruption:
        errors.without_traceback(interruption)
        raise
    if is_stopped:
        raise KeyboardInterrupt
    return None
