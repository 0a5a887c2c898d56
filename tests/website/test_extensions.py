"""Changes to pages and docstrings before Sphinx reads them."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs/_extensions"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the tests run outside the project's folder")


@pytest.fixture(autouse=True)
def extensions() -> Iterator[None]:
    """The folder as Sphinx imports from it."""
    pytest.importorskip("sphinx")
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))


def test_an_alternative_text_on_two_lines_keeps_its_blank() -> None:
    """Both lines are one, and nothing else of a page changes."""
    joined = import_module("alternative_texts").joined
    text = "Two\nlines.\n\n![what both say\ntogether](a.svg) and [a\nlink](b.md)\n"
    assert joined(text) == "Two\nlines.\n\n![what both say together](a.svg) and [a\nlink](b.md)\n"


def test_types_of_arrays_are_short() -> None:
    """Array types are spelled as a single word."""
    from numpy.typing import ArrayLike

    from noisycount.model.laws.gamma import Reals

    short = import_module("short_types")
    array_like = short._spelt(ArrayLike)  # noqa: SLF001
    assert short._short(float | Reals, array_like) == "float | ndarray[float64]"  # noqa: SLF001
    assert short._short(ArrayLike | None, array_like) == "array_like | None"  # noqa: SLF001


def test_no_script_and_no_style_stays_in_a_page() -> None:
    """They become files with an address of their content; scripts with an address stay, settings without use go."""
    allowed_page = import_module("offline_site").allowed_page
    page = (
        '<script data-x="a">one()</script><style>b {}</style><script src="a.js"></script><td style="c: d" id="e">'
        "<script>DOCUMENTATION_OPTIONS.pagename = 'start/a';</script>"
        '<script defer src="../_static/scripts/fontawesome.js?digest=1"></script>'
        '<mstyle displaystyle="false">'
    )
    text, files = allowed_page(page, "../")
    script, style = files
    assert files == {script: "one()", style: "b {}"}
    assert text == (
        f'<script src="../{script}"></script><link rel="stylesheet" href="../{style}"><script src="a.js"></script>'
        '<td id="e"><mstyle displaystyle="false">'
    )
