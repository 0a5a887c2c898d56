"""From a question to a published answer: reserve, count, add noise, store, reply."""

import json
import secrets
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import cast

from noisycount.errors import LedgerError, NoisyCountError, SourceError
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.release.bare_error import bare
from noisycount.release.budget.exact import Exactly, exact_text
from noisycount.release.dataset import Dataset, LateDataset
from noisycount.release.goal import Goal
from noisycount.release.ledger.entries import Analyst, Entry, Request
from noisycount.release.ledger.ledger import Ledger
from noisycount.release.question.normal_form import normal_form
from noisycount.release.question.parser import parse
from noisycount.release.question.schema import Kind
from noisycount.release.question.text import canonical_text
from noisycount.release.question.tree import Predicate, columns
from noisycount.release.release import Release
from noisycount.release.slot import Slot
from noisycount.release.sources.check import Check
from noisycount.release.sources.closing import Closing
from noisycount.release.sources.interface import Source
from noisycount.shown.value import Shown

__all__ = ["Dataset", "Desk", "Release", "unreadable_as_missing"]

_PAID = "the debit stays, and to ask the same again costs nothing more"


@dataclass(frozen=True, slots=True, repr=False)
class Desk(Shown, Closing):
    """Where questions about one data set are asked; the only caller of `Source.count`.

    As a context manager it closes the records and the ledger.

    Args:
        source: The records.
        ledger: Who keeps the budget and the answers.
        dataset: The name and the budget of the records; the name may be found at its first use.
        slot: When replies leave, refusals too; None: as soon as they are there, after a time that
            can tell something about the records.
        analyst: Who asks, and what their questions may cost together.

    Raises:
        ValueError: The data set, the slot or the analyst is of another class.

    Example:
        >>> import tempfile
        >>> from noisycount.release.budget.budgets import budget_of
        >>> from noisycount.release.question.schema import Kind
        >>> from noisycount.release.sources.memory import MemorySource
        >>> source = MemorySource([{"age": 31}, {"age": 29}], {"age": Kind.INTEGER})
        >>> dataset = Dataset("survey", budget_of(2))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        ...         desk = Desk(source, ledger, dataset)
        ...         release = desk.release("age >= 30", "1/2")
        ...         again = desk.release("AGE >= 30", 0.5)
        >>> again.answer == release.answer, release.charged, again.charged, again.remaining
        (True, Fraction(1, 2), Fraction(0, 1), Fraction(3, 2))
    """

    source: Source
    ledger: Ledger
    dataset: Dataset | LateDataset
    slot: Slot | None = None
    analyst: Analyst = Analyst()  # noqa: RUF009 - frozen

    def __post_init__(self) -> None:
        kinds = {"dataset": Dataset | LateDataset, "analyst": Analyst, "slot": Slot | None}
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
        left = self.dataset.budget.left(self.ledger.paid(self.dataset.name))
        if self.analyst.budget is None:
            return left
        own = self.analyst.budget.left(self.ledger.paid_by(self.analyst.name))
        return min(left, own)

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

        Raises:
            ValueError: The price, the goal or `key` is out of range; nothing was charged.
            PredicateError: The question is outside the language; nothing was charged.
            BudgetError: The price exceeds what is left; nothing was charged.
            LedgerError: The key belongs to another question, or the ledger cannot be used, and
                nothing was charged; or the answer could not be stored, and the debit stays.
            SourceError: The records are closed or have changed, and nothing was charged; or they
                could not be counted, and the debit stays.
            OverrunError: There was no answer yet when replies left the slot; a debit that was made
                stays.
        """
        goal = Goal(epsilon, within, error, guess, confidence)
        reply = partial(self._reply, where, goal, key)
        return reply() if self.slot is None else self.slot.reply(reply)

    def _facts(self) -> dict[str, object]:
        """What may be asked, and what is left."""
        return {**self._key_facts(), "remaining": self.remaining, "analyst": self.analyst.name}

    def _key_facts(self) -> dict[str, object]:
        """What may be asked, without a look into the ledger."""
        return {
            "dataset": self.dataset.name,
            "unit": self.source.unit,
            **({} if self.dataset.size is None else {"size": self.dataset.size}),
            "budget": self.dataset.budget.written,
            "columns": list(self.source.schema),
        }

    def _reply(self, where: str, goal: Goal, key: str | None) -> Release:
        """Reserve, count, add noise, store; give what is told of it."""
        asked = parse(where, self.source.schema)
        predicate = normal_form(asked)
        price = goal.price
        mechanism = DiscreteLaplace.for_epsilon(price)
        # Older ledgers hold questions in the words of the asker, and files by their size and time.
        request, *formers = [
            self._request(wording, mechanism, price, version)
            for version in (self.source.version, *self.source.former_versions)
            for wording in (predicate, asked)
        ]
        self.source.require_unchanged()
        if not self.ledger.has_answer(request, formers):
            self.source.prepare()
        # Not the digest, which depends on the version: that tells the content of the records.
        key = secrets.token_hex(16) if key is None else key
        entry, charged = self.ledger.reserve(
            key, request, self.dataset.budget, self.analyst, formers
        )
        if entry.answer is None:
            entry, remaining = self._answered(entry, predicate, mechanism)
        else:
            remaining = self.remaining
        return Release(
            answer=cast("int", entry.answer),  # stored by now, here or before
            epsilon=price,
            charged=price if charged else Fraction(0),
            remaining=remaining,
            dataset=entry.request.dataset,
            where=canonical_text(predicate),
            mechanism=mechanism,
            key=entry.key,
            unit=self.source.unit,
            confidence=goal.confidence,
            unreadable_as_missing=unreadable_as_missing(predicate, self.source),
        )

    def _request(
        self, predicate: Predicate, mechanism: DiscreteLaplace, epsilon: Fraction, version: str
    ) -> Request:
        """The request that asks for a count with this noise."""
        question = {
            "where": canonical_text(predicate),
            "unit": self.source.unit,
            "version": version,
            "mechanism": mechanism.name,
            "scale": exact_text(mechanism.scale),
        }
        return Request(self.dataset.name, json.dumps(question, sort_keys=True), epsilon)

    def _answered(
        self, entry: Entry, predicate: Predicate, mechanism: DiscreteLaplace
    ) -> tuple[Entry, Fraction]:
        """The entry with its stored answer, and what is left then.

        An answer that could not be stored goes no further: whoever asked could else collect one
        from each failure, all of them for one price.
        """
        try:
            drawn = partial(self._noisy_count, predicate, mechanism)
            return self.ledger.store(entry, drawn()), self.remaining
        except SourceError as error:
            refusal: NoisyCountError = bare(error)
        except LedgerError as error:
            refusal = LedgerError(f"{error}; {_PAID}")
        except Exception:  # noqa: BLE001 - its text, whatever it is, could hold the answer
            refusal = LedgerError(
                "the answer could not be stored, and why is withheld, as it may hold the answer;"
                f" {_PAID}"
            )
        except BaseException as interruption:
            bare(interruption)
            raise
        raise refusal

    def _noisy_count(self, predicate: Predicate, mechanism: DiscreteLaplace) -> int:
        """The true count with its noise."""
        answer = _unless_it_fails(self.source, predicate, mechanism)
        if answer is None:
            raise SourceError(
                f"data set {self.dataset.name!r} could not be counted, and why is withheld, as it"
                " may quote a record; the debit stays: check that the records can be read, then"
                " ask again, which costs nothing more unless they have changed"
            )
        return answer


def unreadable_as_missing(predicate: Predicate, source: Source) -> tuple[str, ...]:
    """The columns of a question whose cells, where they could not be read, count as missing."""
    names = {column.name for column in columns(predicate)} & {*source.accepted}
    return tuple(name for name in source.schema if name in names)


def _unless_it_fails(
    source: Source, predicate: Predicate, mechanism: DiscreteLaplace
) -> int | None:
    """The noisy count, or None; what went wrong could tell the true count, so it ends here."""
    try:
        return mechanism.release(*source.count([predicate]))
    except Exception:  # noqa: BLE001 - no error, of whatever class, may leave with what it knows
        return None
    except BaseException as interruption:
        bare(interruption)
        raise
