"""The site of the documentation, which is built into a wheel: its files, and its pages by their addresses.

A checkout has the site where `make docs` builds it.
"""

import re
from functools import cache
from html import unescape
from pathlib import Path

from noisycount.config.toml_table import name_suggestion
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen

__all__ = ["NOT_BUILT", "Page", "address_at_service", "find_page", "page_names", "site_files", "with_addresses"]

NOT_BUILT = "the documentation is not in this installation: build it with `make docs` in a clone, or install a wheel"
_PACKAGE = Path(__file__).parents[1]
_FOLDERS = (_PACKAGE / "site", _PACKAGE.parents[1].joinpath("docs", "_build", "html"))
_COMMAND = re.compile(r"noisycount docs ([a-z-]+(?:/[a-z-]+)*)")
_TITLE = re.compile(r"<title>(.*?)(?: &#8212; [^<]*)?</title>", re.DOTALL)


@frozen
class Page:
    """A page of the built site."""

    title: str
    file: Path
    heading: str = ""  # fragment of an address

    @property
    def address(self) -> str:
        """The address that a browser opens."""
        return self.file.resolve().as_uri() + (f"#{self.heading}" if self.heading else "")


@cache
def site_files() -> dict[str, Path]:
    """Return the files of the built site by their addresses in the site; empty if the site is not built."""
    folder = next((folder for folder in _FOLDERS if (folder / "index.html").is_file()), None)
    if folder is None:
        return {}
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {address: path for address, path in files.items() if not address.startswith(".")}


def address_at_service(name: str) -> str | None:
    """Return the address of a page such as `how-to/keys` at a service, or None if the site has no such page."""
    return f"/docs/{name}.html" if f"{name}.html" in site_files() else None


def with_addresses(message: str) -> str:
    """Replace each command `noisycount docs PAGE` in a message by the page's address at the service, if it is there."""
    return _COMMAND.sub(lambda match: address_at_service(match[1]) or match[0], message)


def find_page(name: str) -> Page:
    """Return the page with an address such as `how-to/keys` or `how-to/keys.html#roles`.

    Raises:
        NoisyCountError: The site is not built, or has no such page.
    """
    files = site_files()
    if not files:
        raise NoisyCountError(NOT_BUILT)
    address, _, heading = name.partition("#")
    address = address.removesuffix(".html")
    file = files.get(f"{address}.html")
    if file is None:
        raise NoisyCountError(
            f"PAGE {name!r} is no page of the documentation: {name_suggestion(address, page_names())}"
        )
    return Page(_read_title(file), file, heading)


def page_names() -> list[str]:
    """Return the addresses of all pages of the built site, without their ending."""
    pages = (address for address in site_files() if address.endswith(".html") and not address.startswith("_"))
    return sorted(address.removesuffix(".html") for address in pages)


def _read_title(file: Path) -> str:
    """Return the title of a page of the site."""
    match = _TITLE.search(file.read_text(encoding="utf-8"))
    return unescape(match[1]).strip() if match else file.stem
