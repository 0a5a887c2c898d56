"""Private counts: count, add exact noise, keep the budget, and say what the answer means."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noisycount.analysis.accuracy import accuracy, failure_probability
    from noisycount.analysis.planning import epsilon_for_relative_error, readable_epsilon
    from noisycount.analysis.posterior import Posterior, posterior
    from noisycount.analysis.privacy import PrivacyCurve, belief_bounds, privacy_curve
    from noisycount.analysis.refine import refine
    from noisycount.analysis.utility import scale_for_utility_loss, utility_loss
    from noisycount.errors import NoisyCountError
    from noisycount.model.exact import Exact
    from noisycount.model.gaussian import DiscreteGaussian, Gaussian
    from noisycount.model.mechanism import Mechanism
    from noisycount.model.noise import DiscreteLaplace, Laplace
    from noisycount.model.noise_sum import NoiseSum
    from noisycount.model.population import Population
    from noisycount.model.populations import BetaBinomial, Binomial, Known
    from noisycount.model.strata import Strata
    from noisycount.model.subsampling import Subsample
    from noisycount.model.tabulated import Tabulated

__all__ = [
    "BetaBinomial",
    "Binomial",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exact",
    "Gaussian",
    "Known",
    "Laplace",
    "Mechanism",
    "NoiseSum",
    "NoisyCountError",
    "Population",
    "Posterior",
    "PrivacyCurve",
    "Strata",
    "Subsample",
    "Tabulated",
    "accuracy",
    "belief_bounds",
    "epsilon_for_relative_error",
    "failure_probability",
    "posterior",
    "privacy_curve",
    "readable_epsilon",
    "refine",
    "scale_for_utility_loss",
    "utility_loss",
]

_HOMES = {
    "BetaBinomial": "model.populations",
    "Binomial": "model.populations",
    "DiscreteGaussian": "model.gaussian",
    "DiscreteLaplace": "model.noise",
    "Exact": "model.exact",
    "Gaussian": "model.gaussian",
    "Known": "model.populations",
    "Laplace": "model.noise",
    "Mechanism": "model.mechanism",
    "NoiseSum": "model.noise_sum",
    "NoisyCountError": "errors",
    "Population": "model.population",
    "Posterior": "analysis.posterior",
    "PrivacyCurve": "analysis.privacy",
    "Strata": "model.strata",
    "Subsample": "model.subsampling",
    "Tabulated": "model.tabulated",
    "accuracy": "analysis.accuracy",
    "belief_bounds": "analysis.privacy",
    "epsilon_for_relative_error": "analysis.planning",
    "failure_probability": "analysis.accuracy",
    "posterior": "analysis.posterior",
    "privacy_curve": "analysis.privacy",
    "readable_epsilon": "analysis.planning",
    "refine": "analysis.refine",
    "scale_for_utility_loss": "analysis.utility",
    "utility_loss": "analysis.utility",
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
