"""How far one record can move several counts at once."""

__all__ = ["l1_sensitivity"]


def l1_sensitivity(counts: int, of_a_record: int, *, replaced: bool) -> int:
    """The sum of the moves of several counts, each of which moves by one at most.

    A record that comes or goes moves those that it can be in; one that replaces another also those
    that the other was in.

    Args:
        counts: How many counts there are.
        of_a_record: In how many of them one record can be.
        replaced: Whether a record replaces another, else it comes or goes.

    Example:
        >>> l1_sensitivity(12, 1, replaced=False), l1_sensitivity(12, 1, replaced=True)
        (1, 2)
    """
    return min(counts, (2 if replaced else 1) * of_a_record)
