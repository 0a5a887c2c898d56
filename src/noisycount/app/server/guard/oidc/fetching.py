"""What an issuer gives out, fetched as it says, and no further."""

from email.message import Message
from http.client import HTTPException
from typing import IO
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from noisycount.app.config.oidc import is_safe_address

__all__ = ["fetched"]

_SECONDS = 5.0
_LONGEST = 262_144  # bytes: some hundred keys


class _Staying(HTTPRedirectHandler):
    """Nobody is followed elsewhere: an owner named an address."""

    def redirect_request(  # noqa: PLR0913, PLR0917  (its signature)
        self,
        req: Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Message,
        newurl: str,
    ) -> None:
        """No request."""


def fetched(address: str) -> bytes:
    """What an address holds.

    Args:
        address: By https, or on this machine.

    Raises:
        OSError: It does not answer in time, or sends elsewhere.
        ValueError: Somebody on the way could answer in its place, or it holds too much.
    """
    if not is_safe_address(address):
        raise ValueError("an address that is neither https nor on this machine")
    try:
        with build_opener(_Staying).open(address, timeout=_SECONDS) as reply:
            content: bytes = reply.read(_LONGEST + 1)
    except HTTPError as error:
        error.close()  # it is a reply as well
        raise
    except HTTPException as error:
        raise OSError(str(error)) from None
    if len(content) > _LONGEST:
        raise ValueError("an address that holds too much")
    return content
