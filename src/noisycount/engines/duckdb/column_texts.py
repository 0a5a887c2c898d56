# ruff: noqa: S608, as all SQL here is made of names that it quotes
"""Facts about texts of columns for a check: their number, their frequencies and their spellings.

Only the owner may see them. `with_values` adds them to a check.
"""

from dataclasses import replace

from noisycount.engines.check import FEW, Check, ColumnCheck
from noisycount.engines.duckdb.connection import Connection, quoted_name, quoted_text
from noisycount.engines.guesses import with_resemblances
from noisycount.engines.persons import names_persons
from noisycount.engines.spellings import spellings_of
from noisycount.query.schema import Kind

_MOST_COLUMNS = 200  # columns: looking at more of them would take longer than reading them
_SEVERAL = 1000  # texts: columns with more, such as names and free texts, are not searched for spellings
_SAMPLE = 1000  # rows whose texts are examined
_MOST = 0.8  # share of these rows whose texts must look like measurements
_MEASURED = r"[<>=~\x{2264}\x{2265}+-]* ?[0-9]{1,6}([.,:/][0-9]{1,6}){0,2} ?[%\x{b0}\x{b5}a-zA-Z/]{0,8}"
_SLACK = 2  # factor for the first, estimated number of texts


def with_values(connection: Connection, check: Check, unit: str | None) -> Check:
    """Return a check with the values of texts in the view `records`, which only the owner may see."""
    if len(check.columns) > _MOST_COLUMNS:
        return check
    columns = (column if column.name == unit else _with_values(connection, column) for column in check.columns)
    texts = "SELECT {0} FROM records WHERE {0} IS NOT NULL LIMIT {1}"

    def some_texts(name: str, number: int) -> list[str]:
        return [text for (text,) in connection.execute(texts.format(quoted_name(name), number)).fetchall()]

    return with_resemblances(replace(check, columns=tuple(columns)), unit, some_texts)


def _with_values(connection: Connection, column: ColumnCheck) -> ColumnCheck:
    """Return the facts of a column with those of its texts.

    These are the number of ids if the column names persons, the number of different texts, their frequencies if they
    are few, and their spellings.
    """
    name = quoted_name(column.name)
    if column.kind is not None and names_persons(column.name):
        ((ids,),) = connection.execute(f"SELECT count(DISTINCT {name}) FROM records").fetchall()
        column = replace(column, ids=ids)
    if column.kind is not Kind.TEXT:
        return column
    test = f"avg(regexp_full_match(trim({name}), {quoted_text(_MEASURED)})::INT)"
    some = f"SELECT {name} FROM records WHERE {name} IS NOT NULL LIMIT {_SAMPLE}"
    ((share,),) = connection.execute(f"SELECT {test} FROM ({some})").fetchall()
    column = replace(column, is_measured=(share or 0) >= _MOST)
    ((distinct,),) = connection.execute(f"SELECT approx_count_distinct({name}) FROM records").fetchall()
    if distinct > _SLACK * _SEVERAL:
        return replace(column, distinct=distinct)
    query = f"SELECT {name}, count(*) FROM records WHERE {name} IS NOT NULL GROUP BY 1 ORDER BY 1"
    values = connection.execute(query).fetchall()
    return replace(
        column,
        distinct=len(values),
        values=tuple(values) if len(values) <= FEW else (),
        spellings=spellings_of(value for value, _ in values),
    )
