"""The index of the tests of a module is complete, and finds the tests that pass through a module."""

import subprocess
import sys

import pytest

from tests import index


@pytest.mark.thorough
@pytest.mark.always
def test_every_module_has_a_file_of_tests() -> None:
    """A module without a test at its place is imported by a file of tests, or named in its docstring."""
    files = index.tests_by_module()
    assert {place for place in files if not files[place] and not place.endswith("__init__.py")} == set()
    assert "tests/release/test_goal.py" in files["release/goal.py"]


def test_an_unknown_module_is_refused() -> None:
    """The refusal names the module and an example."""
    with pytest.raises(SystemExit, match=r"no module 'goal.py' in src/noisycount: name one such as release/desk.py"):
        index.passing_tests("goal.py")


@pytest.mark.thorough
@pytest.mark.always
def test_tests_that_call_a_module_are_printed(capfd: pytest.CaptureFixture[str]) -> None:
    """Each test that calls a function is printed with its functions, and no other test."""
    words = [sys.executable, "-m", "tests.index", "release/goal.py", "tests/release/test_goal.py"]
    subprocess.run(words, cwd=index.PROJECT, check=True)  # noqa: S603 - our own words
    lines = dict(line.split(": ", 1) for line in capfd.readouterr().out.splitlines() if line.startswith("tests/"))
    assert lines["tests/release/test_goal.py::test_an_entry_of_a_fixed_price_has_no_goal"] == "AccuracyGoal.from_entry"
    assert not [test for test in lines if not test.startswith("tests/release/test_goal.py::")]
