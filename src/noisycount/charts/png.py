"""PNG files from SVG text, without a browser. They need the extra `charts`; SVG files need nothing."""

from pathlib import Path

from noisycount.errors import NoisyCountError, install_hint

_SCALE = 2.0  # resolution of a PNG relative to its size in pixels, for high-resolution screens
_FONTS = Path(__file__).parent / "fonts"  # folder of the font's files
_FAMILY = "Noisycount Sans"  # name of the font


def check_png() -> None:
    """Check that the package that draws PNG files is installed.

    Raises:
        NoisyCountError: It is missing.
    """
    try:
        import resvg_py  # noqa: F401, PLC0415  (checks that it is installed)
    except ImportError:
        raise NoisyCountError(f"PNG pictures need the package resvg-py: {install_hint('charts')}") from None


def svg_as_png(svg: str) -> bytes:
    """Return the PNG of an SVG text, in double resolution. Texts are drawn in a font of this package."""
    import resvg_py  # noqa: PLC0415  (an optional dependency)

    fonts = sorted(map(str, _FONTS.glob("*.ttf")))
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=_SCALE, font_files=fonts, sans_serif_family=_FAMILY))
