"""A site that the service can serve under its content security policy, without files that no page needs.

The theme writes scripts and styles into its pages, which the policy of the service forbids. They become files here.
Icons come from a font: the theme's script for them would write styles.
"""

import re
import shutil
from hashlib import sha256
from pathlib import Path

from sphinx.application import Sphinx

__all__ = ["allowed_page", "setup"]

_UNUSED = (
    "_sources",  # of pages that are not shown
    "_static/**/*.map",  # for developers of the theme
    "_static/scripts/fontawesome.*",
    "_static/vendor/fontawesome/webfonts/fa-brands-*",  # no page has icons of these fonts
    "_static/vendor/fontawesome/webfonts/fa-regular-*",
    "_static/webpack-macros.html",
)
_DROPPED = re.compile(
    r"<script[^>]*/fontawesome\.js[^>]*></script>\s*"
    # Settings of features that this site does not use: a list of versions, and a search while one types.
    r"|<script>DOCUMENTATION_OPTIONS\.(?:pagename|search_as_you_type) = [^<]*</script>\s*"
)
_INLINE = re.compile(r"<(script|style)(?![^>]*\ssrc=)[^>]*>(.*?)</\1>", re.DOTALL)
_STYLE_ATTRIBUTE = re.compile(r"(<[a-z]\w*\b[^<>]*?) style=\"[^\"]*\"")
_ENDINGS = {"script": "js", "style": "css"}
_TAGS = {"script": '<script src="{}"></script>', "style": '<link rel="stylesheet" href="{}">'}
_DIGITS = 12


def setup(app: Sphinx) -> dict[str, bool]:
    """Change the pages after the site is built."""
    app.connect("build-finished", _change_site, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def allowed_page(text: str, root: str) -> tuple[str, dict[str, str]]:
    """Return a page without scripts and styles in it, and the files that hold them, by their addresses in the site.

    `root` is the relative address of the site's folder, such as `../`.
    """
    files = {}

    def as_file(match: re.Match[str]) -> str:
        kind, content = match[1], match[2]
        address = f"_static/inline/{sha256(content.encode()).hexdigest()[:_DIGITS]}.{_ENDINGS[kind]}"
        files[address] = content
        return _TAGS[kind].format(f"{root}{address}")

    return _STYLE_ATTRIBUTE.sub(r"\1", _INLINE.sub(as_file, _DROPPED.sub("", text))), files


def _change_site(app: Sphinx, failure: Exception | None) -> None:
    """Change all pages of the site, and remove what no page needs."""
    if failure or app.builder.format != "html":
        return
    site = Path(app.outdir)
    for pattern in _UNUSED:
        for path in site.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for page in site.rglob("*.html"):
        root = "../" * (len(page.relative_to(site).parts) - 1)
        text, files = allowed_page(page.read_text(encoding="utf-8"), root)
        page.write_text(text, encoding="utf-8")
        for address, content in files.items():
            (site / address).parent.mkdir(parents=True, exist_ok=True)
            (site / address).write_text(content, encoding="utf-8")
