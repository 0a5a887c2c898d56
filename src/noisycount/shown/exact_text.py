"""Exact rational numbers as text."""

from numbers import Rational

__all__ = ["exact_text"]


def exact_text(value: Rational) -> str:
    """The shortest text that denotes a rational exactly.

    Args:
        value: Any rational, such as a budget or what was spent of it.

    Returns:
        A decimal without exponent where one terminates, else ``numerator/denominator``.

    Example:
        >>> from fractions import Fraction
        >>> exact_text(Fraction(3, 10)), exact_text(Fraction(2, 6)), exact_text(Fraction(0))
        ('0.3', '1/3', '0')
    """
    numerator, denominator = int(value.numerator), int(value.denominator)
    twos, rest = _power(2, denominator)
    fives, rest = _power(5, rest)
    if rest != 1:
        return f"{numerator}/{denominator}"
    places = max(twos, fives)
    digits = str(abs(numerator) * 10**places // denominator).zfill(places + 1)
    whole, part = digits[: len(digits) - places], digits[len(digits) - places :]
    return f"{'-' if value < 0 else ''}{whole}{'.' if part else ''}{part}"


def _power(base: int, number: int) -> tuple[int, int]:
    """How often a base divides a number, and the number without that power."""
    power = 0
    while number % base == 0:
        number //= base
        power += 1
    return power, number
