"""Texts for keys of groups, for one line of a terminal, for TOML, and for readers without access to files.

`replace_unprintable` and `replace_unencodable` make a text safe for a terminal, and `redacted_name` makes a name safe
for publication.
"""

import codecs
import re
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import prod

ALL_KEYS = "all"  # key of a sum over all records of a column
MISSING = "(missing)"  # key of missing values
OTHER_KEYS = "(other)"  # key of all values that are not listed
_MAX_NAMED, _MAX_LENGTH = 3, 28  # keys that `listed_text` names, and their characters
_UNEVEN = "all listed"  # keys of a sum whose cells are not all combinations of keys


def label_text(label: object) -> str:
    """Return a key of a group as text. Missing values and booleans have texts of their own.

    Example:
        >>> label_text("Bern"), label_text(3), label_text(None), label_text(True)
        ('Bern', '3', '(missing)', 'true')
    """
    if label is None:
        return MISSING
    return str(label).lower() if isinstance(label, bool) else str(label)


def listed_text(labels: Sequence[object]) -> str:
    """Return the text of the key of a sum. The sum is over the listed keys alone.

    Example:
        >>> listed_text(["Bern", None]), listed_text(range(1, 13))
        ('all of Bern, (missing)', 'all 12 listed')
    """
    named = ", ".join(map(label_text, labels[:_MAX_NAMED]))
    is_named = len(labels) <= _MAX_NAMED and len(named) <= _MAX_LENGTH
    return f"all of {named}" if is_named else f"all {len(labels):,} listed"


def sum_labels(cells: Iterable[tuple[Hashable, Sequence[Hashable]]]) -> Mapping[Hashable, tuple[str, ...]]:
    """Return, for each sum of a table, one text per key column for the keys that it adds up.

    `cells` are pairs of a sum's identifier and the keys of one cell in it. If the cells of a sum are not all
    combinations of their keys, each text is "all listed".

    Example:
        >>> even, uneven = [("F", ["a", 1]), ("F", ["a", 2])], [("M", ["a", 1]), ("M", ["b", 2])]
        >>> texts = sum_labels([*even, *uneven])
        >>> texts["F"], texts["M"]
        (('all of a', 'all of 1, 2'), ('all listed', 'all listed'))
    """
    keys: dict[Hashable, list[dict[Hashable, None]]] = {}
    sizes: dict[Hashable, int] = {}
    for node, cell in cells:
        node_keys = keys.setdefault(node, [{} for _ in cell])
        for column, key in zip(node_keys, cell, strict=True):
            column[key] = None
        sizes[node] = sizes.get(node, 0) + 1
    return {
        node: tuple(listed_text(list(column)) for column in columns)
        if prod(map(len, columns)) == sizes[node]
        else (_UNEVEN,) * len(columns)
        for node, columns in keys.items()
    }


def replace_unprintable(text: str) -> str:
    r"""Return the text for one line of a terminal: an unprintable character, which could steer it, becomes U+FFFD.

    Example:
        >>> replace_unprintable("health = '\x1b[2J'")
        "health = '�[2J'"
    """
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


# Name of a codec error handler with which every text can be encoded.
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


def replace_unencodable(text: str, encoding: str) -> str:
    r"""Return the text with every character replaced that the encoding lacks, never by `?`.

    Symbols in `_PLAIN_SIGNS` are spelled out, letters lose their accents, and other characters become escapes.

    Example:
        >>> replace_unencodable("ε = 0.1: −54 ±300", "cp1252"), replace_unencodable("Kosten €", "ascii")
        ('epsilon = 0.1: -54 ±300', 'Kosten \\u20ac')
    """
    return text.encode(encoding, REPLACING).decode(encoding)


def _replace_unencodable(error: UnicodeError) -> tuple[str, int]:
    """Return the replacement of the characters that could not be encoded, and the index after them."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    return "".join(_encodable_replacement(character, error.encoding) for character in characters), error.end


def _encodable_replacement(character: str, encoding: str) -> str:
    """Return a replacement for one character that the encoding can write."""
    spelling = _PLAIN_SIGNS.get(character, "")
    letters = spelling or unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    text = letters or character.encode("ascii", "backslashreplace").decode()
    text.encode(encoding)
    return text


codecs.register_error(REPLACING, _replace_unencodable)


_PASSWORD = re.compile(r"(?<=://)([^\s@:/'\"]*):[^'\"]*@")


def without_passwords(text: str) -> str:
    """Return the text with the passwords of all addresses in it replaced by …, also in malformed addresses.

    Example:
        >>> without_passwords("unexpected argument (postgresql://ward:secret@db/clinic#visits)")
        'unexpected argument (postgresql://ward:…@db/clinic#visits)'
    """
    return _PASSWORD.sub(r"\1:…@", text)


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}


def toml_key(name: str) -> str:
    r"""Return a name as a TOML key, in quotes if it needs them.

    Example:
        >>> print(toml_key("age"), toml_key('Kosten "€"'))
        age "Kosten \"€\""
    """
    return name if _BARE_KEY.fullmatch(name) else _quote_toml(name)


def toml_value(value: object) -> str:
    r"""Return a text, boolean, whole number, list or table as TOML on one line.

    Example:
        >>> print(toml_value({"kind": "real", "missing": ["k.A.", "\x07"], "trim": True}))
        { kind = "real", missing = ["k.A.", "\u0007"], trim = true }
    """
    if isinstance(value, str):
        return _quote_toml(value)
    if isinstance(value, Mapping):
        pairs = (f"{toml_key(name)} = {toml_value(item)}" for name, item in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(toml_value, value))}]"
    return str(value).lower()


def escape_unencodable(line: str, encoding: str) -> str:
    r"""Return a line of TOML with each character escaped that the encoding lacks.

    TOML allows escapes between quotes only: unquoted parts of the line must be ASCII.

    Example:
        >>> print(escape_unencodable('"Größe" = "text"', "ascii"))
        "Gr\u00f6\u00dfe" = "text"
    """
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        return "".join(character if character.isascii() else _unicode_escape(character) for character in line)
    return line


def _quote_toml(text: str) -> str:
    return f'"{"".join(map(_escape, text))}"'


def _escape(character: str) -> str:
    """Return a character as it is written between quotes. An unprintable character is escaped."""
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if character.isprintable() else _unicode_escape(character)


def _unicode_escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


_FRAME_DIGEST = re.compile(r"(frame) [0-9a-f]{16}")  # name of an unnamed data frame in ledgers of 0.1 and 0.2
_PATH_OR_ADDRESS = re.compile(r"[/\\~]|[A-Za-z]:[/\\]|[A-Za-z][A-Za-z0-9+.]*://")
_ADDRESS_OPTIONS = re.compile(r"\?[^#]*")


def redacted_name(name: object) -> str:
    r"""Return the name of a data set or file without folder, server or content.

    A path or an address becomes its last part. A data frame that an older ledger names by its content becomes "frame".
    Every other name was chosen for publication, and is returned unchanged.

    Example:
        >>> redacted_name("/home/ana/survey.duckdb#visits"), redacted_name("survey 2025/26")
        ('survey.duckdb#visits', 'survey 2025/26')
        >>> redacted_name("postgresql://db:5433/clinic?host=/run/db#visits"), redacted_name("C:\\a\\b.csv")
        ('clinic#visits', 'b.csv')
    """
    text = str(name)
    if match := _FRAME_DIGEST.fullmatch(text):
        return match[1]
    if not _PATH_OR_ADDRESS.match(text):
        return text
    location = _ADDRESS_OPTIONS.sub("", text) if "://" in text else text
    return re.split(r"[/\\]", location.rstrip("/\\"))[-1].lstrip("#") or "records"


def redacted_names(names: Iterable[str]) -> dict[str, str]:
    """Return the redacted form of each name, with a number added so that all of them differ.

    Example:
        >>> redacted_names(["/a/survey.csv", "/b/survey.csv", "stay"])["/b/survey.csv"]
        'survey.csv (2)'
    """
    redacted: dict[str, str] = {}
    for name in names:
        short = redacted_name(name)
        number = sum(redacted_name(other) == short for other in redacted if other != name) + 1
        redacted[name] = short if number == 1 else f"{short} ({number})"
    return redacted
