"""Frozen dataclasses whose methods are compiled when they are first used.

`dataclass(frozen=True)` compiles six functions for every class, which takes half a millisecond; of
the two hundred classes that a command imports it makes objects of few.
"""

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields, make_dataclass
from functools import partial
from types import MethodType
from typing import Any, NoReturn, TypeVar, dataclass_transform, overload

Made = TypeVar("Made")


@overload
def frozen(cls: type[Made], /) -> type[Made]: ...


@overload
def frozen(
    *, init: bool = True, repr: bool = True, eq: bool = True, slots: bool = True, kw_only: bool = False
) -> Callable[[type[Made]], type[Made]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(  # noqa: PLR0913  (those of `dataclass`)
    cls: Any = None,
    /,
    *,
    init: bool = True,
    repr: bool = True,  # noqa: A002
    eq: bool = True,
    slots: bool = True,
    kw_only: bool = False,
) -> Any:
    """A class as `dataclass(frozen=True, slots=True)` makes it, with what it is told beside.

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
    own = {name for name, member in vars(cls).items() if member is not None}
    wanted = {"__init__": init, "__repr__": repr, "__eq__": eq, "__hash__": eq}
    for name in (name for name, is_wanted in wanted.items() if is_wanted and name not in own):
        setattr(made, name, _Late(made, name))
    for name, method in (_SHARED | _PICKLED if slots else _SHARED).items():
        if name not in own:
            setattr(made, name, method)
    return made


class _Late:
    """A method of a class that is compiled, and put in this place, when it is first looked up."""

    __slots__ = ("cls", "name")

    def __init__(self, cls: type, name: str) -> None:
        self.cls, self.name = cls, name

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Any]:
        method = _init(self.cls) if self.name == "__init__" else _method(self.cls, self.name)
        method.__module__ = self.cls.__module__
        method.__qualname__ = f"{self.cls.__qualname__}.{self.name}"
        setattr(self.cls, self.name, method)
        return method if instance is None else MethodType(method, instance)


def _method(cls: Any, name: str) -> Callable[..., Any]:  # noqa: ANN401
    """A method of a dataclass with the same fields."""
    parts: list[Any] = [(part.name, part.type, part) for part in fields(cls)]
    is_equal = name in {"__eq__", "__hash__"}
    twin = make_dataclass(
        cls.__name__,
        parts,
        namespace={"__doc__": cls.__doc__},  # else one is made of a signature
        init=False,
        repr=name == "__repr__",
        eq=is_equal,
        frozen=is_equal,
    )
    method: Callable[..., Any] = getattr(twin, name)
    return method


def _init(cls: Any) -> Callable[..., Any]:  # noqa: ANN401
    """The method that takes the fields and sets them, in their order."""
    scope: dict[str, Any] = {"_set": object.__setattr__, "_factory": _FACTORY}
    words, lines = ["self"], ["pass"]
    named: list[str] = []
    for part in fields(cls):
        name, value = part.name, part.name
        if part.default_factory is not MISSING:
            scope[f"_{name}_"] = part.default_factory
            value = f"_{name}_() if {name} is _factory else {name}" if part.init else f"_{name}_()"
        elif part.default is not MISSING:
            scope[f"_{name}_"] = part.default
            value = name if part.init else f"_{name}_"
        elif not part.init:
            continue
        if part.init:
            default = f"=_{name}_" if part.default is not MISSING else ""
            default = "=_factory" if part.default_factory is not MISSING else default
            (named if part.kw_only else words).append(name + default)
        lines.append(f"_set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    words += ["*", *named] if named else []
    exec(f"def __init__({', '.join(words)}):\n " + "\n ".join(lines), scope)  # noqa: S102
    method: Callable[..., Any] = scope["__init__"]
    types = {part.name: part.type for part in fields(cls) if part.init}
    method.__annotations__ = {**types, "return": None}
    return method


class _Factory:
    """The default of an argument whose value is made for each object."""

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


_SHARED = {"__setattr__": _refuse_set, "__delattr__": _refuse_delete}
_PICKLED = {"__getstate__": _state, "__setstate__": _restore}
