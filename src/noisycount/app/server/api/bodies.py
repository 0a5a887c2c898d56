"""The bodies of requests, of which all who read them see the same."""

from collections.abc import Callable, Coroutine
from json import JSONDecodeError
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from noisycount.app.server.exact_json import exact_json

__all__ = ["JsonRoute"]


class _JsonRequest(Request):
    """A request whose body has one meaning."""

    async def json(self) -> Any:  # noqa: ANN401  (as the class above has it)
        """What the body says.

        Raises:
            JSONDecodeError: Nothing, or two things.
        """
        try:
            return exact_json(await self.body())
        except JSONDecodeError:
            raise
        except UnicodeDecodeError as error:
            raise JSONDecodeError("it is not UTF-8", "", error.start) from None
        except ValueError as error:
            raise JSONDecodeError(str(error), "", 0) from None


class JsonRoute(APIRoute):
    """A route that takes JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The route, which reads a body as `exact_json` does."""
        handler = super().get_route_handler()

        async def handled(request: Request) -> Response:
            return await handler(_JsonRequest(request.scope, request.receive))

        return handled
