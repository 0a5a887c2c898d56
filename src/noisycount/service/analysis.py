"""The routes that need no data set: refined estimates, and the risk of an answer to a person."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from noisycount.errors import NoisyCountError
from noisycount.model.exact import Exact
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.typed import parse_confidence
from noisycount.readers.assumption import Assumed
from noisycount.readers.values import NOISE_KINDS, noise_of, parse_rate, parse_scale
from noisycount.service.auth import LimitedUser
from noisycount.service.document import REFINEMENT, RISKS, responses
from noisycount.service.middleware import JsonRoute
from noisycount.service.state import State
from noisycount.tasks.refine.estimate import Refinement, refinement_json
from noisycount.tasks.risk import Risks, RiskScenario, risks_json
from noisycount.validation import exact_epsilon

Value = TypeVar("Value")
KINDS = ", ".join(NOISE_KINDS)
Noise = Annotated[str | None, Field(max_length=100, description=f"Instead of a price: one of {KINDS}.")]

Scale = Annotated[str | None, Field(max_length=100, description="Scale of the noise in records, such as 10 or 20/3.")]


def parse_member(name: str, read: Callable[[str], Value], text: str) -> Value:
    """Parse a member as the command line parses its option. Raise NoisyCountError with the member's name."""
    try:
        return read(text)
    except ValueError as error:
        raise NoisyCountError(f"{name} {error}") from None


def noise_of_members(member: str, price: str | None, noise: str | None, scale: str | None) -> AdditiveNoise | None:
    """Return the noise of a price, or of a kind and a scale; None if neither or both are stated."""
    if price is not None and noise is None and scale is None:
        return DiscreteLaplace.for_epsilon(parse_member(member, exact_epsilon, price))
    if price is not None or noise is None or scale is None:
        return None
    if noise not in NOISE_KINDS:
        raise NoisyCountError(f"noise must be one of {KINDS}, got {noise[:40]!r}")
    return noise_of(noise, parse_member("scale", parse_scale, scale))


router = APIRouter(tags=["meaning"], route_class=JsonRoute)

_REFINE_EXAMPLE: dict[str, JsonValue] = {"answers": [107], "size": 5912, "rate": "1.7%", "epsilon": "0.15"}


class RefineRequest(BaseModel):
    """A request to estimate one count from noisy answers and a public rate, as with the command `refine`."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"example": _REFINE_EXAMPLE})

    answers: Annotated[
        list[Annotated[int | float, Field(ge=-(2**53), le=2**53)]],
        Field(min_length=1, max_length=1000, description="Noisy answers about one count."),
    ]
    size: Annotated[int, Field(ge=1, le=2**53, description="Number of records.")]
    rate: Annotated[
        str | None,
        Field(
            max_length=100,
            description="Probability that a person or row is counted: 30% or 30%±2%. "
            "Default: every count is equally likely.",
        ),
    ] = None
    epsilon: Annotated[
        str | None, Field(max_length=100, description="Price in ε of each answer, if `count` gave them.")
    ] = None
    noise: Noise = None
    scale: Scale = None
    level: Annotated[str, Field(max_length=100, description="Probability of the interval.")] = "95%"

    def refinement(self) -> Refinement:
        """Return the refined estimate."""
        assumed = Assumed.from_size(self.size)
        if self.rate is not None:
            assumed = Assumed.from_rate(self.size, parse_member("rate", parse_rate, self.rate))
        level = parse_member("level", parse_confidence, self.level)
        noise = noise_of_members("epsilon", self.epsilon, self.noise, self.scale)
        if noise is None:
            raise NoisyCountError(
                'give either epsilon, or both noise and scale, such as {"noise": "gaussian", "scale": "10"}'
            )
        return Refinement.from_answers(self.answers, assumed, noise, level)


@router.post("/v1/refine", summary="Refine answers", responses=responses(*REFINEMENT, also=[504]))
def refine(request: RefineRequest, _: LimitedUser, state: State) -> dict[str, Any]:
    """Estimate a count from noisy answers and a public rate. Reads no record."""
    return state.reply(lambda: refinement_json(request.refinement()))


_LARGEST = 10**9  # records: larger numbers would take the server too long
_Records = Annotated[int, Field(ge=1, le=_LARGEST)]
_RISK_EXAMPLE: dict[str, JsonValue] = {"size": 1000, "rate": "10%", "price": "0.15"}


class RiskRequest(BaseModel):
    """A request for bounds of what an answer reveals to an adversary, as with the command `risk`."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"example": _RISK_EXAMPLE})

    size: Annotated[_Records, Field(description="Number of records.")]
    rate: Annotated[
        str, Field(max_length=100, description="Probability that a person or row is counted: 30% or 30%±2%.")
    ]
    price: Annotated[str | None, Field(max_length=100, description="Price in ε of the answer, if `count` gave it.")] = (
        None
    )
    noise: Noise = None
    scale: Scale = None
    sample: Annotated[
        _Records | None, Field(description="Number of records in a random sample that is counted. Default: all.")
    ] = None
    known: Annotated[_Records | None, Field(description="Number of records that an adversary knows.")] = None
    known_positives: Annotated[
        int | None, Field(ge=0, le=_LARGEST, description="Number of known records that count.")
    ] = None
    epsilon: Annotated[str | None, Field(max_length=100, description="ε at which δ is computed.")] = None

    def risks(self) -> Risks:
        """Return the risks of the answer."""
        assumed = Assumed.from_rate(self.size, parse_member("rate", parse_rate, self.rate))
        setting = RiskScenario(assumed, self._mechanism, self.sample, self.known, self.known_positives)
        epsilon = None if self.epsilon is None else parse_member("epsilon", exact_epsilon, self.epsilon)
        return Risks.compute(setting, epsilon, lambda _: None)

    @property
    def _mechanism(self) -> AdditiveNoise | Exact:
        stated = noise_of_members("price", self.price, self.noise, self.scale)
        if stated is not None:
            return stated
        if (self.price, self.noise, self.scale) == (None, "none", None):
            return Exact()
        raise NoisyCountError(
            'give one of price, noise "none", or a kind of noise with its scale, such as {"noise":'
            ' "laplace", "scale": "3"}'
        )


@router.post("/v1/risk", summary="Bound the risk", responses=responses(*RISKS, also=[504]))
def risk(request: RiskRequest, _: LimitedUser, state: State) -> dict[str, Any]:
    """Bound what an answer reveals to adversaries with more or less background knowledge. Reads no record."""
    return state.reply(lambda: risks_json(request.risks()))
