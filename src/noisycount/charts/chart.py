"""The public function `chart`, which draws any result. It needs the extra `charts`, imported on the first call.

`results` chooses the picture of each kind of result, and `vega` describes it for Altair.
"""

from typing import TYPE_CHECKING

from noisycount.errors import NoisyCountError, install_hint

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
    from noisycount.charts.results import build_picture  # noqa: PLC0415  (for this alone)
    from noisycount.charts.vega import vega_lite  # noqa: PLC0415  (the same)

    specification = vega_lite(build_picture(result))
    kind = alt.VConcatChart if "vconcat" in specification else alt.LayerChart
    return kind.from_dict(specification, validate=False)
