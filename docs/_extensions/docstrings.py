"""Docstrings as reStructuredText: names in back quotes lead to what they name, bars are bars."""

import re

from sphinx.application import Sphinx

import noisycount

__all__ = ["setup"]

_QUOTED = re.compile(r"(``.+?``|`[^`]+`(?!_))")


def setup(app: Sphinx) -> dict[str, bool]:
    """The change of every docstring before it is read."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", _mended, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _mended(  # noqa: PLR0913, PLR0917 - as Sphinx calls it
    app: Sphinx, what: str, name: str, of: object, options: object, lines: list[str]
) -> None:
    """Mend the lines of a docstring in their place; sessions stay as they are.

    Of a property Napoleon takes what stands before a colon of the first line for a type: an empty
    comment comes before it.
    """
    del app, name, of, options
    if what in {"attribute", "property"}:
        lines[:0] = ["..", ""]
    is_session = False
    for place, line in enumerate(lines):
        is_session = line.lstrip().startswith(">>> ") or (is_session and bool(line.strip()))
        if not is_session:
            lines[place] = "".join(map(_piece, _QUOTED.split(line)))


def _piece(text: str) -> str:
    """A part of a line: a name, or what stands between two of them."""
    if text.startswith("``"):
        return text
    if text.startswith("`"):
        name = text.strip("`")
        return f":obj:`~noisycount.{name}`" if name in noisycount.__all__ else f"`{text}`"
    return text.replace("|", r"\|")
