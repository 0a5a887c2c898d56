"""Which way leads to the divergences of a list of questions."""

from noisycount.analysis.privacy.divergences import Divergences
from noisycount.analysis.privacy.lists.bounds import MOST_MOVES, BoundedList, moves_of_two
from noisycount.analysis.privacy.lists.disjoint import is_noiseless, is_table, table_answers
from noisycount.analysis.privacy.lists.independent import IndependentList, is_of_independent
from noisycount.analysis.privacy.lists.listed import MOST_ANSWERS, Listed, is_short, is_within_reach
from noisycount.analysis.privacy.lists.reduced import ReducedList
from noisycount.analysis.privacy.pairs.of_population import record_pairs
from noisycount.analysis.privacy.repeated.repeated import is_precise, repeated_answers
from noisycount.analysis.privacy.worst_case import whole_price
from noisycount.model.exact import Exact
from noisycount.model.populations.binomial import Binomial

__all__ = ["listed_answers"]

_MOST_PATTERNS = 100  # of which there are 4,950 pairs
_FEWER = 2  # questions whose law is found soon


def listed_answers(told: ReducedList) -> Divergences:
    """Those of answers to a list of questions: a list of one is a count.

    Args:
        told: The list, without what tells nothing new. Of many answers about one count, with
            noises of different kinds, the upper ends are those of the count; where all other
            records are known, what the ε of all answers leaves.

    Raises:
        ValueError: If there are more answers than can be had or bounded.
    """
    is_one = len(told.mechanisms) == 1
    if is_one and told.size == 1 and whole_price(told.mechanisms[0]) is None:
        _require_precise(told)
    if is_one and (is_precise(told.mechanisms[0]) or not is_within_reach(told)):
        population = Binomial(told.size, told.question_rate(0))
        return repeated_answers(tuple(record_pairs(Exact(), population)), told.mechanisms[0])
    if is_table(told) and (is_noiseless(told) or not is_within_reach(told)):
        return table_answers(told)
    if is_of_independent(told) and not is_short(told):
        return IndependentList(told)
    if is_within_reach(told):
        return Listed(told)
    moves = moves_of_two(told) if len(told.rates) <= _MOST_PATTERNS else ()
    if not 0 < len(moves) <= MOST_MOVES:
        raise ValueError(
            f"questions must be at most {MOST_ANSWERS} for an exact curve, and part records into "
            f"at most {MOST_MOVES} different pairs for bounds of it, got {len(told.mechanisms)} "
            f"that make {len(told.rates)} atoms: ask fewer, or add up the ε of the worst case"
        )
    return BoundedList(listed_answers(told.of(range(_least(told)))), moves)


def _require_precise(told: ReducedList) -> None:
    """The refusal of noises whose answers about one record nothing but the sum of ε bounds."""
    if not is_precise(told.mechanisms[0]) and not is_within_reach(told):
        raise ValueError(
            f"mechanism must be at most {MOST_ANSWERS} noises where they are of different kinds, "
            "one of which has no ε, and all other records are known, got "
            f"{len(told.answers)}: add up their prices"
        )


def _least(told: ReducedList) -> int:
    """How many of the first questions are had as a whole."""
    return _FEWER if is_within_reach(told.of(range(_FEWER))) else 1
