"""Results of benchmarks: each run is kept, and what became slower since is found."""

from pathlib import Path

import pytest
from benchmarks.comparison import Comparison
from benchmarks.results import latest_result, machine_facts, markdown_lines, slower_lines, write_result


def test_ratios_over_1_3_times_those_of_the_last_result_are_shown(tmp_path: Path) -> None:
    """Times do not matter, as a rival in the same run was as slow."""
    assert latest_result(tmp_path) is None
    write_result([Comparison("draw", 1e-3, "NumPy", 2e-3), Comparison("count", 1, "DuckDB", 2)], {}, tmp_path)
    result = latest_result(tmp_path)
    assert result is not None
    later = [
        Comparison("draw", 1.4e-3, "NumPy", 2e-3),  # 1.4 times the ratio
        Comparison("count", 10, "DuckDB", 16),  # 1.25 times
        Comparison("plan", 1, "help", 1),  # not in the last result
    ]
    assert slower_lines(later, result) == ["draw, beside NumPy: 0.7, before 0.5 (1.40 times)"]


def test_a_small_run_judges_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other runs do."""
    monkeypatch.delenv("NOISYCOUNT_BENCH_SMALL", raising=False)
    exceeded = Comparison("draw", 2, "NumPy", 1, limit=1)
    assert not exceeded.kept
    monkeypatch.setenv("NOISYCOUNT_BENCH_SMALL", "1")
    assert exceeded.kept


def test_a_result_names_its_machine(tmp_path: Path) -> None:
    """Cores, processor, Python, and the versions of rivals that are installed."""
    facts = machine_facts()
    write_result([Comparison("draw", 1e-3, "NumPy", 2e-3)], facts, tmp_path)
    result = latest_result(tmp_path)
    assert result is not None
    assert markdown_lines(result)[-1] == "| draw | NumPy | 0.5 | none |"
    assert facts["cores"] >= 1
    assert facts["rivals"]["numpy"]
