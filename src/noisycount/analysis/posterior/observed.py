"""Answers, each with the mechanism that gave it, also in columns of libraries that are not imported here."""

import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from noisycount.frozen import frozen
from noisycount.model.exact import Below, Exact
from noisycount.model.laws.factors import Factor
from noisycount.model.laws.gamma import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.subsampling import Subsample
from noisycount.validation import require_instance


class Contained(Protocol):
    """A column of another library: a Series of pandas or Polars, an array of Arrow."""

    def to_numpy(self) -> Any:  # noqa: ANN401  (of whatever type its numbers have)
        """Its numbers."""
        ...


Container = TypeVar("Container", bound=Contained)


@frozen
class AnswerColumn:
    """The numbers of a column, and the way back."""

    values: NDArray[Any]  # the numbers, nan where one is missing
    # the column of the same kind, with the same labels, of other numbers; what was missing is missing there too
    container: Callable[[Reals], Any]


def column_in(container: object) -> AnswerColumn | None:
    """The column that another library holds; None: it is none of those that are known."""
    for kind in type(container).__mro__:
        library = kind.__module__.partition(".")[0]
        if (library, kind.__name__) in _READERS:
            return _READERS[library, kind.__name__](container)
    return None


def _of_pandas(series: Any) -> AnswerColumn:  # noqa: ANN401  (its library is not imported)
    """A Series of pandas, with its index and its name."""
    is_number = series.dtype.kind in "iuf"
    kind = np.float64 if is_number else object

    def back(values: Reals) -> Any:  # noqa: ANN401
        found = type(series)(values, index=series.index, name=series.name)
        if not is_number or isinstance(series.dtype, np.dtype):
            return found
        return found.astype("double[pyarrow]" if "pyarrow" in str(series.dtype) else "Float64")

    return AnswerColumn(series.to_numpy(dtype=kind, na_value=np.nan), back)


def _of_polars(series: Any) -> AnswerColumn:  # noqa: ANN401  (its library is not imported)
    """A Series of Polars, with its name."""

    def back(values: Reals) -> Any:  # noqa: ANN401
        found = type(series)(series.name, values)
        return found.set(series.is_null(), None) if series.null_count() else found

    return AnswerColumn(series.to_numpy(), back)


def _of_arrow(array: Any) -> AnswerColumn:  # noqa: ANN401  (its library is not imported)
    """An array of Arrow."""

    def back(values: Reals) -> Any:  # noqa: ANN401
        missing = array.is_null().to_numpy(zero_copy_only=False)
        return sys.modules["pyarrow"].array(values, mask=missing)

    return AnswerColumn(array.to_numpy(zero_copy_only=False), back)


def _of_chunks(chunked: Any) -> AnswerColumn:  # noqa: ANN401  (its library is not imported)
    """A chunked array of Arrow, with as long chunks."""

    def back(values: Reals) -> Any:  # noqa: ANN401
        arrow, parts, start = sys.modules["pyarrow"], [], 0
        for chunk in chunked.chunks:
            parts.append(_of_arrow(chunk).container(values[start : start + len(chunk)]))
            start += len(chunk)
        return arrow.chunked_array(parts, arrow.float64())

    return AnswerColumn(chunked.to_numpy(), back)


_READERS: dict[tuple[str, str], Callable[[Any], AnswerColumn]] = {
    ("pandas", "Series"): _of_pandas,
    ("polars", "Series"): _of_polars,
    ("pyarrow", "Array"): _of_arrow,
    ("pyarrow", "ChunkedArray"): _of_chunks,
}

Answer = float | Below  # a number, or that it was below a threshold


class Published(Protocol):
    """An answer that carries its mechanism, as every release does."""

    @property
    def answer(self) -> float:
        """The answer, in records."""
        ...

    @property
    def mechanism(self) -> Mechanism:
        """The law of the answer given the count."""
        ...


Answers = Answer | Published | Sequence[Answer | Published] | Reals


def observed(
    answer: Answers, mechanism: Mechanism | Sequence[Mechanism] | None
) -> tuple[tuple[Answer, Mechanism], ...]:
    """One or several answers about one count beside their mechanisms."""
    _check_no_table(answer)
    given: Any = answer.tolist() if isinstance(answer, np.ndarray) else answer
    answers = list(given) if isinstance(given, (list, tuple)) else [given]
    if mechanism is None:
        answers = _informative(answers)
        mechanisms = [_own(one) for one in answers]
    else:
        mechanisms = list(mechanism) if isinstance(mechanism, Sequence) else [mechanism]
    for one in mechanisms:
        checked_mechanism(one)
    if len(answers) != len(mechanisms) or not answers:
        raise ValueError(
            f"answer and mechanism must be equally many and at least one, got {len(answers)} and {len(mechanisms)}"
        )
    values = [one.answer if is_published(one) else one for one in answers]
    return tuple(zip(values, mechanisms, strict=True))


def _informative(answers: list[Any]) -> list[Any]:
    """Those that say something of their own: none that is given twice, and none on which a finer one rests."""
    replaced = {(one.dataset, key) for one in answers for key in getattr(one, "replaces", ())}
    kept: dict[object, Any] = {}
    for one in answers:
        name = (one.dataset, one.key) if hasattr(one, "replaces") else object()
        if name not in replaced:
            kept.setdefault(name, one)
    return list(kept.values())


def checked_mechanism(mechanism: object) -> None:
    """Refuse what has no likelihood that a posterior can be made from."""
    require_instance(mechanism, Mechanism, "mechanism")
    if not isinstance(mechanism, Exact | SymmetricNoise | Subsample):
        raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere in analysis)
            f"mechanism must be one of noisycount's mechanisms, got {mechanism!r}, derived from "
            "Mechanism alone: derive a noise from ContinuousNoise or DiscreteNoise, as the page "
            '"How to add something" tells'
        )


def values_and_mechanism(
    answers: Any,  # noqa: ANN401  (whatever holds numbers, and is checked by what reads them)
    mechanism: Mechanism | None,
) -> tuple[Any, Mechanism]:
    """Answers about counts of their own as numbers, and the mechanism of all of them."""
    _check_no_table(answers)
    if is_published(answers):
        return answers.answer, mechanism or answers.mechanism
    listed = answers if isinstance(answers, (list, tuple)) else []
    published = [one for one in listed if is_published(one)]
    values = [one.answer if is_published(one) else one for one in answers] if published else answers
    if mechanism is not None:
        return values, mechanism
    kinds = {repr(one.mechanism): one.mechanism for one in published}
    if len(kinds) != 1 or len(published) != len(listed):
        raise ValueError(
            f"mechanism must be given unless all answers carry the same, got {len(kinds)} "
            "different ones: refine the answers of each mechanism by themselves"
        )
    return values, next(iter(kinds.values()))


def _check_no_table(answers: object) -> None:
    """The refusal of a published table, whose counts have one law together."""
    if hasattr(answers, "plan") and hasattr(answers, "levels"):
        raise ValueError("answers must be about one count each, got a table: use noisycount.table_posterior(table)")


def likelihood(answer: Answer, mechanism: Mechanism, size: int) -> Factor:
    """The likelihood of a count among `size` records, for an answer that was told or suppressed."""
    if isinstance(answer, Below):
        return answer.likelihood(mechanism, size)
    return mechanism.likelihood(answer, size)


def is_published(answer: object) -> TypeGuard[Published]:
    """Whether an answer carries its mechanism."""
    return isinstance(getattr(answer, "mechanism", None), Mechanism) and hasattr(answer, "answer")


def _own(answer: Answer | Published) -> Mechanism:
    """The mechanism that comes with an answer."""
    if is_published(answer):
        return answer.mechanism
    raise ValueError(f"mechanism must be given with an answer that carries none, got {answer!r}")
