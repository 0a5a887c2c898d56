"""What is asked of a data set, as JSON: a count, several questions, or a table."""

import json
from fractions import Fraction
from hashlib import sha256
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from noisycount.app.options.common import as_confidence, as_within
from noisycount.app.options.table import as_items, as_margins
from noisycount.app.server.spending.values import said
from noisycount.app.table.asked import Asked
from noisycount.app.table.keys import Listed, Word
from noisycount.app.table.pricing import RowGoal
from noisycount.app.table.question import Pay
from noisycount.app.table.refusals import check_asked
from noisycount.errors import NoisyCountError
from noisycount.release.budget.exact import exact_delta, exact_epsilon

__all__ = ["COUNT_EXAMPLE", "MANY_EXAMPLE", "TABLE_EXAMPLE", "Question"]

_LONGEST_TEXT = 20_000
_ONE_PRICE = (
    "give either epsilon, or both within and guess, such as"
    ' {"within": "20%", "guess": 100}; a table under Gaussian noise may have rho'
)
COUNT_EXAMPLE: dict[str, JsonValue] = {"where": "health = 'poor'", "within": "20%", "guess": 100}
MANY_EXAMPLE: dict[str, JsonValue] = {"where": ["health = 'poor'", "age >= 65"], "epsilon": "0.2"}
TABLE_EXAMPLE: dict[str, JsonValue] = {
    "by": ["health"],
    "keys": {"health": ["poor", "fair", "good", "excellent"]},
    "epsilon": "0.5",
    "groups_per_unit": 1,
}

_Text = Annotated[str, Field(min_length=1, max_length=_LONGEST_TEXT)]
_Price = Annotated[str, Field(max_length=100, examples=["0.15"])]
_Key = Annotated[str, Field(max_length=1000)] | int | bool | None


class Question(BaseModel):
    """A count, several questions or a table, and its price; the names are those of `count`."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={"examples": [COUNT_EXAMPLE, MANY_EXAMPLE, TABLE_EXAMPLE]},
    )

    where: Annotated[
        _Text | Annotated[list[_Text], Field(max_length=10_000)],
        Field(description="What to count, as in SQL's WHERE; several: a table."),
    ] = Field(default=[])
    epsilon: Annotated[_Price | None, Field(description="The price: 0.1 or 1/3, as text.")] = None
    within: Annotated[
        Annotated[str, Field(max_length=100)] | None,
        Field(description="Or: how far off the answer may be, such as 20%,"),
    ] = None
    guess: Annotated[
        int | float | None,
        Field(gt=0, le=2**53, description="of about how many: a public guess."),
    ] = None
    confidence: Annotated[
        str, Field(max_length=100, description="With what probability; errors are stated for it.")
    ] = "95%"
    by: Annotated[
        _Text | Annotated[list[_Text], Field(max_length=16)],
        Field(description="A table: columns, such as town, age:0,18,65 or visit:month."),
    ] = Field(default=[])
    keys: Annotated[
        dict[str, list[_Key]], Field(max_length=16, description="The keys of columns of the table.")
    ] = Field(default={})
    other: Annotated[bool, Field(description="One more row for all other keys together.")] = False
    margins: Annotated[
        list[_Text], Field(max_length=64, description="Sums that are measured too, or all.")
    ] = Field(default=[])
    groups_per_unit: Annotated[
        int | None,
        Field(ge=1, le=2**53, description="In at most so many groups a person is counted."),
    ] = None
    cumulative: Annotated[bool, Field(description="Ranges are measured too.")] = False
    noise: Annotated[
        Literal["laplace", "gaussian"] | None, Field(description="Of a table; left out: laplace.")
    ] = None
    rho: Annotated[_Price | None, Field(description="The price of Gaussian noise.")] = None
    delta: Annotated[
        _Price | None, Field(description="For hidden keys, or Gaussian noise with epsilon.")
    ] = None
    purpose: Annotated[
        str | None,
        Field(max_length=1000, description="What the answer is for; the ledger keeps it."),
    ] = None

    @property
    def digest(self) -> str:
        """The SHA-256 of all that it says, in hexadecimal digits; how it is written does not count.

        What is left out says nothing, so that a member that comes later changes no digest.
        """
        said = self.model_dump(mode="json", exclude_unset=True)
        return sha256(json.dumps(said, sort_keys=True).encode("ascii")).hexdigest()

    def asked(self) -> Asked:
        """The question, of which all is checked that needs no data set.

        Raises:
            NoisyCountError: It makes no sense as it stands.
            UsageError: Parts of it do not belong together.
        """
        asked = Asked(
            by=said("by", as_items, _listed(self.by)),
            keys={name: _words(values) for name, values in self.keys.items()},
            other=self.other,
            wheres=_listed(self.where),
            noise=self.noise,
            rho=_price("rho", self.rho),
            delta=None if self.delta is None else exact_delta(self.delta),
            margins=said("margins", as_margins, self.margins),
            groups_per_unit=self.groups_per_unit,
            cumulative=self.cumulative,
        )
        check_asked(asked, self._epsilon, self._within)
        return asked

    @property
    def pay(self) -> Pay:
        """The price, or how near each row should be.

        Raises:
            NoisyCountError: There is none, or more than one.
        """
        epsilon, within = self._epsilon, self._within
        confidence = said("confidence", as_confidence, self.confidence)
        is_priced = epsilon is not None or self.rho is not None
        if is_priced and within is None and self.guess is None:
            return Pay(epsilon, None, confidence)
        if epsilon is None and within is not None and self.guess is not None:
            return Pay(None, RowGoal(within, self.guess, confidence), confidence)
        raise NoisyCountError(_ONE_PRICE)

    @property
    def _epsilon(self) -> Fraction | None:
        return _price("epsilon", self.epsilon)

    @property
    def _within(self) -> float | None:
        return None if self.within is None else said("within", as_within, self.within)


def _price(name: str, text: str | None) -> Fraction | None:
    return None if text is None else exact_epsilon(text, name)


def _listed(texts: str | list[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else texts


def _words(values: list[_Key]) -> Listed:
    """Keys as they stand: no text is a range."""
    return [Word(_word(value), is_quoted=True) for value in values]


def _word(value: _Key) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)
