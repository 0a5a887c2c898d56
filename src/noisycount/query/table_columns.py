"""Columns of data sets of several tables, whose names are `TABLE.COLUMN`, such as `visits.ward`."""

from collections.abc import Mapping
from dataclasses import field

from noisycount.display.texts import replace_unprintable
from noisycount.frozen import frozen
from noisycount.query.predicate import Column, quoted_name
from noisycount.query.schema import Kind, Schema


@frozen
class TableColumn(Column):
    """A column of a data set of several tables. Its name is `TABLE.COLUMN`, such as `visits.ward`."""

    rows: str = field(kw_only=True)  # table whose rows have the values: for a public look-up, that which it explains

    @property
    def table(self) -> str:
        """Table whose rows have the values."""
        return self.rows

    @property
    def written_name(self) -> str:
        """The name as a query writes it: `visits.ward`, or `visits."ward no"`."""
        return qualified_name(self.name)


def column_of(schema: Mapping[str, Kind], name: str) -> Column:
    """Return the column with a name from a schema."""
    tables = schema.tables if isinstance(schema, Schema) else {}
    if not tables:
        return Column(name, schema[name])
    return TableColumn(name, schema[name], rows=tables[name.partition(".")[0]].rows)


def qualified_name(name: str) -> str:
    """Return the name of a column of one of several tables as a query writes it.

    Example:
        >>> qualified_name("visits.ward"), qualified_name("visits.ward no")
        ('visits.ward', 'visits."ward no"')
    """
    table, _, column = name.partition(".")
    return f"{quoted_name(table)}.{quoted_name(column)}"


def typed_name(schema: Mapping[str, Kind], name: str) -> str:
    """Return the name of a column as a query writes it, for one line of an error."""
    is_qualified = isinstance(schema, Schema) and schema.tables
    return replace_unprintable(qualified_name(name) if is_qualified else quoted_name(name))
