import pytest

from tests.helpers.neighbours import DELTA, HIDDEN
from tests.helpers.table_black_box import own_keys_told


@pytest.mark.thorough
def test_a_desk_that_shows_all_keys_of_the_data_is_found() -> None:
    """A key of one's own appears too often; with a threshold it does not. `audits/test_tables.py` asks many more."""
    pair = HIDDEN["has a key of their own"]
    assert own_keys_told(pair, 40) <= float(DELTA)
    assert own_keys_told(pair, 40, "keys as they are in the data") > float(DELTA)
