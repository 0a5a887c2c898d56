"""`python -m noisycount.papers.simulation [RUNS]`: the simulation anew, as CSV."""

import sys

from noisycount.papers.simulation.results import RUNS, csv_text
from noisycount.papers.simulation.tables import simulated


def _told(name: str) -> None:
    sys.stderr.write(f"{name}\n")


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    sys.stdout.write(csv_text(simulated(runs, done=_told)))
