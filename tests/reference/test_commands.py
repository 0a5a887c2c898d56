from tests.commands_page import PAGE, names, page


def test_page_of_commands_is_what_the_code_prints() -> None:
    """The page shows each help as it is now; `python -m tests.commands_page` writes it."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_page_of_commands_has_each_once() -> None:
    """Commands of groups too stand under a heading of their own."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    headings = [line.lstrip("# ") for line in lines if line.startswith("##")]
    assert headings == ["noisycount", *names()]
    assert "ledger report" in headings
