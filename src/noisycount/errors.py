"""The exceptions of noisycount. Each message is a single line with the fault, the value and the remedy.

All exceptions, each below its base class:

    NoisyCountError
    ├── PredicateError      a condition outside the language, or a column that may not be used
    │   └── QueryError      parts of a query that do not go together; also a ValueError
    ├── PurposeError        a query without the purpose that the owner requires
    ├── SourceError         records that cannot be read or counted
    │   ├── EncodingError   a file in another encoding than stated
    │   └── SeveralTablesError  a file with several tables, of which none is chosen
    ├── OverrunError        a count that took too long
    ├── LedgerError         a ledger that cannot be read or written
    │   ├── BudgetError     a price above the remaining budget
    │   └── ReuseError      an idempotency key of another request
    └── ConfigError         a configuration file that cannot be used

An invalid argument of a function of the mathematics raises ValueError.
"""

from collections.abc import Callable, Mapping, Sequence
from string import Formatter
from typing import TypeVar

__all__ = [
    "BudgetError",
    "ConfigError",
    "LedgerError",
    "NoisyCountError",
    "OverrunError",
    "PredicateError",
    "PurposeError",
    "QueryError",
    "ReuseError",
    "SourceError",
    "install_hint",
    "is_interruption",
    "without_traceback",
]


def install_hint(extra: str) -> str:
    """Return the command that installs an extra of the package. The package is in no registry."""
    return (
        f"install noisycount's extra {extra}: pip install '.[{extra}]' in the folder of its "
        f"sources, or 'PATH.whl[{extra}]' from a wheel of it (Install and first count: noisycount docs start/install)"
    )


# Remedy for an analyst who may not read the records or the ledger.
BY_THE_SERVICE = "ask its owner for a key to their `noisycount serve`"


class NoisyCountError(Exception):
    """Base class of all errors of noisycount. The message states the fault, the value and the remedy."""


class PredicateError(NoisyCountError):
    """A condition that is outside the query language, or uses a column that queries may not use."""


# Function that spells a part of a query, from its name and its value; the value is empty if only the name is meant.
Spelling = Callable[[str, str], str]


class QueryError(PredicateError, ValueError):
    """Parts of a query that do not go together, or a part that is missing.

    Example:
        >>> import noisycount as nc
        >>> error = nc.errors.QueryError("give {epsilon:0.1}, or {within}, got {value}", value="nothing")
        >>> print(error)
        give epsilon='0.1', or within, got nothing
        >>> print(error.spelled(lambda name, value: f"--{name} {value}".rstrip()))
        give --epsilon 0.1, or --within, got nothing
    """

    def __init__(self, sentence: str, **values: str) -> None:
        """Create the error.

        Args:
            sentence: The message. `{within}` stands for a part of the query, `{within:20%}` for the part with a value.
            values: Other texts, by the names that stand for them in the sentence.
        """
        self.sentence, self.values = sentence, values
        super().__init__(self.spelled(python_spelling))

    def spelled(self, spelling: Spelling) -> str:
        """Return the message with the parts as a surface spells them."""
        return self.sentence.format_map(_Parts(spelling, self.values))

    @property
    def part(self) -> str:
        """Name of the first part in the message; empty if there is none."""
        names = [name for _, name, _, _ in Formatter().parse(self.sentence) if name and name not in self.values]
        return names[0] if names else ""


class _Parts(dict[str, object]):
    """The values of a message by name; any other name is a part of the query."""

    def __init__(self, spelling: Spelling, values: Mapping[str, str]) -> None:
        super().__init__(values)
        self.spelling = spelling

    def __missing__(self, name: str) -> "_PartName":
        return _PartName(name, self.spelling)


class _PartName:
    """A part of a query in a message, which is formatted with a value or without."""

    def __init__(self, name: str, spelling: Spelling) -> None:
        self.name, self.spelling = name, spelling

    def __format__(self, value: str) -> str:
        return self.spelling(self.name, value)


def python_spelling(name: str, value: str) -> str:
    """Return a part of a query as an argument in Python."""
    if name == "noise" and value:
        return f"noise=nc.Discrete{value.capitalize()}"
    if name == "keys" and value:
        return f"keys={{{value.partition('=')[0]!r}: [...]}}"
    return f"{name}={value!r}" if value else name


class PurposeError(NoisyCountError):
    """A query that states no purpose, although the owner requires one."""


class SourceError(NoisyCountError):
    """Records that cannot be read or counted. The message never quotes a cell."""


class EncodingError(SourceError):
    """A file that is not in its stated encoding, or in UTF-8 if none is stated.

    `likely` is the encoding that the file may have.
    """

    def __init__(self, message: str, likely: str = "cp1252") -> None:
        super().__init__(message)
        self.likely = likely


class SeveralTablesError(SourceError):
    """A file with several tables, of which none is chosen.

    `names` are the names of the tables.
    """

    def __init__(self, message: str, names: Sequence[str]) -> None:
        super().__init__(message)
        self.names = tuple(names)


class OverrunError(NoisyCountError):
    """A count that was not finished in time. Its price stays charged."""


class LedgerError(NoisyCountError):
    """A ledger that cannot be read or written, or a request that contradicts its entries."""


class BudgetError(LedgerError):
    """A price that exceeds the remaining budget."""


class ReuseError(LedgerError):
    """An idempotency key that belongs to another request."""


class ConfigError(NoisyCountError):
    """A configuration file that cannot be used."""


Error = TypeVar("Error", bound=BaseException)


def without_traceback(error: Error) -> Error:
    """Return an error without traceback, cause and context.

    Frames hold local values, and the errors of an engine the values of a statement: counts and
    answers that must not leave with a refusal.

    Example:
        >>> from noisycount.errors import without_traceback
        >>> error = ValueError("no")
        >>> error.__context__ = KeyError("a cell")
        >>> without_traceback(error).__context__ is None
        True
    """
    error.__traceback__ = error.__cause__ = error.__context__ = None
    return error


def is_interruption(error: BaseException) -> bool:
    """Return True if Ctrl-C ended some work. DuckDB raises RuntimeError if it was running a statement."""
    return isinstance(error, KeyboardInterrupt) or (type(error) is RuntimeError and str(error) == "Query interrupted")
