"""`Query`, the class of all queries, with its JSON.

The module `typed` parses the texts that people type for its parts, and `rules` checks that the parts go together.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Self, TypeVar

from noisycount import validation
from noisycount.display.numbers import percent
from noisycount.frozen import frozen
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.typed import (
    ColumnGrouping,
    Keys,
    TypedKey,
    TypedKeys,
    parse_by,
    parse_confidence,
    parse_margins,
    parse_of,
    parse_within,
)

# Kinds of noise that a table may have, by their names.
TABLE_NOISES: Mapping[str, type[DiscreteNoise]] = {"laplace": DiscreteLaplace, "gaussian": DiscreteGaussian}

# Types of the members of a query in JSON. A price may also be a number, which then means its shortest decimal.
_PRICE = (str, int, float)
_MEMBER_TYPES: Mapping[str, tuple[type, ...]] = {
    "where": (str, list),
    "by": (str, list),
    "keys": (dict,),
    "margins": (list,),
    "other": (bool,),
    "groups_per_unit": (int,),
    "cumulative": (bool,),
    "noise": (str,),
    "epsilon": _PRICE,
    "rho": _PRICE,
    "delta": _PRICE,
    "within": (str,),
    "at_most": _PRICE,
    "of": (str,),
    "guess": (int, float),
    "confidence": (str,),
}
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
    def from_json(cls, said: Mapping[str, Any]) -> Self:
        """Return the query that a program sends as JSON, with the member names of the service.

        A key is taken literally, never as a range.

        Raises:
            ValueError: A member is unknown, or its value is invalid. The message begins with the name of the member.

        Example:
            >>> import noisycount as nc
            >>> sent = {"by": "town", "keys": {"town": ["Bern", None]}, "epsilon": "1/2"}
            >>> nc.Query.from_json(sent).to_json()
            {'by': ['town'], 'keys': {'town': ['Bern', None]}, 'epsilon': '0.5', 'confidence': '95%'}
        """
        said = {name: value for name, value in said.items() if value is not None}
        for name, value in said.items():
            _check_member(name, value)
        wheres = _listed(said.get("where", []))
        return cls(
            wheres=wheres,
            is_list=len(wheres) > 1,
            by=_named("by", parse_by, _listed(said.get("by", []))) or None,
            keys={name: _sent_keys(of) for name, of in said.get("keys", {}).items()} or None,
            margins=_named("margins", parse_margins, said.get("margins", [])),
            other=said.get("other", False),
            groups_per_unit=said.get("groups_per_unit"),
            cumulative=said.get("cumulative", False),
            noise=TABLE_NOISES[said["noise"]] if said.get("noise") else None,
            epsilon=None if said.get("epsilon") is None else validation.exact_epsilon(said["epsilon"], "epsilon"),
            rho=None if said.get("rho") is None else validation.exact_epsilon(said["rho"], "rho"),
            delta=None if said.get("delta") is None else validation.exact_delta(said["delta"]),
            within=_named("within", parse_within, said["within"]) if said.get("within") else None,
            at_most=None if said.get("at_most") is None else validation.exact_epsilon(said["at_most"], "at_most"),
            of=_named("of", parse_of, said["of"]) if said.get("of") else None,
            guess=said.get("guess"),
            confidence=_named("confidence", parse_confidence, said.get("confidence", "95%")),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the query as JSON, which a program sends and which `from_json` reads.

        Keys must be listed by column, each in full, not as a range.
        """
        noises = {kind: name for name, kind in TABLE_NOISES.items()}
        by = [self.by] if isinstance(self.by, str) else self.by or []
        keys = self.keys if isinstance(self.keys, Mapping) else {}
        said = {
            "where": list(self.wheres) if self.is_list else next(iter(self.wheres), None),
            "by": [each.typed if isinstance(each, ColumnGrouping) else each for each in by],
            "keys": {name: [key.text if isinstance(key, TypedKey) else key for key in of] for name, of in keys.items()},
            "other": self.other,
            "margins": [self.margins] if isinstance(self.margins, str) else list(self.margins),
            "groups_per_unit": self.groups_per_unit,
            "cumulative": self.cumulative,
            "noise": self.noise and noises[self.noise],
            "epsilon": _sent_price(self.epsilon),
            "rho": _sent_price(self.rho),
            "delta": _sent_price(self.delta),
            "within": self.within if isinstance(self.within, str) else _sent_share(self.within),
            "at_most": _sent_price(self.at_most),
            "of": self.of,
            "guess": self.guess,
            "confidence": _sent_share(self.confidence),
        }
        return {name: value for name, value in said.items() if value}

    @property
    def is_table(self) -> bool:
        """True for a list or a table by keys, False for one count."""
        return self.is_list or self.by is not None

    @property
    def noise_class(self) -> type[DiscreteNoise]:
        """Class of the noise: the chosen one, else Gaussian for a price in ρ and Laplace for one in ε."""
        return self.noise or (DiscreteLaplace if self.rho is None else DiscreteGaussian)


Typed = TypeVar("Typed", str, Sequence[str])
Value = TypeVar("Value")


def _named(name: str, read: Callable[[Typed], Value], typed: Typed) -> Value:
    """Return the value of a member. The message of a ValueError begins with the name of the member."""
    try:
        return read(typed)
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None


def _check_member(name: str, value: object) -> None:
    """Raise ValueError if a query has no member of this name, or if the value has another type than the member."""
    if name not in _MEMBER_TYPES:
        raise ValueError(f"{name} is no member of a query: use one of {', '.join(_MEMBER_TYPES)}")
    allowed = _MEMBER_TYPES[name]
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


def _listed(texts: str | Sequence[str]) -> Sequence[str]:
    return [texts] if isinstance(texts, str) else texts


def _sent_keys(values: Sequence[object]) -> TypedKeys:
    texts = [str(value).lower() if isinstance(value, bool) else value for value in values]
    return [TypedKey(None if text is None else str(text), is_quoted=True) for text in texts]


def _sent_price(value: validation.RationalLike | None) -> str | None:
    number = None if value is None or isinstance(value, str) else validation.parse_rational(value)
    return validation.exact_text(number) if number is not None else value  # type: ignore[return-value]


def _sent_share(share: float | Fraction | None) -> str | None:
    return None if share is None else percent(float(share)).replace(" ", "")
