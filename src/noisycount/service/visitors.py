"""Who asks, as a route takes it, and what it takes beside."""

from typing import Annotated

from fastapi import Depends, Path, Request

from noisycount.access.keys import Visitor
from noisycount.service.auth.guard import visitor_of
from noisycount.service.state import Office

__all__ = ["Asking", "Dataset", "Looking", "Open"]


_GLANCE = 0.1  # of a token: a slider that is moved asks for four charts


async def office_of(request: Request) -> Office:
    """The office of the application that was asked; it would take a thread if it were no task."""
    office: Office = request.app.state.office
    return office


Open = Annotated[Office, Depends(office_of)]


"""The office."""


async def asking(visitor: Annotated[Visitor, Depends(visitor_of)], office: Open) -> Visitor:
    """Who asks, not too often.

    Raises:
        RateError: Too often.
    """
    office.buckets.take(visitor.name)
    return visitor


async def looking(visitor: Annotated[Visitor, Depends(visitor_of)], office: Open) -> Visitor:
    """Who looks at what is about no data set, not all too often.

    Raises:
        RateError: Too often.
    """
    office.buckets.take(visitor.name, _GLANCE)
    return visitor


Asking = Annotated[Visitor, Depends(asking)]


"""Who asks."""


Looking = Annotated[Visitor, Depends(looking)]


"""Who looks at what noise does."""


Dataset = Annotated[
    str, Path(max_length=200, description="The name of a data set.", examples=["survey"])
]


"""The name of a data set in the path."""
