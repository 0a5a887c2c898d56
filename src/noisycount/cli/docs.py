"""`noisycount docs`: open the documentation in the browser."""

import webbrowser

import click
from click.shell_completion import CompletionItem

from noisycount.display.output import print_facts
from noisycount.readers.options import completions
from noisycount.tasks.documentation import find_page, page_names


def _complete_page(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the addresses of pages."""
    return completions(dict.fromkeys(page_names(), ""), incomplete)


@click.command(name="docs", epilog="\b\nExample:\n  noisycount docs\n  noisycount docs how-to/troubleshooting")
@click.argument("page", default="index", shell_complete=_complete_page)
def docs(page: str) -> None:
    """Open the documentation in the browser.

    PAGE is the address of a page, such as how-to/keys. The pages are files of this installation: no network is
    needed.
    """
    found = find_page(page)
    print_facts([("page", found.title), ("address", found.address)])
    webbrowser.open(found.address)
