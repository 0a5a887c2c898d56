"""The names of columns as DuckDB tells them apart."""

from collections import Counter
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
    numbers = Counter(map(str.lower, names))
    if not numbers:
        raise SourceError(f"{where} no columns: give it some")
    twice = next((name for name, number in numbers.items() if number > 1), None)
    if twice is not None:
        raise SourceError(
            f"{where} the column {twice!r} twice, in whatever case: give each column a name of "
            "its own"
        )
