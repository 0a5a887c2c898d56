"""What was known of a table before its answers, in words."""

from noisycount.app.refine.tables.refined import RefinedTable
from noisycount.app.refine.tables.selected import SELECTED

__all__ = ["prior_object", "prior_words"]


def prior_words(refined: RefinedTable) -> list[str]:
    """What was assumed, or learned from the answers."""
    if refined.told is None:
        return [SELECTED]
    return [refined.told.prior.words]


def prior_object(refined: RefinedTable) -> object:
    """The prior as JSON; null where each count was as likely."""
    return None if refined.told is None else refined.told.prior.to_dict()
