"""The command line."""

import os
import signal


def run() -> None:
    """A run of the command line, which Ctrl-C ends in a line also while its parts are imported."""
    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_ours:
        signal.signal(signal.SIGINT, _end)
    from noisycount.cli.main import main  # noqa: PLC0415 - most of the time until something is charged

    if is_ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    main()


def _end(*_: object) -> None:
    os.write(2, b"\nstopped: nothing was charged\n")
    os._exit(130)
