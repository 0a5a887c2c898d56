"""What a browser is told of every page: to load nothing from elsewhere, and to keep nothing."""

__all__ = ["PAGE_HEADERS", "STATIC_HEADERS"]

_POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
)
_ALWAYS = {
    "Content-Security-Policy": "; ".join(_POLICY),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

PAGE_HEADERS = {**_ALWAYS, "Cache-Control": "no-store"}
"""For what may show a data set: no cache, a shared one least of all, has a copy."""

STATIC_HEADERS = {**_ALWAYS, "Cache-Control": "public, max-age=31536000, immutable"}
"""For the style and the script, whose addresses change with their content."""
