"""The extra `charts`: the packages that draw, without which all else works."""

from noisycount.errors import NoisyCountError, extra_words

__all__ = ["check_charts"]


def check_charts() -> None:
    """The refusal of a chart that no package can draw.

    Raises:
        NoisyCountError: The extra is not installed; the text says how to install it.
    """
    try:
        import altair as alt  # noqa: F401, PLC0415  (is it there?)
        import vl_convert  # noqa: F401, PLC0415  (the same)
    except ImportError:
        raise NoisyCountError(
            f"charts need the packages altair and vl-convert-python: {extra_words('charts')}"
        ) from None
