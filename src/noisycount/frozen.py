"""Frozen dataclasses whose constructor is compiled when it is first used.

`dataclass(frozen=True)` compiles six functions for every class, which takes half a millisecond. A command imports 150
such classes and makes objects of a third of them. Plain dataclasses would take a tenth of its processor time.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import FrozenInstanceError, dataclass, field, fields, make_dataclass
from functools import partial
from operator import attrgetter
from types import MethodType
from typing import Any, NoReturn, dataclass_transform


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(  # noqa: PLR0913 - options of `dataclass`
    cls: Any = None,  # noqa: ANN401 - a class
    /,
    *,
    init: bool = True,
    repr: bool = True,  # noqa: A002
    eq: bool = True,
    slots: bool = True,
    kw_only: bool = False,
) -> Any:  # noqa: ANN401 - a class, or a decorator of one
    """Make a class as `dataclass(frozen=True, slots=True)` does, with further options.

    Example:
        >>> @frozen
        ... class Point:
        ...     x: int
        ...     y: int = 0
        >>> Point(3), Point(3) == Point(3, 0), {Point(1): "one"}[Point(1)]
        (Point(x=3, y=0), True, 'one')
    """
    if cls is None:
        return partial(frozen, init=init, repr=repr, eq=eq, slots=slots, kw_only=kw_only)
    finished = dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    methods: dict[str, Any] = {"__setattr__": _refuse_set, "__delattr__": _refuse_delete}
    methods |= {"__init__": _LateConstructor(finished)} if init else {}
    methods |= {"__repr__": _repr} if repr else {}
    methods |= _comparison(finished) if eq else {}
    methods |= {"__getstate__": _state, "__setstate__": _restore} if slots else {}
    for name, method in methods.items():
        if vars(cls).get(name) is None:
            setattr(finished, name, method)
    return finished


class _LateConstructor:
    """Descriptor in place of a constructor. At its first use it is replaced by the constructor of `dataclasses`."""

    __slots__ = ("cls",)

    def __init__(self, cls: Any) -> None:  # noqa: ANN401 - a class
        self.cls = cls

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., None]:
        """Return the constructor. A twin class with the same fields lends it, as it is not compiled separately."""
        cls = self.cls
        parts = [(part.name, part.type, copy(part)) for part in fields(cls)]
        check = {"__post_init__": cls.__post_init__} if hasattr(cls, "__post_init__") else {}
        twin: Any = make_dataclass(cls.__name__, parts, namespace=check, repr=False, eq=False, frozen=True, slots=True)
        constructor: Callable[..., None] = twin.__init__
        constructor.__module__, constructor.__qualname__ = cls.__module__, f"{cls.__qualname__}.__init__"
        cls.__init__ = constructor
        return constructor if instance is None else MethodType(constructor, instance)


def _comparison(cls: Any) -> dict[str, Callable[..., Any]]:  # noqa: ANN401 - a class
    """Return the methods that compare and hash the fields of an object as a tuple."""
    names = [part.name for part in fields(cls) if part.compare]
    values: Callable[[object], tuple[object, ...]] = attrgetter(*names) if len(names) > 1 else _few_values(names)

    def is_equal(self: object, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return {"__eq__": is_equal, "__hash__": lambda self: hash(values(self))}


def _few_values(names: Sequence[str]) -> Callable[[object], tuple[object, ...]]:
    """Return a function that reads at most one field as a tuple, as `attrgetter` would return the value alone."""
    return lambda instance: tuple(getattr(instance, name) for name in names)


def _refuse_set(self: object, name: str, value: object) -> NoReturn:  # noqa: ARG001
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delete(self: object, name: str) -> NoReturn:  # noqa: ARG001
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[object]:  # noqa: ANN401
    return [getattr(self, part.name) for part in fields(self)]


def _restore(self: Any, state: list[object]) -> None:  # noqa: ANN401
    for part, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, part.name, value)


def _repr(self: Any) -> str:  # noqa: ANN401
    values = ", ".join(f"{part.name}={getattr(self, part.name)!r}" for part in fields(self) if part.repr)
    return f"{type(self).__qualname__}({values})"
