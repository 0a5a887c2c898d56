"""The public function `chart`, which draws any result. It needs the extra `charts`, imported on the first call.

The chart of each kind of result is chosen in `results`.
"""

from typing import TYPE_CHECKING

from noisycount.errors import NoisyCountError, install_hint

if TYPE_CHECKING:
    import altair as alt


def check_charts() -> None:
    """Check that the extra `charts` is installed.

    Raises:
        NoisyCountError: Altair or vl-convert is missing.
    """
    try:
        import altair as alt  # noqa: F401, PLC0415  (checks that it is installed)
        import vl_convert  # noqa: F401, PLC0415  (the same)
    except ImportError:
        raise NoisyCountError(
            f"charts need the packages altair and vl-convert-python: {install_hint('charts')}"
        ) from None


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
    check_charts()
    from noisycount.charts.results import build_chart  # noqa: PLC0415  (loads Altair)

    return build_chart(result)
