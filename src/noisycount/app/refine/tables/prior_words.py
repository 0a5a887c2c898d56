"""What was known of a table before its answers, in words."""

from noisycount.analysis.tables.sensitivity import Sensitivity
from noisycount.app.refine.tables.refined import RefinedTable
from noisycount.app.refine.tables.selected import SELECTED

__all__ = ["prior_object", "prior_words", "told_sensitivity"]

_MOST_CELLS = 5000  # of a larger table it takes too long to solve it twice more


def prior_words(refined: RefinedTable) -> list[str]:
    """What was assumed, or learned from the answers."""
    if refined.told is None:
        return [SELECTED]
    return [refined.told.prior.words]


def told_sensitivity(refined: RefinedTable) -> Sensitivity | None:
    """What half and twice the concentration change; None where there is none, or it takes long."""
    told = refined.told
    if told is None or len(told) > _MOST_CELLS:
        return None
    found = told.sensitivity
    return found if found.moves else None


def prior_object(refined: RefinedTable) -> object:
    """The prior as JSON; null where each count was as likely."""
    return None if refined.told is None else refined.told.prior.to_dict()
