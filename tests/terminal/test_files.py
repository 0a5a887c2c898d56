import os
from pathlib import Path

import pytest

from tests.commands import Refused

REFINE = ("refine", "5", "--size", "9", "--rate", "0.5", "--epsilon", "1")


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "--epsilon", "0.1", "--guess", "100", "--plot"),
        (*REFINE, "--plot"),
        ("risk", "--noise", "laplace", "--scale", "1", "--size", "9", "--rate", "0.5", "--plot"),
    ],
    ids=lambda words: words[0],
)
def test_no_command_waits_for_the_reader_of_a_pipe(
    refused: Refused, here: Path, words: tuple[str, ...]
) -> None:
    """What is there and is no regular file is refused."""
    os.mkfifo(here / "pipe.svg")
    assert "'pipe.svg' is no regular file: name another file" in refused(*words, "pipe.svg")


def test_no_table_takes_the_place_of_a_pipe(refused: Refused, here: Path) -> None:
    """Before the work for it is done."""
    (here / "answers.csv").write_text("answer\n5\n")
    os.mkfifo(here / "pipe.csv")
    words = ("refine", "--answers", "answers.csv", "--column", "answer", "--size", "9")
    message = refused(*words, "--rate", "0.5", "--epsilon", "1", "--out", "pipe.csv")
    assert "'pipe.csv' is no regular file: name another file" in message
    assert (here / "pipe.csv").is_fifo()
