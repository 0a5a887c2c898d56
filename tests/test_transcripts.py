"""A wrong figure in an output is found; one that was drawn is not compared."""

import pytest

from tests.helpers.transcripts import Block, as_far, blocks, failures, pieces, secrets, transcripts

SHOWN = """\
3  The answer: 81 ±20 persons
With 95 % confidence the true count lies within ±20 of 81. It cost ε = 0.15;
1.85 of the budget of 2 is left.

4  A better estimate: 89.5 persons
Suppose it is public that such a person has a chance of 1.7 %. Together with the
answer that gives a mean of 89.5, a median of 89, and 77 to 106 with 95 %
probability. That costs no privacy.
"""
LINES = """\
answer    57 ±20
answer    −54 ±300, so at most 246
answer     107, with noise of ε = 0.15
answer   the count, with Gaussian noise of scale 10
privacy   ε = 0.15: a 50:50 guess about one person becomes at most 54:46
budget    charged 0.15; 1.85 of 2 left
┏━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓
┃ health    ┃ answer (95 %) ┃
│ poor      │    90 ±12     │
│ 2026-11-20 06:12 │ survey   │ age >= 60.0 │ 1/3 │ 189    │
│ 2026-11-20 06:13 │ survey   │ age >= 70.0 │ 0.5 │ 12     │ study │
│ 2026-11-20 06:14 │ survey   │ age >= 80.0 │ 0.5 │ 3      │
noise    discrete Laplace, scale 2.11 for town,sex
head: 3:09b779c57679a653221d38dcd781f409f5e91caf6ad8afbf9c6235c88af97038
  "answer": -4,
  "error": 6,
"""


def same(shown: str, told: str, other: str) -> bool:
    """Return True if a changed figure is not noticed."""
    assert told in shown
    command = "noisycount demo" if shown is SHOWN else "noisycount count"
    return pieces(command, shown) == pieces(command, shown.replace(told, other))


@pytest.mark.parametrize(
    ("shown", "told", "other"),
    [
        (SHOWN, "±20 persons", "±21 persons"),
        (SHOWN, "within ±20", "within ±21"),
        (SHOWN, "It cost ε = 0.15", "It cost ε = 0.16"),
        (SHOWN, "1.85 of the", "1.86 of the"),
        (SHOWN, "the budget of 2", "the budget of 3"),
        (SHOWN, "a chance of 1.7 %", "a chance of 1.8 %"),
        (SHOWN, "106 with 95 %", "106 with 96 %"),
        (LINES, "57 ±20", "57 ±2"),
        (LINES, "answer     107, with noise", "answer     108, with noise"),
        (LINES, "Gaussian noise of scale 10", "Gaussian noise of scale 11"),
        (LINES, "at most 54:46", "at most 55:45"),
        (LINES, "1.85 of 2", "1.85 of 3"),
        (LINES, "│ poor      │    90 ±12", "│ poor      │    90 ±2"),
        (LINES, "│ poor ", "│ fair "),
        (LINES, "age >= 60.0 │ 1/3 │ 189", "age >= 61.0 │ 1/3 │ 189"),
        (LINES, "age >= 60.0 │ 1/3 │ 189", "age >= 60.0 │ 1/4 │ 189"),
        (LINES, "0.5 │ 12     │ study", "0.6 │ 12     │ study"),
        (LINES, "0.5 │ 12     │ study", "0.5 │ 12     │ report"),
        (LINES, "0.5 │ 3  ", "0.6 │ 3  "),
        (LINES, "scale 2.11 for town,sex", "scale 2.2 for town,sex"),
        (LINES, "head: 3", "head: 4"),
        (LINES, '"error": 6', '"error": 7'),
    ],
)
def test_a_figure_that_is_not_drawn_is_compared(shown: str, told: str, other: str) -> None:
    """A wrong error, price or budget beside a noisy answer would be found."""
    assert not same(shown, told, other)


@pytest.mark.parametrize(
    ("shown", "told", "other"),
    [
        (SHOWN, "The answer: 81 ±20", "The answer: −1,081 ±20"),
        (SHOWN, "±20 of 81", "±20 of −1,081"),
        (SHOWN, "estimate: 89.5", "estimate: 90.1"),
        (SHOWN, "mean of 89.5, a median of 89, and 77 to", "mean of 9, a median of 9, and 7 to"),
        (LINES, "57 ±20", "61 ±20"),
        (LINES, "57 ±20", "−3 ±20, so at most 17"),
        (LINES, "│ poor      │    90 ±12     │", "│ poor      │    −1 ±12     │"),
        (LINES, "│ 2026-11-20 06:12 │", "│ 2027-01-02 10:10 │"),
        (LINES, "1/3 │ 189    │", "1/3 │ −19    │"),
        (LINES, "0.5 │ 12     │ study", "0.5 │ −7     │ study"),
        (LINES, "┏━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓", "┏━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━┓"),
        (LINES, "3:09b779", "3:10c880"),
        (LINES, '"answer": -4', '"answer": 11'),
    ],
)
def test_what_is_drawn_is_not_compared(shown: str, told: str, other: str) -> None:
    """The answers, their time and what is drawn beside them differ from run to run."""
    assert same(shown, told, other)


def test_an_estimate_is_noisy_only_where_its_answer_is_the_ledger_s() -> None:
    """`refine --key` takes an answer that was drawn; `refine 107` does not."""
    shown, drawn = ("mean       104.6  (least squared error)\n", "mean       9.1  (least squared error)\n")
    assert pieces("noisycount refine 107", shown) != pieces("noisycount refine 107", drawn)
    assert pieces("noisycount refine --key a", shown) == pieces("noisycount refine --key a", drawn)


def test_keys_ids_and_hashes_are_found_in_their_order() -> None:
    """Each once, so that a later command can name what was drawn; digits of a number are none."""
    key, rest = "8a1323388d65", "18baba3841880a25232b09c3b22d72cb00665884e2ad8d25de620e6b9e43d913"
    assert secrets(f"key nc_{key}_{rest}\nid {key}\nmean 41.395618698505") == [key, rest]


def test_blocks_have_a_language_a_name_and_a_place() -> None:
    """Blocks inside a list count; a fence inside a longer fence does not."""
    text = "# A\n\n  ```csv towns.csv\n  a\n  ```\n\n````md\n```console\n$ no\n```\n````\n"
    assert blocks(text) == [Block("csv", "towns.csv", "a\n", 3), Block("md", "", "```console\n$ no\n```\n", 7)]


def test_a_transcript_has_commands_and_what_they_print() -> None:
    """A command may go on in the next line."""
    found = list(transcripts("$ noisycount a \\\n    --b c\nd\n$ noisycount e\n"))
    assert found == [("noisycount a      --b c", "d\n"), ("noisycount e", "")]


def test_a_wrong_session_is_told() -> None:
    """With its line; names live from block to block."""
    session: dict[str, object] = {}
    assert failures(Block("python", "", ">>> a = 1\n", 3), session) == ""
    assert failures(Block("python", "", ">>> a + 1\n2\n", 8), session) == ""
    assert "line 13" in failures(Block("python", "", "\n>>> a + 1\n3\n", 11), session)


def test_a_line_of_dots_stands_for_the_rest() -> None:
    """At the end alone; what stands before it is compared."""
    assert as_far(["a", "b", "c"], ["a", "…"]) == (["a"], ["a"])
    assert as_far(["a", "b"], ["a", "c"]) == (["a", "b"], ["a", "c"])
    assert as_far(["a"], ["a", "b", "…"]) == (["a"], ["a", "b"])
