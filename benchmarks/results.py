"""Results of `make bench`: a JSON file a run, with its date, machine, commit and ratios.

`python -m benchmarks.results` prints the newest as a table in Markdown.
"""

import json
import math
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.comparison import Comparison

__all__ = ["RESULTS", "latest_result", "machine_facts", "markdown_lines", "slower_lines", "write_result"]

RESULTS = Path(__file__).with_name("results")
_SLOWER = 1.3  # times the ratio of the last result
_RIVALS = ("dp-accounting", "duckdb", "numpy", "opendp", "pandas", "polars", "pyarrow", "pyspark", "scipy")


def machine_facts() -> dict[str, Any]:
    """Return the machine of a run: cores, processor, Python, versions of rivals, and load of other work."""
    return {
        "cores": os.cpu_count(),
        "processor": _processor(),
        "load of 15 minutes": round(os.getloadavg()[2], 1),
        "Python": platform.python_version(),
        "rivals": {name: found for name in _RIVALS if (found := _version(name))},
    }


def write_result(comparisons: Sequence[Comparison], machine: Mapping[str, Any], folder: Path = RESULTS) -> Path:
    """Write the ratios of a run to a new file, whose name begins with the time, and return its path."""
    now, commit = datetime.now(UTC), _commit()
    result = {
        "date": now.isoformat(timespec="seconds"),
        "commit": commit,
        "machine": machine,
        "ratios": [
            {
                "name": one.name,
                "rival": one.rival,
                "ratio": float(f"{one.ratio:.4g}"),
                "seconds": float(f"{one.ours:.4g}"),
                "limit": None if math.isinf(one.limit) else float(f"{one.limit:.4g}"),
                "within limit": one.kept,
            }
            for one in comparisons
        ],
    }
    folder.mkdir(exist_ok=True)
    path = folder / f"{now:%Y%m%dT%H%M%SZ}-{commit}.json"
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def latest_result(folder: Path = RESULTS) -> dict[str, Any] | None:
    """Return the newest result, or None if there is none."""
    paths = sorted(folder.glob("*.json"))
    return json.loads(paths[-1].read_text(encoding="utf-8")) if paths else None


def slower_lines(comparisons: Sequence[Comparison], last: Mapping[str, Any]) -> list[str]:
    """Return a line for each ratio that is over 1.3 times that of an earlier result."""
    before = {(row["name"], row["rival"]): row["ratio"] for row in last["ratios"]}
    return [
        f"{one.name}, beside {one.rival}: {one.ratio:.3g}, before {old:.3g} ({one.ratio / old:.2f} times)"
        for one in comparisons
        if (old := before.get((one.name, one.rival))) and one.ratio > _SLOWER * old
    ]


def markdown_lines(result: Mapping[str, Any]) -> list[str]:
    """Return a table of the ratios of a result, under a line with its date, commit and machine."""
    machine = result["machine"]
    rivals = ", ".join(f"{name} {number}" for name, number in machine["rivals"].items())
    facts = f"{machine['processor']}, {machine['cores']} cores, load {machine['load of 15 minutes']}"
    return [
        f"{result['date']}, commit {result['commit']}, {facts}, Python {machine['Python']}, {rivals}",
        "",
        "| what | beside | ratio | limit |",
        "| --- | --- | --- | --- |",
        *(f"| {row['name']} | {row['rival']} | {row['ratio']:.3g} | {_limit_text(row)} |" for row in result["ratios"]),
    ]


def _limit_text(row: Mapping[str, Any]) -> str:
    """Return the verdict on the limit of a row."""
    if row["limit"] is None:
        return "none"
    return "met" if row["within limit"] else f"**{row['seconds']:.2g} s instead of {row['limit']:.2g} s**"


def _commit() -> str:
    """Return the commit of this checkout, with `-dirty` if files differ from it, or `unknown` outside a checkout."""
    command = ["git", "-C", str(RESULTS.parent), "describe", "--always", "--dirty", "--exclude=*"]
    described = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    return described.stdout.strip() or "unknown"


def _processor() -> str:
    """Return the processor's name."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor()
    )


def _version(package: str) -> str | None:
    """Return the version of a package, or None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    if newest := latest_result():
        print("\n".join(markdown_lines(newest)))  # noqa: T201 - for README.md
