"""From a question to a published answer: reserve, count, add noise, store, reply."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

from noisycount.display.values import Shown
from noisycount.engines.check import Check, Closing
from noisycount.engines.interface import Source
from noisycount.frozen import frozen
from noisycount.ledger.approximate import NeighbourRelation, neighbours_of_size
from noisycount.ledger.entries import Analyst, Request
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.transactions import Enclosure
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.key_sets import Keys
from noisycount.query.predicate import columns
from noisycount.query.reading import read
from noisycount.query.schema import Kind
from noisycount.release.answer import Release
from noisycount.release.asked import OneCount
from noisycount.release.dataset import Dataset, LateDataset
from noisycount.release.draw import unreadable_as_missing
from noisycount.release.plan import Goal
from noisycount.release.purchase import Bought, Draw, Purchase, remaining
from noisycount.release.reply_tick import ReplyTick
from noisycount.release.table_answer import TableRelease
from noisycount.release.wishes import ManyWish, TableWish, Wish
from noisycount.validation import Exactly, fraction_of_one

__all__ = ["Desk", "Enclose"]


Result = TypeVar("Result")


Told = TypeVar("Told", Release, TableRelease)


Enclose = Callable[[Any], Enclosure]


"""Gives what is written with a release, which is of the class that was asked for."""


@frozen(repr=False)
class Desk(Shown, Closing):
    """Where questions about one data set are asked; the only caller of `Source.count`.

    Made by ``nc.open_desk``; as a context manager it closes the records and the ledger.

    Args:
        source: The records.
        ledger: Who keeps the budget and the answers.
        dataset: The name and the budget of the records; the name may be found at its first use.
        slot: When replies leave, refusals too; None: as soon as they are there, after a time that
            can tell something about the records.
        analyst: Who asks, and what their questions may cost together.
        enclose: Gives what is written with a new answer, in its transaction; None: nothing is.

    Raises:
        ValueError: The data set, the slot or the analyst is of another class.

    Example:
        >>> import tempfile
        >>> import noisycount as nc
        >>> import polars as pl
        >>> survey = pl.DataFrame({"person": [1, 1, 2], "age": [71, 72, 29]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with nc.open_desk(survey, unit="person", ledger=f"{folder}/ledger.db") as desk:
        ...         answer = desk.release("age >= 65", "1/2")
        ...         again = desk.release("AGE >= 65", 0.5)
        >>> again.answer == answer.answer, answer.charged, again.charged, again.remaining
        (True, Fraction(1, 2), Fraction(0, 1), Fraction(3, 2))
    """

    source: Source
    ledger: Ledger
    dataset: Dataset | LateDataset
    slot: ReplyTick | None = None
    analyst: Analyst = Analyst()
    enclose: Enclose | None = None

    def __post_init__(self) -> None:
        kinds = {"dataset": Dataset | LateDataset, "analyst": Analyst, "slot": ReplyTick | None}
        for name, kind in kinds.items():
            if not isinstance(getattr(self, name), kind):
                shown = repr(getattr(self, name))[:80]
                message = f"{name} must be of the class of that name, got {shown}"
                raise ValueError(message)  # noqa: TRY004 - every unusable value is a ValueError

    @property
    def columns(self) -> dict[str, Kind]:
        """What questions may use, and the kind of each column."""
        return dict(self.source.schema)

    def check(self) -> Check:
        """What is in the records, for their owner: it shows facts about the data.

        Raises:
            SourceError: The records cannot be read.
        """
        return self.source.check()

    def close(self) -> None:
        """The end of the use of the records and of the ledger; what was written stays."""
        self.source.close()
        self.ledger.close()

    @property
    def remaining(self) -> Fraction:
        """The largest ε at which one more question may be asked; both budgets must pay it.

        Raises:
            LedgerError: The ledger cannot be read.
        """
        return remaining(self.ledger, self.dataset, self.analyst)

    def release(  # noqa: PLR0913 - each stands for a whole goal
        self,
        where: str,
        epsilon: Exactly | None = None,
        *,
        within: str | float | Fraction | None = None,
        error: float | Fraction | None = None,
        guess: float | Fraction | None = None,
        confidence: float = 0.95,
        key: str | None = None,
        purpose: str | None = None,
    ) -> Release:
        """The private count of the units with at least one record that matches.

        The price is debited before the records are read, and stays debited whatever follows. The
        same question, or the same key after a failure, gives the same answer for ever, at no
        further price.

        Args:
            where: A question in the predicate language.
            epsilon: The price, in units of privacy loss; the scale of the noise is 1/epsilon. An
                exact number, its text ("0.1", "1/3"), or a float, read as the decimal it shows.
            within: In place of a price: how near the answer should be to the count, as a share of
                the guess ("20%" or 0.2); the price follows as `noisycount plan` computes it.
            error: The same in units.
            guess: A public guess of the count, for `within`; never the true count.
            confidence: The probability of an answer so near, and of the `error` of the release.
            key: What the asker calls the question; left out: a random name.
            purpose: What the answer is for, in at most 200 characters, kept with the debit. The
                same question for another purpose is the same question.

        Raises:
            ValueError: The price, goal, `key` or `purpose` is out of range; nothing was charged.
            PurposeError: There is no purpose, and the owner wants one; nothing was charged.
            PredicateError: The question is outside the language; nothing was charged.
            BudgetError: The price exceeds what is left; nothing was charged.
            LedgerError: The key belongs to another question, or the ledger cannot be used, and
                nothing was charged; or the answer could not be stored, and the debit stays.
            SourceError: The records are closed or have changed, and nothing was charged; or they
                could not be counted, and the debit stays.
            OverrunError: There was no answer when replies left the slot; a debit made stays.
        """
        goal = Goal(epsilon, within, error, guess, confidence)
        return self._at_slot(partial(self._reply, where, goal, key, purpose))

    def release_many(  # noqa: PLR0913 - each says something of its own
        self,
        wheres: Sequence[str],
        epsilon: Exactly | None = None,
        *,
        rho: Exactly | None = None,
        delta: Exactly | None = None,
        noise: type[DiscreteNoise] = DiscreteLaplace,
        confidence: float = 0.95,
        key: str | None = None,
        purpose: str | None = None,
    ) -> TableRelease:
        """The private counts of several questions, from one scan, at one price for all.

        One unit can match all of the k questions, so that each has the noise of an answer at ε/k,
        or of σ = √(k/(2ρ)).

        Args:
            wheres: Questions in the predicate language, none twice.
            epsilon: The price of all, as for `release`.
            rho: The price of all under Gaussian noise.
            delta: With `epsilon`, in place of `rho`.
            noise: `DiscreteLaplace` or `DiscreteGaussian`, the class.
            confidence: With which the errors are stated, in (0, 1).
            key: As for `release`.
            purpose: As for `release`.

        Raises:
            ValueError: A price or the confidence is out of range; nothing was charged.
            NoisyCountError: As `release` tells.

        Source: C. Canonne, G. Kamath and T. Steinke, The Discrete Gaussian for Differential Privacy
        (2020), Theorem 14; the ρ of (ε, δ) by Corollary 13.
        """
        wish = ManyWish(wheres=wheres, epsilon=epsilon, rho=rho, delta=delta, noise=noise)
        return self._at_slot(partial(self._table, wish, confidence, key, purpose))

    def release_table(  # noqa: PLR0913, PLR0917 - each says something of its own
        self,
        by: str | Sequence[str],
        keys: Keys | None = None,
        where: str | None = None,
        epsilon: Exactly | None = None,
        delta: Exactly | None = None,
        margins: str | Sequence[str | Sequence[str]] = (),
        *,
        rho: Exactly | None = None,
        noise: type[DiscreteNoise] = DiscreteLaplace,
        other: bool = False,
        groups_per_unit: int | None = None,
        cumulative: bool = False,
        confidence: float = 0.95,
        key: str | None = None,
        purpose: str | None = None,
    ) -> TableRelease:
        """The private counts of units by their keys, from one scan, at one price for all.

        The counts of a level with N keys move by Δ = min(N, g) in all when a unit comes or goes and
        by min(N, 2g) when one replaces another, where the size is public; g is 1 for rows and
        `groups_per_unit` for persons, without which a person may be in all. A level with the share
        s of the price has Laplace noise of scale Δ/(s·ε) or Gaussian noise of σ = √(Δ/(2·s·ρ)).

        Args:
            by: Columns: "town,sex" or ["town", "age:0,18,65", "visit:month"]; numbers go by edges,
                the last range without end, dates by month, quarter or year.
            keys: The keys of each column by its name, every combination of which is a cell; or the
                keys of each cell. None stands for missing values. Left out with a delta: only keys
                whose noisy count reaches a threshold are shown, which are then told by the records.
            where: Which records are counted; None: all.
            epsilon: The price of the whole table, as for `release`.
            delta: For hidden keys: the probability with which a key of one unit alone may be shown;
                for Gaussian noise with `epsilon`, in place of `rho`.
            margins: What is measured beside the cells, with shares of the price: "total", columns,
                several joined by "*"; "all" for all.
            rho: The price under Gaussian noise.
            noise: `DiscreteLaplace` or `DiscreteGaussian`, the class.
            other: Whether the units with other keys are counted as one more cell.
            groups_per_unit: In at most so many cells a person is left, by a keyed hash.
            cumulative: Whether to measure ranges of cells too, for sums up to each cell.
            confidence: With which the errors are stated, in (0, 1).
            key: As for `release`.
            purpose: As for `release`.

        Raises:
            ValueError: A price or the confidence is out of range; nothing was charged.
            PredicateError: A column, a key or a margin is none, or they do not go together; nothing
                was charged.
            NoisyCountError: As `release` tells.

        Source: as for `release_many`; shares by docs/table-errors.md, keys by docs/hidden-keys.md.

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
        wish = TableWish(
            by=by,
            keys=keys,
            where=where,
            epsilon=epsilon,
            delta=delta,
            margins=margins,
            rho=rho,
            noise=noise,
            other=other,
            groups_per_unit=groups_per_unit,
            cumulative=cumulative,
        )
        return self._at_slot(partial(self._table, wish, confidence, key, purpose))

    def _facts(self) -> dict[str, object]:
        """What may be asked, and what is left."""
        return {**self._key_facts(), "remaining": self.remaining, "analyst": self.analyst.name}

    def _key_facts(self) -> dict[str, object]:
        """What may be asked, without a look into the ledger."""
        return {
            "dataset": self.dataset.told,
            "unit": self.source.unit,
            **({} if self.dataset.size is None else {"size": self.dataset.size}),
            "budget": self.dataset.budget.written,
            "columns": list(self.source.schema),
        }

    @property
    def _purchase(self) -> Purchase:
        return Purchase(self.source, self.ledger, self.dataset, self.analyst)

    def _at_slot(self, reply: Callable[[], Result]) -> Result:
        """A reply when its slot ends, or as soon as it is there."""
        return reply() if self.slot is None else self.slot.reply(reply)

    def _reply(self, where: str, goal: Goal, key: str | None, purpose: str | None) -> Release:
        """Reserve, count, add noise, store; give what is told of it."""
        found = read(where, self.source.schema)
        predicate, price = found.normal, goal.price
        count = OneCount.of(found, price)
        mechanism, where = count.mechanism, count.text
        request, formers = count.requests(self.dataset.name, self.source)

        def draw() -> int:
            return mechanism.release(*self.source.count([predicate]))

        def told(bought: Bought) -> Release:
            return Release(
                answer=count.answer(bought.entry),
                epsilon=price,
                charged=bought.charged.epsilon or Fraction(0),
                remaining=bought.remains.remaining,
                remains=bought.remains,
                dataset=bought.dataset,
                where=where,
                mechanism=mechanism,
                key=bought.entry.key,
                unit=self.source.unit,
                confidence=goal.confidence,
                unreadable_as_missing=unreadable_as_missing(columns(predicate), self.source),
            )

        return self._bought(request, formers, draw, key, purpose, told)

    def _table(
        self, wish: Wish, confidence: float, key: str | None, purpose: str | None
    ) -> TableRelease:
        """The same as `_reply` for many counts."""
        fraction_of_one(confidence, "confidence")
        is_replacement = neighbours_of_size(self.dataset.size) is NeighbourRelation.REPLACEMENT
        asked = wish.asked(self.source.schema, self.source.unit, is_replacement=is_replacement)
        request, formers = asked.requests(self.dataset.name, self.source)
        draw = partial(asked.drawn, self.source)

        def told(bought: Bought) -> TableRelease:
            shown = asked.shown(bought.entry)
            return TableRelease(
                answers=shown.answers,
                plan=asked.plan,
                levels=shown.levels,
                labels=shown.labels,
                charged=bought.charged,
                remaining=bought.remains.remaining,
                remains=bought.remains,
                dataset=bought.dataset,
                key=bought.entry.key,
                where=asked.where,
                unit=self.source.unit,
                has_other=asked.has_other,
                is_additive=asked.plan.groups == 1 and asked.plan.threshold is None,
                is_cumulative=asked.is_cumulative,
                confidence=confidence,
                unreadable_as_missing=unreadable_as_missing(asked.read, self.source),
            )

        return self._bought(request, formers, draw, key, purpose, told)

    def _bought(  # noqa: PLR0913, PLR0917 - all that decides an answer and its charge
        self,
        request: Request,
        formers: Sequence[Request],
        draw: Draw,
        key: str | None,
        purpose: str | None,
        told: Callable[[Bought], Told],
    ) -> Told:
        """What is told of the answer to a request, and of a new one what is written with it."""
        enclose = self.enclose
        enclosed = None if enclose is None else lambda bought: enclose(told(bought))
        return told(self._purchase.bought(request, formers, draw, key, purpose, enclosed))
