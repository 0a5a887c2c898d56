"""What an answer reveals about one person."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from noisycount.app.options.common import as_epsilon
from noisycount.app.options.population import as_rate
from noisycount.app.server.api.bodies import JsonRoute
from noisycount.app.server.api.noises import Noise, Scale, stated_noise
from noisycount.app.server.api.shapes import Shape, listed, members, responses
from noisycount.app.server.spending.values import said
from noisycount.app.server.visitors import Asking, Open
from noisycount.errors import NoisyCountError

if TYPE_CHECKING:
    from noisycount.app.risk.risk import Risks
    from noisycount.model.exact import Exact
    from noisycount.model.noises.additive import AdditiveNoise

__all__ = ["router"]

router = APIRouter(tags=["meaning"], route_class=JsonRoute)

_LARGEST = 10**9  # records: what one request may make a server compute
_ASKED: dict[str, JsonValue] = {"size": 1000, "rate": "10%", "price": "0.15"}
_SHAPE: Shape = members(
    size="integer",
    mechanism="string",
    scale="string|null",
    epsilon="string",
    odds="string",
    standard_error="number",
    adversaries=listed(
        members(
            adversary="string",
            knows="string",
            delta="number",
            bracket=listed({"type": "number"}),
            guess="number",
            usual_delta="number",
            usual_epsilon="number|null",
            meaning="string",
        )
    ),
    cautions={"type": "object", "additionalProperties": {"type": "string"}},
)
_EXAMPLE = {
    "size": 1000,
    "mechanism": "discrete Laplace",
    "scale": "20/3",
    "epsilon": "0.15",
    "odds": "a 50:50 guess about one person becomes at most 54:46",
    "standard_error": 9.4,
    "adversaries": [
        {
            "adversary": "worst case",
            "knows": "all other records",
            "delta": 0.0,
            "bracket": [0.0, 1e-16],
            "guess": 0.537,
            "usual_delta": 1e-6,
            "usual_epsilon": 0.15,
            "meaning": "the best guess about one person is right in 53.7 % of cases",
        }
    ],
    "cautions": {},
}

_Records = Annotated[int, Field(ge=1, le=_LARGEST)]


class Revealing(BaseModel):
    """A count, how it is answered, and who knows what; the names are those of `risk`."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"example": _ASKED})

    size: Annotated[_Records, Field(description="How many records there are,")]
    rate: Annotated[
        str, Field(max_length=100, description="and the chance that each counts: 30% or 30%±2%.")
    ]
    price: Annotated[
        str | None, Field(max_length=100, description="The price of an answer of `count`.")
    ] = None
    noise: Noise = None
    scale: Scale = None
    sample: Annotated[
        _Records | None, Field(description="Only so many records are drawn and counted.")
    ] = None
    known: Annotated[_Records | None, Field(description="An adversary knows so many records,")] = (
        None
    )
    known_positives: Annotated[
        int | None, Field(ge=0, le=_LARGEST, description="of which so many count.")
    ] = None
    epsilon: Annotated[
        str | None, Field(max_length=100, description="The ε at which δ is told.")
    ] = None

    def risks(self) -> "Risks":
        """What the answer reveals.

        Raises:
            NoisyCountError: A member cannot be read, or they do not go together.
            ValueError: The property is certain.
        """
        from noisycount.app.refine.assumption import Assumed  # noqa: PLC0415 - loads the laws
        from noisycount.app.risk.risk import Risks  # noqa: PLC0415 - the same
        from noisycount.app.risk.setting import Setting  # noqa: PLC0415 - the same

        assumed = Assumed.of_rate(self.size, said("rate", as_rate, self.rate))
        setting = Setting(assumed, self._law, self.sample, self.known, self.known_positives)
        epsilon = None if self.epsilon is None else said("epsilon", as_epsilon, self.epsilon)
        return Risks.of(setting, epsilon, lambda _: None)

    @property
    def _law(self) -> "AdditiveNoise | Exact":
        """What is added to the count."""
        stated = stated_noise("price", self.price, self.noise, self.scale)
        if stated is not None:
            return stated
        if self.price is None and self.noise == "none" and self.scale is None:
            from noisycount.model.exact import Exact  # noqa: PLC0415 - loads the laws

            return Exact()
        raise NoisyCountError(
            'give one of price, noise "none", or a kind of noise with its scale, such as {"noise":'
            ' "laplace", "scale": "3"}'
        )


@router.post("/v1/risk", responses=responses(_SHAPE, _EXAMPLE, also=[504]))
def risk(asked: Revealing, _: Asking, office: Open) -> dict[str, Any]:
    """What an answer reveals to those who know more or less; no record is read."""
    return office.computed(partial(_told, asked))


def _told(asked: Revealing) -> dict[str, Any]:
    from noisycount.app.risk.wire import risks_object  # noqa: PLC0415 - loads the laws

    return risks_object(asked.risks())
