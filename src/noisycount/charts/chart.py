"""The chart of any result; the extra `charts`, which draws it, is imported when it is needed."""

from typing import TYPE_CHECKING

from noisycount.errors import NoisyCountError, install_hint

if TYPE_CHECKING:
    import altair as alt


def check_charts() -> None:
    """The refusal of a chart that no package can draw."""
    try:
        import altair as alt  # noqa: F401, PLC0415  (is it there?)
        import vl_convert  # noqa: F401, PLC0415  (the same)
    except ImportError:
        raise NoisyCountError(
            f"charts need the packages altair and vl-convert-python: {install_hint('charts')}"
        ) from None


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
