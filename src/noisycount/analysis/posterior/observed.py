"""Answers as arguments: numbers, releases, suppressed answers, or columns of pandas, Polars and Arrow.

`pair_with_mechanisms` pairs answers about one count with their mechanisms; `values_and_mechanism` reads answers about
many counts.
The libraries are not imported.
"""

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


class NumpyConvertible(Protocol):
    """A column of another library: a Series of pandas or Polars, an array of Arrow."""

    def to_numpy(self) -> Any:  # noqa: ANN401  (of whatever type its numbers have)
        """Return the numbers of the column."""
        ...


Container = TypeVar("Container", bound=NumpyConvertible)


@frozen
class AnswerColumn:
    """The numbers of a column, and a function that makes a column of the same type from other numbers."""

    values: NDArray[Any]  # nan for a missing number
    container: Callable[[Reals], Any]  # keeps labels; numbers that were missing stay missing


def column_in(container: object) -> AnswerColumn | None:
    """Return the column of a Series or array of another library, or None if the type is unknown."""
    for kind in type(container).__mro__:
        library = kind.__module__.partition(".")[0]
        if (library, kind.__name__) in _READERS:
            return _READERS[library, kind.__name__](container)
    return None


def _column_of_pandas(series: Any) -> AnswerColumn:  # noqa: ANN401  (its library is not imported)
    """Read a Series of pandas, with its index and name."""
    is_number = series.dtype.kind in "iuf"
    kind = np.float64 if is_number else object

    def rebuilt(values: Reals) -> Any:  # noqa: ANN401
        column = type(series)(values, index=series.index, name=series.name)
        if not is_number or isinstance(series.dtype, np.dtype):
            return column
        return column.astype("double[pyarrow]" if "pyarrow" in str(series.dtype) else "Float64")

    return AnswerColumn(series.to_numpy(dtype=kind, na_value=np.nan), rebuilt)


def _column_of_polars(series: Any) -> AnswerColumn:  # noqa: ANN401  (its library is not imported)
    """Read a Series of Polars, with its name."""

    def rebuilt(values: Reals) -> Any:  # noqa: ANN401
        column = type(series)(series.name, values)
        return column.set(series.is_null(), None) if series.null_count() else column

    return AnswerColumn(series.to_numpy(), rebuilt)


def _column_of_arrow(array: Any) -> AnswerColumn:  # noqa: ANN401  (its library is not imported)
    """Read an array of Arrow."""

    def rebuilt(values: Reals) -> Any:  # noqa: ANN401
        missing = array.is_null().to_numpy(zero_copy_only=False)
        return sys.modules["pyarrow"].array(values, mask=missing)

    return AnswerColumn(array.to_numpy(zero_copy_only=False), rebuilt)


def _column_of_chunks(chunked: Any) -> AnswerColumn:  # noqa: ANN401  (its library is not imported)
    """Read a chunked array of Arrow. New columns have chunks of the same lengths."""

    def rebuilt(values: Reals) -> Any:  # noqa: ANN401
        arrow, parts, start = sys.modules["pyarrow"], [], 0
        for chunk in chunked.chunks:
            parts.append(_column_of_arrow(chunk).container(values[start : start + len(chunk)]))
            start += len(chunk)
        return arrow.chunked_array(parts, arrow.float64())

    return AnswerColumn(chunked.to_numpy(), rebuilt)


_READERS: dict[tuple[str, str], Callable[[Any], AnswerColumn]] = {
    ("pandas", "Series"): _column_of_pandas,
    ("polars", "Series"): _column_of_polars,
    ("pyarrow", "Array"): _column_of_arrow,
    ("pyarrow", "ChunkedArray"): _column_of_chunks,
}

Answer = float | Below  # a number, or a suppressed answer below a threshold


class Published(Protocol):
    """An answer with its mechanism, such as a release."""

    @property
    def answer(self) -> float:
        """Noisy answer, in records."""
        ...

    @property
    def mechanism(self) -> Mechanism:
        """Mechanism that produced the answer."""
        ...


Answers = Answer | Published | Sequence[Answer | Published] | Reals


def pair_with_mechanisms(
    answer: Answers, mechanism: Mechanism | Sequence[Mechanism] | None
) -> tuple[tuple[Answer, Mechanism], ...]:
    """Return pairs of answer and mechanism for one or several answers about one count.

    Raises:
        ValueError: If numbers of answers and mechanisms differ, or an answer has no mechanism.
    """
    _check_no_table(answer)
    plain: Any = answer.tolist() if isinstance(answer, np.ndarray) else answer
    answers = list(plain) if isinstance(plain, (list, tuple)) else [plain]
    if mechanism is None:
        answers = _drop_redundant_answers(answers)
        mechanisms = [_carried_mechanism(one) for one in answers]
    else:
        mechanisms = list(mechanism) if isinstance(mechanism, Sequence) else [mechanism]
    for one in mechanisms:
        checked_mechanism(one)
    if len(answers) != len(mechanisms) or not answers:
        raise ValueError(
            f"mechanism must be a list with one mechanism for each answer, got {len(mechanisms)} for {len(answers)}"
        )
    values = [one.answer if is_published(one) else one for one in answers]
    return tuple(zip(values, mechanisms, strict=True))


def _drop_redundant_answers(answers: list[Any]) -> list[Any]:
    """Drop answers that add no information: repeats, and answers that a more accurate top-up replaces."""
    replaced = {(one.dataset, key) for one in answers for key in getattr(one, "replaces", ())}
    remaining: dict[object, Any] = {}
    for one in answers:
        name = (one.dataset, one.key) if hasattr(one, "replaces") else object()
        if name not in replaced:
            remaining.setdefault(name, one)
    return list(remaining.values())


def checked_mechanism(mechanism: object) -> None:
    """Raise an error unless the argument is a mechanism with a likelihood for posteriors."""
    require_instance(mechanism, Mechanism, "mechanism")
    if not isinstance(mechanism, Exact | SymmetricNoise | Subsample):
        raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere in analysis)
            f"mechanism must be one of noisycount's mechanisms, got {mechanism!r}, derived from "
            "Mechanism directly: derive a noise from ContinuousNoise or DiscreteNoise, see the page "
            '"How to add something"'
        )


def values_and_mechanism(
    answers: Any,  # noqa: ANN401  (whatever holds numbers, and is checked by what reads them)
    mechanism: Mechanism | None,
) -> tuple[Any, Mechanism]:
    """Return answers about different counts as numbers, and the mechanism that they share."""
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
            "different ones: refine the answers of each mechanism separately"
        )
    return values, next(iter(kinds.values()))


def _check_no_table(answers: object) -> None:
    """Raise ValueError for a published table: its counts have a joint distribution."""
    if hasattr(answers, "plan") and hasattr(answers, "levels"):
        raise ValueError("answers must be about one count each, got a table: use noisycount.table_posterior(table)")


def likelihood(answer: Answer, mechanism: Mechanism, size: int) -> Factor:
    """Return the likelihood of the count, out of `size` records, for a published or suppressed answer."""
    if isinstance(answer, Below):
        return answer.likelihood(mechanism, size)
    return mechanism.likelihood(answer, size)


def is_published(answer: object) -> TypeGuard[Published]:
    """Return True if an answer carries its mechanism."""
    return isinstance(getattr(answer, "mechanism", None), Mechanism) and hasattr(answer, "answer")


def _carried_mechanism(answer: Answer | Published) -> Mechanism:
    """Return the mechanism that an answer carries. Raise ValueError if it carries none."""
    if is_published(answer):
        return answer.mechanism
    raise ValueError(f"mechanism must be given, as the answer carries none, got {answer!r}")
