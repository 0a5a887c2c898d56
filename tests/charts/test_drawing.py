from collections.abc import Callable

import altair as alt
import pytest
from altair.utils import schemapi

import noisycount as nc
from noisycount.charts.drawing import specification, unchecked
from noisycount.charts.plan import plan_chart
from tests.charts.test_plan import DOTS, LINES

LAW, NOISE = nc.Binomial(100, 0.1), nc.DiscreteLaplace(3)


@pytest.mark.parametrize(
    "chart",
    [
        lambda: nc.chart(nc.posterior(7, LAW, NOISE)),
        lambda: nc.chart(nc.privacy_curve(NOISE, LAW)),
        lambda: nc.chart(nc.figure("naldi2015.1")),
        lambda: plan_chart(DOTS, LINES, (0.95, 30), "A plan", "±20 %"),
    ],
)
def test_what_is_drawn_unchecked_keeps_the_schema(chart: Callable[[], alt.TopLevelMixin]) -> None:
    """The check of the whole passes, and changes nothing."""
    made = chart()
    assert made.to_dict(validate=True) == specification(made)


def test_only_our_charts_are_unchecked() -> None:
    """Altair goes on checking what others make."""
    is_checked = []

    @unchecked
    def build() -> alt.LayerChart:
        is_checked.append(schemapi.DEBUG_MODE)
        return alt.LayerChart(layer=[], mark="none")

    with pytest.raises(schemapi.SchemaValidationError):
        build().to_dict()
    assert is_checked == [False]
    assert schemapi.DEBUG_MODE
