"""The service as a process: it listens, and stops when all that was begun is done.

A service for anyone to try: the survey, a throw-away ledger and budget, and a key.
"""

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from types import FrameType
from typing import Any

import uvicorn

from noisycount.access.keyring import Keyring
from noisycount.access.keys import Role
from noisycount.config.config import Config, DatasetConfig
from noisycount.config.places import sqlite_url
from noisycount.config.service import ServiceConfig
from noisycount.data import survey_path
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.service.application import Rest, application
from noisycount.service.connections import Connection, accepted_at_once, end_overdue
from noisycount.service.journal import Lines, faults_written, written
from noisycount.service.refusals import StoppingError
from noisycount.service.state import ServiceState

__all__ = ["demonstration", "listening", "serve"]


_WAITING = 2048  # connections that nobody took yet


_LINES = 600  # of the log a minute, beside as many as an analyst may send requests


_TICKS_OF_A_SECOND = 10  # of uvicorn's


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Server(uvicorn.Server):
    """A server that takes no more spends from the moment it is told to stop.

    What the first questions need is loaded and opened once it listens: that takes as long as all
    before, and a login needs none of it.
    """

    def __init__(self, config: uvicorn.Config, state: ServiceState, rest: Rest) -> None:
        super().__init__(config)
        self.state, self.rest = state, rest
        self.told: list[int] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """From here on it answers, and gets ready behind that; the end waits for what was begun."""
        await super().startup(sockets)
        for place in sockets or ():
            place.listen(_WAITING)  # more than are accepted at once
        Thread(target=self._get_ready, daemon=True).start()

    async def on_tick(self, counter: int) -> bool:
        """Once a second, the end of connections whose clients took too long."""
        if counter % _TICKS_OF_A_SECOND == 0:
            connections: set[Any] = self.server_state.connections
            end_overdue(connections, asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    def _get_ready(self) -> None:
        with suppress(StoppingError):  # once it is told to stop, nothing more is begun
            for work in (self.rest.load, partial(_open_all, self.state)):
                self.state.queue.admitted(work)()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The end, as a signal asks for it."""
        self.told.append(sig)
        self.state.queue.refuse()
        super().handle_exit(sig, frame)

    @contextmanager
    def heeding(self) -> Iterator[None]:
        """Signals end the service from here on, also before its loop runs.

        Uvicorn listens to signals once its loop runs; one that came while the loop was made
        would break it in the middle.

        Raises:
            KeyboardInterrupt: At the end, where Control-C was the first signal.
        """
        before = {sig: signal.signal(sig, self.handle_exit) for sig in _SIGNALS}
        try:
            yield
        finally:
            for sig, handler in before.items():
                signal.signal(sig, handler)
        if self.told[:1] == [signal.SIGINT]:
            raise KeyboardInterrupt

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing that `heeding` has not caught."""
        yield


def listening(host: str, port: int) -> socket.socket:
    """A socket that takes connections from now on.

    Args:
        host: A name or an address.
        port: 0: any that is free.

    Raises:
        NoisyCountError: The address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_WAITING)
    except (OSError, OverflowError) as error:
        why = error.strerror if isinstance(error, OSError) else "there is no such port"
        raise NoisyCountError(
            f"--host {host!r} --port {port} cannot be used ({why}): name another"
        ) from None


def serve(
    configuration: Config, place: socket.socket, ready: Callable[[], None], *, slots: bool
) -> None:
    """The service until it is told to stop; what was begun by then is done.

    Args:
        configuration: What the owner wrote.
        place: Where it listens.
        ready: Called when it can be asked.
        slots: Whether replies about data sets leave at ticks alone.

    Raises:
        NoisyCountError: The ledger cannot be opened, or keys have no place.
    """
    state = ServiceState.open(configuration, slots=slots)
    try:
        service = configuration.service
        lines = Lines(_LINES + service.rate)
        made = application(state, lines)
        config = uvicorn.Config(
            made,
            log_config=None,
            loop="asyncio",
            http=Connection,
            ws="none",
            backlog=accepted_at_once(),
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=round(max(service.deadline, 2 * service.slot)) + 1,
        )
        server = _Server(config, state, made.state.rest)
        with server.heeding(), faults_written(lines):
            ready()
            lines({"event": "started"})
            server.run(sockets=[place])
    finally:
        is_done = state.close()
        written({"event": "stopped" if is_done else "stopped while a query went on"})
        if not is_done:
            os._exit(1)  # an engine that is still at work cannot be taken down in order


def _open_all(state: ServiceState) -> None:
    """The opening of all records ahead of the first questions; which cannot be, the log says."""
    for dataset in state.configuration.datasets.values():
        try:
            state.sources.records(dataset).prepare()
        except NoisyCountError as error:
            written({"event": "not open", "dataset": dataset.name, "why": str(error)})


_SIZE = 5912


_SLOT = 1.0  # seconds: the survey is counted in a hundredth of that


_LIFETIME = timedelta(days=1)


@frozen
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
