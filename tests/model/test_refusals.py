import math
from fractions import Fraction
from typing import Any

import pytest

import noisycount as nc
from noisycount.model.concentrated import delta_of_rho, epsilon_of_rho, rho_within
from noisycount.model.half_width import error_within

INF, NAN = math.inf, math.nan
POSITIVE = [0, -1, 0.0, NAN, INF, -INF, True, "1"]
COUNT = [-1, 1.5, NAN, True]
NOISES = ["nc.Laplace", "nc.DiscreteLaplace", "nc.Gaussian", "nc.DiscreteGaussian"]
GAUSSIANS = NOISES[2:]
KNOWN = r"must be a whole number from 0 to 2\*\*53, got"
TABLE = "probabilities must not be negative and add up to 1"
ROWS = "sizes and rates must be two rows of one length"

REFUSED: list[tuple[str, list[str], list[Any]]] = [  # what is said, calls, and what they are given
    ("scale must be positive and finite, got ", [f"{one}(it)" for one in NOISES], POSITIVE),
    (
        r"scale must be between 2\*\*-52 and 2\*\*52 records",
        [f"{one}(it)" for one in GAUSSIANS],
        [2.0**60, 2.0**-60, 1e308, 5e-324],
    ),
    ("scale must be ", ["nc.DiscreteLaplace(it)"], [2.0**60, Fraction(1, 2**60), 10**400]),
    (
        r"scale must be between 2\*\*-52 and 2\*\*52 records",
        ["nc.NoiseSum([nc.Laplace(it), nc.Laplace(1.0)])"],
        [1e-300],
    ),
    (
        "epsilon must be positive and finite, got ",
        ["nc.Laplace.for_epsilon(it)", "nc.DiscreteLaplace.for_epsilon(it)"],
        [*POSITIVE[:-1], "one"],
    ),
    (
        "answer must be a finite number, got ",
        [f"{one}(2).likelihood(it, 10)" for one in GAUSSIANS],
        [NAN, INF, "7", True],
    ),
    (
        r"answer must lie within 2\*\*600 records of 0, got 1e",
        [f"{one}(2).likelihood(it, 10)" for one in GAUSSIANS],
        [1e300],
    ),
    (
        r"answer must be an integer under discrete noise, got 1\.5$",
        ["nc.DiscreteGaussian(2).likelihood(it, 10)"],
        [1.5],
    ),
    (
        "answer must ",
        [
            f"nc.NoiseSum([nc.DiscreteLaplace(1), nc.DiscreteGaussian(1)]).{call}"
            for call in ("likelihood(it, 10)", "tail(it, 10, upper=True)")
        ],
        [0.5, NAN, 1e300],
    ),
    (
        "answer must be a whole number from 0 to 10 without noise, got ",
        ["nc.Exact().likelihood(it, 10)"],
        [1.5, -1, 11, NAN, INF, True, "7", None, 10**400],
    ),
    (
        "answer must be ",
        ["nc.posterior(it, nc.Binomial(9, 0.5), nc.Subsample(4))"],
        [-1, 5, 1.5, NAN, INF, True, "3"],
    ),
    (
        "answer must be ",
        ["nc.posterior(it, nc.Binomial(9, 0.5), nc.Subsample(4, nc.DiscreteLaplace(2)))"],
        [1.5, NAN, INF],
    ),
    (
        "count must be a whole number",
        [*(f"{one}(2).release(it)" for one in NOISES), "nc.Exact().release(it)"],
        COUNT,
    ),
    ("count must be .*, got ", ["nc.Known(10, it)"], [-1, 10, 1.5, NAN]),
    (
        "noises must be all discrete or all continuous, got ",
        ["nc.NoiseSum(it)"],
        [
            [nc.DiscreteLaplace(3), nc.Laplace(1.0), nc.Laplace(2.0)],
            [nc.DiscreteLaplace(3), nc.Gaussian(10.0)],
            [nc.Laplace(3.0), nc.DiscreteLaplace(3.1767)],
        ],
    ),
    (
        r"sample_size must be a whole number from 1 to 2\*\*53, got ",
        ["nc.Subsample(it)"],
        [0, -1, 2.5, NAN, True, "3"],
    ),
    (
        "sample_size must be at most the 9 records there are, got 10$",
        [
            f"nc.posterior(3, {population}, nc.Subsample(10, it))"
            for population in ("nc.Binomial(9, 0.5)", "nc.Strata([4, 5], [0.1, 0.2])")
        ],
        [None, nc.Laplace(2)],
    ),
    (
        "noise must be noise that is added .* or None, got ",
        ["nc.Subsample(4, it)"],
        [2.0, "laplace", nc.Laplace, nc.Subsample(5), nc.Subsample(5, nc.Laplace(1))],
    ),
    *(
        (
            message,
            ["nc.Binomial(20, 0.3).given(*it)", "nc.BetaBinomial(20, 1, 2).given(*it)"],
            [given],
        )
        for given, message in (
            ((21, 0), "known must be at most the 20 records there are, got 21$"),
            ((-1, 0), f"known {KNOWN} -1$"),
            ((2.5, 0), rf"known {KNOWN} 2\.5$"),
            ((3, 4), "positives must be at most known = 3, got 4$"),
            ((3, -1), f"positives {KNOWN} -1$"),
            ((3, NAN), f"positives {KNOWN} nan$"),
        )
    ),
    *(
        (message, ["nc.Strata([4, 5], [0.25, 0.75]).given(*it)"], [given])
        for given, message in (
            (([1], [1]), r"known and positives must be one number a group \(2\), got shapes"),
            (([5, 0], [0, 0]), "known must be at most the 4 records there are, got 5$"),
            (([2, 0], [3, 0]), "positives must be at most known = 2, got 3$"),
            (([-1, 0], [0, 0]), f"known {KNOWN} -1$"),
        )
    ),
    (
        "positives cannot be 1 of 2: the table gives that",
        ["nc.Tabulated([0.5, 0.0, 0.5]).given(*it)"],
        [(2, 1)],
    ),
    *(
        (rf"size must be a whole number from {least} to 2\*\*53, got ", [call], sizes)
        for sizes in ([-1, 1.5, NAN, INF, 2**53 + 1, True, "10"],)
        for least, call in ((0, "nc.BetaBinomial(it, 1, 1)"), (1, "nc.Known(it)"))
    ),
    *(
        (f"{name} must be positive and finite, got ", [call], [0, -1.0, NAN, INF, True, "1"])
        for name, call in (
            ("alpha", "nc.BetaBinomial(10, it, 1)"),
            ("beta", "nc.BetaBinomial(10, 1, it)"),
        )
    ),
    *(
        (message, ["nc.BetaBinomial.from_rate(10, *it)"], [given])
        for given, message in (
            ((1.2, 0.1), "rate must be a probability"),
            ((0.3, 0.0), r"deviation must be positive and finite, got 0\.0$"),
            ((0.3, 0.46), r"deviation must be above 0 and below .*= 0\.458258, got 0\.46$"),
            ((0.0, 0.1), r"deviation must be above 0 and below .*= 0, got 0\.1$"),
            ((0.3, 1e-300), "deviation must be above 0 and below .*, got 1e-300$"),
        )
    ),
    *(
        (message, ["nc.Strata(*it)"], [given])
        for given, message in (
            (([1.5], [0.5]), r"sizes must be whole numbers from 0, got 1\.5$"),
            (([3, -1], [0.5, 0.5]), r"sizes must be whole numbers from 0, got -1\.0$"),
            (([NAN], [0.5]), "sizes must be whole numbers from 0, got nan$"),
            (([2**53, 2], [0.5, 0.5]), r"sizes must add up to at most 2\*\*53, got "),
            (([INF], [0.5]), r"sizes must add up to at most 2\*\*53, got inf$"),
            (([3], [1.2]), r"rates must be probabilities between 0 and 1, got 1\.2$"),
            (([3], [-1e-9]), "rates must be probabilities between 0 and 1, got -1e-09$"),
            (([3], [NAN]), "rates must be probabilities between 0 and 1, got nan$"),
            (([3, 4], [0.5]), rf"{ROWS}.*\(2,\) and \(1,\)$"),
            (([], []), f"{ROWS}, at least 1, got shapes"),
            (([[3]], [[0.5]]), rf"{ROWS}.*\(1, 1\)$"),
            ((3, 0.5), rf"{ROWS}.*\(\) and \(\)$"),
            ((["many"], [0.5]), "sizes and rates must be numbers, one a group: give two lists$"),
        )
    ),
    *(
        (message, ["nc.Tabulated(it)"], [given])
        for given, message in (
            ([0.5, 0.6], rf"{TABLE}, .* sum of 1\.1$"),
            ([1.5, -0.5], r"probabilities must .* got a smallest of -0\.5 and a sum of 1\.0$"),
            ([NAN, 1], f"{TABLE}, got .*nan"),
            ([INF, 1], f"{TABLE}, got .*inf$"),
            ([0.0, 0.0], rf"{TABLE}, .* sum of 0\.0$"),
            ([], r"probabilities must be one row of 1 to 10\*\*8 numbers, got shape \(0,\)$"),
            ([[1.0]], r"probabilities must be one row of .*, got shape \(1, 1\)$"),
            (1.0, r"probabilities must be one row of .*, got shape \(\)$"),
            (["likely"], "probabilities must be numbers, one a count: give a list$"),
            ([[1.0], [0.5, 0.5]], "probabilities must be numbers, one a count: give a list$"),
        )
    ),
    *(
        (message, [f"nc.Atoms{call}"], [None])
        for call, message in (
            ("(10, [0.5, 0.4])", r"rates of atoms must add up to 1, got 0\.9 from 2: add"),
            ("(10, [1.5, -0.5])", "rates must be a probability"),
            ("(10, [[0.5, 0.5]])", "rates must be one row of numbers, got shape"),
            ("(10, ['a'])", "rates must be numbers"),
            ("(-1, [1.0])", "size must be a whole number"),
            ("(10, [0.5, 0.5], [{2}])", "question must hold .* from 0 to 1, got 2"),
            ("(10, [0.5, 0.5], [{True}])", "question must hold .*, got True"),
            ("(10, [0.5, 0.5], [0])", "question must be a set of numbers"),
            (".disjoint(10, [0.6, 0.6])", "rates of disjoint predicates .* at most 1"),
            (".nested(10, [0.6, 0.5])", "rates of nested predicates must not fall"),
            (".independent(10, [0.5] * 17)", "rates must be at most 16"),
            (".independent(10, [])", "rates must hold that of one predicate at least"),
        )
    ),
    ("error must be positive and finite, got 0", ["nc.readable_epsilon_within(it, 0.95)"], [0]),
    (
        "confidence must lie strictly between 0 and 1, got 1",
        ["nc.readable_epsilon_within(3, it)"],
        [1],
    ),
    (
        "queries must be a whole number from 1 to 2",
        ["error_within(nc.DiscreteLaplace(3), 0.95, it)"],
        [0],
    ),
    *(
        (f"{name} must ", calls, [0, -1, INF, NAN, True, "1"])
        for name, calls in (
            ("rho", ["epsilon_of_rho(it, 0.1)", "delta_of_rho(it, 1)"]),
            ("epsilon", ["delta_of_rho(1, it)", "rho_within(it, 0.1)"]),
            ("delta", ["rho_within(1, it)", "epsilon_of_rho(1, it)"]),
        )
    ),
    *(
        (message, ["nc.releases.census_2020(*it)"], [given])
        for given, message in (
            (("dhc", "State", "total"), "product must be one of 'pl94', got 'dhc'$"),
            (
                ("pl94", "Village", "total"),
                "level must be one of 'US', .*'Block', got 'Village'$",
            ),
            (("pl94", "State", "sex"), "query must be one of 'total', .*'detailed', got 'sex'$"),
        )
    ),
    *(
        (message, ["nc.releases.wikimedia(*it)"], [given])
        for given, message in (
            (("2015-06-30",), "day must be 2015-07-01 or later, got 2015-06-30: no file covers"),
            (("yesterday",), "day must be a date such as 2024-06-01 or .* got 'yesterday'"),
            (("2024-06-01", "no"), "tier must be one of 'lower', 'medium', 'higher', got 'no'$"),
            (("2023-12-01", "medium"), "tier must be 'lower' before 2024-02-15"),
            (("historical", "higher"), "tier must be 'lower' before 2024-02-15"),
            (("2023-03-01", "lower", "US"), "day must be 'historical' where the smallest count"),
        )
    ),
]
CASES = [(call, it, said) for said, calls, given in REFUSED for call in calls for it in given]
NAMES = {
    "nc": nc,
    "error_within": error_within,
    "epsilon_of_rho": epsilon_of_rho,
    "delta_of_rho": delta_of_rho,
    "rho_within": rho_within,
}


@pytest.mark.parametrize(("call", "it", "said"), CASES)
def test_what_cannot_be_is_refused_by_name_in_one_line(call: str, it: object, said: str) -> None:
    """The refusal names the argument, its value and what it must be; nothing is rounded away."""
    with pytest.raises(ValueError, match=f"^{said}") as refusal:
        eval(call, NAMES | {"it": it})  # noqa: S307  (a line of the table)
    assert "\n" not in str(refusal.value)
    if call == "nc.Exact().likelihood(it, 10)":
        assert str(refusal.value).endswith(f"got {it!r}")
