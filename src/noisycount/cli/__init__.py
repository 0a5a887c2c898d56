"""The command line: one file for each command or group of related commands.

Start with `main`, which has the list of commands, the exit statuses and the handling of errors.
"""

import os
import signal


def run() -> None:
    """Run the command line. Ctrl-C ends it with one line even while its modules are still being imported."""
    previous_handler = signal.getsignal(signal.SIGINT)
    if previous_handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: (os.write(2, b"\nstopped: nothing was charged\n"), os._exit(130)))
    from noisycount.cli.main import main  # noqa: PLC0415 - takes most of the start-up time

    signal.signal(signal.SIGINT, previous_handler or signal.SIG_DFL)
    main()
