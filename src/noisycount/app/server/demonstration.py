"""A service for anyone to try: the survey, a throw-away ledger and budget, and a key."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from noisycount.app.access.keyring import Keyring
from noisycount.app.access.visitor import Role
from noisycount.app.config.config import Config, DatasetConfig
from noisycount.app.config.ledger_url import sqlite_url
from noisycount.app.config.service import ServiceConfig
from noisycount.data import survey_path

__all__ = ["Demonstration", "demonstration"]

_SIZE = 5912
_SLOT = 1.0  # seconds: the survey is counted in a hundredth of that
_LIFETIME = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Demonstration:
    """What is served, and how to get in.

    Attributes:
        configuration: One data set, whose ledger is thrown away in the end.
        key: An owner's.
    """

    configuration: Config
    key: str


@contextmanager
def demonstration() -> Iterator[Demonstration]:
    """The demonstration, whose folder is removed in the end."""
    with TemporaryDirectory(prefix="noisycount-") as folder:
        survey = DatasetConfig("survey", survey_path(), unit="person", size=_SIZE)
        url = sqlite_url(Path(folder).resolve() / "ledger.db")
        configuration = Config(None, url, {"survey": survey}, service=ServiceConfig(slot=_SLOT))
        key, _ = Keyring.of(configuration).issue("demo", Role.OWNER, None, _LIFETIME)
        yield Demonstration(configuration, key.text)
