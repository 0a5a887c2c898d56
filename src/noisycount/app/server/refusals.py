"""What the service refuses that the command line never has to."""

from noisycount.errors import NoisyCountError

__all__ = [
    "BusyError",
    "DepthError",
    "DoubledError",
    "ForbiddenError",
    "ForgedError",
    "InFlightError",
    "LargeError",
    "RateError",
    "SlowError",
    "StoppingError",
    "UnauthenticatedError",
    "UncheckedError",
    "UnknownError",
    "UnknownReleaseError",
]


class UnknownError(NoisyCountError):
    """A data set that is not there, or not for this visitor: nobody can tell which."""

    def __init__(self) -> None:
        super().__init__(
            "there is no such data set, or you may not see it: GET /v1/datasets lists yours"
        )


class UnknownReleaseError(NoisyCountError):
    """A release that is not there, or not this visitor's: nobody can tell which."""

    def __init__(self) -> None:
        super().__init__(
            "there is no such release, or you may not see it: the reply to a spend names its id"
        )


class InFlightError(NoisyCountError):
    """An idempotency key whose request is still worked on."""

    def __init__(self) -> None:
        super().__init__(
            "the request of this Idempotency-Key is still worked on: ask again a little later,"
            " which costs nothing more"
        )


class StoppingError(NoisyCountError):
    """A request that came while the service stops."""

    def __init__(self) -> None:
        super().__init__("the service is stopping: ask again when it is there again")


class BusyError(NoisyCountError):
    """A request that came while too many others are worked on."""

    def __init__(self) -> None:
        super().__init__("too many requests are worked on: ask again a little later")


class RateError(NoisyCountError):
    """A request of a visitor who asked too often.

    Args:
        seconds: After which the next may come.
    """

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds
        super().__init__("you ask too often: wait as long as Retry-After says")


class LargeError(NoisyCountError):
    """A request of too many bytes.

    Args:
        most: So many are allowed.
    """

    def __init__(self, most: int) -> None:
        super().__init__(f"a request may have {most:,} bytes: send less, or ask in parts")


class SlowError(NoisyCountError):
    """A request that did not arrive in time.

    Args:
        seconds: It may take so long.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(f"a request must arrive whole within {seconds:g} s: send it again")


class DepthError(NoisyCountError):
    """A request whose JSON is too deep.

    Args:
        most: So deep it may be.
    """

    def __init__(self, most: int) -> None:
        super().__init__(f"JSON may be {most} brackets deep: send what the document describes")


class DoubledError(NoisyCountError):
    """A request that says twice what it may say once.

    Args:
        name: Of the header.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"a request may have one header {name.title()}, got several: send one")


class UnauthenticatedError(NoisyCountError):
    """A request of somebody who is not known; why is not told."""

    def __init__(self) -> None:
        super().__init__(
            "who asks is not known: send `Authorization: Bearer` and a key that is neither expired"
            " nor revoked; an owner issues one by `noisycount analysts add`"
        )


class UncheckedError(NoisyCountError):
    """A request of somebody who cannot be told from others now; the owner can mend why."""

    def __init__(self) -> None:
        super().__init__(
            "who asks cannot be checked now: ask again a little later; the owner finds why by"
            " `noisycount analysts list`, and in the keys of the issuer"
        )


class ForbiddenError(NoisyCountError):
    """A request of an analyst for what is an owner's."""

    def __init__(self) -> None:
        super().__init__("only an owner may see this: ask one, or log in with an owner's key")


class ForgedError(NoisyCountError):
    """A form that was not filled in on a page of this session."""

    def __init__(self) -> None:
        super().__init__(
            "the form is not one of this session, or too old: open its page again and send it from"
            " there"
        )
