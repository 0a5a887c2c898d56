import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Self

import pytest

import noisycount
from tests.helpers.house import ARROWS, EVERYBODY

PACKAGE = "noisycount"
PROJECT = Path(__file__).parents[1]
HOMES: dict[str, str | tuple[str, ...]] = {
    "duckdb": ("engines/duckdb/", "display/columns.py"),  # there of results alone
    "fsspec": "engines/duckdb/",
    "nanoarrow": "engines/duckdb/",
    "python_calamine": "engines/duckdb/",
    "pyreadstat": "engines/duckdb/",
    "sqlglot": ("engines/sql/", "engines/views/"),
    "sqlalchemy": ("ledger/", "engines/", "validation.py"),  # the counting statement of every engine
    "psycopg": ("ledger/", "engines/sql/"),
    "pyspark": "engines/spark/",
    **dict.fromkeys(("altair", "resvg_py"), "charts/"),
    "click": ("cli/", "config/", "readers/", "service/", "tasks/", "display/output.py"),
    "rich": "display/output.py",
    **dict.fromkeys(("fastapi", "starlette", "uvicorn", "jinja2", "markupsafe"), "service/"),
    **dict.fromkeys(("joserfc", "pydantic", "anyio"), "service/"),
}
LOADERS = {"import_module", "__import__"}
COMPUTING = {"", "cli"}  # where names and commands are imported on first use
SOURCES = f"{PACKAGE}.engines"
COUNTERS = {
    "release/desk.py": ("interface",),
    "release/drawing.py": ("interface",),
    "release/publishing.py": ("interface",),
    "release/rehearsal.py": ("interface", "memory", "tables", "truth"),  # of made-up records alone
    "release/records.py": ("interface", "opening"),  # checks are for the owner of the records
    "engines/conformance/suite.py": ("memory",),  # the reference that the others are held to
    "catalog/sources.py": ("interface", "opening"),
    "catalog/served.py": ("interface", "opening"),
    "catalog/tables.py": ("interface", "opening", "tables"),
}
COUNTLESS = (
    "formats",
    "dates",
    "resemblances",
    "check",
    "finding",
    "findings",
    "places",
    "table_facts",
    "table_checks",
    "conformance",
    "views",
)  # they open no records
ENGINES = ("duckdb", "memory", "sql", "spark")
OPENING = "engines/opening.py"
PUBLIC = (f"{SOURCES}.duckdb.public",)
LONGEST_FILE = 500


@dataclass(frozen=True, slots=True)
class Module:
    """File of a package: its place, its dotted name, its length, every name that it imports, and its classes."""

    place: str
    name: str
    length: int
    imported: tuple[str, ...]
    classes: tuple[str, ...]

    @classmethod
    def read(cls, path: Path, root: Path) -> Self:
        """The module at `path` of the package in the folder `root`."""
        place = path.relative_to(root)
        parts = [PACKAGE, *place.with_suffix("").parts]
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        classes = tuple(node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
        return cls(place.as_posix(), name, len(text.splitlines()), tuple(imports(tree, parts[:-1])), classes)


def imports(tree: ast.Module, folder: list[str]) -> Iterator[str]:
    """Every dotted name that a file of a folder imports, wherever and however it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute(node, folder)
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in LOADERS:
            first = node.args[0]
            yield str(first.value) if isinstance(first, ast.Constant) else "(computed)"


def absolute(node: ast.ImportFrom, folder: list[str]) -> str:
    """The absolute name of what stands between `from` and `import`."""
    if node.level == 0:
        return node.module or ""
    kept = folder[: len(folder) - node.level + 1]
    return ".".join([*kept, *([node.module] if node.module else [])])


def room(name: str) -> str:
    """The room of a dotted name of the package; empty for the package itself."""
    return name.split(".")[1] if "." in name else ""


def read_modules(root: Path) -> list[Module]:
    """Every Python file of a package."""
    return [Module.read(path, root) for path in sorted(root.rglob("*.py"))]


def edges(modules: list[Module]) -> dict[str, list[str]]:
    """For every module the modules of the package that it imports."""
    names = {module.name for module in modules}

    def target(name: str) -> str:
        while name not in names:
            name = name.rpartition(".")[0]
        return name

    return {
        module.name: [target(name) for name in module.imported if name.split(".")[0] == PACKAGE] for module in modules
    }


def wrong_arrows(modules: list[Module]) -> list[str]:
    """The imports that point against the one direction."""
    return [
        f"{source} imports {target}"
        for source, targets in edges(modules).items()
        for target in targets
        if room(target) not in {room(source)} | EVERYBODY | ARROWS[room(source)]
    ]


def strayed_drivers(modules: list[Module]) -> list[str]:
    """The imports of a driver outside its home."""
    return [
        f"{module.place} imports {name}"
        for module in modules
        for name in module.imported
        if not module.place.startswith(HOMES.get(name.split(".")[0], ""))
    ]


def undeclared(modules: list[Module], declared: Iterable[str]) -> set[str]:
    """The packages that are imported, and that no installation of noisycount brings."""
    packages = {name.split(".")[0] for module in modules for name in module.imported}
    known = {re.split(r"[^\w-]", text)[0].lower().replace("-", "_") for text in declared}
    return packages - known - sys.stdlib_module_names - {PACKAGE, "(computed)"}


def computed_imports(modules: list[Module]) -> list[str]:
    """The files whose imports cannot be read though they should be."""
    found = [module for module in modules if "(computed)" in module.imported]
    return [module.place for module in found if room(module.name) not in COMPUTING]


def strayed_sources(modules: list[Module]) -> list[str]:
    """The imports through which records could be counted where no budget is charged."""
    return [
        f"{module.place} imports {name}"
        for module in modules
        for name in module.imported
        if is_below(SOURCES, name) and not any(is_below(public, name) for public in PUBLIC)
        if not may_import(module.place, name.removeprefix(SOURCES).split(".")[1:])
    ]


def may_import(place: str, parts: list[str]) -> bool:
    """Return True if a file may import this part of the engines, which only the opening may open."""
    if place == OPENING:
        return True
    if place.startswith("engines/"):
        inside = place.removeprefix("engines/").split("/")[0]
        free = parts[:1] and parts[0] not in ENGINES
        return bool(free) or parts[:1] == [inside] or parts[:1] == [*COUNTERS.get(place, ())]
    return bool(parts) and parts[0] in (*COUNTLESS, *COUNTERS.get(place, ()))


def is_below(whole: str, name: str) -> bool:
    """Return True if a dotted name is another, or a part of it."""
    return f"{name}.".startswith(f"{whole}.")


def cycle(modules: list[Module]) -> list[str]:
    """The modules of one import cycle, first and last the same; empty without one."""
    return circle({name: {*targets} - {name} for name, targets in edges(modules).items()})


def circles(modules: list[Module]) -> list[str]:
    """The folders whose rooms, files or folders, need each other in a circle."""
    graph = edges(modules)
    parents = {name.rpartition(".")[0] for name in graph} - {""}
    return [
        f"{folder}: {' -> '.join(found)}" for folder in sorted(parents) if (found := circle(neighbours(folder, graph)))
    ]


def neighbours(folder: str, graph: Mapping[str, list[str]]) -> dict[str, set[str]]:
    """For every room directly in a folder the other rooms of it that it imports from."""
    inside = f"{folder}."
    rooms: dict[str, set[str]] = {}
    for source, targets in graph.items():
        for target in targets:
            if source.startswith(inside) and target.startswith(inside):
                one, other = (name[len(inside) :].split(".")[0] for name in (source, target))
                rooms.setdefault(one, set()).update({other} - {one})
    return rooms


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Return a circle of a graph, with the same node first and last, or an empty list."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def long_files(modules: list[Module]) -> list[str]:
    """The files that outgrew their room."""
    return [module.place for module in modules if module.length > LONGEST_FILE]


@pytest.fixture(scope="module")
def modules() -> list[Module]:
    """The modules of noisycount itself."""
    return read_modules(Path(noisycount.__file__).parent)


def made_up(folder: Path, files: Mapping[str, str]) -> list[Module]:
    """The modules of a small package written for one test."""
    for place, text in files.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return read_modules(folder)


def test_all_of_the_package_is_read(modules: list[Module]) -> None:
    """The checks below look at real files and real imports."""
    assert {room(module.name) for module in modules} == set(ARROWS)
    assert "noisycount.ledger.entries" in edges(modules)["noisycount.config.config"]


def test_imports_run_one_way(modules: list[Module]) -> None:
    """Every room imports from those below it; nothing imports the commands or the service."""
    assert wrong_arrows(modules) == []


def test_drivers_stay_at_home(modules: list[Module]) -> None:
    """Each engine and library with a seam is imported behind that seam only."""
    assert strayed_drivers(modules) == []


def test_imports_are_declared(modules: list[Module]) -> None:
    """Every imported package is declared for users, not only for tests."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    found = undeclared(modules, chain(project["dependencies"], *extras))
    assert found == set()
    assert undeclared(modules, []) > {"numpy", "altair"}


def test_imports_can_be_read(modules: list[Module]) -> None:
    """Only the public names and the command line compute what they import."""
    assert computed_imports(modules) == []


def test_public_names_come_from_their_rooms() -> None:
    """Names that are imported on first use obey the arrows."""
    values = [getattr(noisycount, name) for name in noisycount.__all__]
    rooms = {room(value.__name__ if isinstance(value, ModuleType) else value.__module__) for value in values}
    assert rooms == ARROWS[""] | {"errors"}


def test_only_the_desk_counts(modules: list[Module]) -> None:
    """Nobody else has a source, or what opens one: no true count is taken without a charge."""
    assert strayed_sources(modules) == []


def test_no_import_cycle(modules: list[Module]) -> None:
    """Every module can be read after what it imports."""
    assert cycle(modules) == []


def test_no_folder_imports_upwards(modules: list[Module]) -> None:
    """Also inside rooms arrows run one way: files and folders side by side have an order."""
    assert circles(modules) == []


def test_a_class_name_stands_for_one_class(modules: list[Module]) -> None:
    """No two classes of the package share a name."""
    places: dict[str, list[str]] = {}
    for module in modules:
        for name in module.classes:
            places.setdefault(name, []).append(module.place)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_files_stay_short(modules: list[Module]) -> None:
    """A file past 500 lines wants to be two chapters."""
    assert long_files(modules) == []


def test_import_is_light() -> None:
    """`import noisycount`, with all its names, loads no engine, chart or command line."""
    heavy = "duckdb sqlglot sqlalchemy altair click rich"
    code = f"import sys; from noisycount import *; print(*set(sys.modules) & {set(heavy.split())})"
    loaded = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert loaded.stdout.split() == []


@pytest.mark.parametrize(
    ("place", "line", "target"),
    [
        ("model/noise.py", "from noisycount.analysis import accuracy", "analysis.accuracy"),
        ("model/noise.py", "import noisycount.release.desk", "release.desk"),
        ("model/noise.py", "from ..analysis.accuracy import alpha", "analysis.accuracy"),
        ("model/__init__.py", "from ..analysis import accuracy", "analysis.accuracy"),
        ("model/noise.py", "def f():\n    from noisycount.cli import main", "cli.main"),
        ("model/noise.py", "if TYPE_CHECKING:\n    import noisycount.cli.main", "cli.main"),
        ("model/noise.py", "importlib.import_module('noisycount.cli.main')", "cli.main"),
        ("analysis/accuracy.py", "from noisycount.release.desk import Desk", "release.desk"),
        ("ledger/ledger.py", "from noisycount.analysis.accuracy import x", "analysis.accuracy"),
        ("charts/plot.py", "import noisycount.papers.figure", "papers.figure"),
        ("papers/figure.py", "from noisycount.cli.main import main", "cli.main"),
        ("__init__.py", "from noisycount.release.desk import Desk", "release.desk"),
        ("errors.py", "from noisycount.model.noise import Laplace", "model.noise"),
        ("data/__init__.py", "from noisycount.model.noise import Laplace", "model.noise"),
    ],
)
def test_wrong_arrow_is_found(tmp_path: Path, place: str, line: str, target: str) -> None:
    """Each forbidden direction is seen, in every form that an import can take."""
    rooms = ("__init__.py", "model/__init__.py", "model/noise.py", "analysis/__init__.py", "analysis/accuracy.py")
    files = dict.fromkeys((*rooms, "charts/plot.py", "papers/figure.py", "release/desk.py", "cli/main.py"), "")
    found = wrong_arrows(made_up(tmp_path, files | {place: line}))
    assert [text.partition(" imports ")[2] for text in found] == [f"{PACKAGE}.{target}"]


def test_package_itself_is_no_way_around(tmp_path: Path) -> None:
    """A room below may not reach analysis through the public names."""
    files = {"__init__.py": "", "model/noise.py": "from noisycount import accuracy"}
    found = wrong_arrows(made_up(tmp_path, files))
    assert found == ["noisycount.model.noise imports noisycount"]


def test_right_arrows_pass(tmp_path: Path) -> None:
    """The allowed directions, errors and the data raise no alarm."""
    files = {
        "__init__.py": "from noisycount.model.noise import Laplace",
        "errors.py": "",
        "data/__init__.py": "",
        "model/noise.py": "import math\nfrom noisycount.errors import NoisyCountError",
        "analysis/accuracy.py": "from noisycount.model.noise import Laplace",
        "charts/plot.py": "import noisycount.analysis.accuracy",
        "papers/figure.py": "import noisycount.charts.plot",
        "release/desk.py": "from noisycount.model import noise",
        "cli/main.py": "from noisycount import data\nfrom . import render",
        "cli/render.py": "from noisycount.charts import plot\nimport noisycount.release.desk",
    }
    assert wrong_arrows(made_up(tmp_path, files)) == []


@pytest.mark.parametrize("driver", HOMES)
def test_strayed_driver_is_found(tmp_path: Path, driver: str) -> None:
    """A driver is seen outside its home, also by its parts, and passes at home."""
    homes = HOMES[driver]
    home = homes if isinstance(homes, str) else homes[0]
    home = home if home.endswith(".py") else f"{home}cli.py"
    line = f"def f():\n    from {driver}.part import name"
    found = strayed_drivers(made_up(tmp_path, {home: line, "release/other.py": line}))
    assert found == [f"release/other.py imports {driver}.part.name"]


def test_computed_import_is_found(tmp_path: Path) -> None:
    """Computed imports cannot be checked, so only the command line may have them."""
    line = "import_module(f'noisycount.{room}')"
    assert computed_imports(made_up(tmp_path, {"cli/main.py": line})) == []
    assert computed_imports(made_up(tmp_path, {"model/a.py": line})) == ["model/a.py"]


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("cli/main.py", "from noisycount.engines.opening import found"),
        ("cli/main.py", "from noisycount.engines.interface import Source"),
        ("cli/main.py", "from noisycount.engines.duckdb.source import DuckDBSource"),
        ("cli/main.py", "from noisycount import engines"),
        ("cli/main.py", "import noisycount.engines"),
        ("cli/main.py", "def f():\n    import noisycount.engines.memory"),
        ("release/results.py", "from noisycount.engines.interface import Source"),
        ("release/desk.py", "from noisycount.engines.opening import found"),
        ("release/desk.py", "from noisycount.engines.memory import MemorySource"),
        ("release/records.py", "from ..engines.duckdb.source import DuckDBSource"),
        ("engines/interface.py", "from .duckdb.source import DuckDBSource"),
        ("engines/spark/source.py", "from ..duckdb.source import DuckDBSource"),
    ],
)
def test_strayed_source_is_found(tmp_path: Path, place: str, line: str) -> None:
    """A module that could count records without the desk is named, however it imports."""
    found = strayed_sources(made_up(tmp_path, {"__init__.py": "", place: line}))
    assert [text.partition(" imports ")[0] for text in found] == [place]


def test_sources_pass_where_they_belong(tmp_path: Path) -> None:
    """The desk knows the interface, the opening knows engines, and public tables are nobody's."""
    files = {
        "__init__.py": "",
        "release/desk.py": "from noisycount.engines.interface import Source",
        "catalog/sources.py": "from noisycount.engines.opening import found",
        "engines/opening.py": "def f():\n    from .duckdb.source import DuckDBSource",
        "engines/duckdb/source.py": "from noisycount.engines.duckdb import table",
        "engines/memory.py": "from noisycount.engines.interface import Closeable",
        "cli/main.py": f"from {PUBLIC[0]} import PublicTable",
    }
    assert strayed_sources(made_up(tmp_path, files)) == []


def test_cycle_is_found(tmp_path: Path) -> None:
    """Two modules that need each other are named, also where one import waits in a function."""
    files = {
        "__init__.py": "",
        "model/a.py": "from noisycount.model import b",
        "model/b.py": "def f():\n    from noisycount.model.a import x",
    }
    found = cycle(made_up(tmp_path, files))
    assert found[0] == found[-1]
    assert set(found) == {"noisycount.model.a", "noisycount.model.b"}


def test_circle_of_rooms_is_found(tmp_path: Path) -> None:
    """Two folders that need each other are named, though no two files do."""
    files = {
        "__init__.py": "",
        "model/laws/__init__.py": "",
        "model/laws/a.py": "from noisycount.model.sums import b",
        "model/laws/c.py": "",
        "model/sums/b.py": "",
        "model/sums/d.py": "from noisycount.model.laws import c",
    }
    modules = made_up(tmp_path, files)
    assert cycle(modules) == []
    (found,) = circles(modules)
    assert found.startswith("noisycount.model: ")
    assert {"laws", "sums"} <= set(found.split())


def test_long_file_is_found(tmp_path: Path) -> None:
    """500 lines pass, 501 do not."""
    files = {"model/a.py": "x = 1\n" * 500, "model/b.py": "x = 1\n" * 501}
    assert long_files(made_up(tmp_path, files)) == ["model/b.py"]


@pytest.mark.thorough
@pytest.mark.always
@pytest.mark.parametrize("audit", sorted(path.stem for path in (PROJECT / "audits").glob("*.py")))
def test_every_audit_can_be_imported(audit: str) -> None:
    """Audits, which run rarely, still find every name that they import."""
    import_module(f"audits.{audit}")
