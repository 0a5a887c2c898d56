"""Who is given a key: the name, the role and the data sets that an owner typed, checked."""

from collections.abc import Sequence

from noisycount.app.access.visitor import Role
from noisycount.app.config.config import Config
from noisycount.app.config.naming import NAME
from noisycount.app.config.toml_table import suggestion
from noisycount.errors import ConfigError
from noisycount.release.ledger.arguments import check_text

__all__ = ["check_analyst", "granted"]


def check_analyst(name: str, configuration: Config) -> None:
    """Refuse a name under which the ledger could book nothing.

    Args:
        name: Of whoever is to hold the key.
        configuration: Whose `[analysts]` are all who may ask, where it has them.

    Raises:
        ConfigError: The name cannot be typed, or is not among them.
    """
    try:
        check_text("NAME", name)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if not NAME.fullmatch(name):
        raise ConfigError(f"NAME {name!r}: a name is letters, digits, - and _: choose another")
    if configuration.analysts and name not in configuration.analysts:
        raise ConfigError(
            f"NAME {name!r} is not among [analysts] of noisycount.toml: add [analysts.{name}] "
            f"there, or {suggestion(name, configuration.analysts)}"
        )


def granted(role: Role, datasets: Sequence[str], configuration: Config) -> tuple[str, ...] | None:
    """The data sets that a key opens; None: every one, for an owner.

    Args:
        role: Of whoever is to hold the key.
        datasets: The names that were typed.
        configuration: Which has the data sets.

    Raises:
        ConfigError: One is not configured, none was named for an analyst, or one for an owner.
    """
    if role is Role.OWNER:
        if datasets:
            raise ConfigError(
                f"--data-set {datasets[0]!r}: an owner sees every data set: leave --data-set out, "
                "or say --role analyst"
            )
        return None
    if not datasets:
        known = ", ".join(configuration.datasets) or "none yet: describe one in noisycount.toml"
        raise ConfigError(f"--data-set is missing: name each that may be asked; known: {known}")
    for name in datasets:
        if name not in configuration.datasets:
            raise ConfigError(
                f"--data-set {name!r} is not configured: {suggestion(name, configuration.datasets)}"
            )
    return tuple(datasets)
