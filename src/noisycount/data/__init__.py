"""The survey that noisycount ships: the RAND Health Insurance Experiment (see README.md)."""

from importlib.resources import files
from pathlib import Path


def survey_path() -> Path:
    """Return the path of the survey: a Parquet file with one row for each person and year, 5,912 persons.

    Returns:
        The absolute path of `rand_hie.parquet` in the installed package.

    Example:
        >>> from noisycount.data import survey_path
        >>> survey_path().name
        'rand_hie.parquet'
    """
    return Path(str(files(__name__))) / "rand_hie.parquet"
