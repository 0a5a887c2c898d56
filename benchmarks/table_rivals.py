"""A table by another library, run by a Python of its own: `python table_rivals.py NAME FILE`.

It prints the time from the library's first call to its answer, in seconds, and the mean absolute
error of the answers.
"""

import sys
import time
from collections.abc import Callable, Mapping

Counts = Mapping[str, int]


def by_opendp(path: str) -> Counts:
    """Counts of records by town with OpenDP on Polars, all towns known, at epsilon 1."""
    import opendp.prelude as dp  # noqa: PLC0415 - one library a run
    import polars as pl  # noqa: PLC0415

    dp.enable_features("contrib")
    margin = dp.polars.Margin(by=["town"], max_length=10**6, max_groups=500, invariant="keys")
    context = dp.Context.compositor(
        data=pl.read_parquet(path).lazy(),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[margin],
    )
    found = context.query().group_by("town").agg(dp.len()).release().collect()
    return dict(zip(found["town"], found["len"], strict=True))


def by_smartnoise(path: str) -> Counts:
    """Counts of records by town with SmartNoise on pandas, at epsilon 1."""
    import pandas as pd  # noqa: PLC0415 - one library a run
    from snsql import Privacy, from_df  # noqa: PLC0415

    columns = {"person": {"type": "int"}, "town": {"type": "string"}}
    table = {"row_privacy": True, "censor_dims": False, **columns}
    reader = from_df(
        pd.read_parquet(path), privacy=Privacy(epsilon=1.0, delta=1e-9), metadata={"": {"": {"df": table}}}
    )
    return dict(reader.execute("SELECT town, COUNT(*) AS n FROM df GROUP BY town")[1:])


def plain(path: str) -> Counts:
    """The true counts."""
    import duckdb  # noqa: PLC0415 - the rivals are timed without it

    query = "SELECT town, count(*) FROM read_parquet(?) GROUP BY town"
    return dict(duckdb.execute(query, [path]).fetchall())


RIVALS: dict[str, Callable[[str], Counts]] = {"OpenDP": by_opendp, "SmartNoise": by_smartnoise}

if __name__ == "__main__":
    name, file = sys.argv[1:]
    rival = RIVALS.get(name, plain)
    rival(file)  # what is loaded at first use is not timed
    start = time.perf_counter()
    answers = rival(file)
    taken = time.perf_counter() - start
    true = plain(file)
    error = sum(abs(answers[town] - count) for town, count in true.items()) / len(true)
    print(taken, error)  # noqa: T201 - for who started it
