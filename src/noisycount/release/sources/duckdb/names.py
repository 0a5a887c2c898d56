"""The names of columns as DuckDB tells them apart."""

from collections.abc import Iterable

from noisycount.errors import SourceError

__all__ = ["require_single_names"]


def require_single_names(names: Iterable[str], where: str) -> None:
    """The refusal of names that stand there twice, if only in another case.

    Args:
        names: Of the columns.
        where: What has them, with its verb.

    Raises:
        SourceError: One stands there twice, or there are none.
    """
    places: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        first = places.setdefault(name.lower(), place)
        if first != place:  # without the name: where names were left out it is a cell
            raise SourceError(
                f"{where} one name for columns {first:,} and {place:,}, in whatever case: "
                "give each a name of its own"
            )
    if not places:
        raise SourceError(f"{where} no columns: give it some")
