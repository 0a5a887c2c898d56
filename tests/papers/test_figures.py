import pytest

from noisycount.papers.figure import Verdict
from noisycount.papers.simulation import EPSILONS, result
from noisycount.papers.true_tables import true_tables
from tests.papers.test_papers import figure

TABLES = [table.name for table in true_tables()]


@pytest.mark.parametrize(
    ("key", "kind", "estimates"),
    [
        ("ours.tables", "cells", ["clamped", "flat posterior", "projected", "tree"]),
        ("ours.ranges", "sums", ["independent", "flat posterior", "projected", "tree"]),
    ],
)
def test_errors_are_drawn_over_those_of_the_answers(key: str, kind: str, estimates: list[str]) -> None:
    """A panel for each table, every estimate at every price, and 1 to compare with."""
    panels = figure(key).panels
    assert [panel.title.lower() for panel in panels] == [name.lower() for name in TABLES]
    for name, panel in zip(TABLES, panels, strict=True):
        *lines, guide = panel.lines
        assert [line.name for line in lines] == estimates
        assert set(guide.ys) == {1}
        for line in lines:
            for epsilon in EPSILONS:
                ours, raw = (
                    getattr(result(name, "cells", epsilon, each), kind).mean_absolute for each in (line.name, "raw")
                )
                assert line.at(epsilon) == pytest.approx(ours / raw)


def test_coverage_is_drawn_as_it_was_measured() -> None:
    """Cells and margins, of cells alone and of levels answered, every table at every price."""
    panels = figure("ours.coverage").panels
    kinds = [(kind, answered) for answered in ("cells", "levels") for kind in ("cells", "margins")]
    for (kind, answered), panel in zip(kinds, panels, strict=True):
        assert panel.title == f"{kind.capitalize()}, {answered} answered"
        assert [line.name for line in panel.lines] == [*TABLES, ""]
        for line in panel.lines[:-1]:
            found = [getattr(result(line.name, answered, e, "tree"), kind) for e in line.xs]
            assert line.ys == tuple(each.covered for each in found)
            assert set(line.xs) <= set(EPSILONS)


def test_claims_tell_the_worst_case() -> None:
    """The largest error over that of the nearest table, and how many are above it."""
    (claim,) = figure("ours.tables").claims
    ratios = [
        result(name, "cells", e, "tree").cells.mean_absolute / result(name, "cells", e, "projected").cells.mean_absolute
        for name in TABLES
        for e in EPSILONS
    ]
    assert f"to {max(ratios):.3g} times" in claim.found
    assert (claim.verdict is Verdict.HOLDS) == (max(ratios) <= 1)
