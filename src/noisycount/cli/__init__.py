"""The command line."""

import os
import signal


def run() -> None:
    """A run of the command line, which Ctrl-C ends in a line also while its parts are imported."""
    former = signal.getsignal(signal.SIGINT)
    if former is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: (os.write(2, b"\nstopped: nothing was charged\n"), os._exit(130)))
    from noisycount.cli.main import main  # noqa: PLC0415 - most of the time until something is charged

    signal.signal(signal.SIGINT, former or signal.SIG_DFL)
    main()
