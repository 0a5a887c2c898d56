"""The survey of the demonstration as a file of one's own."""

from pathlib import Path

from noisycount.app.terminal.files import new_file
from noisycount.data import survey_path

__all__ = ["write_survey"]


def write_survey(file: Path) -> None:
    """Copy the survey to a new file.

    Raises:
        NoisyCountError: It is there already, or cannot be written.
    """
    with new_file(file, "--survey") as copy:
        copy.buffer.write(survey_path().read_bytes())
