"""The predicate language as a grammar that passes over nothing, to hold the parser to."""

from collections.abc import Callable, Sequence
from functools import cache

__all__ = ["is_predicate"]

COLUMNS = ("a", "s", "t")
LITERALS = ("1", "'x'", "true")

Ends = frozenset[int]
Rule = Callable[[int], Ends]


def is_predicate(words: Sequence[str]) -> bool:
    """Whether the words are a predicate about columns `a`, `s` and `t`, kinds left aside."""
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
