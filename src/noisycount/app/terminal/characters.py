"""Characters that a stream lacks, and what is written in their place."""

import codecs
import unicodedata

__all__ = ["REPLACING", "writable"]

REPLACING = "noisycount.replacing"
"""The name of the error handler with which every text can be written."""

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
