"""Which data sets an outsider must not tell apart, and what several counts at once cost then."""

from enum import Enum
from fractions import Fraction

from noisycount.model.sensitivity import l1_sensitivity
from noisycount.release.budget.exact import exact_epsilon

__all__ = ["NeighbourRelation", "histogram_charge", "neighbours_of_size"]


class NeighbourRelation(Enum):
    """How two data sets differ that an outsider must not tell apart, by how many units change.

    A unit is a record, or a person with all records.
    """

    ADD_REMOVE = 1
    REPLACEMENT = 2


def neighbours_of_size(size: int | None) -> NeighbourRelation:
    """The neighbours of a data set: where its size is public, one unit replaces another.

    Args:
        size: The public number of units, or None where nobody shall know it.

    Example:
        >>> neighbours_of_size(None).name, neighbours_of_size(5912).name
        ('ADD_REMOVE', 'REPLACEMENT')
    """
    return NeighbourRelation.ADD_REMOVE if size is None else NeighbourRelation.REPLACEMENT


def histogram_charge(
    epsilon: Fraction, groups: int, neighbours: NeighbourRelation, groups_of_a_unit: int = 1
) -> Fraction:
    """What the counts of several groups cost together, each with the noise of one count.

    With g groups, of which one unit can be in m at most, the counts move by min(g, m) in all when
    a unit comes or goes, and by min(g, 2m) when one replaces another; each count by 1 at most. The
    charge is that many times ε: ε and 2ε for disjoint groups.

    Args:
        epsilon: The price of one count with that noise, in units of privacy loss.
        groups: How many groups there are, at least 1.
        neighbours: What an outsider must not tell apart.
        groups_of_a_unit: In how many groups one unit can be, at least 1. A person whose records
            fall in several groups is in all of them: disjoint groups of records are not disjoint
            groups of persons.

    Raises:
        ValueError: `epsilon` is out of range, or a number of groups is below 1.

    Example:
        >>> [str(histogram_charge(Fraction(1, 3), 5, kind)) for kind in NeighbourRelation]
        ['1/3', '2/3']
    """
    price = exact_epsilon(epsilon)
    for name, value in (("groups", groups), ("groups_of_a_unit", groups_of_a_unit)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    replaced = neighbours is NeighbourRelation.REPLACEMENT
    return price * l1_sensitivity(groups, groups_of_a_unit, replaced=replaced)
