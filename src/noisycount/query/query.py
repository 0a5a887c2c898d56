"""`Query`, the class of all queries, with its JSON and the rules about the parts that go together.

The module `typed` parses the texts that people type for the parts. `check_query` raises `QueryError` with the names of
the parts; each interface writes these names in its own way. The modules `grouping` and `table` check each part alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any, Self

from noisycount import validation
from noisycount.display.numbers import percent
from noisycount.errors import QueryError
from noisycount.frozen import frozen
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.tables.levels import TOTAL
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

ALL = "true"  # condition that is true of every record


@frozen(kw_only=True)
class Query:
    """A query: one count, several counts or a table by keys, with a price or an accuracy goal.

    `Desk.answer` answers it and `Desk.plan` prices it. `noisycount count`, the service and its form build this same
    class, so that a query has the same meaning and price in every interface. `check_query` checks that the parts go
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
    names = [margin if isinstance(margin, str) else "*".join(margin) or TOTAL for margin in listed]
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


Checks = Iterator[tuple[bool, str]]  # a condition that must not hold, and the error if it holds


def check_query(query: Query, columns: Sequence[str] | None = None, *, has_hidden_keys: bool | None = None) -> None:
    """Raise QueryError if parts of a query do not go together.

    A command calls it before it reads a file, and `plan_of` calls it again once the columns are known.

    Args:
        query: The query.
        columns: The columns by which a table groups; None: the columns that `by` names.
        has_hidden_keys: True if the keys of the table are hidden, and found in the records; None: unknown, since it
            depends on the columns. The next call then runs the checks of hidden keys.
    """
    if columns is None:
        columns = [item.column for item in query.by or () if isinstance(item, ColumnGrouping)]
    if query.delta is None or query.keys is not None:
        has_hidden_keys = False
    checks = [_checks_of_kind(query), _checks_of_price(query)]
    if query.noise is DiscreteGaussian or query.rho is not None:
        checks.append(_checks_of_gaussian_noise(query))
    if query.at_most is not None or query.of is not None:
        checks.append(_checks_of_goal(query, columns))
    if query.by is not None:
        checks.append(_checks_of_cells(query, columns))
    if query.delta is not None and has_hidden_keys is not None:
        checks.append(_checks_of_keys(query, columns, has_hidden_keys=has_hidden_keys))
    _require_all(checks)
    validation.open_probability(query.confidence, "confidence")


def check_unit(query: Query, unit: str | None, *, has_hidden_keys: bool) -> None:
    """Raise QueryError if a table by keys does not suit the privacy unit.

    Args:
        query: The query.
        unit: The column that names the person; None: each row is a privacy unit.
        has_hidden_keys: True if the keys of the table are hidden, and found in the records.
    """
    _require_all([_checks_of_unit(query, unit, has_hidden_keys=has_hidden_keys)])


def _require_all(checks: Sequence[Checks]) -> None:
    for is_broken, sentence in chain.from_iterable(checks):
        if is_broken:
            raise QueryError(sentence)


def _checks_of_kind(query: Query) -> Checks:
    """Yield the checks about arguments that belong together: those of one count, several counts, or a table by keys."""
    is_several = query.is_list or len(query.wheres) > 1
    yield query.by is not None and is_several, "give {by} with one {wheres}, or several {wheres} without {by}"
    grouped = {name: bool(getattr(query, name)) for name in ("other", "margins", "groups_per_unit", "cumulative")}
    for name, is_given in {"keys": query.keys is not None, **grouped}.items():
        yield is_given and query.by is None, f"{{{name}}} belongs to a table: add {{by}}"
    for name in ("noise", "rho", "delta"):
        is_wrong = getattr(query, name) is not None and not query.is_table
        yield is_wrong, f"{{{name}}} belongs to a table: add {{by}}, or several {{wheres}}"


def _checks_of_price(query: Query) -> Checks:
    """Yield the checks of the price: exactly one is given, as a number or as an accuracy."""
    is_noise = query.noise is None or query.noise in TABLE_NOISES.values()
    yield not is_noise, "{noise} must be DiscreteLaplace or DiscreteGaussian, the class"
    is_wrong = query.noise is DiscreteLaplace and query.rho is not None
    yield is_wrong, "{rho} is the price of Gaussian noise: choose {noise:gaussian}, or give {epsilon}"
    given = [f"{{{name}}}" for name in ("epsilon", "rho", "within", "error") if getattr(query, name) is not None]
    choices = "{epsilon}, or {within} with {at_most} or {guess}, such as {within:20%} and {at_most:0.5}"
    yield len(given) != 1, f"give one price: {choices}; got {' and '.join(given) or 'none'}"
    is_half = query.within is not None and (query.guess is None) == (query.at_most is None)
    yield is_half, "{within} needs either {at_most} or a public {guess}: {within:20%} and {at_most:0.5}"
    for name in ("guess", "at_most"):
        is_alone = getattr(query, name) is not None and query.within is None
        yield is_alone, f"{{{name}}} belongs to {{within}}: leave it out"


def _checks_of_gaussian_noise(query: Query) -> Checks:
    """Yield the checks of Gaussian noise."""
    is_wrong = query.epsilon is not None and query.delta is None
    yield is_wrong, "Gaussian noise needs {rho}, or {epsilon} with {delta:1e-6}"
    is_wrong = query.epsilon is None and query.rho is None and query.delta is not None
    yield is_wrong, "{within} finds the price of Gaussian noise in ρ: leave {delta} out"


def _checks_of_goal(query: Query, columns: Sequence[str]) -> Checks:
    """Yield the checks of an accuracy goal without a fixed price."""
    is_open, is_grouped = query.at_most is not None, query.by is not None
    is_wrong = query.of is not None and not (is_open and is_grouped)
    yield is_wrong, "{of} belongs to a table with {by}, {within} and {at_most}: leave it out"
    choices = "{of:largest}, {of:total} or {of:90%-of-cells}"
    yield is_open and is_grouped and query.of is None, f"{{of}} is missing: state which counts are meant, {choices}"
    for name, is_wrong in (
        ("rho", query.rho is not None),
        ("noise", query.noise_class is not DiscreteLaplace),
        ("delta", query.delta is not None),
    ):
        words = f"{{{name}}} does not go with {{at_most}}, which is for Laplace noise and known keys: leave it out"
        yield is_open and is_wrong, words
    yield is_open and query.cumulative, "{at_most} knows no sums of ranges: leave {cumulative} out, or give {epsilon}"
    if query.of is not None:
        try:
            decisive = parse_scope(query.of)
        except ValueError as error:
            raise QueryError("{of} {why}", why=str(error)) from None
        has_total = TOTAL not in columns and any(margin in {TOTAL, "all", ()} for margin in _margins_of_query(query))
        words = "{of:total} needs the total as an answer of its own: add {margins:total}, where no column has that name"
        yield decisive == TOTAL and not has_total, words


def _checks_of_cells(query: Query, columns: Sequence[str]) -> Checks:
    """Yield the checks of the cells and sums of a table by keys."""
    yield query.cumulative and len(columns) > 1, "{cumulative} needs one column in order: leave the others out of {by}"
    for name in ("margins", "other"):
        is_wrong = query.cumulative and bool(getattr(query, name))
        yield is_wrong, f"{{cumulative}} measures all sums of ranges: leave {{{name}}} out"
    groups = query.groups_per_unit
    is_bound = groups is None or (type(groups) is int and groups >= 1)
    yield not is_bound, f"{{groups_per_unit}} must be a whole number from 1, got {groups!r}"


def _checks_of_keys(query: Query, columns: Sequence[str], *, has_hidden_keys: bool) -> Checks:
    """Yield the checks of known keys, or of hidden keys."""
    if has_hidden_keys:
        for name in ("other", "cumulative"):
            yield bool(getattr(query, name)), f"{{{name}}} needs known keys: list {{keys}}, or leave it out"
        has_sums = any(
            margin not in {TOTAL, ()} and not (margin == "all" and len(columns) == 1)
            for margin in _margins_of_query(query)
        )
        yield has_sums, "with hidden keys {margins:total} is the only sum: leave the others out"
    else:
        yield query.rho is not None, "{delta} belongs to hidden keys, or to {epsilon}: leave it out"
        is_wrong = query.noise_class is DiscreteLaplace
        yield is_wrong, "{delta} is for hidden keys and Gaussian noise, and all keys are known: leave it out"


def _checks_of_unit(query: Query, unit: str | None, *, has_hidden_keys: bool) -> Checks:
    """Yield the checks of the contribution bound, the number of groups in which a person counts."""
    groups, is_person = query.groups_per_unit, unit is not None
    is_wrong = groups is not None and not is_person
    yield is_wrong, "{groups_per_unit} is for persons, and a row is in one group only: leave it out"
    words = "{groups_per_unit:1} where persons are counted: a person in several groups would be in a sum several times"
    yield is_person and query.cumulative and groups != 1, f"{{cumulative}} needs {words}"
    words = "state in how many hidden groups a person counts at most, such as {groups_per_unit:1}"
    yield is_person and has_hidden_keys and groups is None, f"{{groups_per_unit}} is missing: {words}"


def _margins_of_query(query: Query) -> list[str | tuple[str, ...]]:
    """Return the margins of a query, each as its name or as a tuple of columns."""
    margins = [query.margins] if isinstance(query.margins, str) else query.margins
    return [margin if isinstance(margin, str) else tuple(margin) for margin in margins]
