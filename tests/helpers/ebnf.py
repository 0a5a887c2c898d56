"""A reader of grammars in the notation of ISO/IEC 14977, and sentences made and judged by them."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

__all__ = ["Grammar", "Token"]

_WORDS = re.compile(
    r"""\s*(?:(?P<rule>[A-Za-z][\w-]*)|"(?P<double>[^"]*)"|'(?P<single>[^']*)'"""
    r"""|\?\s*(?P<told>[^?]*?)\s*\?|(?P<mark>[=,;|()\[\]{}]))"""
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_MOST_TIMES = 2  # that a part in braces is repeated


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a sentence: the rule that spells it, empty for a literal, and its text."""

    rule: str
    text: str


@dataclass(frozen=True, slots=True)
class _Node:
    """A part of a rule: all of its parts, one of them, a name, a literal, or what is told."""

    kind: str
    parts: tuple["_Node", ...] = ()
    text: str = ""


class Grammar:
    """Rules by name; a rule in capital letters spells one token.

    Args:
        source: the rules.
        told: makes a text at random for each thing that is told in words.
        fits: whether a token may stand for another rule than the one that spelled it.
    """

    def __init__(
        self,
        source: str,
        told: Mapping[str, Callable[[random.Random], str]],
        fits: Callable[[Token, str], bool] = lambda token, rule: token.rule == rule,
    ) -> None:
        self.rules = dict(_read(source))
        self.told, self.fits = told, fits
        self.heights = self._heights()

    def sentence(self, rule: str, chance: random.Random, depth: int) -> list[Token]:
        """A sentence of a rule at random; below a depth the shortest way out is taken."""
        return self._made(self.rules[rule], chance, depth)

    def accepts(self, rule: str, tokens: Sequence[Token]) -> bool:
        """Return True if tokens are a sentence of a rule."""

        @cache
        def ends(node: _Node, at: int) -> frozenset[int]:
            if node.kind == "all":
                found = frozenset({at})
                for part in node.parts:
                    found = frozenset(end for start in found for end in ends(part, start))
                return found
            if node.kind == "any":
                return frozenset(end for part in node.parts for end in ends(part, at))
            if node.kind == "times":
                found = new = frozenset({at})
                while new:
                    new = frozenset(end for start in new for end in ends(node.parts[0], start))
                    new -= found
                    found |= new
                return found
            if node.kind == "rule" and not node.text.isupper():
                return ends(self.rules[node.text], at)
            return frozenset({at + 1} if at < len(tokens) and fitting(node, tokens[at]) else ())

        def fitting(node: _Node, token: Token) -> bool:
            if node.kind == "rule":
                return bool(token.rule) and self.fits(token, node.text)
            return not token.rule and token.text == node.text

        return len(tokens) in ends(self.rules[rule], 0)

    def _made(self, node: _Node, chance: random.Random, depth: int) -> list[Token]:
        if node.kind == "any":
            lowest = min(map(self._height, node.parts))
            parts = [part for part in node.parts if depth > 0 or self._height(part) == lowest]
            return self._made(chance.choice(parts), chance, depth - 1)
        if node.kind == "all":
            return [token for part in node.parts for token in self._made(part, chance, depth)]
        if node.kind == "times":
            times = chance.choice(range(_MOST_TIMES + 1)) if depth > 0 else 0
            inner = node.parts[0]
            return [token for _ in range(times) for token in self._made(inner, chance, depth - 1)]
        if node.kind in {"told", "literal"}:
            is_literal = node.kind == "literal"
            return [Token("", node.text if is_literal else self.told[node.text](chance))]
        found = self._made(self.rules[node.text], chance, depth - 1)
        if node.text.isupper():
            return [Token(node.text, "".join(token.text for token in found))]
        return found

    def _heights(self) -> dict[str, float]:
        """The fewest rules below each other that a sentence of each rule needs."""
        self.heights = dict.fromkeys(self.rules, float("inf"))
        while True:
            found = {name: 1 + self._height(node) for name, node in self.rules.items()}
            if found == self.heights:
                assert all(height < float("inf") for height in found.values())
                return found
            self.heights = found

    def _height(self, node: _Node) -> float:
        if node.kind == "any":
            return min(map(self._height, node.parts))
        if node.kind == "all":
            return max(map(self._height, node.parts), default=0)
        return self.heights[node.text] if node.kind == "rule" else 0


def _read(source: str) -> list[tuple[str, _Node]]:
    words, at = [], 0
    source = source.strip()
    while at < len(source):
        match = _WORDS.match(source, at)
        assert match is not None, source[at : at + 40]
        kind = str(match.lastgroup)
        words.append(("literal" if kind in {"double", "single"} else kind, match[kind]))
        at = match.end()
    rules = []
    while words:
        (kind, name), (_, sign) = words.pop(0), words.pop(0)
        assert (kind, sign) == ("rule", "=")
        rules.append((name, _choices(words, ";")))
    assert len(dict(rules)) == len(rules)
    return rules


def _choices(words: list[tuple[str, str]], end: str) -> _Node:
    """Read the alternatives up to a closing mark."""
    choices: list[list[_Node]] = [[]]
    while True:
        kind, text = words.pop(0)
        if kind != "mark":
            choices[-1].append(_Node(kind, (), text))
        elif text == end:
            break
        elif text == "|":
            choices.append([])
        elif text in _CLOSING:
            inner = _choices(words, _CLOSING[text])
            empty = _Node("all")
            node = {"(": inner, "[": _Node("any", (empty, inner)), "{": _Node("times", (inner,))}
            choices[-1].append(node[text])
        else:
            assert text == ","
    joined = tuple(_Node("all", tuple(parts)) for parts in choices)
    return joined[0] if len(joined) == 1 else _Node("any", joined)
