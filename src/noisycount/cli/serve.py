"""`noisycount serve` and `analysts`: run the service, and manage the keys to it.

The service itself is `noisycount.service`. `analysts` keeps the keys in `noisycount.service.keys`.
"""

import re
from contextlib import ExitStack, suppress
from datetime import datetime, timedelta
from functools import partial
from ipaddress import ip_address
from typing import Any

import click
from click.shell_completion import CompletionItem

from noisycount.cli.main import CommandGroup
from noisycount.config.config import Config
from noisycount.config.places import other_readers_warning
from noisycount.config.toml_table import name_suggestion
from noisycount.display.numbers import signed
from noisycount.display.output import print_facts, print_json, print_table, print_text
from noisycount.errors import ConfigError, NoisyCountError, install_hint
from noisycount.readers import options
from noisycount.service.keys import IssuedKey, Keyring, KeyState, Role, check_analyst, granted_datasets

_MISSING_PACKAGES = f"the service needs more packages: {install_hint('server')}"


@click.command(name="serve", epilog="\b\nExample:\n  noisycount serve --demo\n  noisycount serve --port 8080")
@click.option("--host", default="127.0.0.1", show_default=True, help="Listen at this address.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="Listen at this port. 0 chooses a free one.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    metavar="N",
    help="Serve by N processes that share the ledger and sessions.",
)
@options.flag("--demo is_demo", "Serve the survey of `noisycount demo`, with a temporary ledger.")
@click.option(
    "--no-slots",
    "slots",
    flag_value=False,
    default=True,
    help="Reply as soon as an answer is ready. The duration may then reveal something about the records.",
)
@options.config_option
def serve(  # noqa: PLR0913 - its options
    host: str, port: int, workers: int, configuration: Config, *, is_demo: bool, slots: bool
) -> None:
    """Serve a team by HTTP, for programs and browsers.

    noisycount.toml states the data sets and budgets. `noisycount analysts add` issues keys. Use a proxy for
    encryption.
    """
    try:
        from noisycount.service.server import demonstration, listening_socket, run  # noqa: PLC0415 - loads the whole service
    except ImportError:
        raise NoisyCountError(_MISSING_PACKAGES) from None
    with ExitStack() as stack:
        key = None
        if is_demo:
            configuration, key = stack.enter_context(demonstration())
        elif not configuration.datasets:
            raise ConfigError(
                "there is no data set to serve: describe one in noisycount.toml, which `noisycount"
                " init` writes, or try --demo"
            )
        listener = stack.enter_context(listening_socket(host, port))
        announce = partial(
            _print_address, host, listener.getsockname()[1], key, is_closed=not is_demo and _has_no_login(configuration)
        )
        for dataset in () if is_demo else configuration.datasets.values():
            if words := other_readers_warning(dataset.source):
                print_text(words)
        if workers == 1:
            run(configuration, listener, announce, slots=slots)
            return
        from noisycount.service.workers import run_workers  # noqa: PLC0415 - as above

        run_workers(configuration, listener, announce, workers, slots=slots)


def _has_no_login(configuration: Config) -> bool:
    """Return True if there are no keys and no identity provider, so that every login fails."""
    with suppress(NoisyCountError):  # a fault in the keys is reported at the first login
        return not (configuration.service.oidc or Keyring.from_config(configuration).issued())
    return False


def _print_address(host: str, port: int, key: str | None, *, is_closed: bool) -> None:
    url_host = f"[{host}]" if ":" in host else host
    address = f"http://{url_host}:{port}"
    facts = [("address", address), ("log in", f"{address}/login")]
    if key is not None:
        facts += [("key", key), ("ends", "with Ctrl-C, and the ledger with it")]
    print_facts(facts)
    if is_closed:
        print_text("no key has been issued yet: `noisycount analysts add` issues one, also while the service runs")
    if not _is_loopback(host):
        print_text(
            f"{host} can be reached from elsewhere, and without encryption: keys and answers can be"
            " read on the way unless a proxy with TLS stands before it"
        )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


_LIFETIME = re.compile(r"([1-9][0-9]{0,5})([hdw])")
_LIFETIME_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_MAX_LIFETIME = timedelta(days=3653)  # ten years
_HEADER = ("id", "name", "role", "data sets", "made (UTC)", "state")


def _parse_lifetime(text: str) -> timedelta | None:
    """Return a lifetime such as `12h`, `90d` or `6w`, or None for `never`."""
    if text == "never":
        return None
    match = _LIFETIME.fullmatch(text)
    lifetime = None if match is None else int(match[1]) * _LIFETIME_UNITS[match[2]]
    if lifetime is not None and lifetime <= _MAX_LIFETIME:
        return lifetime
    raise ValueError(f"must be hours, days or weeks up to ten years, such as 12h, 90d or 6w, or never, got {text!r}")


def complete_key_holders(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the names of analysts with a valid or expired key, and the ids of these keys."""
    with suppress(NoisyCountError):
        issued = Keyring.from_config(options.configuration_so_far(ctx)).issued()
        active_keys = [key for key in issued if key.revoked is None]
        return options.completions(
            dict.fromkeys(word for key in active_keys for word in (key.name, key.id)), incomplete
        )
    return []


@click.group(name="analysts", cls=CommandGroup, epilog="Example: noisycount analysts add ana --data-set survey")
def analysts() -> None:
    """Issue, list and revoke keys to a server.

    A key identifies the analyst and the data sets that the analyst may query.
    """


@analysts.command(
    name="add",
    short_help="Issue a key.",
    epilog="Example: noisycount analysts add ana --role analyst --data-set survey --expires 90d",
)
@click.argument("name", shell_complete=options.complete_analysts)
@click.option(
    "--role",
    type=click.Choice([role.value for role in Role]),
    default=Role.ANALYST.value,
    show_default=True,
    help="Set the role. An owner queries every data set, and reads the whole ledger and the report. An officer only "
    "reads these two.",
)
@options.value_option(
    "--data-set datasets",
    str,
    "NAME",
    "Name a data set that the analyst may query. Repeat it for several.",
    multiple=True,
    shell_complete=options.complete_datasets,
)
@options.value_option(
    "--expires lifetime",
    _parse_lifetime,
    "DURATION",
    "Set the lifetime of the key in hours, days or weeks, such as 12h, 90d or 6w; or never.",
    default="90d",
)
@options.common_options
def add(  # noqa: PLR0913 - its options
    name: str, role: str, datasets: tuple[str, ...], lifetime: timedelta | None, configuration: Config, *, as_json: bool
) -> None:
    """Issue a key to NAME, which is shown once.

    A person may have several keys. If noisycount.toml has [analysts] with budgets, NAME must be one of them.
    """
    check_analyst(name, configuration)
    allowed_datasets = granted_datasets(Role(role), datasets, configuration)
    configuration.make_ledger_folder()
    keyring = Keyring.from_config(configuration)
    key, issued_key = keyring.issue(name, Role(role), allowed_datasets, lifetime)
    if as_json:
        print_json({"key": key.text, **_key_json(issued_key, keyring.now())})
        return
    expires = "never" if issued_key.expires is None else f"{_time_text(issued_key.expires)} UTC"
    print_facts(
        [
            ("key", key.text),
            ("id", issued_key.id),
            ("name", issued_key.name),
            ("role", str(issued_key.role)),
            ("data sets", _datasets_text(issued_key)),
            ("expires", expires),
        ]
    )
    act = "ask" if Role(role) is not Role.OFFICER else "read"
    print_text(
        f"The key is shown this once. Give it to {name} alone, by a safe way: anybody who has it can {act} "
        f"as {name}. `noisycount analysts revoke {issued_key.id}` ends it at once."
    )


@analysts.command(
    name="revoke",
    short_help="Revoke a key, or all keys of an analyst.",
    epilog="Example: noisycount analysts revoke ana",
)
@click.argument("who", metavar="ID|NAME", shell_complete=complete_key_holders)
@options.common_options
def revoke(who: str, configuration: Config, *, as_json: bool) -> None:
    """Revoke the key with an ID, or all keys of NAME, at once.

    Servers need no restart. Sessions in browsers end with the key that opened them.
    """
    keyring = Keyring.from_config(configuration)
    words = [word for key in keyring.issued() for word in (key.name, key.id)]
    if who not in words:
        raise ConfigError(
            f"ID|NAME {who!r} is neither the id of a key nor the name of its holder: "
            f"{name_suggestion(who, list(dict.fromkeys(words[::2])))}; see `noisycount analysts list`"
        )
    revoked_keys = keyring.revoke(who)
    if as_json:
        print_json({"revoked": [_key_json(key, keyring.now()) for key in revoked_keys]})
    elif revoked_keys:
        noun, pronoun = ("key", "it") if len(revoked_keys) == 1 else ("keys", "them")
        names = ", ".join(sorted({key.name for key in revoked_keys}))
        ids = ", ".join(key.id for key in revoked_keys)
        revoked = f"revoked {signed(len(revoked_keys))} {noun} of {names}: {ids}"
        print_text(f"{revoked}; servers of this configuration refuse {pronoun} now")
    else:
        print_text(f"no key of {who} was left to revoke")


@analysts.command(
    name="list", short_help="Show all keys and their holders.", epilog="Example: noisycount analysts list --json"
)
@options.common_options
def list_(configuration: Config, *, as_json: bool) -> None:
    """Show all keys that were issued, with expired and revoked ones, but never a secret."""
    keyring = Keyring.from_config(configuration)
    keys, now = keyring.issued(), keyring.now()
    if as_json:
        print_json({"keys": [_key_json(key, now) for key in keys]})
    elif keys:
        rows = [
            (key.id, key.name, str(key.role), _datasets_text(key), _time_text(key.made), _state_text(key, now))
            for key in keys
        ]
        print_table(_HEADER, rows)
    else:
        print_text("no key has been issued yet: `noisycount analysts add NAME` issues one")


def _key_json(key: IssuedKey, now: datetime) -> dict[str, Any]:
    """Return a key as JSON, without its digest. `datasets` is null if the key opens every data set."""
    parts = {name: value for name, value in key.parts.items() if name != "digest"}
    return {**parts, "state": str(key.state(now))}


def _datasets_text(key: IssuedKey) -> str:
    return "all" if key.datasets is None else ", ".join(key.datasets) or "none"


def _state_text(key: IssuedKey, now: datetime) -> str:
    """Return the state of a key in English, with the time since or until which it holds."""
    match key.state(now):
        case KeyState.REVOKED if key.revoked is not None:
            return f"revoked {_time_text(key.revoked)}"
        case KeyState.EXPIRED if key.expires is not None:
            return f"expired {_time_text(key.expires)}"
        case _:
            return "valid" if key.expires is None else f"valid until {_time_text(key.expires)}"


def _time_text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
