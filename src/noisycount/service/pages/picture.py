"""Pictures of a page as SVG, drawn here: their colours are those of the page, light or dark."""

from collections.abc import Sequence

from markupsafe import Markup

from noisycount.display.numbers import percent, plus_minus, signed
from noisycount.tasks.plan import Dots, Plan, preview_heading

_WIDTH, _SIDE, _TOP, _BOTTOM = 440.0, 14.0, 8.0, 26.0
_COLUMNS, _MARKS = 31, 4
_LARGEST = 7.0  # radius of a dot
_SCALE = 1000.0  # of a bar from end to end


def dots_picture(plan: Plan) -> Markup:
    """Fifty possible answers, each as likely as the others, over the band that the goal allows."""
    dots = Dots.of(plan.possible_errors, plan.centre, _COLUMNS)
    reach = max((dots.reach + 0.5) * dots.step, plan.width + 1)
    step = (_WIDTH - 2 * _SIDE) / (2 * reach)

    def across(value: float) -> float:
        return _SIDE + (value - plan.centre + reach) * step

    radius = min(_LARGEST, step * dots.gap * 0.46)
    floor = _TOP + 2.15 * radius * (max(row for _, row in dots.places) + 0.4)
    circles = [
        Markup('<circle class="dot" cx="{}" cy="{}" r="{}"/>').format(
            _digits(across(value)), _digits(floor - (row - 0.5) * 2.15 * radius), _digits(radius)
        )
        for value, row in dots.places
    ]
    left, right = (across(plan.centre + side * (plan.width + 0.5)) for side in (-1, 1))
    band = Markup('<rect class="band" x="{}" y="0" width="{}" height="{}"/>').format(
        _digits(left), _digits(right - left), _digits(floor)
    )
    centre = Markup('<path class="dash" d="M{} 0V{}"/>').format(_digits(across(plan.centre)), _digits(floor))
    axis = Markup('<path class="axis" d="M0 {}H{}"/>').format(_digits(floor), _digits(_WIDTH))
    marks = [
        Markup('<text x="{}" y="{}" text-anchor="middle">{}</text>').format(
            _digits(across(value)), _digits(floor + 18), _mark(value, plan)
        )
        for value in _marks(plan.centre, reach)
    ]
    said = f"{preview_heading(plan)}; {percent(plan.confidence)} lie within {plus_minus(plan.width)}"
    return _drawn(floor + _BOTTOM, said, [band, centre, *circles, axis, *marks])


def _drawn(height: float, said: str, parts: Sequence[Markup]) -> Markup:
    return Markup('<svg class="chart" role="img" aria-label="{}" viewBox="0 0 {} {}">{}</svg>').format(
        said, _digits(_WIDTH), _digits(height), Markup("").join(parts)
    )


def bar_picture(
    answer: float, error: float, ends: tuple[float, float], refined: tuple[float, float, float] | None = None
) -> Markup:
    """A bar from 0 to an answer with the line of its interval, for a cell of a table.

    Args:
        answer: The noisy count.
        error: The line reaches so far on both sides.
        ends: The least and the largest value of all bars, 0 between them.
        refined: An estimate and its interval, drawn in green below.
    """
    low, high = ends
    wide = _SCALE / max(high - low, 1e-9)

    def across(value: float) -> str:
        return _digits((min(max(value, low), high) - low) * wide)

    left, right = sorted((0.0, answer))
    parts = [
        Markup('<rect class="bar" x="{}" y="5" width="{}" height="14"/>').format(
            across(left), _digits((right - left) * wide)
        ),
        _line("axis", across(0), 0, across(0), 34),
        _line("line", across(answer - error), 12, across(answer + error), 12),
        _line("line", across(answer), 6, across(answer), 18),
    ]
    if refined is not None:
        estimate, least, most = refined
        parts += [
            _line("refined-line", across(least), 27, across(most), 27),
            _line("refined-line", across(estimate), 22, across(estimate), 32),
        ]
    kind, height = ("spark", 24) if refined is None else ("spark tall", 34)
    return Markup(
        '<svg class="chart {}" viewBox="0 0 {} {}" preserveAspectRatio="none" aria-hidden="true">{}</svg>'
    ).format(kind, _digits(_SCALE), height, Markup("").join(parts))


def _line(kind: str, left: str, top: int, right: str, bottom: int) -> Markup:
    return Markup('<path class="{}" vector-effect="non-scaling-stroke" d="M{} {}L{} {}"/>').format(
        kind, left, top, right, bottom
    )


def _marks(centre: int, reach: float) -> list[int]:
    """Round numbers below the dots, the centre among them, no more than there is room for."""
    step = 1
    while reach / step > _MARKS / 1.6:
        step = next(each for each in (2 * step, 5 * step // 2, 10 * step) if _is_round(each))
    sides = int(0.9 * reach / step)
    return [centre + place * step for place in range(-sides, sides + 1)]


def _is_round(number: int) -> bool:
    """Whether a number is 1, 2 or 5 with noughts behind it."""
    return str(number).rstrip("0") in {"1", "2", "5"}


def _mark(value: int, plan: Plan) -> str:
    """A number below the dots; errors have their sign."""
    sign = "+" if plan.guess is None and value > 0 else ""
    return f"{sign}{signed(value)}"


def _digits(number: float) -> str:
    """A coordinate with no more digits than anybody sees."""
    return f"{number:.1f}".removesuffix(".0")
