from collections.abc import Sequence

import pytest
from starlette.datastructures import FormData

from noisycount.query.language import parse
from noisycount.query.predicate import Column
from noisycount.query.query import Query
from noisycount.query.schema import Kind, Schema
from noisycount.query.typed import ColumnGrouping
from noisycount.service.pages.conditions import Condition, FormError, operators_of, where_of
from noisycount.service.pages.form import AskForm, Price
from noisycount.service.pages.preview import dots_picture
from noisycount.service.questions import Question
from noisycount.tasks.plan import plan_at_epsilon
from noisycount.validation import exact_epsilon

COLUMNS = {
    "age": Kind.INTEGER,
    "my income": Kind.REAL,
    "town": Kind.TEXT,
    "smokes": Kind.BOOLEAN,
    "born": Kind.DATE,
    "seen": Kind.TIMESTAMP,
}
VALUES = {
    "age": ("18", "65"),
    "my income": ("−0.5", "3."),
    "town": ("O'Hara", ""),
    "smokes": ("", ""),
    "born": ("1960-01-01", "1970-12-31"),
    "seen": ("2026-01-01 12:00:00", "2026-02-01 00:00:00"),
}
SPLIT = [("split", ""), ("keys", "")]
GOAL = [("goal", "within"), ("within", "20"), ("confidence", "95%")]


def form(*fields: tuple[str, str]) -> AskForm:
    """Give the form that a browser would send."""
    return AskForm.from_fields(FormData(list(fields)))


def row(column: str, operator: str = "", low: str = "", high: str = "") -> list[tuple[str, str]]:
    """Give the fields of one row of the builder."""
    return [("column", column), ("operator", operator), ("low", low), ("high", high)]


@pytest.mark.parametrize("column", COLUMNS)
def test_every_operator_is_of_the_language(column: str) -> None:
    """Whatever is chosen, the row parses; none is offered that the kind of the column refuses."""
    for operator in operators_of(COLUMNS[column]):
        text = operator.text(Column(column, COLUMNS[column]), VALUES[column], "value-0")
        parse(text, COLUMNS)


def test_rows_and_text_are_what_they_say() -> None:
    """A value is a value, whatever stands in it; free text with `or` does not swallow the rows."""
    text = where_of([Condition("town", "=", ("x' or true or town = '", ""))], "", COLUMNS)
    assert text == "town = 'x'' or true or town = '''"
    where = where_of([Condition("age", ">", ("3", ""))], "smokes or age < 2", COLUMNS)
    assert where == "age > 3 and (smokes or age < 2)"
    with pytest.raises(FormError, match="no column 'wage'"):
        where_of([Condition("wage")], "", COLUMNS)


@pytest.mark.parametrize(
    ("choice", "least", "text", "where"),
    [
        ("some", "", "", "age > 3 and town = 'Bern'"),
        ("none", "", "", "none(age > 3 and town = 'Bern')"),
        ("every", "", "smokes", "every(age > 3 and town = 'Bern' and (smokes))"),
        ("least", "3", "", "count(age > 3 and town = 'Bern') >= 3"),
        ("some", "", "none(smokes)", "any(age > 3 and town = 'Bern') and (none(smokes))"),
        (
            "least",
            "2",
            "any(smokes) or none(smokes)",
            "count(age > 3 and town = 'Bern') >= 2 and (any(smokes) or none(smokes))",
        ),
    ],
)
def test_conditions_can_be_about_all_rows_of_a_person(choice: str, least: str, text: str, where: str) -> None:
    """The form offers no row, each row and a number of rows without typing; typed questions are joined to it."""
    fields = [
        *row("age", ">", "3"),
        *row("town", "=", "Bern"),
        ("where", text),
        ("person_rows", choice),
        ("least", least),
    ]
    columns = Schema(COLUMNS, unit="person")
    assert form(*fields, ("goal", "epsilon"), ("epsilon", "1"), ("confidence", "95%")).query(columns).wheres == [where]
    parse(where, columns)


@pytest.mark.parametrize(("least", "rows"), [("", 1), ("0", 1), ("two", 1), ("1.5", 1), ("3", 0)])
def test_a_number_of_rows_is_a_whole_number(least: str, rows: int) -> None:
    """A number of rows from 1 is needed, and a condition that they satisfy."""
    with pytest.raises(FormError) as refused:
        form(*row("age", ">", "3") * rows, ("person_rows", "least"), ("least", least)).query(Schema(COLUMNS, unit="p"))
    assert refused.value.field == ("least" if rows else "chosen")


@pytest.mark.parametrize("value", ["old", "1e9", "1 or 1", "", " ", "0x1", "1;", "NaN"])
def test_number_is_a_number(value: str) -> None:
    """A value that is no number is refused with its field, before any parser reads it."""
    with pytest.raises(FormError) as refused:
        where_of([Condition("age"), Condition("age", ">", (value, ""))][1:], "", COLUMNS)
    assert refused.value.field == "value-0"


@pytest.mark.parametrize("button", ["", "_group"])
def test_buttons_change_rows(button: str) -> None:
    """A condition or a group is added behind the others, and removed by its number; other buttons change none."""
    sent = [*row("age", ">", "3"), *row("town", "=", "Bern"), ("group", "age"), *SPLIT, ("group", "town"), *SPLIT]

    def columns(*pressed: tuple[str, str]) -> list[str]:
        said = FormData([*sent, *pressed])
        changed = AskForm.from_fields(said).changed(said)
        assert changed is not None
        return [each.column for each in (changed.groups if button else changed.conditions)]

    assert columns((f"add{button}", "1"), (f"chosen{button}", "born")) == ["age", "town", "born"]
    assert columns((f"remove{button}", "0")) == ["town"]
    assert AskForm.from_fields(FormData(sent)).changed(FormData(sent)) is None


def test_count_has_its_price() -> None:
    """±20 with 95 % costs ε = 0.15, and that is what is sent."""
    body = form(*row("age", ">=", "65"), *GOAL).query(COLUMNS).to_json()
    assert body == {"where": "age >= 65", "epsilon": "0.15", "confidence": "95%"}
    assert Question.model_validate(body).query().epsilon == exact_epsilon("0.15")


def test_table_is_what_programs_send() -> None:
    """Groups, ranges of keys, edges and what goes with them are a body that the API takes."""
    fields = [
        *(("group", "town"), ("split", ""), ("keys", "Bern, 'Biel, old', null")),
        *(("group", "age"), ("split", "0, 18, 65"), ("keys", "")),
        *(("group", "born"), ("split", "month"), ("keys", "2026-01..2026-03")),
        *(("total", "on"), ("other", "on"), ("groups_per_unit", "1"), ("delta", "")),
    ]
    body = form(*fields, *GOAL).query(COLUMNS).to_json()
    assert body["by"] == ["town", "age:0,18,65", "born:month"]
    assert body["keys"]["town"] == ["Bern", "Biel, old", None]
    assert body["keys"]["born"] == ["2026-01", "2026-02", "2026-03"]
    assert (body["margins"], body["other"], body["groups_per_unit"]) == (["total"], True, 1)
    query = Question.model_validate(body).query()
    assert query.by is not None
    assert [item.text for item in query.by if isinstance(item, ColumnGrouping)] == body["by"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ([("where", "true"), ("within", "x"), ("confidence", "95%")], "within"),
        ([("where", "true"), ("within", "20%"), ("confidence", "95%")], "at_most"),
        ([("where", "true"), ("within", "20%"), ("at_most", "x"), ("confidence", "95%")], "at_most"),
        ([("where", "true"), ("within", "100%"), ("at_most", "1"), ("confidence", "95%")], "within"),
        ([("group", "age"), ("split", "1"), ("keys", ""), ("within", "20%"), *GOAL[2:]], "at_most"),
        ([("group", "age"), ("split", "1"), ("keys", ""), ("within", "20%"), ("at_most", "1"), ("of", "most"),
          *GOAL[2:]], "of"),
        ([("where", "true"), ("within", "20%"), ("guess", "-1"), ("confidence", "95%")], "guess"),
        ([("where", "true"), ("within", "300%"), ("guess", "9"), ("confidence", "95%")], "within"),
        ([("where", "true"), ("within", "1e-9"), ("confidence", "95%")], "within"),
        ([("where", "true"), ("within", "20"), ("confidence", "always")], "confidence"),
        ([*GOAL[2:], ("where", "true"), ("goal", "epsilon"), ("epsilon", "x")], "epsilon"),
        ([("group", "age"), ("split", "a,b"), ("keys", ""), *GOAL], "split-0"),
        ([("group", "age"), ("split", ""), ("keys", "'a"), *GOAL], "keys-0"),
        ([("group", "age"), ("split", "1"), ("keys", ""), ("groups_per_unit", "0"), *GOAL],
         "groups_per_unit"),
    ]
)  # fmt: skip
def test_fault_names_its_field(fields: Sequence[tuple[str, str]], field: str) -> None:
    """An error leads the user to its field, and names no option of a command."""
    with pytest.raises(FormError) as refused:
        form(*fields).query(COLUMNS)
    assert refused.value.field == field
    assert "--" not in str(refused.value)


@pytest.mark.parametrize(
    ("price", "sent"),
    [(Price(), {"at_most": "0.5"}), (Price(at_most="1/3"), {"at_most": "1/3"}), (Price(guess="100"), {"guess": 100.0})],
)
def test_a_share_is_of_the_count_unless_there_is_a_guess(price: Price, sent: dict[str, object]) -> None:
    """The empty form asks for ±20 % at 0.5 at most; a guess fixes the price in its place."""
    assert Query(**price.count_price_arguments()).to_json() == {
        "where": "true",
        "within": "20%",
        **sent,
        "confidence": "95%",
    }


@pytest.mark.parametrize("epsilon", ["0.001", "0.15", "2", "50"])
@pytest.mark.parametrize("guess", [None, 1, 123456])
def test_dots_are_fifty(epsilon: str, guess: int | None) -> None:
    """Whatever the noise, there are fifty dots, a band and a text for those who see none."""
    drawn = dots_picture(plan_at_epsilon(exact_epsilon(epsilon), 0.95, guess=guess), "rows")
    title = "error, rows" if guess is None else f"answer if the count is {guess:,}, rows"
    assert f">{title}</text>" in drawn
    assert drawn.count("<circle ") == 50
    assert '<desc id="possible-answers-desc">Fifty possible' in drawn
    assert "style=" not in drawn
