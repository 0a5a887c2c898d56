"""Index of the tests of a module: who tests this?

`python -m tests.index` prints for every module of the package the files of tests that name it. With the path of a
module, such as `release/goal.py`, it runs those files and the tests of the module's room, and prints each test that
calls a function of the module. Further arguments are other tests to run in their place.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FrameType

import pytest

PROJECT = Path(__file__).parents[1]
SOURCE = PROJECT / "src" / "noisycount"
_PACKAGE = "noisycount"


def module_name(place: str) -> str:
    """Return the dotted name of a module.

    Example:
        >>> module_name("release/goal.py")
        'noisycount.release.goal'
    """
    parts = Path(place).with_suffix("").parts
    return ".".join([_PACKAGE, *(part for part in parts if part != "__init__")])


def tests_by_module() -> dict[str, list[str]]:
    """Return for each module, by its path in the package, the files of tests that are for it.

    A file is for a module if it stands at the mirrored place (`tests/release/test_goal.py`), if it imports the module,
    or if it names it in a text: `noisycount.release.goal`, or `release/goal.py` in its docstring.
    """
    files = defaultdict(set)
    for path in sorted(PROJECT.glob("tests/**/*.py")):
        file = path.relative_to(PROJECT)
        mirrored = Path(*file.parts[1:-1], file.name.removeprefix("test_"))
        for name in (module_name(str(mirrored)), *_names(ast.parse(path.read_text(encoding="utf-8")))):
            files[name].add(file.as_posix())
    places = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
    return {place: sorted(files[module_name(place)]) for place in places}


def _names(tree: ast.Module) -> Iterator[str]:
    """Yield the dotted names of modules that a file of tests states, and every beginning of them."""
    for path in re.findall(r"`([\w/]+\.py)`", ast.get_docstring(tree) or ""):
        yield module_name(path)
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [node.value]
        for name in names:
            parts = name.split(".")
            if parts[0] == _PACKAGE:
                yield from (".".join(parts[:length]) for length in range(2, len(parts) + 1))


class Passes:
    """Plugin of pytest that records which functions of a module each test calls."""

    def __init__(self, module: Path) -> None:
        self.file = str(module)
        self.functions: dict[str, set[str]] = defaultdict(set)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Watch the calls of a test and of its fixtures."""
        called: set[CodeType] = set()

        def note(frame: FrameType, event: str, _: object) -> None:
            if event == "call" and frame.f_code.co_filename == self.file:
                called.add(frame.f_code)

        sys.setprofile(note)
        try:
            return (yield)
        finally:
            sys.setprofile(None)
            if called:
                self.functions[item.nodeid] = {code.co_qualname for code in called}


def passing_tests(place: str, tests: Sequence[str] = ()) -> Mapping[str, set[str]]:
    """Run tests, and return those that call a function of a module, each with the functions.

    Args:
        place: Path of the module in the package.
        tests: Files or folders of tests. By default the files that name the module, and the tests of its folder.
    """
    path = SOURCE / place
    if not path.is_file():
        raise SystemExit(f"no module {place!r} in {SOURCE.relative_to(PROJECT)}: name one such as release/desk.py")
    folder = PROJECT / "tests" / Path(place).parent
    chosen = [*tests] or [*tests_by_module()[place], *map(str, sorted(folder.glob("test_*.py")))]
    named = sorted({str((PROJECT / test).resolve()) for test in chosen if Path(test).name != "conftest.py"})
    passes = Passes(path)
    pytest.main(["--quiet", "--no-header", "--no-summary", "-m", "not thorough", *named], plugins=[passes])
    return passes.functions


def main(place: str = "", *tests: str) -> None:
    """Print the index of all modules, or of one."""
    lines = []
    if place:
        for test, functions in sorted(passing_tests(place, tests).items()):
            lines.append(f"{test}: {', '.join(sorted(functions))}")
    else:
        for module, files in tests_by_module().items():
            lines.append(f"{module}: {', '.join(files) or '(no test names it)'}")
    sys.stdout.write("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
