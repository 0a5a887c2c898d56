"""The fixtures of the command line."""

from tests.app.conftest import here, run

__all__ = ["here", "run"]
