"""Private counts: count, add exact noise, keep the budget, and say what the answer means."""

from importlib import import_module

TYPE_CHECKING = False  # without typing, the slowest of all that a command imports before it heeds Ctrl-C
if TYPE_CHECKING:
    from noisycount.analysis.accuracy import (
        accuracy,
        chan_bound,
        epsilon_for_accuracy,
        failure_probability,
        out_of_range_bounds,
        out_of_range_probability,
    )
    from noisycount.analysis.difference import difference, probability_greater
    from noisycount.analysis.evaluation.evaluation import (
        break_even_rates,
        improvement_probability,
        mean_absolute_error,
        tie_probability,
    )
    from noisycount.analysis.posterior.posterior import Posterior, posterior
    from noisycount.analysis.posterior.refine import refine
    from noisycount.analysis.privacy.disjoint_samples import parts_curve
    from noisycount.analysis.privacy.list_risk import ListRisk, list_risk
    from noisycount.analysis.privacy.overlapping_samples import samples_curve
    from noisycount.analysis.privacy.privacy_curve import PrivacyCurve, privacy_curve
    from noisycount.analysis.privacy.smallest_scale import amplified_delta, belief_bounds, smallest_scale
    from noisycount.analysis.ratio import ratio
    from noisycount.analysis.relative_error import (
        affordable_answers,
        count_for_relative_error,
        epsilon_for_relative_error,
        epsilon_of_group,
        iso_epsilon_curves,
        readable_epsilon,
        relative_confidence,
        relative_error,
    )
    from noisycount.analysis.tables.table_posterior import TablePosterior, table_posterior
    from noisycount.analysis.unbiased import unbiased
    from noisycount.analysis.utility import scale_for_utility_loss, utility_loss
    from noisycount.charts.chart import chart
    from noisycount.errors import NoisyCountError
    from noisycount.model import releases
    from noisycount.model.atoms import Atoms
    from noisycount.model.exact import Exact, below
    from noisycount.model.half_width import readable_epsilon_within
    from noisycount.model.mechanism import Mechanism
    from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
    from noisycount.model.noises.gaussian import Gaussian
    from noisycount.model.noises.laplace import DiscreteLaplace, Laplace
    from noisycount.model.noises.noise_sum import NoiseSum
    from noisycount.model.populations.binomial import BetaBinomial, Binomial
    from noisycount.model.populations.known import Known
    from noisycount.model.populations.population import Population
    from noisycount.model.populations.strata import Strata
    from noisycount.model.populations.tabulated import Tabulated
    from noisycount.model.subsampling import Subsample
    from noisycount.model.tables.splits import Splits
    from noisycount.model.tables.tree import Tree
    from noisycount.papers.catalogue import claims, figure, figures
    from noisycount.papers.figure import Figure
    from noisycount.query.query import Query
    from noisycount.tasks.open_desk import open_desk

__all__ = [
    "Atoms",
    "BetaBinomial",
    "Binomial",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exact",
    "Figure",
    "Gaussian",
    "Known",
    "Laplace",
    "ListRisk",
    "Mechanism",
    "NoiseSum",
    "NoisyCountError",
    "Population",
    "Posterior",
    "PrivacyCurve",
    "Query",
    "Splits",
    "Strata",
    "Subsample",
    "TablePosterior",
    "Tabulated",
    "Tree",
    "accuracy",
    "affordable_answers",
    "amplified_delta",
    "belief_bounds",
    "below",
    "break_even_rates",
    "chan_bound",
    "chart",
    "claims",
    "count_for_relative_error",
    "difference",
    "epsilon_for_accuracy",
    "epsilon_for_relative_error",
    "epsilon_of_group",
    "failure_probability",
    "figure",
    "figures",
    "improvement_probability",
    "iso_epsilon_curves",
    "list_risk",
    "mean_absolute_error",
    "open_desk",
    "out_of_range_bounds",
    "out_of_range_probability",
    "parts_curve",
    "posterior",
    "privacy_curve",
    "probability_greater",
    "ratio",
    "readable_epsilon",
    "readable_epsilon_within",
    "refine",
    "relative_confidence",
    "relative_error",
    "releases",
    "samples_curve",
    "scale_for_utility_loss",
    "smallest_scale",
    "table_posterior",
    "tie_probability",
    "unbiased",
    "utility_loss",
]

_NAMES = {
    "analysis.accuracy": "accuracy chan_bound epsilon_for_accuracy failure_probability out_of_range_bounds "
    "out_of_range_probability",
    "analysis.difference": "difference probability_greater",
    "analysis.evaluation.evaluation": "break_even_rates improvement_probability mean_absolute_error tie_probability",
    "analysis.posterior.posterior": "Posterior posterior",
    "analysis.posterior.refine": "refine",
    "analysis.privacy.disjoint_samples": "parts_curve",
    "analysis.privacy.list_risk": "ListRisk list_risk",
    "analysis.privacy.overlapping_samples": "samples_curve",
    "analysis.privacy.privacy_curve": "PrivacyCurve privacy_curve",
    "analysis.privacy.smallest_scale": "amplified_delta belief_bounds smallest_scale",
    "analysis.ratio": "ratio",
    "analysis.relative_error": "affordable_answers count_for_relative_error epsilon_for_relative_error "
    "epsilon_of_group iso_epsilon_curves readable_epsilon relative_confidence "
    "relative_error",
    "analysis.tables.table_posterior": "TablePosterior table_posterior",
    "analysis.unbiased": "unbiased",
    "analysis.utility": "scale_for_utility_loss utility_loss",
    "charts.chart": "chart",
    "errors": "NoisyCountError",
    "model.atoms": "Atoms",
    "model.exact": "Exact below",
    "model.half_width": "readable_epsilon_within",
    "model.mechanism": "Mechanism",
    "model.noises.discrete_gaussian": "DiscreteGaussian",
    "model.noises.gaussian": "Gaussian",
    "model.noises.laplace": "DiscreteLaplace Laplace",
    "model.noises.noise_sum": "NoiseSum",
    "model.populations.binomial": "BetaBinomial Binomial",
    "model.populations.known": "Known",
    "model.populations.population": "Population",
    "model.populations.strata": "Strata",
    "model.populations.tabulated": "Tabulated",
    "model.subsampling": "Subsample",
    "model.tables.splits": "Splits",
    "model.tables.tree": "Tree",
    "papers.catalogue": "claims figure figures",
    "papers.figure": "Figure",
    "query.query": "Query",
    "tasks.open_desk": "open_desk",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
__version__: str
_MODULES = {"releases": "model.releases"}


def __getattr__(name: str) -> object:
    """Import a public name on its first use, so that the command line starts without NumPy."""
    if name == "__version__":
        return str(import_module("importlib.metadata").version("noisycount"))
    if name not in _HOMES and name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"noisycount.{_MODULES.get(name) or _HOMES[name]}")
    value: object = home if name in _MODULES else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
