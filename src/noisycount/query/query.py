"""A question as it is asked and typed, whoever asks it: what is counted, and at what price."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from noisycount.frozen import frozen
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.key_sets import Keys, Listed, Word
from noisycount.validation import Exactly

__all__ = ["Item", "Query", "items", "keys_of_column"]

_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*")
_SPANS = ("month", "quarter", "year")
_NAME = r'"(?:[^"]|"")+"|[^",:=]+'
_ITEM = re.compile(rf"\s*({_NAME})\s*(?::(.*))?", re.DOTALL)
_KEYS = re.compile(rf"\s*({_NAME})\s*=(.*)", re.DOTALL)
_WORD = re.compile(r"\s*(?:'((?:[^']|'')*)'|([^',][^,]*?|))\s*(,|$)", re.DOTALL)
_PIECE = re.compile(r'(?:[^",]|"(?:[^"]|"")*")+|(?<=,)(?=,|$)|^(?=,|$)')


@frozen
class Item:
    """One of the things that a table is grouped by."""

    column: str  # the name of the column
    grouping: str = ""  # edges such as `0,18,65`, or `month`, `quarter`, `year`; empty: each value

    @property
    def text(self) -> str:
        """The item as one types it."""
        return f"{self.column}:{self.grouping}" if self.grouping else self.column


@frozen(kw_only=True)
class Query:
    """One count, several counts or a table by keys, and its price or how near it should be.

    Attributes:
        wheres: Questions in the predicate language; of a table by keys one at most, for all cells.
        by: What a table is grouped by, as for `Desk.release_table`, like the five that follow;
            None: it is no table by keys.
        noise: The class of the noise; None: that of the currency of the price.
        within: In place of a price: how near an answer should be, as a share of the guess,
        guess: A public guess of the count, for `within`; never the true count.
        confidence: With which one lies so near, and with which errors are stated, in (0, 1).
    """

    wheres: Sequence[str] = ()
    is_list: bool = False  # whether there is a row for each question, even for one alone
    by: str | Sequence[str | Item] | None = None
    keys: Keys | None = None
    margins: str | Sequence[str | Sequence[str]] = ()
    other: bool = False
    groups_per_unit: int | None = None
    cumulative: bool = False
    noise: type[DiscreteNoise] | None = None
    epsilon: Exactly | None = None  # the price in units of privacy loss
    rho: Exactly | None = None  # the price under Gaussian noise
    delta: Exactly | None = None  # for hidden keys, or with ε under Gaussian noise
    within: str | float | Fraction | None = None
    error: float | Fraction | None = None  # or in units
    guess: float | Fraction | None = None
    confidence: float = 0.95

    @property
    def is_table(self) -> bool:
        """Whether it is more than one count."""
        return self.is_list or self.by is not None

    @property
    def noise_class(self) -> type[DiscreteNoise]:
        """The noise that was chosen, or that of a price in ρ or in ε."""
        return self.noise or (DiscreteLaplace if self.rho is None else DiscreteGaussian)

    @property
    def has_one_price(self) -> bool:
        """Whether either a price is given, or a half-width with its guess."""
        is_priced = self.epsilon is not None or self.rho is not None
        is_near = self.within is not None and self.guess is not None
        is_neither = self.within is None and self.guess is None
        return is_neither if is_priced else is_near


def items(text: str) -> list[Item]:
    """What a table is grouped by; the edges of numbers go on until the next name.

    Example:
        >>> [item.text for item in items("town,age:0,18,65,visit:month")]
        ['town', 'age:0,18,65', 'visit:month']
    """
    pieces = _PIECE.findall(text)
    if ",".join(pieces) != text:
        raise ValueError(f'must close the quotes of a name, got {text!r}, such as "my town"')
    joined: list[str] = []
    for piece in pieces:
        is_edge = _NUMBER.fullmatch(piece) and joined and ":" in joined[-1]
        if is_edge:
            joined[-1] += f",{piece.strip()}"
        else:
            joined.append(piece)
    return [_item(piece, text) for piece in joined]


def keys_of_column(text: str) -> tuple[str, Listed]:
    """The name of a column and its keys.

    Example:
        >>> keys_of_column("town=Bern,'Biel, old',null")[1][1:]
        [Word(text='Biel, old', is_quoted=True), Word(text=None, is_quoted=False)]
    """
    match = _KEYS.fullmatch(text)
    if match is None:
        raise ValueError(f"must be a column and its keys, such as town=Bern,Biel, got {text!r}")
    name, listed = _unquoted(match[1]), match[2]
    if not listed.strip():
        raise ValueError(f"must list keys of {name}, such as {name}=a,b, got {text!r}")
    return name, list(_words(listed, text))


def _item(piece: str, whole: str) -> Item:
    match = _ITEM.fullmatch(piece)
    if match is None or not match[1].strip():
        raise ValueError(
            f"must name columns with commas between them, such as town,age:0,18,65, got {whole!r}"
        )
    name, grouping = _unquoted(match[1]), (match[2] or "").strip()
    edges = grouping.split(",")
    if match[2] is None or grouping in _SPANS or all(map(_NUMBER.fullmatch, edges)):
        return Item(name, grouping)
    raise ValueError(
        f"must have edges or month, quarter or year behind the colon, such as {name}:0,18,65, "
        f"got {piece.strip()!r}"
    )


def _words(listed: str, whole: str) -> Iterator[Word]:
    place = 0
    while place <= len(listed):
        match = _WORD.match(listed, place)
        if match is None or (match[1] is None and not match[2]):
            raise ValueError(
                "must list keys with commas between them, and single quotes around a key with "
                f"commas or without letters, got {whole!r}"
            )
        yield _word(match[1], match[2])
        if not match[3]:
            return
        place = match.end()


def _word(quoted: str | None, bare: str) -> Word:
    if quoted is not None:
        return Word(quoted.replace("''", "'"), is_quoted=True)
    return Word(None) if bare.lower() == "null" else Word(bare)


def _unquoted(name: str) -> str:
    name = name.strip()
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
