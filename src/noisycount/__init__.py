"""Private counts: count, add exact noise, keep the budget, and say what the answer means."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noisycount.analysis.accuracy import accuracy, failure_probability
    from noisycount.analysis.planning import epsilon_for_relative_error, readable_epsilon
    from noisycount.analysis.posterior import Posterior, posterior
    from noisycount.analysis.privacy import belief_bounds
    from noisycount.errors import NoisyCountError
    from noisycount.model.mechanism import Mechanism
    from noisycount.model.noise import DiscreteLaplace, Laplace
    from noisycount.model.populations import Binomial

__all__ = [
    "Binomial",
    "DiscreteLaplace",
    "Laplace",
    "Mechanism",
    "NoisyCountError",
    "Posterior",
    "accuracy",
    "belief_bounds",
    "epsilon_for_relative_error",
    "failure_probability",
    "posterior",
    "readable_epsilon",
]

_HOMES = {
    "Binomial": "model.populations",
    "DiscreteLaplace": "model.noise",
    "Laplace": "model.noise",
    "Mechanism": "model.mechanism",
    "NoisyCountError": "errors",
    "Posterior": "analysis.posterior",
    "accuracy": "analysis.accuracy",
    "belief_bounds": "analysis.privacy",
    "epsilon_for_relative_error": "analysis.planning",
    "failure_probability": "analysis.accuracy",
    "posterior": "analysis.posterior",
    "readable_epsilon": "analysis.planning",
}


def __getattr__(name: str) -> object:
    """A public name, imported on first use: the command line starts without NumPy."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"noisycount.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
