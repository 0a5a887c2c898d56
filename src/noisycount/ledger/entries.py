"""Contents of a ledger: requests, debits with their answers, analysts, descriptions of data sets, and the ledger head.

Functions here check the texts that a ledger stores.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from fractions import Fraction
from functools import cached_property, lru_cache
from operator import index
from types import UnionType
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeGuard

from noisycount import validation
from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.ledger.budget import Budget, Loss, budget_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Counts: TypeAlias = "NDArray[np.int64]"
Keys = list[list[int | str | bool | None]]
_SCALARS = {int, str, bool, type(None)}
_REFUSED = "the text of a table must be that of whole counts by level, as a ledger stores it"


@frozen(repr=False, slots=False)
class TableAnswer(Shown):
    """Noisy counts of a table by level, with the keys of the cells if the question did not list them.

    Example:
        >>> answer = TableAnswer.from_levels([[5, -1], [4]])
        >>> answer.text
        '{"levels":[[5,-1],[4]]}'
        >>> answer
        TableAnswer(levels=[2, 1], keys=None)
    """

    # a JSON object with `levels`, a list of lists of counts; with `keys`, a list for each count of the first level, if
    # the keys were hidden; with `order`, if the analyst listed the keys in another order. Parsed at its first use
    text: str

    @classmethod
    def from_levels(
        cls,
        levels: "Sequence[Sequence[int] | Counts]",
        keys: Keys | None = None,
        order: "Sequence[int] | Counts | None" = None,
    ) -> Self:
        """Return the answer with some counts, keys and order.

        Args:
            levels: The counts of each level, the cells first, in the order of the ledger.
            keys: The keys of the first level; None if the question lists them.
            order: For each cell, in the order in which the analyst listed the cells, its index in `levels[0]`. None:
                both orders are the same.
        """
        import numpy as np  # noqa: PLC0415 - on first use: a ledger is opened without it

        arrays = [np.array(level) for level in levels]
        counts = [array.tolist() for array in arrays]
        parts: dict[str, object] = {"levels": counts} if keys is None else {"keys": keys, "levels": counts}
        if order is not None and (places := np.asarray(order).tolist()) != list(range(len(places))):
            parts["order"] = places
        answer = cls(json.dumps(parts, separators=(",", ":")))
        if set(parts) == {"levels"} and all(array.dtype == np.int64 and array.ndim == 1 for array in arrays) and arrays:
            for array in arrays:
                array.flags.writeable = False
            answer.__dict__["_read"] = tuple(arrays), None, None
        else:
            answer.__dict__["_read"] = _parse_table_answer(parts)
        return answer

    @property
    def levels(self) -> tuple[Counts, ...]:
        """Counts of each level, the cells first, as read-only arrays."""
        return self._read[0]

    @property
    def keys(self) -> Keys | None:
        """Keys of each cell; None if the question lists them."""
        return self._read[1]

    @property
    def order(self) -> "Counts | None":
        """Index in `levels[0]` of each cell in the order of the analyst; None if both orders are the same."""
        return self._read[2]

    def check(self) -> None:
        """Raise ValueError if the text is not that of a table."""
        self._read  # noqa: B018 - parsing raises the error

    @cached_property
    def _read(self) -> "tuple[tuple[Counts, ...], Keys | None, Counts | None]":
        try:
            parts = json.loads(self.text)
        except (ValueError, TypeError, RecursionError):
            raise ValueError(_REFUSED) from None
        return _parse_table_answer(parts)

    def _facts(self) -> dict[str, object]:
        return {"levels": [level.tolist() for level in self.levels], "keys": self.keys}

    def _key_facts(self) -> dict[str, object]:
        sizes = [len(level) for level in self.levels]
        return {"levels": sizes, "keys": None if self.keys is None else len(self.keys)}


def _parse_table_answer(parts: object) -> "tuple[tuple[Counts, ...], Keys | None, Counts | None]":
    """Return the counts of each level, the keys and the order of the cells from parsed JSON, or raise ValueError."""
    if not isinstance(parts, dict) or not {"levels"} <= parts.keys() <= {"levels", "keys", "order"}:
        raise ValueError(_REFUSED)
    levels, keys, order = parts["levels"], parts.get("keys"), parts.get("order")
    if not (_are_lists(levels) and levels and all(_have_types(level, {int}) for level in levels)):
        raise ValueError(_REFUSED)
    if keys is not None and not _are_keys(keys, len(levels[0])):
        raise ValueError(_REFUSED)
    if order is not None and not _is_order(order, len(levels[0])):
        raise ValueError(_REFUSED)
    import numpy as np  # noqa: PLC0415 - on first use

    try:
        counts = tuple(np.array(level, dtype=np.int64) for level in levels)
    except OverflowError:
        raise ValueError(_REFUSED) from None
    for level in counts:
        level.flags.writeable = False
    return counts, keys, None if order is None else np.array(order, dtype=np.int64)


def _is_order(order: object, cells: int) -> bool:
    """Return True if a list holds the index of every cell exactly once."""
    return isinstance(order, list) and _have_types(order, {int}) and sorted(order) == list(range(cells))


def _are_keys(keys: object, cells: int) -> bool:
    """Return True if there is one list of keys for each cell, and all lists have the same length."""
    return (
        _are_lists(keys)
        and len(keys) == cells
        and len(set(map(len, keys))) <= 1
        and all(_have_types(key, _SCALARS) for key in keys)
    )


def _are_lists(value: object) -> TypeGuard[list[list[object]]]:
    return isinstance(value, list) and _have_types(value, {list})


def _have_types(values: Iterable[object], kinds: set[type]) -> bool:
    """Return True if the type of every value is exactly one of some types. A subclass does not count."""
    return set(map(type, values)) <= kinds


LONGEST_NAME = 200  # characters of the name of a key, a data set or an analyst
_SHOWN = 40  # characters of a long text that an error shows, so that the error fits on a line
_SHOWN_VALUE = 80  # characters of another value that an error shows
_LONGEST_ANSWER = 14_000  # bits; Python by default converts no integer of more than 4300 digits to text


def check_text(name: str, value: str, longest: int = LONGEST_NAME) -> None:
    """Raise ValueError unless a value is a text of 1 to `longest` printable characters.

    Example:
        >>> check_text("key", "")
        Traceback (most recent call last):
            ...
        ValueError: key must be 1 to 200 printable characters, got ''
    """
    if not isinstance(value, str):
        kind = type(value).__name__
        raise ValueError(f"{name} must be 1 to {longest} printable characters, got a {kind}")  # noqa: TRY004
    if not 1 <= len(value) <= longest or not value.isprintable():
        shown_text = repr(value if len(value) <= LONGEST_NAME else f"{value[:_SHOWN]}...")
        raise ValueError(f"{name} must be 1 to {longest} printable characters, got {shown_text}")


def check_purpose(purpose: str | None) -> None:
    """Raise ValueError if a purpose is blank, too long or not printable. None means that no purpose is stated."""
    if purpose is None:
        return
    check_text("purpose", purpose)
    if not purpose.strip():
        raise ValueError(f"purpose must say what the answer is for, got {purpose[:_SHOWN]!r}")


def check_type(name: str, value: object, kind: type | UnionType) -> None:
    """Raise ValueError if an argument is not of a type."""
    if not isinstance(value, kind):
        wanted = getattr(kind, "__name__", kind)
        raise ValueError(f"{name} must be of type {wanted}, got a {type(value).__name__}")  # noqa: TRY004


def storable_answer(answer: int | TableAnswer) -> int | TableAnswer:
    """Return an answer as a Python integer, or as a table whose text was parsed. Raise ValueError for other values."""
    if isinstance(answer, TableAnswer):
        answer.check()
        return answer
    try:
        whole = index(answer)
    except TypeError:
        whole = None
    if whole is None or isinstance(answer, bool):
        raise ValueError(f"answer must be a whole number, got {repr(answer)[:_SHOWN_VALUE]}")
    if whole.bit_length() > _LONGEST_ANSWER:
        raise ValueError(f"answer must be below 2^{_LONGEST_ANSWER}, got one that is not")
    return whole


ANALYST = "analyst"  # name of the analyst if none is given
_PRICES = 1024  # prices in the cache
_LONGEST_QUESTION = 10_000_000  # characters: a question about a table may list up to a million keys


@frozen(slots=False)
class Request(Shown):
    """Question about one data set at one price, in ε or in ρ.

    Example:
        >>> Request("survey", "age > 40", Fraction(1, 10)).digest[:8]
        'a2fff9aa'
        >>> Request("survey", "by town", None, rho=Fraction(1, 10)).price
        Loss(epsilon=None, rho=Fraction(1, 10), delta=Fraction(0, 1))
    """

    dataset: str  # name of the data set, whose budget pays
    question: str  # text that determines the count and its noise; usually a JSON object
    # price in ε; a value that `exact_epsilon` accepts, kept as a rational. None: the price is in ρ
    epsilon: Fraction | None
    # price of Gaussian noise in ρ, in the range of `exact_epsilon`; None: the price is in ε. A top-up under Laplace
    # noise has both: the difference in ε, and the amount that the top-up adds to a sum of ρ
    rho: Fraction | None = None
    # δ: probability with which the privacy loss may exceed the price; 0, or a value that `exact_answer_delta` accepts
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        check_text("dataset", self.dataset)
        check_text("question", self.question, _LONGEST_QUESTION)
        if self.epsilon is None and self.rho is None:
            raise ValueError("a price must be in epsilon or in rho: give one")
        is_difference = (self.epsilon is not None and self.rho is not None) or '"replaces": ' in self.question
        exact = _check_difference if is_difference else validation.exact_epsilon
        for name in ("epsilon", "rho"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, exact(value, name))
        if self.delta != 0:
            object.__setattr__(self, "delta", validation.exact_answer_delta(self.delta, "delta"))

    @cached_property
    def price(self) -> Loss:
        """Privacy loss that the request is charged."""
        return _price(self.epsilon, self.rho, self.delta)

    @cached_property
    def loss(self) -> Loss:
        """Privacy loss of the answer together with the answers that it tops up, which the question states as `price`.

        If the question states none, it is the price of the request.
        """
        stated = self.asked.get("price")
        if not isinstance(stated, dict):
            return self.price
        delta = validation.exact_value(stated.get("delta", "0"))
        if "rho" in stated:
            return Loss.concentrated(validation.exact_value(stated["rho"]), delta)
        return Loss.from_epsilon(validation.exact_value(stated["epsilon"]), delta)

    @cached_property
    def asked(self) -> Mapping[str, Any]:
        """Parts of the question by name; empty if the question is not the text of a JSON object."""
        try:
            members = json.loads(self.question)
        except (ValueError, RecursionError):
            return {}
        return members if isinstance(members, dict) else {}

    @property
    def currency(self) -> dict[str, Fraction]:
        """The charged amount by the name of its currency: `rho` if there is no ε, else `epsilon`."""
        return {"rho": self.rho} if self.epsilon is None else {"epsilon": self.epsilon}  # type: ignore[dict-item]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the request in hexadecimal digits. No two requests have the same encoding."""
        parts = [self.dataset, self.question, validation.optional_text(self.epsilon)]
        if self.rho is not None or self.delta:
            parts += [validation.optional_text(self.rho), validation.exact_text(self.delta)]
        return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()


@lru_cache(maxsize=_PRICES)
def _price(epsilon: Fraction | None, rho: Fraction | None, delta: Fraction) -> Loss:
    """Return the loss of a price. It is cached, as most requests of a ledger have one of a few prices."""
    if epsilon is None:
        return Loss.concentrated(rho, delta)  # type: ignore[arg-type]  # a request without ε has a ρ
    return Loss.from_epsilon(epsilon, delta) if rho is None else Loss(epsilon, rho, delta)


def _check_difference(value: Fraction, name: str) -> Fraction:
    """Return the price of a top-up as an exact rational. Raise ValueError if it is negative.

    It is a difference of two prices. So it may be 0, and have more digits than a price that an analyst may ask.
    """
    number = validation.exact_rational(value, name)
    if number < 0:
        raise ValueError(f"{name} must be at least 0 where an answer is topped up, got {validation.exact_text(number)}")
    return number


@frozen
class Analyst(Shown):
    """Analyst with an optional budget for all questions together, over all data sets.

    Example:
        >>> Analyst("alice", budget_of("0.5")).budget
        PureBudget(epsilon=Fraction(1, 2))
    """

    name: str = ANALYST  # name in the ledger; at most 200 printable characters
    budget: Budget | None = None  # a number is kept as a budget in ε; None: only the budgets of the data sets apply
    sees_all: bool = False  # True if the analyst may see the questions of others, as the owner of a service may

    def __post_init__(self) -> None:
        check_text("analyst", self.name)
        if self.budget is not None:
            object.__setattr__(self, "budget", budget_of(self.budget))

    def may_see(self, askers: Iterable[str]) -> bool:
        """Return True if the analyst is among the askers of a debit, or may see all debits."""
        return self.sees_all or self.name in askers


@frozen
class Repeat(Shown):
    """Repeat by another analyst of a question that is already paid for. It costs nothing."""

    analyst: str  # analyst who repeated the question
    made: datetime  # time of the analyst's first repeat, in UTC
    purpose: str | None = None  # purpose of the answer in the analyst's words; None: not stated

    def __post_init__(self) -> None:
        check_text("analyst", self.analyst)
        check_purpose(self.purpose)
        if self.made.utcoffset() != timedelta(0):
            raise ValueError(f"made must be in UTC, got {self.made.isoformat()}")


@frozen(repr=False)
class Entry(Shown):
    """Debit with its answer, if one is stored."""

    key: str  # name of the debit; at most 200 printable characters
    request: Request  # the question and the charged price
    spent: Loss  # total loss of the data set, this debit included
    made: datetime  # time of the debit, in UTC
    answer: int | TableAnswer | None  # the noisy count in privacy units, or the counts of a table; None: not stored yet
    analyst: str  # analyst who asked first and paid
    analyst_spent: Loss  # total loss of the analyst over all data sets, this debit included
    # purpose of the answer in the analyst's words; at most 200 printable characters. None: not stated
    purpose: str | None = None
    repeats: tuple[Repeat, ...] = ()  # later repeats by other analysts
    replaces: tuple[str, ...] = ()  # keys of the debits that this debit tops up, the nearest first
    base: "Entry | None" = field(default=None, repr=False)  # the first of these debits that has an answer, if any

    def __post_init__(self) -> None:
        check_text("key", self.key)
        check_text("analyst", self.analyst)
        check_purpose(self.purpose)
        price = self.request.price
        for name, total in (("spent", self.spent), ("analyst_spent", self.analyst_spent)):
            if not total.includes(price):
                raise ValueError(f"{name} must include the price, got {total.text}")
        if self.made.utcoffset() != timedelta(0):
            raise ValueError(f"made must be in UTC, got {self.made.isoformat()}")

    @property
    def loss(self) -> Loss:
        """Privacy loss of the answer together with the answers that it tops up."""
        return self.request.loss

    @property
    def askers(self) -> tuple[str, ...]:
        """Names of the analysts who asked for the answer. The first of them paid."""
        return self.analyst, *(repeat.analyst for repeat in self.repeats)

    @property
    def purposes(self) -> tuple[str | None, ...]:
        """Purposes of the answer, one for each of the askers; None: not stated."""
        return self.purpose, *(repeat.purpose for repeat in self.repeats)

    def _key_facts(self) -> dict[str, object]:
        question_facts = {"dataset": self.request.dataset, **self.request.currency}
        purpose_facts = {} if self.purpose is None else {"purpose": self.purpose}
        return {"key": self.key, **question_facts, "answer": self.answer, "analyst": self.analyst, **purpose_facts}


def asked_part(entry: Entry, part: str) -> str | None:
    """Return a part of the question of an entry if it is a text, else None."""
    text = entry.request.asked.get(part)
    return text if isinstance(text, str) else None


def asks_for_table(entry: Entry) -> bool:
    """Return True if an entry asks for a table: several counts."""
    return "table" in entry.request.asked


_LONGEST_DESCRIPTION = 10_000_000  # characters: enough to describe the columns of a wide table


def check_description(text: str) -> None:
    """Raise ValueError unless the description of a data set is a JSON object that states the privacy unit."""
    check_text("description", text, _LONGEST_DESCRIPTION)
    try:
        unit_of(text)
    except (ValueError, TypeError, KeyError):
        shown_text = repr(text[:80])
        raise ValueError(f"description must be a JSON object with a unit, got {shown_text}") from None


def unit_of(description: str) -> str | None:
    """Return the column that identifies the person, from the description of a data set; None: rows are counted."""
    unit = json.loads(description)["unit"]
    if not isinstance(unit, str | None):
        raise ValueError(f"unit must be a text or null, got {repr(unit)[:80]}")  # noqa: TRY004
    return unit


def edition_of(description: str) -> str | None:
    """Return the edition of the records that a description names, or None if it names no edition."""
    edition: str | None = json.loads(description).get("edition")
    return edition


_HEAD = re.compile(r"([0-9]{1,18}):([0-9a-f]{32,64})")
_HEAD_FORM = "be a number, a colon and 32 to 64 hexadecimal digits, as `noisycount ledger verify` prints it"
_NO_HASH = "0" * 64


@frozen
class Head:
    """Ledger head: number and hash of the newest row. An owner who writes it down can later detect removed rows.

    Example:
        >>> Head.read(f"12:{'ab' * 16}").names("ab" * 32)
        True
    """

    number: int = 0  # number of the newest row, and so of all rows
    # hash of the newest row in hexadecimal digits; zeros if there is no row. In a head that an owner wrote down, the
    # first 32 digits are enough
    hash: str = _NO_HASH

    def __post_init__(self) -> None:
        text = f"{self.number}:{self.hash}"
        if _HEAD.fullmatch(text) is None:
            raise ValueError(f"head must {_HEAD_FORM}, got {text[:80]!r}")
        object.__setattr__(self, "number", int(self.number))

    @classmethod
    def read(cls, text: str) -> Self:
        """Read a head from a text such as "12:abab…". Raise ValueError if the text has another form."""
        if not isinstance(text, str):
            raise ValueError(f"head must {_HEAD_FORM}, got a {type(text).__name__}")  # noqa: TRY004
        match = _HEAD.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"head must {_HEAD_FORM}, got {text[:80]!r}")
        return cls(int(match[1]), match[2])

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"

    def names(self, row_hash: str) -> bool:
        """Return True if the hash of a row begins with the hash of this head."""
        return row_hash.startswith(self.hash)
