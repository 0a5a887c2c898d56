"""Blocks of tables, which are shown as they are: Pygments has no words for them."""

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

__all__ = ["setup"]


def setup(app: Sphinx) -> dict[str, bool]:
    """The languages `csv` and `tsv`."""
    for language in ("csv", "tsv"):
        app.add_lexer(language, TextLexer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
