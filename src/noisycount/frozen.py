"""Frozen dataclasses that cost little to make.

`dataclass(frozen=True)` compiles six functions for every class, which takes half a millisecond; of the hundreds of
classes that a command imports it makes objects of few. Here the constructor, the comparison and the hash are compiled
when they are first used, and the rest is the same for all classes: a sixth of the time that `noisycount count` takes.
"""

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from functools import partial
from types import MethodType
from typing import Any, NoReturn, dataclass_transform


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(  # noqa: PLR0913  (those of `dataclass`)
    cls: Any = None,  # noqa: ANN401  (a class)
    /,
    *,
    init: bool = True,
    repr: bool = True,  # noqa: A002
    eq: bool = True,
    slots: bool = True,
    kw_only: bool = False,
) -> Any:  # noqa: ANN401  (a class, or what makes one)
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
    made = dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    methods: dict[str, Any] = {"__setattr__": _refuse_set, "__delattr__": _refuse_delete}
    methods |= {"__init__": _Late(made, _init)} if init else {}
    methods |= {"__repr__": _repr} if repr else {}
    methods |= {"__eq__": _Late(made, _eq), "__hash__": _Late(made, _hash)} if eq else {}
    methods |= {"__getstate__": _state, "__setstate__": _restore} if slots else {}
    for name, method in methods.items():
        if vars(cls).get(name) is None:
            setattr(made, name, method)
    return made


class _Late:
    """A method that is compiled, and replaces itself in the class, at its first use."""

    __slots__ = ("cls", "compiled")

    def __init__(self, cls: Any, compiled: Callable[[Any], Callable[..., Any]]) -> None:  # noqa: ANN401
        self.cls, self.compiled = cls, compiled

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Any]:
        method = self.compiled(self.cls)
        method.__module__, method.__qualname__ = self.cls.__module__, f"{self.cls.__qualname__}.{method.__name__}"
        setattr(self.cls, method.__name__, method)
        return method if instance is None else MethodType(method, instance)


def _init(cls: Any) -> Callable[..., Any]:  # noqa: ANN401
    """Return the source of `__init__`, which sets the fields in their order."""
    scope: dict[str, Any] = {"_set": object.__setattr__, "_factory": _FACTORY}
    words, named, lines = ["self"], list[str](), ["pass"]
    for part in fields(cls):
        name, default, value = part.name, "", part.name
        if part.default_factory is not MISSING:
            scope[f"_{name}_"], default = part.default_factory, "=_factory"
            value = f"_{name}_() if {name} is _factory else {name}" if part.init else f"_{name}_()"
        elif part.default is not MISSING:
            scope[f"_{name}_"], default = part.default, f"=_{name}_"
            value = name if part.init else f"_{name}_"
        if part.init:
            (named if part.kw_only else words).append(name + default)
        if part.init or default:
            lines.append(f"_set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    words += ["*", *named] if named else []
    method = _defined(f"__init__({', '.join(words)})", lines, scope)
    method.__annotations__ = {**{part.name: part.type for part in fields(cls) if part.init}, "return": None}
    return method


def _eq(cls: Any) -> Callable[..., Any]:  # noqa: ANN401
    """Return the source of `__eq__`, which compares the fields of objects of the same class."""
    mine, theirs = (_tuple_of(each, [part.name for part in fields(cls) if part.compare]) for each in ("self", "other"))
    is_equal = f"return {mine} == {theirs} if other.__class__ is self.__class__ else NotImplemented"
    return _defined("__eq__(self, other)", [is_equal], {})


def _hash(cls: Any) -> Callable[..., Any]:  # noqa: ANN401
    """Return the source of `__hash__`, over the fields that are compared or marked for the hash."""
    names = [part.name for part in fields(cls) if (part.compare if part.hash is None else part.hash)]
    return _defined("__hash__(self)", [f"return hash({_tuple_of('self', names)})"], {})


def _tuple_of(instance: str, names: list[str]) -> str:
    """Return the text of a tuple of fields."""
    return "(" + "".join(f"{instance}.{name}, " for name in names) + ")"


def _defined(head: str, lines: list[str], scope: dict[str, Any]) -> Callable[..., Any]:
    """Compile a function from its head and the lines of its body."""
    exec(f"def {head}:\n " + "\n ".join(lines), scope)  # noqa: S102
    method: Callable[..., Any] = scope[head.partition("(")[0]]
    return method


class _Factory:
    """The default of an argument whose value is made anew for each object."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


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
    told = ", ".join(f"{part.name}={getattr(self, part.name)!r}" for part in fields(self) if part.repr)
    return f"{type(self).__qualname__}({told})"
