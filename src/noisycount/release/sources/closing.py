"""Being let go of at the end of a `with` block."""

from abc import ABC, abstractmethod
from typing import Self

__all__ = ["Closing"]


class Closing(ABC):
    """What must be closed, and as a context manager closes itself."""

    __slots__ = ()

    @abstractmethod
    def close(self) -> None:
        """The end of the use of what is held open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
