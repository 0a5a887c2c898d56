"""No text is admitted that a strict reader of the language would not admit."""

from collections.abc import Callable, Sequence
from functools import cache
from random import Random

import pytest

from noisycount.errors import PredicateError
from noisycount.query.language import parse
from noisycount.query.schema import Kind

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
    """Return True if the parser accepts the words as a predicate."""
    try:
        parse(" ".join(words), SCHEMA)
    except PredicateError:
        return False
    return True


@pytest.mark.thorough
@pytest.mark.always
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


COLUMNS = ("a", "s", "t")
LITERALS = ("1", "'x'", "true")

Ends = frozenset[int]
Rule = Callable[[int], Ends]


def is_predicate(words: Sequence[str]) -> bool:
    """Return True if the words are a predicate of a strict grammar, without regard to kinds."""
    return len(words) in _Grammar(words).disjunction(0)


class _Grammar:
    """For each rule and start, where what it describes may end."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self.disjunction = cache(self._disjunction)
        self.condition = cache(self._condition)

    def word(self, *choices: str) -> Rule:
        words = self.words

        def ends(at: int) -> Ends:
            return frozenset({at + 1} if at < len(words) and words[at] in choices else ())

        return ends

    def then(self, *rules: Rule) -> Rule:
        def ends(at: int) -> Ends:
            found = frozenset({at})
            for rule in rules:
                found = frozenset(end for start in found for end in rule(start))
            return found

        return ends

    def either(self, *rules: Rule) -> Rule:
        return lambda at: frozenset(end for rule in rules for end in rule(at))

    def maybe(self, rule: Rule) -> Rule:
        return lambda at: frozenset({at}) | rule(at)

    def listed(self, item: Rule, separator: Rule) -> Rule:
        def ends(at: int) -> Ends:
            found, new = item(at), item(at)
            while new:
                new = frozenset(end for start in new for end in self.then(separator, item)(start))
                found |= new
            return found

        return ends

    def bracketed(self, inner: Rule) -> Rule:
        def ends(at: int) -> Ends:
            return self.either(inner, self.then(self.word("("), ends, self.word(")")))(at)

        return ends

    def _disjunction(self, at: int) -> Ends:
        return self.listed(self.condition, self.word("and", "or"))(at)

    def _condition(self, at: int) -> Ends:
        word, then, may = self.word, self.then, self.maybe
        column = self.bracketed(word(*COLUMNS))
        number = self.bracketed(word("1"))
        literal = self.bracketed(self.either(word(*LITERALS), then(word("-"), number)))
        either = self.either(column, literal)
        negated = may(word("not"))
        choices = then(word("("), self.listed(literal, word(",")), word(")"))
        return self.either(
            then(word("not"), self.condition),
            then(word("("), self.disjunction, word(")")),
            word("true"),
            column,
            then(column, word("is"), negated, word("null")),
            then(column, negated, word("like"), literal),
            then(column, negated, word("between"), literal, word("and"), literal),
            then(column, negated, word("in"), choices),
            then(either, word("=", "<"), either),
        )(at)
