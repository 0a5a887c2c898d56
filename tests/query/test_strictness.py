"""No text is admitted that a strict reader of the language would not admit."""

from random import Random

from noisycount.errors import PredicateError
from noisycount.query.language import parse
from noisycount.query.schema import Kind
from tests.query.strict_grammar import is_predicate

SCHEMA = {"a": Kind.INTEGER, "s": Kind.BOOLEAN, "t": Kind.TEXT}
WORDS = [
    *("a", "s", "t", "1", "'x'", "(", ")", ",", "not", "is", "null", "in", "between", "and"),
    *("or", "like", "-", "=", "<", "true"),
]
PREDICATES = [
    *("a in ( 1 , 1 )", "a not in ( 1 )", "a is not null", "a is null", "not a is null"),
    *("a between 1 and 1", "a not between 1 and 1", "t like 'x'", "t not like 'x'", "1 = a"),
    *("a = 1 and s", "( s or a < - 1 )", "not s", "s = true", "( a ) = ( 1 )", "not ( s and s )"),
]
SIZE = 8_000


def changed(words: list[str], chance: Random) -> list[str]:
    """The words after one to three of them were added, left out or replaced."""
    for _ in range(chance.randrange(1, 4)):
        place = chance.randrange(len(words) + 1)
        kept = words[place + chance.randrange(2) :]
        words = [*words[:place], *chance.choices(WORDS, k=chance.randrange(2)), *kept]
    return words


def is_admitted(words: list[str]) -> bool:
    """Whether the parser takes the words for a predicate."""
    try:
        parse(" ".join(words), SCHEMA)
    except PredicateError:
        return False
    return True


def test_what_is_admitted_is_a_predicate_to_the_letter() -> None:
    """Predicates with a few words changed: none is admitted for what the parser passed over."""
    chance = Random(5)  # noqa: S311 - repeatable, not secret
    texts = [changed(chance.choice(PREDICATES).split(), chance) for _ in range(SIZE)]
    admitted = [words for words in texts if is_admitted(words)]
    assert len(admitted) > 0.05 * SIZE
    assert [" ".join(words) for words in admitted if not is_predicate(words)] == []


def test_the_strict_grammar_admits_the_language() -> None:
    """And none of what is not in it, so that the comparison above can fail."""
    for text in PREDICATES:
        assert is_admitted(text.split())
        assert is_predicate(text.split())
    for text in ("a not is null", "( , a ) = 1", "a in ( 1 , , 1 )", "a in ( )", "not", "a = 1 1"):
        assert not is_predicate(text.split())
