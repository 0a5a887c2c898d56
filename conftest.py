"""What every test, and every example of a docstring, begins with."""

import pytest

import noisycount


@pytest.fixture(scope="session", autouse=True)
def examples(doctest_namespace: dict[str, object]) -> None:
    """The package, by the name that examples call it."""
    doctest_namespace["nc"] = noisycount
