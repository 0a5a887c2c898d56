"""Files that a page offers."""

from fastapi import Response

from noisycount.app.server.pages.headers import PAGE_HEADERS

__all__ = ["download"]


def download(text: str, media: str, name: str) -> Response:
    """A text as a file that a browser saves.

    Args:
        text: What is in it.
        media: Its type, such as `text/csv`.
        name: Of plain letters.
    """
    headers = {**PAGE_HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=media, headers=headers)
