"""The chart of any result; drawing is imported only when something is drawn."""

from typing import TYPE_CHECKING

from noisycount.charts.extra import check_charts

if TYPE_CHECKING:
    import altair as alt

__all__ = ["chart"]


def chart(result: object) -> "alt.TopLevelMixin":
    """An Altair chart of a result, as the command line draws it.

    Args:
        result: A `Posterior`, a `TablePosterior`, a `PrivacyCurve`, a `Figure`, or what a desk
            releases.

    Raises:
        NoisyCountError: The extra `charts` is not installed.
        ValueError: It is something else, or an answer without added noise, or the posterior of one.

    Example:
        >>> import noisycount as nc
        >>> shown = nc.chart(nc.posterior(107, nc.Binomial(5912, 0.017), nc.DiscreteLaplace(7)))
        >>> shown.to_dict()["title"]["text"]
        'What is the true count?'
    """
    check_charts()
    from noisycount.charts.results import chart_of  # noqa: PLC0415  (loads Altair)

    return chart_of(result)
