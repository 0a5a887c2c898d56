"""Values that show themselves: on one line, as a table in a notebook, as plain data."""

from dataclasses import fields, is_dataclass
from typing import Any

from noisycount.shown.line import line
from noisycount.shown.plain import plain
from noisycount.shown.table import table

__all__ = ["Shown"]


class Shown:
    """What everybody may hold and look at: a result, a mechanism, a population, a budget.

    A class states its facts; how they look is decided here. A dataclass has its public fields as
    facts; one whose own line would be long, or tell of its insides, leaves it to this class with
    `repr=False`.

    Example:
        >>> from noisycount import DiscreteLaplace
        >>> DiscreteLaplace.for_epsilon("0.15").to_dict()
        {'type': 'DiscreteLaplace', 'scale': '20/3'}
    """

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """All its facts in the types of JSON.

        Returns:
            "type", the name of the class, then each fact: rationals as exact text, floats that are
            not finite as None, arrays as lists, other values as dictionaries of their own.
        """
        facts = {name: plain(value) for name, value in self._facts().items()}
        return {"type": type(self).__name__, **facts}

    def __repr__(self) -> str:
        return line(type(self).__name__, self._key_facts())

    def _repr_html_(self) -> str:
        """A table of its facts, for a notebook."""
        return table(type(self).__name__, self._facts())

    def _facts(self) -> dict[str, object]:
        """All that there is to say, by name, the most important first."""
        if not is_dataclass(self):
            return {}
        names = [field.name for field in fields(self) if field.repr]
        return {name: getattr(self, name) for name in names if not name.startswith("_")}

    def _key_facts(self) -> dict[str, object]:
        """What fits on one line and takes no time to know."""
        return self._facts()
