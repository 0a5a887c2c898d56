"""The test of the engine that a data set is on."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from noisycount.app.config.config import Config
from noisycount.errors import ConfigError, SourceError
from noisycount.release.certifying import examined_engine
from noisycount.release.register.certificates import Certificates
from noisycount.release.register.served_table import ServedTable
from noisycount.release.sources.conformance.certificate import Certificate
from noisycount.release.sources.conformance.examination import Examination
from noisycount.release.sources.servers import ServerPlace, is_server

__all__ = ["Diagnosis", "diagnosed"]

_NO_TABLE = "no-table"  # of an address that names none, as none is touched


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What an engine said, and what follows from it.

    Attributes:
        place: Where it is, without a password; None: it reads files.
        examination: What it said.
        certificate: That it passed; None: it did not.
        file: Where the certificate is kept; None: nowhere.
    """

    place: str | None
    examination: Examination
    certificate: Certificate | None
    file: Path | None


def diagnosed(
    source: str, configuration: Config, progress: Callable[[int, int], None]
) -> Diagnosis:
    """The test of an engine; a certificate is kept, and one that it had is withdrawn.

    Args:
        source: The address of a server, of a table of it, a data set, or a file.
        configuration: Where certificates are kept.
        progress: It is told how many questions of how many were asked.

    Raises:
        ConfigError: There is no such data set.
        SourceError: The server cannot be reached, makes no table, or the certificate cannot be
            kept.
    """
    place = _place(source, configuration)
    kept = Certificates(configuration.data_folder)
    configuration.make_ledger_folder()
    kept.require_writable()
    examination = examined_engine(place, progress)
    certificate = examination.certificate(datetime.now(UTC).date())
    if certificate is None:
        kept.withdraw(examination.identity)
    else:
        kept.keep(certificate)
    shown = None if place is None else place.shown.partition("#")[0]
    return Diagnosis(shown, examination, certificate, kept.file if certificate else None)


def _place(source: str, configuration: Config) -> ServerPlace | None:
    """A table of the server that is meant, whether or not there is one; None for files."""
    if source not in configuration.datasets and is_server(source):
        try:
            return ServerPlace.read(f"{source.partition('#')[0]}#{_NO_TABLE}")
        except SourceError as error:
            raise ConfigError(f"SOURCE: {error}") from None
    table = configuration.dataset(source).source
    place = table.place if isinstance(table, ServedTable) else None
    return place if isinstance(place, ServerPlace) else None
