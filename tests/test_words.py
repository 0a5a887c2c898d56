"""Words of source and tests: the first word of every docstring, and words that hide who does what."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import noisycount

SOURCE = Path(noisycount.__file__).parent
_FIRST_WORDS = re.compile(r"(What|Whether|How|Who|Where|Why|That|Those|One|All|The same)\b")
_VAGUE_WORDS = re.compile(r"\b(told|tells|whoever)\b", re.IGNORECASE)
_CODE_IN_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)


def wrong_first_words(code: str) -> Iterator[str]:
    """Yield each docstring of a module that begins with a refused word: line and first line of the docstring."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node) or ""
            if _FIRST_WORDS.match(docstring):
                yield f"{getattr(node, 'lineno', 1)}: {docstring.splitlines()[0]}"


def vague_words(code: str) -> Iterator[str]:
    """Yield each refused word in a docstring, comment or text of a module, with its line."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (f"{node.lineno}: {match[0]}" for match in _VAGUE_WORDS.finditer(node.value))
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            yield from (f"{token.start[0]}: {match[0]}" for match in _VAGUE_WORDS.finditer(token.string))


def places(pattern: str) -> list[Path]:
    """Return the files of the package that match a pattern, in the order of their names."""
    return sorted(SOURCE.rglob(pattern))


@pytest.mark.thorough
@pytest.mark.always
def test_docstrings_of_the_source_begin_with_a_verb_or_a_noun() -> None:
    """No docstring of the package begins as a relative clause."""
    wrong = {
        str(path.relative_to(SOURCE)): lines
        for path in places("*.py")
        if (lines := list(wrong_first_words(path.read_text(encoding="utf-8"))))
    }
    assert wrong == {}


@pytest.mark.thorough
@pytest.mark.always
@pytest.mark.parametrize("folder", ["tests", "audits", "benchmarks"])
def test_docstrings_of_tests_state_what_holds(folder: str) -> None:
    """No docstring of tests, audits and benchmarks begins as a relative clause."""
    project = Path(__file__).parents[1]
    wrong = {
        str(path.relative_to(project)): lines
        for path in sorted((project / folder).rglob("*.py"))
        if (lines := list(wrong_first_words(path.read_text(encoding="utf-8"))))
    }
    assert wrong == {}


@pytest.mark.thorough
@pytest.mark.always
def test_texts_of_the_source_name_the_actor() -> None:
    """Docstrings, comments, messages and help of the package use none of the refused words."""
    wrong = {
        str(path.relative_to(SOURCE)): lines
        for path in places("*.py")
        if (lines := list(vague_words(path.read_text(encoding="utf-8"))))
    }
    assert wrong == {}


@pytest.mark.parametrize("pattern", ["*.html", "*.toml"])
def test_files_for_readers_name_the_actor(pattern: str) -> None:
    """Templates of pages, figures and the configuration use none of the refused words outside code."""
    texts = {path.name: _CODE_IN_TEMPLATE.sub("", path.read_text(encoding="utf-8")) for path in places(pattern)}
    assert texts
    assert {name: found for name, text in texts.items() if (found := _VAGUE_WORDS.findall(text))} == {}


@pytest.mark.parametrize("word", ["What", "Whether", "How", "Who", "Where", "Why", "That", "Those", "One", "All"])
def test_wrong_first_word_is_reported(word: str) -> None:
    """A module, class, method and function that begins with a refused word is reported with its line."""
    code = f'"""{word} a."""\nclass A:\n    """{word} b."""\n    def f(self):\n        """{word} c."""\n'
    assert list(wrong_first_words(code)) == [f"1: {word} a.", f"2: {word} b.", f"4: {word} c."]
    assert list(wrong_first_words(code.replace(word, "Allowed"))) == []


@pytest.mark.parametrize("code", ['"""It tells."""', "# as told", 'raise ValueError(f"got {x}: Whoever asks")'])
def test_vague_word_is_reported(code: str) -> None:
    """A refused word is reported in a docstring, a comment, and a formatted message."""
    assert len(list(vague_words(code))) == 1
    assert list(vague_words("told = tells(whoever)")) == []  # names are no texts
