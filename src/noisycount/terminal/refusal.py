"""Characters that a stream lacks, and what is written in their place.

A refusal as one line on standard error, and the status with which a command ends.
"""

import codecs
import json
import sys
import unicodedata

import click

from noisycount.display.texts import printable, without_passwords
from noisycount.errors import BudgetError, LedgerError, SourceError

__all__ = ["REPLACING", "STATUSES", "USAGE", "status_of", "tell", "writable"]

# The name of the error handler with which every text can be written.
REPLACING = "noisycount.replacing"

_PLAIN = {
    "ε": "epsilon",
    "δ": "delta",
    "ρ": "rho",
    "λ": "lambda",
    "σ": "sigma",
    "α": "alpha",
    "β": "beta",
    "±": "+-",
    "−": "-",
    "–": "-",
    "─": "-",
    "┬": "+",
    "●": "o",
    "×": "x",
    "²": "^2",
    "≈": "~",
    "≤": "<=",
    "≥": ">=",
    "“": '"',
    "”": '"',
    "\N{LEFT SINGLE QUOTATION MARK}": "'",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "…": "...",
    "→": "->",
    "\ufffd": "#",
}


def writable(text: str, encoding: str) -> str:
    r"""The text with replacements for what an encoding cannot write, never with `?`.

    Signs of ours have names, letters lose their accents, and others become escapes.

    Example:
        >>> writable("ε = 0.1: −54 ±300", "cp1252"), writable("Kosten €", "ascii")
        ('epsilon = 0.1: -54 ±300', 'Kosten \\u20ac')
    """
    return text.encode(encoding, REPLACING).decode(encoding)


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """What stands for the characters that could not be encoded, and where they end."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join(_plain(character, error.encoding) for character in lost), error.end


def _plain(character: str, encoding: str) -> str:
    """A replacement that the encoding can write."""
    known = _PLAIN.get(character, "")
    letters = known or unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    text = letters or character.encode("ascii", "backslashreplace").decode()
    text.encode(encoding)
    return text


codecs.register_error(REPLACING, _replaced)


USAGE = 2

# The exit status of a refusal of each seam, a class before its parents; of every other, 2.
STATUSES = {BudgetError: 3, SourceError: 4, LedgerError: 5}
_KINDS = {USAGE: "usage", 3: "budget", 4: "source", 5: "ledger"}


def status_of(error: BaseException | None) -> int:
    """The exit status of what went wrong.

    Example:
        >>> status_of(BudgetError("all is spent")), status_of(ValueError("no such column"))
        (3, 2)
    """
    return next((status for kind, status in STATUSES.items() if isinstance(error, kind)), USAGE)


def tell(refusal: str, status: int = USAGE) -> None:
    """A refusal as one line on standard error, or as one JSON object where JSON was asked for."""
    text = without_passwords(" ".join(refusal.split()))
    if "--json" in sys.argv[1:]:
        told = {"error": text, "kind": _KINDS[status], "status": status}
        click.echo(json.dumps(told), err=True)
        return
    line = f"error: {printable(text)}"
    click.echo(writable(line, getattr(sys.stderr, "encoding", None) or "utf-8"), err=True)
