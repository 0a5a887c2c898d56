"""`noisycount serve`: the service, for programs and browsers."""

from contextlib import ExitStack
from functools import partial
from ipaddress import ip_address

import click

from noisycount.config.config import Config
from noisycount.display.output import print_facts, print_text
from noisycount.errors import ConfigError, NoisyCountError, extra_words
from noisycount.readers.options import config_option

_NEEDED = f"the service needs more packages: {extra_words('server')}"


@click.command(name="serve", epilog="\b\nExample:\n  noisycount serve --demo\n  noisycount serve --port 8080")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="And the port; 0: any that is free."
)
@click.option(
    "--demo", "is_demo", is_flag=True, help="Serve the survey of the demonstration, with a budget that is thrown away."
)
@click.option(
    "--no-slots",
    "slots",
    flag_value=False,
    default=True,
    help="Reply as soon as an answer is there: whoever measures that may learn of the records.",
)
@config_option
def command(host: str, port: int, configuration: Config, *, is_demo: bool, slots: bool) -> None:
    """Serve a team by HTTP, for programs and browsers.

    Data sets and budgets are those of noisycount.toml; `noisycount analysts add` gives out keys.
    Replies about data sets leave at ticks, which [server] slot sets. Encryption is a proxy's task.
    """
    try:
        from noisycount.service.server import demonstration, listening, serve  # noqa: PLC0415  (the same)
    except ImportError:
        raise NoisyCountError(_NEEDED) from None
    with ExitStack() as opened:
        key = None
        if is_demo:
            shown = opened.enter_context(demonstration())
            configuration, key = shown.configuration, shown.key
        elif not configuration.datasets:
            raise ConfigError(
                "there is no data set to serve: describe one in noisycount.toml, which `noisycount"
                " init` writes, or try --demo"
            )
        place = opened.enter_context(listening(host, port))
        ready = partial(_tell, host, place.getsockname()[1], key)
        serve(configuration, place, ready, slots=slots)


def _tell(host: str, port: int, key: str | None) -> None:
    """Where the service is, and how to get in."""
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{port}"
    facts = [("address", address)]
    if key is not None:
        facts += [("log in", f"{address}/login"), ("key", key), ("ends", "with Ctrl-C, and the ledger with it")]
    print_facts(facts)
    if not _is_loopback(host):
        print_text(
            f"{host} can be reached from elsewhere, and without encryption: keys and answers can be"
            " read on the way unless a proxy with TLS stands before it"
        )


def _is_loopback(host: str) -> bool:
    """Whether an address is of this machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
