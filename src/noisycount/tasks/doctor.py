"""The test of the engine that a data set is on; in words and as JSON."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from noisycount.catalog.folder import Certificates
from noisycount.config.config import Config
from noisycount.display.numbers import signed
from noisycount.display.output import Facts, Table, seen_from_here
from noisycount.engines.conformance.certificate import Certificate
from noisycount.engines.conformance.suite import Examination
from noisycount.engines.places import ServedTable, ServerPlace, is_server
from noisycount.errors import ConfigError, SourceError
from noisycount.frozen import frozen
from noisycount.release.records import examined_engine

_NO_TABLE = "no-table"  # of an address that names none, as none is touched


@frozen
class Diagnosis:
    """What an engine said, and what follows from it."""

    place: str | None  # where it is, without a password; None: it reads files
    examination: Examination  # what it said
    certificate: Certificate | None  # that it passed; None: it did not
    file: Path | None  # where the certificate is kept; None: nowhere

    @classmethod
    def of(cls, source: str, configuration: Config, progress: Callable[[int, int], None]) -> Self:
        """The test of an engine; a certificate is kept, and one that it had is withdrawn."""
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
        return cls(shown, examination, certificate, kept.file if certificate else None)

    @property
    def verdict(self) -> str:
        """What follows from it."""
        identity = self.examination.identity
        if self.certificate is None:
            return f"{identity} gave wrong answers: it gets no certificate, and is not counted"
        return f"certificate: {identity} gave every answer as it is by definition"

    @property
    def facts(self) -> Facts:
        """What was tested, and how."""
        examination, identity = self.examination, self.examination.identity
        facts = [
            ("server", self.place or "this machine"),
            ("engine", identity.engine),
            ("version", identity.version),
            ("collation", identity.collation),
            ("suite", examination.suite),
            ("answers compared", signed(examination.answers)),
            ("differences", signed(len(examination.differences))),
            ("not held, so not asked", "; ".join(examination.unheld) or "nothing"),
        ]
        if self.certificate is not None:
            facts.insert(4, ("date (UTC)", self.certificate.date))
            where = "nowhere, as there is no folder for it"
            facts.append(("kept in", where if self.file is None else seen_from_here(self.file)))
        return facts

    @property
    def differences(self) -> Table:
        """One line a difference."""
        found = self.examination.differences
        rows = [(each.records, each.question, _number(each.expected), _number(each.found)) for each in found]
        return ("made-up records", "question", "should be", "is"), rows

    def to_dict(self) -> dict[str, Any]:
        """All of it; of what it took, whole seconds."""
        examination, names = self.examination, ("records", "question", "expected", "found")
        return {
            "certified": self.certificate is not None,
            "server": self.place,
            "engine": examination.identity.engine,
            "version": examination.identity.version,
            "collation": examination.identity.collation,
            "date": None if self.certificate is None else self.certificate.date,
            "suite": examination.suite,
            "answers": examination.answers,
            "differences": [{name: getattr(each, name) for name in names} for each in examination.differences],
            "unheld": list(examination.unheld),
            "seconds": round(examination.seconds),
            "file": None if self.file is None else str(self.file),
        }


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


def _number(count: int | None) -> str:
    return "nothing" if count is None else signed(count)
