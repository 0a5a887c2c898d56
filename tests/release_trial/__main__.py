"""A release, built and tried in empty environments: `python -m tests.release_trial [FOLDER]`.

The wheel and the sdist are built in FOLDER, which is `dist` if left out. From the sdist the very
same wheel can be made; so the wheel is tried on every Python, and the sdist on one. Spark, which is
many times as large as the rest, is installed on one Python too, and its parts are loaded there.
Beside them lie the hashed requirements of all extras, and a bill of materials in CycloneDX.
PySpark is on PyPI as an sdist alone; the wheel that pip made of it for the tests is taken.
"""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from tests.release_trial.archives import PROJECT, built, check_sdist, check_wheel, remade, same, wheel_of
from tests.release_trial.environment import Environment
from tests.release_trial.inventory import check_inventory, write_inventory
from tests.release_trial.pythons import VERSIONS, found
from tests.release_trial.steps import TrialError, step, tell
from tests.release_trial.trials import EXTRAS, try_all, try_bare, try_spark

AT_ONCE = 2
BUT_SPARK = ",".join(extra for extra in EXTRAS if extra != "spark")
BESIDE = ["pandas", "vl-convert-python"]  # what the notebooks import, and what stores their charts as SVG


@dataclass(frozen=True, slots=True)
class Trial:
    """An environment to be made, and what is tried in it."""

    name: str  # how its steps are told
    interpreter: Path  # its Python
    packages: list[str]  # what is installed
    tried: list[Callable[[Environment], None]]  # what is tried, one after the other

    def run(self) -> str | None:
        """Make the environment and try all: what fails, if something does."""
        with TemporaryDirectory(prefix="noisycount-release-") as folder:
            try:
                made = Environment.made(self.name, Path(folder), self.interpreter, *self.packages)
                for each in self.tried:
                    each(made)
            except TrialError as error:
                return f"{self.name}: {error}"
        return None


def trials(wheel: Path, sdist: Path, spark: Path) -> Iterator[Trial]:
    """Yield the trials for the Pythons of this machine, and report the missing ones."""
    here = {version: place for version in VERSIONS if (place := found(version))}
    for version in VERSIONS:
        if version not in here:
            tell(f"  none           Python {version} is not on this machine: nothing is tried on it")
    first = min(here, key=VERSIONS.index)
    everything = [f"{wheel}[{','.join(EXTRAS)}]", str(spark), *BESIDE]
    yield Trial(f"{first} wheel, all extras", here[first], everything, [try_spark, try_all])
    yield Trial(f"{first} sdist, no extras", here[first], [str(sdist)], [try_bare])
    for version, place in here.items():
        yield Trial(f"{version} wheel, no extras", place, [str(wheel)], [try_bare])
        if version != first:
            but_spark = [f"{wheel}[{BUT_SPARK}]", *BESIDE]
            yield Trial(f"{version} wheel, all but spark", place, but_spark, [try_all])


def released(folder: Path) -> tuple[Path, Path]:
    """Build both files, and look at what they hold."""
    with step("wheel and sdist", "built"):
        wheel, sdist = built(folder)
    with step(wheel.name, "holds the package and nothing else"):
        check_wheel(wheel)
    with step(sdist.name, "holds the project's files"):
        check_sdist(sdist)
    with step(sdist.name, "makes the same wheel"), TemporaryDirectory() as unpacked:
        if not same(wheel, remade(sdist, Path(unpacked))):
            raise TrialError(f"{sdist.name} makes another wheel than {wheel.name}")
    with step("inventory", "hashed requirements and a bill of materials"):
        check_inventory(*write_inventory(folder, wheel.name.split("-")[1]))
    return wheel, sdist


def main() -> None:
    """Build and try all, and end with what failed."""
    begun = perf_counter()
    try:
        wheel, sdist = released(Path(*sys.argv[1:] or [PROJECT / "dist"]).resolve())
    except TrialError as error:
        sys.exit(str(error))
    with TemporaryDirectory() as folder, ThreadPoolExecutor(AT_ONCE) as pool:
        with step("pyspark", "its wheel"):
            spark = wheel_of("pyspark", Path(folder))
        faults = list(filter(None, pool.map(Trial.run, trials(wheel, sdist, spark))))
    tell(f"{len(faults)} trials failed, after {perf_counter() - begun:.0f} s")
    sys.exit("\n".join(faults) if faults else 0)


if __name__ == "__main__":
    main()
