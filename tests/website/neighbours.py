"""The picture of the page “Differential privacy in ten minutes”: one count with and without one person.

`python -m tests.website.neighbours` writes it; `tests/website/test_neighbours.py` fails if it is old.
"""

from collections import Counter
from pathlib import Path

import numpy as np

import noisycount as nc
from noisycount.charts.picture import AxisRange, CurveMark, DotMarks, Frame, Picture, RuleMark, TextMark
from noisycount.charts.picture_svg import picture_svg
from noisycount.charts.plot import Axis
from noisycount.charts.theme import BLUE, DASHED, INK, VERMILION, Style

PICTURE = Path(__file__).parents[2] / "docs/start/neighbours.svg"
EPSILON = "0.15"
COUNT = 92  # persons of the survey in poor health
PUBLISHED = 93  # the answer of README and of the demonstration
ANSWERS = (105, 91, 92, 95, 82, 102, 102, 100, 91, 96)  # ten noisy answers about 92, drawn once at this ε

_LOW, _HIGH, _TOP = 60, 125, 0.08  # ends of both axes
_SIZE = (560, 250)  # width and height of the axes, in pixels
_DOT = 10  # diameter of the dot of an answer, in pixels
_NAMES = 18  # pixels from the top to the first name, and between two


def likelihoods(count: int) -> list[tuple[int, float]]:
    """Return each answer of the x axis with its probability if the true count is `count`."""
    noise = nc.DiscreteLaplace.for_epsilon(EPSILON)
    return [(answer, float(np.exp(noise.logpmf(answer, [count]))[0])) for answer in range(_LOW, _HIGH + 1)]


def neighbours_picture() -> Picture:
    """Return both distributions in one pair of axes, the ten answers as dots, and a line at the published answer."""
    x = AxisRange(Axis("published answer", "persons", is_whole=True), _LOW, _HIGH)
    y = AxisRange(Axis("probability", is_share=True), 0, _TOP, has_grid=True)
    frame = Frame(x, y, _SIZE, ())
    seen = Counter[int]()
    dots = []
    for answer in ANSWERS:
        dots.append((answer, (0.5 + seen[answer]) * _DOT * 1.1 * _TOP / _SIZE[1]))
        seen[answer] += 1
    (line, _) = frame.place(PUBLISHED, 0)
    names = [
        TextMark((line + 8, _NAMES), f"published: {PUBLISHED}", INK),
        TextMark((10, _NAMES), f"with Ada: true count {COUNT}", BLUE, is_bold=True),
        TextMark((10, 2 * _NAMES), f"without Ada: true count {COUNT - 1}", VERMILION, is_bold=True),
        TextMark((10, 3 * _NAMES), f"dots: ten answers about {COUNT}", INK),
    ]
    marks = [
        CurveMark(likelihoods(COUNT), Style(BLUE), is_area=True),
        CurveMark(likelihoods(COUNT - 1), Style(VERMILION), is_area=True),
        RuleMark(PUBLISHED, Style(INK, DASHED, 1.5)),
        DotMarks(dots, INK, _DOT),
        *names,
    ]
    title = "Was Ada counted? The answer could come from either."
    notes = [
        f"Count of persons in poor health, with noise of ε = {EPSILON}.",
        "Each answer is at most e^0.15 ≈ 1.16 times as likely with Ada as without her.",
    ]
    return Picture(title, notes, [Frame(x, y, _SIZE, marks)])


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(picture_svg(neighbours_picture()), encoding="utf-8")


if __name__ == "__main__":
    main()
