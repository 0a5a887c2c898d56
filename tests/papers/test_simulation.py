import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from audits.simulated_tables import csv_text, measured, simulated
from audits.table_estimates import LAWS, SimulatedRelease, TrueTable, estimates, survey, true_tables

from noisycount.papers.figure import Verdict
from noisycount.papers.our_tables import EPSILONS, RUNS, TableErrors, result, results
from tests.papers.test_papers import figure

PAGE = Path(__file__).parents[2] / "docs/mathematics/posteriors.md"


def small() -> TrueTable:
    """16 cells of log-normal shares."""
    return TrueTable.draw("small", LAWS["log-normal"], 16, 200)


@cache
def by_name(answered: str) -> dict[str, TableErrors]:
    """Return the measured errors of a small table, by the name of the estimate."""
    table = small()
    places = table.answered if answered == "levels" else table.answered[-1:]
    return {each.estimate: each for each in measured(table, answered, places, 0.3, range(4))}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("answered", "names"),
    [
        ("cells", ["clamped", "flat posterior", "projected", "independent", "flat"]),
        ("levels", ["clamped", "flat posterior", "least squares", "projected"]),
    ],
)
def test_everybody_has_errors_and_the_posterior_has_coverage(answered: str, names: list[str]) -> None:
    """Errors are finite, the root mean square not below the mean, shares between 0 and 1."""
    found = by_name(answered)
    assert list(found) == ["raw", *names, "tree", "tree median"]
    for each in found.values():
        for errors in (each.cells, each.margins, each.sums):
            assert 0 < errors.mean_absolute <= errors.root_mean_square < math.inf
    assert 0.5 < found["tree"].cells.covered <= 1
    assert 0.5 < found["tree"].margins.covered <= 1
    assert math.isnan(found["raw"].cells.covered)


@pytest.mark.thorough
def test_the_simulation_never_changes() -> None:
    """Equal table, price and number of releases give equal digits."""
    assert csv_text(by_name("cells").values()) == csv_text(by_name.__wrapped__("cells").values())


def test_errors_are_those_of_the_estimates() -> None:
    """The errors of a single release of the survey agree with a calculation by hand."""
    table = survey()
    release = SimulatedRelease.draw(table, 1.0, (3,), np.random.default_rng([0, 1, 1000, *b"survey"]))
    clamped = dict(estimates(release))["clamped"]
    found = {each.estimate: each for each in measured(table, "cells", (3,), 1.0, range(1))}["clamped"]
    away = clamped.cells - table.counts
    assert found.cells.mean_absolute == pytest.approx(np.abs(away).mean())
    assert found.cells.root_mean_square == pytest.approx(np.sqrt((away**2).mean()))
    assert found.sums.mean_absolute == pytest.approx(np.abs(np.cumsum(away)).mean())


def test_what_is_kept_is_of_every_table_and_price() -> None:
    """Stored results cover every table and price, in the order of the simulation."""
    kept = [(each.table, each.epsilon) for each in results() if each.answered == "cells"]
    assert list(dict.fromkeys(kept)) == [(table.name, epsilon) for table in true_tables() for epsilon in EPSILONS]


@pytest.mark.thorough
def test_what_is_kept_is_what_the_simulation_gives() -> None:
    """A price of the survey that is simulated anew agrees with the stored digits."""
    again = {(each.answered, each.estimate): each for each in simulated(RUNS, [survey()], [1.0])}
    kept = {(each.answered, each.estimate): each for each in results() if each.table == "survey" and each.epsilon == 1}
    assert again.keys() == kept.keys()
    for name, each in kept.items():
        for kind in ("cells", "margins", "sums"):
            told, found = getattr(each, kind), getattr(again[name], kind)
            assert found.mean_absolute == pytest.approx(told.mean_absolute, rel=2e-3)
            assert found.covered == pytest.approx(told.covered, abs=2e-3, nan_ok=True)


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
        assert [line.name for line in panel.lines] == [*TABLES, "93 %"]
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


@pytest.mark.skipif(not PAGE.is_file(), reason="the test runs outside the project's folder")
def test_the_page_states_how_far_off_sums_of_refined_cells_are() -> None:
    """`docs/mathematics/posteriors.md` has the largest ratio of errors of sums under a flat prior to raw ones."""
    flat = [errors for errors in results() if (errors.answered, errors.estimate) == ("cells", "flat posterior")]
    raw = [result(each.table, "cells", each.epsilon, "raw") for each in flat]
    ratios = [each.sums.mean_absolute / answers.sums.mean_absolute for each, answers in zip(flat, raw, strict=True)]
    words = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"were up to {max(ratios):.1f} times as far off" in words
