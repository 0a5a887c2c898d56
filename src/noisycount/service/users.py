"""Who asks, as a route takes it, and what it takes beside."""

from typing import Annotated

from fastapi import Depends, Path, Request

from noisycount.access.keys import User
from noisycount.service.auth.guard import user_of
from noisycount.service.state import ServiceState

__all__ = ["Asking", "Dataset", "Looking", "State"]


_GLANCE = 0.1  # of a token: a slider that is moved asks for four charts


async def state_of(request: Request) -> ServiceState:
    """The state of the application that was asked; it would take a thread if it were no task."""
    state: ServiceState = request.app.state.service
    return state


State = Annotated[ServiceState, Depends(state_of)]


"""The state."""


async def asking(user: Annotated[User, Depends(user_of)], state: State) -> User:
    """Who asks, not too often.

    Raises:
        RateError: Too often.
    """
    state.rates.take(user.name)
    return user


async def looking(user: Annotated[User, Depends(user_of)], state: State) -> User:
    """Who looks at what is about no data set, not all too often.

    Raises:
        RateError: Too often.
    """
    state.rates.take(user.name, _GLANCE)
    return user


Asking = Annotated[User, Depends(asking)]


"""Who asks."""


Looking = Annotated[User, Depends(looking)]


"""Who looks at what noise does."""


Dataset = Annotated[
    str, Path(max_length=200, description="The name of a data set.", examples=["survey"])
]


"""The name of a data set in the path."""
