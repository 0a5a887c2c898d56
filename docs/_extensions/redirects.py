"""Redirect pages: one for each former address in redirects.json, for links that other sites still have.

A key is a former address; its value is the new one, which may name a heading, as in
`"guides/team.html": "how-to/keys.html#roles"`.
"""

import json
import posixpath
from html import escape
from pathlib import Path
from urllib.parse import urldefrag

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

__all__ = ["final_address", "redirect_page", "setup"]

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>This page has moved</title>
<meta http-equiv="refresh" content="0; url={target}">
<link rel="canonical" href="{target}">
<meta name="robots" content="noindex">
</head>
<body><p>This page has moved to <a href="{target}">{target}</a>.</p></body>
</html>
"""


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the redirect pages after the site is built."""
    app.connect("build-finished", _write_redirects)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def final_address(redirects: dict[str, str], address: str) -> str:
    """Follow the redirects from an address to a page that is not redirected.

    Raises:
        ValueError: The redirects lead in a circle.
    """
    visited = [address]
    while (page := urldefrag(visited[-1]).url) in redirects:
        target = redirects[page]
        if urldefrag(target).url in {urldefrag(earlier).url for earlier in visited}:
            raise ValueError(f"redirects.json: {' → '.join([*visited, target])} is a circle")
        visited.append(target)
    return visited[-1]


def redirect_page(address: str, target: str) -> str:
    """Return the HTML of the page at a former address; its link is relative, so that the site may lie in any folder."""
    page, fragment = urldefrag(target)
    relative = posixpath.relpath(page, posixpath.dirname(address) or ".")
    return _PAGE.format(target=escape(f"{relative}#{fragment}" if fragment else relative))


def _write_redirects(app: Sphinx, failure: Exception | None) -> None:
    """Write one page for each entry; refuse an entry whose address is a page of the site or whose target is none."""
    if failure or app.builder.format != "html":
        return
    site = Path(app.outdir)
    redirects = json.loads((Path(app.srcdir) / "redirects.json").read_text(encoding="utf-8"))
    pages = {app.builder.get_target_uri(name) for name in app.env.found_docs}
    for address in redirects:
        target = final_address(redirects, address)
        if address in pages or urldefrag(target).url not in pages:
            raise ExtensionError(f"redirects.json: {address} must not be a page of the site, and {target} must be one")
        (site / address).parent.mkdir(parents=True, exist_ok=True)
        (site / address).write_text(redirect_page(address, target), encoding="utf-8")
