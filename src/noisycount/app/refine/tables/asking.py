"""A published table on the command line: read, refined, told, drawn and written."""

from contextlib import ExitStack

from noisycount.app.config.config import Config
from noisycount.app.refine.tables.asked import AskedTable
from noisycount.app.refine.tables.files import check_addition, check_files, save_refined
from noisycount.app.refine.tables.opening import opened_table
from noisycount.app.refine.tables.refined import refined_table
from noisycount.app.refine.tables.wire import refined_object
from noisycount.app.refine.tables.words import print_refined
from noisycount.app.terminal.printing import print_json
from noisycount.app.terminal.progress import progress
from noisycount.app.terminal.status import status

__all__ = ["ask_table"]


def ask_table(asked: AskedTable, configuration: Config, *, as_json: bool) -> None:
    """A refined table, told on standard output and written where that was asked for.

    Raises:
        NoisyCountError: The table or what it needs cannot be read, or a file cannot be written.
        ValueError: No table can give these answers.
    """
    check_files(asked)
    with ExitStack() as opened:
        with status("reading"):
            found = opened_table(asked, configuration, opened)
            check_addition(asked, found)
        with progress("refining") as done:
            refined = refined_table(asked, found.published, done)
        if asked.out is not None:
            with status("writing"):
                save_refined(asked, found, refined, asked.out)
    if asked.plot is not None:
        from noisycount.app.refine.tables.picture import save_plot  # noqa: PLC0415  (loads Altair)

        with status("drawing"):
            save_plot(refined, asked.plot)
    if as_json:
        print_json(refined_object(refined, asked.total))
    else:
        print_refined(refined, asked.total, asked.out, asked.plot)
