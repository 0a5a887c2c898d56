"""`noisycount analysts`: who may ask by way of a server, and with which keys."""

from datetime import timedelta

import click

from noisycount.access.display import (
    KEY_HEADER,
    issued_object,
    key_facts,
    key_rows,
    key_warning,
    keys_object,
    revoked_object,
    revoked_words,
)
from noisycount.access.keyring import Keyring, check_analyst, granted
from noisycount.access.keys import Role
from noisycount.cli.main import CommandGroup
from noisycount.config.config import Config
from noisycount.config.toml_table import suggestion
from noisycount.errors import ConfigError
from noisycount.readers.options import (
    Parsed,
    analyst_names,
    config_option,
    dataset_names,
    json_option,
    key_names,
)
from noisycount.readers.values import parse_lifetime
from noisycount.terminal.printing import print_facts, print_json, print_table, print_text

__all__ = ["command"]


@click.group(
    name="analysts",
    cls=CommandGroup,
    epilog="Example: noisycount analysts add ana --data-set survey",
)
def command() -> None:
    """Give out, list and revoke the keys to a server.

    A key says who asks and which data sets are there for them. Keys lie beside the ledger as keyed
    hashes, in a file that its owner alone may read.
    """


@command.command(
    name="add",
    short_help="Give somebody a key.",
    epilog="Example: noisycount analysts add ana --role analyst --data-set survey --expires 90d",
)
@click.argument("name", shell_complete=analyst_names)
@click.option(
    "--role",
    type=click.Choice([role.value for role in Role]),
    default=Role.ANALYST.value,
    show_default=True,
    help="An owner sees every data set, the whole ledger and the report.",
)
@click.option(
    "--data-set",
    "datasets",
    multiple=True,
    metavar="NAME",
    shell_complete=dataset_names,
    help="What an analyst may ask; may be repeated.",
)
@click.option(
    "--expires",
    "lifetime",
    default="90d",
    show_default=True,
    type=Parsed(parse_lifetime),
    metavar="DURATION",
    help="After hours, days or weeks, such as 12h, 90d or 6w; or never.",
)
@config_option
@json_option
def add(  # noqa: PLR0913  (its options)
    name: str,
    role: str,
    datasets: tuple[str, ...],
    lifetime: timedelta | None,
    configuration: Config,
    *,
    as_json: bool,
) -> None:
    """Give NAME a key, which is shown once.

    Somebody may have several, to change from one to the next before it expires. Where
    noisycount.toml has [analysts], with their budgets, NAME is one of them.
    """
    check_analyst(name, configuration)
    opened = granted(Role(role), datasets, configuration)
    configuration.make_ledger_folder()
    keyring = Keyring.of(configuration)
    key, issued = keyring.issue(name, Role(role), opened, lifetime)
    if as_json:
        print_json(issued_object(issued, key, keyring.now()))
        return
    print_facts(key_facts(issued, key))
    print_text(key_warning(issued))


@command.command(
    name="revoke",
    short_help="End a key, or all of somebody's.",
    epilog="Example: noisycount analysts revoke ana",
)
@click.argument("who", metavar="ID|NAME", shell_complete=key_names)
@config_option
@json_option
def revoke(who: str, configuration: Config, *, as_json: bool) -> None:
    """End the key of an ID, or all keys that NAME holds, at once.

    Servers need no restart, and sessions in browsers end with the key that began them.
    """
    keyring = Keyring.of(configuration)
    known = [word for key in keyring.issued() for word in (key.name, key.id)]
    if who not in known:
        raise ConfigError(
            f"ID|NAME {who!r} is no key's id and no holder's name: "
            f"{suggestion(who, list(dict.fromkeys(known[::2])))}; see `noisycount analysts list`"
        )
    ended = keyring.revoke(who)
    if as_json:
        print_json(revoked_object(ended, keyring.now()))
        return
    print_text(revoked_words(who, ended))


@command.command(
    name="list",
    short_help="Show who holds which key.",
    epilog="Example: noisycount analysts list --json",
)
@config_option
@json_option
def list_(configuration: Config, *, as_json: bool) -> None:
    """Show all keys that were issued, expired and revoked ones too; never a secret."""
    keyring = Keyring.of(configuration)
    keys, now = keyring.issued(), keyring.now()
    if as_json:
        print_json(keys_object(keys, now))
    elif keys:
        print_table(KEY_HEADER, key_rows(keys, now))
    else:
        print_text("nobody has a key yet; `noisycount analysts add NAME` issues one")
