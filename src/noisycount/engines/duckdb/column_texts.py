# ruff: noqa: S608, as all SQL here is made of names that it quotes
"""The texts of columns as their owner sees them: how many there are, each of few, and several spellings of one."""

from dataclasses import replace

from noisycount.engines.check import FEW, Check, ColumnCheck
from noisycount.engines.duckdb.connection import Connection, quoted_name, quoted_text
from noisycount.engines.guesses import with_resemblances
from noisycount.engines.persons import names_persons
from noisycount.engines.spellings import spellings_of
from noisycount.query.schema import Kind

_MOST_COLUMNS = 200  # to look at more takes longer than to read them
_SEVERAL = 1000  # texts: of more, as names and free texts are, no spellings are looked for
_SAMPLE = 1000  # rows whose texts are looked at
_MOST = 0.8  # of them
_MEASURED = r"[<>=~\x{2264}\x{2265}+-]* ?[0-9]{1,6}([.,:/][0-9]{1,6}){0,2} ?[%\x{b0}\x{b5}a-zA-Z/]{0,8}"
_SLACK = 2  # times as many texts: their number is an estimate at first


def with_values(connection: Connection, check: Check, unit: str | None) -> Check:
    """What is in the view `records`, with the values of texts, for the eyes of its owner alone."""
    if len(check.columns) > _MOST_COLUMNS:
        return check
    columns = (column if column.name == unit else _with_values(connection, column) for column in check.columns)
    texts = "SELECT {0} FROM records WHERE {0} IS NOT NULL LIMIT {1}"

    def some_texts(name: str, number: int) -> list[str]:
        return [text for (text,) in connection.execute(texts.format(quoted_name(name), number)).fetchall()]

    return with_resemblances(replace(check, columns=tuple(columns)), unit, some_texts)


def _with_values(connection: Connection, column: ColumnCheck) -> ColumnCheck:
    """Return a column with the number of its ids, or of texts with their number, all of few, and their spellings."""
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
