import pytest

from tests.release.neighbours import DELTA, HIDDEN, PAIRS
from tests.release.table_black_box import loss_told, own_keys_told


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["moves", "has 1,000 rows"])
def test_answers_of_a_desk_show_no_more_than_the_price(name: str) -> None:
    """`audits/test_tables.py` asks many more, and desks that charge too little."""
    assert loss_told(PAIRS[name], 40) <= 1


@pytest.mark.thorough
def test_a_desk_that_shows_all_keys_of_the_data_is_found() -> None:
    """A key of one's own appears too often; with a threshold it does not."""
    pair = HIDDEN["has a key of their own"]
    assert own_keys_told(pair, 40) <= float(DELTA)
    assert own_keys_told(pair, 40, "keys as they are in the data") > float(DELTA)
