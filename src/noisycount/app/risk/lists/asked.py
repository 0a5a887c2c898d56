"""The answers that a ledger holds about one data set."""

from collections.abc import Sequence
from fractions import Fraction

from noisycount.app.config.config import Config
from noisycount.app.ledger.access import debits
from noisycount.app.ledger.asked_words import asked_words
from noisycount.app.report.priced import Priced
from noisycount.app.risk.lists.answers_so_far import AnswersSoFar, AskedTable
from noisycount.app.risk.lists.paid import Paid
from noisycount.errors import NoisyCountError
from noisycount.release.budget.loss import Loss
from noisycount.release.ledger.asked import asks_for_table
from noisycount.release.ledger.entries import Entry
from noisycount.shown.told import told_name

__all__ = ["answers_so_far"]


def answers_so_far(name: str, configuration: Config) -> AnswersSoFar:
    """The list of a data set.

    Raises:
        NoisyCountError: There is no such data set, or nothing was asked of it yet.
    """
    dataset = configuration.dataset(name)
    entries = [entry for entry in debits(configuration) if entry.request.dataset == dataset.account]
    if not entries:
        raise NoisyCountError(
            f"--ledger {name!r}: nothing was asked of it yet, and nothing is shown: ask with "
            "`noisycount count`"
        )
    counts = [entry for entry in entries if _is_count(entry)]
    questions = tuple(dict.fromkeys(asked_words(entry) for entry in counts))
    return AnswersSoFar(
        told_name(dataset.name),
        dataset.size,
        questions,
        tuple(questions.index(asked_words(entry)) for entry in counts),
        _prices(counts),
        tuple(
            AskedTable(asked_words(entry), entry.request.price)
            for entry in entries
            if not _is_count(entry)
        ),
        Paid(
            entries[-1].spent,
            sum((Priced.of(entry).replaced for entry in entries), Loss()),
            dataset.budget.rho_delta,
            "person" if dataset.unit else "row",
        ),
    )


def _is_count(entry: Entry) -> bool:
    """Whether it is one count with noise of a price in ε."""
    return entry.request.epsilon is not None and not asks_for_table(entry)


def _prices(entries: Sequence[Entry]) -> tuple[Fraction, ...]:
    """The ε of each count."""
    return tuple(entry.request.epsilon for entry in entries if entry.request.epsilon is not None)
