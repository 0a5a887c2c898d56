"""Averages of weights on parts of a sum, given the sum, that no rounding takes beyond 1."""

import operator
from collections.abc import Sequence
from functools import reduce
from itertools import product

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.fast_sums import ERROR, folded, transform_length
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals

__all__ = ["Complexes", "Crossing"]

Complexes = NDArray[np.complex128]
_HARMLESS = 1e-12  # that rounding moves an average at most, which transforms may do at any length
_BEARABLE = 1e-9  # the same where sums term by term take longer
_LEAST = 1e-290  # of a denominator: below it numbers lose their digits
_QUICK = 1 << 17  # products of one angle, term by term, that take no longer than transforms
_CHEAP = 1 << 23  # that take longer, but not much


@frozen(eq=False)
class Crossing:
    """E[w_1·w_2···| the sum], w_p a function of part p of modulus 1 at most.

    Given a sum it is a convex combination: (Π law_p·w_p)(k)/(Π law_p)(k), Π a convolution. Term by
    term no rounding takes it beyond 1, however small the denominator is. By transforms numerators
    are off by a part of their largest, so that they are used only where the counts at which this
    matters have next to no probability.

    Attributes:
        law: The denominators, shape (sets, counts).
        shares: The probability of each set of parameters given the sum, same shape.
        first: The place of the first count in a convolution of the parts.
        length: Of transforms; 0: sums are taken term by term.
    """

    law: Reals
    shares: Reals
    first: int
    length: int

    @classmethod
    def of(
        cls, law: Reals, shares: Reals, first: int, parts: Sequence[Reals], laws: Reals
    ) -> "Crossing":
        """That of parts, by transforms where these do no harm.

        Args:
            law: That of the sum, shape (sets, counts).
            shares: The probability of each set given the sum, same shape.
            first: The place of the first count in a convolution of the parts.
            parts: The law of each, shape (sets, width).
            laws: The probabilities of the sums given all answers, shape (counts,).
        """
        widths = [part.shape[-1] for part in parts]
        full, counts = sum(widths) - len(widths) + 1, law.shape[-1]
        length = transform_length(min(full, counts + max(widths)))
        fast = cls(law, shares, first, length)
        harm = fast._harm(parts, laws)
        work = law.shape[0] * min(widths) * full
        if work > _QUICK and (harm <= _HARMLESS or (harm <= _BEARABLE and work > _CHEAP)):
            return fast
        slow = cls(law, shares, first, 0)
        whole = slow._numerators([part[None].astype(np.complex128) for part in parts])
        return cls(whole[0].real, shares, first, 0)

    def averages(self, weighed: Sequence[Complexes]) -> Complexes:
        """The averages at the counts, over the sets of parameters too, shape (angles, counts).

        Args:
            weighed: The law of each part times its weights, shape (angles, sets, width).
        """
        found = np.zeros((len(weighed[0]), *self.law.shape), dtype=np.complex128)
        np.divide(self._numerators(weighed), self.law, out=found, where=self.law > _LEAST)
        found /= np.maximum(np.abs(found), 1.0)
        averaged: Complexes = np.einsum("asn,sn->an", found, self.shares)
        return averaged

    def _numerators(self, weighed: Sequence[Complexes]) -> Complexes:
        """The convolutions of the parts at the counts, shape (angles, sets, counts)."""
        places = self.first + np.arange(self.law.shape[-1])
        if not self.length:
            return _convolved(weighed, places)
        spectra = (np.fft.fft(folded(part, self.length), self.length) for part in weighed)
        sums: Complexes = np.fft.ifft(reduce(operator.mul, spectra))[..., places % self.length]
        return sums

    def _harm(self, parts: Sequence[Reals], laws: Reals) -> float:
        """A bound of what rounding in transforms moves averages by, over the law of the sum.

        That at angle 0, where averages are 1, is met as it is.
        """
        norms = np.sqrt([(part**2).sum(axis=-1) for part in parts])
        rounding = len(parts) * ERROR * np.log2(self.length) * norms.max(axis=0) * norms.min(axis=0)
        found = self._numerators([part[None].astype(np.complex128) for part in parts])[0]
        errors = np.maximum(np.abs(found - self.law), 2 * rounding[:, None])
        off = np.full_like(self.law, 2.0)
        np.divide(errors, self.law, out=off, where=self.law > 0)
        return float((np.minimum(off, 2.0) * self.shares * laws).sum())


def _convolved(weighed: Sequence[Complexes], places: NDArray[np.int64]) -> Complexes:
    """Convolutions term by term, at places that may lie beyond them, where they are 0."""
    angles, sets = weighed[0].shape[:2]
    found = np.zeros((angles, sets, places.size), dtype=np.complex128)
    for angle, one in product(range(angles), range(sets)):
        row = reduce(np.convolve, (part[angle, one] for part in weighed))
        inside = (places >= 0) & (places < row.size)
        found[angle, one, inside] = row[places[inside]]
    return found
