"""The fixtures of the command line; outside of the project's folder there is no reference to test."""

from tests.commands import here, run
from tests.reference.pages import FOLDER

__all__ = ["here", "run"]

collect_ignore_glob = [] if FOLDER.is_dir() else ["test_*.py"]
