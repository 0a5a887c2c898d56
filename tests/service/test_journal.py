"""Log lines of a service that belong to no request."""

import asyncio
import errno
import json
import logging
import sys
import threading
import warnings
from datetime import UTC, datetime
from typing import Any

from noisycount.service.middleware import LimitedLog, json_line
from noisycount.service.server import log_faults

CANARY = "a canary of 815 persons"


class Bomb:
    """Object whose finaliser raises an error."""

    def __del__(self) -> None:
        raise ValueError(CANARY)


def fail() -> None:
    """Fail."""
    raise KeyError(CANARY)


async def fail_in_a_loop() -> None:
    """Let a callback of the loop fail."""
    asyncio.get_running_loop().call_soon(fail)
    await asyncio.sleep(0.01)


def test_whatever_is_said_is_a_line_of_json_without_what_it_is_about() -> None:
    """By libraries, loop, threads, warnings and interpreter; uvicorn alone keeps its text."""
    told = list[dict[str, Any]]()
    with log_faults(told.append):
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            shown = warnings.showwarning
        assert shown is warnings.showwarning
        warnings.showwarning(RuntimeWarning(CANARY), RuntimeWarning, "/a/file.py", 7)
        logging.getLogger("a library").error(CANARY)
        logging.getLogger("uvicorn.error").warning("Invalid %s", CANARY)
        logging.getLogger("asyncio").error(CANARY, exc_info=OSError(errno.EMFILE, CANARY))
        asyncio.run(fail_in_a_loop())
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
        Bomb()
    for line in told:
        written = json_line(line, datetime(2026, 1, 1, tzinfo=UTC))
        assert json.loads(written)["event"] == "fault"
        assert CANARY not in written
        assert "\n" not in written
    kinds = [(line["from"], line.get("error")) for line in told]
    assert kinds == [
        ("warnings", "RuntimeWarning"),
        ("a library", None),
        ("uvicorn.error", None),
        ("asyncio", "OSError"),
        ("asyncio", "KeyError"),
        ("threading", "KeyError"),
        ("interpreter", "ValueError"),
    ]
    assert (told[0]["at"], told[2]["text"]) == ("file.py:7", "Invalid %s")
    assert told[3]["why"] == "Too many open files"
    assert all(line["at"].startswith("test_journal.py:") for line in told[1:])


def test_what_was_there_before_is_there_afterwards() -> None:
    """Also where the service failed."""
    before = warnings.showwarning, threading.excepthook, sys.unraisablehook
    handlers = list(logging.getLogger().handlers)
    try:
        with log_faults(lambda _: None):
            fail()
    except KeyError:
        pass
    assert before == (warnings.showwarning, threading.excepthook, sys.unraisablehook)
    assert handlers == logging.getLogger().handlers


def test_a_log_has_so_many_lines_of_a_kind_a_minute() -> None:
    """The others are counted in the next; users, places and events are kinds of their own."""
    told, now = list[dict[str, Any]](), [0.0]
    lines = LimitedLog(60, told.append)
    lines._rates.clock = lambda: now[0]  # noqa: SLF001 - the clock of the test
    for _ in range(100):
        lines({"visitor": None, "status": 401})
    assert len(told) == 60
    lines({"visitor": "ana", "status": 200})
    lines({"event": "fault", "from": "asyncio", "at": "a.py:1"})
    assert told[60:] == [{"visitor": "ana", "status": 200}, {"event": "fault", "from": "asyncio", "at": "a.py:1"}]
    now[0] = 1.0
    lines({"visitor": None, "status": 401})
    lines({"visitor": None, "status": 401})
    assert told[62:] == [{"visitor": None, "status": 401, "unwritten": 40}]
