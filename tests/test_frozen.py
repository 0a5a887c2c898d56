import copy
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from functools import cached_property

import pytest

from noisycount.frozen import frozen


def _plain(**options: bool) -> Callable[[type], type]:
    return dataclass(frozen=True, **({"slots": True} | options))


@frozen
class Pair:
    """Of a module, so that it can be pickled."""

    first: int
    second: tuple[int, ...] = ()


def _both(**options: bool) -> list[type]:
    """Return a class made by the standard library, and the same class made by ours."""
    made = []
    for decorated in (_plain(**options), frozen(**options)):

        @decorated
        class Part:
            """A part with every kind of field."""

            name: str
            known: str = field(default="none", init=False, repr=False, compare=False)
            size: float = 2.0
            others: list[int] = field(default_factory=list, compare=False)
            notes: dict[str, int] = field(default_factory=dict, init=False, compare=False)
            last: int = field(default=3, kw_only=True)
            needed: int = field(kw_only=True)

            def __post_init__(self) -> None:
                if self.size < 0:
                    raise ValueError("no size")

        made.append(Part)
    return made


OPTIONS = [{}, {"eq": False}, {"repr": False}, {"slots": False}, {"eq": False, "slots": False}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_objects_are_those_of_a_dataclass(options: dict[str, bool]) -> None:
    """The signature, fields, line, equality, hash and copies are those of the standard library."""
    theirs, ours = _both(**options)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert [part.name for part in fields(ours)] == [part.name for part in fields(theirs)]
    assert ours.__match_args__ == theirs.__match_args__
    assert hasattr(ours, "__slots__") is hasattr(theirs, "__slots__")
    for made in (theirs, ours):
        one, other = made("a", needed=1), made("a", 2.0, [5], needed=1)
        assert one.known == "none"
        assert (one == other) is ("eq" not in options)
        assert (hash(one) == hash(other)) is ("eq" not in options)
        assert asdict(other) == asdict(theirs("a", 2.0, [5], needed=1))
        assert asdict(replace(other, size=7)) == asdict(theirs("a", 7, [5], needed=1))
        assert asdict(copy.deepcopy(other)) == asdict(other)
        assert one.others is not made("a", needed=1).others
    if "repr" not in options:
        assert repr(ours("a", needed=1)) == repr(theirs("a", needed=1))


def test_equal_fields_are_equal_objects() -> None:
    """Objects of one class with equal fields are equal and have one hash; others are not."""
    assert Pair(1) == Pair(1, ())
    assert len({Pair(1), Pair(1), Pair(2)}) == 2
    assert Pair(1) != (1, ())
    assert pickle.loads(pickle.dumps(Pair(1, (2,)))) == Pair(1, (2,))  # noqa: S301


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_nothing_is_set_or_deleted(options: dict[str, bool]) -> None:
    """An assignment to a field is refused."""
    ours = _both(**options)[1]
    made = ours("a", needed=1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'name'"):
        made.name = "b"
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'name'"):
        del made.name
    assert made.name == "a"


def test_arguments_are_refused_as_by_a_dataclass() -> None:
    """Missing and unexpected arguments raise TypeError with their name, and checks run."""
    ours = _both()[1]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        ours(needed=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        ours("a", needed=1, other=2)
    with pytest.raises(ValueError, match="no size"):
        ours("a", -1, needed=1)


def test_own_methods_stay() -> None:
    """Methods that a class defines stay, and its children inherit the fields."""

    @frozen(slots=False)
    class Parent:
        """Equal by its size."""

        size: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Parent) and other.size == self.size

        def __hash__(self) -> int:
            return 7

        @cached_property
        def double(self) -> int:
            return 2 * self.size

    @frozen(slots=False)
    class Child(Parent):
        """Another."""

        name: str = "x"

    class Grandchild(Child):
        """No dataclass of its own."""

    assert (hash(Parent(1)), Parent(1).double) == (7, 2)
    assert Parent(1) == Parent(1)
    assert repr(Child(3)) == f"{Child.__qualname__}(size=3, name='x')"
    assert Child(3) == Child(3, "x") != Child(3, "y")
    assert Grandchild(4).size == 4


@pytest.mark.parametrize("decorated", [_plain(), frozen])
def test_a_single_field_is_compared_as_a_tuple_of_one(decorated: Callable[[type], type]) -> None:
    """A value that is not equal to itself is, as the same object; the hash is that of the tuple."""

    @decorated
    class One:
        """A value."""

        value: object

    nothing = float("nan")
    assert One(nothing) == One(nothing) != One(float("nan"))
    assert hash(One("a")) == hash(("a",))


def test_most_classes_are_never_compiled() -> None:
    """Planning makes objects of fewer than a third of the classes that it imports."""
    code = """if True:
        import gc, noisycount as nc
        nc.smallest_scale(nc.Laplace, 1, 0.1)
        classes = [one for one in gc.get_objects() if isinstance(one, type)]
        classes = [one for one in classes if str(one.__module__).startswith("noisycount.")]
        makers = [vars(one).get("__init__") for one in classes if hasattr(one, "__match_args__")]
        print([type(maker).__name__ for maker in makers if maker])"""
    done = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert done.stdout.count("_Late") > 2 * done.stdout.count("function") > 0
