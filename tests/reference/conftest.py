"""The fixtures of the command line."""

from tests.commands import here, run

__all__ = ["here", "run"]
