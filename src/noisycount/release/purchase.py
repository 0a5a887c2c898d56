"""One answer, whatever it is of: paid for before it is drawn, stored before it is told."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from noisycount.display.texts import told_name
from noisycount.engines.interface import Source
from noisycount.errors import (
    LedgerError,
    NoisyCountError,
    PurposeError,
    SourceError,
    without_traceback,
)
from noisycount.frozen import frozen
from noisycount.ledger.budget import Budget, Loss
from noisycount.ledger.entries import Analyst, Entry, Request, TableAnswer, asks_for_table
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.replies import entry_of_request
from noisycount.ledger.transactions import Enclosure
from noisycount.release.answer import Remains
from noisycount.release.dataset import Dataset, LateDataset

__all__ = ["Bought", "Purchase", "remaining", "remains_of"]


_PAID = "the debit stays, and to ask the same again costs nothing more"


Draw = Callable[[], int | TableAnswer]


Enclose = Callable[["Bought"], Enclosure]


@frozen
class Bought:
    """An answer that is stored.

    Attributes:
        entry: The debit, with its answer.
        charged: What this call charged for it.
        remains: What is left of the two budgets.
    """

    entry: Entry
    charged: Loss
    remains: Remains

    @property
    def dataset(self) -> str:
        """What the data set is called to whoever reads the answer."""
        return told_name(self.entry.request.dataset)


@frozen
class Purchase:
    """The way of every answer: reserve, count and add noise, store, reply from what is stored.

    Attributes:
        source: The records.
        ledger: Who keeps the budget and the answers.
        dataset: The name and the budget of the records.
        analyst: Who asks.
    """

    source: Source
    ledger: Ledger
    dataset: Dataset | LateDataset
    analyst: Analyst

    def bought(  # noqa: PLR0913, PLR0917 - all that decides an answer and its charge
        self,
        request: Request,
        formers: Sequence[Request],
        draw: Draw,
        key: str | None,
        purpose: str | None = None,
        enclose: Enclose | None = None,
    ) -> Bought:
        """The one answer to a request, drawn now or found in the ledger.

        Args:
            request: What is asked, and at what price.
            formers: The same as an older ledger may hold it.
            draw: Counts and adds noise.
            key: What the asker calls the question; None: a random name, not the digest, which
                depends on the version: that tells the content of the records.
            purpose: What the answer is for; it makes no other question of it.
            enclose: Gives what is written with an answer that is stored now; None: nothing is.

        Raises:
            NoisyCountError: As `Desk.release` tells.
        """
        self.source.require_unchanged()
        if purpose is None and self.dataset.needs_purpose:
            self._require_asked(request, formers)
        if not self.ledger.has_answer(request, formers):
            self.source.prepare()
        key = secrets.token_hex(16) if key is None else key
        entry, charged = self.ledger.reserve(
            key, request, self.dataset.budget, self.analyst, formers, purpose=purpose
        )
        if entry.answer is None:
            return self._stored(entry, charged, draw, enclose)
        return Bought(entry, charged, self._left(entry, charged))

    def _require_asked(self, request: Request, formers: Sequence[Request]) -> None:
        """The refusal of a spend without a purpose; who has the answer already asks for it again.

        Whether somebody else has it makes no difference: nobody could else find out for nothing.
        """
        entry = entry_of_request(self.ledger, request, formers)
        if entry is None or entry.answer is None or not self.analyst.may_see(entry):
            raise PurposeError(
                "purpose is missing: say what the answer is for, such as 'quarterly report', as the"
                f" owner of data set {self.dataset.told!r} wants to know; nothing was charged"
            )

    def _stored(self, entry: Entry, charged: Loss, draw: Draw, enclose: Enclose | None) -> Bought:
        """The entry with its stored answer, and what is left then.

        An answer that could not be stored goes no further: whoever asked could else collect one
        from each failure, all of them for one price.
        """
        try:
            return self._answered(entry, charged, self._drawn(draw), enclose)
        except SourceError as error:
            refusal: NoisyCountError = without_traceback(error)
        except LedgerError as error:
            refusal = LedgerError(f"{error}; {_PAID}")
        except Exception:  # noqa: BLE001 - its text, whatever it is, could hold the answer
            refusal = LedgerError(
                "the answer could not be stored, and why is withheld, as it may hold the answer;"
                f" {_PAID}"
            )
        except BaseException as interruption:
            without_traceback(interruption)
            raise
        raise refusal

    def _answered(
        self, entry: Entry, charged: Loss, answer: int | TableAnswer, enclose: Enclose | None
    ) -> Bought:
        """The same where nothing fails; its frame holds the answer, and no refusal may hold it."""
        answer = _as_asked(entry, answer)
        bought = Bought(replace(entry, answer=answer), charged, self._left(entry, charged))
        enclosure = None if enclose is None else enclose(bought)
        return replace(bought, entry=self.ledger.store(entry, answer, enclosure))

    def _drawn(self, draw: Draw) -> int | TableAnswer:
        """The noisy answer; what goes wrong could tell the true one, so it ends in `_unless`."""
        answer = _unless_it_fails(draw)
        if answer is None:
            raise SourceError(
                f"data set {self.dataset.told!r} could not be counted, and why is withheld, as it"
                " may quote a record; the debit stays: check that the records can be read, and in"
                " time, then ask again, which costs nothing more unless they have changed"
            )
        return answer

    def _left(self, entry: Entry, charged: Loss) -> Remains:
        """What is left after a debit that was just made, whose totals say so; else what is now."""
        if not charged:
            return _remains(self.ledger, self.dataset, self.analyst)
        return remains_of(self.dataset.budget, entry.spent, self.analyst, entry.analyst_spent)


def remaining(ledger: Ledger, dataset: Dataset | LateDataset, analyst: Analyst) -> Fraction:
    """The largest ε at which one more question may be asked; both budgets must pay it.

    Raises:
        LedgerError: The ledger cannot be read.
    """
    return _remains(ledger, dataset, analyst).remaining


def _remains(ledger: Ledger, dataset: Dataset | LateDataset, analyst: Analyst) -> Remains:
    """What is left of the two budgets now."""
    own = Loss() if analyst.budget is None else ledger.paid_by(analyst.name)
    return remains_of(dataset.budget, ledger.paid(dataset.name), analyst, own)


def remains_of(budget: Budget, spent: Loss, analyst: Analyst, own: Loss) -> Remains:
    """What two budgets leave, where the analyst has one.

    Args:
        budget: That of the data set.
        spent: What its answers have cost.
        analyst: Who asks.
        own: What the analyst's questions have cost.
    """
    quota = analyst.budget
    return Remains(budget, budget.left(spent), quota, None if quota is None else quota.left(own))


def _as_asked(entry: Entry, answer: int | TableAnswer) -> int | TableAnswer:
    """An answer in the form of the debit: one question may have been asked alone, or as a list."""
    if isinstance(answer, int):
        return TableAnswer.of([[answer]]) if asks_for_table(entry) else answer
    is_one = [len(level) for level in answer.levels] == [1]
    return int(answer.levels[0][0]) if is_one and not asks_for_table(entry) else answer


def _unless_it_fails(draw: Draw) -> int | TableAnswer | None:
    """The noisy answer, or None: no error, of whatever class, may leave with what it knows."""
    try:
        return draw()
    except Exception:  # noqa: BLE001 - its text could hold a count
        return None
    except BaseException as interruption:
        without_traceback(interruption)
        raise
