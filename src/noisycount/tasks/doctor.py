"""The test of the engine that a data set is on; in words and as JSON."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from noisycount.catalog.certificates import Certificates
from noisycount.config.config import Config
from noisycount.display.numbers import signed
from noisycount.display.output import Facts, seen_from_here
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


def diagnosed(source: str, configuration: Config, progress: Callable[[int, int], None]) -> Diagnosis:
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


DIFFERENCE_HEADER = ("made-up records", "question", "should be", "is")


def verdict(diagnosis: Diagnosis) -> str:
    """What follows from it."""
    identity = diagnosis.examination.identity
    if diagnosis.certificate is None:
        return f"{identity} gave wrong answers: it gets no certificate, and is not counted"
    return f"certificate: {identity} gave every answer as it is by definition"


def diagnosis_facts(diagnosis: Diagnosis) -> Facts:
    """What was tested, and how."""
    examination, identity = diagnosis.examination, diagnosis.examination.identity
    facts = [
        ("server", diagnosis.place or "this machine"),
        ("engine", identity.engine),
        ("version", identity.version),
        ("collation", identity.collation),
        ("suite", examination.suite),
        ("answers compared", signed(examination.answers)),
        ("differences", signed(len(examination.differences))),
        ("not held, so not asked", "; ".join(examination.unheld) or "nothing"),
    ]
    if diagnosis.certificate is not None:
        facts.insert(4, ("date (UTC)", diagnosis.certificate.date))
        where = "nowhere, as there is no folder for it"
        kept = where if diagnosis.file is None else seen_from_here(diagnosis.file)
        facts.append(("kept in", kept))
    return facts


def difference_rows(diagnosis: Diagnosis) -> list[tuple[str, ...]]:
    """One line a difference, with cells as `DIFFERENCE_HEADER` names them."""
    return [
        (each.records, each.question, _number(each.expected), _number(each.found))
        for each in diagnosis.examination.differences
    ]


def _number(count: int | None) -> str:
    return "nothing" if count is None else signed(count)


def diagnosis_object(diagnosis: Diagnosis) -> dict[str, Any]:
    """All of it; of what it took, whole seconds."""
    examination, certificate = diagnosis.examination, diagnosis.certificate
    return {
        "certified": certificate is not None,
        "server": diagnosis.place,
        "engine": examination.identity.engine,
        "version": examination.identity.version,
        "collation": examination.identity.collation,
        "date": None if certificate is None else certificate.date,
        "suite": examination.suite,
        "answers": examination.answers,
        "differences": [
            {"records": each.records, "question": each.question, "expected": each.expected, "found": each.found}
            for each in examination.differences
        ],
        "unheld": list(examination.unheld),
        "seconds": round(examination.seconds),
        "file": None if diagnosis.file is None else str(diagnosis.file),
    }
