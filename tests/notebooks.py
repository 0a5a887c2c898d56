"""Notebooks run cell by cell as Jupyter does, in this process; as a command, outputs are stored."""

import ast
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any
from unittest.mock import patch

import altair as alt

from noisycount.release.desk import Desk

__all__ = ["code_cells", "executed", "read"]

Bundle = dict[str, str]


def read(path: Path) -> dict[str, Any]:
    """The parts of a notebook."""
    return json.loads(path.read_text(encoding="utf-8"))


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells that are run."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def executed(notebook: dict[str, Any], home: Path) -> Iterator[Bundle | None]:
    """Run the cells in an empty home, yield what each one shows, and close its desks.

    Args:
        notebook: Its parts.
        home: The folder in which it runs.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    environment = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}
    with patch.dict("os.environ", environment), chdir(home), alt.renderers.enable("svg"):
        try:
            for cell in code_cells(notebook):
                value = _result("".join(cell["source"]), names)
                if value is not None:
                    names["_"] = value
                yield None if value is None else _bundle(value)
        finally:
            for desk in (value for value in names.values() if isinstance(value, Desk)):
                desk.close()


def _result(source: str, names: dict[str, Any]) -> object:
    """The value of the last line of a cell; none where it is no expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)  # noqa: S102 - our own notebook
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307 - the same


def _bundle(value: Any) -> Bundle:  # noqa: ANN401 - anything can be shown
    """A value in every form in which it shows itself, richest last."""
    if hasattr(value, "_repr_mimebundle_"):
        return value._repr_mimebundle_()
    shown = {"text/plain": repr(value)}
    if hasattr(value, "_repr_html_"):
        shown["text/html"] = value._repr_html_()
    return shown


def _store(path: Path) -> None:
    """The outputs of a notebook that was run, written into it."""
    notebook = read(path)
    with tempfile.TemporaryDirectory() as home:
        bundles = list(executed(notebook, Path(home)))
    for number, (cell, bundle) in enumerate(zip(code_cells(notebook), bundles, strict=True), 1):
        cell["execution_count"] = number
        cell["outputs"] = [] if bundle is None else [_output(number, bundle)]
    text = json.dumps(notebook, ensure_ascii=False, indent=1)
    path.write_text(f"{text}\n", encoding="utf-8")


def _output(number: int, bundle: Bundle) -> dict[str, Any]:
    """Return a result in the format of notebooks."""
    data = {kind: text.splitlines(keepends=True) for kind, text in bundle.items()}
    return {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data}


if __name__ == "__main__":
    _store(Path(sys.argv[1]))
