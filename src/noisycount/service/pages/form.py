"""What a question of a form may cost, or how near its answer should be.

The form of a question, as it was sent: kept as typed, and read once it is whole.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self

from noisycount.display.numbers import exact_text
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.ledger.exact import exact_epsilon
from noisycount.query.schema import Kind
from noisycount.readers.common import number, share, ungrouped
from noisycount.service.pages.conditions import Condition, FormError, Grouping, where_of
from noisycount.tasks.plan import planned_error

__all__ = ["AskForm", "Price"]


_LARGEST = 2**53


@frozen
class Price:
    """A goal or an ε, as typed.

    Attributes:
        is_goal: Whether the goal decides; else ε does.
        within: How near: units such as `15`, or a share of the guess such as `20%`.
        guess: A public guess of the count, in units.
        confidence: With what probability; errors are stated for it.
        epsilon: The price.
    """

    is_goal: bool = True
    within: str = "20"
    guess: str = ""
    confidence: str = "95%"
    epsilon: str = "0.1"

    @property
    def sure(self) -> float:
        """The confidence.

        Raises:
            FormError: It is none.
        """
        found = share(self.confidence.strip())
        if 0 < found < 1:
            return found
        raise FormError(
            "confidence",
            f"confidence must lie between 0 and 100%, such as 95%, got {self.confidence!r}",
        )

    @property
    def guessed(self) -> float | None:
        """The guess, if there is one.

        Raises:
            FormError: It is none.
        """
        if not self.guess.strip():
            return None
        found = number(self.guess.strip())
        if 0 < found <= _LARGEST:
            return found
        raise FormError("guess", f"guess must be a number above 0, such as 100, got {self.guess!r}")

    def of_count(self) -> dict[str, Any]:
        """What one count may cost, as a program sends it.

        Raises:
            FormError: A field cannot be read, or no ledger keeps the price.
        """
        if not self.is_goal or self._is_share:
            return self.of_rows()
        try:
            plan = planned_error(self._units(), self.sure)
        except NoisyCountError as error:
            raise FormError("within", str(error)) from None
        return {"epsilon": exact_text(plan.epsilon), "confidence": self.confidence.strip()}

    def of_rows(self) -> dict[str, Any]:
        """The same of every row of a table.

        Raises:
            FormError: A field cannot be read.
        """
        sent = {"confidence": self.confidence.strip()}
        if self.sure and not self.is_goal:
            return {"epsilon": exact_text(self._exactly()), **sent}
        if self._is_share:
            return {"within": self._share(), "guess": self._of_guess(), **sent}
        return {"within": "100%", "guess": float(self._units()), **sent}

    @property
    def _is_share(self) -> bool:
        return "%" in self.within

    def _exactly(self) -> Fraction:
        try:
            return exact_epsilon(self.epsilon.strip())
        except ValueError as error:
            raise FormError("epsilon", str(error)) from None

    def _units(self) -> Fraction:
        text = ungrouped(self.within.strip().removeprefix("±").strip())
        found = number(text)
        if 0 < found <= _LARGEST:
            return Fraction(text)
        raise FormError(
            "within", f"within must be a number above 0, such as 20 or 20%, got {self.within!r}"
        )

    def _share(self) -> str:
        if 0 < share(self.within.strip()) <= 1:
            return self.within.strip()
        raise FormError(
            "within", f"within must be above 0 and at most 100%, such as 20%, got {self.within!r}"
        )

    def _of_guess(self) -> float:
        if self.guessed is None:
            raise FormError(
                "guess", f"within {self.within.strip()} of how many? Give a public guess"
            )
        return self.guessed


_MOST_ROWS = 50


_MOST_GROUPS = 10**9


@frozen
class AskForm:
    """What somebody typed to ask of a data set.

    Attributes:
        conditions: The rows of the builder.
        text: What was typed freely.
        groups: The columns of a table; none: one count.
        price: What it may cost, or how near the answer should be.
        total: Whether the sum of a table is measured too.
        other: Whether all other keys together are a row.
        delta: The chance to show a hidden key; empty: keys are listed.
        groups_per_unit: In how many groups a person counts at most; empty: in all.
        purpose: What the answer is for.
    """

    conditions: tuple[Condition, ...] = ()
    text: str = ""
    groups: tuple[Grouping, ...] = ()
    price: Price = Price()
    total: bool = False
    other: bool = False
    delta: str = ""
    groups_per_unit: str = ""
    purpose: str = ""

    @classmethod
    def of(cls, sent: Any) -> Self:  # noqa: ANN401 - a multi-dict, whose class is Starlette's
        """The form that a browser sent; what it did not send is empty.

        Args:
            sent: The fields, of which several may have one name.
        """

        def text(name: str) -> str:
            return str(sent.get(name, ""))

        def texts(name: str) -> list[str]:
            return list(map(str, sent.getlist(name)))[:_MOST_ROWS]

        low_high = zip(texts("low"), texts("high"), strict=False)
        rows = zip(texts("column"), texts("operator"), low_high, strict=False)
        groups = zip(texts("group"), texts("split"), texts("keys"), strict=False)
        return cls(
            conditions=tuple(Condition(*row) for row in rows),
            text=text("where"),
            groups=tuple(Grouping(*group) for group in groups),
            price=Price(
                is_goal=text("goal") != "epsilon",
                within=text("within"),
                guess=text("guess"),
                confidence=text("confidence"),
                epsilon=text("epsilon"),
            ),
            total="total" in sent,
            other="other" in sent,
            delta=text("delta"),
            groups_per_unit=text("groups_per_unit"),
            purpose=text("purpose"),
        )

    def changed(self, sent: Any) -> Self | None:  # noqa: ANN401 - as in `of`
        """The form with a row more or less, if its sender pressed a button for that; else None."""
        if "add" in sent:
            return replace(
                self, conditions=(*self.conditions, Condition(str(sent.get("chosen", ""))))
            )
        if "add_group" in sent:
            return replace(self, groups=(*self.groups, Grouping(str(sent.get("chosen_group", "")))))
        if "remove" in sent:
            return replace(self, conditions=_without(self.conditions, str(sent["remove"])))
        if "remove_group" in sent:
            return replace(self, groups=_without(self.groups, str(sent["remove_group"])))
        return None

    def body(self, columns: Mapping[str, Kind]) -> dict[str, Any]:
        """What is asked, as a program sends it to `releases`.

        Args:
            columns: What questions may use.

        Raises:
            FormError: A field cannot be read.
        """
        where = where_of(self.conditions, self.text, columns)
        if where is None and not self.groups:
            raise FormError("where", "there is no question: add a condition, or group by a column")
        sent = {} if where is None else {"where": where}
        if self.groups:
            return {**sent, **self._table(columns), **self.price.of_rows()}
        return {**sent, **self.price.of_count()}

    def _table(self, columns: Mapping[str, Kind]) -> dict[str, Any]:
        """The groups, and what goes with them."""
        groups = list(enumerate(self.groups))
        keys = {group.column: group.listed(place, columns) for place, group in groups}
        said: dict[str, Any] = {
            "by": [group.item(place) for place, group in groups],
            "keys": {column: listed for column, listed in keys.items() if listed is not None},
            "other": self.other,
            "margins": ["total"] if self.total else [],
            "groups_per_unit": self._groups_per_unit(),
            "delta": self.delta.strip() or None,
        }
        return {name: value for name, value in said.items() if value}

    def _groups_per_unit(self) -> int | None:
        typed = self.groups_per_unit.strip()
        if not typed:
            return None
        if not (typed.isascii() and typed.isdigit() and 0 < int(typed) < _MOST_GROUPS):
            raise FormError(
                "groups_per_unit", f"groups per person must be a whole number from 1, got {typed!r}"
            )
        return int(typed)


def _without(rows: tuple[Any, ...], place: str) -> tuple[Any, ...]:
    """The rows but for one."""
    return tuple(row for number, row in enumerate(rows) if str(number) != place)
