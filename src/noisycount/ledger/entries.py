"""What a ledger holds: requests, the debits that they became, their answers, and its newest row."""

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
    """Noisy counts by level, and the keys that are shown where nobody knew them.

    Example:
        >>> answer = TableAnswer.of([[5, -1], [4]])
        >>> answer.text
        '{"levels":[[5,-1],[4]]}'
        >>> answer
        TableAnswer(levels=[2, 1], keys=None)
    """

    # a JSON object with `levels`, a list of lists of counts; with `keys`, one list a count of the first level, if keys
    # were hidden; with `order`, if the asker listed the keys in another order. Read at its first use
    text: str

    @classmethod
    def of(
        cls,
        levels: "Sequence[Sequence[int] | Counts]",
        keys: Keys | None = None,
        order: "Sequence[int] | Counts | None" = None,
    ) -> Self:
        """Return the answer that holds these counts, and the order in which the asker listed those of the first level.

        Args:
            levels: The counts of each level, the cells first, in the order of the ledger.
            keys: The keys of the first level; None if the question has them.
            order: For each count of the first level, as the asker listed them, its place in the ledger.
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
            answer.__dict__["_read"] = _checked(parts)
        return answer

    @property
    def levels(self) -> tuple[Counts, ...]:
        """The counts of each level, the cells first."""
        return self._read[0]

    @property
    def keys(self) -> Keys | None:
        """The keys of each cell; None: they are in the question."""
        return self._read[1]

    @property
    def order(self) -> "Counts | None":
        """For each count of the first level, as its asker listed them, its place in `levels`; None: the same order."""
        return self._read[2]

    def check(self) -> None:
        """Refuse a text that no ledger wrote."""
        self._read  # noqa: B018 - it is the reading that refuses

    @cached_property
    def _read(self) -> "tuple[tuple[Counts, ...], Keys | None, Counts | None]":
        try:
            parts = json.loads(self.text)
        except (ValueError, TypeError, RecursionError):
            raise ValueError(_REFUSED) from None
        return _checked(parts)

    def _facts(self) -> dict[str, object]:
        return {"levels": [level.tolist() for level in self.levels], "keys": self.keys}

    def _key_facts(self) -> dict[str, object]:
        sizes = [len(level) for level in self.levels]
        return {"levels": sizes, "keys": None if self.keys is None else len(self.keys)}


def _checked(parts: object) -> "tuple[tuple[Counts, ...], Keys | None, Counts | None]":
    """Return the counts, the keys and the order of an object of JSON, or raise ValueError."""
    if not isinstance(parts, dict) or not {"levels"} <= parts.keys() <= {"levels", "keys", "order"}:
        raise ValueError(_REFUSED)
    levels, keys, order = parts["levels"], parts.get("keys"), parts.get("order")
    if not (_are_lists(levels) and levels and all(_only(level, {int}) for level in levels)):
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
    """Return True if these are the places of all cells, each once."""
    return isinstance(order, list) and _only(order, {int}) and sorted(order) == list(range(cells))


def _are_keys(keys: object, cells: int) -> bool:
    """Whether these are one list of values a cell, all of one length."""
    return (
        _are_lists(keys)
        and len(keys) == cells
        and len(set(map(len, keys))) <= 1
        and all(_only(key, _SCALARS) for key in keys)
    )


def _are_lists(value: object) -> TypeGuard[list[list[object]]]:
    return isinstance(value, list) and _only(value, {list})


def _only(values: Iterable[object], kinds: set[type]) -> bool:
    """Whether all values are of these very types."""
    return set(map(type, values)) <= kinds


LONGEST_NAME = 200  # of keys, data sets and analysts: more than people type, less than a line
_SHOWN = 40  # characters of a long text, 80 of another value: they fit on a line
_SHOWN_VALUE = 80
_LONGEST_ANSWER = 14_000  # bits; Python writes no integer of more than 4300 digits


def check_text(name: str, value: str, longest: int = LONGEST_NAME) -> None:
    """Refuse what is no text, or one that is empty, too long or not printable.

    Example:
        >>> check_text("key", "")
        Traceback (most recent call last):
            ...
        ValueError: key must be 1 to 200 printable characters, got ''
    """
    if not isinstance(value, str):
        found = type(value).__name__
        raise ValueError(f"{name} must be 1 to {longest} printable characters, got a {found}")  # noqa: TRY004
    if not 1 <= len(value) <= longest or not value.isprintable():
        shown = repr(value if len(value) <= LONGEST_NAME else f"{value[:_SHOWN]}...")
        raise ValueError(f"{name} must be 1 to {longest} printable characters, got {shown}")


def check_purpose(purpose: str | None) -> None:
    """Refuse a purpose that says nothing, or more than fits on a line; None: none was said."""
    if purpose is None:
        return
    check_text("purpose", purpose)
    if not purpose.strip():
        raise ValueError(f"purpose must say what the answer is for, got {purpose[:_SHOWN]!r}")


def check_type(name: str, value: object, kind: type | UnionType) -> None:
    """Refuse an argument of another type."""
    if not isinstance(value, kind):
        wanted = getattr(kind, "__name__", kind)
        raise ValueError(f"{name} must be of type {wanted}, got a {type(value).__name__}")  # noqa: TRY004


def storable_answer(answer: int | TableAnswer) -> int | TableAnswer:
    """An answer as an integer of Python's own, or as a table that can be read again."""
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


ANALYST = "analyst"  # who asks where nobody is named
_PRICES = 1024  # that are remembered
_LONGEST_QUESTION = 10_000_000  # characters: those of a table name up to a million keys


@frozen(slots=False)
class Request(Shown):
    """One question to one data set at one price, which is in ε or in ρ.

    Example:
        >>> Request("survey", "age > 40", Fraction(1, 10)).digest[:8]
        'a2fff9aa'
        >>> Request("survey", "by town", None, rho=Fraction(1, 10)).price
        Loss(epsilon=None, rho=Fraction(1, 10), delta=Fraction(0, 1))
    """

    dataset: str  # whose budget pays
    question: str  # everything that decides what is counted and what noise is added, as text
    # the price, in units of privacy loss; whatever `exact_epsilon` takes is kept as a rational. None: the price
    # is in ρ
    epsilon: Fraction | None
    # the price of Gaussian noise, in the range of `exact_epsilon`; None: it is in ε. Of a question that tops up an
    # answer under Laplace noise both are given: ε is the difference, and ρ what that adds to a sum of ρ
    rho: Fraction | None = None
    # the probability with which the answer may cost more; whatever `exact_answer_delta` takes, or 0
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        check_text("dataset", self.dataset)
        check_text("question", self.question, _LONGEST_QUESTION)
        if self.epsilon is None and self.rho is None:
            raise ValueError("a price must be in epsilon or in rho: give one")
        is_difference = (self.epsilon is not None and self.rho is not None) or '"replaces": ' in self.question
        exact = _difference if is_difference else validation.exact_epsilon
        for name in ("epsilon", "rho"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, exact(value, name))
        if self.delta != 0:
            object.__setattr__(self, "delta", validation.exact_answer_delta(self.delta, "delta"))

    def forms(self, formers: "Sequence[Request]") -> "Sequence[Request]":
        """All forms in which a ledger may hold it; of several that were made the first counts."""
        return formers if self in formers else (self, *formers)

    @cached_property
    def price(self) -> Loss:
        """What the answer costs."""
        return _price(self.epsilon, self.rho, self.delta)

    @cached_property
    def asked(self) -> Mapping[str, Any]:
        """The parts of the question; none where no desk wrote it."""
        try:
            parts = json.loads(self.question)
        except (ValueError, RecursionError):
            return {}
        return parts if isinstance(parts, dict) else {}

    @property
    def currency(self) -> dict[str, Fraction]:
        """The sum that is charged, under the name of what it is in."""
        return {"rho": self.rho} if self.epsilon is None else {"epsilon": self.epsilon}  # type: ignore[dict-item]

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of an encoding that no other request shares, in hexadecimal digits."""
        parts = [self.dataset, self.question, validation.optional_text(self.epsilon)]
        if self.rho is not None or self.delta:
            parts += [validation.optional_text(self.rho), validation.exact_text(self.delta)]
        return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()


@lru_cache(maxsize=_PRICES)
def _price(epsilon: Fraction | None, rho: Fraction | None, delta: Fraction) -> Loss:
    """What an answer costs: most requests of a ledger have one of a few prices."""
    if epsilon is None:
        return Loss.concentrated(rho, delta)  # type: ignore[arg-type]  # there is one of both
    return Loss.of(epsilon, delta) if rho is None else Loss(epsilon, rho, delta)


def _difference(value: Fraction, name: str) -> Fraction:
    """A price of a top-up: the difference of two, which need have no short form."""
    number = validation.exact_rational(value, name)
    if number < 0:
        raise ValueError(f"{name} must be at least 0 where an answer is topped up, got {validation.exact_text(number)}")
    return number


@frozen
class Analyst(Shown):
    """Who asks, and what their questions may cost together, whatever data sets they are about.

    Example:
        >>> Analyst("alice", budget_of("0.5")).budget
        PureBudget(epsilon=Fraction(1, 2))
    """

    name: str = ANALYST  # what the ledger calls the analyst; at most 200 printable characters
    budget: Budget | None = None  # a number is kept as a budget in ε; None: only the data sets' budgets bind
    sees_all: bool = False  # whether they may know what others asked, as the owner of a service may

    def __post_init__(self) -> None:
        check_text("analyst", self.name)
        if self.budget is not None:
            object.__setattr__(self, "budget", budget_of(self.budget))

    def may_see(self, askers: Iterable[str]) -> bool:
        """Return True if the analyst may know of a debit: its askers include the analyst, or the analyst sees all."""
        return self.sees_all or self.name in askers


@frozen
class Repeat(Shown):
    """That somebody else asked for what was debited, which is free."""

    analyst: str
    made: datetime  # when first, in UTC
    purpose: str | None = None  # what the answer is for, in their words; None: nobody said so

    def __post_init__(self) -> None:
        check_text("analyst", self.analyst)
        check_purpose(self.purpose)
        if self.made.utcoffset() != timedelta(0):
            raise ValueError(f"made must be in UTC, got {self.made.isoformat()}")


@frozen(repr=False)
class Entry(Shown):
    """One debit, and its answer once there is one."""

    key: str  # what its first request was called; at most 200 printable characters
    request: Request  # what was asked, and at what price
    spent: Loss  # what the data set has paid in all, this debit included
    made: datetime  # when, in UTC
    answer: int | TableAnswer | None  # the noisy count in units, or the counts of a table; None while none was stored
    analyst: str  # who asked
    analyst_spent: Loss  # what the analyst's questions have cost in all, this debit included
    # what the answer is for, in the asker's words; at most 200 printable characters. None: nobody said so
    purpose: str | None = None
    repeats: tuple[Repeat, ...] = ()  # who else asked for it later
    replaces: tuple[str, ...] = ()  # the keys of what it tops up, the next one first
    base: "Entry | None" = field(default=None, repr=False)  # the first of these that has an answer, if one has

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
        """What its answer cost, with all that it replaces."""
        return stated_loss(self.request.asked) or self.request.price

    @property
    def askers(self) -> tuple[str, ...]:
        """Who asked for it; the first of them paid."""
        return self.analyst, *(repeat.analyst for repeat in self.repeats)

    @property
    def purposes(self) -> tuple[str | None, ...]:
        """What the answer is for, in the words of each of them."""
        return self.purpose, *(repeat.purpose for repeat in self.repeats)

    def _key_facts(self) -> dict[str, object]:
        asked = {"dataset": self.request.dataset, **self.request.currency}
        told = {} if self.purpose is None else {"purpose": self.purpose}
        return {"key": self.key, **asked, "answer": self.answer, "analyst": self.analyst, **told}


def stated_loss(asked: Mapping[str, Any]) -> Loss | None:
    """What an answer cost with all that it replaces, where a question says so: where it tops one up."""
    price = asked.get("price")
    if not isinstance(price, dict):
        return None
    delta = validation.exact_value(price.get("delta", "0"))
    if "rho" in price:
        return Loss.concentrated(validation.exact_value(price["rho"]), delta)
    return Loss.of(validation.exact_value(price["epsilon"]), delta)


def asked_part(entry: Entry, part: str) -> str | None:
    """A part of a question that is a text; None where it has none."""
    found = entry.request.asked.get(part)
    return found if isinstance(found, str) else None


def asks_for_table(entry: Entry) -> bool:
    """Whether an entry asks for several counts."""
    return "table" in entry.request.asked


_LONGEST_DESCRIPTION = 10_000_000  # characters: some of each of the columns of a wide table


def check_description(text: str) -> None:
    """Refuse a description of a data set that says nothing of the unit."""
    check_text("description", text, _LONGEST_DESCRIPTION)
    try:
        unit_of(text)
    except (ValueError, TypeError, KeyError):
        shown = repr(text[:80])
        raise ValueError(f"description must be a JSON object with a unit, got {shown}") from None


def unit_of(description: str) -> str | None:
    """The column that names the person in a data set, by its description; None: rows count."""
    unit = json.loads(description)["unit"]
    if not isinstance(unit, str | None):
        raise ValueError(f"unit must be a text or null, got {repr(unit)[:80]}")  # noqa: TRY004
    return unit


def edition_of(description: str) -> str | None:
    """Return the edition of the records that a description names; None: it names none."""
    edition: str | None = json.loads(description).get("edition")
    return edition


_HEAD = re.compile(r"([0-9]{1,18}):([0-9a-f]{32,64})")
_HEAD_FORM = "be a number, a colon and 32 to 64 hexadecimal digits, as `noisycount ledger verify` prints it"
_NO_HASH = "0" * 64


@frozen
class Head:
    """The newest row of a ledger: what an owner writes down to recognise the ledger by.

    Example:
        >>> Head.read(f"12:{'ab' * 16}").names("ab" * 32)
        True
    """

    number: int = 0  # how many rows there are
    # the hash of the newest, in hexadecimal digits; zeros where there is none. Of one that was written down the
    # first 32 digits are enough
    hash: str = _NO_HASH

    def __post_init__(self) -> None:
        if _HEAD.fullmatch(str(self)) is None:
            raise ValueError(f"head must {_HEAD_FORM}, got {str(self)[:80]!r}")
        object.__setattr__(self, "number", int(self.number))

    @classmethod
    def read(cls, text: str) -> Self:
        """The head that a text denotes."""
        if not isinstance(text, str):
            raise ValueError(f"head must {_HEAD_FORM}, got a {type(text).__name__}")  # noqa: TRY004
        match = _HEAD.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"head must {_HEAD_FORM}, got {text[:80]!r}")
        return cls(int(match[1]), match[2])

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"

    def names(self, row_hash: str) -> bool:
        """Whether a row with this hash is the one that was written down."""
        return row_hash.startswith(self.hash)
