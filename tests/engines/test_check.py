"""What a check tells of columns, and the refusal of those that do not fit."""

import pytest

from noisycount.engines.check import Check, ColumnCheck
from noisycount.engines.forms import ColumnForm
from noisycount.engines.interface import require_readable
from noisycount.errors import SourceError
from noisycount.query.schema import Kind

AGE, ACCEPTED = ColumnForm(Kind.INTEGER), ColumnForm(Kind.INTEGER, accepts_unreadable=True)


def column(name: str, form: ColumnForm | None, unreadable: int) -> ColumnCheck:
    """A column of ten missing cells."""
    return ColumnCheck(name, Kind.INTEGER, "text", form, 10, unreadable)


def test_columns_are_refused_for_cells_that_nobody_accepted() -> None:
    """Nothing else does it."""
    assert column("a", AGE, 1).is_refused
    assert not column("a", AGE, 0).is_refused
    assert not column("a", ACCEPTED, 1).is_refused
    assert not column("a", None, 0).is_refused


def test_the_refusal_names_columns_and_no_number() -> None:
    """However many cells do not fit, the words are the same; of many columns a few are named."""
    columns = [column(f"c{n}", AGE, 7 + n) for n in range(12)]
    with pytest.raises(SourceError) as caught:
        require_readable("'x.csv'", [column("fine", AGE, 0), *columns])
    named = ", ".join(f"'c{n}'" for n in range(8))
    assert str(caught.value) == (
        f"'x.csv' answers nothing, as cells of {named} and 4 other columns do not fit their kind: "
        "whoever owns it sees them by `noisycount check`, which says how to mend that"
    )
    require_readable("'x.csv'", [column("fine", AGE, 0), column("told", ACCEPTED, 3)])


def test_a_check_knows_the_forms_of_columns_of_texts() -> None:
    """To be written down."""
    check = Check(3, (column("a", AGE, 0), column("b", None, 0)))
    assert check.forms == {"a": AGE}


def test_a_check_shows_what_mends_it() -> None:
    """In plain data and in a notebook; what a cell says is no HTML."""
    odd = ColumnCheck("age <b>", Kind.INTEGER, "text", AGE, 10, 3, ("<b>old</b>",))
    check = Check(20, (odd, column("b", AGE, 0)))
    line = '"age <b>" = { kind = "integer", unreadable = "missing" }'
    assert [one["mending"] for one in check.to_dict()["columns"]] == [line, None]
    assert repr(check) == "Check(rows=20, columns=2, unreadable=['age <b>'])"
    html = check._repr_html_()
    assert html.count("<tr>") == 3
    assert "<b>" not in html
    assert "for their owner alone" in html
