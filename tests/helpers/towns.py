"""Records of towns, and desks of them."""

from collections.abc import Callable

from noisycount.engines.memory import MemorySource
from noisycount.ledger.entries import Analyst
from noisycount.ledger.ledger import Ledger
from noisycount.query.schema import Kind
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk

RECORDS = [
    {"town": town, "age": place % 100} for place, town in enumerate([*["Bern"] * 300, *["Chur"] * 200, *["Genf"] * 2])
]
SCHEMA = {"town": Kind.TEXT, "age": Kind.INTEGER}
DeskOf = Callable[..., Desk]


def desks_of(ledger: Ledger, survey: Dataset) -> DeskOf:
    """Return a function that opens desks of the records, for any analyst."""

    def made(dataset: Dataset = survey, analyst: Analyst = Analyst()) -> Desk:  # noqa: B008 - frozen
        return Desk(MemorySource(RECORDS, SCHEMA), ledger, dataset, analyst=analyst)

    return made
