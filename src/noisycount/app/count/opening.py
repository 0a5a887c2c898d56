"""The records of a data set, opened as its owner configured them."""

from noisycount.app.config.config import DatasetConfig
from noisycount.release.records import Records

__all__ = ["records_of"]


def records_of(dataset: DatasetConfig) -> Records:
    """The open records of a data set.

    Raises:
        SourceError: They cannot be read, or hold no such column.
    """
    return Records.open(
        dataset.source,
        unit=dataset.unit,
        columns=dataset.columns,
        table=dataset.table,
        kinds=dataset.kinds,
        form=dataset.form,
    )
