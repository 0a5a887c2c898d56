"""The members of a request that say which noise an answer has.

The best estimate of a count from its noisy answers and what everybody knows.

What an answer reveals about one person.

The routes for programs that are loaded later: all but that of health.
"""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from noisycount.errors import NoisyCountError
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.readers.common import as_confidence, as_epsilon
from noisycount.readers.population import NOISE_OPTIONS, as_rate, as_scale, noise_of_options
from noisycount.service.api.questions import (
    datasets_routes,
    plans_routes,
    rehearsals_routes,
    releases_routes,
)
from noisycount.service.bodies import JsonRoute, Shape, listed, members, responses
from noisycount.service.spend import said
from noisycount.service.users import Asking, State

if TYPE_CHECKING:
    from noisycount.model.exact import Exact
    from noisycount.tasks.refine.estimate import Refinement
    from noisycount.tasks.risk.risk import Risks

__all__ = ["router"]


KINDS = ", ".join(NOISE_OPTIONS)


Noise = Annotated[str | None, Field(max_length=100, description=f"Or: a kind of noise, {KINDS},")]


"""The kind."""


Scale = Annotated[
    str | None, Field(max_length=100, description="and its scale in records: 10 or 20/3.")
]


"""The scale."""


def additive_noise(noise: str, scale: str) -> AdditiveNoise:
    """The noise of a kind and a scale.

    Raises:
        NoisyCountError: There is no such noise.

    Example:
        >>> additive_noise("gaussian", "10").name
        'Gaussian'
    """
    if noise not in NOISE_OPTIONS:
        raise NoisyCountError(f"noise must be one of {KINDS}, got {noise[:40]!r}")
    return noise_of_options(noise, said("scale", as_scale, scale))


def stated_noise(
    member: str, price: str | None, noise: str | None, scale: str | None
) -> AdditiveNoise | None:
    """The noise of a price, or of a kind and a scale; None: neither is stated, or more than one.

    Args:
        member: What the price is called in the request.
        price: The ε of an answer of `count`.
        noise: The kind.
        scale: In records.

    Raises:
        NoisyCountError: There is no such noise.

    Example:
        >>> stated_noise("price", "0.5", None, None).name
        'discrete Laplace'
    """
    if price is not None and noise is None and scale is None:
        return DiscreteLaplace.for_epsilon(said(member, as_epsilon, price))
    if price is None and noise is not None and scale is not None:
        return additive_noise(noise, scale)
    return None


refining_routes = APIRouter(tags=["meaning"], route_class=JsonRoute)


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
        from noisycount.readers.assumption import Assumed  # noqa: PLC0415 - loads the laws
        from noisycount.tasks.refine.estimate import Refinement  # noqa: PLC0415 - the same

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


@refining_routes.post("/v1/refine", responses=responses(_SHAPE, _EXAMPLE, also=[504]))
def refine(asked: Refining, _: Asking, state: State) -> dict[str, Any]:
    """The estimate of a count from noisy answers and a public rate; no record is read."""
    return state.computed(partial(_told, asked))


def _told(asked: Refining) -> dict[str, Any]:
    from noisycount.tasks.refine.estimate import refinement_object  # noqa: PLC0415 - loads the laws

    return refinement_object(asked.refinement())


risks_routes = APIRouter(tags=["meaning"], route_class=JsonRoute)


_LARGEST = 10**9  # records: what one request may make a server compute


_ASKED_RISKS: dict[str, JsonValue] = {"size": 1000, "rate": "10%", "price": "0.15"}


_SHAPE_RISKS: Shape = members(
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


_EXAMPLE_RISKS = {
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

    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra={"example": _ASKED_RISKS}
    )

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
        from noisycount.readers.assumption import Assumed  # noqa: PLC0415 - loads the laws
        from noisycount.tasks.risk.risk import Risks, RiskScenario  # noqa: PLC0415

        assumed = Assumed.of_rate(self.size, said("rate", as_rate, self.rate))
        setting = RiskScenario(assumed, self._law, self.sample, self.known, self.known_positives)
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


@risks_routes.post("/v1/risk", responses=responses(_SHAPE_RISKS, _EXAMPLE_RISKS, also=[504]))
def risk(asked: Revealing, _: Asking, state: State) -> dict[str, Any]:
    """What an answer reveals to those who know more or less; no record is read."""
    return state.computed(partial(_told_risks, asked))


def _told_risks(asked: Revealing) -> dict[str, Any]:
    from noisycount.tasks.risk.display import risks_object  # noqa: PLC0415 - loads the laws

    return risks_object(asked.risks())


router = APIRouter()


for family in (
    datasets_routes,
    plans_routes,
    rehearsals_routes,
    releases_routes,
    refining_routes,
    risks_routes,
):
    router.include_router(family)
