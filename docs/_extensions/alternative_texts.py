"""Alternative texts of pictures on one line: between two the parser would drop the blank."""

import re

from sphinx.application import Sphinx

__all__ = ["joined", "setup"]

_PICTURE = re.compile(r"!\[[^\]]*\]\(")


def setup(app: Sphinx) -> dict[str, bool]:
    """The change of every source before it is read."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def joined(text: str) -> str:
    """The text with each alternative text on one line."""
    return _PICTURE.sub(lambda found: " ".join(found[0].split()), text)


def _read(app: Sphinx, page: str, source: list[str]) -> None:
    """Mend a source in its place; notebooks have no such lines."""
    if app.env.doc2path(page).suffix == ".md":
        source[0] = joined(source[0])
