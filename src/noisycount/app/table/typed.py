"""Lists as one types them: items with commas between them, and quotes around commas."""

import re
from collections.abc import Iterator

from noisycount.app.table.asked import Item
from noisycount.app.table.keys import Listed, Word

__all__ = ["items", "keys_of_column", "margin_names"]

_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*")
_SPANS = ("month", "quarter", "year")
_NAME = r'"(?:[^"]|"")+"|[^",:=]+'
_ITEM = re.compile(rf"\s*({_NAME})\s*(?::(.*))?", re.DOTALL)
_KEYS = re.compile(rf"\s*({_NAME})\s*=(.*)", re.DOTALL)
_WORD = re.compile(r"\s*(?:'((?:[^']|'')*)'|([^',][^,]*?|))\s*(,|$)", re.DOTALL)
_PIECE = re.compile(r'(?:[^",]|"(?:[^"]|"")*")+|(?<=,)(?=,|$)|^(?=,|$)')


def items(text: str) -> list[Item]:
    """What a table is grouped by; the edges of numbers go on until the next name.

    Raises:
        ValueError: An item is none.

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

    Raises:
        ValueError: The text has another form, or no keys.

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


def margin_names(text: str) -> list[str]:
    """The names of margins.

    Raises:
        ValueError: A name is empty.

    Example:
        >>> margin_names("total, town*sex")
        ['total', 'town*sex']
    """
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ValueError(f"must name margins with commas between them: total,town, got {text!r}")
    return names


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
