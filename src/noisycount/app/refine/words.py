"""A Bayes estimate in words."""

from noisycount.analysis.posterior.predictive import SURPRISING
from noisycount.app.refine.answer_table import RefinedTable
from noisycount.app.refine.contradiction import warning
from noisycount.app.refine.estimate import Refinement, scale_of
from noisycount.app.terminal.printing import Facts, seen_from_here
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.release.budget.exact import exact_text
from noisycount.shown.numbers import percent, signed

__all__ = ["refinement_facts", "table_text"]


def refinement_facts(refinement: Refinement) -> Facts:
    """A Bayes estimate in words."""
    told, several = refinement.told, len(refinement.answers) > 1
    low, high = refinement.interval
    weighted = "" if refinement.noise is not None else "weighted "
    raw = f"the {weighted}average of the answers" if several else "the answer alone"
    facts = [
        ("assumed", refinement.assumed.words),
        ("answers" if several else "answer", _answers(refinement)),
        ("mean", f"{signed(told.mean, 1)}  (least squared error)"),
        ("median", f"{signed(told.median)}  (least absolute error)"),
        (
            "interval",
            f"{signed(low)} to {signed(high)} with {percent(refinement.level)} probability",
        ),
        (
            "deviation",
            (
                f"{signed(refinement.deviation, 1)}, against "
                f"{signed(refinement.answer_deviation, 1)} of {raw}"
            ),
        ),
    ]
    odd = warning(refinement)
    return facts if odd is None else [*facts, ("warning", odd)]


def _answers(refinement: Refinement) -> str:
    """The answers and their noise."""
    if refinement.noise is None:
        pairs = zip(refinement.answers, refinement.noises, strict=True)
        return "; ".join(f"{_exact(answer)} with {_noise(noise)}" for answer, noise in pairs)
    told = ", ".join(_exact(answer) for answer in refinement.answers)
    return f"{told}, with {_noise(refinement.noise)}"


def _noise(noise: AdditiveNoise) -> str:
    """The noise of an answer, by its ε where `count` gives such."""
    if isinstance(noise, DiscreteLaplace):
        return f"noise of ε = {exact_text(noise.epsilon)}"
    return f"{noise.name} noise of scale {exact_text(scale_of(noise))}"


def table_text(table: RefinedTable) -> str:
    """What became of a table of answers, and how many of them contradict what was assumed."""
    empty = f" ({table.missing:,} without an answer)" if table.missing else ""
    done = f"{table.rows:,} rows{empty} in {table.seconds:.1f} s: {seen_from_here(table.out)}"
    if not table.contradictions:
        return done
    given = table.rows - table.missing
    verb = "contradicts" if table.contradictions == 1 else "contradict"
    return (
        f"{done}\n{table.contradictions:,} of {given:,} answers {verb} {table.assumed}: their "
        f"surprise is below {SURPRISING:g}"
    )


def _exact(answer: float) -> str:
    """An answer with the digits that it was given in."""
    return f"{answer:,}".replace("-", "−")
