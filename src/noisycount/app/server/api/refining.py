"""The best estimate of a count from its noisy answers and what everybody knows."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from noisycount.app.options.common import as_confidence
from noisycount.app.options.population import as_rate
from noisycount.app.server.api.bodies import JsonRoute
from noisycount.app.server.api.noises import Noise, Scale, stated_noise
from noisycount.app.server.api.shapes import Shape, listed, members, responses
from noisycount.app.server.spending.values import said
from noisycount.app.server.visitors import Asking, Open
from noisycount.errors import NoisyCountError
from noisycount.model.noises.additive import AdditiveNoise

if TYPE_CHECKING:
    from noisycount.app.refine.estimate import Refinement

__all__ = ["router"]

router = APIRouter(tags=["meaning"], route_class=JsonRoute)

_ASKED: dict[str, JsonValue] = {"answers": [107], "size": 5912, "rate": "1.7%", "epsilon": "0.15"}
_SHAPE: Shape = members(
    answer="number",
    answers=listed({"type": "number"}),
    size="integer",
    epsilon="string|null",
    mechanism="string",
    scale="string",
    mean="number",
    median="integer",
    mode="integer",
    standard_deviation="number",
    interval=listed({"type": "integer"}),
    level="number",
    surprise="number",
    warning="string|null",
)
_EXAMPLE = {
    "answer": 107,
    "answers": [107],
    "answer_deviation": 9.4,
    "size": 5912,
    "rate": 0.017,
    "rate_deviation": 0.0,
    "groups": None,
    "flat": False,
    "expected": 100.5,
    "expected_deviation": 9.9,
    "epsilon": "0.15",
    "mechanism": "discrete Laplace",
    "scale": "20/3",
    "mean": 103.4,
    "median": 104,
    "mode": 106,
    "standard_deviation": 7.0,
    "interval": [89, 117],
    "level": 0.95,
    "surprise": 0.57,
    "warning": None,
}


class Refining(BaseModel):
    """Noisy answers about one count, and what is assumed about it; the names are of `refine`."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"example": _ASKED})

    answers: Annotated[
        list[Annotated[int | float, Field(ge=-(2**53), le=2**53)]],
        Field(min_length=1, max_length=1000, description="About one count, each with its noise."),
    ]
    size: Annotated[int, Field(ge=1, le=2**53, description="How many records there are,")]
    rate: Annotated[
        str | None,
        Field(
            max_length=100,
            description="and the chance that each counts: 30%, or 30%±2%; left out: each count is"
            " as likely.",
        ),
    ] = None
    epsilon: Annotated[
        str | None, Field(max_length=100, description="The price of each answer of `count`.")
    ] = None
    noise: Noise = None
    scale: Scale = None
    level: Annotated[str, Field(max_length=100, description="The probability of the interval.")] = (
        "95%"
    )

    def refinement(self) -> "Refinement":
        """The estimate.

        Raises:
            NoisyCountError: A member cannot be read.
            ValueError: The noise cannot give one of the answers.
        """
        from noisycount.app.refine.assumption import Assumed  # noqa: PLC0415 - loads the laws
        from noisycount.app.refine.estimate import Refinement  # noqa: PLC0415 - the same

        assumed = Assumed.of_size(self.size)
        if self.rate is not None:
            assumed = Assumed.of_rate(self.size, said("rate", as_rate, self.rate))
        level = said("level", as_confidence, self.level)
        return Refinement.of(self.answers, assumed, self._law, level)

    @property
    def _law(self) -> AdditiveNoise:
        """The noise of each answer."""
        stated = stated_noise("epsilon", self.epsilon, self.noise, self.scale)
        if stated is not None:
            return stated
        raise NoisyCountError(
            'give either epsilon, or both noise and scale, such as {"noise": "gaussian", "scale":'
            ' "10"}'
        )


@router.post("/v1/refine", responses=responses(_SHAPE, _EXAMPLE, also=[504]))
def refine(asked: Refining, _: Asking, office: Open) -> dict[str, Any]:
    """The estimate of a count from noisy answers and a public rate; no record is read."""
    return office.computed(partial(_told, asked))


def _told(asked: Refining) -> dict[str, Any]:
    from noisycount.app.refine.wire import refinement_object  # noqa: PLC0415 - loads the laws

    return refinement_object(asked.refinement())
