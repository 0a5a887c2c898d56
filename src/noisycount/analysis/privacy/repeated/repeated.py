"""The divergences of one count that is answered several times."""

from collections.abc import Sequence
from dataclasses import dataclass

from noisycount.analysis.privacy.certified import Between, Bounded
from noisycount.analysis.privacy.divergences import Divergences, OneAnswer, largest
from noisycount.analysis.privacy.hockey_stick import hockey_sticks
from noisycount.analysis.privacy.pairs.pair import Pair
from noisycount.analysis.privacy.repeated.groups import Answers, groups
from noisycount.analysis.privacy.repeated.merged import merged
from noisycount.model.exact import Exact
from noisycount.model.noises.additive import SymmetricNoise

__all__ = ["is_precise", "repeated_answers"]


def repeated_answers(
    pairs: tuple[Pair, ...], mechanisms: Sequence[Exact | SymmetricNoise]
) -> Divergences:
    """Those of answers with independent noises about one count.

    Args:
        pairs: The laws of the count for each kind of record.
        mechanisms: How each answer is made.
    """
    noises = [one for one in mechanisms if isinstance(one, SymmetricNoise)]
    if len(noises) < len(mechanisms):  # an answer without noise tells all that the others do
        return OneAnswer(pairs, None)
    few = merged(noises)
    if len(few) == 1:
        return OneAnswer(pairs, few[0].errors)
    return Repeated(pairs, tuple(few))


def is_precise(mechanisms: Sequence[Exact | SymmetricNoise]) -> bool:
    """Whether the bounds of δ are close: where noises are of one kind, and Laplace of one scale."""
    noises = [one for one in mechanisms if isinstance(one, SymmetricNoise)]
    few = merged(noises)
    return len(noises) < len(mechanisms) or len(few) == 1 or groups(few)[1] is not None


@dataclass(frozen=True, slots=True, eq=False)
class Repeated:
    """Those of several noisy answers that cannot be had as one.

    Attributes:
        pairs: The laws of the count for each kind of record.
        noises: The noise of each answer.
    """

    pairs: tuple[Pair, ...]
    noises: tuple[SymmetricNoise, ...]

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """δ₊ and δ₋, for each ε."""
        pairs = [*self.pairs, *(pair.mirrored for pair in self.pairs)]
        found = _sticks(pairs, *groups(self.noises), epsilons)
        return largest(found[: len(self.pairs)]), largest(found[len(self.pairs) :])


def _sticks(
    pairs: Sequence[Pair], fewer: Sequence[Answers], whole: Answers | None, epsilons: list[float]
) -> list[list[Bounded]]:
    """δ in one direction: at least that of each group of answers, at most that without noise."""
    if whole is not None:
        return whole.hockey_sticks(pairs, epsilons)
    lower = [answers.hockey_sticks(pairs, epsilons) for answers in fewer]
    known = [hockey_sticks(pair, None, epsilons) for pair in pairs]
    return [
        [
            Between.of_bounds(max(one.lower for one in at_one), best.upper)
            for *at_one, best in zip(*of_pair, strict=True)
        ]
        for of_pair in zip(*lower, known, strict=True)
    ]
