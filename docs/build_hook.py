"""Hatchling's hook: a wheel and an sdist hold the site, if `make docs` has built it."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

__all__ = ["SiteHook"]

_BUILT = "docs/_build/html"
_INSTALLED = "noisycount/site"


class SiteHook(BuildHookInterface):
    """Adds the files of the site: to a wheel as part of the package, to an sdist where they were built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add all files but those in which Sphinx keeps its state. An editable install reads them where they are."""
        site = Path(self.root) / _BUILT
        if version == "editable":
            return
        target = _INSTALLED if self.target_name == "wheel" else _BUILT
        for path in sorted(site.rglob("*")):
            name = path.relative_to(site).as_posix()
            if path.is_file() and not name.startswith("."):
                build_data["force_include"][str(path)] = f"{target}/{name}"
