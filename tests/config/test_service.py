from pathlib import Path

import pytest

from noisycount.config.config import TEMPLATE
from noisycount.config.service import ServiceConfig
from tests.helpers.config_files import loaded, refusal

NUMBERS = ("slot", "deadline", "concurrency", "rate", "body", "depth")
NUMBERED = tuple(f"# {name} = " for name in NUMBERS)


def said(folder: Path, text: str) -> ServiceConfig:
    """Return the service settings of a configuration."""
    return loaded(folder, text).service


def test_what_is_left_out_is_as_usual(tmp_path: Path) -> None:
    """Slots are on without a word of the owner."""
    assert said(tmp_path, "") == said(tmp_path, "[server]") == ServiceConfig()
    assert ServiceConfig().slot == 0.5


def test_each_key_is_read(tmp_path: Path) -> None:
    """Whole numbers and seconds."""
    text = "[server]\n" + "".join(f"{name} = {place}\n" for place, name in enumerate(NUMBERS, 3))
    service = said(tmp_path, text)
    assert [getattr(service, name) for name in NUMBERS] == list(range(3, 9))


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", ["0", "-1", '"2"', "true", "1e9"])
def test_a_value_out_of_range_is_refused(tmp_path: Path, name: str, value: str) -> None:
    """By the file, the key and the value; also a key that there is not."""
    assert refusal(tmp_path, f"[server]\n{name} = {value}").startswith(f": [server] {name} = ")
    assert f"unknown key; did you mean {name}" in refusal(tmp_path, f"[server]\n{name}x = 1")


def test_a_slot_is_one_that_a_clock_can_keep(tmp_path: Path) -> None:
    """A slot outside its range is refused as the file is loaded."""
    for slot, told in (
        ("4000", "slot = 4000: must be a number of seconds from 0.001 to at most 3600"),
        ("0.0001", "slot = "),
    ):
        assert f": [server] {told}" in refusal(tmp_path, f"[server]\nslot = {slot}")


def test_proxies_are_addresses_and_networks(tmp_path: Path) -> None:
    """Nobody is one unless the owner says so; a name is refused, and so is everybody."""
    assert ServiceConfig().proxies == said(tmp_path, "[server]\nproxies = []").proxies == ()
    assert said(tmp_path, '[server]\nproxies = ["127.0.0.1", "10.0.0.0/8"]').proxies == ("127.0.0.1/32", "10.0.0.0/8")
    for wrong in ('["*"]', '["proxy.example.org"]', '["10.0.0.1/8"]', '""', "false"):
        assert ": [server] proxies = " in refusal(tmp_path, f"[server]\nproxies = {wrong}")


def test_the_template_tells_the_usual_values(tmp_path: Path) -> None:
    """Its numbers of the service, no longer remarks, say what holds without them."""
    _, _, lines = TEMPLATE.partition("# [server]\n")
    shown = [line[2:] for line in lines.splitlines() if line.startswith(NUMBERED)]
    assert len(shown) == len(NUMBERS)
    assert said(tmp_path, "[server]\n" + "\n".join(shown)) == ServiceConfig()
