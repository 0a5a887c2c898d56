"""A demonstration as JSON."""

from typing import Any

from noisycount.app.count.wire import answer_object
from noisycount.app.demo.demonstration import Demonstration
from noisycount.app.plan.wire import plan_object
from noisycount.app.refine.wire import refinement_object

__all__ = ["demonstration_object"]


def demonstration_object(shown: Demonstration) -> dict[str, Any]:
    """The objects of its plan, its count and its estimate, and its pictures."""
    return {
        "plan": plan_object(shown.plan),
        "count": answer_object(shown.answer),
        "refinement": refinement_object(shown.refinement),
        "pictures": [str(file) for file in shown.pictures],
    }
