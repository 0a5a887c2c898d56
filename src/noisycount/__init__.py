# ruff: noqa: I001 - each name is imported under its own name, by which type checkers know that it is public
"""Private counts: count, add exact noise, keep the budget, and say what the answer means."""

from importlib import import_module

TYPE_CHECKING = False  # without typing, the slowest of all that a command imports before it heeds Ctrl-C
if TYPE_CHECKING:
    from noisycount.analysis.accuracy import (
        accuracy as accuracy,
        chan_bound as chan_bound,
        epsilon_for_accuracy as epsilon_for_accuracy,
        failure_probability as failure_probability,
        out_of_range_bounds as out_of_range_bounds,
        out_of_range_probability as out_of_range_probability,
    )
    from noisycount.analysis.difference import difference as difference, probability_greater as probability_greater
    from noisycount.analysis.evaluation.evaluation import (
        break_even_rates as break_even_rates,
        improvement_probability as improvement_probability,
        mean_absolute_error as mean_absolute_error,
        tie_probability as tie_probability,
    )
    from noisycount.analysis.posterior.posterior import Posterior as Posterior, posterior as posterior
    from noisycount.analysis.posterior.refine import refine as refine
    from noisycount.analysis.privacy.disjoint_samples import parts_curve as parts_curve
    from noisycount.analysis.privacy.list_risk import ListRisk as ListRisk, list_risk as list_risk
    from noisycount.analysis.privacy.overlapping_samples import samples_curve as samples_curve
    from noisycount.analysis.privacy.privacy_curve import PrivacyCurve as PrivacyCurve, privacy_curve as privacy_curve
    from noisycount.analysis.privacy.smallest_scale import (
        amplified_delta as amplified_delta,
        belief_bounds as belief_bounds,
        smallest_scale as smallest_scale,
    )
    from noisycount.analysis.ratio import ratio as ratio
    from noisycount.analysis.relative_error import (
        affordable_answers as affordable_answers,
        count_for_relative_error as count_for_relative_error,
        epsilon_for_relative_error as epsilon_for_relative_error,
        epsilon_of_group as epsilon_of_group,
        iso_epsilon_curves as iso_epsilon_curves,
        readable_epsilon as readable_epsilon,
        relative_confidence as relative_confidence,
        relative_error as relative_error,
    )
    from noisycount.analysis.tables.table_posterior import (
        TablePosterior as TablePosterior,
        table_posterior as table_posterior,
    )
    from noisycount.analysis.unbiased import unbiased as unbiased
    from noisycount.analysis.utility import (
        scale_for_utility_loss as scale_for_utility_loss,
        utility_loss as utility_loss,
    )
    from noisycount.charts.chart import chart as chart
    from noisycount.errors import NoisyCountError as NoisyCountError
    from noisycount.model import releases as releases
    from noisycount.model.atoms import Atoms as Atoms
    from noisycount.model.exact import Exact as Exact, below as below
    from noisycount.model.half_width import readable_epsilon_within as readable_epsilon_within
    from noisycount.model.mechanism import Mechanism as Mechanism
    from noisycount.model.noises.discrete_gaussian import DiscreteGaussian as DiscreteGaussian
    from noisycount.model.noises.gaussian import Gaussian as Gaussian
    from noisycount.model.noises.laplace import DiscreteLaplace as DiscreteLaplace, Laplace as Laplace
    from noisycount.model.noises.noise_sum import NoiseSum as NoiseSum
    from noisycount.model.populations.binomial import BetaBinomial as BetaBinomial, Binomial as Binomial
    from noisycount.model.populations.known import Known as Known
    from noisycount.model.populations.population import Population as Population
    from noisycount.model.populations.strata import Strata as Strata
    from noisycount.model.populations.tabulated import Tabulated as Tabulated
    from noisycount.model.subsampling import Subsample as Subsample
    from noisycount.model.tables.splits import Splits as Splits
    from noisycount.model.tables.tree import Tree as Tree
    from noisycount.papers.catalogue import claims as claims, figure as figure, figures as figures
    from noisycount.papers.figure import Figure as Figure
    from noisycount.query.query import Query as Query
    from noisycount.tasks.open_desk import open_desk as open_desk

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
__all__ = sorted([*_HOMES, "releases"])  # noqa: PLE0605 - type checkers read the imports above
__version__: str


def __getattr__(name: str) -> object:
    """Import a public name on its first use, so that the command line starts without NumPy."""
    if name == "__version__":
        return str(import_module("importlib.metadata").version("noisycount"))
    if name == "releases":
        return import_module("noisycount.model.releases")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"noisycount.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
