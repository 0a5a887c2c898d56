"""The form of the page Explore: sliders with boxes beside them, which need no script."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from noisycount.app.explore.quantity import QUANTITIES, Quantity
from noisycount.app.explore.sliders import Sliders
from noisycount.app.options.population import NOISE_OPTIONS
from noisycount.errors import NoisyCountError
from noisycount.shown.exact_text import exact_text

__all__ = ["FROM", "Box", "boxes", "kinds", "moved"]

FROM = "from"
"""The field that says where the sliders stood before."""

_SLIDER = "-slider"


@dataclass(frozen=True, slots=True)
class Box:
    """A slider and the box beside it.

    Attributes:
        quantity: What they say.
        text: What stands in the box.
        place: At which stop the slider stands.
    """

    quantity: Quantity
    text: str
    place: int

    @property
    def slider(self) -> str:
        """The name of the slider's field."""
        return f"{self.quantity.name}{_SLIDER}"

    @property
    def last(self) -> int:
        """The number of the last stop."""
        return len(self.quantity.stops) - 1

    @property
    def stops(self) -> str:
        """The values of the stops, for the script."""
        return " ".join(map(exact_text, self.quantity.stops))


def boxes(sliders: Sliders, typed: Mapping[str, str]) -> Iterator[Box]:
    """Every slider, with what was typed where that was refused.

    Args:
        sliders: Where they stand.
        typed: The texts of a form that was refused; empty if none was.
    """
    texts = sliders.texts | {name: text for name, text in typed.items() if name in QUANTITIES}
    for name, quantity in QUANTITIES.items():
        yield Box(quantity, texts[name], quantity.nearest(getattr(sliders, name)))


def kinds() -> list[tuple[str, str]]:
    """Each kind of noise by what is sent and what is read."""
    return [(typed, str(kind.name)) for typed, kind in NOISE_OPTIONS.items()]


def moved(given: Mapping[str, str]) -> dict[str, str]:
    """What a form says: of a slider that was moved while its box was left alone, the slider.

    Args:
        given: The fields, those of an address among them.

    Example:
        >>> moved({"from": "size=1000", "size": "1000", "size-slider": "0"})
        {'size': '10'}
    """
    before = dict(parse_qsl(given.get(FROM, "")))
    places = {name.removesuffix(_SLIDER): text for name, text in given.items() if _is_slider(name)}
    said = {n: text for n, text in given.items() if n != FROM and not _is_slider(n)}
    for name, place in places.items():
        text = _dragged(name, place, before.get(name))
        if text is not None and said.get(name, before[name]) == before[name]:
            said[name] = text
    return said


def _is_slider(name: str) -> bool:
    return name.removesuffix(_SLIDER) in QUANTITIES and name.endswith(_SLIDER)


def _dragged(name: str, place: str, before: str | None) -> str | None:
    """The value of a slider that was moved from where it stood; None where it was not."""
    quantity = QUANTITIES[name]
    is_stop = place.isascii() and place.isdigit() and len(place) < len("1000")
    if before is None or not is_stop or int(place) >= len(quantity.stops):
        return None
    try:
        stood = quantity.nearest(quantity.value(before))
    except NoisyCountError:
        return None
    return None if int(place) == stood else exact_text(quantity.stops[int(place)])
