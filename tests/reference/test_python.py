import re
from collections.abc import Iterator
from doctest import DocTestParser, DocTestRunner
from inspect import getdoc, isfunction, ismodule, signature
from pkgutil import resolve_name

import pytest

import noisycount as nc
from noisycount import errors
from tests.helpers.reference_pages import FOLDER, text

PAGE = "python.md"

PAGES = sorted(FOLDER.glob("python/*.md"))
DIRECTIVE = re.compile(r"^\.\. auto(class|function|module):: (\S+)$", re.MULTILINE)


def directives() -> list[tuple[str, str]]:
    """Return the kind and the name of each docstring that the pages include, in order."""
    return [found for page in PAGES for found in DIRECTIVE.findall(page.read_text("utf-8"))]


def test_every_public_name_stands_there_once() -> None:
    """Each name of `noisycount` under a heading of its own; a module as what it holds."""
    headings = [
        heading for page in PAGES for heading in re.findall(r"^## (\w+)$", page.read_text("utf-8"), re.MULTILINE)
    ]
    assert len(set(headings)) == len(headings)
    assert set(nc.__all__) <= set(headings)
    taken = [path.rpartition(".")[2] for _, path in directives()]
    assert [name if name != "errors" else "NoisyCountError" for name in taken] == headings


def test_what_is_taken_is_of_its_kind() -> None:
    """A class as a class, a function as one, a module with all that it offers."""
    for kind, path in directives():
        found = resolve_name(path)
        assert {"class": isinstance(found, type), "function": isfunction(found)}.get(kind, ismodule(found)), path
        assert getattr(found, "__doc__", None), path


def test_docstrings_name_every_argument() -> None:
    """An argument of a public function that is not told in its docstring has no page."""
    for kind, path in directives():
        found = resolve_name(path)
        if kind != "function":
            continue
        assert isfunction(found)
        told = set(re.findall(r"^ {4,}(\w+):", found.__doc__ or "", re.MULTILINE))
        assert set(signature(found).parameters) <= told, path


def test_every_page_is_in_the_toctree() -> None:
    """The pages by room are those of the list."""
    assert sorted(re.findall(r"^python/(.+)$", text(PAGE), re.MULTILINE)) == [page.stem for page in PAGES]


def test_errors_are_public() -> None:
    """Every exception is listed with its module."""
    assert ("module", "noisycount.errors") in directives()
    assert "NoisyCountError" in errors.__all__


def shown() -> Iterator[tuple[str, object]]:
    """The public names, each class with its public members."""
    for _, path in directives():
        found = resolve_name(path)
        if path.rpartition(".")[0] != "noisycount" and not ismodule(found):
            continue
        names = found.__all__ if ismodule(found) else []
        for value in (getattr(found, name) for name in names) if names else [found]:
            yield path, value
            for kind in value.__mro__ if isinstance(value, type) else ():
                for name, member in vars(kind).items():
                    if not name.startswith("_") and kind.__module__.startswith("noisycount"):
                        yield f"{path}.{name}", getattr(member, "fget", None) or member


@pytest.mark.thorough
def test_an_example_needs_nothing_but_what_it_imports() -> None:
    """Whoever copies it gets what stands below it: no name comes from where it was written."""
    failed = []
    for name, value in shown():
        text = getdoc(value) or ""
        if ">>> " in text:
            example = DocTestParser().get_doctest(text, {}, name, None, 0)
            failed += [name] if DocTestRunner().run(example, out=lambda _: None).failed else []
    assert failed == []
