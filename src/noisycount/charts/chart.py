"""The public function `chart`, which draws any result. It needs the extra `charts`, imported on the first call.

`build_picture` chooses the picture of each kind of result, and `vega` describes it for Altair.
"""

from typing import TYPE_CHECKING

from noisycount.analysis.posterior.observed import is_published
from noisycount.analysis.posterior.posterior import Posterior
from noisycount.analysis.privacy.privacy_curve import PrivacyCurve
from noisycount.analysis.tables.table_posterior import TablePosterior
from noisycount.charts.picture import Picture
from noisycount.charts.plot import Plot
from noisycount.charts.plot_picture import plot_picture
from noisycount.charts.privacy import NamedCurve, PrivacyView, privacy_picture
from noisycount.charts.refined_table import posterior_dots, refined_picture
from noisycount.charts.refinement import AnswerCurve, RefinementCurves, answer_picture, refinement_picture
from noisycount.charts.table import TableBars, is_published_table, table_picture
from noisycount.charts.vega import vega_lite
from noisycount.display.values import shortened_repr
from noisycount.errors import NoisyCountError, install_hint

_QUOTED_LENGTH = 100  # longest quotation of an invalid result in an error message


def build_picture(result: object) -> Picture:
    """Return the picture of a result: a posterior, a privacy curve, a figure, an answer or a table of answers.

    Raises:
        ValueError: The result is of another type.
    """
    match result:
        case Posterior():
            return _posterior_picture(result)
        case TablePosterior():
            return refined_picture(posterior_dots(result))
        case PrivacyCurve():
            return _curve_picture(result)
        case Plot():
            return plot_picture(result)
    if is_published(result):
        where = getattr(result, "where", "an answer with noise")
        unit = "records" if getattr(result, "unit", None) is None else "persons"
        return answer_picture(AnswerCurve.from_answer(result), where, unit)
    if is_published_table(result):
        return table_picture(TableBars.from_table(result))
    raise ValueError(
        "result must be a Posterior, a TablePosterior, a PrivacyCurve, a Release, a TableRelease "
        f"or a Figure, got {shortened_repr(result)[:_QUOTED_LENGTH]}: give one of these"
    )


def _posterior_picture(posterior: Posterior) -> Picture:
    """Return the picture of a posterior: the prior, the likelihood of the answers, and the posterior."""
    several = len(posterior.observed)
    averaged = f"; the answer is the average of {several}" if several > 1 else ""
    subtitle = f"{posterior.population.records:,} records{averaged}"
    return refinement_picture(RefinementCurves.from_posterior(posterior), "What is the true count?", subtitle)


def _curve_picture(curve: PrivacyCurve) -> Picture:
    """Return the picture of a privacy curve, δ against ε."""
    view = PrivacyView.from_curves([NamedCurve("δ(ε)", curve)])
    against = "all other records" if curve.population is None else f"{curve.population!r}"
    subtitle = f"{curve.mechanism!r}, against an adversary who knows {against}"
    return privacy_picture(view.lines, view.axes, "What can one record change?", subtitle)


if TYPE_CHECKING:
    import altair as alt


def chart(result: object) -> "alt.TopLevelMixin":
    """Return an Altair chart of a result, as the command line draws it.

    Args:
        result: A `Posterior`, a `TablePosterior`, a `PrivacyCurve`, a `Figure`, or an answer of a desk
            (`Release` or `TableRelease`).

    Raises:
        NoisyCountError: The extra `charts` is not installed.
        ValueError: The result is of another type, or an answer without added noise, or the posterior of one.

    Example:
        >>> import noisycount as nc
        >>> shown = nc.chart(nc.posterior(107, nc.Binomial(5912, 0.017), nc.DiscreteLaplace(7)))
        >>> shown.to_dict()["title"]["text"]
        'What is the true count?'
    """
    try:
        import altair as alt  # noqa: PLC0415  (an optional dependency)
    except ImportError:
        raise NoisyCountError(f"Altair charts need the package altair: {install_hint('charts')}") from None

    specification = vega_lite(build_picture(result))
    kind = alt.VConcatChart if "vconcat" in specification else alt.LayerChart
    return kind.from_dict(specification, validate=False)
