import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from noisycount.data import survey_path
from tests.helpers.commands import Told

HINT = (
    "install noisycount's extra charts: pip install '.[charts]' in the folder of its sources, or "
    "'PATH.whl[charts]' from a wheel of it (Install and first count: noisycount docs start/install)"
)
REFUSAL = f"PNG pictures need the package resvg-py: {HINT}"
ASKED = "count survey.parquet --where age>40 --epsilon 0.5"
TABLE = "count survey.parquet --by age:0,18,65 --epsilon 0.5"
FORECAST = "plan --cells town=16 --epsilon 1"
PLAN = "plan --error 15"
REFINE = "refine 107 --size 5912 --rate 1.7% --epsilon 0.15"
RISK = "risk --size 100 --rate 10% --noise laplace --scale 3"
PLAIN = [
    *("--help", "--version", "demo --help", "figures --help", "plan --help", "risk --help"),
    *("init", ASKED, f"{ASKED} --dry-run", "show survey.parquet", "ledger show", "ledger verify"),
    *("ledger export", PLAN, REFINE, RISK, TABLE, FORECAST),
]
DRAWING = [
    *("figures --only naldi2015.1 --format svg,csv", f"{PLAN} --plot plot.svg", f"{REFINE} --plot plot.svg"),
    *(f"{RISK} --plot plot.svg", f"{TABLE} --plot plot.svg", f"{FORECAST} --plot plot.svg"),
]
DRAWING_PNG = [
    *("demo", "demo --json", "figures --only naldi2015.1 --format csv,png", f"{PLAN} --plot plot.png"),
    *(f"{REFINE} --plot plot.png", f"{RISK} --plot plot.png", f"{TABLE} --plot plot.png"),
]
WITHOUT_CHARTS = """
    import io, json, sys
    from contextlib import redirect_stderr, redirect_stdout

    for package in ("altair", "resvg_py"):
        sys.modules[package] = None
    from noisycount import NoisyCountError, chart, figure
    from noisycount.cli.main import main

    told = {}
    for words in json.loads(sys.argv[1]):
        sys.argv = ["noisycount", *words.split()]
        with redirect_stdout(io.StringIO()) as output, redirect_stderr(io.StringIO()) as errors:
            try:
                main()
            except SystemExit as end:
                told[words] = end.code or 0, output.getvalue(), errors.getvalue()
    drawn = figure("naldi2015.1")
    told["notebook"] = 0, drawn._repr_html_(), ""
    try:
        chart(drawn)
    except NoisyCountError as refusal:
        told["chart"] = 2, "", str(refusal)
    print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the survey alone."""
    folder = tmp_path_factory.mktemp("here")
    shutil.copy(survey_path(), folder / "survey.parquet")
    return folder


@pytest.fixture(scope="module")
def told(here: Path) -> dict[str, Told]:
    """Return the output of commands in a process without packages for charts."""
    code = dedent(WITHOUT_CHARTS)
    done = subprocess.run(  # noqa: S603  (our own interpreter and code)
        [sys.executable, "-c", code, json.dumps([*DRAWING_PNG, *PLAIN, *DRAWING])],
        cwd=here,
        env=os.environ | {"HOME": str(here), "XDG_CONFIG_HOME": str(here / ".config")},
        check=True,
        capture_output=True,
        text=True,
    )
    return {words: Told(*found) for words, found in json.loads(done.stdout).items()}


@pytest.mark.thorough
@pytest.mark.parametrize("words", PLAIN)
def test_what_draws_nothing_needs_no_charts(told: dict[str, Told], words: str) -> None:
    """Every command but the pictures runs, and so does every help."""
    assert told[words].status == 0
    assert told[words].output
    assert not told[words].errors


@pytest.mark.thorough
@pytest.mark.parametrize("words", DRAWING)
def test_an_svg_needs_no_extra(told: dict[str, Told], words: str) -> None:
    """Every chart of a command is drawn."""
    assert told[words].status == 0
    assert not told[words].errors


@pytest.mark.thorough
@pytest.mark.parametrize("words", DRAWING_PNG)
def test_what_draws_a_png_says_what_to_install(told: dict[str, Told], here: Path, words: str) -> None:
    """In one line, before anything is computed, charged or written."""
    assert told[words].status == 2
    assert not told[words].output
    assert told[words].errors.count("\n") == 1
    expected = json.dumps(REFUSAL) if "--json" in words else f"error: {REFUSAL}\n"
    assert expected in told[words].errors
    assert list(here.rglob("*.png")) == []


@pytest.mark.thorough
def test_python_says_what_to_install(told: dict[str, Told]) -> None:
    """`chart` refuses; a notebook shows the picture of a figure above the claims."""
    assert told["chart"].errors == f"Altair charts need the package altair: {HINT}"
    assert told["notebook"].output.startswith("<svg")
    assert "<li>" in told["notebook"].output
