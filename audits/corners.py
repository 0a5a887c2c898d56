"""Random arguments of public functions, as texts of Python, corners first."""

import math

from audits.search import Source

__all__ = [
    "answer",
    "between",
    "continuous",
    "discrete",
    "epsilon",
    "noise",
    "noise_class",
    "noise_sum",
    "number",
    "one_noise",
    "population",
    "rate",
    "scale",
    "share",
    "size",
]

TINY = 5e-324
NEXT_TO_ONE = 1 - 2.0**-53
WIDEST, NARROWEST = 2.0**52, 2.0**-52


def between(source: Source, low: float, high: float) -> float:
    """A number between two others, of any order of magnitude."""
    found = math.exp(source.uniform(math.log(low), math.log(high)))
    return round(found, 3 - math.floor(math.log10(found))) if source.random() < 0.3 else found


def number(source: Source) -> float:
    """Any positive finite number."""
    corner = source.choice([TINY, 1e-310, 2.3e-308, 1e-300, 1.0, 1e300, 1.7976931348623157e308])
    return source.choice([corner, between(source, 1e-300, 1e300), between(source, 1e-3, 1e3)])


def share(source: Source) -> float:
    """A probability strictly between 0 and 1."""
    corner = source.choice([TINY, 1e-310, 1e-300, 2.0**-53, 1e-12, 0.5, 1 - 1e-12, NEXT_TO_ONE])
    rare = between(source, 1e-20, 0.5)
    return source.choice([corner, source.random() or 0.5, rare, min(1 - rare, NEXT_TO_ONE), 0.05])


def rate(source: Source) -> float:
    """A probability, 0 and 1 among them."""
    return source.choice([0.0, 1.0]) if source.random() < 0.1 else share(source)


def size(source: Source, most: int = 2**53) -> int:
    """A number of records, 0 among them."""
    few = source.choice([0, 1, 2, 3, source.randint(1, 60)])
    corner = source.choice([10**6, 2**31, 2**32 + 1, 2**53 - 1, 2**53])
    wide = int(between(source, 10, 2**53))
    return min(most, source.choice([few, few, wide, corner]))


def scale(source: Source, widest: float = WIDEST) -> float:
    """A scale of noise, in records."""
    corner = source.choice([NARROWEST, 3e-16, 1e-9, 0.001, 0.01, 0.2, 1.0, 2.0**52])
    wide, usual = between(source, 1e-3, 1e6), between(source, 0.1, 30)
    return min(widest, source.choice([corner, wide, usual, usual]))


def discrete(source: Source, widest: float = WIDEST) -> str:
    """Noise on the integers."""
    return f"nc.Discrete{source.choice(['Laplace', 'Gaussian'])}({scale(source, widest)!r})"


def continuous(source: Source, widest: float = WIDEST) -> str:
    """Noise with a density."""
    return f"nc.{source.choice(['Laplace', 'Gaussian'])}({scale(source, widest)!r})"


def noise(source: Source, widest: float = WIDEST) -> str:
    """Draw a noise, sometimes a sum whose law is short or has a closed form."""
    return (one_noise if source.random() < 0.8 else noise_sum)(source, widest)


def one_noise(source: Source, widest: float = WIDEST) -> str:
    """Noise of one kind."""
    return source.choice([continuous, discrete])(source, widest)


def noise_sum(source: Source, widest: float = WIDEST) -> str:
    """A sum of noises whose law has a closed form, or is short."""
    narrow, wide = (between(source, 0.05, 6) for _ in range(2))
    apart = between(source, 1e-2, min(1e4, widest))
    return source.choice([
        f"nc.NoiseSum([nc.Laplace({apart!r}), nc.Laplace({apart * 1.5!r})])",
        f"nc.NoiseSum([nc.Laplace({apart!r}), nc.Laplace({apart!r})])",
        f"nc.NoiseSum([nc.Laplace({apart!r}), nc.Gaussian({wide!r})])",
        f"nc.NoiseSum([nc.Gaussian({apart!r}), nc.Gaussian({wide!r})])",
        f"nc.NoiseSum([nc.DiscreteLaplace({narrow!r}), nc.DiscreteLaplace({wide!r})])",
        f"nc.NoiseSum([nc.DiscreteLaplace({narrow!r}), nc.DiscreteGaussian({wide!r})])",
        f"nc.NoiseSum([nc.DiscreteGaussian({narrow!r}), nc.DiscreteGaussian({wide!r})])",
        f"nc.NoiseSum([{continuous(source, widest)}])",
    ])  # fmt: skip


def noise_class(source: Source) -> str:
    """A class of noise."""
    return "nc." + source.choice(["Laplace", "Gaussian", "DiscreteLaplace", "DiscreteGaussian"])


def shape(source: Source) -> float:
    """A parameter of a beta law."""
    corner = source.choice([TINY, 1e-320, 1e-300, 1e-12, 0.5, 1.0, 1e12, 1e300])
    return source.choice([corner, between(source, 0.05, 50), between(source, 1e-6, 1e6)])


def table(source: Source, records: int) -> list[float]:
    """Probabilities of 0..records, some of them 0 or tiny."""
    tiny = 10.0 ** -source.choice([0, 3, 15, 85, 300])
    weights = [between(source, tiny, 1.0) * (source.random() < 0.8) if tiny < 1 else 1.0 for _ in range(records + 1)]
    weights[source.randrange(records + 1)] = 1.0
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def population(source: Source, most: int = 40, *, held: bool = True) -> str:
    """A population of few records, of any kind; at times some of them are known."""
    records = source.choice([0, 1, 1, 2, 3, source.randint(1, most), source.randint(1, most)])
    kind = source.choice(["Binomial", "Binomial", "BetaBinomial", "Strata", "Tabulated"])
    if kind == "Binomial":
        text = f"nc.Binomial({records}, {rate(source)!r})"
    elif kind == "BetaBinomial":
        text = f"nc.BetaBinomial({records}, {shape(source)!r}, {shape(source)!r})"
    elif kind == "Tabulated":
        return f"nc.Tabulated({table(source, records)!r})"
    else:
        groups = source.randint(1, 3)
        sizes = [source.randint(0, max(1, records // groups)) for _ in range(groups)]
        return f"nc.Strata({sizes!r}, {[rate(source) for _ in sizes]!r})"
    if held and records and source.random() < 0.2 and not text.endswith((" 0.0)", " 1.0)")):
        known = source.randint(0, records)
        text += f".given({known}, {source.randint(0, known)})"
    return text


def answer(source: Source, records: int, *, whole: bool) -> float:
    """An answer about a count of so many records: inside, between integers, or far outside."""
    far = source.choice([1e3, 1e6, 1e9, 1e15, 1e17, 1e100]) * source.choice([-1, 1])
    near = source.uniform(-0.5 * records - 3, 1.5 * records + 3)
    inside = source.randint(0, records)
    found = source.choice([far, near, near, inside, inside + 0.5, -0.0, near])
    return float(math.floor(found)) if whole else float(found)


def epsilon(source: Source) -> float:
    """An ε from 0 to 700."""
    corner = source.choice([0.0, TINY, 1e-300, 1e-16, 1.0, 640.0, 700.0])
    return source.choice([corner, between(source, 1e-4, 10), between(source, 1e-2, 3)])
