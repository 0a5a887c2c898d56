"""How Sphinx makes the site; `make docs` runs it."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "noisycount"
author = "The noisycount engineers"
release = version = version_of("noisycount")
copyright = f"2026, the noisycount engineers; of noisycount {release}"  # noqa: A001 - Sphinx's name

extensions = [
    "alternative_texts",
    "docstrings",
    "mathml",
    "members",
    "myst_nb",
    "offline_site",
    "plain_blocks",
    "redirects",
    "short_types",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build", "llms.txt", "former_pages.txt", "redirects.json"]
nitpicky = False
smartquotes = False  # questions have straight quotes, options two dashes

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # the tests execute the notebooks, and compare what is stored in them

autodoc_member_order = "bysource"
autodoc_type_aliases = {name: name for name in ("ArrayLike", "Reals", "Values")}  # of overloads
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_numpy_docstring = False

html_context = {"default_mode": "auto"}
html_theme = "pydata_sphinx_theme"
html_title = "noisycount"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_math_renderer = "mathml"
html_copy_source = False
html_domain_indices = False  # the list of modules; every name is in the index
html_show_sourcelink = False
html_show_search_summary = False  # a page read from a file may not fetch another one
html_search_scorer = str(Path(__file__).with_name("search_order.js"))
html_extra_path = ["llms.txt"]
html_theme_options = {
    "footer_end": [],
    "footer_start": ["copyright"],
    "navbar_align": "left",
    "navbar_center": [],  # the sidebar lists all pages
    "navbar_end": ["theme-switcher"],
    "navigation_depth": 2,
    "show_prev_next": True,
    "show_toc_level": 2,
}
html_sidebars = {"**": ["pages.html"]}
