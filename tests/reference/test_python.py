import re
from collections.abc import Iterator
from doctest import DocTestParser, DocTestRunner
from inspect import getdoc, isfunction, ismodule, signature
from pkgutil import resolve_name

import pytest

import noisycount as nc
from noisycount import errors
from tests.helpers.reference_pages import FOLDER, section
from tests.helpers.transcripts import page_name, pages

PAGE = FOLDER / "python.md"
DIRECTIVE = re.compile(r"^\.\. auto(class|function|module):: (\S+)$", re.MULTILINE)


IMPORT = re.compile(
    r"^ *(?:>>> |\.\.\. |\")?(?:from (noisycount[\w.]*) import ([\w, ]+)|import (noisycount[\w.]*))", re.MULTILINE
)


def directives() -> list[tuple[str, str]]:
    """Return the kind and the name of each docstring that the page includes, in order."""
    return DIRECTIVE.findall(PAGE.read_text("utf-8"))


def named_headings() -> list[str]:
    """Return the names that have a heading on the page, in order."""
    return re.findall(r"^### (\w+)$", PAGE.read_text("utf-8"), re.MULTILINE)


def test_every_public_name_stands_there_once() -> None:
    """Each name of `noisycount` has a heading of its own, above its docstring; the errors are one module."""
    headings = named_headings()
    assert len(set(headings)) == len(headings)
    assert set(nc.__all__) <= set(headings)
    names = [path.rpartition(".")[2] for _, path in directives()]
    assert [name if name != "errors" else "NoisyCountError" for name in names] == headings


def test_what_is_taken_is_of_its_kind() -> None:
    """A class as a class, a function as one, a module with all that it offers."""
    for kind, path in directives():
        found = resolve_name(path)
        assert {"class": isinstance(found, type), "function": isfunction(found)}.get(kind, ismodule(found)), path
        assert getattr(found, "__doc__", None), path


def test_docstrings_name_every_argument() -> None:
    """An argument of a public function that its docstring does not describe has no page."""
    for kind, path in directives():
        found = resolve_name(path)
        if kind != "function":
            continue
        assert isfunction(found)
        described = set(re.findall(r"^ {4,}(\w+):", found.__doc__ or "", re.MULTILINE))
        assert set(signature(found).parameters) <= described, path


def test_the_index_has_every_name() -> None:
    """Each heading of the page is linked once in the index."""
    links = re.findall(r"\[`(\w+)`\]\(#(\w+)\)", section(PAGE.name, "Index of all names"))
    assert sorted(links) == sorted((name, name.lower()) for name in named_headings())


def imported(text: str) -> set[str]:
    """Return the names that the examples of a page or notebook import from the package, with their modules."""
    found = IMPORT.findall(text)
    return {f"{module}.{name.strip()}" for module, names, _ in found for name in names.split(",") if module} | {
        whole for *_, whole in found if whole
    }


def test_pages_import_public_names_only() -> None:
    """Pages and notebooks import `noisycount`, its public names, or what the reference describes with its module."""
    public = {"noisycount", *(f"noisycount.{name}" for name in nc.__all__), *(path for _, path in directives())}
    public |= {f"noisycount.errors.{name}" for name in errors.__all__}
    notebooks = sorted(FOLDER.parent.glob("notebooks/*.ipynb"))
    wrong = {page_name(page): imported(page.read_text("utf-8")) - public for page in [*pages(), *notebooks]}
    assert {page: names for page, names in wrong.items() if names} == {}
    assert imported(">>> from noisycount.a import b, c\n>>> import noisycount as nc\n") == {
        "noisycount.a.b",
        "noisycount.a.c",
        "noisycount",
    }


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
