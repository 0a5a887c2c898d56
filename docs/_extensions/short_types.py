"""Types as a reader says them: what NumPy takes for an array is `array_like`, not its parts.

Annotations are aliases that Python spells out when it reads them. Before the docstrings are read,
each is replaced by a text in which they are short again; overloads are read from the source, and
have `autodoc_type_aliases`.
"""

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from types import FunctionType

from numpy.typing import ArrayLike
from sphinx.application import Sphinx
from sphinx.util.typing import stringify_annotation

import noisycount

__all__ = ["setup"]

_ARRAY = re.compile(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[([^\]]*)\]\]")
_NAMES = re.compile(r"~?(?:numpy|typing|collections\.abc)\.(?:\w+\.)*")


def setup(app: Sphinx) -> dict[str, bool]:
    """The change of all annotations, once."""
    app.connect("builder-inited", lambda _: _shorten())
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _shorten() -> None:
    """Replace the annotations of all functions, methods and classes of the package."""
    array_like = _spelt(ArrayLike)
    for one in {id(each): each for each in _annotated()}.values():
        one.__annotations__ = {name: _short(annotation, array_like) for name, annotation in one.__annotations__.items()}


def _short(annotation: object, array_like: str) -> str:
    """An annotation with the names of its aliases."""
    text = annotation if isinstance(annotation, str) else _spelt(annotation)
    return _ARRAY.sub(r"ndarray[\1]", text.replace(array_like, "array_like"))


def _spelt(annotation: object) -> str:
    """An annotation as Sphinx writes it, without the modules of the standard library and NumPy."""
    return _NAMES.sub("", stringify_annotation(annotation, "smart"))


def _annotated() -> Iterator[FunctionType | type]:
    """What has annotations, once all that is public is imported."""
    for name in noisycount.__all__:
        getattr(noisycount, name)
    import_module("noisycount.release.table_release")  # which a desk imports at its first answer
    for module in [each for name, each in sys.modules.items() if name.startswith("noisycount.")]:
        for value in vars(module).values():
            if getattr(value, "__module__", None) == module.__name__:
                if isinstance(value, FunctionType):
                    yield value
                elif isinstance(value, type):
                    if "__annotations__" in vars(value):
                        yield value
                    yield from _methods(value)


def _methods(kind: type) -> Iterator[FunctionType]:
    """The methods that a class has itself, those of properties and of the class among them."""
    for member in vars(kind).values():
        for one in (member, *(getattr(member, at, None) for at in ("fget", "__func__"))):
            if isinstance(one, FunctionType):
                yield one
