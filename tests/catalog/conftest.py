from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from noisycount.catalog.catalog import Catalog, DatasetSettings
from noisycount.ledger.budget import budget_of
from noisycount.ledger.ledger import Ledger
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from noisycount.release.records import Records

Opened = Callable[..., Records]
Asked = Callable[..., Desk]
EXACTLY = "40"  # an ε at which the noise is 0 in all but one answer of 1e17
SURVEY = "person,age,town\n1,31,Köln\n1,32,Köln\n2,70,Ulm\n3,,Ulm\n"


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """A file of four rows of three persons."""
    path = tmp_path / "survey.csv"
    path.write_text(SURVEY, encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of the copies."""
    return tmp_path / "ledger.db.data"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """A ledger without rows."""
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        yield ledger


@pytest.fixture
def opened(ledger: Ledger, folder: Path) -> Iterator[Opened]:
    """Open records under what the ledger has written down by now; all are closed in the end."""
    with ExitStack() as stack:

        def records(place: Path, name: str = "survey", **said: object) -> Records:
            stated = DatasetSettings(name, **said)  # type: ignore[arg-type]  # as tests say it
            return stack.enter_context(Records.open(place, stated, Catalog.from_ledger(ledger, folder)))

        yield records


@pytest.fixture
def asked(opened: Opened, ledger: Ledger) -> Asked:
    """Open the desk of records."""

    def desk(place: Path, name: str = "survey", **said: object) -> Desk:
        records = opened(place, name, **said)
        return records.desk(ledger, Dataset(records.name, budget_of(1000)))

    return desk
