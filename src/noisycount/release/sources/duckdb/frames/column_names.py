"""The names of the columns of a table in memory."""

from collections import Counter
from collections.abc import Sequence

from noisycount.errors import SourceError

__all__ = ["require_names"]


def require_names(names: Sequence[str]) -> None:
    """The refusal of columns without a name of their own.

    Raises:
        SourceError: There are no columns, or two of the same name, or one without.
    """
    if not names:
        raise SourceError("frame has no columns: give it one with the records")
    twice = [name for name, number in Counter(map(str.lower, names)).items() if number > 1]
    if twice:
        raise SourceError(
            f"frame has the name {twice[0]!r} twice, in whatever case: "
            "give each column a name of its own"
        )
    for name in names:
        if not name or "\0" in name:
            raise SourceError(f"frame has a column that is named by {name!r}: rename it")
