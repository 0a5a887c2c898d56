"""Which public names are searched, and which are not, and why."""

import inspect
import json
from typing import Any

import noisycount as nc
from audits.averages import AVERAGES
from audits.corners import noise, population
from audits.counts import COUNTS
from audits.curves import CURVES
from audits.noises import NOISES
from audits.search import Draw, Refusal, Setting, Source
from audits.tables import TABLES

__all__ = ["SEARCHED", "SHARES", "not_searched"]

_RESULTS = (
    "nc.posterior(3.0, nc.Binomial({n}, {p}), nc.DiscreteLaplace({s}))",
    "nc.privacy_curve(nc.Gaussian({s}), nc.Binomial({n}, {p}))",
    "nc.table_posterior([3.0, {n}], nc.DiscreteLaplace({s}), prior=nc.Splits(1))",
)
_OTHERS = (
    "nc.difference(nc.posterior(3, nc.Binomial({n}, {p}), nc.DiscreteLaplace({s})), nc.Known(1))",
    "nc.list_risk([nc.DiscreteLaplace({s})], nc.Atoms(30, [{p}, 1 - {p}], [{{0}}]))",
    "nc.Tree.binary({n})",
    "nc.Splits({p})",
    "nc.Atoms.nested({n}, [{p}])",
)


def _filled(source: Source, texts: tuple[str, ...]) -> str:
    """The line of a result."""
    text = source.choice(texts)
    return text.format(n=source.randint(1, 9), p=source.uniform(0.1, 0.9), s=source.uniform(0.3, 9))


def _charted(source: Source) -> Setting:
    """A chart of a result."""
    line = f"nc.chart({_filled(source, _RESULTS)}).to_dict()"
    return Setting(line, lambda value: "" if "vega" in value["$schema"] else "no chart")  # type: ignore[index]


def _own_chart(source: Source) -> Setting:
    """Draw a result whose own chart must equal that of `nc.chart`."""
    line = f"(lambda told: told.chart().to_dict() == nc.chart(told).to_dict())({_filled(source, _RESULTS)})"
    return Setting(line, lambda value: "" if value is True else "another chart")


def _frame(library: str) -> Draw:
    """The columns of a table in the frame of a library."""

    def drawn(source: Source) -> Setting:
        table = _filled(source, tuple(text for text in _RESULTS if "table_posterior" in text))
        line = f"(lambda told: len(told.to_{library}()) == len(told))({table})"
        return Setting(line, lambda value: "" if value is True else "other rows")

    return drawn


def _plain(source: Source) -> Setting:
    """Draw a value whose dict must be valid JSON."""
    text = source.choice([noise(source), population(source), _filled(source, (*_RESULTS, *_OTHERS[1:]))])

    def judge(value: Any) -> str:  # noqa: ANN401
        return "" if json.loads(json.dumps(value, allow_nan=False)) == value else f"{value!r}"

    return Setting(f"{text}.to_dict()", judge)


def _not_a_result(source: Source) -> Setting:
    """Draw a call of a function of results with another argument."""
    texts = ("nc.chart({n})", _OTHERS[0], "nc.table_posterior([{n}], nc.Exact(), total={p})")
    return Setting(_filled(source, texts), lambda _: "", Refusal.ALWAYS)


SEARCHED: dict[str, Draw] = {
    **NOISES,
    **COUNTS,
    **CURVES,
    **TABLES,
    **AVERAGES,
    "chart": _charted,
    "Charted.chart": _own_chart,
    "Shown.to_dict": _plain,
    **{f"Columns.to_{library}": _frame(library) for library in ("pandas", "polars", "arrow")},
    "refusals of other kinds": _not_a_result,
}
"""How settings are drawn: a public function, or a class and what it tells."""

SHARES = {
    **dict.fromkeys([*CURVES, *COUNTS, *TABLES], 2),
    "PrivacyCurve.bracket": 12,
    "PrivacyCurve.epsilon": 6,
    "smallest_scale": 4,
    "table_posterior": 6,
    "TablePosterior.sum": 6,
    "posterior": 4,
    "NoisyCountError": 4,
    "break_even_rates": 1,
    "chart": 1,
}
"""Names that come up more often, as they have more to be searched."""

_MADE = ("Laplace", "Gaussian", "DiscreteLaplace", "DiscreteGaussian", "NoiseSum", "Exact")
_KINDS = ("Binomial", "BetaBinomial", "Strata", "Tabulated", "Known", "Subsample")
_DRAWN_AS_ARGUMENTS = {*_MADE, *_KINDS}
_NOT_SEARCHED = {
    "Figure": "a page of a paper",
    "figure": "a page of a paper",
    "figures": "a page of a paper",
    "claims": "a page of a paper",
    "releases": "what others have published",
    "Query": "a query for a desk",
    "open_desk": "files and ledgers, which have audits of their own",
    "Mechanism": "what other noises are made of",
    "Population": "what other populations are made of",
}
_BETWEEN_ROOMS = {
    "likelihood",
    "tail",
    "factor",
    "errors",
    "check_answer",
    "excess",
    "draws",
    "expansion",
    "log_ratio_to_next",
    "log_ratios_to_next",
    "exact_log_ratio_to_next",
    "kinks",
    "deep_prior",
    "smooth_prior",
    "has_chances",
    "neighbours",
    "worst_neighbours",
    "sample",
    "table",
    "on_grid",
    "variance_rounding",
    "expected_positives",
    "are_independent",
    "records",
    "name",
    "scales",
    "sampler",
    "is_log_concave",
}
"""What a noise or a population tells the rooms that compute with it, on no page."""


def not_searched() -> list[str]:
    """The public names, and what public classes tell, that no search draws."""
    searched = {name.partition(" ")[0] for name in SEARCHED}
    owners = {name.partition(".")[0] for name in searched}
    missing = []
    for name in sorted(set(nc.__all__) - set(_NOT_SEARCHED)):
        value = getattr(nc, name)
        if not inspect.isclass(value):
            missing += [] if name in searched else [name]
            continue
        if name not in owners | _DRAWN_AS_ARGUMENTS:
            missing.append(name)
        missing += [f"{name}.{one}" for one in _untold(value, searched)]
    return missing


def _untold(kind: type, searched: set[str]) -> list[str]:
    """Return the public members of a class that are neither fields nor searched."""
    fields = set(getattr(kind, "__dataclass_fields__", ()))
    told = {one for one in dir(kind) if not one.startswith("_")} - fields - _BETWEEN_ROOMS
    told -= set(dir(Exception))
    bases = [base.__name__ for base in kind.__mro__]
    return sorted(one for one in told if not {f"{base}.{one}" for base in bases} & searched)
