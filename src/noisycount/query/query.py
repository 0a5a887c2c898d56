"""`Query`, the class of all queries, with its JSON.

The module `typed` parses the texts that people type for its parts, and `rules` checks that the parts go together.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Self

from noisycount import validation
from noisycount.display.numbers import percent
from noisycount.frozen import frozen
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.schema import key_to_json
from noisycount.query.typed import (
    ColumnGrouping,
    Keys,
    TypedKey,
    TypedKeys,
    parse_by,
    parse_confidence,
    parse_margins,
    parse_scope,
    parse_within,
)

# Kinds of noise that a table may have, by their names.
TABLE_NOISES: Mapping[str, type[DiscreteNoise]] = {"laplace": DiscreteLaplace, "gaussian": DiscreteGaussian}

# Types of the members of a query in JSON. A price may also be a number, which then means its shortest decimal.
_PRICE = (str, int, float)
_JSON_NAMES: Mapping[tuple[type, ...], str] = {
    (str, list): "a text or a list",
    (dict,): "an object",
    (list,): "a list",
    (bool,): "true or false",
    (int,): "a whole number",
    (str,): "a text",
    _PRICE: "a text or a number",
    (int, float): "a number",
}

_TOTAL = "total"

ALL = "true"  # condition that is true of every record


@frozen(kw_only=True)
class Query:
    """A query: one count, several counts or a table by keys, with a price or an accuracy goal.

    `Desk.answer` answers it and `Desk.plan` prices it. `noisycount count`, the service and its form build this same
    class, so that a query has the same meaning and price in every interface. `query.rules` checks that the parts go
    together.

    Args:
        wheres: Conditions in the predicate language. A count has one (default: all records), a list has several, and a
            table by keys has at most one, which applies to every cell.
        is_list: True for a list: one row for each condition, even if there is only one.
        by: Columns by which a table groups, as in `Desk.release_table`. None: no table by keys.
        keys: The keys of each column by its name, or the keys of each cell. None: they follow from the columns, or are
            hidden, which needs `delta`.
        margins: Sums of a table to measure besides the cells.
        other: True to count units with other keys in one more cell.
        groups_per_unit: Contribution bound: the number of cells in which a person counts. None: every cell.
        cumulative: True to measure ranges of cells as well, for accurate sums up to each cell.
        noise: Class of the noise of a table. None: `DiscreteGaussian` if `rho` is given, else `DiscreteLaplace`.
        epsilon: The price, in ε.
        rho: The price of Gaussian noise, in ρ.
        delta: δ of hidden keys, or of the price of Gaussian noise in ε.
        within: The accuracy in place of a price, as a share of the count, such as "20%".
        error: The accuracy in place of a price, in units.
        at_most: With `within` and without `guess`: the largest price, in ε.
        of: With `at_most`: the counts of a table that need the accuracy, "largest", "total" or "90%-of-cells".
        guess: With `within`: a public guess of the count, never the true count.
        confidence: The probability with which errors and the accuracy hold, in (0, 1).

    Example:
        >>> import noisycount as nc
        >>> nc.Query(by=["town"], keys={"town": ["Bern"]}, within="20%", guess=100).to_json()
        {'by': ['town'], 'keys': {'town': ['Bern']}, 'within': '20%', 'guess': 100, 'confidence': '95%'}
    """

    wheres: Sequence[str] = ()
    is_list: bool = False
    by: str | Sequence[str | ColumnGrouping] | None = None
    keys: Keys | None = None
    margins: str | Sequence[str | Sequence[str]] = ()
    other: bool = False
    groups_per_unit: int | None = None
    cumulative: bool = False
    noise: type[DiscreteNoise] | None = None
    epsilon: validation.RationalLike | None = None
    rho: validation.RationalLike | None = None
    delta: validation.RationalLike | None = None
    within: str | float | Fraction | None = None
    error: float | Fraction | None = None
    at_most: validation.RationalLike | None = None
    of: str | None = None
    guess: float | Fraction | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        """Set the condition of a count that states none to all records."""
        if not self.wheres and not self.is_table:
            object.__setattr__(self, "wheres", (ALL,))

    @classmethod
    def from_json(cls, sent: Mapping[str, Any]) -> Self:
        """Return the query that a program sends as JSON, with the member names of the service.

        A key such as "1..5" is that text, never a range. A list of conditions is a list even if it has one condition,
        except with `by`. `error` is a member too; the service does not take it.

        Raises:
            ValueError: A member is unknown, or its value is invalid. The message begins with the name of the member.

        Example:
            >>> import noisycount as nc
            >>> sent = {"by": "town", "keys": {"town": ["Bern", None]}, "epsilon": "1/2"}
            >>> nc.Query.from_json(sent).to_json()
            {'by': ['town'], 'keys': {'town': ['Bern', None]}, 'epsilon': '0.5', 'confidence': '95%'}
        """
        members = {name: value for name, value in sent.items() if value is not None}
        for name, value in members.items():
            _check_member(name, value)
        where = members.pop("where", [])
        parts = {name: _MEMBERS[name][1](name, value) for name, value in members.items()}
        is_list = isinstance(where, list) and bool(where) and not parts.get("by")
        return cls(wheres=_list_of_texts(where), is_list=is_list, **parts)

    def to_json(self) -> dict[str, Any]:
        """Return the query as JSON, which a program can send. `from_json` reads it as a query with the same meaning.

        Raises:
            ValueError: JSON cannot state a part: keys that are listed cell by cell, a range of keys, a margin
                whose name has a comma, or a number without a decimal text.
        """
        noises = {kind: name for name, kind in TABLE_NOISES.items()}
        by = [self.by] if isinstance(self.by, str) else self.by or []
        has_several = self.is_list or len(self.wheres) > 1
        members = {
            "where": list(self.wheres) if has_several else next(iter(self.wheres), None),
            "by": [each.typed if isinstance(each, ColumnGrouping) else each for each in by],
            "keys": _keys_to_json(self.keys),
            "other": self.other,
            "margins": _margins_to_json(self.margins),
            "groups_per_unit": self.groups_per_unit,
            "cumulative": self.cumulative,
            "noise": self.noise and noises[self.noise],
            "epsilon": _price_to_json(self.epsilon),
            "rho": _price_to_json(self.rho),
            "delta": _price_to_json(self.delta),
            "within": self.within if isinstance(self.within, str) else _share_to_json("within", self.within),
            "error": _number_to_json("error", self.error),
            "at_most": _price_to_json(self.at_most),
            "of": self.of,
            "guess": _number_to_json("guess", self.guess),
            "confidence": _share_to_json("confidence", self.confidence),
        }
        return {name: value for name, value in members.items() if value}

    @property
    def is_table(self) -> bool:
        """True for a list or a table by keys, False for one count."""
        return self.is_list or self.by is not None

    @property
    def noise_class(self) -> type[DiscreteNoise]:
        """Class of the noise: the chosen one, else Gaussian for a price in ρ and Laplace for one in ε."""
        return self.noise or (DiscreteLaplace if self.rho is None else DiscreteGaussian)


def _member_parser(parse: Callable[[Any], Any]) -> Callable[[str, Any], Any]:
    """Return a parser that takes a member's name and value, and begins the message of its ValueError with the name."""

    def read(name: str, value: Any) -> Any:  # noqa: ANN401 - a value of JSON
        try:
            return parse(value)
        except ValueError as error:
            raise ValueError(f"{name} {error}") from None

    return read


def _read_price(name: str, value: validation.RationalLike) -> Fraction:
    return validation.exact_epsilon(value, name)


def _read_keys(_: str, keys: Mapping[str, Sequence[object]]) -> Mapping[str, TypedKeys] | None:
    """Return the keys of each column as typed keys, none of which is a range; None if no column has keys."""
    texts = {
        column: [str(value).lower() if isinstance(value, bool) else value for value in values]
        for column, values in keys.items()
    }
    return {
        column: [TypedKey(None if text is None else str(text), is_quoted=True) for text in values]
        for column, values in texts.items()
    } or None


def _unchanged(_: str, value: Any) -> Any:  # noqa: ANN401 - a value of JSON
    return value


# For each member of a query in JSON: its types, and the function that reads its value.
_MEMBERS: Mapping[str, tuple[tuple[type, ...], Callable[[str, Any], Any]]] = {
    "where": ((str, list), _unchanged),
    "by": ((str, list), _member_parser(lambda typed: parse_by(_list_of_texts(typed)) or None)),
    "keys": ((dict,), _read_keys),
    "margins": ((list,), _member_parser(parse_margins)),
    "other": ((bool,), _unchanged),
    "groups_per_unit": ((int,), _unchanged),
    "cumulative": ((bool,), _unchanged),
    "noise": ((str,), lambda _, name: TABLE_NOISES[name]),
    "epsilon": (_PRICE, _read_price),
    "rho": (_PRICE, _read_price),
    "delta": (_PRICE, lambda _, value: validation.exact_delta(value)),
    "within": ((str,), _member_parser(parse_within)),
    "at_most": (_PRICE, _read_price),
    "of": ((str,), _member_parser(parse_scope)),
    "error": ((int, float), _unchanged),
    "guess": ((int, float), _unchanged),
    "confidence": ((str,), _member_parser(parse_confidence)),
}


def _check_member(name: str, value: object) -> None:
    """Raise ValueError if a query has no member of this name, or if the value has another type than the member."""
    if name not in _MEMBERS:
        raise ValueError(f"{name} is no member of a query: use one of {', '.join(_MEMBERS)}")
    allowed = _MEMBERS[name][0]
    if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
        raise ValueError(f"{name} must be {_JSON_NAMES[allowed]} in JSON, not {value!r}")
    if isinstance(value, list) and not all(isinstance(each, str) for each in value):
        raise ValueError(f"{name} must be a list of texts, not {value!r}")
    if name == "noise" and value not in TABLE_NOISES:
        raise ValueError(f"noise must be {' or '.join(TABLE_NOISES)}, not {value!r}")
    if isinstance(value, dict):
        for column, keys in value.items():
            if not isinstance(keys, list) or not all(isinstance(key, str | int | None) for key in keys):
                raise ValueError(f"{name} must list texts, whole numbers, true, false or null for {column!r}")


def _list_of_texts(texts: str | Sequence[str]) -> Sequence[str]:
    return [texts] if isinstance(texts, str) else texts


def _keys_to_json(keys: Keys | None) -> dict[str, list[int | str | bool | None]]:
    """Return keys by column as JSON."""
    if keys is None:
        return {}
    if not isinstance(keys, Mapping):
        raise ValueError("keys must be listed by column in JSON, not cell by cell")  # noqa: TRY004
    return {column: [_key_to_json(column, key) for key in column_keys] for column, column_keys in keys.items()}


def _key_to_json(column: str, key: object) -> int | str | bool | None:
    """Return a key as JSON. Raise ValueError for a range, as JSON states each key in full."""
    if isinstance(key, TypedKey):
        if key.is_range:
            raise ValueError(f"keys of {column} have the range {key.text}: list each key in JSON")
        return key.text
    return key_to_json(key)


def _margins_to_json(margins: str | Sequence[str | Sequence[str]]) -> list[str]:
    """Return the names of margins as JSON, columns joined by `*`. Raise ValueError for a comma: it separates names."""
    listed = [margins] if isinstance(margins, str) else margins
    names = [margin if isinstance(margin, str) else "*".join(margin) or _TOTAL for margin in listed]
    for name in names:
        if "," in name:
            raise ValueError(f"margins must be names without commas in JSON, not {name!r}")
    return names


def _price_to_json(value: validation.RationalLike | None) -> str | None:
    number = None if value is None or isinstance(value, str) else validation.parse_rational(value)
    return validation.exact_text(number) if number is not None else value  # type: ignore[return-value]


def _number_to_json(name: str, value: float | Fraction | None) -> float | None:
    """Return a number as JSON. Raise ValueError if no float stands for it exactly, as for 1/3."""
    if value is None or not isinstance(value, Fraction):
        return value
    number = int(value) if value.denominator == 1 else float(value)
    if Fraction(str(number)) != value:
        raise ValueError(f"{name} must be a decimal number in JSON, not {value}")
    return number


def _share_to_json(name: str, share: float | Fraction | None) -> str | None:
    number = _number_to_json(name, share)
    return None if number is None else percent(float(number)).replace(" ", "")
