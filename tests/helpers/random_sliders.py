"""Places of all sliders, drawn at random."""

from fractions import Fraction

from hypothesis import strategies as st

from noisycount.readers.values import NOISE_KINDS
from noisycount.tasks.explore.sliders import QUANTITIES, Quantity, Sliders

__all__ = ["sliders"]


def _values(quantity: Quantity) -> st.SearchStrategy[Fraction]:
    """Give values of a range, on the stops of the slider and between them."""
    if quantity.is_whole:
        typed = st.integers(int(quantity.low), int(quantity.high)).map(Fraction)
    else:
        typed = st.fractions(quantity.low, quantity.high, max_denominator=10_000)
    return st.sampled_from(quantity.stops) | typed


def sliders() -> st.SearchStrategy[Sliders]:
    """Give places of all sliders."""
    values = {name: _values(quantity) for name, quantity in QUANTITIES.items()}
    size = values.pop("size").map(int)
    return st.builds(Sliders, size=size, noise=st.sampled_from(sorted(NOISE_KINDS)), **values)
