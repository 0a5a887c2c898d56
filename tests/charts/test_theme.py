from itertools import combinations, pairwise

import numpy as np
import pytest

from noisycount.charts import theme
from noisycount.charts.theme import LEVELS, STYLES, Style, styles

# Machado, Oliveira and Fernandes (2009): how linear red, green and blue look without one cone.
VISIONS = {
    "usual": np.eye(3),
    "without red": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "without green": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) / np.array(
    [[0.9505], [1.0], [1.089]]
)


def linear(colour: str) -> np.ndarray:
    """Red, green and blue as amounts of light."""
    parts = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def seen(colour: str, vision: str) -> np.ndarray:
    """A colour as somebody sees it, in CIE L*a*b*."""
    xyz = TO_XYZ @ np.clip(VISIONS[vision] @ linear(colour), 0, 1)
    root = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def test_every_colour_can_be_read_as_text() -> None:
    """A contrast to white of 4.5 at least, as WCAG 2.2 asks of small text."""
    for style in (*STYLES.values(), *LEVELS, theme.GUIDE, Style(theme.INK)):
        light = float(TO_XYZ[1] @ linear(style.colour))
        assert 1.05 / (light + 0.05) >= 4.5, style


@pytest.mark.parametrize("vision", VISIONS)
def test_colours_are_told_apart_by_every_vision(vision: str) -> None:
    """The colours of things that share a chart are at least 15 apart."""
    colours = {style.colour for style in STYLES.values()}
    for one, other in combinations(sorted(colours), 2):
        assert np.linalg.norm(seen(one, vision) - seen(other, vision)) >= 15, (one, other)


def test_levels_go_from_dark_to_light() -> None:
    """Their order is seen without colour, too."""
    lightness = [seen(style.colour, "usual")[0] for style in LEVELS]
    assert all(a + 5 < b for a, b in pairwise(lightness))
    assert len({style.dash for style in LEVELS}) == len(LEVELS)


def test_a_known_thing_has_its_style_whatever_stands_beside_it() -> None:
    """The outsider is green with and without the partly informed adversary."""
    three = styles(["worst case", "partly informed", "distribution only"])
    assert styles(["worst case", "distribution only"]) == [three[0], three[2]]
    assert styles(["somebody", "worst case"])[0] != three[0]
