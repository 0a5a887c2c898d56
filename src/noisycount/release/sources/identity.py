"""What tells engines apart whose answers could differ."""

from dataclasses import dataclass

__all__ = ["Identity"]


@dataclass(frozen=True, slots=True)
class Identity:
    """An engine, as far as its answers may depend on it.

    Attributes:
        engine: Its name, such as `postgresql` or `spark`.
        version: Its version, as far as a new one may answer otherwise: `15`, or `4.3`.
        collation: How it compares texts, and how it encodes them: `C (UTF8)`, or `UTF8_BINARY`.

    Example:
        >>> print(Identity("postgresql", "15", "C (UTF8)"))
        postgresql 15 with C (UTF8)
    """

    engine: str
    version: str
    collation: str

    def __str__(self) -> str:
        return f"{self.engine} {self.version} with {self.collation}"
