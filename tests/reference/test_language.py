import random
import re
from datetime import date, datetime
from math import nan
from pathlib import Path

import pytest

from noisycount.engines.memory import MemorySource
from noisycount.errors import PredicateError
from noisycount.query import syntax as words
from noisycount.query.english import english
from noisycount.query.grouping import MAX_PARTS, OUTSIDE, GroupBy, resolve_group_by
from noisycount.query.language import parse
from noisycount.query.normal_form import normal_form
from noisycount.query.predicate import KEYWORDS, canonical_text
from noisycount.query.readings import FUNCTIONS
from noisycount.query.schema import KINDS, Kind, Schema, TableTraits
from noisycount.query.table import key_set
from noisycount.query.typed import parse_by_text, parse_column_keys
from noisycount.release.text_orders import text_order_refusals
from tests.helpers.ebnf import Grammar, Token
from tests.helpers.hospital import SCHEMA as HOSPITAL
from tests.helpers.reference_pages import blocks, rows, section, text

PAGE = "language.md"

CASES = (Path(__file__).parent / "language_cases.md").read_text(encoding="utf-8")
COLUMNS = rows(text(PAGE), "column", "kind", "a literal")
PERSON = "person"
KINDS_OF_ALL = {name: KINDS[kind] for name, kind, _ in COLUMNS} | {PERSON: Kind.INTEGER}
SCHEMA = Schema(KINDS_OF_ALL).for_questions(PERSON, None)
TRUTHS = {"true": True, "false": False, "unknown": None}
_DAY = "a day as YYYY-MM-DD, from 0001-01-01 to 9999-12-31"
_FIRST, _LAST = date.min.toordinal(), date.max.toordinal()


def cases(*heading: str) -> list[tuple[str, ...]]:
    """Return the rows with a heading, of the page and of the cases that it does not show."""
    return rows(text(PAGE) + CASES, *heading)


TABLE = "visits"
TABLES = Schema(
    {f"{TABLE}.{name}": kind for name, kind in SCHEMA.items()}, unit=PERSON, tables={TABLE: TableTraits(TABLE)}
)
"""The same columns as those of a data set of several tables."""


def _names(*kinds: Kind) -> list[str]:
    """The ways to write the columns of some kinds."""
    found = [name for name, kind in SCHEMA.items() if kind in kinds]
    bare = [name for name in found if name.isidentifier()]
    return [*bare, *map(str.upper, bare), *(f'"{name}"' for name in found)]


TOLD = {
    "the name of a table": lambda _: TABLE,
    "a character other than ' and NUL": lambda chance: chance.choice('aZ9 %_"\\;-é👍\n'),
    _DAY: lambda chance: date.fromordinal(chance.randint(_FIRST, _LAST)).isoformat(),
    "a time of day as HH:MM": lambda chance: f"{chance.randrange(24):02}:{chance.randrange(60):02}",
    "a whole number from 1 to 1000": lambda chance: str(chance.randint(1, 1000)),
    "two digits from 00 to 59": lambda chance: f"{chance.randrange(60):02}",
    **{
        f"the name of a column of {kind}": lambda chance, kinds=kinds: chance.choice(_names(*kinds))
        for kind, kinds in {
            "integers or reals": (Kind.INTEGER, Kind.REAL),
            "texts": (Kind.TEXT,),
            "dates": (Kind.DATE,),
            "timestamps": (Kind.TIMESTAMP,),
            "booleans": (Kind.BOOLEAN,),
        }.items()
    },
}


def _fits(token: Token, rule: str) -> bool:
    """Return True if a token fits a rule: a date is a time too, and both are texts."""
    if rule == "TEXT":
        return token.rule in {"TEXT", "DATE", "TIME"}
    if rule in {"DATE", "TIME"} and token.rule in {"DATE", "TIME"}:
        return rule == "TIME" or len(token.text) == len("'2026-01-31'")
    return token.rule == rule


@pytest.fixture(scope="module")
def grammar() -> Grammar:
    """The grammar of the page."""
    return Grammar("\n".join(blocks(text(PAGE), "ebnf")), TOLD, _fits)


def qualified(token: Token) -> Token:
    """Return a token of a data set of several tables: columns stand behind their table."""
    return Token(token.rule, f"{TABLE}.{token.text}") if token.rule.endswith("-COLUMN") else token


def written(tokens: list[Token], chance: random.Random) -> str:
    """Tokens as a text, with keywords in either case, and blanks at random beside brackets."""
    found = ""
    for token in tokens:
        word = chance.choice([str.lower, str.upper])(token.text) if not token.rule else token.text
        may_touch = not found or found[-1] in "(," or word in {"(", ")", ","}
        found += ("" if may_touch and chance.random() < 0.5 else chance.choice(" \n")) + word
    return found


def accepted(question: str, schema: Schema = SCHEMA) -> bool:
    """Return True if the parser accepts a question."""
    try:
        parse(question, schema)
    except PredicateError:
        return False
    return True


def judged(question: str, record: dict[str, object]) -> bool | None:
    """Return the truth value of a question for a record, from its count and that of its negation."""
    source = MemorySource([{**record, PERSON: 1}], KINDS_OF_ALL, PERSON)
    counts = source.count([parse(question, SCHEMA), parse(f"not ({question})", SCHEMA)])
    assert counts in ([1, 0], [0, 1], [0, 0])
    return None if counts == [0, 0] else counts == [1, 0]


@pytest.mark.thorough
@pytest.mark.parametrize("rule", ["question", "person-question"])
@pytest.mark.parametrize("size", [200, pytest.param(500, marks=pytest.mark.thorough)])
def test_sentences_of_the_grammar_are_accepted(grammar: Grammar, rule: str, size: int) -> None:
    """Whatever the grammar of the page can say is a question, and reads back to itself."""
    chance = random.Random(19)  # noqa: S311 - repeatable, not secret
    for _ in range(size):
        tokens = grammar.sentence(rule, chance, depth=chance.randrange(12))
        question = written(tokens, chance)
        assert accepted(question), question
        assert grammar.accepts(rule, tokens), question


@pytest.mark.thorough
@pytest.mark.parametrize("size", [100, pytest.param(400, marks=pytest.mark.thorough)])
def test_sentences_about_several_tables_are_accepted(grammar: Grammar, size: int) -> None:
    """Columns behind their table, and the name of a table, stand where the page says."""
    chance = random.Random(21)  # noqa: S311 - repeatable, not secret
    for _ in range(size):
        tokens = grammar.sentence("table-test", chance, depth=chance.randrange(9))
        question = written([*map(qualified, tokens)], chance)
        assert accepted(question, TABLES), question
        assert grammar.accepts("table-test", tokens), question


@pytest.mark.thorough
@pytest.mark.parametrize("size", [300, pytest.param(700, marks=pytest.mark.thorough)])
def test_the_parser_takes_what_the_grammar_has_and_nothing_else(grammar: Grammar, size: int) -> None:
    """Sentences with a token lost, doubled, moved or from another are judged alike by both."""
    chance = random.Random(20)  # noqa: S311 - repeatable, not secret
    judgements = set()
    for _ in range(size):
        tokens, others = (grammar.sentence("question", chance, depth=7) for _ in range(2))
        place, other = chance.randrange(len(tokens)), chance.choice(others)
        tokens[place : place + 1] = chance.choice(
            [[], [tokens[place]] * 2, [other], [other, tokens[place]], tokens[place : place + 2][::-1]]
        )
        question = " ".join(token.text for token in tokens)
        said = grammar.accepts("question", tokens)
        assert accepted(question) is said, question
        judgements.add(said)
    assert judgements == {True, False}


def test_grammar_has_no_rule_to_spare(grammar: Grammar) -> None:
    """Every rule of the page is needed for a question."""
    named = set(re.findall(r"[A-Za-z][\w-]*", "\n".join(blocks(text(PAGE), "ebnf"))))
    source = "\n".join(blocks(text(PAGE), "ebnf"))
    assert set(grammar.rules) <= named
    assert all(
        len(re.findall(rf"(?<![\w-]){name}(?![\w-])", source)) > 1
        for name in grammar.rules
        if name not in {"question", "person-question", "table-test"}
    )


@pytest.mark.parametrize(("question", "meaning"), cases("question", "counts records where"))
def test_questions_mean_what_the_page_says(question: str, meaning: str) -> None:
    """The meaning beside a question is the one that `--dry-run` prints."""
    assert english(parse(question, SCHEMA)) == meaning


@pytest.mark.parametrize(("question", "meaning"), cases("question about persons", "counts persons for whom"))
def test_questions_about_persons_mean_what_the_page_says(question: str, meaning: str) -> None:
    """The meaning of a question about persons is the one that `--dry-run` shows, and its text reads back."""
    predicate = parse(question, SCHEMA)
    assert english(predicate) == meaning
    assert parse(canonical_text(predicate), SCHEMA) == predicate


@pytest.mark.parametrize(("question", "message"), cases("question about persons", "refusal to persons"))
def test_questions_about_persons_are_refused_as_the_page_says(question: str, message: str) -> None:
    """A refused question about persons names the text to write."""
    with pytest.raises(PredicateError) as caught:
        parse(question, SCHEMA)
    assert str(caught.value) == message


@pytest.mark.parametrize(("question", "meaning"), cases("question about several tables", "counts persons for whom"))
def test_questions_about_several_tables_mean_what_the_page_says(question: str, meaning: str) -> None:
    """The meaning of a question about several tables is the one that `--dry-run` shows, and its text reads back."""
    predicate = parse(question, HOSPITAL)
    assert english(normal_form(predicate)) == meaning
    assert parse(canonical_text(predicate), HOSPITAL) == predicate


@pytest.mark.parametrize(
    ("question", "message"), cases("question about several tables", "refusal about several tables")
)
def test_questions_about_several_tables_are_refused_as_the_page_says(question: str, message: str) -> None:
    """A refused question about several tables names the text to write."""
    with pytest.raises(PredicateError) as caught:
        parse(question, HOSPITAL)
    assert str(caught.value) == message


@pytest.mark.parametrize(("question", "message"), cases("question", "refusal"))
def test_refusals_are_those_of_the_page(question: str, message: str) -> None:
    """A question that the page calls refused is, in those words."""
    with pytest.raises(PredicateError) as caught:
        parse(question, SCHEMA)
    assert str(caught.value) == message


@pytest.mark.parametrize(("question", "message"), cases("order of texts", "refusal before the charge"))
def test_orders_of_texts_are_refused_as_the_page_says(question: str, message: str) -> None:
    """They are questions of the language, for answers that are stored; a new one is refused in those words."""
    assert text_order_refusals([normal_form(parse(question, SCHEMA))]) == [message]


@pytest.mark.parametrize(("wording", "normal"), cases("wording", "normal form"))
def test_wordings_have_the_normal_form_of_the_page(wording: str, normal: str) -> None:
    """Wordings that the page calls one question are."""
    assert canonical_text(normal_form(parse(wording, SCHEMA))) == normal


def test_what_the_page_calls_different_questions_are() -> None:
    """The normal form recognises wordings, not truths."""
    different = ["smoker or not smoker", "true", "age > 64", "age >= 65"]
    assert len({normal_form(parse(each, SCHEMA)) for each in different}) == len(different)


@pytest.mark.parametrize(("value", "question", "is_"), cases("value of the column", "question", "is"))
def test_values_compare_as_the_page_says(value: str, question: str, is_: str) -> None:
    """A record of that one value, counted by the source that defines all others."""
    match = re.fullmatch(r"`(.+)` (?:= (.+)|is missing)", value)
    assert match is not None
    record: dict[str, object] = dict.fromkeys(SCHEMA)
    if match[2]:
        record[match[1]] = _value(SCHEMA[match[1]], match[2])
    assert judged(question, record) is TRUTHS[is_]


@pytest.mark.parametrize(("p", "q", "not_p", "both", "either"), cases("p", "q", "not p", "p and q", "p or q"))
def test_truth_tables(p: str, q: str, not_p: str, both: str, either: str) -> None:
    """Each connective has the truth value of SQL, which the page describes."""
    schema = {"p": Kind.BOOLEAN, "q": Kind.BOOLEAN}
    source = MemorySource([{"p": TRUTHS[p], "q": TRUTHS[q]}], schema)
    for question, is_ in (("not p", not_p), ("p and q", both), ("p or q", either)):
        found = source.count([parse(question, schema), parse(f"not ({question})", schema)])
        assert found == [is_ == "true", is_ == "false"], question


def test_truth_tables_are_whole() -> None:
    """The cases have all nine pairs of truth values."""
    found = cases("p", "q", "not p", "p and q", "p or q")
    assert len({row[:2] for row in found}) == len(found) == 9


def test_bounds_are_those_of_the_code() -> None:
    """The table of bounds, in its order."""
    bounds = [words.MAXIMUM_BYTES, words.MAXIMUM_TOKENS, words.MAXIMUM_DEPTH, words.MAXIMUM_PATTERNS]
    assert [int(bound) for _, bound in rows(text(PAGE), "what", "at most")] == bounds


def test_keywords_are_those_of_the_code() -> None:
    """The lists of keywords and functions are whole."""
    (line,) = re.findall(r"\*\*Keywords\*\*: (.*)\.", text(PAGE))
    assert [word.strip("`") for word in line.split(", ")] == sorted(KEYWORDS)
    (line,) = re.findall(r"\*\*Functions\*\*: (.*), if", text(PAGE))
    assert [word.strip("`") for word in line.split(", ")] == sorted([*FUNCTIONS, *words.OF_PERSONS])


def test_literals_of_the_columns_are_literals() -> None:
    """Beside its column each is taken."""
    assert section(PAGE, "What can be asked")
    for name, _, literal in COLUMNS:
        assert accepted(f'"{name}" = {literal}'), name


@pytest.mark.parametrize(("by", "groups", "known"), cases("--by", "groups", "known to everybody"))
def test_groups_are_those_of_the_page(by: str, groups: str, known: str) -> None:
    """Each grouping on the page has the stated parts and public keys."""
    parts = grouped(by)
    assert ", ".join(part.text for part in parts) == groups.replace("`", "")
    told = [part.known_keys and ", ".join(map(shown, map(part.label, part.known_keys))) for part in parts]
    assert told == [None if known == "no" else known] * len(parts)


@pytest.mark.parametrize(("by", "keys", "meant"), cases("--by", "--keys", "keys"))
def test_keys_are_those_of_the_page(by: str, keys: str, meant: str) -> None:
    """Typed keys have the meaning that the page states."""
    (part,) = grouped(by)
    found = key_set([part], {part.column.name: parse_column_keys(keys)[1]})
    assert ", ".join(shown(part.label(key)) for key in found.values[0]) == meant


@pytest.mark.parametrize(("by", "message"), cases("--by", "refusal of the groups"))
def test_groups_that_are_refused(by: str, message: str) -> None:
    """In the words of the page."""
    with pytest.raises(PredicateError) as caught:
        grouped(by)
    assert str(caught.value) == message


def test_values_beyond_the_edges() -> None:
    """Values below the first edge are in no range, NaN in the last, and an edge in the range above it."""
    (part,) = grouped("bmi:18.5,25")
    assert [part.key(value) for value in (18.4, 18.5, 25.0, nan)] == [OUTSIDE, 0, 1, 1]
    assert f"up to {MAX_PARTS}," in text(PAGE)


def grouped(by: str) -> tuple[GroupBy, ...]:
    """Return the parts of a typed grouping."""
    return resolve_group_by([item.text for item in parse_by_text(by)], SCHEMA, None)


def shown(key: object) -> str:
    """A key as the page has it."""
    if isinstance(key, str):
        return f"'{key}'" if key == "null" or "," in key else key
    if key is None:
        return "null"
    return str(key).lower() if isinstance(key, bool) else str(key)


def test_a_person_can_count_for_a_question_and_its_negation() -> None:
    """Somebody with a record that matches, and one that does not, counts for both."""
    schema = {"person": Kind.INTEGER, "age": Kind.INTEGER}
    source = MemorySource([{"person": 1, "age": 64}, {"person": 1, "age": 65}], schema, "person")
    asked = [parse(each, source.schema) for each in ("age >= 65", "not age >= 65")]
    assert source.count(asked) == [1, 1]


def _value(kind: Kind, shown: str) -> object:
    """The value of a column as the page writes it."""
    readers = {
        Kind.INTEGER: int,
        Kind.REAL: lambda number: nan if number == "NaN" else float(number),
        Kind.TEXT: lambda quoted: quoted[1:-1],
        Kind.DATE: date.fromisoformat,
        Kind.TIMESTAMP: datetime.fromisoformat,
    }
    return readers[kind](shown)
