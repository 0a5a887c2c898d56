"""Tests of a data set's environment: the correctness of its engine, and the reply tick that a service needs.

`Diagnosis` tests the engine on made-up records. `TickTimes` measures how long queries take, and derives the tick. Both
are shown as facts and as JSON.
"""

import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Self

from noisycount.catalog.folder import EngineCertificates
from noisycount.catalog.table_group import TableGroup
from noisycount.config.config import Config, DatasetConfig
from noisycount.config.places import sqlite_url
from noisycount.display.numbers import signed
from noisycount.display.output import Facts, Table, shortest_path_text
from noisycount.display.values import members
from noisycount.engines.conformance.certificate import Certificate
from noisycount.engines.conformance.suite import Examination
from noisycount.engines.places import ServedTable, ServerPlace, is_server
from noisycount.errors import ConfigError, SourceError
from noisycount.frozen import frozen
from noisycount.ledger.budget import PureBudget
from noisycount.query.query import Query
from noisycount.release.records import examine_engine
from noisycount.tasks.answer import PaidQuery, answer_in_session
from noisycount.tasks.opening import session_of

_NO_TABLE = "no-table"  # table name for the address of a server without one; the test reads no table


@frozen
class Diagnosis:
    """The result of testing an engine, with the certificate that it earned."""

    place: str | None  # address of the server, without a password; None: the engine reads files
    examination: Examination
    certificate: Certificate | None  # None: the engine did not pass
    file: Path | None  # file of the stored certificate; None: not stored

    @classmethod
    def make(cls, source: str, configuration: Config, progress: Callable[[int, int], None]) -> Self:
        """Test the engine of a data set or a server. Store its certificate if it passes, else withdraw the stored one.

        `progress` receives the number of asked questions and that of all questions.
        """
        place = _server_place(source, configuration)
        certificates = EngineCertificates(configuration.data_folder)
        configuration.make_ledger_folder()
        certificates.require_writable()
        examination = examine_engine(place, progress)
        certificate = examination.certificate(datetime.now(UTC).date())
        if certificate is None:
            certificates.withdraw(examination.identity)
        else:
            certificates.keep(certificate)
        server = None if place is None else place.shown.partition("#")[0]
        return cls(server, examination, certificate, certificates.file if certificate else None)

    @property
    def verdict(self) -> str:
        """Result of the test, in a sentence."""
        identity = self.examination.identity
        if self.certificate is None:
            return f"{identity} gave wrong answers: it gets no certificate, and is not counted"
        return f"certificate: {identity} gave every answer as it is by definition"

    @property
    def facts(self) -> Facts:
        """Tested engine, number of compared answers and of differences, and the place of the certificate."""
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
            facts.append(("kept in", where if self.file is None else shortest_path_text(self.file)))
        return facts

    @property
    def differences(self) -> Table:
        """Table of the wrong answers, one row for each."""
        rows = [
            (wrong.records, wrong.question, _count_text(wrong.expected), _count_text(wrong.found))
            for wrong in self.examination.differences
        ]
        return ("made-up records", "question", "should be", "is"), rows

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON; the duration is in whole seconds."""
        examination, certificate = self.examination, self.certificate
        return {
            "certified": certificate is not None,
            "server": self.place,
            **members(examination.identity, "engine", "version", "collation"),
            "date": None if certificate is None else certificate.date,
            **members(examination, "suite", "answers"),
            "differences": [
                members(wrong_answer, "records", "question", "expected", "found")
                for wrong_answer in examination.differences
            ],
            **members(examination, "unheld"),
            "seconds": round(examination.seconds),
            **members(self, "file"),
        }


def _server_place(source: str, configuration: Config) -> ServerPlace | None:
    """Return the place of the server to test; None if the data set is in files.

    If `source` is the address of a server, the place names a table that need not exist, as the test does not read it.
    """
    if source not in configuration.datasets and is_server(source):
        try:
            return ServerPlace.read(f"{source.partition('#')[0]}#{_NO_TABLE}")
        except SourceError as error:
            raise ConfigError(f"SOURCE: {error}") from None
    records = configuration.dataset(source).source
    table = records.server if isinstance(records, TableGroup) else records
    place = table.place if isinstance(table, ServedTable) else None
    return place if isinstance(place, ServerPlace) else None


def _count_text(count: int | None) -> str:
    return "nothing" if count is None else signed(count)


SAFETY = 4  # The tick is at least this multiple of the duration of the slowest query.
GRID = (0.1, 0.25, 0.5, *(digit * ten for ten in (1.0, 10.0, 100.0) for digit in (1, 2, 5)), 1000.0)
_ROWS = 2  # rows of each person
_PRICE = Fraction(1, 10)
_WHERES = (*(f"age >= {bound}" for bound in range(10)), *(f"note like '%_{end}%z'" for end in "abcdefghij"))
_TABLE = Query(by="sex, town", keys={"sex": ["f", "m"], "town": list("abcdefgh")}, epsilon=_PRICE)
QUESTIONS = (*(Query(wheres=[where], epsilon=_PRICE) for where in _WHERES), _TABLE)


@frozen
class TickTimes:
    """The durations of test queries on made-up records, and the tick that they need."""

    size: int  # number of made-up persons
    counts: tuple[float, ...]  # durations of the single counts in seconds, in ascending order
    table: float  # duration of the table in seconds

    @classmethod
    def measure(cls, dataset: DatasetConfig, size: int | None, progress: Callable[[float], None]) -> Self:
        """Measure the durations on made-up persons, as many as `size` or the public size of the data set.

        Reads no record of the data set. Raise ConfigError if records are on a server or an object store, or if there is
        no size.
        """
        if dataset.is_served:
            raise ConfigError(
                "--tick measures made-up files on this machine, and cannot measure a server or an object store: "
                "set [server] slot to several times the duration of the slowest query there"
            )
        size = size or dataset.size
        if size is None:
            raise ConfigError(
                "--tick needs the number of units, as no size is public: give --size N, at least that number"
            )
        with TemporaryDirectory() as folder:
            file = Path(folder) / "made-up.csv"
            write_made_up_persons(file, size)
            made_up = DatasetConfig("made-up", file, unit="person", budget=PureBudget(Fraction(100)))
            configuration = Config(None, sqlite_url(Path(folder) / "ledger.db"), {})
            with (
                session_of(made_up, configuration, makes=True) as session,
                session.with_ledger() as paying_session,
            ):
                for warming in (Query(epsilon=_PRICE), replace(_TABLE, by="sex", keys={"sex": ["f", "m"]})):
                    answer_in_session(
                        paying_session, PaidQuery(warming)
                    )  # loads and reads what a service loads and reads only once
                durations: list[float] = []
                for number, question in enumerate(QUESTIONS, 1):
                    start = time.perf_counter()
                    answer_in_session(paying_session, PaidQuery(question))
                    durations.append(time.perf_counter() - start)
                    progress(number / len(QUESTIONS))
        return cls(size, tuple(sorted(durations[:-1])), durations[-1])

    @property
    def slowest(self) -> float:
        """Duration of the slowest query, in seconds."""
        return max(self.table, *self.counts)

    @property
    def tick(self) -> float:
        """Shortest tick of the grid that is at least `SAFETY` times as long as the slowest query, in seconds.

        Raises ConfigError if no tick of the grid is long enough.
        """
        for tick in GRID:
            if tick >= SAFETY * self.slowest:
                return tick
        raise ConfigError(
            f"a query took {self.slowest:,.0f} s, for which no tick is long enough: measure with fewer units"
        )

    @property
    def facts(self) -> Facts:
        """Measured durations, the tick, and the conditions that were not measured."""
        middle = self.counts[len(self.counts) // 2]
        return [
            ("made-up records", f"{self.size:,} persons with {_ROWS} rows each; none of yours"),
            (f"{len(self.counts)} counts", f"{self.counts[0]:.3f} to {self.counts[-1]:.3f} s, median {middle:.3f} s"),
            ("a table of 16 cells", f"{self.table:.3f} s"),
            ("safety", f"{SAFETY} times the slowest, {SAFETY * self.slowest:.3f} s"),
            ("tick", f"{self.tick:g} s, the next of .1, .25, .5, 1, 2, 5, 10 … s"),
            ("not measured", "longer texts, more rows a person, patterns with many _, and a busier machine"),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the durations and the tick as plain data for JSON, in seconds."""
        counts, table = [round(duration, 4) for duration in self.counts], round(self.table, 4)
        return {"size": self.size, "counts": counts, "table": table, "safety": SAFETY, "tick": self.tick}

    def with_slot_in(self, text: str) -> str:
        """Return the text of a configuration with this tick as `slot` of [server]. All other lines stay as they are."""
        parts = re.split(r"(?m)^(\[server\][^\n]*\n?)", text, maxsplit=1)
        line = f"slot = {self.tick:g}"
        if len(parts) == 1:
            return f"{text.rstrip()}\n\n[server]\n{line}\n".lstrip("\n")
        before, head, after = parts
        body, *others = re.split(r"(?m)^(?=\[)", after, maxsplit=1)
        new, is_there = re.subn(r"(?m)^([ \t]*)slot[ \t]*=[ \t]*[^\s#]+", rf"\g<1>{line}", body, count=1)
        return "".join([before, head.rstrip("\n"), "\n", new if is_there else f"{line}\n{body}", *others])


def write_made_up_persons(file: Path, size: int) -> None:
    """Write a CSV file of made-up persons. The same size always gives the same file."""
    generator = Random(size)  # noqa: S311 - no secret
    with file.open("w", encoding="utf-8") as rows:
        rows.write("person,age,sex,town,note\n")
        for person in range(size):
            sex, town = generator.choice("fm"), generator.choice("abcdefgh")
            for _ in range(_ROWS):
                note = "abcdefghij"[person % 10 :] * 4
                rows.write(f"{person},{generator.randrange(100)},{sex},{town},{note}\n")
