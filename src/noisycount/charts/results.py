"""The chart of a result, by its kind."""

from functools import singledispatch

import altair as alt

from noisycount.analysis.posterior.observed import is_published
from noisycount.analysis.posterior.posterior import Posterior
from noisycount.analysis.privacy.privacy_curve import PrivacyCurve
from noisycount.analysis.tables.table_posterior import TablePosterior
from noisycount.charts.curves import AnswerCurve, RefinementCurves
from noisycount.charts.plot import Plot
from noisycount.charts.plot_chart import plot_chart
from noisycount.charts.privacy import NamedCurve, PrivacyView, privacy_chart
from noisycount.charts.refined_table import posterior_dots, refined_chart
from noisycount.charts.refinement import answer_chart, refinement_chart
from noisycount.charts.table import TableBars, is_tabled, table_chart
from noisycount.display.values import short

_SHOWN = 100  # characters of what is refused


@singledispatch
def chart_of(result: object) -> alt.TopLevelMixin:
    """The chart of a posterior, a privacy curve or a figure, of an answer or a table of them."""
    if is_published(result):
        where = getattr(result, "where", "an answer with noise")
        unit = "records" if getattr(result, "unit", None) is None else "persons"
        return answer_chart(AnswerCurve.of(result), where, unit)
    if is_tabled(result):
        return table_chart(TableBars.of(result))
    raise ValueError(
        "result must be a Posterior, a TablePosterior, a PrivacyCurve, a Release, a TableRelease "
        f"or a Figure, got {short(result)[:_SHOWN]}: give one of these"
    )


@chart_of.register
def _(told: Posterior) -> alt.TopLevelMixin:
    """What was assumed, what the answers say, and what both say."""
    several = len(told.observed)
    averaged = f"; the answer is the average of {several}" if several > 1 else ""
    subtitle = f"{told.population.records:,} records{averaged}"
    return refinement_chart(RefinementCurves.of(told), "What is the true count?", subtitle)


@chart_of.register
def _(told: TablePosterior) -> alt.TopLevelMixin:
    """The answers of the cells and of their sums, and the estimates."""
    return refined_chart(posterior_dots(told))


@chart_of.register
def _(curve: PrivacyCurve) -> alt.TopLevelMixin:
    """δ against ε."""
    view = PrivacyView.of([NamedCurve("δ(ε)", curve)])
    against = "all other records" if curve.population is None else f"{curve.population!r}"
    subtitle = f"{curve.mechanism!r}, against whoever knows {against}"
    return privacy_chart(view.lines, view.axes, "What can one record change?", subtitle)


@chart_of.register
def _(plot: Plot) -> alt.TopLevelMixin:
    """The lines of a figure."""
    return plot_chart(plot)
