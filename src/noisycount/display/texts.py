"""Texts for one line of a terminal, for TOML, and for those who may see neither files nor contents."""

import codecs
import re
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import prod

ALL_KEYS = "all"  # in place of a key over which is summed, where the sum is of all that match
MISSING = "(missing)"  # the key of missing values
OTHER_KEYS = "(other)"  # all keys that were not listed
_FEW, _SHORT = 3, 28  # keys that are named, and their characters
_UNEVEN = "all listed"


def label_text(label: object) -> str:
    """A key of a group: missing values and truth values have words of their own.

    Example:
        >>> label_text("Bern"), label_text(3), label_text(None), label_text(True)
        ('Bern', '3', '(missing)', 'true')
    """
    if label is None:
        return MISSING
    return str(label).lower() if isinstance(label, bool) else str(label)


def listed_text(labels: Sequence[object]) -> str:
    """What stands for the listed keys over which a count sums: others are not in it.

    Example:
        >>> listed_text(["Bern", None]), listed_text(range(1, 13))
        ('all of Bern, (missing)', 'all 12 listed')
    """
    named = ", ".join(map(label_text, labels[:_FEW]))
    is_named = len(labels) <= _FEW and len(named) <= _SHORT
    return f"all of {named}" if is_named else f"all {len(labels):,} listed"


def summed_texts(cells: Iterable[tuple[Hashable, Sequence[Hashable]]]) -> Mapping[Hashable, tuple[str, ...]]:
    """For each sum what stands for the keys over which it runs, one text a column.

    Example:
        >>> even, uneven = [("F", ["a", 1]), ("F", ["a", 2])], [("M", ["a", 1]), ("M", ["b", 2])]
        >>> told = summed_texts([*even, *uneven])
        >>> told["F"], told["M"]
        (('all of a', 'all of 1, 2'), ('all listed', 'all listed'))
    """
    keys: dict[Hashable, list[dict[Hashable, None]]] = {}
    sizes: dict[Hashable, int] = {}
    for node, cell in cells:
        met = keys.setdefault(node, [{} for _ in cell])
        for column, key in zip(met, cell, strict=True):
            column[key] = None
        sizes[node] = sizes.get(node, 0) + 1
    return {
        node: tuple(listed_text(list(column)) for column in columns)
        if prod(map(len, columns)) == sizes[node]
        else (_UNEVEN,) * len(columns)
        for node, columns in keys.items()
    }


def printable(text: str) -> str:
    r"""The text for one line of a terminal: what is not printable, and could steer it, is U+FFFD.

    Example:
        >>> printable("health = '\x1b[2J'")
        "health = '�[2J'"
    """
    return "".join(each if each.isprintable() else "\ufffd" for each in text)


# The name of the error handler with which every text can be written.
REPLACING = "noisycount.replacing"

_PLAIN_SIGNS = {
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
    known = _PLAIN_SIGNS.get(character, "")
    letters = known or unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    text = letters or character.encode("ascii", "backslashreplace").decode()
    text.encode(encoding)
    return text


codecs.register_error(REPLACING, _replaced)


_PASSWORD = re.compile(r"(?<=://)([^\s@:/'\"]*):[^'\"]*@")


def without_passwords(text: str) -> str:
    """A text of which no address tells a password, whatever is wrong with it.

    Example:
        >>> without_passwords("unexpected argument (postgresql://ward:secret@db/clinic#visits)")
        'unexpected argument (postgresql://ward:…@db/clinic#visits)'
    """
    return _PASSWORD.sub(r"\1:…@", text)


_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}


def toml_key(name: str) -> str:
    r"""A name as a key, in quotes where it needs them.

    Example:
        >>> print(toml_key("age"), toml_key('Kosten "€"'))
        age "Kosten \"€\""
    """
    return name if _BARE.fullmatch(name) else _quoted(name)


def toml_value(value: object) -> str:
    r"""A text, a truth value, a whole number, a list or a table on one line.

    Example:
        >>> print(toml_value({"kind": "real", "missing": ["k.A.", "\x07"], "trim": True}))
        { kind = "real", missing = ["k.A.", "\u0007"], trim = true }
    """
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Mapping):
        parts = (f"{toml_key(name)} = {toml_value(part)}" for name, part in value.items())
        return f"{{ {', '.join(parts)} }}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(toml_value, value))}]"
    return str(value).lower()


def pasteable(line: str, encoding: str) -> str:
    r"""A line in characters that an encoding has; the others are escaped, between their quotes.

    Example:
        >>> print(pasteable('"Größe" = "text"', "ascii"))
        "Gr\u00f6\u00dfe" = "text"
    """
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        return "".join(each if each.isascii() else _code(each) for each in line)
    return line


def _quoted(text: str) -> str:
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    """A character as it stands between quotes; what a terminal may not show is escaped."""
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if character.isprintable() else _code(character)


def _code(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


_BY_CONTENT = re.compile(r"(frame) [0-9a-f]{16}")  # as 0.1 and 0.2 called frames without a name
_PLACE = re.compile(r"[/\\~]|[A-Za-z]:[/\\]|[A-Za-z][A-Za-z0-9+.]*://")
_OPTIONS = re.compile(r"\?[^#]*")


def redacted_name(name: object) -> str:
    r"""A name of a data set or a file that tells no folder, no server and no content.

    A path or an address is told by its last part; of a frame that an older ledger calls by its
    content, only that it is one. Every other name was given to be told.

    Example:
        >>> redacted_name("/home/ana/survey.duckdb#visits"), redacted_name("survey 2025/26")
        ('survey.duckdb#visits', 'survey 2025/26')
        >>> redacted_name("postgresql://db:5433/clinic?host=/run/db#visits"), redacted_name("C:\\a\\b.csv")
        ('clinic#visits', 'b.csv')
    """
    text = str(name)
    if match := _BY_CONTENT.fullmatch(text):
        return match[1]
    if not _PLACE.match(text):
        return text
    place = _OPTIONS.sub("", text) if "://" in text else text
    return re.split(r"[/\\]", place.rstrip("/\\"))[-1].lstrip("#") or "records"


def redacted_names(names: Iterable[str]) -> dict[str, str]:
    """The same of several, none of them told like another.

    Example:
        >>> redacted_names(["/a/survey.csv", "/b/survey.csv", "stay"])["/b/survey.csv"]
        'survey.csv (2)'
    """
    told: dict[str, str] = {}
    for name in names:
        short = redacted_name(name)
        number = sum(redacted_name(other) == short for other in told if other != name) + 1
        told[name] = short if number == 1 else f"{short} ({number})"
    return told
