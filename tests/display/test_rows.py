from noisycount.display.values import MOST_ROWS, row_table


def test_every_text_is_escaped() -> None:
    """A key may hold anything."""
    told = row_table("<a>", ["<b>"], [["<c>"]], ["<d>"])
    assert not any(f"<{letter}>" in told for letter in "abcd")
    assert "&lt;c&gt;" in told


def test_rows_that_are_left_out_are_told() -> None:
    """By their number, and only where there are some."""
    told = row_table("", ["n"], [[str(number)] for number in range(MOST_ROWS)], [], 1200)
    assert told.count("<td>") == MOST_ROWS
    assert "… 1,200 more rows" in told
    assert "more" not in row_table("", ["n"], [["1"]], [])
