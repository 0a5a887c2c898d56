"""The documentation under `/docs/`, for everybody who reaches the service; it needs no key."""

from mimetypes import guess_type

from fastapi import APIRouter, Request, Response

from noisycount.service.pages.layout import SITE_HEADERS, page, redirect, sentence
from noisycount.tasks.documentation import NOT_BUILT, site_files

router = APIRouter(include_in_schema=False)
_FIRST = "/docs/index.html"
_TEXTS = {"application/javascript", "application/json"}


@router.get("/docs")
def first_page(request: Request) -> Response:
    """Redirect to the first page. If the site is not built, return a page that states how to read it."""
    return redirect(_FIRST) if site_files() else page(request, "no_site.html", None)


@router.get("/docs/{address:path}")
def documentation_file(request: Request, address: str) -> Response:
    """Return a file of the site: a page, a style, a script, a picture or a font."""
    if not address:
        return first_page(request)
    files = site_files()
    file = files.get(address)
    if file is None:
        words = f"The first page of the documentation is {_FIRST}." if files else sentence(NOT_BUILT)
        return page(request, "refused.html", None, status=404, heading="No such page", words=words)
    media = guess_type(file.name)[0] or "application/octet-stream"
    is_text = media.startswith("text/") or media in _TEXTS
    headers = SITE_HEADERS | {"Content-Type": f"{media}; charset=utf-8" if is_text else media}
    return Response(file.read_bytes(), headers=headers)
