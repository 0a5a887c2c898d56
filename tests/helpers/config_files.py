"""A configuration in a folder of a test."""

from pathlib import Path

import pytest

from noisycount.config.config import FILE_NAME, Config, load_config
from noisycount.errors import ConfigError


def write(folder: Path, text: str) -> Path:
    """Write a configuration and return its path."""
    path = folder / FILE_NAME
    path.write_text(text, encoding="utf-8")
    return path


def loaded(folder: Path, text: str) -> Config:
    """The configuration that a text is."""
    return load_config(write(folder, text))


def refusal(folder: Path, text: str) -> str:
    """The one line that refuses a configuration, after the name of its file."""
    with pytest.raises(ConfigError) as caught:
        loaded(folder, text)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(folder / FILE_NAME))
    return message.removeprefix(str(folder / FILE_NAME))
