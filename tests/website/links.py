"""The pages of the site, once built: every link leads somewhere, nothing comes from elsewhere or is inline.

The service serves the site under a policy that forbids scripts and styles inside a page.

python -m tests.website.links docs/_build/html
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"audio", "embed", "iframe", "img", "input", "script", "source", "video"}  # by `src`
NEEDED = {"stylesheet", "icon", "preload", "modulepreload"}  # of `link`: loaded with the page


@dataclass
class Page(HTMLParser):
    """The links of a page, what it loads, and the places that links may lead to."""

    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    places: set[str] = field(default_factory=set)
    inline: list[str] = field(default_factory=list)  # scripts and styles in the page, by their tags

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Read one tag."""
        values = {name: value for name, value in attrs if value is not None}
        self.places |= {values[name] for name in ("id", "name") if name in values}
        if tag == "style" or (tag == "script" and "src" not in values) or "style" in values:
            self.inline.append(tag)
        if tag in LOADED and "src" in values:
            self.loaded.append(values["src"])
        if tag == "link" and NEEDED & {*values.get("rel", "").split()}:
            self.loaded.append(values["href"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])


@cache
def read(path: Path) -> Page:
    """A page that was parsed once."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def pages_of(site: Path) -> list[str]:
    """The names of all pages of a site, without the templates that its theme leaves there."""
    names = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    return [name for name in names if not name.startswith("_static/")]


def faults(site: Path) -> Iterator[str]:
    """Yield the wrong links of a site, a line each."""
    for name in pages_of(site):
        path = site / name
        page = read(path)
        yield from (f"{name}: has a script or a style in <{tag}>" for tag in page.inline)
        for link in page.loaded:
            parts = urlsplit(link)
            if parts.scheme != "data" and (parts.scheme or parts.netloc):
                yield f"{name}: loads {link} from elsewhere"
        for link in [*page.loaded, *page.links]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path.parent / unquote(parts.path) if parts.path else path
            if not target.resolve().is_relative_to(site.resolve()) or not target.is_file():
                yield f"{name}: {link} leads to no file"
            elif parts.fragment and not _has_place(target, unquote(parts.fragment)):
                yield f"{name}: {link} leads to no place on that page"


def _has_place(target: Path, place: str) -> bool:
    """Return True if a link may lead to that place of a file; a picture has any."""
    return target.suffix != ".html" or place in read(target.resolve()).places


def main() -> None:
    """Tell the faults of the site in the folder that is named, and fail if there are any."""
    site = Path(sys.argv[1])
    pages = len(pages_of(site))
    found = list(faults(site))
    for fault in found:
        print(fault)  # noqa: T201 - a command
    print(f"{pages} pages, {len(found)} links that lead nowhere")  # noqa: T201
    sys.exit(1 if found or not pages else 0)


if __name__ == "__main__":
    main()
