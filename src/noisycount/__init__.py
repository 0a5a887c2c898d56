"""Private counts: count, add exact noise, keep the budget, and say what the answer means."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noisycount.analysis.accuracy import accuracy, chan_bound, failure_probability
    from noisycount.analysis.amplification import amplified_delta
    from noisycount.analysis.belief import belief_bounds
    from noisycount.analysis.break_even import break_even_rates
    from noisycount.analysis.calibration import smallest_scale
    from noisycount.analysis.evaluation import (
        improvement_probability,
        mean_absolute_error,
        tie_probability,
    )
    from noisycount.analysis.out_of_range import out_of_range_bounds, out_of_range_probability
    from noisycount.analysis.planning import epsilon_for_accuracy
    from noisycount.analysis.posterior import Posterior, posterior
    from noisycount.analysis.privacy import PrivacyCurve, privacy_curve
    from noisycount.analysis.readable import readable_epsilon, readable_epsilon_within
    from noisycount.analysis.refine import refine
    from noisycount.analysis.relative_error import (
        count_for_relative_error,
        epsilon_for_relative_error,
        iso_epsilon_curves,
        relative_confidence,
        relative_error,
    )
    from noisycount.analysis.spending import affordable_answers, epsilon_of_group
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
    "affordable_answers",
    "amplified_delta",
    "belief_bounds",
    "break_even_rates",
    "chan_bound",
    "count_for_relative_error",
    "epsilon_for_accuracy",
    "epsilon_for_relative_error",
    "epsilon_of_group",
    "failure_probability",
    "improvement_probability",
    "iso_epsilon_curves",
    "mean_absolute_error",
    "out_of_range_bounds",
    "out_of_range_probability",
    "posterior",
    "privacy_curve",
    "readable_epsilon",
    "readable_epsilon_within",
    "refine",
    "relative_confidence",
    "relative_error",
    "scale_for_utility_loss",
    "smallest_scale",
    "tie_probability",
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
    "affordable_answers": "analysis.spending",
    "amplified_delta": "analysis.amplification",
    "belief_bounds": "analysis.belief",
    "break_even_rates": "analysis.break_even",
    "chan_bound": "analysis.accuracy",
    "count_for_relative_error": "analysis.relative_error",
    "epsilon_for_accuracy": "analysis.planning",
    "epsilon_for_relative_error": "analysis.relative_error",
    "epsilon_of_group": "analysis.spending",
    "failure_probability": "analysis.accuracy",
    "improvement_probability": "analysis.evaluation",
    "iso_epsilon_curves": "analysis.relative_error",
    "mean_absolute_error": "analysis.evaluation",
    "out_of_range_bounds": "analysis.out_of_range",
    "out_of_range_probability": "analysis.out_of_range",
    "posterior": "analysis.posterior",
    "privacy_curve": "analysis.privacy",
    "readable_epsilon": "analysis.readable",
    "readable_epsilon_within": "analysis.readable",
    "refine": "analysis.refine",
    "relative_confidence": "analysis.relative_error",
    "relative_error": "analysis.relative_error",
    "scale_for_utility_loss": "analysis.utility",
    "smallest_scale": "analysis.calibration",
    "tie_probability": "analysis.evaluation",
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
