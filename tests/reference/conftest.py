"""The fixtures of the command line; outside of the project's folder there is no reference to test."""

from tests.helpers.commands import here, run
from tests.helpers.reference_pages import FOLDER

__all__ = ["here", "run"]

collect_ignore_glob = [] if FOLDER.is_dir() else ["test_*.py"]
