"""A forecast of a table as JSON."""

from typing import Any

from noisycount.app.forecast.forecast import Forecast
from noisycount.app.table.wire import level_objects, loss_object
from noisycount.release.budget.exact import exact_text

__all__ = ["forecast_object"]


def forecast_object(told: Forecast) -> dict[str, Any]:
    """A forecast; prices, shares and scales are exact decimals or fractions, as text."""
    design = told.design
    return {
        "cells": dict(design.cells),
        "margins": list(design.margins),
        "groups_per_unit": design.groups or 1,
        "size_public": design.is_size_public,
        "hidden": design.is_hidden,
        "cumulative": design.is_cumulative,
        "confidence": told.confidence,
        "epsilon": None if design.epsilon is None else exact_text(design.epsilon),
        "rho": None if design.rho is None else exact_text(design.rho),
        "delta": None if design.delta is None else exact_text(design.delta),
        "better": told.plans[0].levels[0].mechanism.name,
        "gain": told.gain,
        "plans": [
            {
                "mechanism": plan.levels[0].mechanism.name,
                "price": loss_object(plan.loss),
                "levels": level_objects(told.levels(plan)),
                "threshold": plan.threshold,
                "surely_shown": plan.surely_shown(told.confidence),
                "odds": plan.odds("person"),
            }
            for plan in told.plans
        ],
    }
