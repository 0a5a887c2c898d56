"""The form of a question, as it was sent: kept as typed, and read once it is whole."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from noisycount.app.server.pages.ask.conditions import Condition, Grouping, where_of
from noisycount.app.server.pages.ask.operators import FormError
from noisycount.app.server.pages.ask.price import Price
from noisycount.release.question.schema import Kind

__all__ = ["AskForm"]

_MOST_ROWS = 50
_MOST_GROUPS = 10**9


@dataclass(frozen=True, slots=True)
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
    price: Price = Price()  # noqa: RUF009 - frozen
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
